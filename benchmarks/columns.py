"""Which columns suffice: `importance` and `smallest_columns` beside scikit-learn's permutation importance and search.

    python benchmarks/columns.py [TABLE …] [--splits 2]

Tables are cut into halves by seed; each method sees one half (at most 1500 rows), and what it chooses is judged on half
of the other. Permutation importance, which needs rows that were not learned, has the rest beside. The model is the
automatic classifier. "Refitted" is what all columns but one lose more than all in five folds of the first half, the
model fitted again each time: what importances stand for, asked of the first seed. Costs are seconds of one process.
Prints a line of JSON for each half, and at the end the table of benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from tables import TABLES

from suffice import GenerativeClassifier

CHOSEN = ("penguins", "pima", "saheart", "heart", "vehicle", "credit_data")
MOST_ROWS, FOLDS, REPEATS, WITHIN = 1500, 5, 5, 0.01
R = TypeVar("R")
SEARCHED = 12  # columns, up to which scikit-learn's search is run: it fits for each step, column and fold


def held_out_loss(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, labels: np.ndarray, columns: list[str]) -> float:
    """Return the log-loss of rows that a model of some columns has not seen; of none, that of the classes' shares."""
    if not columns:
        classes, counts = np.unique(y, return_counts=True)
        return float(log_loss(labels, np.tile(counts / len(y), (len(labels), 1)), labels=classes))
    model = GenerativeClassifier().fit(X[columns], y)
    return float(log_loss(labels, model.predict_proba(new[columns]), labels=model.classes_))


def refitted(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return by column what a model fitted without it loses more, over five folds."""
    cuts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))

    def loss(columns: list[str]) -> float:
        each = [held_out_loss(X.iloc[own], y[own], X.iloc[out], y[out], columns) * len(out) for own, out in cuts]
        return sum(each) / len(y)

    whole = loss(list(X))
    return np.array([loss([own for own in X if own != name]) - whole for name in X])


class Searched(GenerativeClassifier):
    """The automatic classifier as scikit-learn's search takes it: of arrays, with categories as numbers."""


def search(X: pd.DataFrame, y: np.ndarray, size: int) -> list[str]:
    """Return the columns that scikit-learn's forward search chooses, so many, by five folds."""
    codes = X.apply(lambda own: own if own.dtype == "float64" else own.cat.codes.where(own.notna()).astype("float64"))
    found = SequentialFeatureSelector(
        Searched(),
        n_features_to_select=size,
        scoring="neg_log_loss",
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
    ).fit(codes, y)
    return [str(name) for name in X.columns[found.get_support()]]


def timed(work: Callable[[], R]) -> tuple[R, float]:
    """Return what work returns, and how many seconds of this process it takes."""
    begin = time.process_time()
    return work(), time.process_time() - begin


def judge(X: pd.DataFrame, y: np.ndarray, seed: int, agreement: bool) -> dict[str, Any]:
    """Return what the methods find on one half, what it takes, and what the other half says of it."""
    halves = train_test_split(X, y, train_size=min(MOST_ROWS, len(y) // 2), stratify=y, random_state=seed)
    learned, new, own, labels = (
        part.reset_index(drop=True) if hasattr(part, "reset_index") else part for part in halves
    )
    beside, new, theirs, labels = train_test_split(new, labels, train_size=0.5, stratify=labels, random_state=seed)
    model, fit = timed(lambda: GenerativeClassifier().fit(learned, own))
    found, cost = timed(model.importance)
    few, few_cost = timed(lambda: model.smallest_columns(WITHIN))
    shuffled, shuffled_cost = timed(
        lambda: permutation_importance(model, beside, theirs, scoring="neg_log_loss", n_repeats=REPEATS, random_state=0)
    )
    by_shuffle = [str(X.columns[j]) for j in np.argsort(-shuffled.importances_mean)[: len(few)]]
    by_worth = [str(found.columns[j]) for j in found.order[: len(few)]]
    out: dict[str, Any] = {
        "rows": len(own),
        "columns": X.shape[1],
        "fit_s": fit,
        "importance_s": cost,
        "smallest_s": few_cost,
        "permutation_s": shuffled_cost,
        "few": few,
        "loss_all": held_out_loss(learned, own, new, labels, list(X)),
        "loss_few": held_out_loss(learned, own, new, labels, few),
        "loss_permutation": held_out_loss(learned, own, new, labels, by_shuffle),
        "loss_worth": held_out_loss(learned, own, new, labels, by_worth),
    }
    if agreement:
        truth, out["refitted_s"] = timed(lambda: refitted(learned, own))
        out["agreement"] = float(spearmanr(found.mean, truth).statistic)
        out["agreement_permutation"] = float(spearmanr(shuffled.importances_mean, truth).statistic)
        if X.shape[1] <= SEARCHED and few:
            chosen, out["search_s"] = timed(lambda: search(learned, own, len(few)))
            out["loss_search"] = held_out_loss(learned, own, new, labels, chosen)
    return out


def in_words(results: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a table in Markdown, the mean over the halves of each table."""
    heads = {
        "fit_s": "fit, s",
        "importance_s": "`importance`, s",
        "permutation_s": "permutation, s",
        "refitted_s": "refitted, s",
        "agreement": "agreement of `importance`",
        "agreement_permutation": "of permutation",
        "smallest_s": "`smallest_columns`, s",
        "search_s": "search, s",
        "loss_all": "loss of all",
        "loss_few": "of `smallest_columns`",
        "loss_worth": "of as many by `importance`",
        "loss_permutation": "by permutation",
        "loss_search": "by search",
    }
    lines = [f"| table | rows / columns | chosen | {' | '.join(heads.values())} |", "|---" * (len(heads) + 3) + "|"]
    for name in dict.fromkeys(own["table"] for own in results):
        own = [result for result in results if result["table"] == name]
        cells = [name, f"{own[0]['rows']} / {own[0]['columns']}", "/".join(str(len(each["few"])) for each in own)]
        for key in heads:
            known = [each[key] for each in own if key in each]
            digits = 2 if key.endswith("_s") or key.startswith("agreement") else 3
            cells.append(f"{np.mean(known):.{digits}f}" if known else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Judge the tables and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=CHOSEN)
    parser.add_argument("--splits", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in asked.tables:
        table = TABLES[name]()
        for seed in range(asked.splits):
            results.append({"table": name, "seed": seed, **judge(table.X, table.y, seed, agreement=seed == 0)})
            print(json.dumps(results[-1]), flush=True)
    print("\n".join(in_words(results)))


if __name__ == "__main__":
    main()
