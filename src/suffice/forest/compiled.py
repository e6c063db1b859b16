"""Rows sent down trees by scikit-learn's compiled walk, which takes a third of the time of steps in NumPy.

Its tree objects are made anew of our plain arrays, for the time they are asked. They have no public constructor, so
what they answer is compared with our own steps once; where they cannot be made, or answer otherwise, there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import Codes, NDArray, np
from .columns import Cells

FEW = 64  # rows, for which making the objects does not pay
TRIED = 32  # rows sent down the first tree both ways

Walk = Callable[[NDArray[np.float32]], Codes]


def readable(cells: Cells) -> NDArray[np.float32]:
    """Return cells (n, d) as compiled trees read them: NaN where missing."""
    out = np.ascontiguousarray(cells, dtype=np.float32)
    if len(out) and out.min() < 0:
        out[out < 0] = np.nan
    return out


def compiled(trees: Any, d: int) -> tuple[Walk, ...] | None:
    """Return for each tree what sends rows of `d` columns to their nodes, counted within it; None if that cannot be."""
    ends = np.append(trees.roots[1:], len(trees.column))
    owner = np.searchsorted(trees.roots, np.arange(len(trees.column)), side="right")
    inner = np.flatnonzero(trees.column >= 0)
    apart = (owner[trees.left[inner]] != owner[inner]) | (owner[trees.right[inner]] != owner[inner])
    if apart.any():  # in a file that was not written by us
        return None
    try:
        make = _maker(d)
        walks = tuple(make(trees, int(begin), int(end)) for begin, end in zip(trees.roots, ends, strict=True))
        tried = _tried(trees, d)
        right = not walks or np.array_equal(trees.leaf[walks[0](readable(tried))], trees.steps_of(tried, 0))
    except (ImportError, AttributeError, TypeError, ValueError, KeyError):
        return None
    return walks if right else None


def _maker(d: int) -> Callable[[Any, int, int], Walk]:
    """Return what makes the walk of one tree out of its nodes from one number to another."""
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    nodes = DecisionTreeClassifier().fit(np.zeros((2, d), dtype=np.float32), [0, 1]).tree_.__getstate__()["nodes"]

    def make(trees: Any, begin: int, end: int) -> Walk:
        part, size = slice(begin, end), end - begin
        leaf = trees.column[part] < 0
        own = np.zeros(size, dtype=nodes.dtype)
        own["left_child"] = np.where(leaf, -1, trees.left[part] - begin)
        own["right_child"] = np.where(leaf, -1, trees.right[part] - begin)
        own["feature"] = np.where(leaf, -2, trees.column[part])
        own["threshold"] = trees.threshold[part]
        own["missing_go_to_left"] = ~trees.missing_right[part]
        tree = Tree(d, np.ones(1, dtype=np.intp), 1)
        values = np.zeros((size, 1, 1))
        tree.__setstate__({"max_depth": size, "node_count": size, "nodes": own, "values": values})
        return tree.apply  # type: ignore[no-any-return]

    return make


def _tried(trees: Any, d: int) -> Cells:
    """Return rows of cells near the thresholds of the first tree, some missing."""
    first = trees.column[: trees.roots[1]] if len(trees.roots) > 1 else trees.column
    most = int(trees.threshold[: len(first)].max(initial=0)) + 2
    return (np.arange(TRIED * d).reshape(TRIED, d) * 7919 % (most + 1) - 1).astype(np.int16)
