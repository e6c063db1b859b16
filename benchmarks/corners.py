"""Slow corners, each with a budget of time and memory: pages, first answers, exports, comparisons, many classes.

Each case runs in a process of its own: what it needs is made first, then the call is timed; memory is the most that the
process held. `make bench` puts the table into RESULTS.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

RESULTS = Path(__file__).parent / "RESULTS.md"
START, END = "<!-- corners -->", "<!-- end of corners -->"
TEMPLATE = """## Slow corners

Made by `benchmarks/corners.py` (`make bench`), each case in a process of its own on two cores; a call is made once,
after what it needs is there. Memory is the most that the process held, Python and all libraries among it.

| what | seconds | at most | memory, MiB | at most |
|---|---|---|---|---|
{lines}

`suffice --help` takes {start:.2f} × as long as `python -c "import numpy"` (at most 2 ×; the least of
{times} runs each).
"""
STARTS = 15


class Corner(NamedTuple):
    """What is done: `prepare` returns the call to be timed; limits in seconds and MiB."""

    what: str
    prepare: Callable[[Path], Callable[[], Any]]
    seconds: float
    memory: float


def with_levels(rows: int, levels: int, columns: int) -> tuple[Any, Any]:
    """Return a table of eight numbers and some columns of text with many levels, and labels."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 8)), columns=list("abcdefgh"))
    for j in range(columns):
        table[f"text{j}"] = np.array([f"level {i}" for i in range(levels)])[rng.integers(0, levels, rows)]
    y = np.where(table["a"] + table["b"] * table["c"] + rng.normal(size=rows) > 0, "yes", "no")
    return table, y


def page(table: Callable[[], tuple[Any, Any]]) -> Callable[[Path], Callable[[], Any]]:
    """Return what prepares the page of a model of a table."""

    def prepare(folder: Path) -> Callable[[], Any]:
        from suffice import GenerativeClassifier

        X, y = table()
        model = GenerativeClassifier().fit(X, y)
        return lambda: model.to_html(folder / "page.html")

    return prepare


def numbers(rows: int, columns: int, classes: int) -> tuple[Any, Any]:
    """Return a table of numbers and labels."""
    from data import clumped_table

    return clumped_table(rows, columns, classes)


