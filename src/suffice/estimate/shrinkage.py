"""Make a covariance usable: shrink its correlations towards none, by the least that serves or by what was asked.

Rank and collinearity are judged on the correlation scale, so units do not matter: R_s = (1 − s) R + s I, which in the
columns' own units is Σ_s = (1 − s) Σ + s diag(Σ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, cholesky, invert_triangular, np
from ..errors import SettingError

USABLE = 1e-6  # least eigenvalue of a correlation matrix: rounding then moves a log density by about 1e-10
FLOOR = 1e-9  # least variance within a class, relative to the column's variance within all classes
ROUNDING = 64.0 * np.finfo(np.float64).eps  # a standard deviation this small beside the mean is rounding


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How much to shrink: None is the least that makes the covariance usable, 0.0 forbids any, s fixes it."""

    amount: Any = None

    def __post_init__(self) -> None:
        if self.amount is None:
            return
        if not isinstance(self.amount, int | float | np.number) or not 0.0 <= self.amount <= 1.0:
            raise SettingError(
                f"shrinkage={self.amount!r} is no number from 0 to 1. Next: give one, from 0 (none) to 1 (columns "
                "uncorrelated), or None for the least that works."
            )

    @property
    def forbidden(self) -> bool:
        """Whether a singular covariance is an error."""
        return bool(self.amount == 0.0)


def smallest_eigenvalue_is_usable(correlation: Array) -> bool:
    """Return whether every eigenvalue is at least USABLE, proved by a Cholesky factor or else by eigenvalues."""
    try:
        lower = cholesky(correlation, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    inverse = invert_triangular(lower)
    trace = float(np.einsum("ij,ij->", inverse, inverse))  # trace of R⁻¹ ≥ 1 / smallest eigenvalue
    return trace <= 1.0 / USABLE or float(np.linalg.eigvalsh(correlation)[0]) >= USABLE


def least_amount(correlation: Array) -> float:
    """Return the smallest s for which (1 − s) R + s I has no eigenvalue below USABLE; 0 if R is usable as it is."""
    if smallest_eigenvalue_is_usable(correlation):
        return 0.0
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    return max(0.0, (USABLE - smallest) / (1.0 - smallest))


def rank_and_columns(correlation: Array) -> tuple[int, list[int]]:
    """Return the rank of a correlation matrix and the columns that take part in its null directions."""
    values, vectors = np.linalg.eigh(correlation)
    d = len(values)
    null = values <= d * np.finfo(np.float64).eps * 16 * max(values[-1], 1.0)
    involved = (np.abs(vectors[:, null]) > 1e-6 * np.sqrt(d)).any(axis=1)
    return int((~null).sum()), [int(j) for j in np.flatnonzero(involved)]


def correlations(covariance: Array, variance: Array) -> Array:
    """Return the correlation matrix of a covariance whose diagonal is taken to be `variance`."""
    sd = np.sqrt(variance)
    correlation = covariance / sd[:, None] / sd
    np.fill_diagonal(correlation, 1.0)
    return correlation


def shrink(correlation: Array, variance: Array, amount: float) -> Array:
    """Return ((1 − s) R + s I) in the columns' own units."""
    sd = np.sqrt(variance)
    shrunk = (1.0 - amount) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk * sd[:, None] * sd)
