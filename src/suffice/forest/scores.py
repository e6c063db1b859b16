"""Sums over the leaves that a row ends in, one of each tree: shares of classes or boosted log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from .._arrays import IN_MEMORY, Array, Codes, np, parallel_each, row_chunks, rows_within
from .columns import Cells
from .trees import Trees

TOGETHER = 8192  # rows sent down all trees at a time: their cells stay near the processor
MOST_NODES = 16  # of Gauss and Legendre: exact for products over twice as many columns


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

        def add(part: slice) -> None:
            own = total[part]
            for (classes, values), node in zip(self._by_node, self.trees.nodes_of(cells[part]), strict=True):
                if classes is None:
                    own += values.take(node, axis=0)
                else:
                    own[:, classes] += values.take(node)

        parallel_each(add, row_chunks(len(cells), TOGETHER))
        return total

    @cached_property
    def _by_node(self) -> tuple[tuple[int | None, Array], ...]:
        """For each tree the values of its nodes (nodes, k), 0 but at leaves; or the one class that has any, and its."""
        values = np.zeros((len(self.trees.column), self.values.shape[1]))
        values[self.trees.leaf_nodes] = self.values
        found: list[tuple[int | None, Array]] = []
        for own in np.split(values, self.trees.roots[1:]):
            classes = np.flatnonzero(own.any(axis=0))
            found.append((int(classes[0]), own[:, classes[0]].copy()) if len(classes) == 1 else (None, own))
        return tuple(found)

    def _linked(self, total: Array) -> Array:
        return np.asarray((np.log(np.maximum(total, 1e-300)) if self.logs else total) + self.base)

    def contributions(self, cells: Cells) -> Array:
        """Return what each column adds to F (n, d, k): Shapley values, columns not looked at averaged over.

        Averages weigh the branches of a tree by their rows (Lundberg, Erion & Lee 2018, arXiv:1802.03888). In a leaf
        the game is a product over columns, whose Shapley values are integrals, exact by Gauss and Legendre.
        With the link log, those of the sums are scaled so as to add up to F. A missing cell adds 0.
        """
        added = np.zeros((len(cells), cells.shape[1], self.values.shape[1]))
        for t in range(len(self.trees)):
            paths = _Paths.of(self, t, cells.shape[1])
            width = 8 * max(paths.column.size, 1) * 4
            for part in row_chunks(len(cells), rows_within(width, IN_MEMORY)):
                paths.add(added[part], cells[part])
        if self.logs:
            whole = self._average[None] + added.sum(axis=1)
            gain = np.log(np.maximum(whole, 1e-300)) - np.log(np.maximum(self._average, 1e-300))
            rise = whole - self._average
            flat = np.abs(rise) <= 1e-12 * self._average
            slope = np.where(flat, 1.0 / np.maximum(self._average, 1e-300), gain / np.where(flat, 1.0, rise))
            added *= slope[:, None]
        return added

    @cached_property
    def _average(self) -> Array:
        """The mean of the sums over the rows in the leaves (k,)."""
        share = self.cover / np.bincount(self.trees.leaf_tree, weights=self.cover)[self.trees.leaf_tree]
        return np.asarray(share @ self.values)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The columns on the way to each leaf of a tree (L, m), −1 beyond them, the cells they allow (`low`, `high`), the
    `share` of rows that go that way, and the `values` (L, k).
    """

    column: Codes
    low: Codes
    high: Codes
    share: Array
    values: Array

    @classmethod
    def of(cls, scores: TreeScores, tree: int, d: int) -> _Paths:
        trees, cover = scores.trees, scores.cover
        leaves = np.flatnonzero(trees.leaf_tree == tree)
        held = np.zeros(len(trees.column))
        path = trees.paths[leaves]
        for depth in range(path.shape[1]):
            there = path[:, depth] >= 0
            np.add.at(held, path[there, depth], cover[leaves[there]])
        found = []
        for leaf, nodes in zip(leaves, path, strict=True):
            own: dict[int, list[float]] = {}
            nodes = nodes[nodes >= 0]
            for above, node in pairwise(nodes):
                bounds = own.setdefault(int(trees.column[above]), [-1, 2**15 - 1, 1.0])
                if node == trees.left[above]:
                    bounds[1] = min(bounds[1], int(trees.threshold[above]))
                else:
                    bounds[0] = max(bounds[0], int(trees.threshold[above]) + 1)
                bounds[2] *= held[node] / held[above] if held[above] else 0.5
            found.append((leaf, own))
        width = max([1, *(len(own) for _, own in found)])
        column = np.full((len(found), width), -1, dtype=np.int64)
        low, high = np.full(column.shape, -1), np.full(column.shape, 2**15 - 1)
        share = np.ones(column.shape)
        for i, (_, own) in enumerate(found):
            for j, (name, bounds) in enumerate(own.items()):
                column[i, j], (low[i, j], high[i, j], share[i, j]) = name, bounds
        return cls(column, low, high, share, scores.values[leaves])

    def add(self, added: Array, cells: Cells) -> None:
        """Add the Shapley values of these rows to `added` (n, d, k)."""
        cell = cells[:, np.maximum(self.column, 0)]
        inside = ((cell >= self.low) & (cell <= self.high)).astype(np.float64)
        inside = np.where((self.column < 0) | (cell < 0), self.share, inside)  # beyond the path, or missing
        apart = inside - self.share
        points, weights = np.polynomial.legendre.leggauss(min(self.column.shape[1] // 2 + 1, MOST_NODES))
        factor = np.zeros(apart.shape)
        for point, weight in zip(0.5 * (points + 1.0), 0.5 * weights, strict=True):
            terms = self.share + point * apart
            before = np.cumprod(np.concatenate([np.ones((*terms.shape[:2], 1)), terms[:, :, :-1]], axis=2), axis=2)
            after = np.cumprod(np.concatenate([np.ones((*terms.shape[:2], 1)), terms[:, :, :0:-1]], axis=2), axis=2)
            factor += weight * before * after[:, :, ::-1]
        factor *= apart
        for j in np.unique(self.column[self.column >= 0]).tolist():
            leaf, place = np.nonzero(self.column == j)
            added[:, j] += factor[:, leaf, place] @ self.values[leaf]
