"""One EM step for Gaussians with missing cells, for all patterns at once.

Under N(μ, Σ) the missing cells of a row are μ_m + B (x_o − μ_o) plus noise of covariance C, B = Σ_mo Σ_oo⁻¹ and
C = Σ_mm − B Σ_om. With the precision matrix P = Σ⁻¹ these are −P_mm⁻¹ P_mo and P_mm⁻¹: a few missing cells cost the
inverse of a small matrix. Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2. With δ
the rows less their mean, missing cells filled in, the squared distance of the observed cells is δᵀ P δ.

All that EM does with missing cells comes here. `densities.covariance` has the law of one pattern, from which missing
cells are imputed and drawn: one Cholesky factor that holds slopes and a factor of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map
from ..densities.covariance import FLOOR, USABLE, correlations, least_amount, shrink
from ..kernels.observed import fill_in
from ..stats.rows import taken

# A correlation matrix with a lower eigenvalue is too near singular to regress with. Estimates are kept above USABLE:
# at half of that no covariance that was mended, or is an estimate, comes to be mended again for rounding.
SINGULAR = 0.5 * USABLE
PRIOR_ROWS = 1.0  # what secures a covariance that comes so near: as much as these rows of uncorrelated values
BY_PATTERN, BY_ROW = ("seen", "unit", "mass"), ("pattern", "owner", "weight", "centred", "cells")
COST = 200.0  # operations for each cell, or so
LEAST_SHARE = 1e-5  # and at least this share of the variances


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
    """Rows, or what stands for them, in the order of their patterns.

    A row is the mean of the rows of one class and pattern; or, `centred`, one of the rows R whose RᵀR is the scatter of
    such rows about their mean, which a regression carries along like any other rows.
    """

    seen: Flags  # (s, d) cells observed, by pattern and covariance
    unit: Codes  # (s,) number of the covariance
    mass: Array  # (s,) weight
    pattern: Codes  # (r,) row of `seen`
    owner: Codes  # (r,) class numbers
    weight: Array  # (r,)
    centred: Flags  # (r,)
    cells: Array  # (r, d) anything where a cell is missing

    def take(self, classes: Codes, units: Codes) -> Parts:
        """Return what belongs to some classes and covariances (both ascending), numbered anew."""
        kept, rows = np.isin(self.unit, units), np.isin(self.owner, classes)
        found, number = taken(taken(self, kept, *BY_PATTERN), rows, *BY_ROW), np.cumsum(kept) - 1
        unit, owner = np.searchsorted(units, found.unit), np.searchsorted(classes, found.owner)
        return replace(found, unit=unit, pattern=number[found.pattern], owner=owner)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return parts as one."""
        whole = {name: np.concatenate([getattr(own, name) for own in parts]) for name in (*BY_PATTERN, *BY_ROW)}
        before = np.cumsum([0, *(len(own.seen) for own in parts[:-1])])
        return cls(**whole | {"pattern": whole["pattern"] + np.repeat(before, [len(own.pattern) for own in parts])})


def row_parts(cells: Array, row: Codes, codes: Codes, weight: Array, one: bool) -> list[Parts]:
    """Return rows `row` (e,) of `cells` (n, d), of classes `codes` and weights (e,); nothing if there are none.

    `one` says that there is one covariance; else rows of different classes have different ones.
    """
    if not len(row) or not cells.shape[1]:
        return []
    seen = ~np.isnan(cells[row])
    packed = np.ascontiguousarray(np.packbits(seen, axis=1))
    _, key = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_inverse=True)
    key = key if one else key * (int(codes.max(initial=0)) + 1) + codes
    order = np.argsort(key, kind="stable")
    _, first, pattern = np.unique(key[order], return_index=True, return_inverse=True)
    own, w = codes[order], weight[order]
    unit = np.zeros(len(first), dtype=np.int64) if one else own[first]
    mass = np.bincount(pattern, weights=w).astype(np.float64)
    return [Parts(seen[order[first]], unit, mass, pattern, own, w, np.zeros(len(own), dtype=bool), cells[row[order]])]


