"""Find spoiled cells on public tables: suffice beside a robust z, quantiles of LightGBM and isolation forests.

Of ten tables (at most 1,000 rows of each, drawn by a seed) a share of the cells is spoiled: a decimal point moved, a
sign lost, inches for centimetres, thousands, two digits or two columns that changed places, the cell of another row,
another category. Every case goes to a file as soon as it is known, one JSON object a line, so that a run that was
stopped goes on; the section in benchmarks/RESULTS.md is made from that file.

The peers know the classes, too. The robust z is |x − median| / median |x − median| of a column, of a category one less
its share. LightGBM (its defaults) learns quartiles of a number from the other columns and the class, a category's
probabilities, by five folds: the distance from the median over that of the quartiles, ten times one less the
probability. The isolation forest (scikit-learn's, 200 trees, one-hot categories) scores a row; a cell has what the
score falls by as the cell gives way to its column's median or most frequent level.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from runs import RESULTS, RUNS, Kept, place
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from tables import TABLES

from suffice import GenerativeClassifier

CASES = RUNS / "wrong_cells.jsonl"
NAMES = ("penguins", "fgl", "pima", "ais", "saheart", "australian", "vehicle", "vowel", "oils", "segment")
RATES = (0.01, 0.03, 0.05)
MOST_ROWS = 1000
FDR = 0.1

Scores = tuple[np.ndarray, np.ndarray | None]  # how wrong each cell seems (n, d), and which are named, if any are


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return at most `MOST_ROWS` rows of a table, and their classes."""
    found = TABLES[name]()
    some = np.sort(np.random.default_rng(0).permutation(len(found.y))[:MOST_ROWS])
    return found.X.iloc[some].reset_index(drop=True), found.y[some]


def numbers(X: pd.DataFrame) -> list[str]:
    return [column for column in X if pd.api.types.is_float_dtype(X[column])]


def turned(value: float, rng: np.random.Generator) -> float:
    """Return a number two neighbouring digits of which have changed places."""
    text = f"{abs(value):.6g}"
    places = [i for i in range(len(text) - 1) if text[i : i + 2].isdigit() and text[i] != text[i + 1]]
    if "e" in text or not places:
        return value
    i = places[rng.integers(len(places))]
    return float(np.copysign(float(text[:i] + text[i + 1] + text[i] + text[i + 2 :]), value))


