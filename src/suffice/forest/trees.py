"""Trees as plain arrays, what each is dealt of rows and cells, sums of leaf values over them, and Shapley values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

from .._arrays import Array, Codes, Flags, NDArray, np, parallel_each, row_chunks
from ..kernels.trees import Packed
from ..stats.rows import GOLDEN, Keys, mixed
from ..stats.statistic import Fields, Plain
from .columns import MISSING, Cells, ForestReading

DRAWS = 1 << 16  # steps of a draw


@dataclass(frozen=True, eq=False)
class Trees:
    """The nodes of all trees, one after the other, children after their parents.

    `column` (m,) is −1 at leaves; a row goes to `left` where its cell in the column is at most `threshold`, else to
    `right`, all (m,) numbers of nodes; where the cell is missing, to the right if `missing_right` (m,) says so. `roots`
    (t,) begin the trees. `share` of the rows grew each tree: those whose `in_bag` says so.
    """

    column: Codes
    threshold: Codes
    left: Codes
    right: Codes
    missing_right: Flags
    roots: Codes
    share: float

    @classmethod
    def none(cls) -> Self:
        """Return no trees."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, empty, empty, np.zeros(0, dtype=np.bool_), empty, 0.0)

    def __len__(self) -> int:
        return len(self.roots)

    def __getstate__(self) -> dict[str, object]:
        return {own.name: vars(self)[own.name] for own in fields(self)}  # walks cannot be copied

    @cached_property
    def leaf(self) -> Codes:
        """The number of each leaf among all leaves, −1 at other nodes (m,)."""
        out = np.full(len(self.column), -1, dtype=np.int64)
        out[self.leaf_nodes] = np.arange(len(self.leaf_nodes))
        return out

    @cached_property
    def leaf_nodes(self) -> Codes:
        """The node of each leaf."""
        return np.flatnonzero(self.column < 0)

    @cached_property
    def leaf_tree(self) -> Codes:
        """The tree of each leaf."""
        return np.searchsorted(self.roots, self.leaf_nodes, side="right") - 1

    @cached_property
    def parent(self) -> Codes:
        """The parent of each node, −1 for roots."""
        out = np.full(len(self.column), -1, dtype=np.int64)
        inner = np.flatnonzero(self.column >= 0)
        out[self.left[inner]] = inner
        out[self.right[inner]] = inner
        return out

    @cached_property
    def levels(self) -> tuple[Codes, ...]:
        """The nodes at each depth, roots first."""
        found, nodes = [], self.roots
        while len(nodes):
            found.append(nodes)
            inner = nodes[self.column[nodes] >= 0]
            nodes = np.concatenate([self.left[inner], self.right[inner]])
        return tuple(found)

    @cached_property
    def paths(self) -> Codes:
        """The nodes from the root to each leaf (L, depths), −1 beyond it."""
        out = np.full((len(self.leaf_nodes), len(self.levels)), -1, dtype=np.int64)
        depth = np.zeros(len(self.column), dtype=np.int64)
        for number, nodes in enumerate(self.levels):
            depth[nodes] = number
        node, leaf = self.leaf_nodes, np.arange(len(self.leaf_nodes))
        while len(node):
            out[leaf, depth[node]] = node
            node = self.parent[node]
            leaf, node = leaf[node >= 0], node[node >= 0]
        return out

    def sums_of_nodes(self, by_leaf: Array) -> Array:
        """Return the sums of all nodes (m, …) from those of the leaves (L, …)."""
        out = np.zeros((len(self.column), *by_leaf.shape[1:]))
        out[self.leaf_nodes] = by_leaf
        for nodes in reversed(self.levels):
            inner = nodes[self.column[nodes] >= 0]
            out[inner] = out[self.left[inner]] + out[self.right[inner]]
        return out

    @cached_property
    def asked_on_a_way(self) -> Codes:
        """The most columns that a row is asked on its way down each tree (t,)."""
        above = self.paths[:, :-1]
        asked = np.sort(np.where(self.paths[:, 1:] < 0, -1, self.column[above]), axis=1)
        count = (np.diff(asked, axis=1, prepend=-1) != 0).sum(axis=1)
        return np.maximum.reduceat(count, np.searchsorted(self.leaf_tree, np.arange(len(self)))) if len(self) else count

    def boxes(self, sizes: tuple[int, ...]) -> tuple[Cells, Cells]:
        """Return the lowest and highest cell of each column at each node, (m, d) each."""
        low = np.zeros((len(self.column), len(sizes)), dtype=np.int16)
        high = np.tile(np.asarray(sizes, dtype=np.int16) - 1, (len(self.column), 1))
        for nodes in self.levels:
            inner = nodes[self.column[nodes] >= 0]
            column, threshold = self.column[inner], self.threshold[inner].astype(np.int16)
            for child in (self.left[inner], self.right[inner]):
                low[child], high[child] = low[inner], high[inner]
            high[self.left[inner], column] = threshold
            low[self.right[inner], column] = threshold + 1
        return low, high

    @cached_property
    def packed(self) -> Packed:
        """The trees as compiled kernels walk them."""
        children = self.left, self.right
        return Packed.of(self.column, self.threshold, children, self.missing_right, self.roots, self.leaf)

    def leaves_of(self, cells: Cells, tree: int) -> Codes:
        """Return the leaf (n,), counted through all trees, in which the rows of one tree end."""
        return np.asarray(self.packed.leaves_of(cells, tree, tree + 1)[0])

    def routed(self, reading: ForestReading, tree: int) -> Codes:
        """Return the leaf (n,) that learns from each row, its missing cells drawn; see `drawn`."""
        return self.leaves_of(drawn(reading, tree), tree)

    def in_bag(self, reading: ForestReading, tree: int | Codes) -> Flags:
        """Return which rows (n,) had a part in the structure of a tree, or of each of some (t, 1): equal rows alike."""
        return bagged(reading, tree, self.share)

    def ends(self, reading: ForestReading) -> tuple[Codes, Flags]:
        """Return the leaf of each row in each tree, and which trees judge it, (t, n): those that had not seen it."""
        leaves = self.packed.leaves_of(reading.cells, 0, len(self))
        bags = np.broadcast_to(self.in_bag(reading, np.arange(len(self))[:, None]), leaves.shape)
        return leaves, ~bags | bags.all(axis=0)

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        names = ("column", "threshold", "left", "right", "roots")
        fields: Fields = {name: getattr(self, name).astype(np.int32) for name in names}
        return fields | {"missing_right": self.missing_right}, {"share": self.share}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain, sizes: tuple[int, ...]) -> Self:
        """Return the trees written by `arrays`; ValueError if they are none of columns with so many cells."""
        column, threshold, left, right, roots = (
            fields[name].astype(np.int64) for name in ("column", "threshold", "left", "right", "roots")
        )
        m, share, away = len(column), float(plain["share"]), fields["missing_right"]
        found = cls(column, threshold, left, right, away, roots, share)
        inner = np.flatnonzero(column >= 0)
        children = np.concatenate([left[inner], right[inner], roots])
        after = (left[inner] > inner).all() and (right[inner] > inner).all()
        right_sizes = all(own.shape == (m,) for own in (threshold, left, right, away)) and away.dtype == np.bool_
        if not (right_sizes and after) or (column < -1).any() or (column >= len(sizes)).any():
            raise ValueError("trees")
        if (
            not 0.0 <= share <= 1.0
            or (np.diff(roots) <= 0).any()
            or not np.array_equal(np.sort(children), np.arange(m))
        ):
            raise ValueError("trees")
        if m and ((threshold[inner] < MISSING) | (threshold[inner] >= np.asarray(sizes)[column[inner]])).any():
            raise ValueError("trees")
        _ = found.packed  # ValueError where a node leads to another tree
        return found


