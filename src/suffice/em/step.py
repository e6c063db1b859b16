"""One EM step for Gaussians with missing cells, for all patterns of one size at once.

Under N(μ, Σ) the missing cells of a row are μ_m + B (x_o − μ_o) plus noise of covariance C, B = Σ_mo Σ_oo⁻¹ and
C = Σ_mm − B Σ_om. With the precision matrix P = Σ⁻¹ these are −P_mm⁻¹ P_mo and P_mm⁻¹: a few missing cells cost the
inverse of a small matrix. Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2. With δ
the rows less their mean, missing cells filled in, the squared distance of the observed cells is δᵀ P δ.

All that EM does with missing cells comes here. `densities.covariance` has the law of one pattern, from which missing
cells are imputed and drawn: one Cholesky factor that holds slopes and a factor of the noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from .._arrays import IN_MEMORY, Array, Codes, Flags, np, row_chunks, rows_within
from ..densities.covariance import FLOOR, USABLE, correlations, least_amount, shrink

# A correlation matrix with a lower eigenvalue is too near singular to regress with. Estimates are kept above USABLE:
# at half of that no covariance that was mended, or is an estimate, comes to be mended again for rounding.
SINGULAR = 0.5 * USABLE
PRIOR_ROWS = 1.0  # what secures a covariance that comes so near: as much as these rows of uncorrelated values
BY_PATTERN, BY_ROW = ("observed", "missing", "unit", "mass"), ("pattern", "owner", "weight", "centred", "cells")
LEAST_SHARE = 1e-5  # and at least this share of the variances


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


def nearest_spd(covariance: Array) -> tuple[Array, Flags]:
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
        possible = without_rounding(covariance[i])
        variance = np.maximum(np.diagonal(possible), FLOOR)
        correlation = correlations(possible, variance)
        if mended[i] or np.linalg.eigvalsh(correlation)[0] < SINGULAR:
            fixed[i], mended[i] = shrink(possible, variance, least_amount(correlation)), True
    return fixed, mended


def without_rounding(scatter: Array) -> Array:
    """Return scatters (…, d, d) without the variances below 0 and correlations beyond 1 that differences may have."""
    own = np.arange(scatter.shape[-1])
    variance = np.maximum(scatter[..., own, own], 0.0)
    length = np.sqrt(variance)
    most = length[..., :, None] * length[..., None, :]
    found = np.clip(scatter, -most, most)
    found[..., own, own] = variance
    return np.asarray(found)


def _log_det(matrices: Array) -> Array:
    """Return log determinants of positive definite matrices (s, m, m)."""
    if matrices.shape[1] == 1:
        return np.asarray(np.log(matrices[:, 0, 0]))
    return np.asarray(np.linalg.slogdet(matrices)[1])


@dataclass(frozen=True, slots=True)
class Point:
    """Parameters: means (k, d), and covariances (k, d, d) or the shared one (1, d, d)."""

    mean: Array
    covariance: Array

    @property
    def shared(self) -> bool:
        """Whether one covariance serves several classes."""
        return len(self.covariance) < len(self.mean)


@dataclass(frozen=True, slots=True)
class Parts:
    """Rows, or what stands for them, whose patterns have equally many observed cells.

    A row is the mean of the rows of one class and pattern; or, `centred`, one of the rows R whose RᵀR is the scatter of
    such rows about their mean, which a regression carries along like any other rows.
    """

    observed: Codes  # (s, o) by pattern and covariance
    missing: Codes  # (s, m)
    unit: Codes  # (s,) number of the covariance
    mass: Array  # (s,) weight
    pattern: Codes  # (r,) row of `observed`
    owner: Codes  # (r,) class numbers
    weight: Array  # (r,)
    centred: Flags  # (r,)
    cells: Array  # (r, o)

    def take(self, classes: Codes, units: Codes) -> Parts:
        """Return what belongs to some classes and covariances (both ascending), numbered anew."""
        kept, rows = np.isin(self.unit, units), np.isin(self.owner, classes)
        found, number = self._cut(kept, rows), np.cumsum(kept) - 1
        unit, owner = np.searchsorted(units, found.unit), np.searchsorted(classes, found.owner)
        return replace(found, unit=unit, pattern=number[found.pattern], owner=owner)

    def _cut(self, patterns: slice | Flags, rows: slice | Flags) -> Parts:
        """Return some of the patterns and rows; these still have their numbers."""
        by_pattern = {name: getattr(self, name)[patterns] for name in BY_PATTERN}
        return Parts(**by_pattern, **{name: getattr(self, name)[rows] for name in BY_ROW})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return parts with equally many observed cells as one."""
        whole = {name: np.concatenate([getattr(own, name) for own in parts]) for name in (*BY_PATTERN, *BY_ROW)}
        before = np.cumsum([0, *(len(own.observed) for own in parts[:-1])])
        return cls(**whole | {"pattern": whole["pattern"] + np.repeat(before, [len(own.pattern) for own in parts])})

    def bounded(self) -> Iterator[Parts]:
        """Yield the parts a bounded number of patterns at a time; rows must be in the order of their patterns."""
        s, o = self.observed.shape
        size = rows_within(16 * (o + self.missing.shape[1]) ** 2, IN_MEMORY)
        for part in row_chunks(s, size):
            found = self._cut(part, slice(*np.searchsorted(self.pattern, [part.start, part.stop]).tolist()))
            yield replace(found, pattern=found.pattern - part.start)


