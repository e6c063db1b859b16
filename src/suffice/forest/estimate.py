"""Sums of leaves, and leaf tables from them, every node shrunk towards its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from .._arrays import IN_MEMORY, Array, Codes, Flags, log_of, np, row_chunks, rows_within, sparse
from ..stats import Statistic
from ..stats._downdate import faded
from ..stats.counts import DUST, less
from ..stats.scatter import gather, spread
from ..stats.statistic import Fields, Plain, amounts, floats
from .columns import Cells, ForestColumns, ForestReading
from .density import ForestDensity, LeafTables
from .marginals import NEAR, log_marginals, log_mass, log_within
from .trees import Trees

# ── Sufficient statistics of leaves: weights by class, and sums of each column's cells ────────────────────────────────


TOGETHER = 4096  # rows whose powers are held at a time

Combine = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class LeafArrays(Statistic):
    """Sums by class and leaf: `weight` (k, L), of each number's observed cells (k, L, numbers) the weight `seen` and
    the `first` and `second` powers of normal scores, and of each category the `levels` (k, L, cells).
    """

    weight: Array
    seen: Array
    first: Array
    second: Array
    levels: tuple[Array, ...]

    @classmethod
    def zero(cls, columns: ForestColumns, trees: Trees, k: int) -> LeafArrays:
        """Return the sums of no rows."""
        size, numbers = len(trees.leaf_nodes), len(columns.numbers)
        seen, first, second = (np.zeros((k, size, numbers)) for _ in range(3))
        return cls(
            np.zeros((k, size)), seen, first, second, tuple(np.zeros((k, size, len(own))) for own in columns.shares)
        )

    @classmethod
    def summarize(cls, reading: ForestReading, trees: Trees, codes: Codes, k: int, weight: Array | None) -> LeafArrays:
        """Return the sums of rows (n,)."""
        columns, numbers = reading.columns, len(reading.columns.numbers)
        weight = np.ones(len(codes)) if weight is None else weight
        if columns.d == numbers and not reading.open.any():
            total = np.zeros((k, len(trees.leaf_nodes), 1 + 2 * numbers))
            for part in row_chunks(len(codes), TOGETHER):
                values = _powers(reading[part], weight[part])
                trees.packed.add_sums(reading.cells[part], codes[part], values, total)
            return cls(*_split_powers(total, numbers), ())
        out, values = cls.zero(columns, trees, k), _powers(reading, weight)
        known_levels = []
        for j in range(numbers, columns.d):
            rows = np.flatnonzero(~reading.open[:, j])
            known_levels.append((rows, reading.cells[rows, j]))
        every = np.arange(len(codes) + 1)
        for t in range(len(trees)):
            leaf = trees.routed(reading, t)
            first, last = (int(end) for end in np.searchsorted(trees.leaf_tree, [t, t + 1]))
            size = last - first
            place = codes * size + (leaf - first)
            own = sparse.csr_array((np.ones(len(codes)), place, every), shape=(len(codes), k * size))  # a row's leaf
            sums = np.asarray(own.T @ values).reshape(k, size, -1)
            parts = _split_powers(sums, numbers)
            for total, found in zip((out.weight, out.seen, out.first, out.second), parts, strict=True):
                total[:, first:last] = found
            for total, (rows, cell) in zip(out.levels, known_levels, strict=True):
                cells = total.shape[2]
                flat = np.bincount(place[rows] * cells + cell, weights=weight[rows], minlength=k * size * cells)
                total[:, first:last] = flat.reshape(k, size, cells)
        return out

    @property
    def whole(self) -> bool:
        """Whether no number is missing, as far as can be told without a look: `seen` is `weight` again, no copy."""
        return not self.seen.flags.owndata and self.seen.strides[2:] == (0,)

    @property
    def known(self) -> Array:
        """What is `seen`, in one column for all numbers where none is missing."""
        return self.weight[..., None] if self.whole else self.seen

    def merge(self, other: LeafArrays) -> LeafArrays:
        return self._both(other, np.add, np.add)

    def subtract(self, other: LeafArrays) -> LeafArrays:
        return self._both(other, less, _signed_less)

    def _both(self, other: LeafArrays, amounts: Combine, signed: Combine) -> LeafArrays:
        weight = amounts(self.weight, other.weight)
        alike = self.whole and other.whole
        seen = _for_each_number(weight, self.seen.shape[2]) if alike else amounts(self.seen, other.seen)
        first, second = signed(self.first, other.first), amounts(self.second, other.second)
        return LeafArrays(weight, seen, first, second, tuple(map(amounts, self.levels, other.levels)))

    def each(self, change: Callable[[Array], Array]) -> LeafArrays:
        """Return these sums, each changed."""
        weight, first, second = map(change, (self.weight, self.first, self.second))
        seen = _for_each_number(weight, self.seen.shape[2]) if self.whole else change(self.seen)
        return LeafArrays(weight, seen, first, second, tuple(map(change, self.levels)))

    def scale(self, factor: float) -> LeafArrays:
        # sums of scores have a sign, by which nothing can be told to have faded
        return replace(self.each(lambda own: faded(own, factor)), first=self.first * factor)

    def place(self, index: Sequence[int], k: int) -> LeafArrays:
        return self.each(lambda own: spread(own, index, k))

    def regroup(self, index: Codes, k: int) -> LeafArrays:
        return self.each(lambda own: gather(own, index, k))

    def column_weight(self) -> Array:
        raise NotImplementedError("leaves are those of many trees, in each of which every row is")

    def arrays(self) -> tuple[Fields, Plain]:
        fields: Fields = {name: getattr(self, name) for name in ("weight", "seen", "first", "second")}
        return fields | {f"levels{j}": own for j, own in enumerate(self.levels)}, {}

    @classmethod
    def read(cls, fields: Fields, like: LeafArrays) -> LeafArrays:
        """Return what `arrays` wrote of sums of the same shapes; ValueError if they cannot be that."""
        weight, seen, second = (amounts(fields[i], *getattr(like, i).shape) for i in ("weight", "seen", "second"))
        first = floats(fields["first"], *like.first.shape)
        levels = tuple(amounts(fields[f"levels{j}"], *own.shape) for j, own in enumerate(like.levels))
        return cls(weight, seen, first, second, levels)


def _signed_less(whole: Array, part: Array) -> Array:
    """Return sums of either sign without others, rounding made 0."""
    left = whole - part
    return np.where(np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0), 0.0, left)


def _powers(reading: ForestReading, weight: Array) -> Array:
    """Return weights (n, ·) of rows, their scores, their squares and, if some miss, what is seen, by weight."""
    scores = scores_of(reading)
    known, z = ~np.isnan(scores), np.nan_to_num(scores)
    values = np.concatenate([np.ones((len(z), 1)), z, z * z, *([] if known.all() else [known])], axis=1)
    values *= weight[:, None]
    return np.asarray(values)


def _split_powers(sums: Array, numbers: int) -> tuple[Array, Array, Array, Array]:
    """Return of sums (k, L, ·) of what `_powers` returns: weight, seen, first and second."""
    weight, first, second, seen = np.split(sums, [1, numbers + 1, 2 * numbers + 1], axis=2)
    return weight[:, :, 0], seen if seen.shape[2] else _for_each_number(weight[:, :, 0], numbers), first, second


def _for_each_number(weight: Array, numbers: int) -> Array:
    """Return the weight (k, L) once for each number (k, L, numbers), without a copy."""
    return np.broadcast_to(weight[..., None], (*weight.shape, numbers))


def scores_of(reading: ForestReading) -> Array:
    """Return the normal scores (n, numbers) in the middle of the rows' cells, NaN where missing."""
    out = np.full((len(reading), len(reading.columns.numbers)), np.nan)
    for j, own in enumerate(reading.columns.numbers):
        cell = reading.cells[:, j]
        out[:, j] = np.where(cell >= 0, own.middle[cell], np.nan)
    return out


