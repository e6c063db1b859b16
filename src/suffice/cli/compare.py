"""`suffice compare`: the models of the lecture notes side by side on one table, each judged on rows it has not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import quoted
from .models import TITLES, make_estimator, usable_columns
from .output import Common, align, print_json, progress
from .problems import TargetProblem, one_line
from .training import Training, read_training

LEAST_PROBABILITY = 1e-15  # log-loss of a class called impossible: 34.5 nats instead of infinity
BINS = 15
MOST_NOTES = 2  # shown per model
ORDER = ("full", "shared", "diagonal", "spherical", "nb", "logistic")
LOGISTIC = "scikit-learn logistic regression"

Column = Annotated[str, Parameter(metavar="COLUMN")]


def compare(
    data: Annotated[Path, Parameter(metavar="DATA")],
    /,
    *,
    target: Column,
    folds: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=2))] = 5,
    seed: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=0, lt=2**32))] = 0,
    drop: Annotated[tuple[Column, ...], Parameter(show_default=False)] = (),
    common: Common = Common(),  # noqa: B008 - frozen, so it can be shared
) -> None:
    """Compare six models on a table by stratified cross-validation.

    Gaussian models with a full covariance per class, one shared covariance, independent columns, or one variance
    for all columns; naive Bayes on numbers and categories; and scikit-learn's logistic regression on standardised
    numbers and one-hot categories, missing numbers replaced by their mean and marked in a column of their own. Every
    row is judged once, by models that have not seen it.

    Parameters
    ----------
    data
        Table with one row per case: .csv, .tsv, .parquet, .arrow, .feather or .ipc.
    target
        Column of class labels.
    folds
        Number of parts the rows are dealt into; each part in turn is judged by models fitted on the others.
    seed
        Number that fixes which row goes into which part.
    drop
        Column to leave out, such as a row number or a date; may be repeated.
    """
    training = read_training(data, target, drop=drop, common=common)
    parts = split(training, target, folds, seed)
    with progress(common, "Comparing", len(ORDER) * folds) as advance:
        results = [judge(name, training, parts, lambda: advance(1)) for name in ORDER]
    setup = _setup(training, target, folds, seed)
    if common.json:
        print_json({**setup, "models": [result.document() for result in results]})
    else:
        print("\n".join(render(setup, results)))


# --- the measurement ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Result:
    """How one model did: its columns, those it could not use, out-of-fold scores, or why there are none."""

    name: str
    columns: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    accuracy: float | None = None
    log_loss: float | None = None
    calibration_error: float | None = None
    fit_seconds: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the model is called in the table."""
        return TITLES.get(self.name, LOGISTIC)

    def document(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"model": self.name, "title": self.title} | {
            key: getattr(self, key)
            for key in ("accuracy", "log_loss", "calibration_error", "fit_seconds", "columns", "left_out", "notes")
        }


