"""Models that commands can fit, by the names of `--model`, on tables in parts too, and scikit-learn's beside them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._files import COMPRESSED, OF_TEXT, file_kind
from ..errors import SchemaError, SourceError, quoted
from .files import check_table
from .output import Common, Facts, TargetProblem, UsageProblem, rows_progress
from .parameters import TableOptions
from .training import Training, check_named, nothing_left, remark_empty, training_reading

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from .._arrays import Array, Codes, NDArray
    from ..engines import Reading, Source
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator
    from ..schema import Level


ModelName = Literal["auto", "forest", "nb", "full", "shared", "diagonal", "spherical", "mixture"]

GAUSSIANS: dict[str, Facts] = {
    "full": {"covariance": "full"},
    "shared": {"covariance": "full", "shared": True},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
}

TITLES = {
    "auto": "automatic: several models pooled",
    "forest": "generative forest: trees with densities in their leaves",
    "full": "Gaussians, a covariance each (QDA)",
    "shared": "Gaussians, one covariance (LDA)",
    "diagonal": "Gaussians, independent columns",
    "spherical": "Gaussians, one variance",
    "mixture": "mixtures of Gaussians",
    "nb": "naive Bayes, numbers and categories",
}


def make_estimator(name: str, **settings: Any) -> GenerativeEstimator:
    """Return an unfitted estimator; settings that are None keep the estimator's own default."""
    from ..estimators import (
        GaussianDiscriminant,
        GenerativeClassifier,
        GenerativeForest,
        MixtureDiscriminant,
        NaiveBayes,
    )

    given = {key: value for key, value in settings.items() if value is not None}
    if name == "auto":
        return GenerativeClassifier(**given)
    if name == "forest":
        return GenerativeForest(**given)
    if name == "mixture":
        return MixtureDiscriminant(**given, random_state=0)  # the same table gives the same model
    return NaiveBayes(**given) if name == "nb" else GaussianDiscriminant(**GAUSSIANS[name], **given)


def read_families(wanted: Sequence[str], table: Table, path: Path) -> dict[str, str] | None:
    """Return the family of each column that has one, from `NAME` (all numbers) and `COLUMN=NAME`; None if no column."""
    from ..estimate import FAMILIES

    columns = list(table.column_names)
    every: dict[str, str] = {}
    single: dict[str, str] = {}
    for text in wanted:
        column, given, name = text.rpartition("=")
        if name not in FAMILIES:
            raise UsageProblem(f"--family {text!r}: {name!r} is not one of {', '.join(FAMILIES)}.")
        if given and column not in columns:
            raise SourceError.columns_missing(repr(str(path)), [column], columns, "for --family")
        if (column in single) if given else every:
            raise UsageProblem(f"--family gives {repr(column) if given else 'all numbers'} two families.")
        if given:
            single[column] = name
        else:
            every = dict.fromkeys(columns if name == "categorical" else numeric_columns(table), name)
    return {**every, **single} or None


def numeric_columns(table: Table) -> list[str]:
    """Return the names of the columns that a Gaussian can learn from."""
    from ..table import read_schema

    return [str(column.name) for column in read_schema(table).columns if column.kind.is_number]


def usable_columns(name: str, table: Table) -> tuple[list[str], list[str]]:
    """Return the columns a model can use and those it leaves out; SchemaError if it can use none."""
    names = list(table.column_names)
    if name in ("auto", "forest", "nb"):
        return names, []
    used = dict.fromkeys(numeric_columns(table))  # of thousands of columns each is looked up
    if not used:
        raise SchemaError(
            f"--model {name} learns from numeric and boolean columns, and {quoted(names)} "
            f"{'holds' if len(names) == 1 else 'hold'} text. Next: use --model nb, which takes both."
        )
    return list(used), [column for column in names if column not in used]


def remark_left_out(model: str, left_out: Sequence[str], common: Common) -> None:
    """Say which columns a model cannot use."""
    if left_out:
        common.remark(f"--model {model} uses numeric and boolean columns, so it leaves out {quoted(left_out)}.")


LARGE = 1 << 28  # bytes of a file, decompressed, that is then read in parts
DECOMPRESSED = 1 << 20  # bytes at a time


def is_many(data: Path) -> bool:
    """Return whether a name means a folder or a pattern, not one file."""
    return data.is_dir() or (not data.exists() and any(mark in str(data) for mark in "*?["))


def is_large(data: Path) -> bool:
    """Return whether one file is so large that it is better read in parts; of a compressed one, what it holds."""
    if not data.is_file():
        return False
    size = data.stat().st_size
    if size > LARGE or data.suffix.lower() not in COMPRESSED or file_kind(data) not in OF_TEXT:
        return size > LARGE
    import pyarrow as pa

    read = 0
    try:
        with pa.input_stream(str(data)) as file:
            while read <= LARGE and (block := file.read(DECOMPRESSED)):
                read += len(block)
    except (OSError, pa.ArrowException):
        return False  # who reads it says what is wrong
    return read > LARGE


def comes_in_parts(data: Path) -> bool:
    """Return whether a table to be answered for is read in parts: all but one file of text that memory holds."""
    return is_many(data) or (data.is_file() and file_kind(data) not in OF_TEXT) or is_large(data)


def open_parts(data: Path, reading: Reading) -> Source:
    """Return a table that is read in parts: one file, or many of them."""
    from ..engines import open_source

    if not is_many(data):
        check_table(data)
    return open_source(data, reading)


