"""Gaussian statistics with the third and fourth moments that Ledoit-Wolf shrinkage is computed from.

Ledoit & Wolf (2004), doi:10.1016/S0047-259X(03)00096-4, need Σ |z|⁴ of the standardised rows z. Standard deviations are
only known at the end, so what is kept is Σ z_j² z_l² for each pair of columns; moving it to another mean takes
Σ z_j² z_l, the scatter and the weight. All of them merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from .._arrays import Array, Codes, np, row_chunks
from ..errors import DataError
from .gaussian import GaussianStats
from .scatter import FullScatter, ThinScatter, gather, spread

CHUNK_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class FourthMomentStats:
    """Per class, over complete rows: Gaussian statistics, `third` Σ w z_j² z_l and `fourth` Σ w z_j² z_l² (k, d, d).

    z are rows minus their class mean. A table wider than long keeps its rows, which hold all moments; the two arrays
    are then (k, 0, 0).
    """

    gaussian: GaussianStats
    third: Array
    fourth: Array

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        """Return the statistics of no rows."""
        gaussian = GaussianStats.zero(k, d, FullScatter)
        side = 0 if isinstance(gaussian.scatter, ThinScatter) else d
        return cls(gaussian, np.zeros((k, side, side)), np.zeros((k, side, side)))

    @classmethod
    def summarize(cls, rows: Array, codes: Codes | None = None, k: int = 1, weight: Array | None = None) -> Self:
        """Return the statistics of a batch (n, d); DataError if a cell is missing."""
        codes = np.zeros(len(rows), dtype=np.int8) if codes is None else codes
        gaussian = GaussianStats.summarize(rows, codes, k, weight, FullScatter)
        if not np.isfinite(gaussian.mean).all():
            raise DataError(
                "Ledoit-Wolf shrinkage is computed from fourth moments, which need complete rows, and cells (NaN) are "
                'missing. Next: use shrinkage="oas", which does not, or drop the incomplete rows.'
            )
        if isinstance(gaussian.scatter, ThinScatter):
            return cls(gaussian, np.zeros((k, 0, 0)), np.zeros((k, 0, 0)))
        third, fourth = np.zeros((2, k, rows.shape[1], rows.shape[1]))
        for c in range(k):
            members = np.flatnonzero(codes == c)
            for part in row_chunks(len(members), max(1, CHUNK_CELLS // rows.shape[1])):
                own = members[part]
                add = _moments(rows[own] - gaussian.mean[c], None if weight is None else weight[own])
                third[c] += add[0]
                fourth[c] += add[1]
        return cls(gaussian, third, fourth)

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both."""
        if not other.gaussian.weight.any():
            return self
        if not self.gaussian.weight.any():
            return other
        gaussian = self.gaussian.merge(other.gaussian)
        if isinstance(gaussian.scatter, ThinScatter):
            return type(self)(gaussian, self.third, self.fourth)
        sides = [part.dense()._moved(gaussian.mean) for part in (self, other)]
        return type(self)(gaussian, sides[0][0] + sides[1][0], sides[0][1] + sides[1][1])

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; see `GaussianStats.subtract`."""
        if not other.gaussian.weight.any():
            return self
        gaussian = self.gaussian.subtract(other.gaussian)
        if isinstance(gaussian.scatter, ThinScatter):
            return type(self)(gaussian, self.third, self.fourth)
        whole, part = self, other.dense()
        kept, touched = gaussian.weight > 0, part.gaussian.weight > 0
        mean = np.where(touched[:, None] & kept[:, None], gaussian.mean, self.gaussian.mean)
        third, fourth = (a - b for a, b in zip(whole._moved(mean), part._moved(mean), strict=True))
        flat = np.diagonal(gaussian.scatter.values, axis1=1, axis2=2) == 0
        nothing = flat[:, :, None] | flat[:, None, :]
        third, fourth = np.where(nothing, 0.0, third), np.where(nothing, 0.0, np.maximum(fourth, 0.0))
        changed = touched[:, None, None]
        return type(self)(gaussian, np.where(changed, third, self.third), np.where(changed, fourth, self.fourth))

    def scale(self, factor: float) -> Self:
        """Return the statistics of the same rows with their weights multiplied by a factor above 0."""
        return type(self)(self.gaussian.scale(factor), self.third * factor, self.fourth * factor)

    def regroup(self, index: Codes, k: int) -> Self:
        """Return the statistics with class i made part of class index[i] of k, or left out (−1)."""
        gaussian = self.gaussian.regroup(index, k)
        if isinstance(gaussian.scatter, ThinScatter):
            return type(self)(gaussian, np.zeros((k, 0, 0)), np.zeros((k, 0, 0)))
        if k == 0:
            return type(self)(gaussian, self.third[:0], self.fourth[:0])
        mean = np.where((index >= 0)[:, None], gaussian.mean[index], self.gaussian.mean)
        third, fourth = self._moved(mean)
        return type(self)(gaussian, gather(third, index, k), gather(fourth, index, k))

    def _moved(self, mean: Array) -> tuple[Array, Array]:
        """Return third and fourth moments about other class means (k, d); first moments about the own ones are 0."""
        weight, scatter = self.gaussian.weight, self.gaussian.scatter.values
        third, fourth = self.third.copy(), self.fourth.copy()
        for c, delta in enumerate(mean - self.gaussian.mean):
            if weight[c] == 0 or not delta.any():
                continue
            square = delta**2
            variances = np.diagonal(scatter[c])
            cross = self.third[c] * delta
            third[c] -= variances[:, None] * delta + 2.0 * delta[:, None] * scatter[c]
            third[c] -= weight[c] * square[:, None] * delta
            fourth[c] += 4.0 * np.outer(delta, delta) * scatter[c] + weight[c] * np.outer(square, square)
            fourth[c] += np.outer(variances, square) + np.outer(square, variances) - 2.0 * (cross + cross.T)
        return third, fourth

    def dense(self) -> Self:
        """Return the same statistics with matrices for the rows of a thin scatter."""
        thin = self.gaussian.scatter
        if not isinstance(thin, ThinScatter):
            return self
        k, d = self.gaussian.mean.shape
        third, fourth = np.zeros((2, k, d, d))
        for c in range(k):
            own = thin.owner == c
            root = thin.root_weight[own]
            third[c], fourth[c] = _moments(thin.values[own] / root[:, None], root**2)
        return type(self)(self.gaussian.dense(), third, fourth)

    def norms(self, scale: Array, members: Sequence[int]) -> float:
        """Return Σ w |z / scale|⁴ over the rows of some classes, for standard deviations `scale` (d,)."""
        thin = self.gaussian.scatter
        if isinstance(thin, ThinScatter):
            own = np.isin(thin.owner, members)
            lengths = ((thin.values[own] / scale) ** 2).sum(axis=1)
            return float((lengths**2 / thin.root_weight[own] ** 2).sum())
        inverse = 1.0 / scale**2
        return float(sum(inverse @ self.fourth[c] @ inverse for c in members))

    def place(self, index: Sequence[int], k: int) -> Self:
        """Return the same statistics with class i moved to number index[i] of k."""
        return type(self)(self.gaussian.place(index, k), spread(self.third, index, k), spread(self.fourth, index, k))

    def column_weight(self) -> Array:
        """Return the weight of the observed cells by class and column (k, d)."""
        return self.gaussian.column_weight()

    def arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the fields as named arrays and plain values."""
        fields, plain = self.gaussian.arrays()
        return {**fields, "third": self.third, "fourth": self.fourth}, plain

    @classmethod
    def from_arrays(cls, fields: dict[str, Array], plain: dict[str, Any]) -> Self:
        """Return the statistics written by `arrays`."""
        gaussian = GaussianStats.from_arrays(fields, plain)
        k, d = gaussian.mean.shape
        side = 0 if isinstance(gaussian.scatter, ThinScatter) else d
        if fields["third"].shape != (k, side, side) or fields["fourth"].shape != (k, side, side):
            raise ValueError("shapes of third and fourth moments")
        return cls(gaussian, fields["third"], fields["fourth"])


def _moments(z: Array, weight: Array | None) -> tuple[Array, Array]:
    square = z**2
    weighted = square if weight is None else square * weight[:, None]
    return weighted.T @ z, weighted.T @ square
