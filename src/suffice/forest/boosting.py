"""Gradient boosting of trees for the classes' log-odds.

Newton's steps of the log-loss, one tree for each class in every round (Friedman 2001, doi:10.1214/aos/1013203451; Chen
& Guestrin 2016, doi:10.1145/2939672.2939785): a leaf adds −rate G / H, its rows' sums of gradients w (p − [own class])
and hessians w p (1 − p), and the leaf is split next whose G² / H rises most. Both are rounded to whole numbers, so that
sums are exact: no order of rows, and no loop that adds them up, makes other trees.
"""

from __future__ import annotations

import math

from .._arrays import Array, Codes, NDArray, np
from ..kernels.growing import GradientTree, Grower
from .columns import Cells
from .scores import TreeScores
from .trees import Trees

MOST_LEAVES = 31
LEAF_ROWS = 20
LEAF_HESSIAN = 1e-3  # in rows of mean weight
BEYOND = 2**15 - 1  # a threshold above all cells: what is missing is told from what is there
GRADIENTS, HESSIANS = 2.0**50, 2.0**44  # in which the weights of all rows are counted, to sum whole numbers exactly
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
        self._grower = Grower(columns, starts, self._size, most=MOST_LEAVES, rows=LEAF_ROWS, hessian=least)

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
