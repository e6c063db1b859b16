"""The frozen structure of a forest: cells of columns, and trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from .._arrays import Array, Codes, np
from ..stats.counts import CodedColumns
from ..stats.rows import Units
from ..stats.statistic import Fields, Plain, written_alike
from .columns import ForestColumns, ForestReading, levels_within
from .grow import grow_density_trees, grow_label_trees
from .trees import Trees

LEAF_BYTES = 1 << 25  # of the sums of all leaves: trees of more are cut short


@dataclass(frozen=True, eq=False)
class FrozenForest:
    """Cells of columns, trees of a density (`density`), and trees that tell classes apart (`labels`); either may be
    none.
    """

    cells: ForestColumns
    density: Trees
    labels: Trees

    @classmethod
    def freeze(
        cls,
        numbers: Array,
        coded: CodedColumns,
        codes: Codes,
        k: int,
        weight: Array,
        *,
        density: bool = True,
        labels: bool = True,
        units: Units | None = None,
    ) -> Self:
        """Return what rows (n,) of `k` classes and these weights, counted as rows, give; see `stats.rows`."""
        units = Units.each(len(codes)) if units is None else units
        cells = ForestColumns.freeze(numbers, coded, codes, k, weight, units)
        unseen = units.unseen(coded.codes, [len(own) for own in coded.levels], slice(None))
        reading = cells.read(numbers, coded).with_unseen(unseen)
        most = LEAF_BYTES // leaf_bytes(cells, k)
        return cls(
            cells,
            grow_density_trees(reading, codes, k, weight, most) if density else Trees.none(),
            grow_label_trees(reading, codes, weight, LEAF_BYTES // (8 * k)) if labels else Trees.none(),
        )

    @property
    def forest(self) -> Self:
        """What is frozen, under the name that columns with other things besides have for it."""
        return self

    @property
    def numbers(self) -> int:
        """How many of the columns are numbers."""
        return len(self.cells.numbers)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return self.cells.d

    def read(self, numbers: Array, coded: CodedColumns) -> FrozenReading:
        """Return rows of a table as these columns read them."""
        levels = levels_within(coded, self.cells.vocabulary)
        return FrozenReading(np.asarray(numbers, dtype=np.float64), levels, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrozenForest):
            return NotImplemented
        return other is self or written_alike(self.arrays(), other.arrays())

    __hash__ = None  # type: ignore[assignment]

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        fields: Fields = {}
        plain: Plain = {}
        for name, part in (("cells", self.cells), ("density", self.density), ("labels", self.labels)):
            own, plain[name] = part.arrays()
            fields |= {f"{name}_{field}": values for field, values in own.items()}
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""
        parts: dict[str, Fields] = {"cells": {}, "density": {}, "labels": {}}
        for name, values in fields.items():
            part, _, field = name.partition("_")
            parts[part][field] = values
        cells = ForestColumns.from_arrays(parts["cells"], plain["cells"])
        density, labels = (Trees.from_arrays(parts[n], plain[n], cells.sizes) for n in ("density", "labels"))
        return cls(cells, density, labels)


@dataclass(frozen=True)
class FrozenReading:
    """Rows as read from a table: numbers (n, ·), NaN where missing, and level numbers of each category (n,)."""

    numbers: Array
    levels: tuple[Codes, ...]
    columns: FrozenForest

    @cached_property
    def forest(self) -> ForestReading:
        """The rows as trees read them."""
        return self.columns.cells.reading(self.numbers, self.levels)


def leaf_bytes(cells: ForestColumns, k: int) -> int:
    """Return how many bytes the sums of one leaf of a density take."""
    numbers = len(cells.numbers)
    return 8 * k * (1 + 3 * numbers + sum(cells.sizes[numbers:]))
