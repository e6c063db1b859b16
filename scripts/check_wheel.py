"""Check an installed suffice that has no extras: examples of documents run, and what is missing says what to install.

Run by `make dist` with the interpreter of an environment that holds the wheel, its core dependencies and pandas:
`python scripts/check_wheel.py README.md docs/verbs.md`. Exit status 1 and a list on stderr if something fails.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import files, requires
from pathlib import Path
from typing import Any

ADVICE = "pip install"


class Tour(doctest.DocTestRunner):
    """Runs examples; one that ends with the advice to install an extra is counted and not held against us.

    Neither is one that needs what such an example would have defined, nor one in which pandas itself asks for pyarrow,
    nor one with onnxruntime, which runs a file that the extra has written.
    """

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        self.advised: list[str] = []

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """Note an error that says what to install; print any other."""
        error = exc_info[1]
        advised = ADVICE in str(error) and "suffice[" in str(error)
        follows = isinstance(error, NameError) and any(
            re.match(rf"{error.name}\b.*=|import {error.name}$", earlier) for earlier in self.advised
        )
        foreign = isinstance(error, ImportError) and re.search("pyarrow is required|'onnxruntime'", str(error))
        if advised or follows or foreign:
            self.advised.append(example.source.strip())
        else:
            super().report_unexpected_exception(out, test, example, exc_info)


def tour(documents: list[Path]) -> list[str]:
    """Return what goes wrong in the examples of documents."""
    runner = Tour()
    for path in documents:
        runner.run(doctest.DocTestParser().get_doctest(path.read_text(encoding="utf-8"), {}, path.name, str(path), 0))
    failed, tried = runner.failures, runner.tries
    really = failed - len(runner.advised)
    print(f"Documents: {tried} examples, {len(runner.advised)} of them need an extra, {really} fail")
    if tried < 50:
        return [f"only {tried} examples were found in the documents"]
    return [f"{really} examples of the documents fail"] if really else []


def advice() -> list[str]:
    """Return the features that, without their extra, do not say what to install."""
    import numpy as np

    from suffice import GaussianDiscriminant

    rng = np.random.default_rng(0)
    model = GaussianDiscriminant().fit(rng.normal(size=(40, 2)), np.repeat([0, 1], 20))
    asked: dict[str, Callable[[], object]] = {
        "report": lambda: model.to_html("page.html"),
        "parquet": lambda: GaussianDiscriminant().fit_table("rows.parquet", "y"),
        "sql": model.to_sql,
        "onnx": model.to_onnx,
    }
    wrong = []
    Path("rows.parquet").write_bytes(b"PAR1")
    for extra, feature in asked.items():
        try:
            feature()
        except Exception as error:  # noqa: BLE001 - whatever it is, its text is what is judged
            if f"suffice[{extra}]" not in str(error) or ADVICE not in str(error):
                wrong.append(f"without the extra {extra!r}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"the extra {extra!r} is installed here")
    told = subprocess.run([sys.executable, "-m", "suffice", "--help"], capture_output=True, text=True, check=False)
    if told.returncode == 0 or "suffice[cli]" not in told.stderr or "Traceback" in told.stderr:
        wrong.append(f"without the extra 'cli': {told.returncode} {told.stderr}")
    print(f"Extras: {len(asked) + 1} asked for, {len(wrong)} without advice")
    return wrong


def contents() -> list[str]:
    """Return what the installed package lacks or holds too much of."""
    names = [str(path) for path in files("suffice") or []]
    wrong = [f"{name} is not in the wheel" for name in ("suffice/py.typed",) if name not in names]
    wrong += [f"{name} is in the wheel" for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    core = {line.split(">")[0].split(";")[0].strip() for line in requires("suffice") or [] if "extra ==" not in line}
    if core != {"filelock", "numpy", "scipy", "scikit-learn", "narwhals", "threadpoolctl"}:
        wrong.append(f"core dependencies are {sorted(core)}")
    return wrong


def main() -> int:
    """Run all checks in an empty folder."""
    documents = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        wrong = [*contents(), *tour(documents), *advice()]
        os.chdir("/")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
