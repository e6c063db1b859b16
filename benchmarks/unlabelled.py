"""Rows without a label in the automatic classifier: log-loss on fresh rows with and without them.

    python benchmarks/unlabelled.py [--draws 10] [--labels 20 50] [--tables wine heart] > part.md

From each table, `labels` rows drawn at random (at least two of every class) keep their label, a third of the others, at
most 1,500, are fresh rows to test on, and what is left, at most 2,000, has no label. Tables of noise have classes that
the columns say nothing of; in "noise in clusters" the columns fall into two clusters that are not the classes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from tables import KEEL_TABLES, RDATASETS, SKLEARN, Table

from suffice import GenerativeClassifier
from suffice.notes import Kind

NAMES = ("wine", "breast_cancer", "penguins", "crabs", "australian", "heart", "pima", "housevotes", "fgl", "phoneme")
TESTED, MOST_TESTED, MOST_UNLABELLED = 1 / 3, 1500, 2000


def noise(clusters: bool) -> Table:
    """Return a table of six numbers and two classes that have nothing to do with each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    if clusters:
        X[:, :2] += 3.0 * rng.integers(0, 2, 2000)[:, None]
    name = "noise in clusters" if clusters else "noise"
    return Table(name, "drawn", pd.DataFrame(X, columns=list("abcdef")), rng.integers(0, 2, 2000))


def load(name: str) -> Table:
    """Return a table by its name."""
    if name.startswith("noise"):
        return noise(name != "noise")
    return next(tables[name] for tables in (SKLEARN, RDATASETS, KEEL_TABLES) if name in tables)()


def draw(table: Table, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of the rows with a label, of those without, and of those to test on."""
    order = np.random.default_rng(seed).permutation(len(table.y))
    first = np.concatenate([order[table.y[order] == c][:2] for c in np.unique(table.y)])
    rest = order[~np.isin(order, first)]
    more = max(labels - len(first), 0)
    known, rest = np.append(first, rest[:more]), rest[more:]
    tested = min(int(len(rest) * TESTED), MOST_TESTED)
    return known, rest[tested:][:MOST_UNLABELLED], rest[:tested]


def measure(table: Table, labels: int, draws: int) -> Iterator[tuple[float, float, float, float, bool]]:
    """Yield by draw log-loss without and with rows that have no label, log p(x) alike, and whether they joined."""
    for seed in range(draws):
        known, unknown, tested = draw(table, labels, seed)
        X = table.X[[name for name in table.X if table.X[name].iloc[known].notna().any()]]
        both = np.concatenate([known, unknown])
        y = np.where(np.arange(len(both)) < len(known), table.y[both].astype(object), None)
        alone = GenerativeClassifier().fit(X.iloc[known], table.y[known])
        joined = GenerativeClassifier().fit(X.iloc[both], y)
        lost, density = [], []
        for model in (alone, joined):
            found = model.predict_log_proba(X.iloc[tested])
            place = np.searchsorted(model.classes_, table.y[tested])
            lost.append(-found[np.arange(len(tested)), place].mean())
            density.append(model.score_samples(X.iloc[tested]).mean())
        yield *lost, *density, any(note.kind is Kind.JOINED for note in joined.notes_)


def main() -> None:
    """Print a table in Markdown: one line for each table and number of labels."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--labels", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--tables", nargs="+", default=[*NAMES, "noise", "noise in clusters"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | labels | log-loss without | with | gain ± s.e. | worst draw | joined in | log p(x) gains |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.tables:
        table = load(name)
        for labels in args.labels:
            found = np.array(list(measure(table, labels, args.draws)), dtype=float)
            gain, density = found[:, 0] - found[:, 1], found[:, 3] - found[:, 2]
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            print(
                f"| {name} | {labels} | {found[:, 0].mean():.4f} | {found[:, 1].mean():.4f} | {gain.mean():+.4f} ± "
                f"{error:.4f} | {gain.min():+.4f} | {int(found[:, 4].sum())} of {len(found)} | {density.mean():+.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
