"""The classifiers of the accuracy benchmark: how each is made, and what it is given of a table.

suffice, the boosted trees and the additive model take numbers, categories and missing cells themselves, and have their
defaults; scikit-learn's get a pipeline where they cannot, and the settings named here. All work in one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from interpret.glassbox import ExplainableBoostingClassifier
from lightgbm import Dataset, LGBMClassifier, cv, early_stopping
from measures import CLIP, OURS
from sklearn.base import BaseEstimator, ClassifierMixin
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
from xgboost import XGBClassifier

from suffice import GenerativeClassifier

# --- scikit-learn's ----------------------------------------------------------------------------------------------


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


# --- others', with their defaults --------------------------------------------------------------------------------


class Native(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Another library's classifier, whose own way of taking a table is `prepare`, with labels 0 to k − 1.

    Columns are named by number, for some libraries refuse names with brackets.
    """

    def __init__(self, make: Callable[[pd.DataFrame], Any], prepare: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        self.make = make
        self.prepare = prepare

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Native:
        self.classes_, codes = np.unique(y, return_inverse=True)
        table = self._table(X)
        self.model_ = self.make(table).fit(table, codes)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.model_.predict_proba(self._table(X)))

    def _table(self, X: pd.DataFrame) -> pd.DataFrame:
        return self.prepare(X.set_axis([f"c{j}" for j in range(X.shape[1])], axis=1))


def as_it_is(X: pd.DataFrame) -> pd.DataFrame:
    return X


def with_missing_level(X: pd.DataFrame) -> pd.DataFrame:
    """Return the table with categories as strings, a missing one as a level of its own."""
    text = X.select_dtypes("category").astype(object)
    return X.assign(**{name: column.where(column.notna(), "(missing)").astype(str) for name, column in text.items()})


def lightgbm(_: pd.DataFrame) -> Any:
    return LGBMClassifier(n_jobs=1, verbose=-1)


def xgboost(_: pd.DataFrame) -> Any:
    return XGBClassifier(enable_categorical=True, n_jobs=1)


class TunedLightGBM:
    """LightGBM at a rate of .05 with 4, 15 or 63 leaves, and as many of 1,000 rounds as lose least in three folds."""

    def fit(self, X: pd.DataFrame, codes: np.ndarray) -> TunedLightGBM:
        k = int(codes.max()) + 1
        kind = {"objective": "binary"} if k == 2 else {"objective": "multiclass", "num_class": k}
        loss = "valid binary_logloss-mean" if k == 2 else "valid multi_logloss-mean"
        best = (np.inf, {})
        for leaves in (4, 15, 63):
            given = {"learning_rate": 0.05, "num_leaves": leaves, "verbose": -1, "num_threads": 1}
            found = cv(
                {**kind, **given},
                Dataset(X, codes),
                1000,
                folds=split().split(X, codes),
                callbacks=[early_stopping(50, verbose=False)],
            )[loss]
            if min(found) < best[0]:
                best = min(found), {"num_leaves": leaves, "n_estimators": int(np.argmin(found)) + 1}
        self.best_ = LGBMClassifier(learning_rate=0.05, n_jobs=1, verbose=-1, **best[1]).fit(X, codes)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.best_.predict_proba(X))


def catboost(X: pd.DataFrame) -> Any:
    text = [name for name in X if X[name].dtype != "float64"]
    return CatBoostClassifier(cat_features=text, thread_count=1, verbose=False, allow_writing_files=False)


def additive(X: pd.DataFrame) -> Any:
    kinds = ["continuous" if X[name].dtype == "float64" else "nominal" for name in X]
    return ExplainableBoostingClassifier(feature_types=kinds, n_jobs=1)


MODELS: dict[str, Callable[[], Any]] = {
    OURS: GenerativeClassifier,
    "LDA": lambda: make_pipeline(dense(), LinearDiscriminantAnalysis()),
    "LDA, shrunk": lambda: make_pipeline(dense(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "QDA": lambda: make_pipeline(dense(), QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=1e-3)),
    "GaussianNB": lambda: make_pipeline(dense(), GaussianNB()),
    "LogisticRegression": tuned_logistic,
    "RandomForest": forest,
    "HistGradientBoosting": TunedBoosting,
    "LightGBM": lambda: Native(lightgbm, as_it_is),
    "LightGBM, tuned": lambda: Native(lambda _: TunedLightGBM(), as_it_is),
    "XGBoost": lambda: Native(xgboost, as_it_is),
    "CatBoost": lambda: Native(catboost, with_missing_level),
    "EBM": lambda: Native(additive, as_it_is),
}
