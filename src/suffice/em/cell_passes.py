"""EM for missing cells by passes over the rows, when their patterns are too many to keep.

`sweep` is one E step over a batch of rows. Its sums add over batches, whoever reads them; `complete_by_sweeps` asks for
the sums over all rows at a time and never sees one. The maximum is that of `cells.complete`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, Self

from .._arrays import Array, Codes, NDArray, np, parallel_map, row_chunks, rows_within
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, PooledScatter, Statistic
from ..stats.scatter import Scatter, spread
from .cells import Units, check_columns, climb_from
from .climb import Progress
from .fill import row_parts
from .step import Moments, Point, as_scatter, expect, maximize

Flags = NDArray[np.bool_]
Sweep = Callable[[Units, Point], Moments]


def sweep(rows: Array, codes: Codes, weight: Array | None, units: Units, point: Point) -> Moments:
    """Return the expected sums of a batch of rows (n, d), missing cells as NaN, under the present parameters.

    `codes` (n,) class numbers, `weight` (n,) row weights or None for ones; `point` holds means and covariances in the
    `units` EM runs in. A row without any cell counts nowhere.
    """
    k, some = len(point.mean), np.flatnonzero(~np.isnan(rows).all(axis=1))
    own, w = codes[some].astype(np.int64), np.ones(len(some)) if weight is None else weight[some]
    total = np.bincount(own, weights=w, minlength=k).astype(np.float64)
    parts = row_parts((rows - units.center) / units.scale, some, own, w, point.shared or k == 1)
    return expect(parts, total, point)[0]


@dataclass(frozen=True, slots=True)
class _Problem:
    """The climb as `climb.climb` sees it; `live` are the classes that still move."""

    run: Callable[[Point], Moments]
    point: Point  # of all classes: those that have arrived stay
    weight: Array
    lonely: Flags
    within: Array
    guard: Array  # (g, d) what is added to the variances of a covariance that comes near singular
    ridge: Array  # (g, d) what is
    live: Codes

    def step(self, point: Point) -> tuple[Array, Point, Flags]:
        everything = point
        if not point.shared and len(self.live) < len(self.point.mean):
            mean, covariance = self.point.mean.copy(), self.point.covariance.copy()
            mean[self.live], covariance[self.live] = point.mean, point.covariance
            everything = Point(mean, covariance)
        moments = self.run(everything)
        held, mended = expect([], np.zeros(self.weight.shape), everything, as_scatter(self.ridge, self.weight))
        moments = moments.merge(held)
        ahead = maximize(moments, everything, self.lonely, self.within)
        if everything is point:
            return moments.likelihood, ahead, mended
        own = self.live
        return moments.likelihood[own], Point(ahead.mean[own], ahead.covariance[own]), mended[own]

    def take(self, units: Codes) -> _Problem:
        return replace(self, live=self.live[units])

    def secured(self, units: Codes) -> _Problem:
        ridge = self.ridge.copy()
        ridge[self.live[units]] = self.guard[self.live[units]]
        return replace(self, ridge=ridge)


def complete_by_sweeps(
    run: Sweep, observed: ObservedStats, form: type[Scatter], progress: Progress | None = None
) -> CompletedStats:
    """Return what `cells.complete` would, from sums over all rows: `run(units, point)` makes one pass."""
    weight, cells = observed.weight, observed.cells
    units = Units.of(cells.weight, cells.mean, cells.scatter.values)
    shared = form is PooledScatter
    start = units.start(shared)
    g, d = start.covariance.shape[:2]

    def passes(point: Point) -> Moments:
        return run(units, point)

    guard, everyone = units.ridge(shared, weight), np.arange(g, dtype=np.int64)
    problem = _Problem(passes, start, weight, units.lonely(shared), units.within, guard, np.zeros((g, d)), everyone)
    complete, reached = climb_from(problem, weight, units, form, progress)
    secured = np.broadcast_to(reached.secured, weight.shape).astype(np.float64)
    return CompletedStats(complete, cells.weight, secured, reached.steps, reached.moved)


@dataclass(frozen=True, slots=True)
class ObservedStats(Statistic):
    """What `complete_by_sweeps` begins with: the weight (k,) of rows with any cell, and each column's own cells."""

    weight: Array
    cells: GaussianStats

    @classmethod
    def summarize(cls, rows: Array, codes: Codes, k: int, weight: Array | None) -> Self:
        """Return the statistics of a batch (n, d), missing cells as NaN."""
        some = ~np.isnan(rows).all(axis=1)
        total = np.bincount(codes, weights=some if weight is None else weight * some, minlength=k)
        return cls(total.astype(np.float64), GaussianStats.summarize(rows, codes, k, weight, DiagonalScatter))

    def merge(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.cells.merge(other.cells))

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(spread(self.weight, index, k), self.cells.place(index, k))

    def column_weight(self) -> Array:
        return self.cells.column_weight()


class Encodes(Protocol):
    """A family that reads rows of a table."""

    def encode(self, table: Any, positions: Sequence[int]) -> Any:
        """Return the block's rows."""


@dataclass(frozen=True, slots=True)
class Observing:
    """A family that reads as `family` does and counts the cells of each column alone."""

    family: Encodes

    def encode(self, table: object, positions: Sequence[int]) -> object:
        """Return the block's rows."""
        return self.family.encode(table, positions)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ObservedStats:
        """Return what is observed of a batch."""
        return ObservedStats.summarize(rows, codes, k, weight)


def complete_rows(
    rows: Array, codes: Codes, k: int, weight: Array | None, form: type[Scatter], progress: Progress | None = None
) -> CompletedStats:
    """Return the completed statistics of rows (n, d) in memory, in chunks: no pattern is kept."""
    n, d = rows.shape
    check_columns(d)
    w = np.ones(n) if weight is None else weight
    observed = ObservedStats.summarize(rows, codes, k, weight)
    chunks = list(row_chunks(n, rows_within(8 * d, least=256)))

    def run(units: Units, point: Point) -> Moments:
        def one(part: slice) -> Moments:
            return sweep(rows[part], codes[part], w[part], units, point)

        return reduce(Moments.merge, parallel_map(one, chunks, cost=200.0 * rows.size))

    return complete_by_sweeps(run, observed, form, progress)