# ── Leaf tables from leaf statistics, every node shrunk towards its parent ────────────────────────────────────────────


VOLUME = 1.0  # rows' worth of what the marginals say of a branch
BRANCH = 0.25  # rows' worth of what all classes say of a branch
NODE = 0.5  # rows' worth of its parent, in each node
CLASS = 10.0  # rows' worth of all classes, in the leaf of one
LEAST_VARIANCE = 1e-4  # of normal scores
PSEUDO = 0.5  # rows of each level, at roots


@dataclass(frozen=True, eq=False)
class LearnedReading(ForestReading):
    """Learned rows with their class numbers (n,), the weights that leave, the leaf they are in by tree (n, t), and the
    trees that are not to judge them because they have `seen` them.
    """

    codes: Codes
    removed: Array
    routes: Codes
    seen: Flags

    def __getitem__(self, index: Codes | slice | Flags) -> LearnedReading:
        own = (self.codes[index], self.removed[index], self.routes[index], self.seen[index])
        return LearnedReading(self.numbers[index], self.cells[index], self.columns, *own)


@dataclass(frozen=True, eq=False)
class Forest:
    """Frozen columns and trees with the sums of their leaves."""

    columns: ForestColumns
    trees: Trees
    sums: LeafArrays

    @cached_property
    def weight(self) -> Array:
        """The weight of each class in every node (m, k)."""
        return self.trees.sums_of_nodes(self.sums.weight.T)

    @cached_property
    def pooled(self) -> LeafArrays:
        """The sums of all nodes, of all classes together."""
        return self.sums.each(lambda own: self.trees.sums_of_nodes(own.sum(axis=0)))

    @cached_property
    def boxes(self) -> tuple[Cells, Cells]:
        """The lowest and the highest cell of each column at each node, (m, d) each."""
        return self.trees.boxes(self.columns.sizes)

    @cached_property
    def volume(self) -> Array:
        """How much of its parent's box, on the column that is split, is in each node's (m,), by the column's shares."""
        trees, (low, high) = self.trees, self.boxes
        out = np.ones(len(trees.column))
        node = np.flatnonzero(trees.parent >= 0)
        parent = trees.parent[node]
        column = trees.column[parent]
        for j in np.unique(column).tolist():
            below = np.concatenate([[0.0], np.cumsum(self.columns.share(j))])
            own, above = node[column == j], parent[column == j]
            inside = below[high[own, j] + 1] - below[low[own, j]]
            out[own] = inside / (below[high[above, j] + 1] - below[low[above, j]])
        return np.clip(out, 0.0, 1.0)

    def density(self) -> ForestDensity:
        """Return the density by class."""
        return ForestDensity(self.columns, self.trees, self._tables)

    def left_out(
        self,
        reading: ForestReading,
        codes: Codes,
        removed: Array,
        out_of_bag: bool = False,
        unseen: Flags | None = None,
    ) -> Array:
        """Return log p(x | k), (n, k) in nats, of learned rows, each without the weight `removed` of it.

        Exactly what a forest of the same structure gives that has not learned the row; `out_of_bag`, what those of its
        trees give whose structure has not seen it either. Levels that are `unseen` (n, categories) without it say
        nothing.
        """
        low, high = (own[self.trees.leaf_nodes] for own in self.boxes)
        every = range(len(self.trees))
        routes = np.stack([self.trees.routed(reading, t) for t in every], axis=1)
        seen = np.stack([self.trees.in_bag(reading, t) for t in every], axis=1)
        seen &= out_of_bag & ~seen.all(axis=1, keepdims=True)  # a row that all trees have seen is judged by all
        fewer = np.log(len(self.trees)) - np.log(len(self.trees) - seen.sum(axis=1))
        cells = reading.columns.with_unseen(reading.cells, unseen)
        rows = LearnedReading(reading.numbers, cells, reading.columns, codes, removed, routes, seen)
        numbers = len(self.columns.numbers)
        size = 6 * numbers + 4 * sum(self.columns.sizes[numbers:])  # of tables and those on the way to them
        together = rows_within(8 * len(self.sums.weight) * size, 4 * IN_MEMORY)

        def log_joint(own: ForestReading, leaf: Codes) -> Array:
            assert isinstance(own, LearnedReading)
            out = np.full((len(own), len(self.sums.weight)), -np.inf)
            free = np.flatnonzero(~own.seen[np.arange(len(own)), self.trees.leaf_tree[leaf]])
            for part in row_chunks(len(free), together):
                at, some, there = free[part], own[free[part]], leaf[free[part]]
                tables = self._tables_without(some, there)
                mass = log_mass(self.columns, low[there], high[there], tables.mean, tables.spread)
                out[at] = tables.log_share + log_within(some, tables.mean, tables.spread, mass, tables.levels)
            return out

        return np.asarray(log_marginals(self.trees, rows, len(self.sums.weight), log_joint) + fewer[:, None])

    @cached_property
    def _tables(self) -> LeafTables:
        """The tables of all leaves: every node once, from the roots on."""
        trees = self.trees
        descent = _Descent(self, len(trees.column), trees.roots, trees.roots)
        for level in trees.levels[1:]:
            for part in row_chunks(len(level), NEAR):
                nodes = level[part]
                descent.step(nodes, trees.parent[nodes], nodes)
        return descent.tables(slice(None), trees.leaf_nodes)

    def _tables_without(self, gone: LearnedReading, leaf: Codes) -> LeafTables:
        """Return the tables of leaves (q,), each as it is without the learned row (of q) that is `gone`."""
        path = self.trees.paths[leaf]
        taken = _Gone.of(gone, self, self.trees.leaf_tree[leaf])
        descent = _Descent(self, len(leaf), np.arange(len(leaf)), path[:, 0], taken)
        for depth in range(1, path.shape[1]):
            some = np.flatnonzero(path[:, depth] >= 0)
            if not len(some):
                break
            descent.step(some, some, path[some, depth], depth)
        return descent.tables(leaf, slice(None))


