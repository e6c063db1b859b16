"""Leaf statistics by class: sums of cells for the density, weights for the trees that classify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .._arrays import Array, Codes
from ..forest import LeafArrays
from .columns import BinnedRows, FrozenColumns
from .part import Counts, Part


@dataclass(frozen=True)
class LeafSums(Part):
    """The sums of the leaves of a density, in one entry; none where there is no forest."""

    name: ClassVar[str] = "leaves"
    of_trees: ClassVar[bool] = True
    left_out: ClassVar[bool] = True

    @property
    def sums(self) -> LeafArrays | None:
        """The sums, None where there is no forest."""
        return self.entries.get(0)

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        frozen = reading.columns.forest
        if frozen is None or not len(frozen.density):
            return cls({})
        return cls({0: LeafArrays.summarize(reading.forest, frozen.density, codes, k, weight)})

    def arrays(self) -> tuple[dict[str, Array], bool]:
        fields = {} if self.sums is None else self.sums.arrays()[0]
        return {f"leaf_{name}": values for name, values in fields.items()}, self.sums is not None

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        if not plain:
            return cls({})
        if columns.forest is None:
            raise ValueError("leaves without a forest")
        own = {name.removeprefix("leaf_"): values for name, values in fields.items() if name.startswith("leaf_")}
        return cls({0: LeafArrays.read(own, LeafArrays.zero(columns.forest.cells, columns.forest.density, k))})


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
