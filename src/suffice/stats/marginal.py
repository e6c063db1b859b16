"""Statistics of some of the columns, from those of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, np
from .counts import CategoricalStats
from .gaussian import GaussianStats
from .moments import SumStats
from .patterns import PatternStats
from .scatter import DiagonalScatter, FullScatter, LowRankScatter, PooledScatter, Scatter


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