class _Descent:
    """Estimates (q, …) of one node each: of all, or on the way from a root to one leaf each; of roots first.

    In the second case each is as it is without the learned row of the same number that is `gone`.
    """

    def __init__(self, forest: Forest, size: int, rows: Codes, root: Codes, gone: _Gone | None = None) -> None:
        self.forest, self.gone = forest, gone
        k, numbers = len(forest.sums.weight), len(forest.columns.numbers)
        self.by_class, self.log_share = np.empty((size, k)), np.empty((size, k))
        self.mean, self.variance = np.empty((size, numbers)), np.empty((size, numbers))
        self.levels = [np.empty((size, own.shape[1])) for own in forest.pooled.levels]

        by_class, seen, first, second, levels = self._sums(rows, root, 0)
        self.by_class[rows], self.log_share[rows] = by_class, -np.log(max(len(self.forest.trees), 1))
        held = np.maximum(seen, 1e-300)
        mean = first / held
        self.mean[rows] = mean
        self.variance[rows] = np.where(seen > 0, np.maximum(second / held - mean**2, LEAST_VARIANCE), 1.0)
        for own, counts in zip(self.levels, levels, strict=True):
            own[rows] = (counts + PSEUDO) / (counts + PSEUDO).sum(axis=1, keepdims=True)

    def step(self, rows: Codes, source: Codes, node: Codes, depth: int = 0) -> None:
        """Estimate `node` for these rows, from the estimates of its parent that the rows `source` have."""
        by_class, seen, first, second, levels = self._sums(rows, node, depth)
        above = self.by_class[source]
        branch = by_class.sum(axis=1) + VOLUME * self.forest.volume[node]
        branch /= above.sum(axis=1) + VOLUME
        share = log_of((by_class + BRANCH * branch[:, None]) / (above + BRANCH))
        self.log_share[rows] = self.log_share[source] + share
        self.by_class[rows] = by_class
        before = self.mean[source]
        held = seen + NODE
        mean = (first + NODE * before) / held
        apart = seen * mean  # second + mean * (seen * mean - 2 * first), in one array
        apart -= 2.0 * first
        apart *= mean
        apart += second
        moved = before - mean
        moved *= moved
        moved += self.variance[source]
        apart += NODE * moved
        apart /= held
        self.variance[rows] = np.maximum(apart, LEAST_VARIANCE, out=apart)
        self.mean[rows] = mean
        for own, counts in zip(self.levels, levels, strict=True):
            own[rows] = (counts + NODE * own[source]) / (counts.sum(axis=1, keepdims=True) + NODE)

    def tables(self, leaf: Codes | slice, rows: Codes | slice) -> LeafTables:
        """Return the tables of these leaves: classes shrunk towards all of them, levels within the boxes.

        `rows` are their numbers among the estimates.
        """
        forest, sums, node = self.forest, self.forest.sums, self.forest.trees.leaf_nodes[leaf]
        low, high = (own[node] for own in forest.boxes)
        seen = sums.known if self.gone is None else sums.seen
        seen, first = seen[:, leaf].transpose(1, 0, 2), sums.first[:, leaf].transpose(1, 0, 2)
        counts = [own[:, leaf].transpose(1, 0, 2) for own in sums.levels]
        if self.gone is not None:
            seen, first, counts = self.gone.taken_out(node, seen, first, counts)
        mean = first + CLASS * self.mean[rows][:, None]
        mean /= seen + CLASS
        levels = []
        for j, (own, pooled) in enumerate(zip(counts, self.levels, strict=True), start=len(forest.columns.numbers)):
            share = (own + CLASS * pooled[rows][:, None]) / (own.sum(axis=2, keepdims=True) + CLASS)
            alone = slice(forest.columns.repeated[j - len(forest.columns.numbers)], share.shape[2] - 1)
            together = pooled[rows][:, None, alone]  # a level that one row shows says no more of classes than others do
            share[:, :, alone] = share[:, :, alone].sum(axis=2, keepdims=True) * (
                together / np.maximum(together.sum(axis=2, keepdims=True), 1e-300)
            )
            cell = np.arange(share.shape[2])
            share *= ((cell >= low[:, j, None]) & (cell <= high[:, j, None]) & (cell < share.shape[2] - 1))[:, None]
            levels.append(share / np.maximum(share.sum(axis=2, keepdims=True), 1e-300))
        return LeafTables(self.log_share[rows], mean, np.sqrt(self.variance[rows]), tuple(levels))

    def _sums(self, rows: Codes, node: Codes, depth: int) -> tuple[Array, Array, Array, Array, list[Array]]:
        """Return the sums of nodes at one depth: weights by class, and those of cells of all classes together."""
        by_class, pooled = self.forest.weight[node], self.forest.pooled
        seen, first, second = pooled.known[node], pooled.first[node], pooled.second[node]
        levels = [own[node] for own in pooled.levels]
        if self.gone is None:
            return by_class, seen, first, second, levels
        every, gone = np.arange(len(rows)), self.gone
        weight = np.where(gone.path[rows, depth] == node, gone.weight[rows], 0.0)
        by_class[every, gone.codes[rows]] -= weight
        z, known = gone.scores[rows], weight[:, None] * gone.known[rows]
        for own, cell in zip(levels, gone.cells, strict=True):
            own[every, cell[rows]] -= weight * (cell[rows] >= 0)
        levels = [np.maximum(own, 0.0) for own in levels]
        seen = np.maximum(seen - known, 0.0)
        return np.maximum(by_class, 0.0), seen, first - known * z, second - known * z * z, levels


