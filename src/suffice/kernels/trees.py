"""Compiled walks down trees, and Shapley values of what their leaves hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Self

from .._arrays import Array, Codes, Flags, NDArray, np
from .library import below, library, of_rows

WIDEST = 2**15  # columns that nodes can name, by their place among those asked
LARGEST = 2**16  # nodes of a tree that a node can name

Cells = NDArray[np.int16]
MOST_POINTS = 16  # of a quadrature: exact for products over twice as many columns
ROWS = 32  # that the library sends through a tree together for Shapley values


@dataclass(frozen=True, eq=False)
class Packed:
    """Nodes (m, 4) of all trees: what is asked, up to where it goes left, and the two nodes it leads to.

    `roots` (t,) begin the trees, `leaf` (m,) numbers the leaves through all trees. Rows have at least `d` columns.
    Nodes name columns by their numbers, or, of very many, by their places among those `asked`.
    """

    nodes: NDArray[np.uint16]
    roots: Codes
    leaf: NDArray[np.int32]
    d: int
    asked: Codes | None
    leaves: int

    @classmethod
    def of(
        cls,
        column: Codes,
        threshold: Codes,
        children: tuple[Codes, Codes],
        missing_right: Flags,
        roots: Codes,
        leaf: Codes,
    ) -> Self:
        """Return trees packed; ValueError where a node leads to another tree or back, or its numbers do not fit.

        All arrays are by node (m,), −1 for the `column` of a leaf, children by their numbers through all trees. A row
        goes left where its cell is at most the threshold, and where it is missing unless `missing_right`.
        """
        every, ends = np.arange(len(column)), column < 0
        sizes = np.diff(np.append(roots, len(column)))
        begin = np.repeat(roots, sizes)
        left, right = (np.where(ends, every, own) for own in children)
        last = begin + np.repeat(sizes, sizes)
        inner = ~ends
        onward = all(((own > every) & (own < last))[inner].all() for own in (left, right))
        low, high = int(threshold.min(initial=0)), int(threshold.max(initial=0))
        d = int(column.max(initial=-1)) + 1
        asked = np.unique(column[inner]) if d > WIDEST else None
        if asked is not None:
            column = np.searchsorted(asked, column)
        if (
            not onward
            or int(column.max(initial=-1)) >= WIDEST
            or sizes.max(initial=0) > LARGEST
            or low < -1
            or high >= 2**16 - 1
        ):
            raise ValueError(f"trees of {d} columns and up to {sizes.max(initial=0)} nodes, thresholds {low} to {high}")
        if (missing_right & inner & (threshold < 0)).any():
            raise ValueError("a node from which no row goes left")
        goes_left = inner & ~missing_right
        nodes = np.empty((len(column), 4), dtype=np.uint16)
        nodes[:, 0] = 2 * np.where(ends, 0, column) + goes_left
        nodes[:, 1] = np.where(ends, 0, threshold + goes_left)
        nodes[:, 2], nodes[:, 3] = left - begin, right - begin
        return cls(nodes, roots.astype(np.int64), leaf.astype(np.int32), d, asked, int(ends.sum()))

    def leaves_of(self, cells: Cells, first: int, last: int) -> Codes:
        """Return the leaf (trees, n), counted through all trees, of rows in the trees from one number to another."""
        cells = self._readable(cells)
        out = np.empty((last - first, len(cells)), dtype=np.int64)
        library().suffice_leaves(*self._trees, first, last, cells, *cells.shape, out)
        return out

    def add_values(self, cells: Cells, only: NDArray[np.int32], alone: Array, values: Array, total: Array) -> None:
        """Add to `total` (n, k) the `values` (L, k) of the leaves in which the rows end, tree by tree.

        Of a tree with values for one class, `only` (trees,) names it, and `alone` (L,) has them; else it is −1.
        """
        cells = self._readable(cells)
        of_rows(len(cells), total)
        k = total.shape[1]
        if values.shape != (self.leaves, k) or len(alone) != self.leaves or len(only) != len(self.roots):
            raise ValueError(f"values {values.shape} of {self.leaves} leaves, added up in {total.shape}")
        here = *self._trees, len(self.roots), cells, *cells.shape
        library().suffice_add_values(*here, only, alone, values, k, total)

    def count(self, cells: Cells, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the weights (k, L) of rows of class `codes` (n,) by the leaves in which they end."""
        cells, codes = self._readable(cells), below(codes, k)
        of_rows(len(cells), codes, weight)
        out = np.zeros((k, self.leaves))
        here = *self._trees, len(self.roots), cells, *cells.shape
        library().suffice_count_leaves(*here, codes, weight, self.leaves, out)
        return out

    def add_sums(self, cells: Cells, codes: Codes, values: Array, total: Array) -> None:
        """Add to `total` (k, L, m) the rows' values (n, m) by class and the leaves in which they end."""
        cells, codes = self._readable(cells), below(codes, len(total))
        of_rows(len(cells), codes, values)
        if total.shape[1:] != (self.leaves, values.shape[1]):
            raise ValueError(f"values {values.shape} of {self.leaves} leaves, added up in {total.shape}")
        here = *self._trees, len(self.roots), cells, *cells.shape
        library().suffice_sum_leaves(*here, codes, values, values.shape[1], self.leaves, total)

    def add_shapley_values(
        self, cells: Cells, share: Array, asked: Codes, depth: int, only: NDArray[np.int32], values: Array, total: Array
    ) -> None:
        """Add to `total` (n, d, k) the Shapley values of the columns for the `values` (L, k) in which the rows end.

        A column that is not looked at is averaged over by the `share` (m,) of its parent's rows that each node holds; a
        missing cell, below 0, adds nothing. Of trees with values for one class, `only` (trees,) names it; else it is
        −1. `asked` (trees,) is the most columns on a way to a leaf, of up to 32 of which values are exact; no way
        has more than `depth` steps.
        """
        k, own = values.shape[1], self._readable(cells)
        if total.shape != (*cells.shape, k) or len(share) != len(self.nodes) or len(values) != self.leaves:
            raise ValueError(f"values {values.shape} of {self.leaves} leaves, added up in {total.shape}")
        found = total if self.asked is None and total.flags.c_contiguous else np.zeros((*own.shape, k))
        steps = depth + 1
        blocks = np.minimum(asked // 8 + 1, MOST_POINTS // 4)  # of four points
        for count in np.unique(blocks).tolist():
            some = np.flatnonzero(blocks == count)
            nodes = gauss_legendre(4 * count)
            room = np.empty((steps * ((k + 1) * ROWS + 2) + 3) * len(nodes) + steps + own.shape[1] * k * ROWS)
            marks = np.empty(own.shape[1] + steps * (3 + ROWS // 8), dtype=np.int64)
            here = self.nodes, self.roots[some], self.leaf, len(some), own, *own.shape, share, only[some]
            library().suffice_shapley(*here, values, k, nodes, len(nodes), depth, room, marks, found)
        if found is not total:
            total[:, slice(None) if self.asked is None else self.asked] += found

    def left_out_shares(
        self, own: Codes, shown: Codes, free: Flags, counts: Array, codes: Codes, removed: Array, base: Array, at: Array
    ) -> Array:
        """Return the sums (settings, n, k) of the classes' shares in the leaves `shown` (trees, n), each row left out.

        Shares are (m_c + t base_c) / (m + t) at every strength t of `at`, summed over the trees `free` (trees, n) for a
        row; m are the weights `counts` (L, k) less `removed` (n,) of its class where that leaf is its `own`.
        """
        codes, k = below(codes, counts.shape[1]), counts.shape[1]
        (trees, n), shapes = own.shape, {shown.shape, free.shape, (len(own), len(codes)), (len(own), len(removed))}
        if shapes != {own.shape} or len(counts) != self.leaves or len(base) != k:
            raise ValueError(f"leaves of {own.shape} trees and rows, {sorted(shapes)}, and counts {counts.shape}")
        if own.size and not 0 <= min(own.min(), shown.min()) <= max(own.max(), shown.max()) < self.leaves:
            raise ValueError(f"leaves that are none of {self.leaves}")
        total, here = np.zeros((len(at), n, k)), (own, shown, free, trees, n, counts, k, codes)
        library().suffice_left_out_shares(*here, removed, base, at, len(at), np.empty(k), total)
        return total

    @property
    def _trees(self) -> tuple[NDArray[np.uint16], Codes, NDArray[np.int32]]:
        return self.nodes, self.roots, self.leaf

    def _readable(self, cells: Cells) -> Cells:
        if cells.shape[1] < self.d:
            raise ValueError(f"{cells.shape[1]} columns, where trees ask {self.d}")
        return cells if self.asked is None else cells[:, self.asked]


@cache
def gauss_legendre(count: int) -> Array:
    """Return the points in [0, 1] and weights (count, 2) of Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return np.column_stack([0.5 * (points + 1.0), 0.5 * weights])


def sums_in_ways(terms: Array, log_share: Array, outside: Flags, known: Flags) -> Array:
    """Return log Σ exp(log share + terms of the known columns) over leaves (q,), (m, k), for sets of columns (m, d).

    `terms` (q, d, k) are those of one row; leaves to which a known cell is `outside` (q, d) add nothing.
    """
    (q, d, k), m = terms.shape, len(known)
    if log_share.shape != (q, k) or outside.shape != (q, d) or known.shape != (m, d):
        raise ValueError(f"{d} columns, {q} leaves of {k} classes, and others")
    out = np.empty((m, k))
    library().suffice_in_ways(terms, log_share, outside, known, m, d, q, k, np.empty((q, k)), out)
    return out
