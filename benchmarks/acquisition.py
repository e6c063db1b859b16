"""Measure what asking for cells in the order of `information_gain` saves: log-loss by the number of cells known.

Of each table 70 % of the rows (at most 1,000) are learned. Each of at most 100 other rows begins without any cell; one
cell after another is uncovered, and after each the log-loss of the class is noted. Cells come

- `next`: by the largest `information_gain` given the cells uncovered so far, row by row;
- `first gains`: in one order for all rows, by the gains of a row without any cell;
- `forward`: in one order for all rows, which of all columns lowers the log-loss of the learned rows most, step by step;
- `random`: in an order drawn for each row (the mean of five).

A missing cell of the table says nothing when it is uncovered, and counts as asked. The table goes to
benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from tables import TABLES

from suffice import GenerativeClassifier, GenerativeForest, NaiveBayes

NAMES = ("penguins", "wine", "breast_cancer", "housevotes", "heart", "vehicle")


def joint_numbers(X: pd.DataFrame) -> NaiveBayes:
    """Return naive Bayes with all numbers of a table in one Gaussian block."""
    numbers = tuple(X.columns[X.dtypes == "float64"])
    return NaiveBayes({numbers: "gaussian"} if numbers else "auto")


MODELS: dict[str, Callable[[pd.DataFrame], object]] = {
    "GenerativeClassifier": lambda X: GenerativeClassifier(),
    "GenerativeForest": lambda X: GenerativeForest(),
    "NaiveBayes": joint_numbers,
}
LEARNED, ASKED, REPEATS, SEED = 1000, 100, 5, 1
SHOWN = (0, 1, 2, 3, 4, 6, 8)
RESULTS = Path(__file__).parent / "RESULTS.md"
BEGIN, END = "<!-- acquisition -->", "<!-- end of acquisition -->"


def loss(model: object, rows: pd.DataFrame, y: np.ndarray) -> float:
    """Return the mean log-loss in nats."""
    return float(-np.mean(model.predict_log_proba(rows)[np.arange(len(y)), y]))


def uncover(X: pd.DataFrame, known: np.ndarray) -> pd.DataFrame:
    """Return the rows with the cells that are not known (n, d) missing."""
    return X.where(known).astype(X.dtypes)


def in_order(model: object, X: pd.DataFrame, y: np.ndarray, order: np.ndarray, steps: int) -> list[float]:
    """Return the losses after 0, 1, … cells, uncovered in the order of each row (n, d)."""
    rank = np.argsort(order, axis=1)
    return [loss(model, uncover(X, rank < step), y) for step in range(steps + 1)]


def by_gain(model: object, X: pd.DataFrame, y: np.ndarray, steps: int) -> tuple[list[float], float]:
    """Return the losses where each row's next cell is that of the largest gain, and the seconds that gains took."""
    known, found, seconds = np.zeros(X.shape, dtype=bool), [], 0.0
    for step in range(steps + 1):
        rows = uncover(X, known)
        found.append(loss(model, rows, y))
        if step == steps:
            break
        begun = time.perf_counter()
        gain = model.information_gain(rows)
        seconds += time.perf_counter() - begun
        gain[known] = -1.0  # a cell that was asked and is missing in the table is not asked again
        known[np.arange(len(X)), gain.argmax(axis=1)] = True
    return found, seconds


def forward(model: object, X: pd.DataFrame, y: np.ndarray, steps: int) -> list[int]:
    """Return the columns in the order in which they lower the loss of these rows most."""
    chosen: list[int] = []
    while len(chosen) < steps:
        losses = {}
        for j in set(range(X.shape[1])) - set(chosen):
            known = np.zeros(X.shape, dtype=bool)
            known[:, [*chosen, j]] = True
            losses[j] = loss(model, uncover(X, known), y)
        chosen.append(min(losses, key=lambda j: (losses[j], j)))
    return chosen


