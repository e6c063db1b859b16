"""Downdates of Gaussian statistics by one row, and when they can be trusted.

It may where no single row can bring a variance or an eigenvalue near the point where an estimate is repaired; any other
row is left out by a refit, so that the answer is what the library says of the other rows.

Without a row x of weight w of class c, with δ = x − m_c and left = n_c − w:
n_c' = left, m_c' = m_c − (w / left) δ, S_c' = S_c − h δδᵀ with h = w n_c / left, and x − m_c' = (n_c / left) δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, NDArray, np
from ..densities import Gaussian, Spherical
from ..densities.regularize import FLOOR, ROUNDING
from ..estimate import Settings
from ..estimate.shrinkage import Shrinkage
from ..stats import GaussianStats
from ..stats.pooling import Pool, divisors, mixed_divisors, total_variance

LEAST_KEPT = 1e-3  # share of a sum of squares that must remain without the row: below, a formula loses digits
ROOM = 1e4  # how far above the floors of an estimate variances must be, so that no single row brings them there
EMPTY = 1e-9  # of the weight of a class: what is left below this is rounding

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Leaving:
    """Rows (n, d) of the columns in use, one of which leaves at a time, and the statistics it leaves.

    `codes` (n,) are class numbers, `weight` (n,) row weights; `count` (k,), or (k, d) by column for independent
    columns, and `mean` (k, d) those of the statistics; `scatter` (k, d, d), (d, d) or (k, d).
    """

    rows: Array
    codes: Codes
    weight: Array
    count: Array
    mean: Array
    scatter: Array
    shrinkage: Shrinkage
    rule: str
    shared: bool

    @classmethod
    def of(
        cls,
        rows: Array,
        codes: Codes,
        weight: Array,
        stats: GaussianStats,
        used: Sequence[int],
        settings: Settings,
        shared: bool,
    ) -> Leaving:
        """Return the same for some columns of rows and statistics."""
        keep, values, count = list(used), stats.scatter.values, stats.weight
        if len(keep) < rows.shape[1]:
            rows = rows[:, keep]
            values = values[..., keep, :][..., keep] if stats.weight.ndim == 1 else values[:, keep]
            count = count if count.ndim == 1 else count[:, keep]
        mean = stats.mean[:, keep]
        return cls(rows, codes, weight, count, mean, values, settings.shrinkage, settings.divisor, shared)

    @property
    def d(self) -> int:
        """The number of columns in use."""
        return int(self.rows.shape[1])

    @property
    def everyone(self) -> bool:
        """Whether a row also leaves the densities of other classes than its own."""
        return self.shared or self.shrinkage.pooling > 0

    def own(self, index: slice | Codes) -> tuple[Array, Array, Array]:
        """Return, for some rows (b,), what is left of the class's weight (not above 0: none), h, and n_c / left."""
        count, w = self.count[self.codes[index]], self.weight[index]
        left = count - w
        left = np.where(left > EMPTY * count, left, 0.0)
        safe = np.where(left > 0, left, 1.0)
        return left, np.where(left > 0, w * count / safe, 0.0), np.where(left > 0, count / safe, 1.0)

    def divisors(self) -> Array:
        """Return what each class's (or the shared) sums of squares are divided by with all rows (k,)."""
        if self.shared:
            pooled = divisors(self.count.sum(keepdims=True), (self.count > 0).sum(), self.rule)
            return np.broadcast_to(pooled, self.count.shape)
        return mixed_divisors(self.count, self._pool(0.0), self.rule)

    def divisors_without(self, index: slice | Codes, c: int | None = None) -> Array:
        """Return the same without each of some rows (b,): of their own class (None), or of class `c`."""
        if self.shared:
            return divisors(self.count.sum() - self.weight[index], (self.count > 0).sum(), self.rule)
        left = self.own(index)[0]
        if c is not None:
            left = np.where(self.codes[index] == c, left, self.count[c])
        return mixed_divisors(left, self._pool(self.weight[index]), self.rule)

    def _pool(self, less: Array | float) -> Pool:
        return Pool(self.count.sum() - less, (self.count > 0).sum(), self.shrinkage.pooling)


def comfortable(stats: GaussianStats, density: Gaussian, settings: Settings, shared: bool) -> bool:
    """Return whether no variance is near a floor of the estimate, with all rows or without any one of them.

    A row of which at most the share 1 − LEAST_KEPT of any sum of squares leaves cannot bring it there either.
    """
    weight = stats.column_weight()
    squares, used = stats.scatter.diagonal(len(weight)), list(density.used)
    rounding = (ROUNDING * np.abs(stats.mean).max(axis=0, initial=0.0)) ** 2
    total = total_variance(stats.mean, weight, squares)
    pooled = squares.sum(axis=0) / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    share = settings.shrinkage.pooling
    if not used or np.delete(total > rounding / 16.0, used).any():
        return False
    if not (weight > 0).all():
        return False
    squares, weight, pooled, rounding = (part[..., used] for part in (squares, weight, pooled, rounding))
    sums, counts = squares, weight
    if isinstance(density.covariance, Spherical):
        if (pooled <= rounding / FLOOR).any():
            return False
        pooled = pooled.mean(keepdims=True)
        sums, counts, rounding = squares.sum(axis=1)[:, None], weight.sum(axis=1)[:, None], np.zeros(1)
    if shared:
        sums, counts = sums.sum(axis=0), counts.sum(axis=0)
    sums, counts = ((1.0 - share) * part + share * part.sum(axis=0) for part in (sums, counts))
    return bool((sums > counts * np.maximum(ROOM * FLOOR * pooled, rounding / FLOOR)).all())
