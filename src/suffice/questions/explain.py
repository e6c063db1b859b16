"""How much each column speaks for each class."""

from __future__ import annotations

from .._arrays import Array, Codes, is_whole, np
from ..attribution.explain import words_added
from ..errors import DataError, SettingError, setting
from ..estimate.families import text_positions
from ..fitted import Fitted
from ..schema import Name


def explain(fitted: Fitted, X: object, orders: object, return_error: bool) -> Array | tuple[Array, Array]:
    """Return contributions (n, d, k) in nats of log-odds, with their standard errors if these are asked for."""
    if orders is not None and not is_whole(orders, 2):
        raise SettingError(f"{setting('orders', orders)} must be a whole number of at least 2. Next: leave it out.")
    found, error = fitted.contributions(fitted.rows(X), orders, return_error)
    if not return_error:
        return found
    assert error is not None
    return found, error


def odds_between(contributions: Array, first: Codes, second: Codes) -> Array:
    """Return what columns add (n, d) to the log-odds of one class of each row against another, 0 if both are out."""
    rows = np.arange(len(contributions))
    with np.errstate(invalid="ignore"):
        odds = contributions[rows, :, first] - contributions[rows, :, second]
    return np.nan_to_num(odds, posinf=np.inf, neginf=-np.inf)


def words(fitted: Fitted, X: object, alone: bool) -> list[dict[Name, dict[str, Array]]]:
    """Return by row what each word of each column of texts adds for each class (k,), the most telling words first.

    DataError where the model has no column of texts, SettingError where words are not asked for `alone`.
    """
    if not alone:
        raise SettingError(
            f"{setting('words', True)} names words by row, and {setting('as_frame')}, {setting('return_error')} and "
            f"{setting('orders')} are about columns. Next: ask for one or the other."
        )
    rows, names = fitted.rows(X), fitted.schema.names
    if fitted.pool is None:
        told = words_added(fitted.joint.density.blocks, rows, [own.positions for own in fitted.blocks])
    else:
        told = [*zip(text_positions(fitted.blocks), fitted.pool.words(rows[-1]), strict=True)]
    if not told:
        raise DataError("This model has no column of texts, whose words could be told. Next: ask what columns add.")
    return [{names[p]: own.of_row(i) for p, own in told} for i in range(told[0][1].rows)]
