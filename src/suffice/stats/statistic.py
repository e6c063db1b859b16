"""The protocol of a statistic: it adds up over rows, by class; and checks of statistics read from a file."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

from .._arrays import Array, Codes, NDArray, lower_factor, np
from .._foreign import Foreign
from ..errors import MergeError
from ..schema import Level, check_text

# ── The protocol of a statistic: it adds up over rows, by class ───────────────────────────────────────────────────────


Stored = NDArray[Any]  # an array of a file, whose type is still to be judged
Fields = dict[str, Stored]  # what a file holds of a statistic: named arrays
Plain = dict[str, Any]  # and values of JSON, whose types are judged where they are read
AuxArrays = tuple[Fields, Plain]
EDITS = ("subtract", "scale", "regroup")


def written_alike(mine: tuple[Fields, Plain], theirs: tuple[Fields, Plain]) -> bool:
    """Return whether two values are the same in a file, by what their `arrays` return."""
    (fields, plain), (others, text) = mine, theirs
    named_alike = plain == text and fields.keys() == others.keys()
    return named_alike and all(np.array_equal(values, others[name]) for name, values in fields.items())


class WrittenAlike:
    """Equal where the same would be written; such values are not hashed."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return other is self or written_alike(self.arrays(), other.arrays())


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
        return frozenset(verb for verb in EDITS if getattr(type(self), verb) is not getattr(Statistic, verb))

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


def as_statistic(given: object) -> Statistic:
    """Return a statistic with every verb, whoever wrote it; one that inherits from `Statistic` as it is."""
    return given if isinstance(given, Statistic) else ForeignStatistic(given)  # type: ignore[abstract]


class ForeignStatistic(
    Foreign,
    Statistic,
    merge=as_statistic,
    place=as_statistic,
    subtract=as_statistic,
    scale=as_statistic,
    regroup=as_statistic,
    dense=as_statistic,
    column_weight=np.asarray,
):
    """A statistic that does not inherit from `Statistic`, with what it lacks added."""

    __slots__ = ()

    def read_back(self, fields: Fields, plain: Plain) -> Statistic:
        return as_statistic(type(self.given).from_arrays(fields, plain))

    def parts(self) -> tuple[Statistic, ...]:
        return (self,)

    @property
    def edits(self) -> frozenset[str]:
        return frozenset(verb for verb in EDITS if self.offered(verb) is not None)

    @property
    def kind(self) -> str:
        return type(self.given).__name__


# ── Checks of statistics read from a file; ValueError says what is wrong ──────────────────────────────────────────────
#
# Every array of a model file is finite when it comes here (see `files/`); types, shapes, signs and sizes are judged
# here.


ROUGH = 1e-6  # relative: far above what rounding leaves after many merges, far below any change worth making
NEGATIVE = 1e-3  # of a correlation: what forgetting leaves of a class may be that far from positive semi-definite


def floats(values: Stored, *shape: int | None) -> Array:
    """Return an array of float64 that has this shape; None stands for any length."""
    _check_array(values, np.float64, shape)
    return np.asarray(values)


def amounts(values: Stored, *shape: int | None) -> Array:
    """Return weights, counts or sums of squares: floats of at least 0 whose sum is finite."""
    found = floats(values, *shape)
    if (found < 0).any() or not _adds_up(found):
        raise ValueError("amounts below 0, or without end")
    return found


def codes(values: Stored, below: int, *shape: int | None, least: int = 0) -> Codes:
    """Return whole numbers from `least` to `below`, which is not among them."""
    _check_array(values, np.int64, shape)
    if values.size and (values.min() < least or values.max() >= below):
        raise ValueError("numbers beyond what they count")
    return values.astype(np.int64, copy=False)


def places(values: object, below: int) -> tuple[int, ...]:
    """Return positions from a list of JSON: whole numbers from 0 to below `below`, ascending."""
    if not isinstance(values, list) or not all(type(p) is int and 0 <= p < below for p in values):
        raise ValueError("positions")
    if any(q <= p for p, q in pairwise(values)):
        raise ValueError("positions")
    return tuple(values)


def levels(values: object) -> tuple[Level, ...]:
    """Return the levels of a category from a list of JSON: distinct text, finite numbers or truth values."""
    if not isinstance(values, list) or not all(type(level) in (str, int, float, bool) for level in values):
        raise ValueError("levels")
    if len(set(values)) < len(values) or not all(isinstance(v, str) or math.isfinite(v) for v in values):
        raise ValueError("levels")
    check_text(values, None)
    return tuple(values)


def at_most(part: Stored, whole: Stored) -> bool:
    """Say whether no weight is above that of which it is a part, but for rounding."""
    return bool((part <= whole * (1.0 + ROUGH) + 1e-300).all())


def alike(one: Stored, other: Stored, scale: Stored) -> bool:
    """Say whether two arrays are equal but for rounding, on a scale."""
    return bool((np.abs(one - other) <= ROUGH * scale + 1e-300).all())


def scatters(values: Stored, mean: Array, weight: Array, *shape: int) -> Array:
    """Return scatter matrices (…, d, d), symmetric and positive semi-definite on the correlation scale.

    `mean` and `weight`, with the classes in front, must have finite weighted squares.
    """
    found = floats(values, *shape)
    in_range(mean, weight)
    for matrix in found.reshape(-1, *found.shape[-2:]):
        _check_scatter(matrix)
    return found


def in_range(mean: Array, weight: Array) -> None:
    """Raise ValueError where weighted squares of means would overflow."""
    weight = weight if weight.ndim == mean.ndim else weight[:, None]
    with np.errstate(over="ignore"):
        if not _adds_up(weight * mean**2):
            raise ValueError("means whose squares overflow")


def under(prefix: str, fields: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): values for name, values in fields.items() if name.startswith(prefix)}


def grouped(fields: Mapping[str, Array], prefix: str) -> dict[str, dict[str, Array]]:
    """Return arrays named `prefix` + number + "_" + name by number, then by name."""
    groups: dict[str, dict[str, Array]] = {}
    for name, values in fields.items():
        number, mark, rest = name.removeprefix(prefix).partition("_")
        if name.startswith(prefix) and mark and number.isdecimal():
            groups.setdefault(number, {})[rest] = values
    return groups


def _check_array(values: Stored, kind: type[np.generic], shape: Sequence[int | None]) -> None:
    right = values.dtype == kind and values.ndim == len(shape)
    if not right or any(n not in (None, m) for n, m in zip(shape, values.shape, strict=True)):
        raise ValueError(f"an array of {values.dtype} with the shape {values.shape}")


def _adds_up(values: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _check_scatter(matrix: Array) -> None:
    squares = np.diagonal(matrix)
    if (squares < 0).any() or not _adds_up(squares):
        raise ValueError("sums of squares below 0, or without end")
    varying = np.flatnonzero(squares > 0)
    if not len(varying):
        if matrix.any():
            raise ValueError("products of columns that do not vary")
        return
    root = np.sqrt(squares[varying])
    correlation = matrix[np.ix_(varying, varying)] / root / root[:, None]
    if (np.abs(correlation - correlation.T) > ROUGH).any() or (np.abs(correlation) > 1.0 + NEGATIVE).any():
        raise ValueError("products larger than squares, or that differ by their order")
    correlation.flat[:: len(correlation) + 1] += NEGATIVE
    try:
        lower_factor(correlation, overwrite=True)
    except np.linalg.LinAlgError:
        raise ValueError("a scatter that is not positive semi-definite") from None