def bagged(reading: ForestReading, tree: int | Codes, share: float) -> Flags:
    """Return which rows (n,) belong to a share of all that is dealt to a tree by their contents."""
    return np.ones(len(reading), dtype=np.bool_) if share >= 1.0 else dealt(reading.contents, tree, share)


def dealt(keys: Keys, tree: int | Codes, share: float) -> Flags:
    """Return which keys (n,) belong to a share of all that is dealt to a tree, or to each of some (t, 1)."""
    number = np.atleast_1d(np.asarray(tree, dtype=np.uint64)) + np.uint64(1)
    draw = mixed(keys + number * np.uint64(GOLDEN)) >> np.uint64(11)
    return np.asarray(draw.astype(np.float64) < share * 2.0**53)


def drawn(reading: ForestReading, tree: int) -> Cells:
    """Return the cells (n, d) by which a tree routes rows: a missing one, or a level never seen, is drawn.

    It is drawn from the shares of what was seen, always alike for equal rows, so that what was added can be taken out
    and no leaf is of levels never seen alone.
    """
    columns, cells = reading.columns, reading.cells
    if not reading.open.any():
        return cells
    rows, places = np.nonzero(reading.open)
    cells = cells.copy()
    seeds = (np.uint64(GOLDEN * (tree + 1) % 2**64) ^ reading.contents)[rows]
    for j in np.unique(places).tolist():
        own, share = places == j, columns.share(j)
        seen = share[:-1] if j >= len(columns.numbers) and len(share) > 1 else share
        cumulative = np.cumsum(seen)
        order = np.arange(1, len(share) + 1, dtype=np.uint64)
        salt = mixed((share * 2.0**20).astype(np.uint64) * order).sum()  # of the column, whatever its place
        u = (mixed(seeds[own] + salt) % np.uint64(DRAWS)).astype(np.float64)
        place = np.searchsorted(cumulative, (u + 0.5) / DRAWS * cumulative[-1], side="right")
        cells[rows[own], j] = np.minimum(place, len(cumulative) - 1)
    return cells