@dataclass(frozen=True, slots=True)
class Moments:
    """Expected sums over rows, about the means they were taken at; they add over batches of rows.

    `weight` (k,), `first` Σ w δ (k, d), `second` Σ w δδᵀ plus what regressions leave over (g, d, d), and the log
    likelihood (g,) of the observed cells up to the constant −½ log 2π for each.
    """

    weight: Array
    first: Array
    second: Array
    likelihood: Array

    def merge(self, other: Moments) -> Moments:
        """Return the sums over the rows of both."""
        return Moments(
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
            self.likelihood + other.likelihood,
        )


def expect(parts: Iterable[Parts], weight: Array, point: Point, whole: Array | None = None) -> tuple[Moments, Flags]:
    """Return the expected sums of the rows, and which covariances were mended (g,).

    `weight` (k,) is that of the classes, `whole` (g, d, d) the scatter of complete rows about their means, if these are
    among the parts. A mended covariance is used for regression in place of one too near singular.
    """
    covariance, mended = nearest_spd(point.covariance)
    return add_up(parts, weight, point.mean, Regressions.under(covariance), whole), mended


def add_up(
    parts: Iterable[Parts], weight: Array, mean: Array, regressions: Regressions, whole: Array | None = None
) -> Moments:
    """Return the expected sums of the rows about class means (k, d), as `expect` does."""
    k, d = mean.shape
    g = len(regressions.of)
    left, halves = np.zeros((g, d, d)), np.zeros(g)
    first, squares = np.zeros((k, d)), np.zeros((g, d, d)) if whole is None else whole.copy()
    for part in parts:
        delta = _fill(part, mean, regressions, left, halves)
        _add_rows(part, delta, first, squares)
    likelihood = -halves - 0.5 * np.einsum("gij,gij->g", squares, regressions.precision[regressions.of])
    return Moments(weight, first, squares + left, likelihood)


def _add_rows(part: Parts, delta: Array, first: Array, squares: Array) -> None:
    """Add Σ w δ of rows (r, d) to `first` (k, d) and Σ w δδᵀ to `squares` (g, d, d)."""
    pulled = delta * part.weight[:, None]
    if len(squares) == 1:
        squares[0] += pulled.T @ delta
        np.add.at(first, part.owner[~part.centred], pulled[~part.centred])
        return
    order = np.argsort(part.owner, kind="stable")
    delta, pulled, about = delta[order], pulled[order], ~part.centred[order]
    classes, starts = np.unique(part.owner[order], return_index=True)
    for c, start, stop in zip(classes, starts, [*starts[1:], len(order)], strict=True):
        squares[c] += pulled[start:stop].T @ delta[start:stop]
        first[c] += about[start:stop] @ pulled[start:stop]


