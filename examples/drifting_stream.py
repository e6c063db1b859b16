"""A stream that drifts: learn the newest batch, forget the oldest, and follow classes that become common.

The digits that scikit-learn ships, read by a scanner that wears out: its picture fades and slides to one side. The
model of a sliding window is edited, never fitted again, and is at every moment that of the rows in its window.

    python examples/drifting_stream.py
"""

from __future__ import annotations

from collections import deque
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from suffice import GaussianDiscriminant

BATCH, BATCHES, WINDOW = 200, 40, 10  # rows in a batch, batches in all, batches in the window


def stream(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return batches of scanned digits (n, 64) and their labels; from batch 10 on the scanner wears out."""
    images, labels = load_digits(return_X_y=True)
    batches = []
    for number in range(BATCHES):
        wear = max(0, number - 10) / (BATCHES - 10)
        chosen = rng.integers(len(images), size=BATCH)
        pictures = images[chosen].reshape(-1, 8, 8)
        slid = np.pad(pictures, ((0, 0), (0, 0), (2, 0)))[:, :, :8]  # two dots to the right
        seen = (1 - wear) * pictures + wear * (0.6 * slid + 2.0)
        batches.append(((seen + rng.normal(0, 1, seen.shape)).reshape(BATCH, 64), labels[chosen]))
    return batches


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    rng = np.random.default_rng(0)
    batches = stream(rng)
    start = batches[:WINDOW]
    X, y = np.concatenate([rows for rows, _ in start]), np.concatenate([labels for _, labels in start])
    static = GaussianDiscriminant(shared=True, keep_rows=0).fit(X, y)
    everything = GaussianDiscriminant(shared=True, keep_rows=0).fit(X, y)
    sliding = GaussianDiscriminant(shared=True, keep_rows=0).fit(X, y)
    window = deque(start)
    right: dict[str, list[float]] = {"static": [], "all rows": [], "window": [], "refitted": []}
    edits = fits = 0.0
    for rows, labels in batches[WINDOW:]:
        # Every batch is answered first; its true labels come later.
        begun = perf_counter()
        theirs = LinearDiscriminantAnalysis(solver="svd", store_covariance=True)
        theirs.fit(np.concatenate([rows for rows, _ in window]), np.concatenate([labels for _, labels in window]))
        fits += perf_counter() - begun
        models = {"static": static, "all rows": everything, "window": sliding, "refitted": theirs}
        for name, model in models.items():
            right[name].append(float(np.mean(model.predict(rows) == labels)))
        everything.partial_fit(rows, labels)
        begun = perf_counter()
        sliding.partial_fit(rows, labels)
        sliding.forget(*window.popleft())
        _ = sliding.model_  # an edit is estimated when next asked for: count that too
        edits += perf_counter() - begun
        window.append((rows, labels))

    print(f"{BATCHES} batches of {BATCH} digits from a scanner that wears out. Share named right, by batch:\n")
    steps = range(0, BATCHES - WINDOW, 5)
    print("                         " + "".join(f"{f'{WINDOW + s}-{WINDOW + s + 4}':>8}" for s in steps))
    titles = {
        "static": "fitted once",
        "all rows": "all rows so far",
        "window": f"last {WINDOW} batches",
        "refitted": "LDA refitted to those",
    }
    for name, title in titles.items():
        print(f"  {title:23}" + "".join(f"{np.mean(right[name][s : s + 5]):8.1%}" for s in steps))
    found = {name: float(np.mean(values[-5:])) for name, values in right.items()}

    fresh = GaussianDiscriminant(shared=True).fit(
        np.concatenate([rows for rows, _ in window]), np.concatenate([labels for _, labels in window])
    )
    new = batches[-1][0]
    found["difference"] = float(np.abs(sliding.predict_proba(new) - fresh.predict_proba(new)).max())
    found["seconds"], found["seconds refitted"] = edits, fits
    print(f"\nAfter {BATCHES - WINDOW} edits the window's model equals a fit to its rows to {found['difference']:.0e}.")
    print(f"The edits took {1000 * edits:.0f} ms and need two batches at a time; refitting needs the window and took")
    print(f"{1000 * fits:.0f} ms.\n")

    # --- the classes change their proportions, and no label has come yet ----------------------------------------
    rows, labels = (np.concatenate(part) for part in zip(*batches[-5:], strict=True))
    pick = np.flatnonzero(np.isin(labels, (1, 8)) | (rng.random(len(labels)) < 0.05))  # a run of forms full of 1 and 8
    rows, labels = rows[pick], labels[pick]
    told = sliding.adapt_priors(rows)
    found["as before"] = float(np.mean(sliding.predict(rows) == labels))
    found["adapted"] = float(np.mean(sliding.predict(rows, priors=told) == labels))
    true = np.mean(np.isin(labels, (1, 8)))
    print(f"Now {true:.0%} of {len(rows)} digits are 1 or 8. Estimated without labels: {told[1] + told[8]:.0%}.")
    print(f"Named right: {found['as before']:.1%} with the old proportions, {found['adapted']:.1%} with the estimated.")
    return found


if __name__ == "__main__":
    main()
