"""EM for missing cells by passes over the rows, for very many patterns of missing cells.

`sweep` is one E step over some rows, whose sums add. The maximum is that of `cells.complete`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from .._arrays import Array, Codes, NDArray, np, parallel_map, row_chunks, rows_within
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, PooledScatter
from ..stats.scatter import Scatter
from .accelerated_em import Progress
from .cells import Units, check_columns, climb_from
from .fill import row_parts
from .step import Moments, Point, as_scatter, expect, maximize

Flags = NDArray[np.bool_]


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
    """The climb as `accelerated_em.climb` sees it; `live` are the classes that still move."""

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


def complete_rows(
    rows: Array, codes: Codes, k: int, weight: Array | None, form: type[Scatter], progress: Progress | None = None
) -> CompletedStats:
    """Return the completed statistics of rows (n, d), in chunks: no pattern is kept."""
    n, d = rows.shape
    check_columns(d)
    w = np.ones(n) if weight is None else weight
    some = ~np.isnan(rows).all(axis=1)
    total = np.bincount(codes, weights=some if weight is None else weight * some, minlength=k).astype(np.float64)
    cells = GaussianStats.summarize(rows, codes, k, weight, DiagonalScatter)
    units = Units.of(cells.weight, cells.mean, cells.scatter.values)
    chunks = list(row_chunks(n, rows_within(8 * d, least=256)))

    def run(point: Point) -> Moments:
        def one(part: slice) -> Moments:
            return sweep(rows[part], codes[part], w[part], units, point)

        return reduce(Moments.merge, parallel_map(one, chunks, cost=200.0 * rows.size))

    shared = form is PooledScatter
    start = units.start(shared)
    g = len(start.covariance)
    guard, everyone = units.ridge(shared, total), np.arange(g, dtype=np.int64)
    problem = _Problem(run, start, total, units.lonely(shared), units.within, guard, np.zeros((g, d)), everyone)
    complete, reached = climb_from(problem, total, units, form, progress)
    secured = np.broadcast_to(reached.secured, total.shape).astype(np.float64)
    return CompletedStats(complete, cells.weight, secured, reached.steps, reached.moved)