def spoiled(X: pd.DataFrame, rate: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table with a share of its known cells spoiled, and which (n, d) differ now."""
    rng, out, scales = np.random.default_rng(seed), X.copy(), numbers(X)
    known = X.notna().to_numpy()
    for i, j in np.argwhere(known & (rng.random(X.shape) < rate)):
        column = X.columns[j]
        other = X[column].dropna()
        if column not in scales:
            rest = other[other != X.at[i, column]].unique()
            out.at[i, column] = rest[rng.integers(len(rest))] if len(rest) else X.at[i, column]
            continue
        value = float(X.at[i, column])
        swap = scales[rng.integers(len(scales))]
        values = (value * 10, value / 10, -value, value / 2.54, value * 1000, turned(value, rng), X.at[i, swap])
        values += (float(other.iloc[rng.integers(len(other))]),)
        kind = int(rng.integers(len(values)))
        if kind == 6:
            out.at[i, swap] = value
        out.at[i, column] = values[kind]
    same = (out == X) | (out.isna() & X.isna())
    return out, ~same.to_numpy()


def by_suffice(X: pd.DataFrame, y: np.ndarray) -> Scores:
    found = GenerativeClassifier().fit(X, y).suspect_cells(X, y, fdr=FDR)
    p = np.where(np.isnan(found.p_value), 1.0, found.p_value)
    return -np.log(np.maximum(p, 1e-300)), np.nan_to_num(found.adjusted, nan=1.0) <= FDR


def by_median(X: pd.DataFrame, y: np.ndarray) -> Scores:
    out = np.zeros(X.shape)
    for j, column in enumerate(X):
        if column in numbers(X):
            far = (X[column] - X[column].median()).abs()
            out[:, j] = far / max(far.median(), 1e-9 * far.max(), 1e-300)
        else:
            out[:, j] = 1.0 - X[column].astype(object).map(X[column].value_counts(normalize=True)).astype(float)
    return np.nan_to_num(out), None


def by_quantiles(X: pd.DataFrame, y: np.ndarray) -> Scores:
    from lightgbm import LGBMClassifier, LGBMRegressor

    out, cells = np.zeros(X.shape), X.assign(**{"the class": pd.Categorical(y)})
    for column in X:
        if column not in numbers(X):
            cells[column] = cells[column].astype("category")
    for j, column in enumerate(X):
        known = np.flatnonzero(X[column].notna())
        for learned, judged in KFold(5, shuffle=True, random_state=0).split(known):
            learned, judged = known[learned], known[judged]
            rest, own = cells.drop(columns=column), X[column]
            if column in numbers(X):
                low, middle, high = (
                    LGBMRegressor(objective="quantile", alpha=a, n_jobs=1, verbose=-1)
                    .fit(rest.iloc[learned], own.iloc[learned])
                    .predict(rest.iloc[judged])
                    for a in (0.25, 0.5, 0.75)
                )
                wide = np.maximum(np.abs(high - low), 1e-3 * float(own.std()) + 1e-300)
                out[judged, j] = np.abs(own.iloc[judged] - middle) / wide
            else:
                levels = own.astype(object).fillna("").astype(str).to_numpy(dtype=str)
                model = LGBMClassifier(n_jobs=1, verbose=-1).fit(rest.iloc[learned], levels[learned])
                share = pd.DataFrame(model.predict_proba(rest.iloc[judged]), columns=model.classes_)
                share = share.reindex(columns=np.unique(levels), fill_value=0.0)
                own_share = share.to_numpy()[np.arange(len(judged)), share.columns.get_indexer(levels[judged])]
                out[judged, j] = 10.0 * (1.0 - own_share)
    return out, None


def by_isolation(X: pd.DataFrame, y: np.ndarray) -> Scores:
    filled = X.copy()
    for column in X:
        usual = X[column].median() if column in numbers(X) else X[column].mode().iloc[0]
        filled[column] = X[column].fillna(usual) if column in numbers(X) else X[column].astype(object).fillna(usual)
    whole = pd.get_dummies(filled.assign(**{"the class": y.astype(str)})).astype(float)
    model = IsolationForest(n_estimators=200, random_state=0).fit(whole)
    score, out = model.score_samples(whole), np.zeros(X.shape)
    for j, column in enumerate(X):
        usual = filled[column].median() if column in numbers(X) else filled[column].mode().iloc[0]
        own = pd.get_dummies(filled.assign(**{"the class": y.astype(str), column: usual})).astype(float)
        out[:, j] = model.score_samples(own.reindex(columns=whole.columns, fill_value=0.0)) - score
    return out, None


METHODS: dict[str, Callable[[pd.DataFrame, np.ndarray], Scores]] = {
    "suffice": by_suffice,
    "robust z": by_median,
    "LightGBM": by_quantiles,
    "isolation": by_isolation,
}


def run(names: list[str], methods: list[str]) -> None:
    """Append the cases that the file does not hold yet."""
    CASES.parent.mkdir(exist_ok=True)
    kept = Kept(CASES, ("table", "rate", "method"))
    for name in names:
        X, y = load(name)
        for seed, rate in enumerate(RATES):
            wrong, where = spoiled(X, rate, seed)
            known = wrong.notna().to_numpy()
            for method in methods:
                label = {"table": name, "rate": rate, "method": method}
                if label in kept:
                    continue
                started = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    score, named = METHODS[method](wrong, y)
                told = label | {"rows": len(X), "columns": X.shape[1], "wrong": int(where.sum())}
                told |= {"seconds": time.process_time() - started}
                told["precision"] = float(average_precision_score(where[known], score[known]))
                if named is not None:
                    told |= {"named": int(named.sum()), "false": int((named & ~where).sum())}
                kept.add(told)


def report() -> str:
    """Return the section of benchmarks/RESULTS.md."""
    cases = pd.DataFrame([json.loads(line) for line in CASES.read_text().splitlines()])
    wide = cases.pivot_table(index=["table", "rate"], columns="method", values="precision")
    peers = [method for method in METHODS if method != "suffice"]
    lines = ["| table | rows, columns | spoiled | " + " | ".join(METHODS) + " | named | right, of those named |"]
    lines.append("|---|---|---|" + "---|" * (len(METHODS) + 2))
    own = cases[cases["method"] == "suffice"].set_index(["table", "rate"])
    for name in dict.fromkeys(cases["table"]):
        for rate in RATES:
            told, each = own.loc[(name, rate)], wide.loc[(name, rate)]
            scores = " | ".join(f"**{each[m]:.2f}**" if each[m] == each.max() else f"{each[m]:.2f}" for m in METHODS)
            share = f"{told['false'] / told['named']:.2f}" if told["named"] else "–"
            size = f"{int(told['rows'])}, {int(told['columns'])}"
            lines.append(f"| {name} | {size} | {int(told['wrong'])} | {scores} | {int(told['named'])} | {share} |")
    mean = " | ".join(f"{wide[m].mean():.2f}" for m in METHODS)
    named, false = int(own["named"].sum()), int(own["false"].sum())
    lines.append(f"| mean | | | {mean} | {named} | {false / max(named, 1):.2f} |")
    best = int((wide["suffice"] >= wide[peers].max(axis=1)).sum())
    lines += ["", f"suffice has the highest average precision in {best} of {len(wide)} cases."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    given = parser.parse_args()
    run(given.tables, given.methods)
    if given.write:
        place(RESULTS, "wrong cells", report())
    else:
        print(report())


if __name__ == "__main__":
    main()
