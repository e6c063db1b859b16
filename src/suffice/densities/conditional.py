"""Some columns of a Gaussian given the others, by structure of the covariance: a regression and its noise.

Each law is of the form x_m = μ_m + f(x_o − μ_o) + noise, f linear, the noise Gaussian and independent of x_o
(Mardia, Kent & Bibby, Multivariate Analysis, theorem 3.2.4): `mean` is f, `noise` draws the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from .._arrays import Array, invert_triangular, lower_factor, np


class Conditional(Protocol):
    """What `Gaussian` asks of the law of missing columns given observed ones."""

    def mean(self, centered: Array) -> Array:
        """Return f of observed cells less their means: (n, observed) → (n, missing)."""

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        """Return `n` draws of the noise (n, missing)."""

    def spread_of_each(self) -> Array:
        """Return the standard deviation of the noise of each column (missing,)."""


@dataclass(frozen=True, slots=True)
class Regression:
    """Least squares: `slopes` Σ_oo⁻¹ Σ_om (observed, missing), noise of covariance L Lᵀ, `lower` L."""

    slopes: Array
    lower: Array

    @classmethod
    def of(cls, scatter: Array, divisor: float, observed: Sequence[int], missing: Sequence[int]) -> Self:
        """Return the law under the covariance scatter / divisor (d, d).

        One Cholesky factor of the correlations, observed columns first, holds both: L_mo L_oo⁻¹ are the slopes, and
        L_mm L_mmᵀ is the covariance of the noise, positive definite without any subtraction.
        """
        own, o = np.array([*observed, *missing]), len(observed)
        matrix = scatter[np.ix_(own, own)]
        scale = np.sqrt(np.diagonal(matrix))
        lower = lower_factor(matrix / scale[:, None] / scale, overwrite=True)
        slopes = lower[o:, :o] @ invert_triangular(lower[:o, :o]) if o else np.zeros((len(missing), 0))
        slopes = (slopes * scale[o:, None] / scale[:o]).T
        return cls(slopes, lower[o:, o:] * (scale[o:, None] / np.sqrt(divisor)))

    def mean(self, centered: Array) -> Array:
        return np.asarray(centered @ self.slopes)

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        return np.asarray(rng.standard_normal((n, len(self.lower))) @ self.lower.T)

    def spread_of_each(self) -> Array:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.lower, self.lower)))


@dataclass(frozen=True, slots=True)
class Independent:
    """Columns that nothing else tells about: standard deviations `scale` (missing,)."""

    scale: Array

    def mean(self, centered: Array) -> Array:
        return np.zeros((len(centered), len(self.scale)))

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        return np.asarray(rng.standard_normal((n, len(self.scale))) * self.scale)

    def spread_of_each(self) -> Array:
        return self.scale


@dataclass(frozen=True, slots=True)
class Factors:
    """x = D^½ (F u + √s e), with few factors u and independent u, e ~ N(0, I): only the factors carry over.

    u given x_o is Gaussian with mean A⁻¹ F_oᵀ z_o and covariance s A⁻¹, where A = F_oᵀ F_o + s I (r, r) and
    z_o = D_o^(−½) (x_o − μ_o). `slopes` (observed, r) maps x_o − μ_o to that mean, `spread` (r, r) is a factor of the
    covariance, `loadings` (missing, r) = D_m^½ F_m and `scale` (missing,) = √s D_m^½.
    """

    slopes: Array
    spread: Array
    loadings: Array
    scale: Array

    @classmethod
    def of(cls, loadings: Array, sd: Array, floor: float, observed: Sequence[int], missing: Sequence[int]) -> Self:
        """Return the law for F = `loadings` (d, r), D^½ = `sd` (d,) and s = `floor`; never d × d."""
        seen, unseen = list(observed), list(missing)
        own = loadings[seen]
        inverse = invert_triangular(lower_factor(own.T @ own + floor * np.eye(loadings.shape[1])))
        slopes = (own / sd[seen][:, None]) @ (inverse.T @ inverse)
        spread = np.sqrt(floor) * inverse.T
        return cls(slopes, spread, loadings[unseen] * sd[unseen][:, None], np.sqrt(floor) * sd[unseen])

    def mean(self, centered: Array) -> Array:
        return np.asarray((centered @ self.slopes) @ self.loadings.T)

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        factors = rng.standard_normal((n, len(self.spread))) @ self.spread.T
        return np.asarray(factors @ self.loadings.T + rng.standard_normal((n, len(self.scale))) * self.scale)

    def spread_of_each(self) -> Array:
        by_factors = self.loadings @ self.spread
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", by_factors, by_factors) + self.scale**2))
