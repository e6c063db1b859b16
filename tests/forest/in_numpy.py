"""What the compiled kernels do, in NumPy: the oracles that these are compared with, bit for bit."""

import math
from typing import NamedTuple

import numpy as np

from suffice.forest.boosting import BEYOND, HESSIANS
from suffice.forest.trees import GOLDEN
from suffice.kernels.growing import GradientTrees, Nodes
from suffice.stats.rows import mixed

GRADIENTS = 2.0**50  # in which gradients are counted
ROUNDING = 1e-9  # what a split must add to what its node is worth, relative


def leaves_by_steps(trees, cells, tree):
    """Return the leaf (n,) in which the rows of one tree end."""
    node = np.full(len(cells), trees.roots[tree])
    while (inner := trees.column[node] >= 0).any():
        own = node[inner]
        cell = cells[inner, trees.column[own]]
        right = np.where(cell < 0, trees.missing_right[own], cell > trees.threshold[own])
        node[inner] = np.where(right, trees.right[own], trees.left[own])
    return trees.leaf[node]


class TreeGrowing:
    """What `kernels.growing.grow` does, for all nodes of a level at once."""

    def __init__(self, cells, codes, weight, k, tries, least, drawn):
        self.cells, self.codes, self.weight, self.k = cells, codes, weight, k
        self.tries, self.least, self.drawn = tries, least, drawn

    def grown(self, tree):
        """Return the nodes of a tree."""
        rows = np.arange(len(self.codes))
        sizes = np.array([len(self.codes)])
        seeds = mixed(np.array([GOLDEN * (tree + 1) % 2**64], dtype=np.uint64))
        levels, count = [], 0
        while len(sizes):
            count += len(sizes)
            level = _Level(self, rows, sizes, seeds)
            level.search()
            split = level.column >= 0
            left = np.where(split, count + 2 * (np.cumsum(split) - 1), 0)
            gain = np.where(split, level.gain - level.squares / np.maximum(level.heavy, 1), 0.0)
            levels.append(Nodes(*(own.astype(np.int32) for own in (level.column, level.threshold, left)), gain))
            rows, sizes = level.parted()
            pair = np.repeat(seeds[split], 2)
            seeds = mixed(pair + np.tile(np.array([1, 2], dtype=np.uint64), int(split.sum())))
        column, threshold, left, gains = (np.concatenate(own) for own in zip(*levels, strict=True))
        return Nodes(column, threshold, left, gains)


class _Level:
    """The nodes of a level: their rows one after the other, and the best split of each so far."""

    def __init__(self, tree, rows, sizes, seeds):
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

    def search(self):
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

    def _one(self, nodes, column, threshold, here, cell):
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

    def _every(self, wanted, here, cell):
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

    def _gains(self, node, weight, squares, cross):
        """Return what splits of nodes give, −1 where a side is too light, from sums over the rows on the left."""
        others = self.heavy[node] - weight
        right = self.squares[node] - 2 * cross + squares
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = squares / weight + right / others
        return np.where((weight < self.tree.least) | (others < self.tree.least), -1.0, gain)

    def _keep(self, nodes, gain, column, threshold):
        better = gain > self.gain[nodes]
        own = nodes[better]
        self.gain[own], self.column[own], self.threshold[own] = gain[better], column[better], threshold[better]

    def parted(self):
        """Return the rows of the next level's nodes, one after the other, and how many each has."""
        inside = self.column[self.node] >= 0
        node, rows = self.node[inside], self.rows[inside]
        right = self.tree.cells[self.column[node], rows] > self.threshold[node]
        pair = 2 * (np.cumsum(self.column >= 0) - 1)[node] + right
        return rows[np.argsort(pair, kind="stable")], np.bincount(pair, minlength=2 * int((self.column >= 0).sum()))


def _sums(place, weight, size):
    """Return sums of whole numbers by place: exact, being below 2^53."""
    return np.bincount(place, weights=weight, minlength=size).astype(np.int64)


def _running(values, first):
    """Return sums (n,) of whole numbers up to each, from the `first` of its group on."""
    total = np.cumsum(values)
    sizes = np.diff(np.append(first, len(values)))
    return np.asarray(total - np.repeat(total[first] - values[first], sizes))


