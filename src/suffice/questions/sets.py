"""Sets of classes that hold the true one with a chosen probability."""

from __future__ import annotations

from .._arrays import NDArray, np
from .._arrays_api import fetch
from ..densities import Rows
from ..errors import SettingError
from ..fitted import Fitted
from ..tasks import conformal


def threshold(fitted: Fitted, alpha: object) -> float:
    """Return the score −log p(class | row) up to which a class is in the set."""
    if not isinstance(alpha, int | float | np.number) or not 0.0 < float(alpha) < 1.0:
        raise SettingError(f"alpha={alpha!r} must lie between 0 and 1. Next: 0.1 gives sets that hold 90 %.")
    left_out, sample = fitted.left_out_rows, fitted.reservoir
    weight = sample.represented(fitted.statistics.weight) * sample.rows_per_weight
    return conformal.threshold(left_out, sample.codes, weight, float(alpha))


def predict_set(fitted: Fitted, rows: Rows, alpha: object, allow_empty: bool) -> NDArray[np.bool_]:
    """Return for each row the classes it may well be of, (n, k)."""
    limit = threshold(fitted, alpha)
    return conformal.class_sets(fetch(fitted.log_posterior(rows)), limit, allow_empty)
