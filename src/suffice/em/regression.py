"""Regressions of missing cells on observed ones, for many patterns at once.

Under N(μ, Σ) the missing cells of a row are μ_m + B (x_o − μ_o) plus noise of covariance C, B = Σ_mo Σ_oo⁻¹ and
C = Σ_mm − B Σ_om. With the precision matrix P = Σ⁻¹ these are −P_mm⁻¹ P_mo and P_mm⁻¹: a few missing cells cost the
inverse of a small matrix. Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2.

All that EM does with missing cells comes here. `densities.conditional` has the law of one pattern, from which missing
cells are imputed and drawn: one Cholesky factor that holds slopes and a factor of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from .._arrays import Array, Codes, NDArray, np
from ..densities.regularize import FLOOR, USABLE, correlations, least_amount, shrink

# A correlation matrix with a lower eigenvalue is too near singular to regress with. Estimates are kept above USABLE:
# at half of that no covariance that was mended, or is an estimate, comes to be mended again for rounding.
SINGULAR = 0.5 * USABLE


class Given(NamedTuple):
    """Regressions of s patterns with o observed and m missing cells."""

    slopes: Array  # (s, m, o)
    noise: Array  # (s, m, m) covariance that is left over
    log_det: Array  # (s,) of the covariance of the observed cells


@dataclass(frozen=True, slots=True)
class Regressions:
    """What the regressions under some covariances (c, d, d) are made of: these, their inverses and log determinants.

    `of` (g,) is which of them each unit has: several classes may share one.
    """

    covariance: Array
    precision: Array
    log_det: Array
    of: Codes

    @classmethod
    def under(cls, covariance: Array, of: Codes | None = None) -> Self:
        """Return the regressions under covariances (c, d, d), none of them near singular; see `nearest_spd`.

        Without `of` each unit has its own.
        """
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        scale = sd[:, :, None] * sd[:, None, :]
        precision = np.linalg.inv(covariance / scale) / scale
        precision = 0.5 * (precision + precision.transpose(0, 2, 1))
        of = np.arange(len(covariance)) if of is None else of
        return cls(covariance, precision, np.linalg.slogdet(covariance)[1], of)

    def given(self, unit: Codes, observed: Codes, missing: Codes) -> Given:
        """Return the regressions of `missing` (s, m) on `observed` cells (s, o), each in its `unit` (s,)."""
        own, seen, gone = self.of[unit], observed, missing
        at = own[:, None, None]
        if missing.shape[1] <= observed.shape[1]:
            within = self.precision[at, gone[:, :, None], gone[:, None, :]]
            noise: Array = np.asarray(np.linalg.inv(within), dtype=np.float64)
            slopes = -noise @ self.precision[at, gone[:, :, None], seen[:, None, :]]
            return Given(slopes, noise, np.asarray(self.log_det[own] + _log_det(within), dtype=np.float64))
        within = self.covariance[at, seen[:, :, None], seen[:, None, :]]
        across = self.covariance[at, gone[:, :, None], seen[:, None, :]]
        slopes = across @ np.linalg.inv(within)
        noise = self.covariance[at, gone[:, :, None], gone[:, None, :]] - slopes @ across.transpose(0, 2, 1)
        return Given(slopes, np.asarray(noise, dtype=np.float64), _log_det(within))


def nearest_spd(covariance: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return covariances (g, d, d), those too near singular to regress with mended, and which these are (g,).

    In standard units, in which FLOOR is a variance.
    """
    d = covariance.shape[1]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    mended = np.asarray((variance < FLOOR).any(axis=1))
    sd = np.sqrt(np.maximum(variance, FLOOR))
    shifted = covariance / (sd[:, :, None] * sd[:, None, :])
    shifted[:, np.arange(d), np.arange(d)] = 1.0 - SINGULAR
    try:
        np.linalg.cholesky(shifted)
        suspects = np.flatnonzero(mended)
    except np.linalg.LinAlgError:
        suspects = np.arange(len(covariance))
    fixed = covariance.copy() if len(suspects) else covariance
    for i in suspects:
        variance = np.maximum(np.diagonal(covariance[i]), FLOOR)
        correlation = correlations(covariance[i], variance)
        if mended[i] or np.linalg.eigvalsh(correlation)[0] < SINGULAR:
            fixed[i], mended[i] = shrink(covariance[i], variance, least_amount(correlation)), True
    return fixed, mended


def _log_det(matrices: Array) -> Array:
    """Return log determinants of positive definite matrices (s, m, m)."""
    if matrices.shape[1] == 1:
        return np.asarray(np.log(matrices[:, 0, 0]))
    return np.asarray(np.linalg.slogdet(matrices)[1])
