"""How much each column speaks for each class."""

from __future__ import annotations

from .._arrays import Array, is_whole
from ..errors import SettingError, setting
from ..fitted import Fitted


def explain(fitted: Fitted, X: object, orders: object, return_error: bool) -> Array | tuple[Array, Array]:
    """Return contributions (n, d, k) in nats of log-odds, with their standard errors if these are asked for."""
    if orders is not None and not is_whole(orders, 2):
        raise SettingError(f"{setting('orders', orders)} must be a whole number of at least 2. Next: leave it out.")
    found, error = fitted.contributions(fitted.rows(X), orders, return_error)
    if not return_error:
        return found
    assert error is not None
    return found, error
