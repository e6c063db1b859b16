"""Gaussian statistics with the third and fourth moments that Ledoit-Wolf shrinkage is computed from.

Ledoit & Wolf (2004), doi:10.1016/S0047-259X(03)00096-4, need Σ |z|⁴ of the standardised rows z. Standard deviations are
only known at the end, so what is kept is Σ z_j² z_l² for each pair of columns; moving it to another mean takes
Σ z_j² z_l, the scatter and the weight. All of them merge.

Under a covariance that all classes share only the sum of Σ z_j² z_l² over the classes is asked for. Moving the mean of
one class still takes that class's own d × d moments, so that k classes whose rows come in any order need k d² numbers,
or the rows. Where that is too much, only the classes that came last keep theirs and are open to more rows; of the
others what is left is their share of one (d, d) sum, exact as long as no more of their rows come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from .._arrays import Array, Codes, np
from ..errors import DataError, MergeError
from ._checks import NEGATIVE, codes as codes_below, floats, scatters
from ._moment_loops import (
    Moments,
    Own,
    class_moments,
    join_own,
    moments,
    own_moments,
    pooled_moments,
    steps_to,
)
from .gaussian import GaussianStats
from .scatter import FullScatter, PooledScatter, ThinScatter, gather, spread
from .statistic import Fields, Plain, Statistic

LARGEST = 1e150  # of a sum of squares, so that its own square stays in the range of floats
MOST_CELLS = 1 << 23  # 64 MiB for each of three arrays: of more, moments of classes with one covariance are added up


@dataclass(frozen=True, slots=True)
class FourthMomentStats(Statistic):
    """Per class, over complete rows: Gaussian statistics, `third` Σ w z_j² z_l and `fourth` Σ w z_j² z_l² (k, d, d).

    z are rows minus their class mean, and `moments` makes both when they are first asked for. A table wider than long
    keeps its rows, which hold all moments; the two arrays are then (k, 0, 0). With `shared`, for one covariance of all
    classes, k d² above `MOST_CELLS` makes the scatter and `fourth` sums over classes, (d, d); `third` and the scatters
    `own` (m, d, d) are those of the m classes `open`.
    """

    gaussian: GaussianStats
    moments: Moments
    shared: bool = False
    open: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def third(self) -> Array:
        """Σ w z_j² z_l of each class, or of those `open`, (·, d, d)."""
        return self.moments.made[0]

    @property
    def fourth(self) -> Array:
        """Σ w z_j² z_l² of each class (k, d, d), or of all (d, d)."""
        return self.moments.made[1]

    @property
    def own(self) -> Array:
        """The scatters of the classes `open` (m, d, d), where classes are added up."""
        return self.moments.made[2]

    @classmethod
    def zero(cls, k: int, d: int, shared: bool = False) -> Self:
        pooled = shared and k * d * d > MOST_CELLS
        gaussian = GaussianStats.zero(k, d, PooledScatter if pooled else FullScatter)
        if isinstance(gaussian.scatter, ThinScatter):
            return cls._of_rows(gaussian, shared)
        if pooled:
            return cls._summed(gaussian, np.zeros((d, d)), {})
        return cls(gaussian, Moments(*np.zeros((2, k, d, d))), shared)

    @classmethod
    def summarize(
        cls, rows: Array, codes: Codes | None = None, k: int = 1, weight: Array | None = None, shared: bool = False
    ) -> Self:
        """Return the statistics of a batch (n, d); DataError if a cell is missing."""
        n, d = rows.shape
        codes = np.zeros(n, dtype=np.int8) if codes is None else codes
        pooled = shared and k * d * d > MOST_CELLS
        gaussian = GaussianStats.summarize(rows, codes, k, weight, PooledScatter if pooled else FullScatter)
        if not np.isfinite(gaussian.mean).all():
            raise DataError(
                "Ledoit-Wolf shrinkage is computed from fourth moments, which need complete rows, and cells (NaN) are "
                'missing. Next: use shrinkage="oas", which does not, or drop the incomplete rows.'
            )
        _check_range(gaussian)
        if isinstance(gaussian.scatter, ThinScatter):
            return cls._of_rows(gaussian, shared)
        if pooled:
            found, opened = pooled_moments(rows, codes, gaussian.mean, weight, _most_open(d))
            return cls(gaussian, found, True, opened)
        return cls(gaussian, class_moments(rows, codes, gaussian.mean, weight), shared)

    @classmethod
    def _summed(cls, gaussian: GaussianStats, fourth: Array, own: Own) -> Self:
        """Return the statistics of a pooled scatter, with the moments of the last of the classes `own`."""
        d = gaussian.mean.shape[1]
        kept = list(own)[-_most_open(d) :]
        shape = (len(kept), d, d)
        scatter = np.array([own[c][0] for c in kept]).reshape(shape)
        third = np.array([own[c][1] for c in kept]).reshape(shape)
        return cls(gaussian, Moments(third, fourth, scatter), True, np.array(kept, dtype=np.int64))

    @classmethod
    def _of_rows(cls, gaussian: GaussianStats, shared: bool) -> Self:
        """Return the statistics of a thin scatter, which holds the moments of every class."""
        empty = np.zeros((len(gaussian.weight), 0, 0))
        return cls(replace(gaussian, form=FullScatter), Moments(empty, empty), shared)

    @property
    def is_pooled(self) -> bool:
        """Whether the classes keep no moments of their own."""
        return self.gaussian.form is PooledScatter

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both.

        MergeError where a class of a shared covariance that is no longer open is in both.
        """
        if not other.gaussian.weight.any():
            return self
        if not self.gaussian.weight.any():
            return other
        a, b = self.gaussian, other.gaussian
        if self.is_pooled or other.is_pooled:
            a, b = a.pooled(), b.pooled()
        gaussian = a.joined(b)
        _check_range(gaussian)
        if isinstance(gaussian.scatter, ThinScatter):  # the rows of both are there
            whole = self._of_rows(gaussian, self.shared)
            return whole if len(gaussian.scatter.owner) <= gaussian.mean.shape[1] else whole.dense()
        if gaussian.form is not PooledScatter:
            sides = [side.dense()._moved(gaussian.mean) for side in (self, other)]
            added = Moments(sides[0][0] + sides[1][0], sides[0][1] + sides[1][1])
            return type(self)(gaussian, added, self.shared)
        (first, mine), (second, theirs) = self._about(gaussian.mean), other._about(gaussian.mean)
        both = join_own(mine, self.gaussian.weight, theirs, other.gaussian.weight)
        return self._summed(gaussian, first + second, both)

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; see `GaussianStats.subtract`.

        MergeError where the classes keep no moments of their own.
        """
        if not other.gaussian.weight.any():
            return self
        if self.is_pooled or other.is_pooled:
            raise MergeError.moments_added_up(len(self.gaussian.weight))
        gaussian = self.gaussian.subtract(other.gaussian)
        if isinstance(gaussian.scatter, ThinScatter):
            return type(self)(gaussian, self.moments, self.shared)
        whole, part = self, other.dense()
        kept, touched = gaussian.weight > 0, part.gaussian.weight > 0
        mean = np.where(touched[:, None] & kept[:, None], gaussian.mean, self.gaussian.mean)
        third, fourth = (a - b for a, b in zip(whole._moved(mean), part._moved(mean), strict=True))
        flat = np.diagonal(gaussian.scatter.values, axis1=1, axis2=2) == 0
        nothing = flat[:, :, None] | flat[:, None, :]
        third, fourth = np.where(nothing, 0.0, third), np.where(nothing, 0.0, np.maximum(fourth, 0.0))
        changed = touched[:, None, None]
        third, fourth = np.where(changed, third, self.third), np.where(changed, fourth, self.fourth)
        return type(self)(gaussian, Moments(third, fourth), self.shared)

    def _pooled(self) -> Self:
        """Return the same statistics as matrices, with the moments of all classes added up."""
        if self.is_pooled:
            return self
        return self._summed(self.gaussian.pooled().dense(), *self._about(self.gaussian.mean))

    def _about(self, mean: Array) -> tuple[Array, Own]:
        """Return the fourth moments of all classes (d, d), and the own moments of open ones, about other means (k, d).

        MergeError for a class that is not open and has another mean.
        """
        thin, weight = self.gaussian.scatter, self.gaussian.weight
        shift = np.where((weight > 0)[:, None], mean - self.gaussian.mean, 0.0)
        if isinstance(thin, ThinScatter):
            z = thin.values / thin.root_weight[:, None] - shift[thin.owner]
            return moments(z, thin.root_weight**2)[1], own_moments(
                z, thin.owner, thin.root_weight**2, _most_open(mean.shape[1])
            )
        own: Own = {}
        if not self.is_pooled:
            third, fourth = self._moved(mean)
            for c in np.flatnonzero(weight).tolist()[-_most_open(mean.shape[1]) :]:
                own[c] = thin.values[c] + weight[c] * np.outer(shift[c], shift[c]), third[c]
            return fourth.sum(axis=0), own
        if shift[np.setdiff1d(np.arange(len(weight)), self.open)].any():
            raise MergeError.moments_added_up(len(weight))
        total = self.fourth.copy()
        for c, scatter, third in zip(self.open.tolist(), self.own, self.third, strict=True):
            more = steps_to(weight[c], scatter, third, shift[c])
            total += more[1]
            own[c] = scatter + weight[c] * np.outer(shift[c], shift[c]), third + more[0]
        return total, own

    def scale(self, factor: float) -> Self:
        third, fourth, own = self.third * factor, self.fourth * factor, self.own * factor
        return type(self)(self.gaussian.scale(factor), Moments(third, fourth, own), self.shared, self.open)

    def regroup(self, index: Codes, k: int) -> Self:
        if self.is_pooled:
            present = index[self.gaussian.weight > 0]
            if (present < 0).any() or len(np.unique(present)) < len(present):
                raise MergeError.moments_added_up(len(index))
        gaussian = self.gaussian.regroup(index, k)
        if isinstance(gaussian.scatter, ThinScatter):
            return self._of_rows(gaussian, self.shared)
        if self.is_pooled:
            return replace(self, gaussian=gaussian, open=index[self.open])
        if k == 0:
            return type(self)(gaussian, Moments(self.third[:0], self.fourth[:0]), self.shared)
        mean = np.where((index >= 0)[:, None], gaussian.mean[index], self.gaussian.mean)
        third, fourth = self._moved(mean)
        return type(self)(gaussian, Moments(gather(third, index, k), gather(fourth, index, k)), self.shared)

    def _moved(self, mean: Array) -> tuple[Array, Array]:
        """Return third and fourth moments about other class means (k, d); first moments about the own ones are 0."""
        weight, scatter = self.gaussian.weight, self.gaussian.scatter.values
        third, fourth = self.third.copy(), self.fourth.copy()
        for c, delta in enumerate(mean - self.gaussian.mean):
            if weight[c] == 0 or not delta.any():
                continue
            more = steps_to(weight[c], scatter[c], self.third[c], delta)
            third[c] += more[0]
            fourth[c] += more[1]
        return third, fourth

    def dense(self) -> Self:
        thin = self.gaussian.scatter
        if not isinstance(thin, ThinScatter):
            return self
        k, d = self.gaussian.mean.shape
        if self.shared and k * d * d > MOST_CELLS:
            return self._pooled()
        third, fourth = np.zeros((2, k, d, d))
        for c in range(k):
            own = thin.owner == c
            root = thin.root_weight[own]
            third[c], fourth[c] = moments(thin.values[own] / root[:, None], root**2)
        return type(self)(self.gaussian.dense(), Moments(third, fourth), self.shared)

    def norms(self, scale: Array, members: Sequence[int]) -> float:
        """Return Σ w |z / scale|⁴ over the rows of some classes, for standard deviations `scale` (d,)."""
        thin = self.gaussian.scatter
        if isinstance(thin, ThinScatter):
            own = np.isin(thin.owner, members)
            lengths = ((thin.values[own] / scale) ** 2).sum(axis=1)
            return float((lengths**2 / thin.root_weight[own] ** 2).sum())
        inverse = 1.0 / scale**2
        return self.moments.norms(inverse, members)

    def place(self, index: Sequence[int], k: int) -> Self:
        if isinstance(self.gaussian.scatter, ThinScatter):
            return self._of_rows(self.gaussian.place(index, k), self.shared)
        if self.is_pooled or (self.shared and k * self.gaussian.mean.shape[1] ** 2 > MOST_CELLS):
            small = self._pooled()
            opened = np.asarray(index, dtype=np.int64)[small.open]
            return replace(small, gaussian=small.gaussian.place(index, k), open=opened)
        third, fourth = spread(self.third, index, k), spread(self.fourth, index, k)
        return type(self)(self.gaussian.place(index, k), Moments(third, fourth), self.shared)

    @property
    def complete(self) -> GaussianStats:
        """The statistics without the higher moments; no cell of theirs is missing."""
        return self.gaussian

    def parts(self) -> tuple[GaussianStats]:
        return (self.gaussian,)

    def column_weight(self) -> Array:
        return self.gaussian.column_weight()

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.gaussian.arrays()
        fields = {**fields, "third": self.third, "fourth": self.fourth}
        if self.is_pooled:
            fields |= {"own_scatter": self.own, "open": self.open.astype(np.float64)}
        return fields, {**plain, "shared": self.shared}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        gaussian = GaussianStats.from_arrays(fields, plain)
        k, d = gaussian.mean.shape
        side = 0 if isinstance(gaussian.scatter, ThinScatter) else d
        shared = bool(plain.get("shared", False))
        if gaussian.form is not PooledScatter:
            third, fourth = floats(fields["third"], k, side, side), floats(fields["fourth"], k, side, side)
            _check_fourth(fourth)
            return cls(gaussian, Moments(third, fourth), shared)
        opened = codes_below(floats(fields["open"], None).astype(np.int64), k, None)
        shape = (len(opened), d, d)
        own = scatters(fields["own_scatter"], gaussian.mean, gaussian.weight, *shape)
        third, fourth = floats(fields["third"], *shape), floats(fields["fourth"], d, d)
        _check_fourth(fourth)
        if len(np.unique(opened)) < len(opened) or (opened != fields["open"]).any():
            raise ValueError("classes with moments of their own")
        return cls(gaussian, Moments(third, fourth, own), shared, opened)


def _check_fourth(fourth: Array) -> None:
    """Raise ValueError for sums of squares times squares that cannot be that; forgetting leaves some rounding."""
    if fourth.size and not -NEGATIVE * fourth.max() <= fourth.min() <= fourth.max() < LARGEST**2:
        raise ValueError("fourth moments below 0, or without end")


def _most_open(d: int) -> int:
    """Return how many classes keep moments of their own where they cannot all."""
    return max(2, MOST_CELLS // (d * d))


def _check_range(gaussian: GaussianStats) -> None:
    """Raise DataError where a sum of squares is so large that its square would overflow."""
    if gaussian.scatter.diagonal(len(gaussian.weight)).max(initial=0.0) > LARGEST:
        raise DataError(
            "Ledoit-Wolf shrinkage is computed from fourth moments, which overflow for numbers as far apart as these, "
            'about 1e75. Next: express the columns in larger units, or use shrinkage="oas", which needs only squares.'
        )