def expected_cells(rows: Array, mean: Array, covariance: Array) -> Array:
    """Return rows (n, d) with missing cells (NaN) as N(`mean`, `covariance`) expects them given the others."""
    holed, ones = np.flatnonzero(np.isnan(rows).any(axis=1)), np.ones(len(rows))
    parts = row_parts(rows, holed, holed, ones[holed], True)
    away = add_up(parts, ones, np.tile(mean, (len(rows), 1)), Regressions.under(covariance[None])).first
    return np.where(np.isnan(rows), mean + away, rows)


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


def expect(parts: Sequence[Parts], weight: Array, point: Point, whole: Array | None = None) -> tuple[Moments, Flags]:
    """Return the expected sums of the rows, and which covariances were mended (g,).

    `weight` (k,) is that of the classes, `whole` (g, d, d) the scatter of complete rows about their means, if these are
    among the parts. A mended covariance is used for regression in place of one too near singular.
    """
    covariance, mended = nearest_spd(point.covariance)
    return add_up(parts, weight, point.mean, Regressions.under(covariance), whole), mended


def add_up(
    parts: Sequence[Parts], weight: Array, mean: Array, regressions: Regressions, whole: Array | None = None
) -> Moments:
    """Return the expected sums of the rows about class means (k, d), as `expect` does."""
    (k, d), g = mean.shape, len(regressions.of)
    matrices = regressions.precision, regressions.covariance, regressions.log_det
    first, squares = np.zeros((k, d)), np.zeros((g, d, d)) if whole is None else whole.copy()
    left, halves = np.zeros((g, d, d)), np.zeros(g)

    def one(part: Parts) -> tuple[Array, ...]:
        sums = np.zeros((k, d)), np.zeros((g, d, d)), np.zeros(g)
        rows = part.pattern, part.owner, part.weight, part.centred
        patterns = part.seen, regressions.of[part.unit], part.unit, part.mass
        delta = fill_in(part.cells, rows, patterns, mean, matrices, sums)
        return *sums, _squares(part, delta, g)

    cost = COST * sum(part.cells.size for part in parts)
    for found in parallel_map(one, parts, cost=cost) if len(parts) > 1 else map(one, parts):
        for total, own in zip((first, left, halves, squares), found, strict=True):
            total += own
    likelihood = -halves - 0.5 * np.einsum("gij,gij->g", squares, regressions.precision[regressions.of])
    return Moments(weight, first, squares + left, likelihood)


def _squares(part: Parts, delta: Array, g: int) -> Array:
    """Return Σ w δδᵀ of rows (r, d) by unit (g, d, d); w is below 0 where a row leaves more than it brought."""
    pulled, squares = delta * part.weight[:, None], np.zeros((g, *delta.shape[1:] * 2))
    if g == 1:
        squares[0] = pulled.T @ delta
        return squares
    unit = part.unit[part.pattern]
    order = np.argsort(unit, kind="stable")
    units, starts = np.unique(unit[order], return_index=True)
    for c, own in zip(units, np.split(order, starts[1:]), strict=True):
        squares[c] = pulled[own].T @ delta[own]
    return squares


def maximize(moments: Moments, point: Point, lonely: Flags, within: Array) -> Point:
    """Return the parameters of largest expected likelihood; equally many classes share each covariance.

    `lonely` (k, d) marks columns whose spread a class cannot tell: they get the variance `within` (d,) and no
    correlations. Covariances are made symmetric: rounding that regressions leave on one side of the diagonal would
    otherwise grow where steps are prolonged, and the likelihood of half a matrix is another one's.
    """
    weight, g = moments.weight, len(point.covariance)
    step = moments.first / np.where(weight > 0, weight, 1.0)[:, None]
    moved, pulled = (part.reshape(g, -1, step.shape[1]) for part in (step, weight[:, None] * step))
    total = by_covariance(weight, g)
    safe = np.where(total > 0, total, 1.0)[:, None, None]
    covariance = (moments.second - pulled.transpose(0, 2, 1) @ moved) / safe
    for c in np.flatnonzero(lonely.any(axis=1)):
        own = np.flatnonzero(lonely[c])
        covariance[c][own] = 0.0
        covariance[c][:, own] = 0.0
        covariance[c][own, own] = within[own]
    return Point(point.mean + step, 0.5 * (covariance + covariance.transpose(0, 2, 1)))