def named(rows: int, numbers: int, names: int, classes: int) -> tuple[Any, Any]:
    """Return a table of numbers, two of them with gaps that come together, and of names; labels go by all of these."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    who, load = rng.integers(0, names, rows), rng.normal(size=(4, numbers))
    cells = rng.normal(size=(rows, 4)) @ load + rng.normal(size=(rows, numbers)) + rng.normal(size=names)[who, None]
    y = np.argsort(np.argsort(cells[:, 0] + np.abs(cells[:, 1]) + rng.normal(size=rows))) * classes // rows
    cells[np.ix_(rng.random(rows) < 0.5, [numbers - 2, numbers - 1])] = np.nan
    cells[rng.random(rows) < 0.3, numbers - 3] = np.nan
    table = pd.DataFrame(cells, columns=[f"x{j}" for j in range(numbers)])
    return table.assign(name=np.array([f"name {i}" for i in range(names)])[who]), np.array([f"c{c}" for c in y])


def with_holes(rows: int, columns: int, classes: int, share: float, holed: int) -> tuple[Any, Any]:
    """Return a table of numbers that depend on each other, the first of which miss a share of their cells."""
    import numpy as np

    rng = np.random.default_rng(2)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(rows, 5)) @ rng.normal(size=(5, columns)) + rng.normal(size=(rows, columns))
    X += 4.0 / np.sqrt(columns) * rng.normal(size=(classes, columns))[y]
    X[:, :holed][rng.random((rows, holed)) < share] = np.nan
    return X, y


def penguins() -> tuple[Any, Any]:
    """Return the penguins table."""
    import pandas as pd

    from suffice.datasets import penguins_path

    table = pd.read_csv(penguins_path())
    return table, table.pop("species")


def fits(table: Callable[[], tuple[Any, Any]]) -> Callable[[Path], Callable[[], Any]]:
    """Return what prepares a fit to a table."""

    def prepare(folder: Path) -> Callable[[], Any]:
        from suffice import GenerativeClassifier

        X, y = table()
        return lambda: GenerativeClassifier().fit(X, y)

    return prepare


def one_row(verb: str, warm: bool) -> Callable[[Path], Callable[[], Any]]:
    """Return what prepares a question about one row, the second such question if `warm`."""

    def prepare(folder: Path) -> Callable[[], Any]:
        from suffice import GenerativeClassifier

        X, y = numbers(2_000, 30, 3)
        model = GenerativeClassifier().fit(X, y)
        model.predict_proba(X[:2])
        if warm:
            getattr(model, verb)(X[:1])
        return lambda: getattr(model, verb)(X[1:2])

    return prepare


def pvalues_of_holes(folder: Path) -> Callable[[], Any]:
    """Return outlier p-values of rows each of which misses other cells."""
    from suffice import GenerativeClassifier

    X, y = with_holes(1_100, 100, 3, 0.3, 100)
    model = GenerativeClassifier().fit(X[:1_000], y[:1_000])
    model.outlier_pvalues(X[:1])
    return lambda: model.outlier_pvalues(X[1_000:])


def query(folder: Path) -> Callable[[], Any]:
    """Return the export of a model of 500 categories as SQL."""
    from data import categorical_table

    from suffice import NaiveBayes

    X, y = categorical_table(2_000, 500, 3)
    model = NaiveBayes(families="categorical").fit(X, y)
    return lambda: model.to_sql(dialect="duckdb", table="t")


def comparison(folder: Path) -> Callable[[], Any]:
    """Return the command that compares models on a table with two columns of 1,500 levels."""
    from suffice.cli.app import run

    table, y = with_levels(5_000, 1_500, 2)
    table.assign(y=y).to_csv(folder / "table.csv", index=False)
    return lambda: run(["compare", str(folder / "table.csv"), "--target", "y", "--quiet"])


CORNERS = (
    Corner("page, 6,000 rows with a column of 1,200 levels", page(lambda: with_levels(6_000, 1_200, 1)), 15.0, 1000.0),
    Corner("page, 83 rows of 500 numbers", page(lambda: numbers(83, 500, 3)), 15.0, 1000.0),
    Corner("page, penguins", page(penguins), 15.0, 1000.0),
    Corner("explain one row of 30 columns", one_row("explain", warm=True), 0.05, 1000.0),
    Corner("first outlier p-value, of 2,000 rows learned", one_row("outlier_pvalues", warm=False), 0.2, 1000.0),
    Corner("next outlier p-value", one_row("outlier_pvalues", warm=True), 0.2, 1000.0),
    Corner("naive Bayes of 500 categories as SQL", query, 30.0, 2000.0),
    Corner("compare, two columns of 1,500 levels", comparison, 60.0, 1600.0),
    Corner("fit, 10,000 rows of 200 classes", fits(lambda: numbers(10_000, 20, 200)), 60.0, 2000.0),
    Corner("fit, 1,000 rows of 2,000 columns", fits(lambda: numbers(1_000, 2_000, 2)), 30.0, 2000.0),
    Corner(
        "fit, 12,876 rows with 260 names and gaps, 9 classes", fits(lambda: named(12_876, 11, 260, 9)), 15.0, 1500.0
    ),
    Corner("fit, 696 rows with 250 names and gaps, 22 classes", fits(lambda: named(696, 16, 250, 22)), 15.0, 1000.0),
    Corner("fit, 537 rows of 167 numbers with gaps", fits(lambda: with_holes(537, 167, 3, 0.02, 40)), 15.0, 1000.0),
    Corner("fit, 45 rows of 6,830 numbers", fits(lambda: numbers(45, 6_830, 10)), 15.0, 1000.0),
    Corner("fit, 6,000 rows, gaps in many patterns", fits(lambda: with_holes(6_000, 14, 6, 0.2, 14)), 10.0, 1000.0),
    Corner("100 outlier p-values, 30 % of 100 columns missing", pvalues_of_holes, 60.0, 2000.0),
)


def measure(number: int) -> tuple[float, float]:
    """Return the seconds of a call and the most memory of this process, in MiB."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        call = CORNERS[number].prepare(Path(folder))
        begun = time.perf_counter()
        call()
        taken = time.perf_counter() - begun
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(number: int) -> tuple[float, float]:
    """Return what `measure` returns in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--one", str(number)], capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def start_up() -> float:
    """Return how many times as long as importing NumPy the command takes to print its help."""

    def least(command: list[str]) -> float:
        times = []
        for _ in range(STARTS):
            begun = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - begun)
        return min(times)

    return least([sys.executable, "-m", "suffice", "--help"]) / least([sys.executable, "-c", "import numpy"])


def line(corner: Corner, seconds: float, memory: float) -> str:
    """Return one row of the table."""
    cells = []
    for found, limit, digits in (
        (seconds, corner.seconds, 3 if corner.seconds < 1.0 else 1),
        (memory, corner.memory, 0),
    ):
        cells += [f"{found:,.{digits}f}" if found <= limit else f"**{found:,.{digits}f}**", f"{limit:,g}"]
    return f"| {corner.what} | {' | '.join(cells)} |"


def main() -> None:
    """Run the cases and write or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=int, help="measure this case here and print seconds and MiB")
    parser.add_argument("--cases", type=int, nargs="+", help="only these cases, printed")
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(*measure(arguments.one))
        return
    lines = []
    for number in arguments.cases or range(len(CORNERS)):
        lines.append(line(CORNERS[number], *apart(number)))
        print(lines[-1], file=sys.stderr, flush=True)
    if arguments.cases:
        return
    section = TEMPLATE.format(lines="\n".join(lines), start=start_up(), times=STARTS)
    kept = RESULTS.read_text(encoding="utf-8")
    before, mark, rest = kept.partition(START)
    after = rest.partition(END)[2] if mark else "\n"
    RESULTS.write_text(f"{before.rstrip()}\n\n{START}\n{section}{END}\n{after.lstrip()}", encoding="utf-8")


if __name__ == "__main__":
    main()
