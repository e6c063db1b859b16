"""The statistic of a member: it merges and is saved like all others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .._arrays import Array, Codes, np
from ..errors import NotLearnedError
from ..stats._checks import amounts
from ..stats._downdate import faded
from ..stats.scatter import gather, spread
from .columns import BinnedRows, FrozenColumns

DUST = 1e-9  # of a weight, left over by rounding


class Part(ABC):
    """Statistics by class in frozen columns, one entry for each way in which a member may read them."""

    name: ClassVar[str]  # in a model file
    left_out: ClassVar[bool] = False  # of a file, where there is nothing of it
    of_trees: ClassVar[bool] = False  # which take long to grow

    @classmethod
    @abstractmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        """Return the statistics of rows (n,) of `k` classes."""

    @classmethod
    @abstractmethod
    def none(cls) -> Self:
        """Return what stands for statistics that are not kept: no entries."""

    @classmethod
    def lacking(cls, columns: FrozenColumns, k: int) -> bool:
        """Whether these columns would have such statistics, and a model that holds rows always has some."""
        return False

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both, of the entries that both have."""

    def take_in(self, other: Self) -> Self:
        """Return what `merge` does, in the place of these if that spares memory: nothing else may hold them."""
        return self.merge(other)

    @abstractmethod
    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""

    @abstractmethod
    def scale(self, factor: float) -> Self:
        """Return the statistics of the same rows with their weights multiplied by a factor."""

    @abstractmethod
    def place(self, index: Sequence[int], k: int, columns: FrozenColumns) -> Self:
        """Return the same statistics with class i moved to number index[i] of k, of the entries kept for k classes."""

    @abstractmethod
    def regroup(self, index: Codes, k: int) -> Self:
        """Return the statistics with class i made part of class index[i] of k, or left out where that is −1."""

    @abstractmethod
    def arrays(self) -> tuple[dict[str, Array], Any]:
        """Return the entries as named arrays, and a plain value."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""


@dataclass(frozen=True)
class Counts(Part):
    """Weights added up by class, (k, …), by how finely numbers are cut: an entry for each such whole number."""

    counts: dict[int, Array]

    @classmethod
    @abstractmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        """Return the entries that are kept for `k` classes, and their shapes."""

    @classmethod
    @abstractmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return one entry of rows (n,)."""

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        entries = cls.shapes(reading.columns, k)
        return cls({entry: cls.count(entry, reading, codes, k, weight) for entry in entries})

    @classmethod
    def none(cls) -> Self:
        return cls({})

    def merge(self, other: Self) -> Self:
        return type(self)({i: own + other.counts[i] for i, own in self.counts.items() if i in other.counts})

    def subtract(self, other: Self) -> Self:
        pairs = self.counts.items()
        return type(self)({i: less(own, other.counts[i]) for i, own in pairs if i in other.counts})

    def scale(self, factor: float) -> Self:
        return type(self)({i: faded(own, factor) for i, own in self.counts.items()})

    def place(self, index: Sequence[int], k: int, columns: FrozenColumns) -> Self:
        """Return the counts of classes at other numbers; with more classes, some may take too much."""
        kept = self.shapes(columns, k)
        return type(self)({i: spread(own, index, k) for i, own in self.counts.items() if i in kept})

    def regroup(self, index: Codes, k: int) -> Self:
        return type(self)({i: gather(own, index, k) for i, own in self.counts.items()})

    def arrays(self) -> tuple[dict[str, Array], list[int]]:
        return {f"{self.name}{i}": own for i, own in self.counts.items()}, list(self.counts)

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return the counts; all that would be kept now, but what edits and releases may have dropped."""
        counts = {i: fields[f"{cls.name}{i}"] for i in plain}
        shapes = cls.shapes(columns, k)
        right = list(counts) == [i for i in shapes if i in counts or not cls.may_lack()]
        if not right or any(own.shape != shapes[i] for i, own in counts.items()):
            raise ValueError("statistics of the members")
        return cls({i: amounts(own, *own.shape) for i, own in counts.items()})

    @classmethod
    def may_lack(cls) -> bool:
        """Whether entries may be dropped, by edits that add classes and by releases."""
        return False


def less(whole: Array, part: Array) -> Array:
    """Return counts (k, …) without others, rounding made 0; NotLearnedError where more goes than there is."""
    left = whole - part
    dust = np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0)
    strange = (left < 0) & ~dust
    if strange.any():
        code = int(np.nonzero(strange.reshape(len(left), -1).any(axis=1))[0][0])
        raise NotLearnedError("some of their cells were not counted", code)
    return np.asarray(np.where(dust, 0.0, left))