def by_covariance(weight: Array, g: int) -> Array:
    """Return the weight behind each of g covariances, of classes (k,) of which equally many share one."""
    return np.asarray(weight.reshape(g, -1).sum(axis=1))


def prior_ridge(variance: Array, weight: Array) -> Array:
    """Return what to add to variances (g, d), those of observed cells, to keep covariances from becoming singular.

    With a ridge λ EM climbs the likelihood times exp(−½ n tr(diag(λ) Σ⁻¹)), whose maximum no singular covariance is;
    that is an inverse-Wishart prior on Σ, worth PRIOR_ROWS of the n rows. A column that never varies gets 2 FLOOR.
    """
    total = by_covariance(weight, len(variance))
    share = np.maximum(PRIOR_ROWS / np.maximum(total, PRIOR_ROWS), LEAST_SHARE)
    return np.maximum(share[:, None] * variance, 2.0 * FLOOR)


def as_scatter(ridge: Array, weight: Array) -> Array:
    """Return the scatters (g, d, d) that add a ridge (g, d) to covariances of classes with this weight (k,)."""
    total = by_covariance(weight, len(ridge))
    return np.asarray((total[:, None] * ridge)[:, :, None] * np.eye(ridge.shape[1]))


@dataclass(frozen=True, slots=True)
class PatternProblem:
    """What stays fixed while the parameters move; in standard units. Equally many classes share each covariance."""

    parts: list[Parts]
    weight: Array  # (k,)
    whole: Array  # (g, d, d) scatter of the complete rows
    lonely: Flags  # (k, d) columns whose spread a class cannot tell
    within: Array  # (d,) the variance they have instead
    guard: Array  # (g, d) what is added to the variances of a covariance that comes near singular

    def step(self, point: Point) -> tuple[Array, Point, Flags]:
        """Return log likelihoods, the parameters one EM step on, and which covariances had to be mended."""
        moments, mended = expect(self.parts, self.weight, point, self.whole)
        return moments.likelihood, maximize(moments, point, self.lonely, self.within), mended

    def take(self, units: Codes) -> PatternProblem:
        """Return some of the problems."""
        classes = np.arange(len(self.weight)).reshape(len(self.whole), -1)[units].ravel()
        parts = [part for part in (own.take(classes, units) for own in self.parts) if len(part.cells)]
        return replace(taken(taken(self, units, "whole", "guard"), classes, "weight", "lonely"), parts=parts)

    def secured(self, units: Codes) -> PatternProblem:
        """Return the problems with a weak prior on the covariances of these units."""
        ridge = np.zeros_like(self.guard)
        ridge[units] = self.guard[units]
        return replace(self, whole=self.whole + as_scatter(ridge, self.weight))


def side_by_side(problems: Sequence[PatternProblem]) -> PatternProblem:
    """Return problems as one, classes and covariances of each counted on from those before; they have no `within`."""
    parts, unit, owner = [], 0, 0
    for own in problems:
        parts += [replace(part, unit=part.unit + unit, owner=part.owner + owner) for part in own.parts]
        unit, owner = unit + len(own.whole), owner + len(own.weight)
    names = "weight", "whole", "lonely", "guard"
    every = {name: np.concatenate([getattr(own, name) for own in problems]) for name in names}
    return replace(problems[0], parts=parts and [Parts.joined(parts)], **every)
