"""Rows that are known to be inside are taken out: where sums would lose their digits, other rows stand for the rest.

Edits of users are guarded instead (`_downdate.py`): nobody knows whether their rows were ever learned.
"""

from __future__ import annotations

from typing import Any

from .._arrays import Codes, NDArray, np
from ..errors import SufficeError
from ._downdate import MEAN_ROUNDING
from .gaussian import GaussianStats, LowRankScatter
from .mixture import MixtureStats
from .patterns import PatternStats
from .statistic import Statistic

# Share of a weight or a sum of squares that is left at least: else the rest is summed and not subtracted. About .41,
# and no ratio of counts, where the last digit of a sum would decide.
MINOR = 2.0**0.5 - 1.0
Flags = NDArray[np.bool_]


def without(whole: Statistic, part: Statistic, rest: Statistic, kept_whole: Flags) -> Statistic:
    """Return the statistics of all rows but a part, of whose kept rows `rest` holds the others, scaled to all of them.

    `rest` it is for classes (k,) of which all rows are kept, and for those whose sums would lose digits.
    """
    try:
        less = whole.subtract(part)
        good = ~kept_whole & keeps_digits(whole, less)
        if good.all():
            return less
        own, others = (np.where(flags, np.arange(len(good)), -1) for flags in (good, ~good))
        return less.regroup(own, len(good)).merge(rest.regroup(others, len(good)))
    except SufficeError:  # statistics that lose no rows, or no class
        return rest


def keeps_digits(whole: Any, less: Any) -> Flags:
    """Return the classes (k,) whose weight and sums of squares are not mostly those of the rows that left."""
    if isinstance(whole, MixtureStats):
        return keeps_digits(whole.inner, less.inner) if whole.is_single else np.zeros(whole.k, dtype=bool)
    if isinstance(whole, PatternStats):
        found = keeps_digits(whole.complete, less.complete)
        for pattern, (present, own) in whole.incomplete.items():
            there, left = less.incomplete.get(pattern, (present[:0], GaussianStats.zero(0, len(pattern))))
            number = np.flatnonzero(np.isin(present, there))  # of classes that lost all such rows nothing is left
            found[there] &= digits_left(own.regroup(_numbers(number, len(present)), len(number)), left)[0]
        return found
    if isinstance(whole, GaussianStats) and not isinstance(whole.scatter, LowRankScatter):
        return digits_left(whole, less)[0] | ~whole.column_weight().any(axis=1)
    return np.ones(len(whole.column_weight()), dtype=bool)  # counts, and rows kept as they are


def digits_left(whole: GaussianStats, less: GaussianStats) -> tuple[Flags, Flags]:
    """Return the classes (k,) that keep their digits, and the columns (k, d) that did not vary before."""
    k = len(whole.weight)
    before, after = whole.column_weight(), less.column_weight()
    squares = [own.dense().scatter.diagonal(k) for own in (less, whole)]
    flat = squares[1] <= before * (MEAN_ROUNDING * np.abs(whole.mean)) ** 2
    kept = (after >= MINOR * before) & (flat | (squares[0] >= MINOR * squares[1]))
    return np.asarray(kept.all(axis=1)), np.asarray(flat)


def _numbers(chosen: Codes, count: int) -> Codes:
    index = np.full(count, -1, dtype=np.int64)
    index[chosen] = np.arange(len(chosen))
    return index
