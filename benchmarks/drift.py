"""Does `drift` find what has moved, and nothing where nothing has: beside tests of single columns and of classifiers.

Rows of known distribution are learned and others compared with them, changed in one way. Beside `drift` of naive Bayes,
without labels and with them, stand Kolmogorov and Smirnov's test of every number (Pearson's of every category, cells
filled by none) with Bonferroni's correction, and a classifier two-sample test (Lopez-Paz & Oquab 2017,
arXiv:1610.06545): whether boosted trees tell new rows from old ones in five folds, by Wilcoxon's test of their scores.
Labels are a column to these two where `drift` has them. Seeds depend on the setting alone.

    python benchmarks/drift.py --repeats 200 --trees 60
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from zlib import crc32

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from suffice import NaiveBayes

LEARNED, NEW, LEVEL = 1000, 300, 0.05
SHARES = (0.5, 0.3, 0.2)
Table = tuple[pd.DataFrame, np.ndarray]


def draw(rng: np.random.Generator, n: int, shares: tuple[float, ...] = SHARES) -> Table:
    """Return rows of three classes: four normal columns, a heavy tail, a skewed one, counts and two categories."""
    c = rng.choice(3, n, p=shares)
    X = pd.DataFrame({f"n{j}": rng.normal(size=n) + (c if j == 0 else 0) for j in range(4)})
    X["heavy"] = rng.standard_t(2, n)
    X["skewed"] = rng.lognormal(size=n)
    X["count"] = rng.poisson(1.0 + c).astype(float)
    X["few"] = np.array(["p", "q", "r"])[(rng.random(n)[:, None] > np.array([0.6, 0.9])).sum(axis=1)]
    X["many"] = np.char.add("v", rng.zipf(1.6, n).clip(max=60).astype(str))
    X.loc[rng.random(n) < 0.05, "heavy"] = np.nan
    return X, c


def _column(name: str, change: Callable[[pd.Series, np.random.Generator], object]) -> Callable[..., Table]:
    def changed(rng: np.random.Generator) -> Table:
        X, c = draw(rng, NEW)
        X[name] = change(X[name], rng)
        return X, c

    return changed


def _correlated(rng: np.random.Generator) -> Table:
    X, c = draw(rng, NEW)
    X["n2"] = 0.35 * X["n1"] + np.sqrt(1 - 0.35**2) * X["n2"]
    return X, c


def _one_class(rng: np.random.Generator) -> Table:
    X, c = draw(rng, NEW)
    X.loc[c == 2, "n1"] += 0.9
    return X, c


def _swapped(rng: np.random.Generator) -> Table:
    X, c = draw(rng, NEW)
    return X, np.where(rng.random(NEW) < 0.15, (c + 1) % 3, c)


CHANGES: dict[str, Callable[[np.random.Generator], Table]] = {
    "nothing": lambda rng: draw(rng, NEW),
    "mean of a column, 0.3 sd": _column("n1", lambda x, rng: x + 0.3),
    "spread of a column, × 1.35": _column("n1", lambda x, rng: x * 1.35),
    "two humps in place of one": _column(
        "n1", lambda x, rng: np.sign(x) * np.sqrt(0.5 * x**2 + 0.5 * np.abs(x) ** 0.2)
    ),
    "correlation 0 → 0.35": _correlated,
    "a category, 10 % → 17 %": _column("few", lambda x, rng: x.mask((x == "q") & (rng.random(len(x)) < 0.23), "r")),
    "a category never seen, 2 %": _column("few", lambda x, rng: x.mask(rng.random(len(x)) < 0.02, "new")),
    "missing cells, 5 % → 11 %": _column("heavy", lambda x, rng: x.mask(rng.random(len(x)) < 0.065)),
    "class shares alone": lambda rng: draw(rng, NEW, (0.4, 0.3, 0.3)),
    "mean within one class of 20 %, 0.9 sd": _one_class,
    "labels wrong in 15 % of rows": _swapped,
}


def by_columns(old: Table, new: Table, labels: bool) -> float:
    """Return the least p-value of single columns, times their number."""
    tables = [X.assign(label=c.astype(str)) if labels else X for X, c in (old, new)]
    p = []
    for name in tables[0]:
        a, b = (own[name] for own in tables)
        if a.dtype == object or str(a.dtype).startswith("str"):
            counts = pd.concat([a.value_counts(), b.value_counts()], axis=1).fillna(0)
            p.append(stats.chi2_contingency(counts.to_numpy(), correction=False).pvalue)
        else:
            p.append(stats.ks_2samp(a.dropna(), b.dropna()).pvalue)
    return min(1.0, len(p) * min(p))


def by_trees(old: Table, new: Table, labels: bool) -> float:
    """Return the p-value that boosted trees cannot tell new rows from old ones."""
    X = pd.concat([own.assign(label=c) if labels else own for own, c in (old, new)], ignore_index=True)
    X = X.astype({"few": "category", "many": "category"})
    y = np.repeat([0, 1], [LEARNED, NEW])
    trees = HistGradientBoostingClassifier(max_iter=60, categorical_features="from_dtype", random_state=0)
    score = cross_val_predict(
        trees, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0), method="decision_function"
    )
    return float(stats.mannwhitneyu(score[y == 1], score[y == 0], alternative="greater").pvalue)


def by_drift(old: Table, new: Table, labels: bool) -> tuple[float, float, float]:
    """Return the joint p-value, the least adjusted one and the least one within classes, times the columns."""
    found = NaiveBayes().fit(*old).drift(new[0], new[1] if labels else None)
    return (
        found.joint_p_value,
        float(found.adjusted_p_value.min()),
        min(1.0, len(found.columns) * float(np.nanmin(found.within_p_value))),
    )


def trial(name: str, repeats: int, trees: int) -> list[str]:
    """Return a row of the report for each of without labels and with them."""
    rows = []
    for labels in (False, True):
        found: dict[str, list[float]] = {}
        seconds = {"drift": 0.0, "columns": 0.0, "trees": 0.0}
        for number in range(repeats):
            rng = np.random.default_rng([crc32(name.encode()), number])
            old, new = draw(rng, LEARNED), CHANGES[name](rng)
            start = time.perf_counter()
            for key, p in zip(("joint", "adjusted", "within"), by_drift(old, new, labels), strict=True):
                found.setdefault(key, []).append(p)
            seconds["drift"] += time.perf_counter() - start
            start = time.perf_counter()
            found.setdefault("columns", []).append(by_columns(old, new, labels))
            seconds["columns"] += time.perf_counter() - start
            if number < trees:
                start = time.perf_counter()
                found.setdefault("trees", []).append(by_trees(old, new, labels))
                seconds["trees"] += time.perf_counter() - start
        share = {key: f"{100 * np.mean(np.array(p) <= LEVEL):.0f}" for key, p in found.items()}
        cells = [share[key] for key in ("joint", "adjusted", "within", "columns", "trees")]
        each = [seconds["drift"] / repeats, seconds["columns"] / repeats, seconds["trees"] / max(trees, 1)]
        rows.append(
            f"| {name} | {'yes' if labels else 'no'} | {' | '.join(cells)} | {' / '.join(f'{s:.2f}' for s in each)} |"
        )
    return rows


def main() -> None:
    """Print the section of the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--trees", type=int, default=60, help="tables on which trees are grown")
    given = parser.parse_args()
    print("| changed | labels | joint | least adjusted | within classes | KS, Bonferroni | trees | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in CHANGES:
        for row in trial(name, given.repeats, given.trees):
            print(row, flush=True)


if __name__ == "__main__":
    main()
