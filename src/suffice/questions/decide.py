"""Which class to answer: under other priors, under costs, or not at all; and priors from rows without labels.

Label shift: p(y) differs from training, p(x | y) does not. The likelihood of the rows, Σ_i log Σ_k π_k p(x_i | k), is
concave in π and has its maximum where EM stops (Saerens, Latinne & Decaestecker 2002, equation 2.9,
doi:10.1162/089976602753284446): each step replaces π_k by the mean posterior of class k.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from .._arrays import Array, NDArray, is_number, nnls, np, row_chunks, solve_triangular
from .._arrays_api import fetch, is_device_array, namespace, put
from ..errors import SettingError, either, setting
from ..fitted import Fitted
from ..joint import decide
from ..schema import Level

MOST_POSTERIORS = 1 << 25  # 256 MiB: of more rows `predict` makes them in parts


def predict(fitted: Fitted, X: object, priors: object, costs: object, reject: float | None) -> Any:
    """Return the label of each row (n,): the most probable, or of least expected cost; None where none is given."""
    k = len(fitted.statistics.classes)
    matrix = None if costs is None else check_costs(costs, fitted.statistics.classes)
    bound = None if reject is None else _check_reject(reject, free=matrix is not None)
    leading = matrix is None and bound is None  # a rare class may cost much
    found = [decide(log_posterior(fitted, part, priors, leading), matrix, bound) for part in _in_parts(X, k)]
    codes = found[0] if len(found) == 1 else namespace(found[0]).concat(found)
    if bound is None:
        return _labels(fitted.labels, codes)
    answers = np.array([*fitted.labels.tolist(), None], dtype=object)
    return answers[fetch(codes)]  # −1, no answer, is the last


def log_posterior(fitted: Fitted, X: object, priors: object = None, leading: bool = False) -> Array:
    """Return log p(class | x) (n, k) of the rows of a table, on the device where these are.

    If `leading`, classes that cannot matter to probabilities may have more, see `joint.log_posterior`.
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
    found = likeliest_priors(log_posterior, np.exp(fitted.joint.log_prior))
    if not found.finished:
        warnings.warn(
            f"EM for the class priors had not converged after {MOST_STEPS} steps; the classes can "
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
        raise SettingError(
            f"{setting('reject', reject)} must be {limits}. Next: try 0.1: no answer where that costs less."
        )
    return float(reject)


def check_costs(costs: Any, classes: Sequence[Level]) -> Array:
    """Return what answers, in columns, cost for true classes, in rows (k, k); SettingError for what is none.

    The rows and columns of a data frame of pandas that are named by the `classes` may have any order.
    """
    k = len(classes)
    if hasattr(costs, "reindex") and costs.shape == (k, k) and set(costs.index) == set(costs.columns) == set(classes):
        costs = costs.reindex(index=classes, columns=classes)
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (k, k) or not np.isfinite(matrix).all():
        raise SettingError(
            f"{setting('costs', costs)} is no matrix of {k} × {k} finite numbers. "
            "Next: give one row per true class and one column per answer, in the order "
            f"{either('of `classes_`', 'in which `suffice show` lists the classes')}."
        )
    return matrix


TOLERANCE = 1e-10  # nats per row: how far below its maximum the likelihood may be where EM stops
MOST_STEPS = 5000
PATIENT = 10  # steps before quadratic programs help: most sets of rows are done by then
HALVINGS = 20
RIDGE = 1e-12  # relative, for rows that do not tell the classes apart


class Shift(NamedTuple):
    """Class priors (k,), the log likelihood of the rows after each step, in nats, and whether EM converged."""

    priors: Array
    trace: tuple[float, ...]
    finished: bool


def likeliest_priors(log_likelihood: Array, start: Array) -> Shift:
    """Return the class priors that maximise the likelihood of unlabelled rows.

    `log_likelihood` (n, k) holds log p(x_i | k) in nats, up to a constant per row; `start` (k,) the priors to start
    from, of which those that are 0 stay 0. With g_k the mean of p(x | k) / p(x), EM steps to π_k g_k, and by concavity
    the likelihood per row is within max g − 1 of its maximum, which is when it stops. Two steps at a time are
    extrapolated by the first scheme of Varadhan & Roland (2008, SQUAREM, doi:10.1111/j.1467-9469.2007.00585.x) where
    that raises the likelihood; it never falls. Where EM creeps, towards a prior of 0 or where the likelihood hardly
    bends, sequential quadratic programming takes over (Kim, Carbonetto, Stephens & Anitescu 2020,
    doi:10.1080/10618600.2019.1689985).
    """
    if not start.all():
        found = likeliest_priors(log_likelihood[:, start > 0], start[start > 0])
        priors = np.zeros_like(start)
        priors[start > 0] = found.priors
        return found._replace(priors=priors)
    highest = log_likelihood.max(axis=1, keepdims=True)
    ratio, constant = np.exp(log_likelihood - highest), float(highest.sum())
    priors = start / start.sum()
    value, gain = _expect(ratio, priors)
    trace = [value + constant]
    for step in range(MOST_STEPS):
        if float(gain.max()) - 1.0 <= TOLERANCE:
            return Shift(priors, tuple(trace), True)
        once = _normalised(priors * gain)
        value, gain = _expect(ratio, once)
        twice = _normalised(once * gain)
        further = _extrapolated(priors, once, twice)
        best, rise = _expect(ratio, further)
        if best < value:
            further = twice
            best, rise = _expect(ratio, further)
        if step >= PATIENT:
            further, best, rise = _programmed(ratio, further, best, rise)
        priors, gain = further, rise
        trace.append(best + constant)
    return Shift(priors, tuple(trace), False)


def _expect(ratio: Array, priors: Array) -> tuple[float, Array]:
    """Return the log likelihood of the rows, and the mean (k,) of p(x | k) / p(x)."""
    density = ratio @ priors
    return float(np.log(density).sum()), (1.0 / density) @ ratio / len(ratio)


def _extrapolated(priors: Array, once: Array, twice: Array) -> Array:
    """Return where two steps of EM point to, or the second where that leaves the simplex."""
    first, bend = once - priors, twice - 2.0 * once + priors
    length = float(np.sqrt((bend**2).sum()))
    if length == 0.0:
        return twice
    reach = max(float(np.sqrt((first**2).sum())) / length, 1.0)
    further = priors + 2.0 * reach * first + reach**2 * bend
    return _normalised(further) if (further > 0).all() else twice


def _programmed(ratio: Array, priors: Array, value: float, gain: Array) -> tuple[Array, float, Array]:
    """Return priors, log likelihood and mean ratios after a step to the maximum of the quadratic approximation.

    Over q ≥ 0 the mean of log(Σ q_k r_k) less Σ q_k has its maximum where Σ q_k = 1; with A the rows' p(x | k) / p(x)
    it is about −½ qᵀHq + bᵀq, H = AᵀA / n and b = 2 Aᵀ1 / n − 1. The step is halved until the likelihood does not fall.
    """
    a = ratio / (ratio @ priors)[:, None]
    h = a.T @ a / len(a)
    h.flat[:: len(h) + 1] += RIDGE * float(np.trace(h))
    try:
        root = np.linalg.cholesky(h)
        target, _ = nnls(root.T, solve_triangular(root, 2.0 * gain - 1.0, lower=True))
    except (np.linalg.LinAlgError, RuntimeError):  # too ill-conditioned: EM goes on alone
        return priors, value, gain
    for halving in range(HALVINGS):
        share = 0.5**halving
        further = (1.0 - share) * priors + share * target
        if (ratio @ further > 0).all():
            further = _normalised(further)
            best, rise = _expect(ratio, further)
            if best >= value:
                return further, best, rise
    return priors, value, gain


def _normalised(priors: Array) -> Array:
    return np.asarray(priors / priors.sum())