# ── Sums of leaf values over trees, and their Shapley values ──────────────────────────────────────────────────────────


TOGETHER = 1024  # rows sent down all trees at a time: their cells stay near the processor


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
        total = np.zeros((len(cells), self.values.shape[1]))

        def add(part: slice) -> None:
            self.trees.packed.add_values(cells[part], *self._by_leaf, total[part])

        parallel_each(add, row_chunks(len(cells), TOGETHER), cost=100.0 * len(cells) * len(self.trees))
        return np.asarray((np.log(np.maximum(total, 1e-300)) if self.logs else total) + self.base)

    @cached_property
    def _by_leaf(self) -> tuple[NDArray[np.int32], Array, Array]:
        """For each tree the one class with any values, or −1; the values (L,) of such trees, and all values (L, k)."""
        values, tree = np.ascontiguousarray(self.values), self.trees.leaf_tree
        first = np.flatnonzero(np.diff(tree, prepend=-1))
        held = np.logical_or.reduceat(values != 0.0, first) if len(first) else np.zeros((0, 1), dtype=np.bool_)
        only = np.where(held.sum(axis=1) == 1, held.argmax(axis=1), -1).astype(np.int32)
        return only, values[np.arange(len(values)), np.maximum(only, 0)[tree]], values

    def contributions(self, cells: Cells) -> Array:
        """Return what each column adds to F (n, d, k): Shapley values, columns not looked at averaged over.

        Averages weigh the branches of a tree by their rows (Lundberg, Erion & Lee 2018, arXiv:1802.03888). In a leaf
        the game is a product over columns, whose Shapley values are integrals, exact by Gauss and Legendre.
        With the link log, those of the sums are scaled so as to add up to F. A missing cell adds 0.
        """
        added = np.zeros((len(cells), cells.shape[1], self.values.shape[1]))
        shares = self.logs and self.values.shape[1] > 1  # add up to the same in all leaves of a tree
        only, _, values = self._by_leaf
        asked, share, depth = self.trees.asked_on_a_way, self._node_share, max(len(self.trees.levels) - 1, 0)

        def add(part: slice) -> None:
            few = np.zeros((*added[part].shape[:2], added.shape[2] - shares))
            self.trees.packed.add_shapley_values(cells[part], share, asked, depth, only, values[:, : few.shape[2]], few)
            added[part, :, : few.shape[2]] = few

        parallel_each(add, row_chunks(len(cells), TOGETHER), cost=1e4 * len(cells) * len(self.trees))
        if shares:
            added[:, :, -1] = -added[:, :, :-1].sum(axis=2)
        if self.logs:
            whole = self._average[None] + added.sum(axis=1)
            gain = np.log(np.maximum(whole, 1e-300)) - np.log(np.maximum(self._average, 1e-300))
            rise = whole - self._average
            flat = np.abs(rise) <= 1e-12 * self._average
            slope = np.where(flat, 1.0 / np.maximum(self._average, 1e-300), gain / np.where(flat, 1.0, rise))
            added *= slope[:, None]
        return added

    @cached_property
    def _node_share(self) -> Array:
        """The share of its parent's rows that each node holds (m,), a half where that has none."""
        held = self.trees.sums_of_nodes(self.cover)
        above = held[self.trees.parent]
        return np.where(above > 0, held / np.where(above > 0, above, 1.0), 0.5)

    @cached_property
    def _average(self) -> Array:
        """The mean of the sums over the rows in the leaves (k,)."""
        share = self.cover / np.bincount(self.trees.leaf_tree, weights=self.cover)[self.trees.leaf_tree]
        return np.asarray(share @ self.values)
