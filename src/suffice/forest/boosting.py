"""Gradient boosting of trees for the classes' log-odds.

Newton's steps of the log-loss, one tree for each class in every round (Friedman 2001, doi:10.1214/aos/1013203451; Chen
& Guestrin 2016, doi:10.1145/2939672.2939785): a leaf adds −rate G / H, its rows' sums of gradients w (p − [own class])
and hessians w p (1 − p), and the leaf is split next whose G² / H rises most. Both are rounded to whole numbers, so that
sums are exact: no order of rows, and no loop that adds them up, makes other trees.

Of few rows trees are of few leaves, −rate G / (H + λ), each round on a share of the rows and columns (Friedman 2002,
doi:10.1016/S0167-9473(01)00065-2), thresholds drawn at each node (Geurts, Ernst & Wehenkel 2006,
doi:10.1007/s10994-006-6226-1). What is drawn goes by the contents of rows and by the number of the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np
from ..kernels.growing import Drawn, GradientTrees, Grower
from ..stats.rows import GOLDEN, Keys, mixed
from ..stats.statistic import Fields, Stored, amounts, floats
from .columns import Cells
from .trees import Trees, TreeScores, dealt

BEYOND = 2**15 - 1  # a threshold above all cells: what is missing is told from what is there
HESSIANS = 2.0**44  # in which the weights of all rows are counted, to sum whole numbers exactly
LEAST_SHARE = 1e-6  # of a class, from which its log-odds begin
MOST = 1e100  # of a value: sums of values stay numbers
SMALL = 256  # whole numbers below which are written in a byte
AT_ONCE = 1 << 22  # numbers of all rounds that one call grows


@dataclass(frozen=True)
class TreeSettings:
    """How trees are boosted: at most so many `leaves` with so many `rows` and so much of the `hessian` each, `rate`.

    The hessian and the penalty `l2` that is added to it are counted in rows of mean weight. Each round has a
    `row_share` of the rows and a `column_share` of the columns; with `drawn`, a node draws one threshold of a column.
    """

    leaves: int = 31
    rate: float = 0.1
    rows: int = 20
    hessian: float = 1e-3
    l2: float = 0.0
    row_share: float = 1.0
    column_share: float = 1.0
    drawn: bool = False


class Boosting:
    """Trees boosted on the rows `inside` (m,), round by round, and what they score those and the rows `along` (o,).

    `cells` are (n, d), columns in an order of their contents, `codes` (n,) numbers of k classes, 0 to k − 1 for the
    rows inside; `weight` (n,) is relative, and `keys` (n,) say which rows a round has, where it has a share of them.
    """

    def __init__(
        self,
        cells: Cells,
        codes: Codes,
        weight: Array,
        k: int,
        inside: Codes,
        along: Codes,
        settings: TreeSettings,
        keys: Keys | None = None,
    ) -> None:
        self.k, self.settings, self._size = k, settings, len(inside)
        self._keys = None if keys is None or settings.row_share >= 1.0 else keys[inside]
        own, row_weight = codes[inside], weight[inside]
        held = np.array([math.fsum(row_weight[own == c]) for c in range(k)])  # in whatever order
        share = held / math.fsum(held)
        level = np.log(np.maximum(share, LEAST_SHARE))
        self.begin = level[1:] - level[:1] if k == 2 else level - level.mean()
        columns = np.ascontiguousarray(np.concatenate([cells[inside], cells[along]]).T)
        self._scores = np.repeat(self.begin[:, None], columns.shape[1], axis=1)
        self._trees: list[GradientTrees] = []
        self.rounds, self._width = 0, len(columns)
        starts = np.concatenate([[0], np.cumsum(columns.max(axis=1, initial=-1).astype(np.int64) + 2)])
        each, limits = HESSIANS / max(self._size, 1), {"most": settings.leaves, "rows": settings.rows}
        limits |= {"hessian": max(1, int(settings.hessian * each)), "l2": int(settings.l2 * each)}
        self._grower = Grower(columns, starts, own, row_weight / math.fsum(held), **limits)

    @property
    def along(self) -> Array:
        """The scores (o, k) of the rows sent along."""
        return wide(self._scores[:, self._size :].T, self.k)

    def grow(self, rounds: int = 1) -> Array:
        """Boost so many rounds more, and return the scores (rounds, o, k) of the rows sent along after each."""
        along, end = list[Array](), self.rounds + rounds
        most = max(1, AT_ONCE // (len(self.begin) * (self._scores.shape[1] + 16 * self.settings.leaves)))
        while self.rounds < end:
            numbers = np.arange(self.rounds, min(end, self.rounds + most), dtype=np.uint64)
            trees, scores = self._grower.grow(self._scores, self.settings.rate, self._drawn(numbers))
            self._trees.append(trees)
            along.append(wide(scores.transpose(0, 2, 1), self.k))
            self.rounds += len(numbers)
        return np.concatenate(along) if along else np.zeros((0, *self.along.shape))

    def _drawn(self, numbers: Keys) -> Drawn:
        """Return what the rounds of these numbers have.

        It is that of all trees of a round, so that it does not matter in which order the classes come.
        """
        settings, columns, after = self.settings, np.arange(self._width), numbers + np.uint64(1)
        own, seeds, some = np.tile(columns, (len(numbers), 1)), np.zeros(len(numbers), dtype=np.int64), None
        if self._keys is not None:
            some = dealt(self._keys, numbers[:, None], settings.row_share)
            some[~some.any(axis=1)] = True
        if settings.column_share < 1.0:
            draw = mixed(columns.astype(np.uint64) + mixed(after)[:, None])
            few = max(1, math.ceil(settings.column_share * len(columns)))
            own = np.sort(np.argsort(draw, axis=1, kind="stable")[:, :few], axis=1)
        if settings.drawn:
            seeds = (mixed(after * np.uint64(GOLDEN)) >> np.uint64(1)).astype(np.int64) + 1
        return Drawn(some, own.astype(np.int32), seeds)

    def first(self, rounds: int) -> GradientTrees:
        """Return the trees of the first rounds."""
        every = joined(self._trees)
        sizes = every.sizes[: rounds * len(self.begin)]
        return GradientTrees._make([*(own[: int(sizes.sum())] for own in every[:-1]), sizes])

    def grown(self, rounds: int) -> TreeScores:
        """Return the trees of the first rounds; the score they begin with is in the leaves of the first tree."""
        found = self.first(rounds)
        sizes, leaf, roots = found.sizes, found.column < 0, np.cumsum(found.sizes) - found.sizes
        left = np.where(leaf, -1, found.left + np.repeat(roots, sizes))
        threshold, right = np.where(leaf, 0, found.threshold.astype(np.int64)), np.where(leaf, -1, left + 1)
        trees = Trees(found.column.astype(np.int64), threshold, left, right, found.away & ~leaf, roots, 0.0)
        each = found.value[leaf]
        values = np.zeros((len(each), len(self.begin)))
        values[np.arange(len(each)), trees.leaf_tree % len(self.begin)] = each
        values[trees.leaf_tree == 0] += self.begin
        cover = found.rows[leaf].astype(np.float64)
        return TreeScores(trees, wide(values, self.k), np.zeros(self.k), False, np.maximum(cover, 1e-3))


class MeanBoosting(Boosting):
    """Trees that are boosted beside each other under several settings; what they score is the mean."""

    def __init__(self, parts: Sequence[Boosting]) -> None:
        self._parts, self.k, self.begin = parts, parts[0].k, parts[0].begin

    @property
    def rounds(self) -> int:  # type: ignore[override]
        """How many there were."""
        return self._parts[0].rounds

    def grow(self, rounds: int = 1) -> Array:
        return np.asarray(sum(own.grow(rounds) for own in self._parts) / len(self._parts))

    def first(self, rounds: int) -> GradientTrees:
        found = joined([own.first(rounds) for own in self._parts])
        return found._replace(value=found.value / len(self._parts))


def joined(parts: Sequence[GradientTrees]) -> GradientTrees:
    """Return trees one after the other."""
    return GradientTrees(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def wide(scores: Array, k: int) -> Array:
    """Return scores (…, n, k) of one score (…, n, 1) for two classes."""
    return np.concatenate([-0.5 * scores, 0.5 * scores], axis=-1) if k == 2 else scores


def written_trees(scores: TreeScores, sizes: tuple[int, ...], *, cover: bool) -> Fields:
    """Return the trees of `Boosting`, of columns with so many cells, as arrays; ValueError for other trees.

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
