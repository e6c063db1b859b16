"""What is frozen of columns: knots of normal scores and linear splines, bin edges, and directions of very wide tables.

Most columns of a very wide table are indicators of levels, of which a row has one in each category: what it adds to the
coordinates is a row of a table, so that a row takes as much as it has cells, however many levels there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, eigh, ndtri, np, row_chunks, rows_within, single_blas_thread
from ..kernels.columns import count_splines
from .table_rows import MISSING

SCORE_KNOTS = 200
NOTHING = 1e-280  # numbers nearer to 0 are 0 here: slopes between knots closer than such leave the range of floats
MOST_DIRECTIONS = 200
SMALL = 3  # times as many as are kept: up to here all directions are found
NONE: Codes = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Splines:
    """Knots of each column, ascending."""

    knots: tuple[Array, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the counts of each column begin, and the number of all."""
        return (0, *np.cumsum([len(own) for own in self.knots]).tolist())

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (k, B) of the splines over the rows of each class, all columns side by side."""
        total = np.zeros((k, self.starts[-1]))
        bounds = list(pairwise(self.starts))
        for part in row_chunks(len(rows), rows_within(16 * rows.shape[1], IN_MEMORY)):
            heavy = None if weight is None else weight[part]
            for j, (first, end) in enumerate(bounds):
                for side in self.sides(np.asarray(rows[part, j], dtype=np.float64), j, codes[part], k, heavy):
                    total[:, first:end] += side
        return total

    def sides(self, x: Array, j: int, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (2, k, knots) of the splines of column j whose knot is left, and right, of the cells (n,)."""
        if len(self.knots[j]) > 1:
            return count_splines(x, self.knots[j], codes, weight, k)
        seen = ~np.isnan(x)
        held = np.bincount(codes[seen], weights=None if weight is None else weight[seen], minlength=k)
        return np.stack([held, np.zeros(k)])[:, :, None]


class NumberKnots(NamedTuple):
    """What is frozen of one number: knots with their normal scores, and quantiles by intervals and by bins."""

    scores: tuple[Array, Array]
    splines: dict[int, Array]
    cuts: dict[int, Array]

    @classmethod
    def of(cls, x: Array, weight: Array, intervals: Sequence[int], bins: Sequence[int]) -> NumberKnots:
        """Return that of the observed values (n,) of these weights; of none, knots at 0."""
        x = np.where(np.abs(x) < NOTHING, 0.0, x)
        shares = [np.linspace(0, 1, m + 1) for m in intervals] + [np.linspace(0, 1, b + 1)[1:-1] for b in bins]
        ends = np.cumsum([len(own) for own in shares])[:-1]
        found = [np.unique(own) for own in np.split(_quantiles(x, weight, np.concatenate(shares)), ends)]
        splines, cuts = found[: len(intervals)], found[len(intervals) :]
        return cls(
            _normal_scores(x, weight), dict(zip(intervals, splines, strict=True)), dict(zip(bins, cuts, strict=True))
        )


def _normal_scores(x: Array, weight: Array) -> tuple[Array, Array]:
    values, group = np.unique(x, return_inverse=True)
    if not len(values):
        return np.zeros(1), np.zeros(1)
    held = np.bincount(group, weights=weight)
    z = ndtri((np.cumsum(held) - 0.5 * held) / held.sum())
    if len(values) > SCORE_KNOTS:
        kept = np.unique(np.linspace(0, len(values) - 1, SCORE_KNOTS).astype(np.int64))
        values, z = values[kept], z[kept]
    return values, np.asarray(z)


def _quantiles(x: Array, weight: Array, shares: Array) -> Array:
    if not len(x):
        return np.zeros(len(shares))
    return np.asarray(np.quantile(x, shares, weights=weight, method="inverted_cdf"))


def leading(cells: Array) -> Array:
    """Return the leading principal directions (columns, r) of rows: all that they span, if these are not too many."""
    cells = np.nan_to_num(cells)
    if min(cells.shape) > SMALL * MOST_DIRECTIONS:  # most directions would be found for nothing
        wide = cells.shape[1] > cells.shape[0]
        with single_blas_thread():  # its threads wait for each other while others have work for all cores
            gram = cells @ cells.T if wide else cells.T @ cells
            values, found = eigh(gram, subset_by_index=(len(gram) - MOST_DIRECTIONS, len(gram) - 1))
            found = found[:, ::-1][:, : max(1, int((values > 1e-12 * values[-1]).sum()))]
            return np.ascontiguousarray(np.linalg.qr(cells.T @ found)[0] if wide else found)
    _, sizes, directions = np.linalg.svd(cells, full_matrices=False)
    rank = int((sizes > 1e-8 * sizes.max(initial=1e-300)).sum())
    return np.ascontiguousarray(directions[: max(1, min(rank, MOST_DIRECTIONS))].T)


@dataclass(frozen=True, eq=False)
class Projection:
    """What each cell adds to the coordinates: numbers `used`, in units of `center` and `scale`, by `loading` (p, r),
    and the levels of each category by a table (levels + 2, r), which ends with an unknown level and a missing cell.
    """

    used: Codes
    center: Array
    scale: Array
    loading: Array
    tables: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        basis: Array,
        used: Codes,
        center: Array,
        scale: Array,
        numbers: int,
        indicators: Sequence[Sequence[int]],
        sizes: Sequence[int],
    ) -> Projection:
        """Return the projection on a `basis` (columns, r) of the columns `used`: numbers, then the indicators."""
        p, tables, start = int(np.searchsorted(used, numbers)), list[Array](), numbers
        for own, size in zip(indicators, sizes, strict=True):
            place = np.flatnonzero((used >= start) & (used < start + len(own)))
            column = used[place]
            table = np.tile(-(center[column] / scale[column]) @ basis[place], (size + 2, 1))
            if MISSING not in own:
                table[MISSING] = 0.0  # every indicator at its mean
            table[np.asarray(own, dtype=np.int64)[column - start]] += basis[place] / scale[column][:, None]
            tables.append(table)
            start += len(own)
        first = used[:p]
        return cls(first, center[first], scale[first], basis[:p], tuple(tables))

    def coordinates(self, numbers: Array, levels: Sequence[Codes], hidden: Codes = NONE) -> Array:
        """Return coordinates (n, r) of numbers (n, d) and levels (n,) by category, the `hidden` columns at their means,
        and numbers that miss as well.
        """
        cells = np.nan_to_num((numbers[:, self.used] - self.center) / self.scale)
        cells[:, np.isin(self.used, hidden)] = 0.0
        found = cells @ self.loading
        for j, (own, table) in enumerate(zip(levels, self.tables, strict=True), start=numbers.shape[1]):
            if j not in hidden:
                found += table[own]
        return np.asarray(found)
