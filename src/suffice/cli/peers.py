"""Models of some of the rows of a table: ours, and scikit-learn's with the encoding each needs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .models import make_estimator
from .training import Training

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from .._arrays import Array, Codes, NDArray
    from ..engines.arrow import Column

YARDSTICK = "logistic"
MORE = ("forest", "boosting")
PEER_TITLES = {
    YARDSTICK: "scikit-learn logistic regression",
    "forest": "scikit-learn random forest",
    "boosting": "scikit-learn gradient boosting",
}
MOST_NATIVE_LEVELS = 255  # of a category that histogram gradient boosting takes as it is


class Fitted(NamedTuple):
    """A model of some of the rows: its classes, the posterior of other rows, and the seconds of the fit alone."""

    classes: NDArray[Any]
    posterior: Callable[[Codes], Array]
    seconds: float


Fit = Callable[["Codes"], Fitted]  # of the rows with these numbers


def fit_ours(
    name: str,
    training: Training,
    columns: Sequence[str],
    groups: Column | None = None,
    note: Callable[..., None] | None = None,
) -> Fit:
    """Return what fits one of our models to these columns of some of the rows; `note` is called with its notes."""
    table = training.columns.select(columns)

    def fit(learn: Codes) -> Fitted:
        rows, labels = table.take(learn), training.labels.take(learn)
        started = time.perf_counter()
        estimator = make_estimator(name).fit(rows, labels, groups=None if groups is None else groups.take(learn))
        seconds = time.perf_counter() - started
        if note is not None:
            note(*estimator.notes_)
        return Fitted(estimator.classes_, lambda rest: estimator.predict_proba(table.take(rest)), seconds)

    return fit


def fit_peer(name: str, training: Training) -> Fit:
    """Return what fits one of scikit-learn's classifiers to some of the rows."""
    from .._arrays import single_blas_thread

    rows, numbers, categories = _encode(training)
    labels = training.labels.to_numpy()
    if name == "boosting":
        rows[:, categories] = _without_code(rows[:, categories])

    def fit(learn: Codes) -> Fitted:
        model = _boosting(rows, categories) if name == "boosting" else _encoded(name, numbers, categories)
        with warnings.catch_warnings(), single_blas_thread():  # two threads on busy cores are far slower than one
            warnings.simplefilter("ignore")  # slow convergence is no concern of a yardstick
            own, truth = rows[learn], labels[learn]
            started = time.perf_counter()
            model.fit(own, truth)
            seconds = time.perf_counter() - started
        return Fitted(model.classes_, lambda rest: model.predict_proba(rows[rest]), seconds)

    return fit


def _encoded(name: str, numbers: list[int], categories: list[int]) -> ClassifierMixin:
    """Return a classifier behind standardised numbers, missing ones marked, and one-hot categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    encoder = make_column_transformer((numeric, numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
    forest = name == "forest"
    return make_pipeline(
        encoder, RandomForestClassifier(300, random_state=0) if forest else LogisticRegression(max_iter=2000)
    )


def _boosting(rows: Array, categories: list[int]) -> ClassifierMixin:
    """Return gradient boosting on the cells as they are: missing ones, and categories by their codes."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    native = [j for j in categories if rows[:, j].size and not rows[:, j].max() >= MOST_NATIVE_LEVELS]
    return HistGradientBoostingClassifier(categorical_features=native or None, random_state=0)


def _without_code(codes: Array) -> Array:
    """Return codes with not a number for those of missing cells."""
    from .._arrays import np

    return np.where(codes < 0, np.nan, codes)


def _encode(training: Training) -> tuple[Array, list[int], list[int]]:
    """Return all columns as numbers (n, d), a category as its code and −1 for a missing one, and which are which."""
    from .._arrays import np
    from ..table import read_table

    table = read_table(training.columns)
    kinds = [column.kind.is_number for column in table.schema.columns]
    numbers = [j for j, number in enumerate(kinds) if number]
    categories = [j for j, number in enumerate(kinds) if not number]
    rows = np.empty((table.rows, len(kinds)))
    if numbers:
        rows[:, numbers] = table.numeric(numbers)
    for j in categories:
        rows[:, j] = table.categories(j)[1]
    return rows, numbers, categories
