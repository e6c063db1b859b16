"""Missing cells filled by a density: as it expects them, in one E step whose sums add over rows, or drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from .._arrays import IN_MEMORY, Array, Codes, np, row_chunks, rows_within
from ..densities import Density, Draw, Gaussian
from ..errors import DataError, either
from ..stats import GaussianStats, PatternStats, PooledScatter
from ..stats.patterns import PatternGroup, groups_of
from ..stats.scatter import Scatter
from .step import Moments, Regressions, add_up, row_parts


def fill(rows: Array, codes: Codes, k: int, weight: Array, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return the statistics of rows (n, d) with missing cells at what `density` expects of them, given the class.

    A column without a density has no scatter, a row without any cell counts nowhere.
    """
    cells = rows[:, density.used]
    some = np.flatnonzero(~np.isnan(cells).all(axis=1))
    moments = _expect(cells, some, codes[some].astype(np.int64), weight[some], density, form)
    found = _statistics(moments, density, form)
    found.mean[found.weight == 0] = 0.0
    return found


def fill_shared_out(rows: Array, share: Array, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return the same of rows each of which counts in every component of `density` by its `share` (n, m)."""
    cells = rows[:, density.used]

    def one(part: slice) -> Moments:
        row, component = np.nonzero(share[part])
        return _expect(cells[part], row, component, share[part][row, component], density, form)

    chunks = row_chunks(len(rows), rows_within(8 * share.shape[1] * cells.shape[1], 2 * IN_MEMORY))
    return _statistics(reduce(Moments.merge, map(one, chunks)), density, form)


def _expect(cells: Array, row: Codes, codes: Codes, weight: Array, density: Gaussian, form: type[Scatter]) -> Moments:
    """Return the expected sums of rows `row` (e,) of the used cells, each in class `codes` (e,) with `weight` (e,).

    Columns are halved or doubled until they vary by about 1, which no digit sees: squares of 1e-160 have lost theirs.
    """
    means, covariance = density.means[:, density.used], density.covariance.dense()
    scale = np.ldexp(1.0, np.frexp(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).max(axis=0)))[1])
    cells, means, covariance = cells / scale, means / scale, covariance / scale[:, None] / scale
    if form is not PooledScatter and len(covariance) < len(means):
        covariance = np.repeat(covariance, len(means), axis=0)
    total = np.bincount(codes, weights=weight, minlength=len(means)).astype(np.float64)
    parts = row_parts(cells, row, codes, weight, len(covariance) == 1)
    found = add_up(parts, total, means, Regressions.under(covariance))
    return replace(found, first=found.first * scale, second=found.second * scale[:, None] * scale)


def _statistics(moments: Moments, density: Gaussian, form: type[Scatter]) -> GaussianStats:
    """Return sums about the means of a density as statistics about their own means."""
    used, total = list(density.used), moments.weight
    step = moments.first / np.where(total > 0, total, 1.0)[:, None]
    if len(moments.second) == 1:
        second = moments.second - (total[:, None] * step).T @ step
    else:
        second = moments.second - total[:, None, None] * step[:, :, None] * step[:, None, :]
    mean, d = density.means.copy(), density.means.shape[1]
    mean[:, used] += step
    scatter = np.zeros((len(second), d, d))
    scatter[np.ix_(range(len(second)), used, used)] = second
    return GaussianStats(total, mean, form(scatter[0] if form is PooledScatter else scatter), form)


# ── Statistics of Gaussians whose missing cells are drawn, not expected: data augmentation ────────────────────────────
#
# Tanner & Wong (1987), doi:10.1080/01621459.1987.10478458; Schafer, Analysis of Incomplete Multivariate Data (1997),
# section 5.4. Rows are not needed: with x_m = μ_m + B (x_o − μ_o) + e, e ~ N(0, C), what the noise of the n rows of a
# pattern adds to their sums is Gaussian and Wishart, given the statistics of their observed cells.


SPANNED = 1e-12  # least eigenvalue of a scatter, relative to its largest, that is no rounding
MOST_CELLS = 1 << 22  # of all patterns and classes that show them, d × d each
BURN_IN, THINNING = 10, 4  # steps of the chain before its first draw, and from each to the next


def draw_completed(
    groups: Sequence[PatternGroup], means: Array, covariance: Array, form: type[Scatter], rng: np.random.RandomState
) -> GaussianStats:
    """Return statistics of all rows of the `groups`, missing cells drawn under `means` (k, d) and `covariance`.

    The latter is (k, d, d), or (1, d, d) for scatters pooled over classes.
    """
    k, d = means.shape
    pooled, weight, mean = form is PooledScatter, np.zeros(k), np.zeros((k, d))
    filled = [(group, *_drawn_rows(group, means, covariance, pooled, rng)) for group in groups]
    for group, cells, _ in filled:
        np.add.at(weight, group.owner, group.weight)
        np.add.at(mean, group.owner, group.weight[:, None] * (cells - means[group.owner]))
    mean = means + mean / np.where(weight > 0, weight, 1.0)[:, None]
    scatter = np.zeros((1 if pooled else k, d, d))
    for group, cells, values in filled:
        apart = (cells - mean[group.owner]) * np.sqrt(group.weight)[:, None]
        owner = np.zeros_like(group.owner) if pooled else group.owner
        np.add.at(scatter, owner, apart[:, :, None] * apart[:, None, :])
        np.add.at(scatter, owner[: len(values)], values)
    return GaussianStats(weight, mean, form(scatter[0] if pooled else scatter), form)


def _drawn_rows(
    group: PatternGroup, means: Array, covariance: Array, pooled: bool, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Return the means (e, d) and scatters (e or s, d, d) of rows, their missing cells drawn."""
    d, (s, o) = means.shape[1], group.observed.shape
    if o == d:
        return group.mean, group.scatter
    hidden = np.ones((s, d), dtype=bool)
    hidden[np.arange(s)[:, None], group.observed] = False
    unit = np.arange(s) if pooled else group.pattern  # the pattern of each scatter
    seen, missing = group.observed[unit], np.nonzero(hidden)[1].reshape(s, d - o)[unit]
    sigma = covariance[np.zeros_like(unit) if pooled else group.owner]
    rows = np.maximum(group.weight - 1.0, 0.0)
    rows = np.bincount(group.pattern, weights=rows, minlength=s) if pooled else rows
    B, root = _regressions(sigma, seen, missing)
    value, vector = np.linalg.eigh(group.scatter)
    spans = value > SPANNED * value[:, -1:]
    z = rng.standard_normal((len(unit), d - o, o)) * spans[:, None, :]
    noise = z @ (vector * np.sqrt(np.where(spans, value, 0.0))[:, None, :]).transpose(0, 2, 1)
    rest = _wishart_root(np.maximum(rows - spans.sum(axis=1), 0.0), d - o, rng)
    cross = B @ group.scatter + root @ noise
    inner = root @ (z @ z.transpose(0, 2, 1) + rest @ rest.transpose(0, 2, 1)) @ root.transpose(0, 2, 1)
    added = root @ noise @ B.transpose(0, 2, 1)
    at, scatter = np.arange(len(unit))[:, None, None], np.zeros((len(unit), d, d))
    scatter[at, seen[:, :, None], seen[:, None, :]] = group.scatter
    scatter[at, missing[:, :, None], seen[:, None, :]] = cross
    scatter[at, seen[:, :, None], missing[:, None, :]] = cross.transpose(0, 2, 1)
    both = B @ group.scatter @ B.transpose(0, 2, 1) + added + added.transpose(0, 2, 1) + inner
    scatter[at, missing[:, :, None], missing[:, None, :]] = both
    scatter_of = group.pattern if pooled else np.arange(len(group.owner))
    row, out = np.arange(len(group.owner))[:, None], means[group.owner]
    away = (group.mean - out[row, seen[scatter_of]])[:, :, None]
    shake = rng.standard_normal((len(scatter_of), d - o, 1)) / np.sqrt(group.weight)[:, None, None]
    out[row, missing[scatter_of]] += (B[scatter_of] @ away + root[scatter_of] @ shake)[:, :, 0]
    out[row, seen[scatter_of]] = group.mean
    return out, scatter


def _regressions(sigma: Array, seen: Codes, missing: Codes) -> tuple[Array, Array]:
    """Return the slopes (u, m, o) of missing columns on those seen, and a root (u, m, m) of what these leave open."""
    sd = np.sqrt(np.diagonal(sigma, axis1=1, axis2=2))
    sd = np.where(sd > 0, sd, 1.0)
    at, scaled = np.arange(len(sigma))[:, None, None], sigma / sd[:, :, None] / sd[:, None, :]
    scaled[:, np.arange(sigma.shape[1]), np.arange(sigma.shape[1])] = 1.0  # of columns that never vary, too
    within, cross = scaled[at, seen[:, :, None], seen[:, None, :]], scaled[at, missing[:, :, None], seen[:, None, :]]
    slopes = np.linalg.solve(within, cross.transpose(0, 2, 1)).transpose(0, 2, 1)
    left = scaled[at, missing[:, :, None], missing[:, None, :]] - slopes @ cross.transpose(0, 2, 1)
    value, vector = np.linalg.eigh(left)
    own, others = np.take_along_axis(sd, missing, axis=1), np.take_along_axis(sd, seen, axis=1)
    root = vector * np.sqrt(np.maximum(value, 0.0))[:, None, :]
    return slopes * own[:, :, None] / others[:, None, :], root * own[:, :, None]


def _wishart_root(df: Array, m: int, rng: np.random.RandomState) -> Array:
    """Return lower triangular A (u, m, m), A Aᵀ ~ W(I, df): Bartlett's decomposition, singular where df < m."""
    freedom = df[:, None] - np.arange(m)
    out = np.tril(rng.standard_normal((len(df), m, m)), -1) * (freedom > 0)[:, None, :]
    out[:, np.arange(m), np.arange(m)] = np.sqrt(2.0 * rng.standard_gamma(np.maximum(freedom, 0.0) / 2.0))
    return out


def can_augment(stats: PatternStats) -> bool:
    """Return whether cells are missing, and the scatters that a step completes fit into `MOST_CELLS`."""
    return 0 < sum(len(present) for present, _ in stats.incomplete.values()) * stats.d**2 <= MOST_CELLS


def augmented(stats: PatternStats, begin: GaussianStats, posterior: Callable[[GaussianStats], Draw | None]) -> Draw:
    """Return what draws Gaussians given the observed cells alone, by a chain of data augmentation.

    It goes on from draw to draw, and begins with statistics that EM completed. `posterior` returns what draws them
    given statistics of complete rows.
    """
    groups, form, chain = groups_of(stats), stats.complete.form, [begin]

    def step(rng: np.random.RandomState) -> Density:
        one = posterior(chain[0])
        if one is None:
            raise DataError(
                "So many cells are missing that the others leave the covariance open: draws of it become singular. "
                "Next: leave out the columns that miss most, or give a prior "
                f"{either('such as NormalInverseWishart(strength=1.0)', 'by a fit in Python')}."
            )
        density = one(rng)
        assert isinstance(density, Gaussian)
        found, g = density.covariances(), 1 if form is PooledScatter else stats.k
        covariance = np.broadcast_to(found[:g], (g, *found.shape[1:]))
        chain[0] = draw_completed(groups, density.means, covariance, form, rng)
        return density

    def draw(rng: np.random.RandomState) -> Density:
        return [step(rng) for _ in range(BURN_IN if chain[0] is begin else THINNING)][-1]

    return draw
