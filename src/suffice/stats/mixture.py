"""Statistics of the components of mixtures: each row counts in every component by its responsibility.

Responsibilities come from a fit to all rows, so these statistics describe one fit. They can be saved and estimated
again, but two sets merge only where every class is a single component: then they are plain facts about rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from .._arrays import Array, Codes, np
from ..errors import MergeError
from ._downdate import subtract_weights
from .gaussian import GaussianStats
from .patterns import CompletedStats, PatternStats
from .rows import numbered
from .scatter import gather, spread
from .statistic import Fields, Plain, Statistic, amounts, at_most, codes as codes_below, under

MOST_STEPS = 1 << 31
KINDS: dict[str, type[Statistic]] = {t.__name__: t for t in (GaussianStats, PatternStats, CompletedStats)}


@dataclass(frozen=True, slots=True)
class MixtureStats(Statistic):
    """Per component: its class `owner` (m,), ascending; its share of the rows `weight` (m,); and `inner` statistics.

    `inner` treats the m components as classes. By class, for the record: `asked` (k,) components, EM `steps` (k,), and
    `unfinished` (k,), 1 where EM was stopped before it converged.
    """

    owner: Codes
    weight: Array
    inner: Any
    asked: Codes
    steps: Codes
    unfinished: Codes

    @classmethod
    def single(cls, inner: Any, weight: Array) -> Self:
        """Return the statistics of one component per class, from those of the classes."""
        k = len(weight)
        ones = np.ones(k, dtype=np.int64)
        return cls(np.arange(k), weight, inner, ones, ones, np.zeros(k, dtype=np.int64))

    @property
    def k(self) -> int:
        return len(self.asked)

    @property
    def is_single(self) -> bool:
        """Whether every class is one component."""
        return len(self.owner) == self.k

    @property
    def counts(self) -> Codes:
        """How many components each class has (k,)."""
        return np.bincount(self.owner, minlength=self.k)

    @property
    def class_weight(self) -> Array:
        """The weight of each class (k,)."""
        return np.bincount(self.owner, weights=self.weight, minlength=self.k).astype(np.float64)

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both; MergeError unless every class is one component on both sides."""
        if not (self.is_single and other.is_single):
            raise MergeError.mixture()
        return replace(
            self,
            weight=self.weight + other.weight,
            inner=self.inner.merge(other.inner),
            steps=np.maximum(self.steps, other.steps),
            unfinished=np.maximum(self.unfinished, other.unfinished),
        )

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; MergeError unless components are single."""
        if not (self.is_single and other.is_single):
            raise MergeError.mixture("forget rows")
        weight = subtract_weights(self.weight, other.weight, "weight")
        return replace(self, weight=weight, inner=self.inner.subtract(other.inner))

    def scale(self, factor: float) -> Self:
        return replace(self, weight=self.weight * factor, inner=self.inner.scale(factor))

    def regroup(self, index: Codes, k: int) -> Self:
        """Return the statistics with class i made part of class index[i] of k, or left out (−1).

        Classes put together keep the components of all; classes of one component each stay so, as their rows merge.
        """
        new = index[self.owner]
        if self.is_single:
            target, m, owner = new, k, np.arange(k, dtype=self.owner.dtype)
        else:
            order = np.argsort(np.where(new < 0, k, new), kind="stable")[: int((new >= 0).sum())]
            target, m, owner = numbered(order, len(new)), len(order), new[order]
        steps, unfinished, kept = np.ones(k, dtype=np.int64), np.zeros(k, dtype=np.int64), index >= 0
        np.maximum.at(steps, index[kept], self.steps[kept])
        np.maximum.at(unfinished, index[kept], self.unfinished[kept])
        asked = np.ones(k, dtype=np.int64) if self.is_single else gather(self.asked, index, k)
        inner = self.inner.regroup(target, m)
        return type(self)(owner, gather(self.weight, target, m), inner, asked, steps, unfinished)

    def place(self, index: Sequence[int], k: int) -> Self:
        """Return the statistics with class i moved to number index[i] of k; a new class gets one empty component."""
        owner = np.asarray(index, dtype=np.int64)[self.owner]
        absent = np.setdiff1d(np.arange(k), owner)
        every = np.concatenate([owner, absent])
        order = np.argsort(every, kind="stable")
        moved = np.argsort(order)[: len(owner)].tolist()
        asked, steps, unfinished = np.ones(k, dtype=np.int64), np.ones(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
        for fresh, known in ((asked, self.asked), (steps, self.steps), (unfinished, self.unfinished)):
            fresh[list(index)] = known
        return type(self)(
            every[order],
            spread(self.weight, moved, len(every)),
            self.inner.place(moved, len(every)),
            asked,
            steps,
            unfinished,
        )

    def beside(self, other: Self) -> Self:
        """Return the statistics of other classes after those of this one."""
        m, total = len(self.owner), len(self.owner) + len(other.owner)
        first = self.inner.place(list(range(m)), total)
        second = other.inner.place(list(range(m, total)), total)
        return type(self)(
            np.concatenate([self.owner, other.owner + self.k]),
            np.concatenate([self.weight, other.weight]),
            first.merge(second),
            np.concatenate([self.asked, other.asked]),
            np.concatenate([self.steps, other.steps]),
            np.concatenate([self.unfinished, other.unfinished]),
        )

    def parts(self) -> tuple[Statistic, ...]:
        return tuple(self.inner.parts())

    def column_weight(self) -> Array:
        return gather(self.inner.column_weight(), self.owner, self.k)

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.inner.arrays()
        named: dict[str, Array] = {f"inner_{name}": values for name, values in fields.items()}
        own = {"owner": self.owner, "asked": self.asked, "steps": self.steps, "unfinished": self.unfinished}
        named |= {name: values.astype(np.int64) for name, values in own.items()}
        return named | {"weight": self.weight}, {"type": type(self.inner).__name__, "inner": plain}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        inner = KINDS[plain["type"]].from_arrays(under("inner_", fields), plain["inner"])
        weight, k = amounts(fields["weight"], None), len(fields["asked"])
        owner = codes_below(fields["owner"], k, len(weight))
        if not np.array_equal(np.unique(owner), np.arange(k)) or (np.diff(owner) < 0).any():
            raise ValueError("owner")
        asked = codes_below(fields["asked"], MOST_STEPS, k, least=1)
        steps, unfinished = codes_below(fields["steps"], MOST_STEPS, k), codes_below(fields["unfinished"], 2, k)
        observed = inner.column_weight()
        if len(observed) != len(owner) or not at_most(observed, weight[:, None]):
            raise ValueError("components")
        return cls(owner, weight, inner, asked, steps, unfinished)