def split(training: Training, target: str, folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Return (rows to learn from, rows to judge) of each fold, the classes spread evenly over the folds."""
    from sklearn.model_selection import StratifiedKFold

    counts = sorted((item["counts"], item["values"]) for item in training.labels.value_counts().to_pylist())
    most, label = counts[-1]
    if most < folds:
        raise TargetProblem(
            f"Column {target!r}: the largest class, {label!r}, has {most} rows, too few for {folds} folds. "
            "Next: give fewer --folds, or more rows."
        )
    labels = training.labels.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds: said in the setup, in our words
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(labels, labels))


def judge(name: str, training: Training, parts: Sequence[tuple[Any, Any]], advance: Callable[[], None]) -> Result:
    """Return the scores of one model, or a note saying why it cannot be fitted to this table."""
    result = Result(name)
    try:
        if name == "logistic":
            result.columns = list(training.columns.column_names)
            posterior = _run_folds(result, training, parts, _fit_logistic(training), advance)
        else:
            result.columns, result.left_out = usable_columns(name, training)
            posterior = _run_folds(result, training, parts, _fit_ours(name, training, result), advance)
    except ValueError as error:  # ours, or scikit-learn on a fold with a single class
        result.notes.append(one_line(error))
        return result
    _score(result, posterior, training)
    return result


# Rows to learn from → (class labels, posterior of other rows, seconds of the fit alone)
Fit = Callable[[Any], tuple[Any, Callable[[Any], Any], float]]


def _run_folds(
    result: Result, training: Training, parts: Sequence[tuple[Any, Any]], fit: Fit, advance: Callable[[], None]
) -> Any:
    """Return the posterior of every row (n, k) by the model that has not seen it; 0 for a class not in its rows."""
    from .._arrays import np

    classes = {label: i for i, label in enumerate(training.classes)}
    posterior = np.zeros((len(training.labels), len(classes)))
    seconds = []
    for learn, rest in parts:
        labels, answer, spent = fit(learn)
        seconds.append(spent)
        posterior[np.ix_(rest, [classes[label] for label in labels.tolist()])] = answer(rest)
        advance()
    result.fit_seconds = median(seconds)  # the first fit may load libraries
    result.notes = list(dict.fromkeys(result.notes))
    return posterior


def _fit_ours(name: str, training: Training, result: Result) -> Fit:
    columns = training.columns.select(result.columns)

    def fit(learn: Any) -> tuple[Any, Callable[[Any], Any], float]:
        rows, labels = columns.take(learn), training.labels.take(learn)
        started = time.perf_counter()
        estimator = make_estimator(name).fit(rows, labels)
        seconds = time.perf_counter() - started
        result.notes += [str(note) for note in estimator.notes_]
        return estimator.classes_, lambda rest: estimator.predict_proba(columns.take(rest)), seconds

    return fit


def _fit_logistic(training: Training) -> Fit:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from .._arrays import single_blas_thread

    rows, numbers, categories = _encode(training)
    labels = training.labels.to_numpy()

    def fit(learn: Any) -> tuple[Any, Callable[[Any], Any], float]:
        numeric = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
        encoder = make_column_transformer((numeric, numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
        pipeline = make_pipeline(encoder, LogisticRegression(max_iter=2000))
        with warnings.catch_warnings(), single_blas_thread():  # two threads on busy cores are far slower than one
            warnings.simplefilter("ignore")  # slow convergence is no concern of a yardstick
            own, truth = rows[learn], labels[learn]
            started = time.perf_counter()
            pipeline.fit(own, truth)
            seconds = time.perf_counter() - started
        return pipeline.classes_, lambda rest: pipeline.predict_proba(rows[rest]), seconds

    return fit


def _encode(training: Training) -> tuple[Any, list[int], list[int]]:
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


def _score(result: Result, posterior: Any, training: Training) -> None:
    from .._arrays import np

    classes = {label: i for i, label in enumerate(training.classes)}
    truth = np.array([classes[label] for label in training.labels.to_pylist()])
    own = posterior[np.arange(len(truth)), truth]
    result.log_loss = float(-np.log(np.clip(own, LEAST_PROBABILITY, 1.0)).mean())
    right = posterior.argmax(axis=1) == truth
    result.accuracy = float(right.mean())
    result.calibration_error = calibration_error(posterior.max(axis=1), right)


def calibration_error(confidence: Any, right: Any) -> float:
    """Return Σ over bins of (share of rows) · |mean confidence − share right|, with equally wide bins from 0 to 1."""
    from .._arrays import np

    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, weights=confidence - right, minlength=BINS)
    return float(np.abs(gap).sum() / len(confidence))


# --- the table ---------------------------------------------------------------------------------------------------


def _setup(training: Training, target: str, folds: int, seed: int) -> dict[str, Any]:
    counts = [item["counts"] for item in training.labels.value_counts().to_pylist()]
    return {
        "target": target,
        "rows": len(training.labels),
        "rows_without_label": training.unlabelled,
        "classes": training.classes,
        "smallest_class_rows": min(counts),
        "folds": folds,
        "seed": seed,
        "always_commonest_accuracy": max(counts) / len(training.labels),
        "least_probability": LEAST_PROBABILITY,
        "calibration_bins": BINS,
    }


def render(setup: dict[str, Any], results: Sequence[Result]) -> list[str]:
    """Return the comparison as lines of text."""
    rows = [["model", "", "accuracy", "log-loss", "calib. error", "fit time"]]
    rows += [
        [r.name, r.title, *map(_number, (r.accuracy, r.log_loss, r.calibration_error)), _time(r.fit_seconds)]
        for r in results
    ]
    commonest = f"always naming the commonest would score {setup['always_commonest_accuracy']:.3f}"
    task = f"{setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}"
    lines = [
        f"{setup['folds']}-fold cross-validation on {task}, seed {setup['seed']}.",
        "",
        *align(rows, left=(0, 1)),
        "",
        f"accuracy      share of rows given their true class; {commonest}",
        f"log-loss      mean of -log p(true class) in nats, p at least {LEAST_PROBABILITY:g}; lower is better",
        f"calib. error  mean gap between confidence and share right, in {BINS} bins; lower is better",
        "fit time      median of the folds",
    ]
    notes = _notes(setup, results)
    return lines if not notes else [*lines, "", *notes]


def _notes(setup: dict[str, Any], results: Sequence[Result]) -> list[str]:
    """Return one line per thing to know, models that share it together."""
    notes: dict[str, list[str]] = {}
    for result in results:
        own = [f"left out {quoted(result.left_out)} (text)"] if result.left_out else []
        more = len(result.notes) - MOST_NOTES
        own += [*result.notes[:MOST_NOTES], *([f"{more} more notes, listed by --json"] if more > 0 else [])]
        for text in own:
            notes.setdefault(text, []).append(result.name)
    lines = [f"Note on {', '.join(names)}: {text.rstrip('.')}." for text, names in notes.items()]
    if setup["smallest_class_rows"] < setup["folds"]:
        lines.append(
            f"Note: the smallest class has {setup['smallest_class_rows']} rows, fewer than there are folds, so some "
            "folds are judged without having seen it, or miss it."
        )
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
