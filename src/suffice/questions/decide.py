"""Which class to answer: under other priors, under costs, or not at all; and priors from rows without labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import classify
from .._arrays import Array, NDArray, is_number, np, row_chunks
from .._arrays_api import fetch, is_device_array, namespace, put
from ..errors import SettingError
from ..fitted import Fitted
from . import label_shift

MOST_POSTERIORS = 1 << 25  # 256 MiB: of more rows `predict` makes them in parts


def predict(fitted: Fitted, X: object, priors: object, costs: object, reject: float | None) -> Any:
    """Return the label of each row (n,): the most probable, or of least expected cost; None where none is given."""
    k = len(fitted.statistics.classes)
    matrix = None if costs is None else check_costs(costs, k)
    bound = None if reject is None else _check_reject(reject, free=matrix is not None)
    leading = matrix is None and bound is None  # a rare class may cost much
    found = [classify.decide(log_posterior(fitted, part, priors, leading), matrix, bound) for part in _in_parts(X, k)]
    codes = found[0] if len(found) == 1 else namespace(found[0]).concat(found)
    if bound is None:
        return _labels(fitted.labels, codes)
    answers = np.array([*fitted.labels.tolist(), None], dtype=object)
    return answers[fetch(codes)]  # −1, no answer, is the last


def log_posterior(fitted: Fitted, X: object, priors: object = None, leading: bool = False) -> Array:
    """Return log p(class | x) (n, k) of the rows of a table, on the device where these are.

    If `leading`, classes that cannot matter to probabilities may have more, see `classify.log_posterior`.
    """
    return fitted.log_posterior(fitted.rows(X, resident=True), priors, leading)


def log_odds(fitted: Fitted, X: object) -> Array:
    """Return the log posterior odds of the second class (n,) for two classes, else log posteriors (n, k)."""
    scores = log_posterior(fitted, X)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def posterior(fitted: Fitted, X: object, priors: object) -> Array:
    """Return p(class | x) (n, k)."""
    found = log_posterior(fitted, X, priors, leading=True)
    if is_device_array(found):
        return namespace(found).exp(found)  # type: ignore[no-any-return]
    return np.exp(found, out=found)


def adapt_priors(fitted: Fitted, log_posterior: Array) -> Array:
    """Return the class priors (k,) for rows of these log posteriors (n, k) under equal priors."""
    found = label_shift.adapt_priors(log_posterior, np.exp(fitted.joint.log_prior))
    if not found.finished:
        warnings.warn(
            f"EM for the class priors had not converged after {label_shift.MOST_STEPS} steps; the classes can "
            "hardly be told apart in these rows.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found.priors


def _in_parts(X: object, k: int) -> Iterator[object]:
    """Yield a large array in parts, so that the posteriors of all rows are never held at once; else X as it is."""
    there = (isinstance(X, np.ndarray) and X.dtype.kind == "f") or is_device_array(X)
    array: Any = X if there else None
    if array is None or array.ndim != 2 or array.shape[0] * k <= MOST_POSTERIORS:
        yield X
        return
    for part in row_chunks(array.shape[0], max(1, MOST_POSTERIORS // k)):
        yield array[part, ...]


def _labels(classes: NDArray[np.generic], codes: object) -> Any:
    """Return the labels of class numbers (n,): numbers where the class numbers live, text as a NumPy array."""
    if is_device_array(codes) and classes.dtype.kind in "ifb":
        return namespace(codes).take(put(classes, codes), codes)
    return classes[fetch(codes)]


def _check_reject(reject: object, free: bool) -> float:
    if not is_number(reject) or not np.isfinite(reject) or not (free or 0.0 < reject < 1.0):
        limits = "a finite cost" if free else "above 0 and below 1, where a wrong answer costs 1"
        raise SettingError(f"reject={reject!r} must be {limits}. Next: try 0.1: no answer where that costs less.")
    return float(reject)


def check_costs(costs: object, k: int) -> Array:
    """Return what answers, in columns, cost for true classes, in rows (k, k); SettingError for what is none."""
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (k, k) or not np.isfinite(matrix).all():
        raise SettingError(
            f"costs={costs!r} is no matrix of {k} × {k} finite numbers. "
            "Next: give one row per true class and one column per answer, in the order of `classes_`."
        )
    return matrix