class GradientGrowing:
    """What `kernels.growing.Grower` does, node by node. Sums are of gradients, hessians and rows."""

    def __init__(self, cells, starts, codes, heavy, *, most, rows, hessian, l2=0):
        self._cells, self._starts, self._codes, self._heavy, self._l2 = cells, starts, codes, heavy, l2
        self._inside = inside = len(codes)
        self._most, self._least = most, np.array([-np.inf, hessian, rows])
        self._places = cells[:, :inside].astype(np.int64) + (starts[:-1, None] + 1)
        self._column = np.repeat(np.arange(len(cells)), np.diff(starts))

    def grow(self, scores, rate, drawn):
        """Return the trees of all rounds, and what rows sent along score after each."""
        made, along = [], []
        for some, columns, seed in zip(
            drawn.rows if drawn.rows is not None else [None] * len(drawn.seeds), *drawn[1:], strict=True
        ):
            for c, (gradient, hessian) in enumerate(derivatives(self._codes, self._heavy, scores)):
                *nodes, g, h, rows, ends = self._tree(gradient, hessian, some, columns, int(seed))
                ratio = (g / GRADIENTS) / np.maximum((h + self._l2) / HESSIANS, 1e-300)
                value = np.where(h > 0, -rate * ratio, 0.0)
                scores[c] += value[ends]
                made.append((*nodes, rows, value, [len(rows)]))
            along.append(scores[:, self._inside :].copy())
        return GradientTrees(*(np.concatenate(part) for part in zip(*made, strict=True))), np.array(along)

    def _tree(self, gradient, hessian, some, columns, seed):
        """Return a tree of the gradients and hessians (inside,), whole numbers both."""
        some = np.ones(self._inside, dtype=np.bool_) if some is None else some
        held = np.stack([gradient, hessian, np.ones(self._inside)]) * some  # a row that does not count is none
        self._asked = np.isin(self._column, columns)
        self._seed = seed
        ends = np.zeros(self._cells.shape[1], dtype=np.int32)
        sums, tables = [held.sum(axis=1)], {0: self._table(held, np.arange(self._inside))}
        splits, left = [self._best(tables[0], sums[0], 0)], [0]
        for leaves in range(1, self._most):
            v = int(np.argmax([-1.0 if below else own.gain for own, below in zip(splits, left, strict=True)]))
            if left[v] or splits[v].gain < 0:
                break
            left[v] = u = len(left)
            self._divide(splits[v], ends, v, u)
            pair = [np.flatnonzero(ends[: self._inside] == u + side) for side in (0, 1)]
            few = int(some[pair[1]].sum() < some[pair[0]].sum())
            total = held[:, pair[few]].sum(axis=1)
            sums += [total, sums[v] - total][:: -1 if few else 1]
            left += [0, 0]
            if leaves + 1 == self._most:
                splits += [NONE, NONE]
                break
            tables[u + few] = self._table(held, pair[few])
            tables[u + 1 - few] = tables.pop(v) - tables[u + few]
            splits += [self._best(tables[u + side], sums[u + side], u + side) for side in (0, 1)]
        found = [own if below else NONE for own, below in zip(splits, left, strict=True)]
        column, threshold, away = (np.array([own[i] for own in found]) for i in (1, 2, 3))
        g, h, rows = np.array(sums).T.astype(np.int64)
        nodes = column.astype(np.int32), threshold.astype(np.int32), away, np.array(left, dtype=np.int32)
        return *nodes, g, h, rows, ends

    def _table(self, held, rows):
        """Return the sums (3, cells of all columns) over some rows, those of missing cells first in each column."""
        place, size = self._places[:, rows].ravel(), int(self._starts[-1])
        return np.stack([np.bincount(place, np.tile(own[rows], len(self._places)), size) for own in held])

    def _best(self, table, whole, node):
        """Return the best split of a node from the sums of its rows."""
        start = self._starts[:-1]
        missing, cells = table[:, start], table.copy()
        cells[:, start] = 0.0
        place = np.flatnonzero(cells[2] * self._asked)  # cells with any rows, column by column
        column, sums = self._column[place], cells[:, place]
        if not len(place) or (whole < 2.0 * self._least).any():
            return NONE
        first = np.diff(column, prepend=-1) > 0
        before = np.cumsum(sums, axis=1) - sums
        left = before - before[:, np.flatnonzero(first)[np.cumsum(first) - 1]]
        gain = np.full((len(place), 3), -np.inf)
        last = np.append(first[1:], True)
        threshold = np.append(0, place[:-1] + place[1:] - 2 * start[column[1:]] - 2) >> 1
        tried = ~first
        if self._seed:
            threshold, tried = self._drawn(place - start[column] - 1, column, first, last, node)
        gain[:, 0] = self._gain(tried, left, whole[:, None] - left)
        some = missing[2, column] > 0
        if some.any():  # missing cells left as well, and missing cells alone
            gone = missing[:, column]
            other = whole[:, None] - gone
            gain[:, 1] = self._gain(some & tried, left + gone, other - left)
            gain[:, 2] = self._gain(some & last, other, gone)
        b, way = divmod(int(np.argmax(gain)), 3)
        if not gain[b, way] > self._worth(whole) * (1.0 + ROUNDING):
            return NONE
        j = int(column[b])
        asked = BEYOND if way == 2 else int(threshold[b])
        away = way != 1 and bool(some[b] or 2 * left[2, b] <= whole[2])
        return Split(float(gain[b, way] - self._worth(whole)), j, asked, away)

    def _drawn(self, cell, column, first, last, node):
        """Return the threshold that each column draws, and before which of the cells with rows it is."""
        low, high = cell[first], cell[last]
        draw = mixed(np.array([(self._seed + GOLDEN * node) % 2**64], dtype=np.uint64)) + column[first].astype(
            np.uint64
        )
        threshold = low + (mixed(draw) % np.maximum(high - low, 1).astype(np.uint64)).astype(np.int64)
        own = threshold[np.cumsum(first) - 1]
        return own, ~first & (np.append(0, cell[:-1]) <= own) & (own < cell)

    def _worth(self, sums):
        return np.asarray(sums[0] * sums[0] / (sums[1] + self._l2))

    def _gain(self, there, left, right):
        """Return what children are worth, −∞ where one has too little."""
        there = there & (np.minimum(left, right) >= self._least[:, None]).all(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(there, self._worth(left) + self._worth(right), -np.inf)

    def _divide(self, split, ends, v, u):
        """Send the rows of node v on to nodes u and u + 1."""
        own = np.flatnonzero(ends == v)
        cell = self._cells[split.column, own]
        ends[own] = u + np.where(cell < 0, split.away, cell > split.threshold)


def derivatives(codes, heavy, scores):
    """Return for each of the scores (k, n) gradients and hessians of the first rows, whole numbers; exp is C's."""
    first = scores[:, : len(codes)]
    p = np.concatenate([np.zeros_like(first), first]) if len(scores) == 1 else first.copy()
    p = np.vectorize(math.exp)(p - p.max(axis=0))
    p /= p.sum(axis=0)
    own = [(p[c], codes == c) for c in range(len(p) - len(scores), len(p))]
    return [(np.rint((q - mine) * heavy * GRADIENTS), np.rint(q * (1.0 - q) * heavy * HESSIANS)) for q, mine in own]


class Split(NamedTuple):
    """What a split adds, −1 for none, its column and threshold, and whether missing cells go to the right."""

    gain: float
    column: int
    threshold: int
    away: bool


NONE = Split(-1.0, -1, 0, False)


def product_values(cells, ways, nodes):
    """Return what `kernels.trees.product_values` returns."""
    column, low, high, share = ways
    cell = cells[:, column]
    apart = ((cell > low) & (cell <= high)) - share
    apart[cell < 0] = 0.0
    total = np.zeros(apart.shape)
    for point, weight in nodes.tolist():
        factor = point * apart
        factor += share
        whole = weight * factor.prod(axis=1, keepdims=True)
        factor[factor == 0.0] = 1.0  # of a branch without rows: all other factors are with the product 0
        total += np.divide(whole, factor, out=factor)
    total *= apart
    return np.asarray(total)


def spline_weights(x, knots):
    """Return the left knot's number (n,), the weight of the right knot, and 1 where the cell is observed (n,)."""
    seen = (~np.isnan(x)).astype(np.float64)
    if len(knots) < 2:
        return np.zeros(len(x), dtype=np.int64), np.zeros(len(x)), seen
    inside = np.clip(np.where(seen > 0, x, knots[0]), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    return left, (inside - knots[left]) / (knots[left + 1] - knots[left]), seen


def count_splines(splines, rows, codes, k, weight):
    """Return the sums (k, B) of splines, one column after the other."""
    found = []
    for j, knots in enumerate(splines.knots):
        (left, share, seen), size = spline_weights(rows[:, j], knots), len(knots)
        heavy, place = seen if weight is None else seen * weight, codes * size + left
        sides = (place, (1.0 - share) * heavy), (place + 1, share * heavy)
        one, other = (np.bincount(at, weights=own, minlength=k * size + 1)[: k * size] for at, own in sides)
        found.append((one + other).reshape(k, size))
    return np.concatenate(found, axis=1)


def between_knots(x, knots, table):
    """Return what lies between the values (k, knots) of a table, 0 where x is missing."""
    left, share, seen = spline_weights(x, knots)
    right = np.minimum(left + 1, len(knots) - 1)
    return np.where(seen[:, None] > 0, (1.0 - share)[:, None] * table.T[left] + share[:, None] * table.T[right], 0.0)


def splines_left_out(x, knots, counts, codes, removed, strengths):
    """Return log density ratios (strengths, n, k) of a column, each row left out of its counts (k, knots)."""
    own = np.zeros((len(x), len(counts)))
    own[np.arange(len(x)), codes] = removed
    left, share, seen = spline_weights(x, knots)
    total, size = counts.sum(axis=0), counts.shape[1]
    right = np.minimum(left + 1, size - 1)
    class_total = counts.sum(axis=1) - own * seen[:, None]
    grand = total.sum() - removed * seen + 0.5 * size
    scores = np.zeros((len(strengths), *own.shape))
    for knot, part in ((left, (1.0 - share) * seen), (right, share * seen)):
        base = ((np.maximum(total[knot] - removed * part, 0.0) + 0.5) / grand)[:, None]
        level = np.maximum(counts.T[knot] - own * part[:, None], 0.0)
        for score, t in zip(scores, strengths, strict=True):
            score += part[:, None] * (np.log((level / base + t) / (np.maximum(class_total, 0.0) + t)))
    return scores


def cells_of(x, cuts):
    """Return how many cuts are at most each number, −1 for NaN."""
    return np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right"))


def normal_scores(numbers, scores, end_slopes):
    """Return numbers (n, d) as normal scores; beyond the end knots linear, by at most 1."""
    out = np.full(numbers.shape, np.nan)
    for j, (knots, z) in enumerate(scores):
        seen = np.flatnonzero(~np.isnan(numbers[:, j]))
        x = numbers[seen, j]
        own = np.interp(x, knots, z)
        if len(knots) > 1:
            low, high = end_slopes(knots, z)
            below, above = np.flatnonzero(x < knots[0]), np.flatnonzero(x > knots[-1])
            own[below] = np.maximum(z[0] + low * (x[below] - knots[0]), z[0] - 1.0)
            own[above] = np.minimum(z[-1] + high * (x[above] - knots[-1]), z[-1] + 1.0)
        out[seen, j] = own
    return out


def take_out(leaving, squares, cross, length, pulled, strengths, floor):
    """Do what `Leaving.take_out` does."""
    stretch, lighter, h, gone, share, weight = leaving.rows[:, :, None]
    beta = strengths[0] * lighter + h
    length[:] = np.maximum(1.0 - beta * length, floor)
    squares *= stretch**2
    squares += beta * (cross * stretch) ** 2 / length
    if pulled is not None:
        squares += share * (strengths[1] * pulled)
        squares += gone * strengths[2]
    squares *= weight
    squares /= weight + 1.0


def log_densities(leaving, squares, kept, place, terms, dets):
    """Do what `Leaving.log_densities` does."""
    kept += dets[0]
    kept += leaving.rows[3][:, None] * dets[1]
    kept *= 0.5
    squares *= terms[1][place]
    squares += kept
    np.subtract(terms[0][place], squares, out=squares)
