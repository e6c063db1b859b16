"""Maximum likelihood for Gaussians with missing cells: EM on the statistics of each pattern, never on the rows.

Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2: the E step completes the
statistics of a pattern by regressing its missing columns on the observed ones; the M step divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .._arrays import Array, Codes, NDArray, cholesky, np, row_chunks, single_blas_thread
from ..errors import DataError
from ..stats import GaussianStats, PatternStats, PooledScatter
from .notes import Note
from .pooling import total_variance
from .shrinkage import FLOOR, correlations, least_amount, shrink

TOLERANCE = 1e-10  # largest change of a mean or covariance in one step, in units of the columns' standard deviations
GAIN = 1e-14  # relative gain in log likelihood of one cycle below which an estimate that hardly moves is final
HARDLY = 1e-9  # what hardly moving is, and at the edge of singularity, where each step is mended
HARDLY_AT_THE_EDGE = 1e-5
MAX_STEPS = 1000
POLISHED = 1e-13  # a last step this short is rounding
POLISHING_STEPS = 200
MAX_COLUMNS = 4096  # EM holds d × d matrices
BATCH_CELLS = 1 << 22  # cells of the completed scatters made at once


@dataclass(frozen=True, slots=True)
class _Parts:
    """Pairs (pattern, class) whose patterns have equally many observed columns, in standard units.

    A pooled scatter belongs to a pattern, not to a class; it stands with the pattern's first pair, the others have 0.
    """

    observed: Codes  # (e, o)
    missing: Codes  # (e, m)
    owner: Codes  # (e,) class numbers
    weight: Array  # (e,)
    mean: Array  # (e, o)
    scatter: Array  # (e, o, o)


@dataclass(frozen=True, slots=True)
class _Point:
    """Parameters: means (k, d), and covariances (k, d, d) or the shared one (1, d, d)."""

    mean: Array
    covariance: Array

    def distance(self, other: _Point) -> float:
        """Return the largest difference of any entry."""
        gaps = np.abs(self.mean - other.mean).max(), np.abs(self.covariance - other.covariance).max()
        return float(max(gaps))


def complete(stats: PatternStats, report: Callable[[Note], None] | None = None) -> GaussianStats:
    """Return statistics whose ordinary estimate (mean, scatter / weight) is the maximum-likelihood one.

    With no incomplete row these are the complete rows' own. Missing cells are taken to be missing at random. What a
    class's own cells cannot tell is borrowed: a column with no value in the class has the mean of all classes, and,
    when covariances are separate, one with at most one value has the variance within all classes and no correlations.
    """
    if not stats.incomplete:
        return stats.complete
    if stats.d > MAX_COLUMNS:
        raise DataError(
            f"Missing cells in {stats.d} columns at once: EM would need {stats.d} × {stats.d} matrices. "
            'Next: use covariance="diagonal", or drop the incomplete columns.'
        )
    units = _standard_units(stats)
    parts = _standardised_parts(stats, units.center, units.scale)
    weight = np.zeros(stats.k)
    for part in parts:
        np.add.at(weight, part.owner, part.weight)
    shared = stats.complete.form is PooledScatter
    start = _Point(units.mean, np.tile(np.diag(units.within), (1 if shared else stats.k, 1, 1)))
    lonely = np.zeros((stats.k, stats.d), dtype=bool) if shared else units.weight <= 1.0
    with single_blas_thread():
        point, steps, moved = _climb(_Problem(parts, weight, lonely, units.within), start)
    if moved > 0 and report is not None:
        report(Note("stopped EM early", f"after {steps} steps the estimate still moved", amount=moved))
    values = point.covariance[0] * weight.sum() if shared else point.covariance * weight[:, None, None]
    unseen = units.weight.sum(axis=0) == 0
    values[..., unseen, :] = 0.0
    values[..., :, unseen] = 0.0
    form = stats.complete.form
    return GaussianStats(
        weight, point.mean * units.scale + units.center, form(values * units.scale[:, None] * units.scale), form
    )


@dataclass(frozen=True, slots=True)
class _Units:
    """Per column a centre and a scale (d,), and by class what the observed cells say, in these units."""

    center: Array  # (d,)
    scale: Array  # (d,)
    weight: Array  # (k, d)
    mean: Array  # (k, d)
    within: Array  # (d,) variance within classes


def _standard_units(stats: PatternStats) -> _Units:
    """Return units in which every column has total variance 1, so that the columns' own units do not matter to EM."""
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
    scale = np.where(spread > 0, spread, 1.0)
    total = weight.sum(axis=0)
    within = squares[0] / np.where(total > 0, total, 1.0) / scale**2
    started = np.where(weight > 0, (mean - center) / scale, 0.0)
    return _Units(center, scale, weight, started, np.where(within > FLOOR, within, 1.0))


