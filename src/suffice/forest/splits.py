"""One tree grown from cells: every node is split where its classes come apart most, in a few columns drawn for it.

Apart by Gini's index (Breiman, Friedman, Olshen & Stone 1984, Classification and Regression Trees, ch. 4): the split
has the largest Σ_c l_c² / Σ_c l_c + Σ_c r_c² / Σ_c r_c of the classes' weights on either side. Weights are whole
numbers, so that the sums are exact: no order of rows, and no loop that adds them up, makes another tree.
"""

from __future__ import annotations

from .._arrays import Array, Codes, NDArray, np
from ..loops.growing import Nodes, grow
from ..stats.rows import Keys, mixed
from .columns import Cells
from .trees import GOLDEN

UNITS = 2.0**26  # that the weights of a tree's rows add up to, roughly


def grow_tree(
    cells: Cells, codes: Codes, weight: Array, k: int, *, tries: int, least: float, drawn: bool, tree: int
) -> Nodes:
    """Return a tree of rows (n,) of classes below k, whose cells are (d, n).

    A node tries columns in an order that its place and the number of the `tree` decide: `tries` of them, and more until
    one varies. It tries every threshold, or one of each column that is `drawn`. No node is split that would have a
    child of less weight than `least`, or that has rows of one class only.
    """
    whole = np.rint(weight * (UNITS / float(weight.sum()))).astype(np.int64)
    enough = max(1, int(np.ceil(least * (UNITS / float(weight.sum())) * (1.0 - 1e-9))))
    codes = codes.astype(np.int64)
    found = grow(cells, codes, whole, k, tries=tries, least=enough, drawn=drawn, tree=tree)
    if found is None:
        found = _Growing(cells, codes, whole, k, tries, enough, drawn).grown(tree)
    return found


def with_leaves(nodes: Nodes, most: int) -> Nodes:
    """Return the tree with its best splits, so many that it has at most `most` leaves.

    A split comes no sooner than those above it: its gain counts as the smallest on the way to it.
    """
    inner = np.flatnonzero(nodes.column >= 0)
    if len(inner) < most:
        return nodes
    worth = nodes.gain.copy()
    for v in inner.tolist():  # parents before their children
        below = slice(int(nodes.left[v]), int(nodes.left[v]) + 2)
        worth[below] = np.minimum(worth[below], worth[v])
    kept = np.zeros(len(worth), dtype=np.bool_)
    kept[inner[np.argsort(-worth[inner], kind="stable")[: most - 1]]] = True
    there = np.zeros(len(worth), dtype=np.bool_)
    there[0] = True
    children = nodes.left[kept]
    there[children] = there[children + 1] = True
    place = np.cumsum(there) - 1
    column, left = np.where(kept, nodes.column, -1), np.where(kept, place[nodes.left], 0)
    threshold, gain = np.where(kept, nodes.threshold, 0), np.where(kept, nodes.gain, 0.0)
    return Nodes.of(column[there], threshold[there], left[there], gain[there])


class _Growing:
    """What compiled loops do, for all nodes of a level at once."""

    def __init__(self, cells: Cells, codes: Codes, weight: Codes, k: int, tries: int, least: int, drawn: bool) -> None:
        self.cells, self.codes, self.weight, self.k = cells, codes, weight, k
        self.tries, self.least, self.drawn = tries, least, drawn

    def grown(self, tree: int) -> Nodes:
        """Return the nodes of a tree."""
        rows: Codes = np.arange(len(self.codes))
        sizes: Codes = np.array([len(self.codes)])
        seeds = mixed(np.array([GOLDEN * (tree + 1) % 2**64], dtype=np.uint64))
        levels, count = list[Nodes](), 0
        while len(sizes):
            count += len(sizes)
            level = _Level(self, rows, sizes, seeds)
            level.search()
            split = level.column >= 0
            left = np.where(split, count + 2 * (np.cumsum(split) - 1), 0)
            gain = np.where(split, level.gain - level.squares / np.maximum(level.heavy, 1), 0.0)
            levels.append(Nodes.of(level.column, level.threshold, left, gain))
            rows, sizes = level.parted()
            pair = np.repeat(seeds[split], 2)
            seeds = mixed(pair + np.tile(np.array([1, 2], dtype=np.uint64), int(split.sum())))
        column, threshold, left, gains = (np.concatenate(own) for own in zip(*levels, strict=True))
        return Nodes(column, threshold, left, gains)


