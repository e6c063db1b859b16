"""The forms a centred, unnormalised scatter Σ w (x − mean)(x − mean)ᵀ can take; each keeps only what is asked of it.

`FullScatter` (k, d, d) per class, `PooledScatter` (d, d) summed over classes, `DiagonalScatter` (k, d) per class and
column, `ThinScatter` the centred rows themselves, for tables with more columns than rows, where d × d must not exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from .._arrays import Array, Codes, np


@dataclass(frozen=True, slots=True)
class Scatter(ABC):
    """What `GaussianStats` asks of a scatter."""

    name: ClassVar[str]
    values: Array

    @classmethod
    @abstractmethod
    def zero(cls, k: int, d: int) -> Self:
        """Return the scatter of no rows."""

    @abstractmethod
    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        """Return the scatter of both sets of rows about their joint means.

        By class that is self + other + weight · share · shift shiftᵀ, with `weight` (k,) or (k, d) the weight of this
        side, `share` the other side's share of both, and `shift` (k, d) from this side's means to the other's.
        """

    @abstractmethod
    def place(self, index: Sequence[int], k: int) -> Self:
        """Return the same scatter with class i moved to number index[i] of k."""

    @abstractmethod
    def diagonal(self, k: int) -> Array:
        """Return the sums of squares by class and column (k, d); pooled ones have one row for all classes."""


def spread(values: Array, index: Sequence[int], k: int) -> Array:
    """Return an array with `values[i]` at position index[i] of a leading axis of length k, zeros elsewhere."""
    placed = np.zeros((k, *values.shape[1:]), dtype=values.dtype)
    placed[list(index)] = values
    return placed


@dataclass(frozen=True, slots=True)
class FullScatter(Scatter):
    """One scatter matrix per class."""

    name: ClassVar[str] = "full"

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((k, d, d)))

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        values, coefficient = self.values + other.values, weight * share
        for c in np.flatnonzero(coefficient):  # one class at a time: never k × d × d of temporaries
            values[c] += np.outer(coefficient[c] * shift[c], shift[c])
        return type(self)(values)

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(spread(self.values, index, k))

    def diagonal(self, k: int) -> Array:
        return np.diagonal(self.values, axis1=1, axis2=2).copy()


@dataclass(frozen=True, slots=True)
class PooledScatter(Scatter):
    """The scatter about the class means, summed over classes."""

    name: ClassVar[str] = "pooled"

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((d, d)))

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        return type(self)(self.values + other.values + ((weight * share)[:, None] * shift).T @ shift)

    def place(self, index: Sequence[int], k: int) -> Self:
        return self

    def diagonal(self, k: int) -> Array:
        return np.diagonal(self.values)[None].copy()


@dataclass(frozen=True, slots=True)
class DiagonalScatter(Scatter):
    """The sums of squares of each column about its class mean."""

    name: ClassVar[str] = "diagonal"

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((k, d)))

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        coefficient = weight * share
        per_column = coefficient if coefficient.ndim == 2 else coefficient[:, None]
        return type(self)(self.values + other.values + per_column * shift**2)

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(spread(self.values, index, k))

    def diagonal(self, k: int) -> Array:
        return self.values.copy()


@dataclass(frozen=True, slots=True)
class ThinScatter(Scatter):
    """The rows themselves, centred by class and multiplied by the root of their weight, and the class of each.

    It serves tables wider than long: r × d numbers instead of d × d. Merging moves both sides to the joint means and
    stacks them. Its owner is trusted to stop using it when r outgrows d.
    """

    name: ClassVar[str] = "thin"
    owner: Codes  # (r,)
    root_weight: Array  # (r,)

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((0, d)), np.zeros(0, dtype=np.int64), np.zeros(0))

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        mine = self.values - self.root_weight[:, None] * (share[:, None] * shift)[self.owner]
        theirs = other.values + other.root_weight[:, None] * ((1.0 - share)[:, None] * shift)[other.owner]
        return type(self)(
            np.concatenate([mine, theirs]),
            np.concatenate([self.owner, other.owner]),
            np.concatenate([self.root_weight, other.root_weight]),
        )

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(self.values, np.asarray(index, dtype=np.int64)[self.owner], self.root_weight)

    def diagonal(self, k: int) -> Array:
        sums = np.zeros((k, self.values.shape[1]))
        np.add.at(sums, self.owner, self.values**2)
        return sums

    def dense(self, form: type[FullScatter] | type[PooledScatter], k: int) -> FullScatter | PooledScatter:
        """Return the same scatter as matrices."""
        if form is PooledScatter:
            return PooledScatter(self.values.T @ self.values)
        rows = (self.values[self.owner == c] for c in range(k))
        return FullScatter(np.stack([z.T @ z for z in rows]) if k else np.zeros((0, *self.values.shape[1:] * 2)))


FORMS: dict[str, type[Scatter]] = {
    form.name: form for form in (FullScatter, PooledScatter, DiagonalScatter, ThinScatter)
}
