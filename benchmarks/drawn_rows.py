"""How rows drawn from a model are compared with real rows that it has not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

TREES, PARTS = 200, 3


def compared(drawn: pd.DataFrame, real: pd.DataFrame, learned: pd.DataFrame) -> dict[str, float]:
    """Return the distances of drawn rows to real ones, and what they keep of the columns that were learned.

    Columns are float64 (numbers) or categories, the same in all three tables. Not a number: there is no such column.
    """
    drawn = drawn[list(real)]
    numbers = [name for name in real if real[name].dtype == "float64"]
    levels = [name for name in real if name not in numbers]
    whole = [name for name in numbers if is_whole(learned[name])]
    holed = [name for name in numbers if learned[name].isna().any()]
    return {
        "auc": told_apart(drawn, real),
        "auc_boosted": told_apart(drawn, real, HistGradientBoostingClassifier(random_state=0)),
        "auc_complete": told_apart(drawn.dropna(), real.dropna()) if real.isna().any(axis=None) else float("nan"),
        "ks": mean([kolmogorov_smirnov(drawn[name], real[name]) for name in numbers]),
        "tv": mean([total_variation(drawn[name], real[name]) for name in levels]),
        "holes": mean([abs(drawn[name].isna().mean() - real[name].isna().mean()) for name in holed]),
        "whole": mean([float(is_whole(drawn[name])) for name in whole]),
        "within": mean([within_range(drawn[name], learned[name]) for name in numbers]),
        "copies": copies(drawn, learned),
    }


def told_apart(drawn: pd.DataFrame, real: pd.DataFrame, judge: ClassifierMixin | None = None) -> float:
    """Return the cross-validated area under the ROC curve of a judge that tells drawn rows from real ones.

    It is a random forest if nothing else is said. Boosted trees see what lies off the edges of a table better.
    """
    if min(len(drawn), len(real)) < PARTS:
        return float("nan")
    X = coded(pd.concat([as_text(drawn), as_text(real)], ignore_index=True))
    y = np.repeat([1, 0], [len(drawn), len(real)])
    judge = RandomForestClassifier(TREES, random_state=0) if judge is None else judge
    cuts = StratifiedKFold(PARTS, shuffle=True, random_state=0)
    return float(roc_auc_score(y, cross_val_predict(judge, X, y, cv=cuts, method="predict_proba")[:, 1]))


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with categories as strings, so that tables with other levels or types can be put together."""
    text = {name: column.map(str, na_action="ignore").astype(object) for name, column in table.items()}
    return table.assign(**{name: text[name] for name in text if table[name].dtype != "float64"})


def coded(table: pd.DataFrame) -> np.ndarray:
    """Return (n, d) numbers: categories as codes, and a missing cell as a value below all others."""
    columns = []
    for name in table:
        if table[name].dtype == "float64":
            known = table[name].dropna()
            below = known.min() - 1.0 - np.ptp(known) if len(known) else 0.0
            columns.append(table[name].fillna(below).to_numpy())
        else:
            columns.append(pd.factorize(table[name], sort=True)[0].astype(np.float64))
    return np.column_stack(columns)


# --- single columns ----------------------------------------------------------------------------------------------


def kolmogorov_smirnov(drawn: pd.Series, real: pd.Series) -> float:
    """Return the largest distance of the two distribution functions of known cells."""
    if drawn.notna().sum() == 0 or real.notna().sum() == 0:
        return float(drawn.notna().sum() != real.notna().sum())
    return float(ks_2samp(drawn.dropna(), real.dropna()).statistic)


def total_variation(drawn: pd.Series, real: pd.Series) -> float:
    """Return half the sum of differences of shares, of all levels and of missing cells."""
    shares = [column.map(str, na_action="ignore").astype(object).fillna("") for column in (drawn, real)]
    first, second = (share.value_counts(normalize=True) for share in shares)
    return float(first.sub(second, fill_value=0.0).abs().sum() / 2.0)


def is_whole(column: pd.Series) -> bool:
    known = column.dropna()
    return bool(len(known)) and bool((known == known.round()).all())


def within_range(drawn: pd.Series, learned: pd.Series) -> float:
    """Return the share of drawn known cells that lie between the least and the largest learned."""
    return float(drawn.dropna().between(learned.min(), learned.max()).mean())


def copies(drawn: pd.DataFrame, learned: pd.DataFrame) -> float:
    """Return the share of drawn rows that equal a row learned in every cell."""
    X = coded(pd.concat([as_text(drawn), as_text(learned)], ignore_index=True))
    known = set(map(bytes, X[len(drawn) :] + 0.0))
    return float(np.mean([bytes(row) in known for row in X[: len(drawn)] + 0.0]))


def mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
