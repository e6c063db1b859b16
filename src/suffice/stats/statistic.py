"""The protocol of a statistic: it adds up over rows, by class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from .._arrays import Array, Codes, np
from .._foreign import Foreign, given
from ..errors import MergeError
from ..schema import Level
from ._checks import Stored

Fields = dict[str, Stored]  # what a file holds of a statistic: named arrays
Plain = dict[str, Any]  # and values of JSON, whose types are judged where they are read
AuxArrays = tuple[Fields, Plain]


def written_alike(mine: tuple[Fields, Plain], theirs: tuple[Fields, Plain]) -> bool:
    """Return whether two values are the same in a file, by what their `arrays` return."""
    (fields, plain), (others, text) = mine, theirs
    alike = plain == text and fields.keys() == others.keys()
    return alike and all(np.array_equal(values, others[name]) for name, values in fields.items())


class Statistic(ABC):
    """A frozen value with the classes on its leading axis: weights, means, centred scatters or counts, no divisor.

    Owed are `zero` and `summarize`, whose arguments are its family's affair, and what is abstract here.
    """

    __slots__ = ()

    @abstractmethod
    def merge(self, other: Self) -> Statistic:
        """Return the statistics of both sets of rows: associative, commutative, and no rows are the identity."""

    @abstractmethod
    def place(self, index: Sequence[int], k: int) -> Statistic:
        """Return the same statistics with class i moved to number index[i] of k."""

    @abstractmethod
    def column_weight(self) -> Array:
        """Return the weight of the observed cells by class and column (k, d)."""

    def level_weights(self) -> dict[int, dict[Level, float]]:
        """Return the weight of every level known, by the number of its column, of columns whose levels it counts."""
        return {}

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values, for the model file; some are never in one."""
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Statistic:
        """Return the statistics written by `arrays`; ValueError if they cannot be such statistics."""
        raise NotImplementedError

    def subtract(self, other: Self) -> Statistic:
        """Return the statistics of the rows left without those of `other`; NotLearnedError if they were not there."""
        raise MergeError.not_editable(self.kind, "subtract")

    def scale(self, factor: float) -> Statistic:
        """Return the statistics of the same rows with their weights multiplied by a factor above 0."""
        raise MergeError.not_editable(self.kind, "scale")

    def regroup(self, index: Codes, k: int) -> Statistic:
        """Return the statistics with class i made part of class index[i] of k, or left out (−1)."""
        raise MergeError.not_editable(self.kind, "regroup")

    @property
    def edits(self) -> frozenset[str]:
        """Which of "subtract", "scale" and "regroup" there are."""
        own = type(self)
        here = {
            "subtract": own.subtract is not Statistic.subtract,
            "scale": own.scale is not Statistic.scale,
            "regroup": own.regroup is not Statistic.regroup,
        }
        return frozenset(verb for verb, there in here.items() if there)

    def parts(self) -> tuple[Statistic, ...]:
        """Return the statistics it is made of: those of complete rows before those of patterns of missing cells."""
        return (self,)

    def dense(self) -> Statistic:
        """Return the same statistics with a matrix wherever rows are kept in the place of one."""
        return self

    @property
    def is_rounded(self) -> bool:
        """Whether rows may have been rounded, so that what is left of a subtraction is known to a width only."""
        return False

    @property
    def kind(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def read_back(self, fields: Fields, plain: Plain) -> Statistic:
        """Return statistics of the same type, as `arrays` wrote them."""
        return type(self).from_arrays(fields, plain)


class ForeignStatistic(Foreign, Statistic):
    """A statistic that does not inherit from `Statistic`, with what it lacks added."""

    __slots__ = ()

    def merge(self, other: object) -> Statistic:
        return as_statistic(self.given.merge(given(other)))

    def place(self, index: Sequence[int], k: int) -> Statistic:
        return as_statistic(self.given.place(index, k))

    def column_weight(self) -> Array:
        return np.asarray(self.given.column_weight())

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.given.arrays()
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        raise NotImplementedError("the type of the statistic is not known: see `read_back`")

    def read_back(self, fields: Fields, plain: Plain) -> Statistic:
        return as_statistic(type(self.given).from_arrays(fields, plain))

    def subtract(self, other: object) -> Statistic:
        return as_statistic(self._edit("subtract")(given(other)))

    def scale(self, factor: float) -> Statistic:
        return as_statistic(self._edit("scale")(factor))

    def regroup(self, index: Codes, k: int) -> Statistic:
        return as_statistic(self._edit("regroup")(index, k))

    def _edit(self, verb: str) -> Any:
        found = self.offered(verb)
        if found is None:
            raise MergeError.not_editable(self.kind, verb)
        return found

    @property
    def edits(self) -> frozenset[str]:
        return frozenset(verb for verb in ("subtract", "scale", "regroup") if self.offered(verb) is not None)

    def dense(self) -> Statistic:
        verb = self.offered("dense")
        return self if verb is None else as_statistic(verb())

    @property
    def is_rounded(self) -> bool:
        return bool(self.offered("is_rounded", False))

    @property
    def kind(self) -> str:
        return type(self.given).__name__


def as_statistic(given: object) -> Statistic:
    """Return a statistic with every verb, whoever wrote it; one that inherits from `Statistic` as it is."""
    return given if isinstance(given, Statistic) else ForeignStatistic(given)