def _standardised_parts(stats: PatternStats, center: Array, scale: Array) -> list[_Parts]:
    every: Codes = np.arange(stats.d)
    sets: list[tuple[Codes, Codes, GaussianStats]] = [(every, np.flatnonzero(stats.complete.weight), stats.complete)]
    sets += [(np.asarray(pattern), present, part) for pattern, (present, part) in stats.incomplete.items()]
    alike: dict[int, list[tuple[Codes, Codes, Array, Array, Array]]] = {}
    for observed, present, part in sets:
        if not len(present):
            continue
        index = present if part is stats.complete else np.arange(len(present))
        sd, values = scale[observed], part.dense().scatter.values
        if values.ndim == 3:
            scatter = values[index] / sd[:, None] / sd
        else:
            scatter = np.zeros((len(present), len(observed), len(observed)))
            scatter[0] = values / sd[:, None] / sd
        mean = (part.mean[index] - center[observed]) / sd
        alike.setdefault(len(observed), []).append((observed, present, part.weight[index], mean, scatter))
    return [batch for o, group in sorted(alike.items()) for batch in _stack(group, every, o)]


def _stack(group: list[tuple[Codes, Codes, Array, Array, Array]], every: Codes, o: int) -> Iterator[_Parts]:
    """Join patterns of equal size into arrays, a bounded number of pairs at a time."""
    observed = np.concatenate([np.tile(own, (len(present), 1)) for own, present, *_ in group])
    missing = np.stack([np.setdiff1d(every, row) for row in observed])
    owner, weight, mean, scatter = (np.concatenate([entry[i] for entry in group]) for i in range(1, 5))
    for part in row_chunks(len(owner), max(1, BATCH_CELLS // len(every) ** 2)):
        yield _Parts(observed[part], missing[part], owner[part], weight[part], mean[part], scatter[part])


@dataclass(frozen=True, slots=True)
class _Problem:
    """What stays fixed while the parameters move."""

    parts: list[_Parts]
    weight: Array  # (k,)
    lonely: NDArray[np.bool_]  # (k, d) columns whose spread a class cannot tell
    within: Array  # (d,) the variance they have instead


def _climb(problem: _Problem, point: _Point) -> tuple[_Point, int, float]:
    """Return the parameters of largest likelihood, the EM steps used, and how far the last step moved (0: converged).

    EM steps are extrapolated by SQUAREM (Varadhan & Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x). A leap is
    kept only if it does not lower the likelihood, so the climb stays monotone.
    """
    likelihood, first = _step(problem, point)
    steps = 1
    while steps < MAX_STEPS:
        _, second = _step(problem, first)
        steps += 1
        moved = second.distance(first)
        if moved <= TOLERANCE:
            return (second if _is_mended(second) else _polish(problem, second)), steps, 0.0
        leap = _extrapolate(point, first, second)
        reached, after = _attempt(problem, leap) if leap is not None else (-np.inf, second)
        if reached < likelihood:
            leap = second
            reached, after = _step(problem, second)
        steps += 1
        if reached - likelihood <= GAIN * abs(reached) and moved <= _hardly(second):
            return (after if _is_mended(second) else _polish(problem, second)), steps, 0.0
        assert leap is not None
        point, first, likelihood = leap, after, reached
    return first, steps, point.distance(first)


def _hardly(point: _Point) -> float:
    return HARDLY_AT_THE_EDGE if _is_mended(point) else HARDLY


def _is_mended(point: _Point) -> bool:
    """Return whether a covariance is so near singular that each step mends it."""
    return any(_positive_definite(matrix) is not matrix for matrix in point.covariance)


def _polish(problem: _Problem, point: _Point) -> _Point:
    """Return the fixed point of the EM step to rounding, from a point where the likelihood no longer tells.

    The likelihood is flat to rounding while parameters are still 1e-8 from their limit; the step itself is not. A leap
    is kept if the step from it is shorter. So two orders of summing the same rows end at the same estimate.
    """
    _, first = _step(problem, point)
    for _ in range(POLISHING_STEPS):
        _, second = _step(problem, first)
        moved = second.distance(first)
        if moved <= POLISHED:
            return second
        leap = _extrapolate(point, first, second)
        _, after = _attempt(problem, leap) if leap is not None else (0.0, second)
        if leap is not None and after is not leap and after.distance(leap) < moved:
            point, first = leap, after
        else:
            point, first = first, second
    return first


def _extrapolate(point: _Point, first: _Point, second: _Point) -> _Point | None:
    """Return θ + 2α r + α² v, with r the first step, v the change between steps and α = |r| / |v| at least 1."""
    r = (first.mean - point.mean, first.covariance - point.covariance)
    v = (second.mean - first.mean - r[0], second.covariance - first.covariance - r[1])
    curvature = float(sum((part**2).sum() for part in v))
    if curvature == 0.0:
        return None
    length = max(1.0, float(np.sqrt(sum((part**2).sum() for part in r) / curvature)))
    return _Point(
        point.mean + 2.0 * length * r[0] + length**2 * v[0],
        point.covariance + 2.0 * length * r[1] + length**2 * v[1],
    )


def _attempt(problem: _Problem, leap: _Point) -> tuple[float, _Point]:
    """Return an EM step from a leap; likelihood −∞ if the leap has left the positive definite matrices."""
    if not all(_is_positive_definite(matrix) for matrix in leap.covariance):
        return -np.inf, leap
    return _step(problem, leap)


def _is_positive_definite(matrix: Array) -> bool:
    try:
        cholesky(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def _step(problem: _Problem, point: _Point) -> tuple[float, _Point]:
    """Return the log likelihood of the observed cells (up to a constant) and the parameters one EM step on."""
    k, d = point.mean.shape
    g, weight = len(point.covariance), problem.weight
    usable = np.stack([_positive_definite(matrix) for matrix in point.covariance])
    first, second = np.zeros((k, d)), np.zeros((g, d, d))
    likelihood = 0.0
    for part in problem.parts:
        sigma = usable[part.owner if g > 1 else np.zeros_like(part.owner)]
        score, completed, scatters = _complete_parts(part, point.mean[part.owner], sigma)
        likelihood += score
        shift = completed - point.mean[part.owner]
        pull = part.weight[:, None] * shift
        np.add.at(first, part.owner, pull)
        if g == 1:
            second[0] += scatters.sum(axis=0) + pull.T @ shift
            continue
        for c in np.unique(part.owner):
            own = part.owner == c
            second[c] += scatters[own].sum(axis=0) + pull[own].T @ shift[own]
    safe = np.where(weight > 0, weight, 1.0)[:, None]
    step = first / safe
    about = weight[:, None, None] * step[:, :, None] * step[:, None, :] if g > 1 else (weight[:, None] * step).T @ step
    total = safe[:, :, None] if g > 1 else weight.sum()
    covariance = (second - about) / total
    for c in np.flatnonzero(problem.lonely.any(axis=1)):
        own = np.flatnonzero(problem.lonely[c])
        covariance[c][own] = 0.0
        covariance[c][:, own] = 0.0
        covariance[c][own, own] = problem.within[own]
    return likelihood, _Point(point.mean + step, covariance)


def _complete_parts(part: _Parts, mean: Array, sigma: Array) -> tuple[float, Array, Array]:
    """Return the log likelihood of the parts, their expected means (e, d) and expected scatters (e, d, d).

    The missing columns are regressed on the observed ones: slope Σ_mo Σ_oo⁻¹, and Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om left over.
    """
    e, o = part.observed.shape
    d = mean.shape[1]
    rows = np.arange(e)[:, None]
    within = sigma[rows[:, :, None], part.observed[:, :, None], part.observed[:, None, :]]
    precision = np.linalg.inv(within)
    shift = part.mean - mean[rows, part.observed]
    half_log_det = np.log(np.diagonal(np.linalg.cholesky(within), axis1=1, axis2=2)).sum(axis=1)
    squares = np.einsum("eij,eij->e", precision, part.scatter)
    squares += part.weight * np.einsum("ei,eij,ej->e", shift, precision, shift)
    score = float(-(part.weight * half_log_det).sum() - 0.5 * squares.sum())
    completed = np.empty((e, d))
    completed[rows, part.observed] = part.mean
    if o == d:
        return score, completed, part.scatter
    across = sigma[rows[:, :, None], part.missing[:, :, None], part.observed[:, None, :]]
    slope = across @ precision
    completed[rows, part.missing] = mean[rows, part.missing] + np.einsum("emo,eo->em", slope, shift)
    lift = np.zeros((e, d, o))
    lift[rows, part.observed, np.arange(o)[None]] = 1.0
    lift[rows, part.missing] = slope
    scatters = lift @ part.scatter @ lift.transpose(0, 2, 1)
    rest = sigma[rows[:, :, None], part.missing[:, :, None], part.missing[:, None, :]] - slope @ across.transpose(
        0, 2, 1
    )
    cells = rows[:, :, None], part.missing[:, :, None], part.missing[:, None, :]
    scatters[cells] += part.weight[:, None, None] * rest
    return score, completed, scatters


def _positive_definite(covariance: Array) -> Array:
    """Return the covariance, made usable for regression where it is singular (standard units, so FLOOR is too)."""
    variance = np.maximum(np.diagonal(covariance), FLOOR)
    correlation = correlations(covariance, variance)
    amount = least_amount(correlation)
    return shrink(correlation, variance, amount) if amount > 0 or (variance == FLOOR).any() else covariance
