"""Leaf statistics by class: sums of cells for the density, weights for the trees that classify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .._arrays import Array, Codes, np
from ..forest import Forest, FrozenForest, LeafArrays
from ..stats._checks import amounts, floats
from ..stats._downdate import faded
from ..stats.scatter import gather, spread
from .part import DUST, Counts, Part, less

if TYPE_CHECKING:
    from .columns import BinnedRows, FrozenColumns


@dataclass(frozen=True)
class LeafSums(Part):
    """The sums of the leaves of a density; None where there is no forest."""

    name: ClassVar[str] = "leaves"
    of_trees: ClassVar[bool] = True
    left_out: ClassVar[bool] = True

    sums: LeafArrays | None = None

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        frozen = reading.columns.forest
        if frozen is None or not len(frozen.density):
            return cls.none()
        return cls(LeafArrays.summarize(reading.forest, frozen.density, codes, k, weight))

    @classmethod
    def none(cls) -> Self:
        return cls()

    def forest(self, frozen: FrozenForest) -> Forest:
        """Return the forest that these sums make of frozen trees."""
        assert self.sums is not None
        return Forest(frozen.cells, frozen.density, self.sums)

    def merge(self, other: Self) -> Self:
        if self.sums is None or other.sums is None:
            return self.none()
        return type(self)(self.sums.combined(other.sums, np.add))

    def take_in(self, other: Self) -> Self:
        if self.sums is None or other.sums is None:
            return self.none()
        return type(self)(self.sums.add(other.sums))

    def subtract(self, other: Self) -> Self:
        if self.sums is None or other.sums is None:
            return self.none()
        mine, gone = self.sums, other.sums
        levels = tuple(map(less, mine.levels, gone.levels))
        first = mine.first - gone.first
        first[np.abs(first) <= DUST * np.maximum(np.abs(mine.first), 1.0)] = 0.0
        weight, seen = less(mine.weight, gone.weight), less(mine.seen, gone.seen)
        second = less(mine.second, gone.second)
        return type(self)(LeafArrays(weight, seen, first, second, levels))

    def scale(self, factor: float) -> Self:
        if self.sums is None:
            return self
        # sums of scores have a sign, by which nothing can be told to have faded
        return type(self)(replace(self.sums.each(lambda own: faded(own, factor)), first=self.sums.first * factor))

    def place(self, index: Sequence[int], k: int, columns: FrozenColumns) -> Self:
        return self._each(lambda own: spread(own, index, k))

    def regroup(self, index: Codes, k: int) -> Self:
        return self._each(lambda own: gather(own, index, k))

    def _each(self, change: Any) -> Self:
        return self if self.sums is None else type(self)(self.sums.each(change))

    def arrays(self) -> tuple[dict[str, Array], bool]:
        if self.sums is None:
            return {}, False
        fields = {f"leaf_{name}": getattr(self.sums, name) for name in ("weight", "seen", "first", "second")}
        return fields | {f"leaf_levels{j}": own for j, own in enumerate(self.sums.levels)}, True

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        frozen = columns.forest
        if not plain:
            return cls.none()
        if frozen is None:
            raise ValueError("leaves without a forest")
        like = LeafArrays.zero(frozen.cells, frozen.density, k)
        found = [amounts(fields[f"leaf_{name}"], *getattr(like, name).shape) for name in ("weight", "seen", "second")]
        first = floats(fields["leaf_first"], *like.first.shape)
        levels = tuple(amounts(fields[f"leaf_levels{j}"], *own.shape) for j, own in enumerate(like.levels))
        return cls(LeafArrays(found[0], found[1], first, found[2], levels))


@dataclass(frozen=True)
class LeafWeights(Counts):
    """The weight (k, leaves) of each class in every leaf of the trees that tell classes apart, all in one entry."""

    name: ClassVar[str] = "shares"
    of_trees: ClassVar[bool] = True
    left_out: ClassVar[bool] = True

    @classmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        frozen = columns.forest
        return {} if frozen is None or not len(frozen.labels) else {0: (k, len(frozen.labels.leaf_nodes))}

    @classmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        assert reading.columns.forest is not None
        return reading.columns.forest.labels.packed.count(reading.forest.cells, codes, k, weight)
