"""One joint density for the automatic classifier, shrunk as much as the leave-one-out log density asks for."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, np, single_blas_thread
from ..densities import Full, Gaussian, Spherical
from ..estimate.likelihood import estimate_categorical
from ..estimate.notes import Note
from ..stats import CategoricalStats, FullScatter, GaussianStats, PatternStats, ThinScatter
from .members.completion import complete_tied, fill_blindly
from .members.wishart import SPHERES, STRENGTHS, LeftOut, WishartMember

MOST_COLUMNS = 400  # beyond, settings are not searched for
MOST_ROWS = 1000


def gaussian_by_density(stats: PatternStats, rows: Array, codes: Any, weight: Array) -> tuple[Gaussian, list[Note]]:
    """Return Gaussians with Σ_k = (a B + S_k) / (a + n_k), a and B (see `members.wishart`) of largest log density.

    `rows` (n, d), NaN where missing, are judged under their own class, each left out; `weight` (n,) is theirs.
    """
    notes: list[Note] = []
    done = complete_tied(stats)
    share = done.weight / done.weight.sum()
    apart = done.mean - share @ done.mean
    total = np.einsum("kdd->d", done.scatter.values) / done.weight.sum() + share @ apart**2
    rounding = (1e-12 * np.abs(done.mean).max(axis=0)) ** 2
    used = np.flatnonzero((total > rounding) & (total > 1e-300))
    if not len(used):
        return Gaussian(done.mean, Spherical(np.ones(1), 0), ()), notes
    scale, center = np.sqrt(total[used]), (share @ done.mean)[used]
    scatter = done.scatter.values[:, used][:, :, used] / scale[:, None] / scale
    member = WishartMember(
        GaussianStats(done.weight, (done.mean[:, used] - center) / scale, FullScatter(scatter), FullScatter)
    )
    some = np.arange(len(rows))[:: max(1, -(-len(rows) // MOST_ROWS))]
    cells = fill_blindly((rows[np.ix_(some, used)] - center) / scale, member.stats)
    left = LeftOut(cells, codes[some], np.minimum(weight[some], 1.0), weight[some])
    best = (-np.inf, 1.0, np.inf)
    with single_blas_thread():
        for sphere, strength, scores in member.path(left, STRENGTHS, SPHERES, balanced=False):
            own = scores[np.arange(len(some)), left.codes]
            best = max(best, (float(left.weight @ own), sphere, strength))
    _, sphere, strength = best
    covariance = member.posterior_mean(strength, sphere) * scale[:, None] * scale
    notes.append(Note("shrank the covariances of the joint model", "leave-one-out log density", amount=sphere))
    return Gaussian(done.mean, Full.factor(covariance), tuple(used.tolist())), notes


def choose_joint(family: Any, stats: Any, settings: Any, rows: Any) -> tuple[Any, list[Note]]:
    """Return the density of one block of the joint model, and notes; `rows` are a `MemberRows`."""
    if isinstance(stats, CategoricalStats):
        return estimate_categorical(stats, settings.smoothing), []
    assert isinstance(stats, PatternStats)
    wide = isinstance(stats.complete.scatter, ThinScatter) or stats.d > MOST_COLUMNS
    if wide or len(rows.codes) < 2:
        density, notes = family.estimate(stats, settings)
        return density, notes
    return gaussian_by_density(stats, rows.rows.numbers, rows.codes, rows.weight)
