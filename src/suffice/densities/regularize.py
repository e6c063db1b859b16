"""Regularise a covariance: shrink its correlations by the least that makes it usable, or by a given amount.

Rank and collinearity are judged on the correlation scale, so units do not matter: R_s = (1 − s) R + s I, which in the
columns' own units is Σ_s = (1 − s) Σ + s diag(Σ).
"""

from __future__ import annotations

from .._arrays import Array, lower_factor, np

USABLE = 1e-6  # least eigenvalue of a correlation matrix: rounding then moves a log density by about 1e-10
FLOOR = 1e-9  # least variance within a class, relative to the column's variance within all classes
SMALLEST = 1e-290  # of a variance: FLOOR times it is still a number of full precision
ROUNDING = 64.0 * np.finfo(np.float64).eps  # a standard deviation this small beside the mean is rounding


def smallest_eigenvalue_is_usable(correlation: Array) -> bool:
    """Return whether every eigenvalue is at least USABLE: whether R − USABLE · I has a Cholesky factor."""
    shifted = correlation.copy()
    shifted.flat[:: len(shifted) + 1] -= USABLE
    try:
        lower_factor(shifted, overwrite=True)
    except np.linalg.LinAlgError:
        return False
    return True


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
    length = 1.0 / np.sqrt(variance)
    correlation = covariance * length[:, None]
    correlation *= length
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def shrink(covariance: Array, variance: Array, amount: float, out: Array | None = None) -> Array:
    """Return ((1 − s) R + s I) in the columns' own units, where R is that of `correlations`; in `out` if given."""
    shrunk = np.multiply(covariance, 1.0 - amount, out=out)
    np.fill_diagonal(shrunk, variance)
    return shrunk
