"""Find labels that were made wrong on public tables: suffice beside cleanlab.

Of ten tables (at most 2,000 rows of each, drawn by a seed) a share of the labels is flipped: to any other class alike,
or each class into the one it is most confused with; of two classes only rows of the more frequent one are flipped then.
The tables are none of those on which the constants of `questions/suspect_labels.py` were chosen. Every case goes to a
file as soon as it is known, one JSON object a line, so that a run that was stopped goes on; the section in
benchmarks/RESULTS.md is made from that file. cleanlab is no dependency of the project: it is imported where asked for.

cleanlab judges by cross-validation (5 folds, its default) of scikit-learn's logistic regression (its default, on
standardised numbers and one-hot categories, holes filled with means) or of histogram gradient boosting (categories and
holes as they are).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from runs import RUNS
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import TABLES

from suffice import GenerativeClassifier

CASES = RUNS / "wrong_labels.jsonl"
RESULTS = Path(__file__).parent / "RESULTS.md"
BEGIN, END = "<!-- wrong labels -->", "<!-- end of wrong labels -->"
NAMES = ("ionosphere", "australian", "pima", "german", "vowel", "cells", "splice", "satimage", "penbased", "mushroom")
RATES = (0.05, 0.1, 0.2)
KINDS = ("any class", "confusable class")
MOST_ROWS = 2000
FDR = 0.1


class Answer(NamedTuple):
    """How wrong each label seems (n,), which are flagged (n,), and how many are said to be wrong."""

    score: np.ndarray
    flagged: np.ndarray
    number: float


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return at most `MOST_ROWS` rows of a table, and their classes from 0."""
    found = TABLES[name]()
    some = np.sort(np.random.default_rng(0).permutation(len(found.y))[:MOST_ROWS])
    return found.X.iloc[some].reset_index(drop=True), np.unique(found.y[some], return_inverse=True)[1]


def encoded(X: pd.DataFrame) -> np.ndarray:
    """Return standardised numbers, their holes filled with means, and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    kinds = make_column_selector(dtype_include="float64"), make_column_selector(dtype_exclude="float64")
    return np.asarray(make_column_transformer((numbers, kinds[0]), (levels, kinds[1])).fit_transform(X), dtype=float)


def most_confused(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return for each class the one that gradient boosting confuses it with most, by three folds on right labels."""
    model = HistGradientBoostingClassifier(max_iter=30, categorical_features="from_dtype", random_state=0)
    p = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    table = np.stack([p[y == c].mean(axis=0) for c in range(p.shape[1])])
    np.fill_diagonal(table, -1.0)
    return table.argmax(axis=1)


def flipped(y: np.ndarray, rate: float, other: np.ndarray | None, seed: int) -> np.ndarray:
    """Return labels of which a share is wrong; `other` (k,) is the class that each becomes, any if None."""
    rng = np.random.default_rng(seed)
    k, found = int(y.max()) + 1, y.copy()
    chosen = rng.random(len(y)) < rate
    if other is None:
        found[chosen] = (y[chosen] + rng.integers(1, k, int(chosen.sum()))) % k
        return found
    if k == 2:
        chosen &= y == np.bincount(y).argmax()
    found[chosen] = other[y[chosen]]
    return found


def by_suffice(X: pd.DataFrame, label: np.ndarray) -> Answer:
    p = GenerativeClassifier().fit(X, label).suspect_labels(X, label)
    from suffice.questions.suspect_labels import flag_labels

    return Answer(p, flag_labels(p, FDR), float(p.sum()))


def by_cleanlab(model: Any, X: Any, label: np.ndarray) -> Answer:
    from cleanlab.classification import CleanLearning

    found = CleanLearning(model, seed=0).find_label_issues(X, label)
    flagged = found["is_label_issue"].to_numpy()
    return Answer(1.0 - found["label_quality"].to_numpy(), flagged, float(flagged.sum()))


METHODS: dict[str, Callable[[pd.DataFrame, np.ndarray], Answer]] = {
    "suffice": by_suffice,
    "cleanlab, logistic regression": lambda X, label: by_cleanlab(LogisticRegression(), encoded(X), label),
    "cleanlab, gradient boosting": lambda X, label: by_cleanlab(
        HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0), X, label
    ),
}


