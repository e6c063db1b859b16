"""EM for classes that share one covariance.

What `cells.complete` climbs to for a shared covariance, by a fixed number of plain steps: rows whose missing cells are
expected from the others of their row, under class means and one covariance. Tables that differ in few of their rows
(the folds of one) take the same steps side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._arrays import np, single_blas_thread
from ..stats import FullScatter, GaussianStats, PatternStats
from .cells import PatternProblem, groups_of, problem_of, standard_units
from .regression import Regressions, nearest_spd
from .step import Parts, add_up


def complete_shared(tables: Sequence[PatternStats], steps: int) -> list[GaussianStats]:
    """Return the statistics of each table, all of the same columns, after so many steps of EM.

    Means and the scatters of the classes are those expected, conditional covariances of the missing cells included.
    """
    groups = [groups_of(stats.dense()) for stats in tables]
    units = [standard_units(own, stats.k, stats.d) for own, stats in zip(groups, tables, strict=True)]
    problems = [problem_of(*each) for each in zip(groups, units, tables, strict=True)]
    parts, sizes = _side_by_side(problems), [stats.k for stats in tables]
    weight = np.concatenate([own.weight for own in problems])
    whole = np.concatenate([own.whole for own in problems])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    total = np.maximum(np.add.reduceat(weight, starts), np.finfo(np.float64).tiny)
    safe = np.where(weight > 0, weight, 1.0)[:, None]
    mean = np.concatenate([own.mean for own in units])
    shared = np.stack([np.diag(own.within) for own in units])
    scatter, table = whole, np.repeat(np.arange(len(sizes)), sizes)
    with single_blas_thread():
        for _ in range(steps):
            moments = add_up(parts, weight, mean, Regressions.under(nearest_spd(shared)[0], table), whole)
            step = moments.first / safe
            mean = mean + step
            scatter = moments.second - moments.first[:, :, None] * step[:, None, :]
            shared = np.add.reduceat(scatter, starts, axis=0) / total[:, None, None]
    found = []
    for own, stats, start in zip(units, tables, starts, strict=True):
        part = slice(start, start + stats.k)
        found.append(own.restored(weight[part], mean[part], scatter[part], FullScatter))
    return found


def _side_by_side(problems: Sequence[PatternProblem]) -> list[Parts]:
    """Return the parts of all problems, classes of each counted on from the one before, in as few pieces as fit."""
    alike: dict[int, list[Parts]] = {}
    start = 0
    for own in problems:
        for part in own.parts:
            moved = replace(part, unit=part.unit + start, owner=part.owner + start)
            alike.setdefault(part.observed.shape[1], []).append(moved)
        start += len(own.weight)
    return [piece for some in alike.values() for piece in Parts.joined(some).bounded()]