def measure(name: str, kind: str) -> dict[str, object]:
    """Return the losses of every way to ask."""
    table = TABLES[name]()
    rng = np.random.default_rng(SEED)
    draw = rng.permutation(len(table.y))
    learned, asked = train_test_split(draw, test_size=0.3, stratify=table.y[draw], random_state=SEED)
    learned, asked = learned[:LEARNED], asked[:ASKED]
    X, y = table.X, table.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[kind](X).fit(X.iloc[learned], y[learned])
        rows, labels = X.iloc[asked].reset_index(drop=True), y[asked]
        d, steps = X.shape[1], min(max(SHOWN), X.shape[1])
        nothing = uncover(rows[:1], np.zeros((1, d), dtype=bool))
        first = np.argsort(-model.information_gain(nothing)[0], kind="stable")
        chosen = forward(model, X.iloc[learned[:300]], y[learned[:300]], steps)
        rest = [j for j in range(d) if j not in chosen]
        drawn = [rng.permuted(np.tile(np.arange(d), (len(rows), 1)), axis=1) for _ in range(REPEATS)]
        greedy, seconds = by_gain(model, rows, labels, steps)
        ways = {
            "next": greedy,
            "first gains": in_order(model, rows, labels, np.tile(first, (len(rows), 1)), steps),
            "forward": in_order(model, rows, labels, np.tile([*chosen, *rest], (len(rows), 1)), steps),
            "random": np.mean([in_order(model, rows, labels, own, steps) for own in drawn], axis=0).tolist(),
        }
        whole = loss(model, rows, labels)
    return {"table": name, "model": kind, "d": d, "ways": ways, "whole": whole, "rows": len(rows), "seconds": seconds}


def lines(found: list[dict[str, object]]) -> list[str]:
    """Return the section of RESULTS.md."""
    told = (
        "`python benchmarks/acquisition.py --write`: log-loss in nats of at most "
        f"{ASKED} rows that were not learned, by the number of cells known (seed {SEED}). *next* asks for the cell of "
        "the largest `information_gain` in each row; *first gains* and *forward* have one order for all rows, by the "
        "gains of an empty row and by forward selection on learned rows; *random* is the mean of "
        f"{REPEATS} orders drawn for each row. *area* is the mean over 1 to {max(SHOWN)} cells, *seconds* what all "
        "gains of *next* took, on two shared cores. *NaiveBayes* has all numbers in one Gaussian block."
    )
    out = [
        "## Asking for cells in the order of information_gain",
        "",
        told,
        "",
        "| table | model | order | " + " | ".join(map(str, SHOWN)) + " | all | area | seconds |",
        "|---|---|---|" + "---|" * (len(SHOWN) + 3),
    ]
    for own in found:
        for way, losses in own["ways"].items():
            cells = [f"{losses[step]:.3f}" if step < len(losses) else "" for step in SHOWN]
            seconds = f"{own['seconds']:.1f}" if way == "next" else ""
            area = f"{np.mean(losses[1:]):.3f}"
            named = f"{own['table']} ({own['d']} columns)", own["model"]
            out.append(
                f"| {named[0]} | {named[1]} | {way} | {' | '.join(cells)} | {own['whole']:.3f} | {area} | {seconds} |"
            )
    out.append("")
    for way in ("first gains", "forward", "random"):
        by_model = []
        for kind in dict.fromkeys(own["model"] for own in found):
            some = [own for own in found if own["model"] == kind]
            by_model.append(f"{sum(_area(own, 'next') < _area(own, way) for own in some)} of {len(some)} ({kind})")
        out.append(f"- *next* has the smaller area than *{way}* in {', '.join(by_model)}.")
    return out


def _area(own: dict[str, object], way: str) -> float:
    return float(np.mean(own["ways"][way][1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--write", action="store_true", help="replace the section in benchmarks/RESULTS.md")
    options = parser.parse_args()
    found = []
    for name in options.tables:
        for kind in options.models:
            begun = time.perf_counter()
            found.append(measure(name, kind))
            areas = {way: round(_area(found[-1], way), 3) for way in found[-1]["ways"]}
            print(name, kind, areas, f"{time.perf_counter() - begun:.0f} s", flush=True)
    text = "\n".join(lines(found))
    print(text)
    if options.write:
        whole = RESULTS.read_text(encoding="utf-8")
        before, _, rest = whole.partition(BEGIN)
        after = rest.partition(END)[2]
        RESULTS.write_text(f"{before.rstrip()}\n\n{BEGIN}\n{text}\n{END}\n{after.lstrip()}", encoding="utf-8")


if __name__ == "__main__":
    main()
