"""EM for missing cells by passes over rows in memory, for very many patterns of missing cells; and single E steps.

`fill` and `sweep` are an E step over some rows, whose sums add. The maximum is that of `cells.complete`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from .._arrays import IN_MEMORY, Array, Codes, NDArray, np, parallel_map, row_chunks, rows_within
from ..densities import Gaussian
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, PooledScatter
from ..stats.scatter import Scatter
from .accelerated_em import Progress
from .cells import Units, check_columns, climb_from
from .step import Moments, Parts, Point, Regressions, add_up, as_scatter, expect, maximize

Flags = NDArray[np.bool_]


def fill(rows: Array, codes: Codes, k: int, weight: Array, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return the statistics of rows (n, d) with missing cells at what `density` expects of them, given the class.

    A column without a density has no scatter, a row without any cell counts nowhere.
    """
    cells = rows[:, density.used]
    some = np.flatnonzero(~np.isnan(cells).all(axis=1))
    moments = _expect(cells, some, codes[some].astype(np.int64), weight[some], density, form)
    found = _statistics(moments, density, form)
    found.mean[found.weight == 0] = 0.0
    return found


def fill_shared_out(rows: Array, share: Array, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return the same of rows each of which counts in every component of `density` by its `share` (n, m)."""
    cells = rows[:, density.used]

    def one(part: slice) -> Moments:
        row, component = np.nonzero(share[part])
        return _expect(cells[part], row, component, share[part][row, component], density, form)

    chunks = row_chunks(len(rows), rows_within(8 * share.shape[1] * cells.shape[1], 2 * IN_MEMORY))
    return _statistics(reduce(Moments.merge, map(one, chunks)), density, form)


def _expect(cells: Array, row: Codes, codes: Codes, weight: Array, density: Gaussian, form: type[Scatter]) -> Moments:
    """Return the expected sums of rows `row` (e,) of the used cells, each in class `codes` (e,) with `weight` (e,)."""
    means, covariance = density.means[:, density.used], density.covariance.dense()
    if form is not PooledScatter and len(covariance) < len(means):
        covariance = np.repeat(covariance, len(means), axis=0)
    total = np.bincount(codes, weights=weight, minlength=len(means)).astype(np.float64)
    parts = row_parts(cells, row, codes, weight, len(covariance) == 1)
    return add_up(parts, total, means, Regressions.under(covariance))


def row_parts(cells: Array, row: Codes, codes: Codes, weight: Array, one: bool) -> Iterator[Parts]:
    """Yield rows `row` (e,) of `cells` (n, d) by their number of observed cells, those of a pattern together.

    `one` says that there is one covariance; else rows of different classes `codes` (e,) have different ones.
    """
    if not len(row) or not cells.shape[1]:
        return
    seen = ~np.isnan(cells)
    counts = seen.sum(axis=1)
    packed = np.ascontiguousarray(np.packbits(seen, axis=1))
    _, number = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_inverse=True)
    key = number[row] if one else number[row] * (int(codes.max(initial=0)) + 1) + codes
    for o in np.unique(counts[row]):
        own = np.flatnonzero(counts[row] == o)
        _, first, pattern = np.unique(key[own], return_index=True, return_inverse=True)
        order = np.argsort(pattern, kind="stable")
        own, pattern, first = own[order], pattern[order], own[first]
        sorted_cells = np.argsort(~seen[row[first]], axis=1, kind="stable")
        observed = sorted_cells[:, :o]
        yield from Parts(
            observed,
            sorted_cells[:, o:],
            np.zeros(len(first), dtype=np.int64) if one else codes[first],
            np.bincount(pattern, weights=weight[own]).astype(np.float64),
            pattern,
            codes[own],
            weight[own],
            np.zeros(len(own), dtype=bool),
            cells[row[own][:, None], observed[pattern]],
        ).bounded()


def _statistics(moments: Moments, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return sums about the means of a density as statistics about their own means."""
    used, total = list(density.used), moments.weight
    step = moments.first / np.where(total > 0, total, 1.0)[:, None]
    if len(moments.second) == 1:
        second = moments.second - (total[:, None] * step).T @ step
    else:
        second = moments.second - total[:, None, None] * step[:, :, None] * step[:, None, :]
    mean, d = density.means.copy(), density.means.shape[1]
    mean[:, used] += step
    scatter = np.zeros((len(second), d, d))
    scatter[np.ix_(range(len(second)), used, used)] = second
    return GaussianStats(total, mean, form(scatter[0] if form is PooledScatter else scatter), form)


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
