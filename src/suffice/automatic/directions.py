"""Leading principal directions of very wide tables.

Most of such columns are indicators of levels, of which a row has one in each category: what it adds to the coordinates
is a row of a table, so that a row takes as much as it has cells, however many levels there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, eigh, np, single_blas_thread
from .mixed_rows import MISSING

MOST_DIRECTIONS = 200
SMALL = 3  # times as many as are kept: up to here all directions are found

NONE: Codes = np.zeros(0, dtype=np.int64)


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
