"""What a member needs of the rows: `Statistic`s that merge and are saved together, one for each way of reading rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .._arrays import Array, Codes
from ..stats import Statistic
from ..stats._checks import amounts
from ..stats.class_weights import ClassWeights
from .columns import BinnedRows, FrozenColumns


@dataclass(frozen=True)
class Part(ABC):
    """Statistics by class in frozen columns, by the way in which rows are read for each: its entry."""

    name: ClassVar[str]  # in a model file
    left_out: ClassVar[bool] = False  # of a file, where there is nothing of it
    of_trees: ClassVar[bool] = False  # which take long to grow

    entries: Mapping[Any, Any]

    @classmethod
    @abstractmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        """Return the statistics of rows (n,) of `k` classes."""

    @abstractmethod
    def arrays(self) -> tuple[dict[str, Array], Any]:
        """Return the entries as named arrays, and a plain value."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""

    def kept_for(self, columns: FrozenColumns, k: int) -> Self:
        """Return the entries that are kept for `k` classes."""
        return self

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both, of the entries that both have."""
        return type(self)({i: own.merge(other.entries[i]) for i, own in self.entries.items() if i in other.entries})

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""
        return type(self)({i: own.subtract(other.entries[i]) for i, own in self.entries.items() if i in other.entries})

    def each(self, change: Callable[[Statistic], Statistic]) -> Self:
        """Return the statistics, every one changed."""
        return type(self)({i: change(own) for i, own in self.entries.items()})


@dataclass(frozen=True)
class Counts(Part):
    """Weights added up by class, (k, …), by how finely numbers are cut: an entry for each such whole number."""

    may_lack: ClassVar[bool] = False  # entries, which edits that add classes and releases drop

    @classmethod
    @abstractmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        """Return the entries that are kept for `k` classes, and their shapes."""

    @classmethod
    @abstractmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return one entry of rows (n,)."""

    @classmethod
    def of(cls, counts: Mapping[int, Array]) -> Self:
        """Return these entries."""
        return cls({entry: ClassWeights(own) for entry, own in counts.items()})

    @property
    def counts(self) -> dict[int, Array]:
        """The entries as arrays."""
        return {entry: own.values for entry, own in self.entries.items()}

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        return cls.of({entry: cls.count(entry, reading, codes, k, weight) for entry in cls.shapes(reading.columns, k)})

    def kept_for(self, columns: FrozenColumns, k: int) -> Self:
        kept = self.shapes(columns, k)
        return type(self)({entry: own for entry, own in self.entries.items() if entry in kept})

    def arrays(self) -> tuple[dict[str, Array], list[int]]:
        return {f"{self.name}{entry}": own for entry, own in self.counts.items()}, list(self.entries)

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return the counts; all that would be kept now, but what edits and releases may have dropped."""
        counts = {i: fields[f"{cls.name}{i}"] for i in plain}
        shapes = cls.shapes(columns, k)
        right = list(counts) == [i for i in shapes if i in counts or not cls.may_lack]
        if not right or any(own.shape != shapes[i] for i, own in counts.items()):
            raise ValueError("statistics of the members")
        return cls.of({i: amounts(own, *own.shape) for i, own in counts.items()})