class _Level:
    """The nodes of a level: their rows one after the other, and the best split of each so far."""

    def __init__(self, tree: _Growing, rows: Codes, sizes: Codes, seeds: Keys) -> None:
        self.tree, self.rows, self.seeds = tree, rows, seeds
        count, k = len(sizes), tree.k
        self.node = np.repeat(np.arange(count), sizes)
        self.code, self.weight = tree.codes[rows], tree.weight[rows]
        place = self.node * k + self.code
        total = _sums(place, self.weight, count * k)
        self.total = total[place]  # of a row's class in its node
        self.heavy = _sums(self.node, self.weight, count)
        self.squares = (total.reshape(count, k) ** 2).sum(axis=1)
        self.column, self.threshold = np.full(count, -1), np.zeros(count, dtype=np.int64)
        self.gain = np.full(count, -1.0)

    def search(self) -> None:
        """Find the best split of every node."""
        tree, d = self.tree, len(self.tree.cells)
        order = np.tile(np.arange(d), (len(self.heavy), 1))
        open_ = (self.heavy >= 2 * tree.least) & (self.squares < self.heavy**2)
        varied = np.zeros(len(open_), dtype=np.bool_)
        for tried in range(d):
            nodes = np.flatnonzero(open_ if tried < tree.tries else open_ & ~varied)
            if not len(nodes):
                return
            step = np.uint64(GOLDEN * (tried + 1) % 2**64)
            other = tried + (mixed(self.seeds[nodes] + step) % np.uint64(d - tried)).astype(np.int64)
            column = order[nodes, other]
            order[nodes, other] = order[nodes, tried]
            order[nodes, tried] = column
            wanted = np.full(len(open_), -1)
            wanted[nodes] = column
            here = np.flatnonzero(wanted[self.node] >= 0)
            cell = tree.cells[wanted[self.node[here]], self.rows[here]].astype(np.int64)
            begin = np.searchsorted(self.node[here], nodes)
            low, high = np.minimum.reduceat(cell, begin), np.maximum.reduceat(cell, begin)
            varied[nodes] |= low < high
            if tree.drawn:
                draw = mixed(self.seeds[nodes] ^ step) % np.maximum(high - low, 1).astype(np.uint64)
                self._one(nodes, column, low + draw.astype(np.int64), here, cell)
            else:
                self._every(wanted, here, cell)

    def _one(self, nodes: Codes, column: Codes, threshold: Codes, here: Codes, cell: Codes) -> None:
        """Consider one threshold of each of some nodes."""
        count, k = len(self.heavy), self.tree.k
        wanted = np.zeros(count, dtype=np.int64)
        wanted[nodes] = threshold
        below = here[cell <= wanted[self.node[here]]]
        node, weight = self.node[below], self.weight[below]
        squares = (_sums(node * k + self.code[below], weight, count * k).reshape(count, k) ** 2).sum(axis=1)
        cross = _sums(node, weight * self.total[below], count)
        gain = self._gains(np.arange(count), _sums(node, weight, count), squares, cross)
        self._keep(nodes, gain[nodes], column, threshold)

    def _every(self, wanted: Codes, here: Codes, cell: Codes) -> None:
        """Consider every threshold of the nodes of rows `here`, whose cells in the `wanted` columns these are."""
        sort = np.lexsort((cell, self.node[here]))
        here, cell = here[sort], cell[sort]
        node, weight, code = self.node[here], self.weight[here], self.code[here]
        first = np.flatnonzero(np.diff(node, prepend=-1))
        alike = np.lexsort((code, node))  # rows of one class in a node, by cell
        starts = np.diff(node[alike], prepend=-1).astype(np.bool_) | np.diff(code[alike], prepend=-1).astype(np.bool_)
        before = np.empty(len(here), dtype=np.int64)
        before[alike] = _running(weight[alike], np.flatnonzero(starts)) - weight[alike]
        sums = weight, weight * (2 * before + weight), weight * self.total[here]
        gain = self._gains(node, *(_running(own, first) for own in sums))
        change = np.append((cell[1:] != cell[:-1]) & (node[1:] == node[:-1]), False)
        gain[~change] = -1.0
        best = np.maximum.reduceat(gain, first)
        hit = np.flatnonzero((gain == np.repeat(best, np.diff(np.append(first, len(gain))))) & (gain >= 0.0))
        nodes, place = np.unique(node[hit], return_index=True)
        place = hit[place]
        self._keep(nodes, gain[place], wanted[nodes], (cell[place] + cell[np.minimum(place + 1, len(cell) - 1)]) >> 1)

    def _gains(self, node: Codes, weight: Codes, squares: Codes, cross: Codes) -> Array:
        """Return what splits of nodes give, −1 where a side is too light, from sums over the rows on the left."""
        others = self.heavy[node] - weight
        right = self.squares[node] - 2 * cross + squares
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = squares / weight + right / others
        return np.where((weight < self.tree.least) | (others < self.tree.least), -1.0, gain)

    def _keep(self, nodes: Codes, gain: Array, column: Codes, threshold: Codes) -> None:
        better = gain > self.gain[nodes]
        own = nodes[better]
        self.gain[own], self.column[own], self.threshold[own] = gain[better], column[better], threshold[better]

    def parted(self) -> tuple[Codes, Codes]:
        """Return the rows of the next level's nodes, one after the other, and how many each has."""
        inside = self.column[self.node] >= 0
        node, rows = self.node[inside], self.rows[inside]
        right = self.tree.cells[self.column[node], rows] > self.threshold[node]
        pair = 2 * (np.cumsum(self.column >= 0) - 1)[node] + right
        return rows[np.argsort(pair, kind="stable")], np.bincount(pair, minlength=2 * int((self.column >= 0).sum()))


def _sums(place: Codes, weight: Codes, size: int) -> NDArray[np.int64]:
    """Return sums of whole numbers by place: exact, being below 2^53."""
    return np.bincount(place, weights=weight, minlength=size).astype(np.int64)


def _running(values: Codes, first: Codes) -> NDArray[np.int64]:
    """Return sums (n,) of whole numbers up to each, from the `first` of its group on."""
    total = np.cumsum(values)
    sizes = np.diff(np.append(first, len(values)))
    return np.asarray(total - np.repeat(total[first] - values[first], sizes))
