"""Statistics of a whole table: the classes, their weights, and one statistic per block of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from .._arrays import Array, np
from ..errors import MergeError, quoted
from ..schema import Level, sort_levels
from .reservoir import Reservoir
from .scatter import spread


class Statistic(Protocol):
    """What `ByClass` asks of the statistic of a block."""

    def merge(self, other: Any) -> Any:
        """Return the statistics of both sets of rows."""
        ...

    def place(self, index: Sequence[int], k: int) -> Any:
        """Return the same statistics with class i moved to number index[i] of k."""
        ...


@dataclass(frozen=True, slots=True)
class ByClass:
    """Everything a generative model needs to know of the rows it has seen.

    `classes` are the labels in a fixed order, `weight` (k,) the row weights of each, `rows` the number of rows read,
    `blocks` one statistic per block of columns, all with the classes on the leading axis. `sample` holds some of the
    rows themselves, for what needs rows.
    """

    classes: tuple[Level, ...]
    weight: Array
    blocks: tuple[Any, ...]
    rows: int = 0
    sample: Reservoir | None = None

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both; a class may be new to either. MergeError if the blocks differ."""
        if len(self.blocks) != len(other.blocks):
            raise MergeError(
                f"One side has {len(self.blocks)} blocks of columns and the other {len(other.blocks)}. "
                "Next: fit both with the same columns and families."
            )
        if len({isinstance(label, str) for label in (*self.classes, *other.classes)}) > 1:
            raise MergeError(
                f"The labels are {quoted(self.classes)} on one side and {quoted(other.classes)} on the other: text and "
                "numbers. Next: fit both with labels of one kind."
            )
        classes = self.classes if self.classes == other.classes else sort_levels([*self.classes, *other.classes])
        a, b = self.with_classes(classes), other.with_classes(classes)
        blocks = tuple(x.merge(y) for x, y in zip(a.blocks, b.blocks, strict=True))
        sample = None if a.sample is None or b.sample is None else a.sample.merge(b.sample)
        return type(self)(classes, a.weight + b.weight, blocks, a.rows + b.rows, sample)

    def with_classes(self, classes: Sequence[Level]) -> Self:
        """Return the same statistics over a longer list of classes, which must hold all of the present ones."""
        if tuple(classes) == self.classes:
            return self
        position = {label: i for i, label in enumerate(classes)}
        index = [position[label] for label in self.classes]
        blocks = tuple(block.place(index, len(classes)) for block in self.blocks)
        sample = None if self.sample is None else self.sample.place(index, len(classes))
        weight = spread(self.weight, index, len(classes))
        return replace(self, classes=tuple(classes), weight=weight, blocks=blocks, sample=sample)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(np.sum(self.weight))
