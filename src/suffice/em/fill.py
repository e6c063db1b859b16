"""The E step for rows with missing cells: expected values and products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from .._arrays import IN_MEMORY, Array, Codes, np, row_chunks, rows_within
from ..densities import Gaussian
from ..stats import GaussianStats, PooledScatter
from ..stats.scatter import Scatter
from .regression import Regressions
from .step import Moments, Parts, add_up


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
