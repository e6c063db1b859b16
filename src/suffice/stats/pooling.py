"""Variances pooled within classes, and about the mean of all rows."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, np


class Pool(NamedTuple):
    """What all classes together add to each one's estimate: their weight, their number of means, and their share."""

    weight: Array | float
    means: Array | float
    share: float


def divisors(weight: Array | float, means: Array | float, rule: str) -> Array:
    """Return what sums of squares are divided by: the weight ("mle"), or less the means ("unbiased") if that is > 0."""
    less = weight - means if rule == "unbiased" else weight
    return np.where(less > 0, less, np.where(weight > 0, weight, 1.0))


def mixed_divisors(weight: Array, pool: Pool, rule: str, means: Array | float = 1.0) -> Array:
    """Return the divisors of (1 − λ) own + λ pooled sums of squares, λ the share of the pool; shapes broadcast."""
    if pool.share == 0.0:
        return divisors(weight, means, rule)
    own, total = (weight - means, pool.weight - pool.means) if rule == "unbiased" else (weight, pool.weight)
    mixed = (1.0 - pool.share) * np.maximum(own, 0.0) + pool.share * total
    return np.where(mixed > 0, mixed, np.where(weight > 0, weight, 1.0))


def pooled_variance(squares: Array, divisor: Array) -> Array:
    """Return the variance of each column about its class means, over all classes (d,)."""
    return np.asarray(squares.sum(axis=0) / divisor)


def total_variance(mean: Array, weight: Array, squares: Array) -> Array:
    """Return the variance of each column about the mean of all rows (d,), with divisor n.

    `mean` and `weight` (k, d) are by class, `squares` (k or 1, d) the sums of squares about the class means.
    """
    _, offset, center, total = _about_heaviest(mean, weight)
    return np.asarray((squares.sum(axis=0) + (weight * (offset - center) ** 2).sum(axis=0)) / total)


def overall_mean(mean: Array, weight: Array) -> Array:
    """Return the mean of each column over all rows (d,), of means and weights by class (k, d)."""
    heaviest, _, center, _ = _about_heaviest(mean, weight)
    return np.asarray(heaviest + center)


def _about_heaviest(mean: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Return the mean of each column's heaviest class (d,); class means (k, d) and that of all rows (d,) about it, so
    that nothing cancels; and the weight of all rows (d,), 1 where there are none.
    """
    total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    heaviest = mean[weight.argmax(axis=0), np.arange(mean.shape[1])]
    offset = np.where(weight > 0, mean - heaviest, 0.0)
    return heaviest, offset, (weight * offset).sum(axis=0) / total, total
