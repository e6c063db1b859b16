"""Maximum likelihood for Gaussians with missing cells: EM on the statistics of each pattern, never on the rows.

Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2: the E step completes the
statistics of a pattern by regressing its missing columns on the observed ones; the M step divides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._arrays import Array, Codes, cholesky, np, single_blas_thread, solve_triangular
from ..errors import DataError
from ..stats import FullScatter, GaussianStats, PatternStats, PooledScatter
from .notes import Note
from .pooling import total_variance
from .shrinkage import FLOOR, correlations, least_amount, shrink

TOLERANCE = 1e-10  # largest change of a mean or covariance in one step, in units of the columns' standard deviations
MAX_STEPS = 5000
MAX_COLUMNS = 4096  # EM holds d × d matrices


@dataclass(frozen=True, slots=True)
class _Part:
    """One pattern: observed and missing columns, the classes present and their standardised statistics."""

    observed: Codes
    missing: Codes
    present: Codes
    weight: Array  # (m,)
    mean: Array  # (m, o)
    scatter: Array  # (m, o, o), or (1, o, o) when pooled


def complete(stats: PatternStats, report: Callable[[Note], None] | None = None) -> GaussianStats:
    """Return statistics whose ordinary estimate (mean, scatter / weight) is the maximum-likelihood one.

    With no incomplete row these are the complete rows' own. Missing cells are taken to be missing at random.
    """
    if not stats.incomplete:
        return stats.complete
    if stats.d > MAX_COLUMNS:
        raise DataError(
            f"Missing cells in {stats.d} columns at once: EM would need {stats.d} × {stats.d} matrices. "
            'Next: use covariance="diagonal", or drop the incomplete columns.'
        )
    center, scale = _standard_units(stats)
    parts = _standardised_parts(stats, center, scale)
    with single_blas_thread():
        mean, covariance, weight, steps, change = _iterate(parts, stats)
    if change > TOLERANCE and report is not None:
        report(Note("stopped EM early", f"after {steps} steps the estimate still moved", amount=change))
    total = weight[:, None, None] if stats.complete.form is FullScatter else weight.sum()
    values = covariance * total if stats.complete.form is FullScatter else covariance[0] * total
    form = stats.complete.form
    unseen = stats.column_weight().sum(axis=0) == 0
    values[..., unseen, :] = 0.0
    values[..., :, unseen] = 0.0
    return GaussianStats(weight, mean * scale + center, form(values * scale[:, None] * scale), form)


def _standard_units(stats: PatternStats) -> tuple[Array, Array]:
    """Return a centre and a scale (d,) per column from the observed cells, so that units do not matter to EM."""
    weight, mean = np.zeros((stats.k, stats.d)), np.zeros((stats.k, stats.d))
    squares = np.zeros((1, stats.d))
    everything: Codes = np.arange(stats.k)
    sets: list[tuple[tuple[int, ...], Codes, GaussianStats]] = [(tuple(range(stats.d)), everything, stats.complete)]
    sets += [(pattern, present, part) for pattern, (present, part) in stats.incomplete.items()]
    for pattern, present, part in sets:
        cells = np.ix_(present, np.asarray(pattern))
        own = part.weight[:, None]
        total = weight[cells] + own
        share = own / np.where(total > 0, total, 1.0)
        shift = part.mean - mean[cells]
        squares[:, list(pattern)] += (weight[cells] * share * shift**2).sum(axis=0)
        squares[:, list(pattern)] += part.scatter.diagonal(len(present)).sum(axis=0)
        mean[cells] += share * shift
        weight[cells] = total
    spread = np.sqrt(total_variance(mean, weight, squares))
    center = (weight * mean).sum(axis=0) / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    return center, np.where(spread > 0, spread, 1.0)


def _standardised_parts(stats: PatternStats, center: Array, scale: Array) -> list[_Part]:
    every = np.arange(stats.d)
    seen = np.flatnonzero(stats.complete.weight > 0)
    sets: list[tuple[Codes, Codes, GaussianStats]] = []
    if len(seen):
        sets.append((every, np.arange(stats.k), stats.complete))
    sets += [(np.asarray(pattern), present, part) for pattern, (present, part) in stats.incomplete.items()]
    parts = []
    for observed, present, part in sets:
        values = part.dense().scatter.values
        values = values if values.ndim == 3 else values[None]
        sd = scale[observed]
        mean = np.where(part.weight[:, None] > 0, (part.mean - center[observed]) / sd, 0.0)
        missing = np.setdiff1d(every, observed)
        parts.append(_Part(observed, missing, present, part.weight, mean, values / sd[:, None] / sd))
    return parts


def _iterate(parts: list[_Part], stats: PatternStats) -> tuple[Array, Array, Array, int, float]:
    k, d = stats.k, stats.d
    pooled = stats.complete.form is PooledScatter
    weight = np.zeros(k)
    for part in parts:
        weight[part.present] += part.weight
    mean = np.zeros((k, d))
    covariance = np.tile(np.eye(d), (1 if pooled else k, 1, 1))
    change, steps = np.inf, 0
    while steps < MAX_STEPS and change > TOLERANCE:
        new_mean, new_covariance = _step(parts, mean, covariance, weight)
        change = float(max(np.abs(new_mean - mean).max(), np.abs(new_covariance - covariance).max()))
        mean, covariance, steps = new_mean, new_covariance, steps + 1
    return mean, covariance, weight, steps, change


def _step(parts: list[_Part], mean: Array, covariance: Array, weight: Array) -> tuple[Array, Array]:
    """Return the next means (k, d) and covariances (g, d, d): complete the statistics, then divide."""
    k, d = mean.shape
    g = len(covariance)
    first = np.zeros((k, d))
    second = np.zeros((g, d, d))
    usable = np.stack([_positive_definite(matrix) for matrix in covariance])
    for part in parts:
        completed, scatters = _complete_part(part, mean, usable)
        w = part.weight[:, None]
        first[part.present] += w * (completed - mean[part.present])
        shift = completed - mean[part.present]
        if g == 1:
            second[0] += scatters[0] + (w * shift).T @ shift
        else:
            second[part.present] += scatters + (w * shift)[:, :, None] * shift[:, None, :]
    safe = np.where(weight > 0, weight, 1.0)[:, None]
    step = first / safe
    about = weight[:, None, None] * step[:, :, None] * step[:, None, :] if g > 1 else (weight[:, None] * step).T @ step
    total = safe[:, :, None] if g > 1 else weight.sum()
    return mean + step, (second - about) / total


def _complete_part(part: _Part, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Return expected means (m, d) and scatters (m or 1, d, d) of a pattern's rows, given the observed cells."""
    m, d = len(part.present), mean.shape[1]
    g = len(part.scatter)
    completed = np.empty((m, d))
    completed[:, part.observed] = part.mean
    if not len(part.missing):
        return completed, part.scatter
    scatters = np.zeros((g, d, d))
    for i in range(g):
        sigma = covariance[0] if len(covariance) == 1 else covariance[part.present[i]]
        slope, rest = _regression(sigma, part.observed, part.missing)
        members = slice(None) if len(covariance) == 1 else slice(i, i + 1)
        own = mean[part.present[members]]
        completed[members, part.missing] = own[:, part.missing] + (part.mean[members] - own[:, part.observed]) @ slope.T
        lift = np.zeros((d, len(part.observed)))
        lift[part.observed, np.arange(len(part.observed))] = 1.0
        lift[part.missing] = slope
        scatters[i] = lift @ part.scatter[i] @ lift.T
        scatters[i][np.ix_(part.missing, part.missing)] += part.weight[members].sum() * rest
    return completed, scatters


def _regression(sigma: Array, observed: Codes, missing: Codes) -> tuple[Array, Array]:
    """Return the slope Σ_mo Σ_oo⁻¹ (m, o) and the covariance Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om left over (m, m)."""
    lower = cholesky(sigma[np.ix_(observed, observed)], lower=True, check_finite=False)
    half = solve_triangular(lower, sigma[np.ix_(observed, missing)], lower=True, check_finite=False)
    slope = solve_triangular(lower, half, lower=True, trans="T", check_finite=False).T
    return slope, sigma[np.ix_(missing, missing)] - half.T @ half


def _positive_definite(covariance: Array) -> Array:
    """Return the covariance, made usable for regression where it is singular (standard units, so FLOOR is too)."""
    variance = np.maximum(np.diagonal(covariance), FLOOR)
    correlation = correlations(covariance, variance)
    amount = least_amount(correlation)
    return shrink(correlation, variance, amount) if amount > 0 or (variance == FLOOR).any() else covariance
