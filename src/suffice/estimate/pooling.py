"""One number from many classes: variances within classes, and about the mean of all rows."""

from __future__ import annotations

from .._arrays import Array, np


def pooled_variance(squares: Array, divisor: Array) -> Array:
    """Return the variance of each column about its class means, over all classes (d,)."""
    return np.asarray(squares.sum(axis=0) / divisor)


def total_variance(mean: Array, weight: Array, squares: Array) -> Array:
    """Return the variance of each column about the mean of all rows (d,), with divisor n.

    `mean` and `weight` (k, d) are by class, `squares` (k or 1, d) the sums of squares about the class means.
    """
    total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    heaviest = mean[weight.argmax(axis=0), np.arange(mean.shape[1])]
    offset = np.where(weight > 0, mean - heaviest, 0.0)
    center = (weight * offset).sum(axis=0) / total
    return np.asarray((squares.sum(axis=0) + (weight * (offset - center) ** 2).sum(axis=0)) / total)
