"""New classes from five examples each, on the embeddings of a frozen network; files of no known kind are found out.

Magika (Apache 2.0) is a network of 3 MB that names the type of a file from its first and last bytes. Its last hidden
layer, 512 numbers for each file, is used as it is. The files are what Python packages install: pictures, fonts, code.
Two kinds, font metrics and Matplotlib styles, are not among the 214 types that the network was trained to name.

    pip install --no-deps magika && pip install onnx onnxruntime matplotlib
    python examples/few_shot_files.py
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from suffice import GaussianDiscriminant

KNOWN = {
    "png": ("matplotlib", "mpl-data/images/*.png"),
    "svg": ("matplotlib", "mpl-data/images/*.svg"),
    "pdf": ("matplotlib", "mpl-data/images/*.pdf"),
    "ttf": ("matplotlib", "mpl-data/fonts/ttf/*.ttf"),
    "python": ("sklearn", "*/*.py"),
    "c header": ("numpy", "_core/include/numpy/*.h"),
}
ADDED = {
    "font metrics": ("matplotlib", "mpl-data/fonts/*/*.afm"),
    "style": ("matplotlib", "mpl-data/stylelib/*.mplstyle"),
}
STRANGE = {"compiled": ("scipy", "*/*.so")}
SHOTS, MOST, PADDING = 5, 60, 256


def files(package: str, pattern: str) -> list[Path]:
    """Return up to MOST files that a package installed; the package is found, not imported."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"Some of the files are in the package {package}. Next: pip install {package}")
    return sorted(Path(found.origin).parent.glob(pattern))[:MOST]


def as_bytes(path: Path) -> np.ndarray:
    """Return the first and last 1,024 bytes of a file (2048,), as the network was trained to see them."""
    content = path.read_bytes()
    begin, end = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
    seen = np.full(2048, PADDING, np.int32)
    seen[: len(begin)] = list(begin)
    seen[2048 - len(end) :] = list(end)
    return seen


class Network:
    """The network, cut before its last layer."""

    def __init__(self) -> None:
        import onnx
        import onnxruntime

        (place,) = files("magika", "models/*/model.onnx")
        graph = onnx.load(place)
        last = [node for node in graph.graph.node if node.op_type == "MatMul"][-1].input[0]
        graph.graph.output.append(onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None))
        self.layer = last
        self.session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])

    def embed(self, paths: list[Path]) -> np.ndarray:
        """Return the embeddings (n, 512) of files."""
        rows = np.stack([as_bytes(path) for path in paths])
        return self.session.run([self.layer], {"bytes": rows})[0].astype(float)


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    network, rng = Network(), np.random.default_rng(0)
    train, test = {}, {}
    for kinds in (KNOWN, ADDED, STRANGE):
        for kind, where in kinds.items():
            rows = rng.permutation(network.embed(files(*where)))
            take = len(rows) // 2 if kinds is KNOWN else SHOTS
            train[kind], test[kind] = rows[:take], rows[take:]
    X, y = np.vstack([train[k] for k in KNOWN]), np.repeat(list(KNOWN), [len(train[k]) for k in KNOWN])
    X_test, y_test = np.vstack([test[k] for k in KNOWN]), np.repeat(list(KNOWN), [len(test[k]) for k in KNOWN])
    # 512 dimensions of 85 files: most are empty. The axes stay as the first files set them, like the network.
    axes = PCA(16, random_state=0).fit(X)
    model = GaussianDiscriminant(shared=True).fit(axes.transform(X), y)
    found = {"known": model.score(axes.transform(X_test), y_test)}
    print(
        f"{len(X)} files of {len(KNOWN)} kinds learned; of {len(X_test)} others {found['known']:.1%} are named right."
    )

    # --- files of no known kind ------------------------------------------------------------------------------------
    def strange(rows: np.ndarray) -> float:
        """Return the share of files that are like none of the classes."""
        return float(np.mean(model.outlier_pvalues(axes.transform(rows)) < 0.01))

    found["false alarms"] = strange(X_test)
    print("\nOutlier p-value below 0.01, which for files of known kinds should be 1%:")
    print(f"  {'known kinds':14}{found['false alarms']:7.1%}")
    for kind in (*ADDED, *STRANGE):
        found[f"strange {kind}"] = strange(test[kind])
        print(f"  {kind:14}{found[f'strange {kind}']:7.1%}")
    print("A p-value is a rank among the files learned: what lies no farther out than some is not strange.")

    # --- two kinds are added, from five files each, without any other file --------------------------------------------
    begun = perf_counter()
    for kind in ADDED:
        model.partial_fit(axes.transform(train[kind]), [kind] * SHOTS)
    _ = model.model_
    seconds = perf_counter() - begun
    kinds = [*KNOWN, *ADDED]
    every, truth = np.vstack([test[k] for k in kinds]), np.repeat(kinds, [len(test[k]) for k in kinds])
    guess = model.predict(axes.transform(every))
    found["after"] = float(np.mean(guess == truth))
    print(
        f"\n{' and '.join(ADDED)} added from {SHOTS} files each, in {1000 * seconds:.0f} ms, no other file read again."
    )
    print(f"Of {len(every)} files {found['after']:.1%} are named right:")
    for kind in ADDED:
        found[kind] = float(np.mean(guess[truth == kind] == kind))
        print(f"  {kind:14}{found[kind]:7.1%}")
    found["still strange"] = strange(test["compiled"])
    print(f"Compiled code is still like none of them: {found['still strange']:.0%} of the files.\n")

    # --- the usual way -----------------------------------------------------------------------------------------------
    X_all = np.vstack([X, *(train[k] for k in ADDED)])
    y_all = np.concatenate([y, np.repeat(list(ADDED), SHOTS)])
    logistic = LogisticRegression(max_iter=2000).fit(X_all, y_all)
    found["logistic"] = logistic.score(every, truth)
    # What it could say instead of a p-value: its largest probability, below what 99% of the files of known kinds get.
    threshold = np.quantile(logistic.predict_proba(every).max(axis=1), 0.01)
    found["logistic strange"] = float(np.mean(logistic.predict_proba(test["compiled"]).max(axis=1) < threshold))
    print(f"Logistic regression, fitted again to all files: {found['logistic']:.1%} right.")
    print(f"Its largest probability is below {threshold:.2f} for 1% of the files of known kinds,")
    print(f"and for {found['logistic strange']:.0%} of the compiled ones.")
    return found


if __name__ == "__main__":
    main()
