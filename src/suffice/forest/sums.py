"""Sufficient statistics of leaves: weights by class, and sums of each column's cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np, row_chunks, sparse
from ..stats import Statistic
from ..stats._checks import amounts, floats
from ..stats._downdate import faded
from ..stats.counts import DUST, less
from ..stats.scatter import gather, spread
from ..stats.statistic import Fields, Plain
from .columns import ForestColumns, ForestReading
from .trees import Trees

TOGETHER = 4096  # rows whose powers are held at a time

Linear = Callable[[Array, Array], Array]


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
        heavy = np.ones(len(codes)) if weight is None else weight
        if columns.d == numbers and not reading.open.any():
            total = np.zeros((k, len(trees.leaf_nodes), 1 + 2 * numbers))
            for part in row_chunks(len(codes), TOGETHER):
                values = _powers(reading[part], heavy[part])
                trees.packed.add_sums(reading.cells[part], codes[part], values, total)
            return cls(*_split(total, numbers), ())
        out, values = cls.zero(columns, trees, k), _powers(reading, heavy)
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
            for total, found in zip((out.weight, out.seen, out.first, out.second), _split(sums, numbers), strict=True):
                total[:, first:last] = found
            for total, (rows, cell) in zip(out.levels, known_levels, strict=True):
                cells = total.shape[2]
                flat = np.bincount(place[rows] * cells + cell, weights=heavy[rows], minlength=k * size * cells)
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

    def _both(self, other: LeafArrays, amounts: Linear, signed: Linear) -> LeafArrays:
        weight = amounts(self.weight, other.weight)
        alike = self.whole and other.whole
        seen = _alike(weight, self.seen.shape[2]) if alike else amounts(self.seen, other.seen)
        first, second = signed(self.first, other.first), amounts(self.second, other.second)
        return LeafArrays(weight, seen, first, second, tuple(map(amounts, self.levels, other.levels)))

    def each(self, change: Callable[[Array], Array]) -> LeafArrays:
        """Return these sums, each changed."""
        weight, first, second = map(change, (self.weight, self.first, self.second))
        seen = _alike(weight, self.seen.shape[2]) if self.whole else change(self.seen)
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


def _split(sums: Array, numbers: int) -> tuple[Array, Array, Array, Array]:
    """Return of sums (k, L, ·) of what `_powers` returns: weight, seen, first and second."""
    weight, first, second, seen = np.split(sums, [1, numbers + 1, 2 * numbers + 1], axis=2)
    return weight[:, :, 0], seen if seen.shape[2] else _alike(weight[:, :, 0], numbers), first, second


def _alike(weight: Array, numbers: int) -> Array:
    """Return the weight (k, L) once for each number (k, L, numbers), without a copy."""
    return np.broadcast_to(weight[..., None], (*weight.shape, numbers))


def scores_of(reading: ForestReading) -> Array:
    """Return the normal scores (n, numbers) in the middle of the rows' cells, NaN where missing."""
    out = np.full((len(reading), len(reading.columns.numbers)), np.nan)
    for j, own in enumerate(reading.columns.numbers):
        cell = reading.cells[:, j]
        out[:, j] = np.where(cell >= 0, own.middle[cell], np.nan)
    return out