@dataclass(frozen=True, eq=False)
class _Gone:
    """Learned rows (q,) that leave: their class numbers and weights, the path each took through a tree of its own
    (q, depths), the normal scores of their numbers (q, numbers), 0 where not `known`, and the cells of each category,
    −1 where open.
    """

    codes: Codes
    weight: Array
    path: Codes
    scores: Array
    known: Flags
    cells: list[Codes]

    @classmethod
    def of(cls, rows: LearnedReading, forest: Forest, tree: Codes) -> _Gone:
        scores, numbers = scores_of(rows), len(forest.columns.numbers)
        cells = np.where(rows.open, -1, rows.cells)[:, numbers:].astype(np.int64)
        path = forest.trees.paths[rows.routes[np.arange(len(tree)), tree]]
        return cls(rows.codes, rows.removed, path, np.nan_to_num(scores), ~np.isnan(scores), list(cells.T))

    def taken_out(
        self, node: Codes, seen: Array, first: Array, levels: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        """Return the sums of leaves by class (q, k, …) without the rows that are in them."""
        every = np.arange(len(node))
        weight = np.where((self.path == node[:, None]).any(axis=1), self.weight, 0.0)[:, None]
        seen, first, levels = seen.copy(), first.copy(), [own.copy() for own in levels]
        seen[every, self.codes] -= weight * self.known
        first[every, self.codes] -= weight * self.scores
        for own, cell in zip(levels, self.cells, strict=True):
            own[every, self.codes, cell] -= weight[:, 0] * (cell >= 0)
        return np.maximum(seen, 0.0), first, [np.maximum(own, 0.0) for own in levels]
