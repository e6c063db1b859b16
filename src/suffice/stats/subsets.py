"""Statistics of some of the columns, and of all rows but some that are known to be inside.

Where sums would lose their digits by taking rows out, other rows stand for the rest. Edits of users are guarded instead
(`_downdate.py`): nobody knows whether their rows were ever learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, Flags, np
from ..errors import SufficeError
from ._downdate import MEAN_ROUNDING
from .counts import CategoricalStats, SumStats
from .gaussian import GaussianStats
from .mixture import MixtureStats
from .patterns import PatternStats
from .rows import numbered
from .scatter import DiagonalScatter, FullScatter, LowRankScatter, PooledScatter, Scatter
from .statistic import Statistic
from .texts import TextStats

# Share of a weight or a sum of squares that is left at least: else the rest is summed and not subtracted. About .41,
# and no ratio of counts, where the last digit of a sum would decide.
MINOR = 2.0**0.5 - 1.0


def of_columns(stats: Any, columns: Sequence[int]) -> Any:
    """Return the statistics of these columns alone, in this order; None for kinds that cannot be taken apart.

    They are to rounding those of `summarize` for the same rows without the other columns.
    """
    index = np.asarray(columns, dtype=np.int64)
    if isinstance(stats, GaussianStats):
        return _gaussian(stats, index)
    if isinstance(stats, PatternStats):
        return _patterns(stats, index)
    if isinstance(stats, CategoricalStats):
        levels, counts = tuple(stats.levels[j] for j in columns), tuple(stats.counts[j] for j in columns)
        return CategoricalStats(levels, counts, stats.missing[:, index])
    if isinstance(stats, TextStats):
        return stats.columns(columns)
    if isinstance(stats, SumStats):
        return SumStats(stats.weight[:, index], stats.total[:, index])
    return None


def _gaussian(stats: GaussianStats, index: Codes) -> GaussianStats:
    weight = stats.weight if stats.weight.ndim == 1 else stats.weight[:, index]
    found = replace(stats, weight=weight, mean=stats.mean[:, index], scatter=_scatter(stats.scatter, index))
    return found if found.scatter.kept_rows <= len(index) else found.dense()


def _scatter(scatter: Scatter, index: Codes) -> Scatter:
    def square(values: Array) -> Array:
        return values[..., index[:, None], index]

    if isinstance(scatter, FullScatter):
        return FullScatter(square(scatter.values))
    if isinstance(scatter, PooledScatter):
        own = scatter.by_class
        return PooledScatter(square(scatter.values), None if own is None else square(own))
    assert isinstance(scatter, DiagonalScatter | LowRankScatter)
    return replace(scatter, values=scatter.values[:, index])


def _patterns(stats: PatternStats, index: Codes) -> PatternStats:
    """Return the same for patterns of observed columns, of which some become alike."""
    found, k = PatternStats(_gaussian(stats.complete, index), {}), stats.k
    for seen, (present, own) in stats.incomplete.items():
        place = {column: i for i, column in enumerate(seen)}
        kept = [j for j, column in enumerate(index.tolist()) if column in place]
        if not kept:
            continue
        part = _gaussian(own, np.array([place[int(index[j])] for j in kept]))
        if len(kept) == len(index):
            found = found.merge(PatternStats(part.place(present.tolist(), k), {}))
        else:
            none = GaussianStats.zero(k, len(index), stats.complete.form)
            found = found.merge(PatternStats(none, {tuple(kept): (present, part)}))
    return found


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
            found[there] &= digits_left(own.regroup(numbered(number, len(present)), len(number)), left)[0]
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
