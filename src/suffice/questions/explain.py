"""How much each column speaks for each class."""

from __future__ import annotations

from .._arrays import Array, np
from ..errors import SettingError
from ..fitted import Fitted


def explain(fitted: Fitted, X: object, orders: object, return_error: bool) -> Array | tuple[Array, Array]:
    """Return contributions (n, d, k) in nats of log-odds, with their standard errors if these are asked for."""
    whole = isinstance(orders, int | np.integer) and not isinstance(orders, bool)
    if orders is not None and not (whole and int(orders) >= 2):  # type: ignore[call-overload]
        raise SettingError(f"orders={orders!r} must be a whole number of at least 2. Next: leave it out.")
    found, error = fitted.contributions(fitted.rows(X), orders, return_error)  # type: ignore[arg-type]
    if not return_error:
        return found
    assert error is not None
    return found, error
