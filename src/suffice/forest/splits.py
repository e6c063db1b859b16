"""Grow one tree: the best split of every node, among a few columns drawn for it.

Apart by Gini's index (Breiman, Friedman, Olshen & Stone 1984, Classification and Regression Trees, ch. 4): the split
has the largest Σ_c l_c² / Σ_c l_c + Σ_c r_c² / Σ_c r_c of the classes' weights on either side. Weights are whole
numbers, so that the sums are exact: no order of rows, and no loop that adds them up, makes another tree.
"""

from __future__ import annotations

from .._arrays import Array, Codes, np
from ..kernels.growing import Nodes, grow
from .columns import Cells

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
    return grow(cells, codes, whole, k, tries=tries, least=enough, drawn=drawn, tree=tree)


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
