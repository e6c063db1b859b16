"""Compact arrays of boosted trees for a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .._arrays import Array, Codes, np
from ..forest import Trees, TreeScores
from ..forest.boosting import BEYOND
from ..stats._checks import Stored, amounts, floats
from ..stats.statistic import Fields

MOST = 1e100  # of a value: sums of values stay numbers
SMALL = 256  # whole numbers below which are written in a byte


def written_trees(scores: TreeScores, sizes: tuple[int, ...], *, cover: bool) -> Fields:
    """Return the trees of `forest.boosting`, of columns with so many cells, as arrays; ValueError for other trees.

    The children of a node follow each other, so that of inner nodes stand what they ask and how far the first is away.
    Of two classes a leaf adds to one what it takes from the other; of more each has a tree of its own in turn. Leaves
    of the first tree hold the scores that all begin with. The `cover` is for who explains by the trees.
    """
    trees, values, p = scores.trees, scores.values, scores.values.shape[1]
    inner, first = np.flatnonzero(trees.column >= 0), int((trees.leaf_tree == 0).sum())
    added = values[np.arange(first, len(values)), _owner(trees, p)[first:]]
    told: Fields = {"begin": values[:first], "added": added} | ({"cover": scores.cover} if cover else {})
    if not (
        np.array_equal(trees.right[inner], trees.left[inner] + 1)
        and np.array_equal(_values(trees, values[:first], added), values)
    ):
        raise ValueError("trees that were not boosted")
    last = np.asarray(sizes, dtype=np.int64)[trees.column[inner]] - 1
    return told | {
        "column": _small(trees.column + 1),
        "threshold": _small(np.minimum(trees.threshold[inner], last) + 1),
        "away": _small(trees.left[inner] - inner),
        "missing": np.packbits(trees.missing_right[inner]),
    }


def read_trees(fields: Mapping[str, Stored], p: int, sizes: tuple[int, ...]) -> TreeScores:
    """Return what was written of trees for `p` classes; ValueError if it cannot be that."""
    column = _whole(fields["column"]) - 1
    inner, m = np.flatnonzero(column >= 0), len(column)
    threshold, away = (_whole(fields[name], len(inner)) for name in ("threshold", "away"))
    if fields["missing"].dtype != np.uint8 or fields["missing"].shape != (-(-len(inner) // 8),):
        raise ValueError("where missing cells go")
    left, asked, gone = np.full(m, -1), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.bool_)
    left[inner], asked[inner] = inner + away, threshold - 1
    gone[inner] = np.unpackbits(fields["missing"], count=len(inner)).astype(np.bool_)
    right = np.where(left < 0, -1, left + 1)
    if right.max(initial=-1) >= m:
        raise ValueError("trees")
    above = np.ones(m, dtype=np.bool_)
    above[left[inner]] = above[right[inner]] = False
    roots = np.flatnonzero(above)
    parts = {"column": column, "threshold": asked, "left": left, "right": right, "roots": roots}
    trees = Trees.from_arrays({**parts, "missing_right": gone}, {"share": 0.0}, sizes)
    beyond = np.flatnonzero(np.append(sizes, 0)[column] - 1 == asked)
    asked[beyond[column[beyond] >= 0]] = BEYOND
    first, leaves = int((trees.leaf_tree == 0).sum()), m - len(inner)
    begin, added = floats(fields["begin"], first, p), floats(fields["added"], leaves - first)
    cover = amounts(fields["cover"], leaves) if "cover" in fields else np.ones(leaves)
    if not (len(roots) and (np.abs(begin) < MOST).all() and (np.abs(added) < MOST).all() and (cover > 0).all()):
        raise ValueError("what leaves add")
    trees = replace(trees, threshold=asked)
    return TreeScores(trees, _values(trees, begin, added), np.zeros(p), False, cover)


def _values(trees: Trees, begin: Array, added: Array) -> Array:
    """Return what leaves add to each class (L, p)."""
    first, p = begin.shape
    values = np.zeros((first + len(added), p))
    values[:first] = begin
    values[np.arange(first, len(values)), _owner(trees, p)[first:]] = added
    if p == 2:
        values[first:, 0] = -added
    return values


def _owner(trees: Trees, p: int) -> Codes:
    """Return the class (L,) that each leaf adds to."""
    return np.ones(len(trees.leaf_tree), dtype=np.int64) if p == 2 else trees.leaf_tree % p


def _small(values: Codes) -> Stored:
    """Return whole numbers from 0 on in as few bytes as they take."""
    return values.astype(np.uint8 if values.max(initial=0) < SMALL else np.int32)


def _whole(values: Stored, *shape: int) -> Codes:
    """Return whole numbers of a file, from 0 on."""
    right = values.dtype in (np.uint8, np.int32) and values.ndim == 1 and (not shape or values.shape == shape)
    if not right or values.min(initial=0) < 0:
        raise ValueError("whole numbers of trees")
    return values.astype(np.int64)