def declared(data: Path, target: str, table: TableOptions, weight: str | None, common: Common) -> tuple[Source, Table]:
    """Return a table in parts, and those of its columns that a model may learn from, without a row."""
    import pyarrow as pa

    if table.auto_drop:
        raise UsageProblem(
            "--auto-drop compares all cells of a column, and this table is read in parts. Next: name columns by --drop."
        )
    source = open_parts(data, training_reading(target, table))
    names = list(source.schema.names)
    check_named(names, target, table.drop, weight, data, table.groups)
    TargetProblem.check(target, source.csv)
    used = [name for name in names if name not in {target, weight, table.groups, *table.drop}]
    if not used:
        raise nothing_left(target)
    empty = [name for name in used if pa.types.is_null(source.schema.field(name).type)]
    remark_empty(empty, len(used), common)
    return source, source.declared([name for name in used if name not in empty])


def learn_in_parts(
    estimator: GenerativeEstimator, source: Source, data: Path, target: str, common: Common, **told: Any
) -> None:
    """Fit to a table in parts."""
    with rows_progress(common, f"Learning from {data.name}") as watch:
        estimator.fit_table(source, target, unlabelled="skip", progress=watch, **told)
    labels = estimator.classes_.tolist()
    if len(labels) == 1:
        raise TargetProblem.one_class(target, labels[0], estimator.statistics_.rows)


# ── Models of some of the rows of a table: ours, and scikit-learn's with the encoding each needs ──────────────────────


YARDSTICK = "logistic"
MORE_PEERS = ("forest", "boosting")
PEER_TITLES = {
    YARDSTICK: "scikit-learn logistic regression",
    "forest": "scikit-learn random forest",
    "boosting": "scikit-learn gradient boosting",
}
MOST_NATIVE_LEVELS = 255  # of a category that histogram gradient boosting takes as it is


class FoldModel(NamedTuple):
    """A model of some of the rows: its classes, the posterior of other rows, and the seconds of the fit alone."""

    classes: NDArray[Any]
    posterior: Callable[[Codes], Array]
    seconds: float

    def log_posterior(self, rows: Codes, classes: Sequence[Level]) -> Array:
        """Return log posteriors (n, k) of rows, −∞ for classes that are not among the model's."""
        from .._arrays import log_of, np

        posterior = np.zeros((len(rows), len(classes)))
        if len(rows):
            posterior[:, [classes.index(label) for label in self.classes.tolist()]] = self.posterior(rows)
        return log_of(posterior)


Fit = Callable[["Codes"], FoldModel]  # of the rows with these numbers


def timed_fit(name: str, columns: Table, labels: Column, groups: Column | None) -> tuple[GenerativeEstimator, float]:
    """Return one of our models fitted to rows, and how many seconds that took."""
    started = time.perf_counter()
    estimator = make_estimator(name).fit(columns, labels, groups=groups)
    return estimator, time.perf_counter() - started


def fit_ours(
    name: str,
    training: Training,
    columns: Sequence[str],
    groups: Column | None = None,
    note: Callable[..., None] | None = None,
) -> Fit:
    """Return what fits one of our models to these columns of some of the rows; `note` is called with its notes."""
    table = training.columns.select(columns)

    def fit(learn: Codes) -> FoldModel:
        own = None if groups is None else groups.take(learn)
        estimator, seconds = timed_fit(name, table.take(learn), training.labels.take(learn), own)
        if note is not None:
            note(*estimator.notes_)
        return FoldModel(estimator.classes_, lambda rest: estimator.predict_proba(table.take(rest)), seconds)

    return fit


def fit_peer(name: str, training: Training) -> Fit:
    """Return what fits one of scikit-learn's classifiers to some of the rows."""
    from .._arrays import np, single_blas_thread

    rows, numbers, categories = encode(training)
    labels = training.labels.to_numpy()
    if name == "boosting":
        rows[:, categories] = np.where(rows[:, categories] < 0, np.nan, rows[:, categories])

    def fit(learn: Codes) -> FoldModel:
        model = _peer_classifier(name, rows, numbers, categories)
        with warnings.catch_warnings(), single_blas_thread():  # two threads on busy cores are far slower than one
            warnings.simplefilter("ignore")  # slow convergence is no concern of a yardstick
            own, truth = rows[learn], labels[learn]
            started = time.perf_counter()
            model.fit(own, truth)
            seconds = time.perf_counter() - started
        return FoldModel(model.classes_, lambda rest: model.predict_proba(rows[rest]), seconds)

    return fit


def _peer_classifier(name: str, rows: Array, numbers: list[int], categories: list[int]) -> ClassifierMixin:
    """Return a classifier behind standardised numbers, missing ones marked, and one-hot categories.

    Gradient boosting takes the cells as they are: missing ones, and categories by their codes.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if name == "boosting":
        native = [j for j in categories if rows[:, j].size and not rows[:, j].max() >= MOST_NATIVE_LEVELS]
        return HistGradientBoostingClassifier(categorical_features=native or None, random_state=0)
    numeric = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    encoder = make_column_transformer((numeric, numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
    if name == "forest":
        return make_pipeline(encoder, RandomForestClassifier(300, random_state=0))
    return make_pipeline(encoder, LogisticRegression(max_iter=2000))


def encode(training: Training) -> tuple[Array, list[int], list[int]]:
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
