"""Measure the automatic classifier's probabilities against scikit-learn's classifiers on public tables.

Repeated stratified cross-validation, the same folds for all. Each fold's losses go to a file as soon as they are known,
one JSON object a line, so a run that was stopped goes on where it stopped; the summary in benchmarks/RESULTS.md is made
from that file. Every classifier is given the table as it is, and a pipeline where it cannot take missing or categorical
cells itself.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from accuracy_report import report, write
from measures import CLIP, OURS, scores
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import TABLES, Table

from suffice import GenerativeClassifier

FOLDS = Path(__file__).parent / "accuracy.jsonl"


# --- the peers -----------------------------------------------------------------------------------------------------


def dense() -> Any:
    """Means for missing numbers, one column per level, unit variances."""
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="if_binary")
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(columns, VarianceThreshold())


def split() -> StratifiedKFold:
    return StratifiedKFold(3, shuffle=True, random_state=0)


class TunedBoosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """HistGradientBoosting with native categories and missing cells, tuned by log-loss in three folds.

    Learning rate .05 or .2, 4 or 31 leaves, and of up to 100 rounds as many as lose least.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> TunedBoosting:
        self.classes_ = np.unique(y)
        best = (np.inf, {})
        for rate in (0.05, 0.2):
            for leaves in (4, 31):
                given = {"learning_rate": rate, "max_leaf_nodes": leaves}
                loss = self._losses(X, y, given)
                if loss.min() < best[0]:
                    best = loss.min(), {**given, "max_iter": int(loss.argmin()) + 1}
        self.best_ = self._model(best[1]).fit(X, y)
        return self

    def _model(self, given: dict[str, Any]) -> HistGradientBoostingClassifier:
        settings = {"max_iter": 100, "early_stopping": False, "categorical_features": "from_dtype", "random_state": 0}
        return HistGradientBoostingClassifier(**{**settings, **given})

    def _losses(self, X: pd.DataFrame, y: np.ndarray, given: dict[str, Any]) -> np.ndarray:
        total = np.zeros(100)
        for train, test in split().split(X, y):
            model = self._model(given).fit(X.iloc[train], y[train])
            column = np.searchsorted(model.classes_, y[test])
            for i, p in enumerate(model.staged_predict_proba(X.iloc[test])):
                total[i] -= np.log(np.clip(p[np.arange(len(test)), column], CLIP, 1.0)).sum()
        return total

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.best_.predict_proba(X))


def tuned_logistic() -> Any:
    grid = {"logisticregression__C": np.logspace(-3, 3, 9)}
    model = make_pipeline(dense(), LogisticRegression(max_iter=1000))
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=split())


def forest() -> Any:
    return make_pipeline(dense(), RandomForestClassifier(300, random_state=0))


MODELS: dict[str, Callable[[], Any]] = {
    OURS: GenerativeClassifier,
    "LDA": lambda: make_pipeline(dense(), LinearDiscriminantAnalysis()),
    "LDA, shrunk": lambda: make_pipeline(dense(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "QDA": lambda: make_pipeline(dense(), QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=1e-3)),
    "GaussianNB": lambda: make_pipeline(dense(), GaussianNB()),
    "LogisticRegression": tuned_logistic,
    "RandomForest": forest,
    "HistGradientBoosting": TunedBoosting,
}


# --- measuring -----------------------------------------------------------------------------------------------------


def folds(table: Table, repeats: int, parts: int, rows: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield repeat, fold, and the numbers of training and test rows, of at most so many rows drawn at random."""
    for repeat in range(repeats):
        draw = np.random.default_rng(repeat).permutation(len(table.y))[:rows]
        cuts = StratifiedKFold(parts, shuffle=True, random_state=repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a rare class may have fewer rows than folds
            for fold, (train, test) in enumerate(cuts.split(draw, table.y[draw])):
                yield repeat, fold, draw[train], draw[test]


def measure(make: Callable[[], Any], table: Table, train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """Return one fold's scores and seconds (the automatic classifier's choice is part of its fit), or the error."""
    X, y = table.X.iloc[train].reset_index(drop=True), table.y[train]
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(make()).fit(X, y)
            extra = {"held_out": model.loss_} if isinstance(model, GenerativeClassifier) else {}
            seconds = time.perf_counter() - begun
            known = np.asarray(model.predict_proba(table.X.iloc[test].reset_index(drop=True)))
    except Exception as problem:  # noqa: BLE001 - a classifier that fails is part of the result
        return {"failed": f"{type(problem).__name__}: {problem}"[:200]}
    p = np.zeros((len(test), int(table.y.max()) + 1))
    p[:, model.classes_] = known
    return {**scores(p, table.y[test]), "seconds": seconds, **extra}


def run(options: argparse.Namespace) -> None:
    """Measure what the file of folds does not hold yet."""
    known = {key(line) for line in lines(options.out)}
    for name in options.tables or TABLES:
        table = TABLES[name]()
        for repeat, fold, train, test in folds(table, options.repeats, options.folds, options.rows):
            for model, make in MODELS.items():
                asked = options.models is None or model in options.models
                label = {"table": name, "rows": options.rows, "repeat": repeat, "fold": fold, "model": model}
                if not asked or key(label) in known:
                    continue
                line = {**label, **measure(make, table, train, test)}
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def key(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["table"], line["rows"], line["repeat"], line["fold"], line["model"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="at most so many rows of each table")
    parser.add_argument("--tables", nargs="+", choices=TABLES, help="only these")
    parser.add_argument("--models", nargs="+", choices=MODELS, help="only these")
    parser.add_argument("--out", type=Path, default=FOLDS, help="the file of folds")
    parser.add_argument("--only-report", action="store_true", help="measure nothing, write the summary again")
    parser.add_argument("--remark", default="", help="what else to know of this run, for the summary")
    options = parser.parse_args()
    if not options.only_report:
        run(options)
    write(report(lines(options.out), options.rows, options.remark))


if __name__ == "__main__":
    main()
