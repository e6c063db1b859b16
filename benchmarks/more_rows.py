"""Would more rows help: from half the rows of a table to all of them, projected and reached.

    python benchmarks/more_rows.py [--tables pima banana] [--splits 10] > part.md

A fifth of each table, drawn by class, is kept to test on. Of the rest, half makes a learning curve, which projects the
log-loss of models of all the rest; these are then fitted, and judged on the fifth. What was reached is uncertain by the
rows it is tested on, too, so a projection covers it if it is in the 90 % interval widened by 1.645 standard errors of
the test rows; "bare" counts those in the interval as it stands.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from tables import KEEL_TABLES, RDATASETS, SKLEARN

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes

NAMES = ("breast_cancer", "spam7", "pima", "heart", "banana", "contraceptive")
MODELS = {"linear": GaussianDiscriminant(shared=True), "naive Bayes": NaiveBayes(), "automatic": GenerativeClassifier()}
MOST = 2000  # rows of a table
Z = 1.645


def reached(model, X, y, tested) -> tuple[float, float]:
    """Return the mean log-loss of a fitted model on the rows tested, and its standard error."""
    found = model.predict_log_proba(X.iloc[tested])
    own = -found[np.arange(len(tested)), np.searchsorted(model.classes_, y[tested])]
    own = np.minimum(own, -np.log(1e-15))
    return float(own.mean()), float(own.std(ddof=1) / np.sqrt(len(own)))


def main() -> None:
    """Print a table in Markdown: one line for each table and model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=NAMES)
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | model | rows | loss at half | projected | reached | error | covered | bare |")
    print("|---|---|---|---|---|---|---|---|---|")
    total = np.zeros(3)
    for name in args.tables:
        table = next(tables[name] for tables in (SKLEARN, RDATASETS, KEEL_TABLES) if name in tables)()
        for title, model in MODELS.items():
            numbers = table.X.select_dtypes("float64")
            X = numbers.fillna(numbers.median()) if title == "linear" else table.X
            lines = []
            for split in range(args.splits):
                draw = np.random.default_rng(split).permutation(len(table.y))[:MOST]
                rest, tested = train_test_split(draw, test_size=0.2, stratify=table.y[draw], random_state=split)
                half, _ = train_test_split(rest, test_size=0.5, stratify=table.y[rest], random_state=split)
                curve = clone(model).learning_curve(X.iloc[half], table.y[half], random_state=split)
                there = curve.project(len(rest))
                found, error = reached(clone(model).fit(X.iloc[rest], table.y[rest]), X, table.y, tested)
                wide = there.low - Z * error <= found <= there.high + Z * error
                lines.append(
                    (curve.project(len(half)).value, there.value, found, wide, there.low <= found <= there.high)
                )
            now, then, got, wide, bare = np.array(lines, dtype=float).T
            total += len(lines), wide.sum(), bare.sum()
            print(
                f"| {name} | {title} | {len(half)} → {len(rest)} | {now.mean():.3f} | {then.mean():.3f} | "
                f"{got.mean():.3f} | {np.abs(then - got).mean():.3f} | {int(wide.sum())} of {len(lines)} | "
                f"{int(bare.sum())} of {len(lines)} |",
                flush=True,
            )
    wide, bare = total[1:] / total[0]
    print(f"\nOf {int(total[0])} projections {wide:.0%} cover what was reached, {bare:.0%} bare.")


if __name__ == "__main__":
    main()