def judged(answer: Answer, wrong: np.ndarray, seconds: float) -> dict[str, float]:
    """Return how well an answer finds what is wrong."""
    found, worst = answer.flagged, np.argsort(-answer.score, kind="stable")[: int(wrong.sum())]
    return {
        "AUC": float(roc_auc_score(wrong, answer.score)),
        "average precision": float(average_precision_score(wrong, answer.score)),
        "precision at equal number": float(wrong[worst].mean()),
        "flagged": int(found.sum()),
        "precision": float(wrong[found].mean()) if found.any() else float("nan"),
        "recall": float(found[wrong].mean()),
        "said / wrong": answer.number / float(wrong.sum()),
        "said": answer.number,
        "seconds": seconds,
    }


def run(names: list[str], methods: list[str]) -> None:
    """Append the cases that the file does not hold yet."""
    known = {tuple(json.loads(line)["case"]) for line in CASES.read_text().splitlines()} if CASES.exists() else set()
    by_suffice(*load("ionosphere"))  # loads libraries
    for name in names:
        X, y = load(name)
        others = most_confused(X, y)
        for seed, (kind, rate) in enumerate([("none", 0.0), *((kind, rate) for kind in KINDS for rate in RATES)]):
            label = flipped(y, rate, others if kind == KINDS[1] else None, seed)
            wrong = label != y
            for method in methods:
                case = (name, kind, rate, method)
                if case in known:
                    continue
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = METHODS[method](X, label)
                seconds = time.perf_counter() - started
                told: dict[str, Any] = {"said": answer.number, "flagged": int(answer.flagged.sum()), "seconds": seconds}
                told = judged(answer, wrong, seconds) if wrong.any() else told
                told |= {"case": case, "rows": len(y), "columns": X.shape[1], "classes": len(others)}
                CASES.parent.mkdir(exist_ok=True)
                with CASES.open("a") as file:
                    file.write(json.dumps(told | {"wrong": int(wrong.sum())}) + "\n")
                print(*case, f"{seconds:.1f} s", flush=True)


MEASURES = ("average precision", "AUC", "precision at equal number", "precision", "recall", "said / wrong", "seconds")


def report() -> str:
    """Return the section of benchmarks/RESULTS.md."""
    cases = pd.DataFrame([json.loads(line) for line in CASES.read_text().splitlines()])
    cases[["table", "kind", "rate", "method"]] = pd.DataFrame(cases["case"].tolist(), index=cases.index)
    flips, none = cases[cases["rate"] > 0], cases[cases["rate"] == 0]
    methods = [own for own in METHODS if own in set(cases["method"])]
    lines = ["| flipped | method | " + " | ".join(MEASURES) + " |", "|---|---|" + "---|" * len(MEASURES)]
    for kind in KINDS:
        for rate in RATES:
            for method in methods:
                own = flips[(flips["kind"] == kind) & (flips["rate"] == rate) & (flips["method"] == method)]
                cells = [
                    f"{own[what].median() if what == 'said / wrong' else own[what].mean():.2f}" for what in MEASURES
                ]
                lines.append(f"| {rate:.0%} to {kind} | {method} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "| table | rows / columns / classes | "
        + " | ".join(f"{m}: {w}" for w in ("AP", "said / wrong") for m in methods)
        + " | "
        + " | ".join(f"{m}: said wrong of no flip" for m in methods)
        + " |",
        "|---|---|" + "---|" * (3 * len(methods)),
    ]
    for name in dict.fromkeys(cases["table"]):
        own = flips[flips["table"] == name]
        first = cases[cases["table"] == name].iloc[0]
        row = [f"{first['rows']} / {first['columns']} / {first['classes']}"]
        for what in ("average precision", "said / wrong"):
            row += [f"{own[own['method'] == method][what].mean():.2f}" for method in methods]
        row += [
            f"{float(none[(none['table'] == name) & (none['method'] == method)]['said'].iloc[0]):.0f}"
            for method in methods
        ]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    if len(methods) > 1:
        wide = flips.pivot_table(index=["table", "kind", "rate"], columns="method", values="average precision")
        for method in methods[1:]:
            worse = wide[wide["suffice"] < wide[method] - 0.005]
            lost = ", ".join(
                f"{t} ({r:.0%} to {k}: {v['suffice']:.2f} against {v[method]:.2f})" for (t, k, r), v in worse.iterrows()
            )
            lines += ["", f"Average precision below {method} in {len(worse)} of {len(wide)} cases: {lost or 'none'}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    given = parser.parse_args()
    run(given.tables, given.methods)
    if given.write:
        text = RESULTS.read_text()
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        RESULTS.write_text(text[:begin] + "\n" + report() + "\n" + text[end:])
    else:
        print(report())


if __name__ == "__main__":
    main()
