"""The forms a centred, unnormalised scatter Σ w (x − mean)(x − mean)ᵀ can take; each keeps only what is asked of it.

`FullScatter` (k, d, d) per class, `PooledScatter` (d, d) summed over classes, `DiagonalScatter` (k, d) per class and
column, `LowRankScatter` the centred rows themselves: with more columns than rows, d × d must not exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from .._arrays import Array, Codes, Flags, NDArray, V, check_bytes, np
from ..errors import MergeError, either, setting


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
    def regroup(self, index: Codes, k: int, weight: Array, shift: Array) -> Self:
        """Return the scatter of classes put together: class i becomes part of index[i] of k, or leaves (−1).

        `weight` (k,) or (k, d) and `shift` (k, d) are each class's own weight and way to its new mean.
        """

    @abstractmethod
    def scale(self, factor: float) -> Self:
        """Return the scatter of the same rows with their weights multiplied."""

    @abstractmethod
    def without(self, gone: Flags) -> Self:
        """Return the scatter without what some classes (k,), or columns of classes (k, d), add to it."""

    @property
    def own_size(self) -> int:
        """How many numbers are kept for single classes beside `values`."""
        return 0

    @property
    def kept_rows(self) -> int:
        """How many rows are kept as they are, in the place of a matrix."""
        return 0

    @abstractmethod
    def diagonal(self, k: int) -> Array:
        """Return the sums of squares by class and column (k, d); pooled ones have one row for all classes."""


OWN_CELLS = 1 << 20  # 8 MiB: a pooled scatter remembers the parts of its classes while they are no more than this


def keeps_own(k: int, d: int) -> bool:
    """Return whether the scatters of the classes are kept beside their sum."""
    return k * d * d <= OWN_CELLS


def gather(values: NDArray[V], index: Codes, k: int) -> NDArray[V]:
    """Return sums (k, …) by class, part or row: values[i] is added at position index[i] of k, or left out (−1)."""
    total, kept = np.zeros((k, *values.shape[1:]), dtype=values.dtype), index >= 0
    np.add.at(total, index[kept], values[kept])
    return total


def spread(values: Array, index: Sequence[int], k: int) -> Array:
    """Return an array with `values[i]` at position index[i] of a leading axis of length k, zeros elsewhere."""
    placed = np.zeros((k, *values.shape[1:]), dtype=values.dtype)
    placed[list(index)] = values
    return placed


def check_scatter(form: type[Scatter], k: int, d: int) -> None:
    """Raise DataError, before anything is allocated, if scatters of k classes and d columns would not fit in memory."""
    if form is FullScatter:
        what = f"A covariance of {d:,} columns for each of {k:,} classes"
        shared = either("shared=True", "--model shared")
        advice = f"fewer columns, one covariance for all classes ({shared}), or {setting('covariance', 'diagonal')}"
        check_bytes(8 * k * d * d, what, advice)
    elif form is PooledScatter:
        advice = f"fewer columns, or {setting('covariance', 'diagonal')}"
        check_bytes(8 * d * d, f"A covariance of {d:,} columns", advice)


@dataclass(frozen=True, slots=True)
class FullScatter(Scatter):
    """One scatter matrix per class."""

    name: ClassVar[str] = "full"

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        check_scatter(cls, k, d)
        return cls(np.zeros((k, d, d)))

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        values, coefficient = self.values + other.values, weight * share
        for c in np.flatnonzero(coefficient):  # one class at a time: never k × d × d of temporaries
            values[c] += np.outer(coefficient[c] * shift[c], shift[c])
        return type(self)(values)

    def place(self, index: Sequence[int], k: int) -> Self:
        check_scatter(type(self), k, self.values.shape[1])
        return type(self)(spread(self.values, index, k))

    def regroup(self, index: Codes, k: int, weight: Array, shift: Array) -> Self:
        values = gather(self.values, index, k)
        for i, target in enumerate(index.tolist()):
            if target >= 0 and shift[i].any():
                values[target] += np.outer(weight[i] * shift[i], shift[i])
        return type(self)(values)

    def scale(self, factor: float) -> Self:
        return type(self)(self.values * factor)

    def without(self, gone: Flags) -> Self:
        return type(self)(np.where(gone[:, None, None], 0.0, self.values))

    def diagonal(self, k: int) -> Array:
        return np.diagonal(self.values, axis1=1, axis2=2).copy()


@dataclass(frozen=True, slots=True)
class PooledScatter(Scatter):
    """The scatter about the class means, summed over classes.

    `by_class` (k, d, d), what each class adds to it, is kept while it has at most `OWN_CELLS` numbers, so that a class
    can leave again; else None.
    """

    name: ClassVar[str] = "pooled"
    by_class: Array | None = None

    @property
    def own_size(self) -> int:
        return 0 if self.by_class is None else int(self.by_class.size)

    @classmethod
    def of(cls, by_class: Array) -> Self:
        """Return the sum of class scatters (k, d, d), with these where they are few enough."""
        return cls(by_class.sum(axis=0), by_class if keeps_own(len(by_class), by_class.shape[1]) else None)

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((d, d)), np.zeros((k, d, d)) if keeps_own(k, d) else None)

    def add(self, other: Self, weight: Array, share: Array, shift: Array) -> Self:
        if self.by_class is not None and other.by_class is not None:
            return type(self).of(
                FullScatter(self.by_class).add(FullScatter(other.by_class), weight, share, shift).values
            )
        return type(self)(self.values + other.values + ((weight * share)[:, None] * shift).T @ shift)

    def place(self, index: Sequence[int], k: int) -> Self:
        kept = self.by_class is not None and keeps_own(k, len(self.values))
        return type(self)(self.values, spread(self.by_class, index, k) if kept and self.by_class is not None else None)

    def regroup(self, index: Codes, k: int, weight: Array, shift: Array) -> Self:
        if self.by_class is not None:
            return type(self).of(FullScatter(self.by_class).regroup(index, k, weight, shift).values)
        if weight[index < 0].any():
            raise MergeError.pooled(len(weight))
        return type(self)(self.values + (weight[:, None] * shift).T @ shift)

    def scale(self, factor: float) -> Self:
        return type(self)(self.values * factor, None if self.by_class is None else self.by_class * factor)

    def without(self, gone: Flags) -> Self:
        return self if self.by_class is None else type(self).of(np.where(gone[:, None, None], 0.0, self.by_class))

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

    def regroup(self, index: Codes, k: int, weight: Array, shift: Array) -> Self:
        per_column = weight if weight.ndim == 2 else weight[:, None]
        return type(self)(gather(self.values + per_column * shift**2, index, k))

    def scale(self, factor: float) -> Self:
        return type(self)(self.values * factor)

    def without(self, gone: Flags) -> Self:
        return type(self)(np.where(gone if gone.ndim == 2 else gone[:, None], 0.0, self.values))

    def diagonal(self, k: int) -> Array:
        return self.values.copy()


@dataclass(frozen=True, slots=True)
class LowRankScatter(Scatter):
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

    def regroup(self, index: Codes, k: int, weight: Array, shift: Array) -> Self:
        kept = index[self.owner] >= 0
        owner, root = self.owner[kept], self.root_weight[kept]
        return type(self)(self.values[kept] + root[:, None] * shift[owner], index[owner], root)

    @property
    def kept_rows(self) -> int:
        return len(self.owner)

    def scale(self, factor: float) -> Self:
        root = np.sqrt(factor)
        return type(self)(self.values * root, self.owner, self.root_weight * root)

    def without(self, gone: Flags) -> Self:
        kept = ~gone[self.owner]
        return type(self)(self.values[kept], self.owner[kept], self.root_weight[kept])

    def diagonal(self, k: int) -> Array:
        return gather(self.values**2, self.owner, k)

    def dense(self, form: type[FullScatter] | type[PooledScatter], k: int) -> FullScatter | PooledScatter:
        """Return the same scatter as matrices."""
        check_scatter(form, k, self.values.shape[1])
        if form is PooledScatter and not keeps_own(k, self.values.shape[1]):
            return PooledScatter(self.values.T @ self.values)
        rows = (self.values[self.owner == c] for c in range(k))
        own = np.stack([z.T @ z for z in rows]) if k else np.zeros((0, *self.values.shape[1:] * 2))
        return PooledScatter.of(own) if form is PooledScatter else FullScatter(own)


FORMS: dict[str, type[Scatter]] = {
    form.name: form for form in (FullScatter, PooledScatter, DiagonalScatter, LowRankScatter)
}
