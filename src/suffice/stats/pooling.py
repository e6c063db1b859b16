"""Weights, means and variances of every column: by class, pooled within classes, and about the mean of all rows."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple, Self

from .._arrays import Array, Codes, np
from .gaussian import GaussianStats
from .mixture import MixtureStats
from .patterns import CompletedStats, PatternStats
from .scatter import gather
from .values import ValueStats


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


def overall(stats: GaussianStats) -> tuple[Array, Array]:
    """Return the mean and the variance of each column over all rows (d,), with divisor n."""
    weight = stats.column_weight()
    return overall_mean(stats.mean, weight), total_variance(stats.mean, weight, stats.scatter.diagonal(len(weight)))


def _about_heaviest(mean: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Return the mean of each column's heaviest class (d,); class means (k, d) and that of all rows (d,) about it, so
    that nothing cancels; and the weight of all rows (d,), 1 where there are none.
    """
    total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    heaviest = mean[weight.argmax(axis=0), np.arange(mean.shape[1])]
    offset = np.where(weight > 0, mean - heaviest, 0.0)
    return heaviest, offset, (weight * offset).sum(axis=0) / total, total


class Moments(NamedTuple):
    """By class and column (k, d): the weight of the observed cells, their mean, and Σ w (x − mean)².

    Where classes share one scatter each has its share of it by weight.
    """

    weight: Array
    mean: Array
    scatter: Array

    def merge(self, other: Self) -> Moments:
        """Return the moments of the cells of both."""
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        shift = np.where((self.weight > 0) & (other.weight > 0), other.mean - self.mean, 0.0)
        mean = np.where(self.weight > 0, self.mean + share * shift, other.mean)
        return Moments(weight, mean, self.scatter + other.scatter + self.weight * share * shift**2)

    def regroup(self, index: Codes, k: int) -> Moments:
        """Return the moments with class i made part of class index[i] of k, or left out (−1)."""
        weight = gather(self.weight, index, k)
        total = np.where(weight > 0, weight, 1.0)
        base = np.zeros_like(weight)
        base[index[index >= 0]] = self.mean[index >= 0]  # sums are taken about one of the means
        away = np.where((self.weight > 0) & (index >= 0)[:, None], self.mean - base[index], 0.0)
        mean = base + gather(self.weight * away, index, k) / total
        shift = np.where((self.weight > 0) & (index >= 0)[:, None], self.mean - mean[index], 0.0)
        scatter = gather(self.scatter + self.weight * shift**2, index, k)
        return Moments(weight, np.where(weight > 0, mean, 0.0), scatter)

    def pooled(self) -> Moments:
        """Return the moments of all classes together, as those of one."""
        return self.regroup(np.zeros(len(self.weight), dtype=np.int64), 1)

    @classmethod
    def of_column(cls, cells: Array, codes: Codes, k: int, weight: Array) -> Moments:
        """Return the moments (k, 1) of a column's cells (n,), NaN where missing, of these classes and weights (n,)."""
        seen = ~np.isnan(cells) & (weight > 0)
        x, own, w = cells[seen], codes[seen], weight[seen]
        total = np.bincount(own, weights=w, minlength=k).astype(np.float64)
        below = np.where(total > 0, total, 1.0)
        start = float(x[0]) if len(x) else 0.0  # sums are taken about a cell, so that an offset costs no digits
        mean = start + np.bincount(own, weights=w * (x - start), minlength=k) / below
        scatter = np.bincount(own, weights=w * (x - mean[own]) ** 2, minlength=k).astype(np.float64)
        return cls(total[:, None], np.where(total > 0, mean, 0.0)[:, None], scatter[:, None])


@singledispatch
def column_moments(stats: object) -> Moments | None:
    """Return the moments of a block of numbers; None where its statistic holds no sums of squares."""
    return None


@column_moments.register
def _(stats: GaussianStats) -> Moments:
    weight = np.array(stats.column_weight())
    scatter = stats.scatter.diagonal(len(weight))
    if len(scatter) != len(weight):
        scatter = weight / max(float(weight[:, 0].sum()), 1e-300) * scatter if weight.shape[1] else weight
    return Moments(weight, stats.mean, scatter)


@column_moments.register
def _(stats: PatternStats) -> Moments:
    found = _of(stats.complete)
    for pattern, (present, part) in stats.incomplete.items():
        own, columns = _of(part), np.ix_(present, np.asarray(pattern))
        spread = Moments(*(np.zeros_like(found.weight) for _ in range(3)))
        for whole, some in zip(spread, own, strict=True):
            whole[columns] = some
        found = found.merge(spread)
    return found


@column_moments.register
def _(stats: CompletedStats) -> Moments:
    own = _of(stats.complete)
    scatter = np.where(own.weight > 0, own.scatter * stats.observed / np.where(own.weight > 0, own.weight, 1.0), 0.0)
    return Moments(stats.observed, own.mean, scatter)


@column_moments.register
def _(stats: MixtureStats) -> Moments:
    found = column_moments(stats.inner)
    assert found is not None
    return found.regroup(stats.owner, stats.k)


@column_moments.register
def _(stats: ValueStats) -> Moments:
    k, d = stats.width.shape
    cells, values = stats.cells, stats.middles()
    weight = np.bincount(cells, weights=stats.weights, minlength=k * d)
    below = np.where(weight > 0, weight, 1.0)
    mean = np.bincount(cells, weights=stats.weights * values, minlength=k * d) / below
    scatter = np.bincount(cells, weights=stats.weights * (values - mean[cells]) ** 2, minlength=k * d)
    return Moments(*(part.reshape(k, d).astype(np.float64) for part in (weight, mean, scatter)))


def _of(stats: GaussianStats) -> Moments:
    found = column_moments(stats)
    assert found is not None
    return found
