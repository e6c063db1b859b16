"""Which class to answer: under other priors, under costs, or not at all; and priors from rows without labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, np, row_chunks
from .._arrays_api import fetch, is_device_array, namespace, put
from ..errors import SettingError
from ..stats import ByClass
from ..tasks import classify, label_shift
from ._states import question

MOST_POSTERIORS = 1 << 25  # 256 MiB: of more rows `predict` makes them in parts


class Decisions:
    """The answers that depend on what a decision costs and on how common each class is."""

    if TYPE_CHECKING:

        @property
        def classes_(self) -> Any: ...

        @property
        def priors_(self) -> Array: ...

    statistics_: ByClass
    _log_posterior: Callable[[Any, Any], Array]

    @question
    def predict(self, X: Any, *, priors: Any = None, costs: Any = None, reject: float | None = None) -> Any:
        """Return the most probable class of each row (n,), or the one of least expected cost, or None for no answer.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
        priors : array (k,), dict by label or "uniform", optional
            Replaces the class priors.
        costs : array (k, k), optional
            `costs[i][j]` is the cost of answering class j when the truth is class i, in the order of `classes_`;
            without it a wrong answer costs 1 and a right one 0.
        reject : float, optional
            The cost of giving no answer. Where the best answer is expected to cost more, there is none: the row gets
            None, the label that `fit` takes for missing, in an array of dtype object. Without `costs` this is Chow's
            rule, which of all rules that reject as many rows errs least: reject where 1 − max p(class | x) > reject,
            for 0 < reject < 1; from 1 − 1/k on it rejects nothing.

        Notes
        -----
        Chow (1970), doi:10.1109/TIT.1970.1054406.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant(shared=True).fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> model.predict([[0.2], [2.4], [4.7]], reject=0.1).tolist()
        ['low', None, 'high']
        """
        check_is_fitted(self, "statistics_")
        k = len(self.statistics_.classes)
        matrix = None if costs is None else _check_costs(costs, k)
        bound = None if reject is None else _check_reject(reject, free=matrix is not None)
        found = [classify.decide(self._log_posterior(part, priors), matrix, bound) for part in _in_parts(X, k)]
        codes = found[0] if len(found) == 1 else namespace(found[0]).concat(found)
        if bound is None:
            return _labels(self.classes_, codes)
        answers = np.array([*self.classes_.tolist(), None], dtype=object)
        return answers[fetch(codes)]  # −1, no answer, is the last

    @question
    def adapt_priors(self, X: Any) -> Array:
        """Return the class priors (k,) under which rows without labels are most likely, in the order of `classes_`.

        For label shift: the classes come in other proportions than in training, and rows of a class are what they
        were. Hand the result to `predict` or `predict_proba` as `priors`, or to the estimator with
        `set_params(priors=…)`, which every answer heeds from then on, without another fit; this call changes nothing.
        Cells may be missing. A class without a row keeps the prior 0.

        The likelihood Σ log Σ_k π_k p(x | k) has one maximum, found by EM to within 1e-10 nats per row (Saerens,
        Latinne & Decaestecker 2002, doi:10.1162/089976602753284446). Where classes overlap much the maximum is flat,
        and the result as uncertain.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant(shared=True).fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"])
        >>> priors = model.adapt_priors([[0.3], [8.1], [8.8], [8.5]])
        >>> priors.round(3).tolist(), model.predict_proba([[4.4]], priors=priors).round(2).tolist()
        ([0.75, 0.25], [[0.11, 0.89]])
        """
        return self._adapt(fetch(self._log_posterior(X, "uniform")))

    def _adapt(self, log_posterior: Array) -> Array:
        """Return the priors for rows of these log posteriors (n, k) under equal priors."""
        found = label_shift.adapt_priors(log_posterior, self.priors_)
        if not found.finished:
            warnings.warn(
                f"EM for the class priors had not converged after {label_shift.MOST_STEPS} steps; the classes can "
                "hardly be told apart in these rows.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found.priors


def _in_parts(X: Any, k: int) -> Iterator[Any]:
    """Yield a large array in parts, so that the posteriors of all rows are never held at once; else X as it is."""
    plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    if not (plain or is_device_array(X)) or X.ndim != 2 or X.shape[0] * k <= MOST_POSTERIORS:
        yield X
        return
    for part in row_chunks(X.shape[0], max(1, MOST_POSTERIORS // k)):
        yield X[part, ...]


def _labels(classes: Any, codes: Any) -> Any:
    """Return the labels of class numbers (n,): numbers where the class numbers live, text as a NumPy array."""
    if is_device_array(codes) and classes.dtype.kind in "ifb":
        return namespace(codes).take(put(classes, codes), codes)
    return classes[fetch(codes)]


def _check_reject(reject: Any, free: bool) -> float:
    number = isinstance(reject, int | float | np.integer | np.floating) and not isinstance(reject, bool)
    if not number or not np.isfinite(reject) or not (free or 0.0 < reject < 1.0):
        limits = "a finite cost" if free else "above 0 and below 1, where a wrong answer costs 1"
        raise SettingError(f"reject={reject!r} must be {limits}. Next: try 0.1: no answer where that costs less.")
    return float(reject)


def _check_costs(costs: Any, k: int) -> Array:
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
