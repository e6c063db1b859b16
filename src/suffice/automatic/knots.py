"""What is frozen of columns: knots of normal scores and linear splines, bin edges, and directions of very wide tables.

Most columns of a very wide table are indicators of levels, of which a row has one in each category: what it adds to the
coordinates is a row of a table, so that a row takes as much as it has cells, however many levels there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .._arrays import Array, Codes, eigh, ndtri, np, row_chunks, rows_within, single_blas_thread
from ..kernels.columns import Knots, count_splines
from .table_rows import MISSING

INTERVALS = (4, 8, 16)
BINS = (3, 5, 8)
# Shares of the rows below the ends of intervals, then below the cuts between bins, and where those of each begin.
SHARES = [*(np.linspace(0, 1, m + 1) for m in INTERVALS), *(np.linspace(0, 1, b + 1)[1:-1] for b in BINS)]
STARTS = (0, *np.cumsum([len(own) for own in SHARES]).tolist())
SCORE_KNOTS = 200
NOTHING = 1e-280  # numbers nearer to 0 are 0 here: slopes between knots closer than such leave the range of floats
MOST_DIRECTIONS = 200
SMALL = 3  # times as many as are kept: up to here all directions are found


@dataclass(frozen=True)
class Splines:
    """Knots of each column, ascending."""

    knots: tuple[Array, ...]

    @cached_property
    def packed(self) -> Knots:
        """The knots of all columns, as compiled loops read them."""
        return Knots.of(self.knots)

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (k, B) of the splines over the rows of each class, all columns side by side."""
        return count_splines(rows, self.packed, codes, weight, k)


class NumberKnots(NamedTuple):
    """What is frozen of one number: knots with their normal scores, and quantiles by intervals and by bins."""

    scores: tuple[Array, Array]
    splines: dict[int, Array]
    cuts: dict[int, Array]

    @classmethod
    def of(cls, x: Array, weight: Array) -> NumberKnots:
        """Return that of the observed values (n,) of these weights; of none, knots at 0."""
        x = np.where(np.abs(x) < NOTHING, 0.0, x)
        found = _quantiles(x, weight, np.concatenate(SHARES))
        new = np.append(True, found[1:] != found[:-1])
        new[list(STARTS[:-1])] = True
        each = [found[begin:end][new[begin:end]] for begin, end in pairwise(STARTS)]
        splines, cuts = zip(INTERVALS, each, strict=False), zip(BINS, each[len(INTERVALS) :], strict=True)
        return cls(_normal_scores(x, weight), dict(splines), dict(cuts))


def _normal_scores(x: Array, weight: Array) -> tuple[Array, Array]:
    values, group = np.unique(x, return_inverse=True)
    if not len(values):
        return np.zeros(1), np.zeros(1)
    held = np.bincount(group, weights=weight)
    # a share that rounds to 1, as those above a row of nearly all the weight, has no finite score
    z = ndtri(np.minimum((np.cumsum(held) - 0.5 * held) / held.sum(), np.nextafter(1.0, 0.0)))
    if len(values) > SCORE_KNOTS:
        kept = np.unique(np.linspace(0, len(values) - 1, SCORE_KNOTS).astype(np.int64))
        values, z = values[kept], z[kept]
    return values, np.asarray(z)


def _quantiles(x: Array, weight: Array, shares: Array) -> Array:
    if not len(x):
        return np.zeros(len(shares))
    return np.asarray(np.quantile(x, shares, weights=weight, method="inverted_cdf"))


def leading(cells: Callable[[slice], Array], n: int, p: int) -> Array:
    """Return the leading principal directions (p, r) of n rows: all that they span, if these are not too many.

    `cells` gives those of a slice of the rows: of many rows and columns it is asked part by part.
    """
    if min(n, p) > SMALL * MOST_DIRECTIONS:  # most directions would be found for nothing
        every = np.nan_to_num(cells(slice(n))) if p > n else None
        with single_blas_thread():  # its threads wait for each other while others have work for all cores
            gram = _gram(cells, n, p) if every is None else every @ every.T
            values, found = eigh(gram, subset_by_index=(len(gram) - MOST_DIRECTIONS, len(gram) - 1))
            found = found[:, ::-1][:, : max(1, int((values > 1e-12 * values[-1]).sum()))]
            return np.ascontiguousarray(found if every is None else np.linalg.qr(every.T @ found)[0])
    _, sizes, directions = np.linalg.svd(np.nan_to_num(cells(slice(n))), full_matrices=False)
    rank = int((sizes > 1e-8 * sizes.max(initial=1e-300)).sum())
    return np.ascontiguousarray(directions[: max(1, min(rank, MOST_DIRECTIONS))].T)


def _gram(cells: Callable[[slice], Array], n: int, p: int) -> Array:
    """Return the products of columns (p, p), summed over rows."""
    total = np.zeros((p, p))
    for part in row_chunks(n, rows_within(64 * p, least=p)):
        own = np.nan_to_num(cells(part))
        total += own.T @ own
    return total


@dataclass(frozen=True, eq=False)
class Projection:
    """What each cell adds to the coordinates: of the first `numbers` columns those `used`, in units of `center` and
    `scale`, by `loading` (p, r); the levels of each category by a table (levels + 2, r), which ends with an unknown
    level and a missing cell.
    """

    numbers: int
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
        return cls(numbers, first, center[first], scale[first], basis[:p], tuple(tables))

    def cells(self, numbers: Array) -> Array:
        """Return the numbers (n, d) that are used in their units (n, p), those that miss at their means."""
        return np.nan_to_num((numbers[:, self.used] - self.center) / self.scale)

    def coordinates(self, cells: Array, levels: Sequence[Codes], shown: Codes) -> Array:
        """Return what the columns `shown` of cells (n, p) and levels (n,) by category add to coordinates (n, r)."""
        own = np.isin(self.used, shown)
        found = cells[:, own] @ self.loading[own]
        for j, (codes, table) in enumerate(zip(levels, self.tables, strict=True), start=self.numbers):
            if j in shown:
                found += table[codes]
        return np.asarray(found)
