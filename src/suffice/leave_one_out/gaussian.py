"""Exact leave-one-out of a block of Gaussian columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arrays import Array, Codes, np, parallel_map
from ..densities import Diagonal, Full, Gaussian, Spherical
from ..estimate import Settings
from ..estimate.families import GaussianFamily
from ..notes import Note
from ..stats import GaussianStats, LowRankScatter, PatternStats
from . import independent, predictive, rank_one, shrunk, side_by_side, spherical
from .downdate import Flags, Leaving, comfortable
from .refit import GaussianBlock, Refits


def gaussian_leave_one_out(
    rows: Array, stats: GaussianBlock, codes: Codes, weight: Array | None, family: GaussianFamily, settings: Settings
) -> Array:
    """Return log p(x | k) of each row under the estimate that all other rows would give, (n, k) in nats.

    Row i leaves with its whole weight; means, covariances, divisors, shrinkage and every repair are those of an
    estimate from what is left, also for other classes where they share a covariance or part of one. `rows` (n, d)
    are encoded, NaN where missing, `codes` (n,) their class numbers, `weight` (n,) their weights (None: ones);
    `stats` are those of these rows, and perhaps of more. A class whose only row leaves is then one without rows.

    What it costs beyond one pass of scoring:

    - full covariances without shrinkage, own, shared or partly pooled: nothing that grows with d (rank-one updates);
    - independent columns and spheres, missing cells as well: O(d) for each row, k times that if classes pool;
    - a fixed amount, RDA with an amount, "oas": a d × d factor for each row, k times that if classes pool;
    - full covariances under a conjugate prior: a d × d factor for each row and class, as its B loses the row too;
    - EM, started afresh: where cells are missing and covariances are full; for many rows side by side unless shrunk;
    - a refit from the statistics without the row: for "ledoit-wolf"; for tables wider than long; for rows without which
      a class has no row, or what is left of its scatter is nearly singular; and for all rows where a column has (next
      to) no variation within a class, whose repair refers to the variance within all classes.

    Fukunaga & Hummels (1989), doi:10.1109/34.31448; Sherman & Morrison (1950), doi:10.1214/aoms/1177729893.
    """
    w = np.ones(len(rows)) if weight is None else weight
    estimated: tuple[Any, Sequence[Note]] = family.estimate(stats, settings)
    density, notes = estimated
    moments = _moments(stats)
    if moments is not None and settings.prior is not None:
        scores, sure = predictive.without_row(rows, codes, w, moments, density, family, settings.prior.settled())
    elif isinstance(stats, PatternStats) and not notes and _is_plain(stats, density, settings):
        scores, sure = side_by_side.without_row(rows, codes, w, stats, density, settings, family.shared)
    elif moments is None or settings.kept is not None or not comfortable(moments, density, settings, family.shared):
        scores, sure = density.log_density(rows), np.zeros(len(rows), dtype=bool)
    else:
        scores, sure = _without_each(rows, codes, w, moments, density, family, settings)
    leaves_nothing = (w == 0) | np.isnan(rows).all(axis=1)
    again = np.flatnonzero(~sure & ~leaves_nothing)
    if leaves_nothing.any():
        scores[leaves_nothing] = density.log_density(rows[leaves_nothing])
    if len(again):
        refits = Refits(rows, stats, codes, w, family, settings)
        for i, found in zip(again, parallel_map(refits.log_density, again.tolist()), strict=True):
            scores[i] = found
    return np.asarray(scores)


def _moments(stats: GaussianBlock) -> GaussianStats | None:
    """Return the statistics that estimates are made from, or None where there is more to it than division."""
    if isinstance(stats, PatternStats) and not stats.incomplete:
        stats = stats.complete
    return stats if isinstance(stats, GaussianStats) and not isinstance(stats.scatter, LowRankScatter) else None


def _is_plain(stats: PatternStats, density: Gaussian, settings: Settings) -> bool:
    """Return whether cells are missing and the covariances of all columns are full, and nothing but those of EM."""
    everything = isinstance(density.covariance, Full) and len(density.used) == stats.d
    return everything and bool(stats.incomplete) and settings.shrinkage.setting is None and settings.prior is None


def _without_each(
    rows: Array,
    codes: Codes,
    weight: Array,
    stats: GaussianStats,
    density: Gaussian,
    family: GaussianFamily,
    settings: Settings,
) -> tuple[Array, Flags]:
    """Return log densities by formula, and the rows for which they are those of a refit."""
    job = Leaving.of(rows, codes, weight, stats, density.used, settings, family.shared)
    if family.structure is Full:
        assert isinstance(density.covariance, Full)
        if settings.shrinkage.amount or settings.shrinkage.rule:
            return shrunk.without_row(job, density.log_density(rows))
        return rank_one.without_row(job, density.covariance)
    if family.structure is Diagonal:
        scores = np.empty((len(rows), len(job.mean))) if job.everyone else density.log_density(rows)
        return independent.without_row(job, scores)
    assert isinstance(density.covariance, Spherical)
    return spherical.without_row(job, density.covariance)