def _fill(part: Parts, mean: Array, regressions: Regressions, left: Array, halves: Array) -> Array:
    """Return the rows less their means, missing cells filled in (r, d).

    Add what the regressions leave over to `left` (g, d, d), and half the log determinants of the observed cells'
    covariances, each as often as the weight of its rows, to `halves` (g,).
    """
    o, m = part.observed.shape[1], part.missing.shape[1]
    rows = np.arange(len(part.cells))[:, None]
    observed = part.observed[part.pattern]
    shift = part.cells - np.where(part.centred[:, None], 0.0, mean[part.owner[:, None], observed])
    delta = np.empty((len(shift), mean.shape[1]))
    delta[rows, observed] = shift
    if m == 0:
        np.add.at(halves, part.unit, 0.5 * part.mass * regressions.log_det[regressions.of[part.unit]])
        return delta
    given = regressions.given(part.unit, part.observed, part.missing)
    np.add.at(halves, part.unit, 0.5 * part.mass * given.log_det)
    if o:
        filled = (given.slopes[part.pattern] @ shift[:, :, None])[:, :, 0]
        delta[rows, part.missing[part.pattern]] = filled
    else:
        delta[:] = 0.0
    at = part.unit[:, None, None], part.missing[:, :, None], part.missing[:, None, :]
    np.add.at(left, at, given.noise * part.mass[:, None, None])
    return delta


def maximize(moments: Moments, point: Point, lonely: Flags, within: Array) -> Point:
    """Return the parameters of largest expected likelihood.

    `lonely` (k, d) marks columns whose spread a class cannot tell: they get the variance `within` (d,) and no
    correlations. Covariances are made symmetric: rounding that regressions leave on one side of the diagonal would
    otherwise grow where steps are prolonged, and the likelihood of half a matrix is another one's.
    """
    weight = moments.weight
    safe = np.where(weight > 0, weight, 1.0)[:, None]
    step = moments.first / safe
    if len(point.covariance) == 1:
        total = max(float(weight.sum()), np.finfo(np.float64).tiny)
        covariance = (moments.second - (weight[:, None] * step).T @ step) / total
    else:
        covariance = moments.second / safe[:, :, None] - step[:, :, None] * step[:, None, :]
    for c in np.flatnonzero(lonely.any(axis=1)):
        own = np.flatnonzero(lonely[c])
        covariance[c][own] = 0.0
        covariance[c][:, own] = 0.0
        covariance[c][own, own] = within[own]
    covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
    return Point(point.mean + step, covariance)


def prior_ridge(variance: Array, weight: Array) -> Array:
    """Return what to add to variances (g, d), those of observed cells, to keep covariances from becoming singular.

    With a ridge λ EM climbs the likelihood times exp(−½ n tr(diag(λ) Σ⁻¹)), whose maximum no singular covariance is;
    that is an inverse-Wishart prior on Σ, worth PRIOR_ROWS of the n rows. A column that never varies gets 2 FLOOR.
    """
    total = weight.sum(keepdims=True) if len(variance) == 1 else weight
    share = np.maximum(PRIOR_ROWS / np.maximum(total, PRIOR_ROWS), LEAST_SHARE)
    return np.maximum(share[:, None] * variance, 2.0 * FLOOR)


def as_scatter(ridge: Array, weight: Array) -> Array:
    """Return the scatters (g, d, d) that add a ridge (g, d) to covariances of classes with this weight (k,)."""
    total = weight.sum(keepdims=True) if len(ridge) == 1 else weight
    return np.asarray((total[:, None] * ridge)[:, :, None] * np.eye(ridge.shape[1]))
