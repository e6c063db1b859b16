"""EM for classes that share one covariance, of several tables at once, with the scatter of each class by itself.

What `em.complete` climbs to for a shared covariance, by plain steps, a fixed number of them: rows whose missing cells
are expected from the others of their row, under class means and one covariance. Tables that differ in few of their rows
(the folds of one) take the same steps side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, np, single_blas_thread
from ..stats import FullScatter, GaussianStats, PatternStats
from .cells import Units, _groups, _Problem, _problem, _standard_units
from .step import Parts, Point, expect


def complete_shared(tables: Sequence[PatternStats], steps: int) -> list[GaussianStats]:
    """Return the statistics of each table, all of the same columns, after so many steps of EM.

    Means and the scatters of the classes are those expected, conditional covariances of the missing cells included.
    """
    groups = [_groups(stats.dense()) for stats in tables]
    units = [_standard_units(own, stats.k, stats.d) for own, stats in zip(groups, tables, strict=True)]
    problems = [_problem(*each) for each in zip(groups, units, tables, strict=True)]
    parts, sizes = _side_by_side(problems), [stats.k for stats in tables]
    weight = np.concatenate([own.weight for own in problems])
    whole = np.concatenate([own.whole for own in problems])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    total = np.maximum(np.add.reduceat(weight, starts), 1e-300)
    safe = np.where(weight > 0, weight, 1.0)[:, None]
    mean = np.concatenate([own.mean for own in units])
    shared = np.stack([np.diag(own.within) for own in units])
    scatter = whole
    with single_blas_thread():
        for _ in range(steps):
            moments, _ = expect(parts, weight, Point(mean, np.repeat(shared, sizes, axis=0)), whole)
            step = moments.first / safe
            mean = mean + step
            scatter = moments.second - moments.first[:, :, None] * step[:, None, :]
            shared = np.add.reduceat(scatter, starts, axis=0) / total[:, None, None]
    found = []
    for own, stats, start in zip(units, tables, starts, strict=True):
        part = slice(start, start + stats.k)
        found.append(_in_their_units(own, weight[part], mean[part], scatter[part]))
    return found


def _in_their_units(units: Units, weight: Array, mean: Array, scatter: Array) -> GaussianStats:
    scatter = scatter * units.scale[:, None] * units.scale
    scatter[:, units.constant] = 0.0
    scatter[:, :, units.constant] = 0.0
    return GaussianStats(weight, mean * units.scale + units.center, FullScatter(scatter), FullScatter)


def _side_by_side(problems: Sequence[_Problem]) -> list[Parts]:
    """Return the parts of all problems, classes of each counted on from the one before, in as few pieces as fit."""
    alike: dict[int, list[Parts]] = {}
    start = 0
    for own in problems:
        for part in own.parts:
            moved = replace(part, unit=part.unit + start, owner=part.owner + start)
            alike.setdefault(part.observed.shape[1], []).append(moved)
        start += len(own.weight)
    return [piece for some in alike.values() for piece in _joined(some).bounded()]


def _joined(parts: Sequence[Parts]) -> Parts:
    """Return parts with equally many observed cells as one."""
    before = np.cumsum([0, *(len(part.observed) for part in parts[:-1])])
    patterns = [part.pattern + first for part, first in zip(parts, before, strict=True)]

    def all_of(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    names = ("observed", "missing", "unit", "mass", "owner", "weight", "centred", "cells")
    return Parts(pattern=np.concatenate(patterns), **{name: all_of(name) for name in names})
