"""Sums of leaf values over trees, and their Shapley values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from .._arrays import IN_MEMORY, Array, Codes, NDArray, np, parallel_each, row_chunks, rows_within
from ..kernels.trees import Ways, product_values
from .columns import MISSING, Cells
from .trees import Trees

TOGETHER = 1024  # rows sent down all trees at a time: their cells stay near the processor
MOST_NODES = 16  # of Gauss and Legendre: exact for products over twice as many columns
FEW_ROWS = 32  # up to which all trees are walked at once
MOST_LEAVES = 1 << 16  # whose paths are made at a time, of some hundred steps of eight bytes each
MOST_STEPS = 1 << 15  # of some paths of one length: what leaves hold is looked up once for many rows
MOST_KEPT = 1 << 17  # leaves, whose paths are kept
WIDEST = 2**15 - 1  # no cell is beyond


@dataclass(frozen=True, eq=False)
class TreeScores:
    """F_k = link(Σ_trees value of the row's leaf) + base_k: `values` (L, k), `base` (k,), the link log or none.

    `cover` (L,) is the weight of the rows in each leaf, by which a column that is not looked at is averaged over.
    """

    trees: Trees
    values: Array
    base: Array
    logs: bool
    cover: Array

    def scores(self, cells: Cells) -> Array:
        """Return F (n, k) of rows by their cells."""
        return self._linked(self._sums(cells))

    def _sums(self, cells: Cells) -> Array:
        total = np.zeros((len(cells), self.values.shape[1]))
        if len(cells) <= FEW_ROWS:
            for leaves in self.trees.all_leaves(cells).T:
                total += self.values[leaves]
            return total

        def add(part: slice) -> None:
            self.trees.packed.add_values(cells[part], *self._by_leaf, total[part])

        parallel_each(add, row_chunks(len(cells), TOGETHER), cost=100.0 * len(cells) * len(self.trees))
        return total

    @cached_property
    def _by_leaf(self) -> tuple[NDArray[np.int32], Array, Array]:
        """For each tree the one class with any values, or −1; the values (L,) of such trees, and all values (L, k)."""
        values, tree = np.ascontiguousarray(self.values), self.trees.leaf_tree
        first = np.flatnonzero(np.diff(tree, prepend=-1))
        held = np.logical_or.reduceat(values != 0.0, first) if len(first) else np.zeros((0, 1), dtype=np.bool_)
        only = np.where(held.sum(axis=1) == 1, held.argmax(axis=1), -1).astype(np.int32)
        return only, values[np.arange(len(values)), np.maximum(only, 0)[tree]], values

    def _linked(self, total: Array) -> Array:
        return np.asarray((np.log(np.maximum(total, 1e-300)) if self.logs else total) + self.base)

    def contributions(self, cells: Cells) -> Array:
        """Return what each column adds to F (n, d, k): Shapley values, columns not looked at averaged over.

        Averages weigh the branches of a tree by their rows (Lundberg, Erion & Lee 2018, arXiv:1802.03888). In a leaf
        the game is a product over columns, whose Shapley values are integrals, exact by Gauss and Legendre.
        With the link log, those of the sums are scaled so as to add up to F. A missing cell adds 0.
        """
        added = np.zeros((len(cells), cells.shape[1], self.values.shape[1]))
        for paths in self._kept if len(self.cover) <= MOST_KEPT else self._made():
            parts = row_chunks(len(cells), rows_within(16 * paths.column.size, IN_MEMORY))

            def add(part: slice, paths: _Paths = paths) -> None:
                paths.add(added[part], cells[part], self.values)

            parallel_each(add, parts, cost=40.0 * len(cells) * paths.column.size)
        if self.logs:
            whole = self._average[None] + added.sum(axis=1)
            gain = np.log(np.maximum(whole, 1e-300)) - np.log(np.maximum(self._average, 1e-300))
            rise = whole - self._average
            flat = np.abs(rise) <= 1e-12 * self._average
            slope = np.where(flat, 1.0 / np.maximum(self._average, 1e-300), gain / np.where(flat, 1.0, rise))
            added *= slope[:, None]
        return added

    @cached_property
    def _kept(self) -> tuple[_Paths, ...]:
        """The paths to all leaves, kept from one call to the next: a call with one row does its sums alone."""
        return tuple(self._made())

    def _made(self) -> Iterator[_Paths]:
        """Yield the paths to the leaves, so many at a time."""
        held = np.zeros(len(self.trees.column))
        held[self.trees.leaf_nodes] = self.cover
        for nodes in reversed(self.trees.levels):
            inner = nodes[self.trees.column[nodes] >= 0]
            held[inner] = held[self.trees.left[inner]] + held[self.trees.right[inner]]
        for part in row_chunks(len(self.cover), MOST_LEAVES):
            yield from _Paths.to_leaves(self.trees, held, np.arange(part.start, part.stop))

    @cached_property
    def _average(self) -> Array:
        """The mean of the sums over the rows in the leaves (k,)."""
        share = self.cover / np.bincount(self.trees.leaf_tree, weights=self.cover)[self.trees.leaf_tree]
        return np.asarray(share @ self.values)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The paths to L leaves on each of which m columns are asked, whatever their trees.

    `column` (m, L), the cells it allows, above `low` and up to `high`, and the `share` of rows that go that way; the
    numbers of the leaves are `leaf` (L,).
    """

    leaf: Codes
    column: Codes
    low: Cells
    high: Cells
    share: Array

    @classmethod
    def to_leaves(cls, trees: Trees, held: Array, leaves: Codes) -> Iterator[_Paths]:
        """Yield the paths to some leaves by how many columns are asked; `held` is the weight of the rows by node."""
        owner, node, above = _edges(trees, leaves)
        if not len(node):
            return
        left, threshold = node == trees.left[above], trees.threshold[above]
        name = owner * (int(trees.column.max()) + 1) + trees.column[above]
        order = np.argsort(name, kind="stable")
        starts = np.flatnonzero(np.diff(name[order], prepend=-1))
        ratio = np.where(held[above] > 0, held[node] / np.where(held[above] > 0, held[above], 1.0), 0.5)
        share = np.multiply.reduceat(ratio[order], starts)
        low = np.maximum.reduceat(np.where(left, MISSING, threshold)[order], starts).astype(np.int16)
        high = np.minimum.reduceat(np.where(left, threshold, WIDEST)[order], starts).astype(np.int16)
        column, counts = trees.column[above][order[starts]], np.bincount(owner[order[starts]], minlength=len(leaves))
        first = np.cumsum(counts) - counts
        for m in np.unique(counts[counts > 0]).tolist():
            every = np.flatnonzero(counts == m)
            for part in row_chunks(len(every), max(1, MOST_STEPS // m)):
                own = every[part]
                place = first[own] + np.arange(m)[:, None]
                yield cls(leaves[own], column[place], low[place], high[place], share[place])

    @cached_property
    def _by_column(self) -> tuple[tuple[int, Codes], ...]:
        """Each column with its places among the (m L) of the paths."""
        flat = self.column.ravel()
        order = np.argsort(flat, kind="stable")
        names, starts = np.unique(flat[order], return_index=True)
        return tuple(zip(names.tolist(), np.split(order.astype(np.int32), starts[1:]), strict=True))

    def add(self, added: Array, cells: Cells, values: Array) -> None:
        """Add the Shapley values of these rows to `added` (n, d, k), by the `values` of all leaves."""
        nodes = _nodes(min(len(self.column) // 2 + 1, MOST_NODES))
        ways = Ways(self.column, self.low, self.high, self.share)
        flat = product_values(cells, ways, nodes).reshape(len(cells), -1)
        for j, places in self._by_column:
            added[:, j] += flat[:, places] @ values[self.leaf[places % len(self.leaf)]]


@cache
def _nodes(count: int) -> Array:
    """Return the points in [0, 1] and weights (count, 2) of Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return np.column_stack([0.5 * (points + 1.0), 0.5 * weights])


def _edges(trees: Trees, leaves: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the steps from some leaves up to their roots: whose step it is, the node, and the one above it."""
    owner, node = np.arange(len(leaves)), trees.leaf_nodes[leaves]
    steps = [(owner[:0], node[:0], node[:0])]
    while len(node):
        above = trees.parent[node]
        inner = above >= 0
        owner, node, above = owner[inner], node[inner], above[inner]
        steps.append((owner, node, above))
        node = above
    owner, node, above = (np.concatenate(own) for own in zip(*steps, strict=True))
    return owner, node, above
