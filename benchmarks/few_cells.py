"""Rows of which little is known: log-loss where only some cells of new rows are left, beside other classifiers.

    python benchmarks/few_cells.py [TABLE …] [--splits 2]

A half of each table (at most 1500 rows) is learned as it is. Of each row of the other half (up to 1000) some cells
are left, chance deciding which: one, a quarter, a half, three quarters, all. Losses are clipped at 1e-15. LightGBM has
its own way with missing cells; logistic regression and random forests get the means of the columns, and a level of its
own for none. "Own weights" is the automatic classifier under the weights that its members have for whole rows.
Prints a line of JSON for each split, and at the end the table of benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from peers import CLIP, MODELS
from sklearn.model_selection import train_test_split
from tables import TABLES

from suffice import GenerativeClassifier, GenerativeForest, NaiveBayes

CHOSEN = ("penguins", "heart", "wdbc", "ionosphere", "sonar", "vehicle", "segment", "german", "housevotes", "satimage")
OURS = {"GenerativeClassifier": GenerativeClassifier, "GenerativeForest": GenerativeForest, "NaiveBayes": NaiveBayes}
PEERS = ("LightGBM", "RandomForest", "LogisticRegression")
LEARNED, ASKED, DRAWS = 1500, 1000, 3
SHARES: dict[str, Callable[[int], int]] = {
    "one cell": lambda d: 1,
    "1/4": lambda d: max(1, round(d / 4)),
    "1/2": lambda d: max(1, round(d / 2)),
    "3/4": lambda d: max(1, round(3 * d / 4)),
    "all": lambda d: d,
}


def leaving(X: pd.DataFrame, cells: int, seed: int) -> pd.DataFrame:
    """Return rows of which so many cells are left, others missing; which they are is drawn for each row."""
    order = np.random.default_rng(seed).random(X.shape).argsort(axis=1).argsort(axis=1)
    return X.where(order < cells)


def loss(posterior: np.ndarray, codes: np.ndarray) -> float:
    return float(-np.log(np.clip(posterior[np.arange(len(codes)), codes], CLIP, 1.0)).mean())


def by_own_weights(model: GenerativeClassifier, X: pd.DataFrame) -> np.ndarray:
    """Return posteriors under the weights that the stack has for rows of which all is known."""
    fitted = model._fitted
    return np.exp(replace(fitted.pool, sample=None).log_posterior(fitted._read(fitted.rows(X))))


def judge(X: pd.DataFrame, y: np.ndarray, seed: int) -> dict[str, Any]:
    """Return the mean losses of every classifier by how many cells are left."""
    learned, new, own, labels = train_test_split(
        X, y, train_size=min(LEARNED, len(y) // 2), stratify=y, random_state=seed
    )
    new, labels = new.iloc[:ASKED], labels[:ASKED]
    classes = np.unique(own)
    codes = np.searchsorted(classes, labels)
    shares = np.tile(np.bincount(np.searchsorted(classes, own)) / len(own), (len(codes), 1))
    answer: dict[str, Callable[[pd.DataFrame], np.ndarray]] = {}
    for name in (*OURS, *PEERS):
        model = (OURS.get(name) or MODELS[name])().fit(learned, own)
        answer[name] = model.predict_proba
        if name == "GenerativeClassifier":
            answer["own weights"] = lambda rows, model=model: by_own_weights(model, rows)  # type: ignore[misc]
    out: dict[str, Any] = {"rows": len(own), "columns": X.shape[1], "classes": len(classes)}
    for share, count in SHARES.items():
        some = [leaving(new, count(X.shape[1]), 10 * seed + draw) for draw in range(DRAWS if share != "all" else 1)]
        out[share] = {name: float(np.mean([loss(ask(rows), codes) for rows in some])) for name, ask in answer.items()}
        out[share]["shares"] = loss(shares, codes)
    return out


def in_words(results: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a table in Markdown: mean losses, the least of each line in bold."""
    names = [name for name in results[0]["all"] if name not in ("own weights", "shares")]
    lines = [f"| table | n / d / k | cells left | {' | '.join(names)} | own weights | class shares |"]
    lines.append("|---" * (len(names) + 5) + "|")
    for table in dict.fromkeys(own["table"] for own in results):
        own = [result for result in results if result["table"] == table]
        size = f"{own[0]['rows']} / {own[0]['columns']} / {own[0]['classes']}"
        for share in SHARES:
            mean = {name: float(np.mean([each[share][name] for each in own])) for name in own[0][share]}
            best = min(mean[name] for name in names)
            cells = [f"**{mean[name]:.3f}**" if mean[name] == best else f"{mean[name]:.3f}" for name in names]
            cells += [f"{mean['own weights']:.3f}", f"{mean['shares']:.3f}"]
            lines.append(f"| {table} | {size} | {share} | {' | '.join(cells)} |")
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
            results.append({"table": name, **judge(table.X, table.y, seed)})
            print(json.dumps(results[-1]), flush=True)
    print("\n".join(in_words(results)))


if __name__ == "__main__":
    main()
