"""Trees boosted for the classes' log-odds: each is grown on the gradients that those before it leave.

Newton's steps of the log-loss, one tree for each class in every round (Friedman 2001, doi:10.1214/aos/1013203451; Chen
& Guestrin 2016, doi:10.1145/2939672.2939785): a leaf adds −rate G / H, its rows' sums of gradients w (p − [own class])
and hessians w p (1 − p), and the leaf is split next whose G² / H rises most. Both are rounded to whole numbers, so that
sums are exact: no order of rows, and no loop that adds them up, makes other trees.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from .._arrays import Array, Codes, NDArray, np
from ..loops.boosting import GradientTree, Grower
from ..loops.library import library
from .columns import Cells
from .scores import TreeScores
from .trees import Trees

MOST_LEAVES = 31
LEAF_ROWS = 20
LEAF_HESSIAN = 1e-3  # in rows of mean weight
GRADIENTS, HESSIANS = 2.0**50, 2.0**44  # in which the weights of all rows are counted, to sum whole numbers exactly
ROUNDING = 1e-9  # what a split must add to what its node is worth, relative
BEYOND = 2**15 - 1  # a threshold above all cells: what is missing is told from what is there
LEAST_SHARE = 1e-6  # of a class, from which its log-odds begin
NOWHERE: NDArray[np.int32] = np.zeros(0, dtype=np.int32)  # where rows end in trees that are kept


class Boosting:
    """Trees boosted on the rows `inside` (m,), round by round, and what they score those and the rows `along` (o,).

    `cells` are (n, d), `codes` (n,) numbers of k classes, 0 to k − 1 for the rows inside; `weight` (n,) is relative.
    """

    def __init__(
        self, cells: Cells, codes: Codes, weight: Array, k: int, inside: Codes, along: Codes, rate: float
    ) -> None:
        self.k, self.rate, self._size = k, rate, len(inside)
        self._codes, heavy = codes[inside], weight[inside]
        held = np.array([math.fsum(heavy[self._codes == c]) for c in range(k)])  # in whatever order
        share = held / math.fsum(held)
        self._heavy = heavy / math.fsum(held)
        level = np.log(np.maximum(share, LEAST_SHARE))
        self.begin = level[1:] - level[:1] if k == 2 else level - level.mean()
        columns = np.ascontiguousarray(np.concatenate([cells[inside], cells[along]]).T)
        self._scores = np.repeat(self.begin[:, None], columns.shape[1], axis=1)
        self._trees: list[GradientTree] = []
        starts = np.concatenate([[0], np.cumsum(columns.max(axis=1, initial=-1).astype(np.int64) + 2)])
        least = max(1, int(LEAF_HESSIAN * HESSIANS / max(self._size, 1)))
        kind = Growing if library() is None else Grower
        self._grower: _Grows = kind(columns, starts, self._size, most=MOST_LEAVES, rows=LEAF_ROWS, hessian=least)

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self._trees) // len(self.begin)

    @property
    def along(self) -> Array:
        """The scores (o, k) of the rows sent along."""
        return wide(self._scores[:, self._size :].T, self.k)

    def grow(self) -> None:
        """Boost one round."""
        inside = self._scores[:, : self._size]
        share = np.concatenate([np.zeros_like(inside), inside]) if self.k == 2 else inside.copy()
        share -= share.max(axis=0)
        np.exp(share, out=share)
        share /= share.sum(axis=0)
        first = self.k - len(self.begin)
        for c, (p, scores) in enumerate(zip(share[first:], self._scores, strict=True), first):
            gradient = np.rint((p - (self._codes == c)) * self._heavy * GRADIENTS)
            hessian = np.rint(p * (1.0 - p) * self._heavy * HESSIANS)
            tree = self._grower.grow(gradient, hessian)
            scores += self._values(tree).take(tree.ends)
            self._trees.append(tree._replace(ends=NOWHERE))

    def _values(self, tree: GradientTree) -> Array:
        """Return what the nodes of a tree add to a score, as if each were a leaf."""
        ratio = (tree.gradient / GRADIENTS) / np.maximum(tree.hessian / HESSIANS, 1e-300)
        return np.where(tree.hessian > 0, -self.rate * ratio, 0.0)

    def grown(self, rounds: int) -> TreeScores:
        """Return the trees of the first rounds; the score they begin with is in the leaves of the first tree."""
        found = self._trees[: rounds * len(self.begin)]
        sizes = np.array([len(own.column) for own in found])
        roots = np.cumsum(sizes) - sizes
        column, threshold, left = (
            np.concatenate([getattr(own, name) for own in found]).astype(np.int64)
            for name in ("column", "threshold", "left")
        )
        leaf = column < 0
        left = np.where(leaf, -1, left + np.repeat(roots, sizes))
        away = np.concatenate([own.away for own in found]) & ~leaf
        trees = Trees(column, np.where(leaf, 0, threshold), left, np.where(leaf, -1, left + 1), away, roots, 0.0)
        each = np.concatenate([self._values(own) for own in found])[leaf]
        values = np.zeros((len(each), len(self.begin)))
        values[np.arange(len(each)), trees.leaf_tree % len(self.begin)] = each
        values[trees.leaf_tree == 0] += self.begin
        cover = np.concatenate([own.rows for own in found])[leaf].astype(np.float64)
        return TreeScores(trees, wide(values, self.k), np.zeros(self.k), False, np.maximum(cover, 1e-3))


def wide(scores: Array, k: int) -> Array:
    """Return scores (n, k) of one score (n, 1) for two classes."""
    return np.concatenate([-0.5 * scores, 0.5 * scores], axis=1) if k == 2 else scores


class _Grows(Protocol):
    def grow(self, gradient: Array, hessian: Array) -> GradientTree: ...


class Growing:
    """What compiled loops do, node by node: see `loops.boosting.Grower`. Sums are of gradients, hessians and rows."""

    def __init__(self, cells: Cells, starts: Codes, inside: int, *, most: int, rows: int, hessian: int) -> None:
        self._cells, self._starts, self._inside = cells, starts, inside
        self._most, self._least = most, np.array([-np.inf, hessian, rows])
        self._places = cells[:, :inside].astype(np.int64) + (starts[:-1, None] + 1)
        self._column = np.repeat(np.arange(len(cells)), np.diff(starts))

    def grow(self, gradient: Array, hessian: Array) -> GradientTree:
        """Return a tree of the gradients and hessians (inside,), whole numbers both."""
        held = np.stack([gradient, hessian, np.ones(self._inside)])
        ends: NDArray[np.int32] = np.zeros(self._cells.shape[1], dtype=np.int32)
        sums, tables = [held.sum(axis=1)], {0: self._table(held, np.arange(self._inside))}
        splits, left = [self._best(tables[0], sums[0])], [0]
        for leaves in range(1, self._most):
            v = int(np.argmax([-1.0 if below else own.gain for own, below in zip(splits, left, strict=True)]))
            if left[v] or splits[v].gain < 0:
                break
            left[v] = u = len(left)
            self._divide(splits[v], ends, v, u)
            pair = [np.flatnonzero(ends[: self._inside] == u + side) for side in (0, 1)]
            few = int(len(pair[1]) < len(pair[0]))
            total = held[:, pair[few]].sum(axis=1)
            sums += [total, sums[v] - total][:: -1 if few else 1]
            left += [0, 0]
            if leaves + 1 == self._most:
                splits += [NONE, NONE]
                break
            tables[u + few] = self._table(held, pair[few])
            tables[u + 1 - few] = tables.pop(v) - tables[u + few]
            splits += [self._best(tables[u + side], sums[u + side]) for side in (0, 1)]
        found = [own if below else NONE for own, below in zip(splits, left, strict=True)]
        column, threshold, away = (np.array([own[i] for own in found]) for i in (1, 2, 3))
        g, h, rows = np.array(sums).T.astype(np.int64)
        nodes = column.astype(np.int32), threshold.astype(np.int32), away, np.array(left, dtype=np.int32)
        return GradientTree(*nodes, g, h, rows, ends)

    def _table(self, held: Array, rows: Codes) -> Array:
        """Return the sums (3, cells of all columns) over some rows, those of missing cells first in each column."""
        place, size = self._places[:, rows].ravel(), int(self._starts[-1])
        return np.stack([np.bincount(place, np.tile(own[rows], len(self._places)), size) for own in held])

    def _best(self, table: Array, whole: Array) -> Split:
        """Return the best split of a node from the sums of its rows."""
        start = self._starts[:-1]
        missing, cells = table[:, start], table.copy()
        cells[:, start] = 0.0
        place = np.flatnonzero(cells[2])  # cells with any rows, column by column
        column, sums = self._column[place], cells[:, place]
        if not len(place) or (whole < 2.0 * self._least).any():
            return NONE
        first = np.diff(column, prepend=-1) > 0
        before = np.cumsum(sums, axis=1) - sums
        left = before - before[:, np.flatnonzero(first)[np.cumsum(first) - 1]]
        gain = np.full((len(place), 3), -np.inf)
        gain[:, 0] = self._gain(~first, left, whole[:, None] - left)
        some = missing[2, column] > 0
        if some.any():  # missing cells left as well, and missing cells alone
            gone, last = missing[:, column], np.append(first[1:], True)
            other = whole[:, None] - gone
            gain[:, 1] = self._gain(some & ~first, left + gone, other - left)
            gain[:, 2] = self._gain(some & last, other, gone)
        b, way = divmod(int(np.argmax(gain)), 3)
        if not gain[b, way] > _worth(whole) * (1.0 + ROUNDING):
            return NONE
        j = int(column[b])
        threshold = BEYOND if way == 2 else int(place[b - 1] + place[b] - 2 * start[j] - 2) >> 1
        away = way != 1 and bool(some[b] or 2 * left[2, b] <= whole[2])
        return Split(float(gain[b, way] - _worth(whole)), j, threshold, away)

    def _gain(self, there: NDArray[np.bool_], left: Array, right: Array) -> Array:
        """Return what children are worth, −∞ where one has too little."""
        there = there & (np.minimum(left, right) >= self._least[:, None]).all(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(there, _worth(left) + _worth(right), -np.inf)

    def _divide(self, split: Split, ends: NDArray[np.int32], v: int, u: int) -> None:
        """Send the rows of node v on to nodes u and u + 1."""
        own = np.flatnonzero(ends == v)
        cell = self._cells[split.column, own]
        ends[own] = u + np.where(cell < 0, split.away, cell > split.threshold)


class Split(NamedTuple):
    """What a split adds, −1 for none, its column and threshold, and whether missing cells go to the right."""

    gain: float
    column: int
    threshold: int
    away: bool


NONE = Split(-1.0, -1, 0, False)


def _worth(sums: Array) -> Array:
    return np.asarray(sums[0] * sums[0] / sums[1])
