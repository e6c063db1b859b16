"""Leave-one-out with missing cells: EM for many rows side by side.

A refit of a small table costs what its calls cost, not its numbers. Here every array holds the estimates of many rows:
EM is that of `em`, from the start that a refit has, on the parts of all rows and one of negative weight, which leaves.
What is near any repair, or would lose digits when a row is subtracted, is left to a refit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map, pattern_groups, row_chunks, single_blas_thread
from ..densities import Gaussian
from ..densities.covariance import FLOOR, ROUNDING
from ..densities.gaussian import LOG_2PI
from ..em.accelerated_em import climb
from ..em.cells import Units, problem_of
from ..em.step import PatternProblem, Point, Regressions, nearest_spd, row_parts, side_by_side
from ..estimate import Settings
from ..stats import PatternStats, PooledScatter
from ..stats.patterns import groups_of, observed_cells
from ..stats.pooling import divisors
from .downdate import EMPTY, LEAST_KEPT, ROOM

MANY = 256  # rows side by side
CELLS = 1 << 18  # of their parts
FEW = 1.5  # rows left for each column and one more: the likelihood of fewer may have several maxima
QUICK = 100  # steps: where a climb that takes more of them arrives may depend on rounding


def without_row(
    rows: Array, codes: Codes, weight: Array, stats: PatternStats, density: Gaussian, settings: Settings, shared: bool
) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    Statistics must be of an estimate that needed no repair, without shrinkage, whose `density` uses all columns.
    """
    scores, sure = density.log_density(rows), np.zeros(len(rows), dtype=bool)
    whole = _Whole.of(stats, settings.divisor, shared)
    if whole is None:
        return scores, sure
    k = stats.k
    jobs: list[tuple[Codes, Codes, PatternProblem]] = []
    for classes in [np.arange(k)] if shared else list(np.arange(k)[:, None]):
        able = np.flatnonzero(np.isin(codes, classes) & (weight > 0) & ~np.isnan(rows).all(axis=1))
        own = whole.problem if shared else whole.problem.take(classes)
        size = min(MANY, max(1, CELLS // sum(part.cells.size for part in own.parts)))
        jobs += [(classes, able[part], own) for part in row_chunks(len(able), size)]

    def run(job: tuple[Codes, Codes, PatternProblem]) -> tuple[Array, Flags]:
        classes, index, own = job
        return whole.scores(classes, rows[index], codes[index], weight[index], own)

    for (classes, index, _), (found, good) in zip(jobs, parallel_map(run, jobs), strict=True):
        scores[np.ix_(index[good], classes)] = found[good]
        sure[index] = good
    return scores, sure


@dataclass(frozen=True, slots=True)
class _Whole:
    """The statistics of all rows by pattern, in units in which every column has total variance 1."""

    units: Units
    problem: PatternProblem
    shown: frozenset[tuple[int, bytes]]  # classes, and cells that rows of theirs show
    squares: Array  # (k, d) of observed cells within each class, or (1, d) within all that share a covariance
    least: Array  # (d,) variances that no estimate may come near
    rule: str
    shared: bool

    @classmethod
    def of(cls, stats: PatternStats, rule: str, shared: bool) -> Self | None:
        """Return the same, or None where a class or a column is near what calls for a repair."""
        if (stats.complete.form is PooledScatter) != shared:
            return None
        groups = groups_of(stats)
        units = Units.of(*observed_cells(stats, groups))
        rounding = (ROUNDING * np.abs(units.mean + units.center / units.scale).max(axis=0, initial=0.0)) ** 2
        least = np.maximum(ROOM * FLOOR, rounding / FLOOR)
        if units.constant.any() or (units.own < least).any() or (units.weight <= (0.0 if shared else 1.0)).any():
            return None
        problem = problem_of(groups, units, stats)
        shown = (
            (part.owner[rows], part.seen[part.pattern[rows]]) for part in problem.parts for rows in [~part.centred]
        )
        every = frozenset(pair for owner, seen in shown for pair in zip(owner.tolist(), map(bytes, seen), strict=True))
        squares = units.within[None] * units.weight.sum(axis=0) if shared else units.own * units.weight
        return cls(units, problem, every, squares, least, rule, shared)

    def scores(
        self, classes: Codes, rows: Array, codes: Codes, less: Array, problem: PatternProblem
    ) -> tuple[Array, Flags]:
        """Return log densities (b, q) of rows under classes that share a covariance, each without itself, and if so.

        `problem` is that of these classes with all rows.
        """
        cells, b, d = (rows - self.units.center) / self.units.scale, *rows.shape
        own = np.searchsorted(classes, codes)
        found, good = np.zeros((b, len(classes))), np.zeros(b, dtype=bool)
        weight = np.tile(problem.weight, (b, 1))
        weight[np.arange(b), own] -= less
        start, able = self._start(classes, cells, own, less)
        able &= (weight > 0).all(axis=1)
        able &= [pair in self.shown for pair in zip(codes.tolist(), map(bytes, ~np.isnan(cells)), strict=True)]
        index = np.flatnonzero(able)

        def without(i: int) -> PatternProblem:
            one = np.array([i])
            leaving = row_parts(cells, one, own[one], -less[one], True)
            return replace(problem, parts=[*problem.parts, *leaving], weight=weight[i])

        every = side_by_side([without(i) for i in index.tolist()]) if len(index) else problem
        while len(index):
            at = Point(start.mean[index].reshape(-1, d), start.covariance[index])
            with single_blas_thread():
                reached = climb(every, at, QUICK)
            if reached.arrived.all():
                point = Point(reached.point.mean.reshape(len(index), -1, d), reached.point.covariance)
                found[index], sure = self._judged(point, weight[index], cells[index], own[index], less[index])
                good[index] = sure & ~reached.secured
                break
            every = every.take(np.flatnonzero(reached.arrived))
            index = index[reached.arrived]  # again: they may stand on saddles, which are looked for when all arrive
        return found, good

    def _start(self, classes: Codes, cells: Array, own: Codes, less: Array) -> tuple[Point, Flags]:
        """Return where a refit without each row begins: means (b, q, d) and covariances; and if it borrows nothing."""
        b, c = np.arange(len(cells)), classes[own]
        seen = ~np.isnan(cells)
        w = seen * less[:, None]
        count = self.units.weight[c]
        left = count - w
        able = np.asarray((left > (EMPTY * count if self.shared else 1.0)).all(axis=1))
        rest = (self.units.weight.sum(axis=0) if self.shared else count) - w
        able &= (rest >= FEW * (cells.shape[1] + 1.0) * less[:, None]).all(axis=1)
        safe = np.where(left > 0, left, 1.0)
        shift = np.where(seen, cells - self.units.mean[c], 0.0)
        mean = np.repeat(self.units.mean[classes][None], len(cells), axis=0)
        mean[b, own] -= w / safe * shift
        own_squares = self.squares if self.shared else self.squares[c]
        within = (own_squares - w * count / safe * shift**2) / rest
        able &= (within > self.least).all(axis=1)
        return Point(mean, np.where(able[:, None], within, 1.0)[:, :, None] * np.eye(cells.shape[1])), able

    def _judged(self, point: Point, weight: Array, cells: Array, own: Codes, less: Array) -> tuple[Array, Flags]:
        """Return log densities (b, q) of the rows under estimates without them, and which no repair would change."""
        total = weight.sum(axis=1)
        divisor = divisors(total, weight.shape[1], self.rule)
        covariance = point.covariance * (total / divisor)[:, None, None]
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        sure: Flags = np.asarray((variance > self.least).all(axis=1))
        covariance, mended = nearest_spd(covariance)
        sure &= ~mended
        precision = Regressions.under(covariance).precision
        trace = (np.diagonal(precision, axis1=1, axis2=2) * variance).sum(axis=1)
        scores = np.zeros(weight.shape)
        for seen, index in pattern_groups(~np.isnan(cells)):
            inner = covariance[np.ix_(index, seen, seen)]
            away = cells[np.ix_(index, seen)][:, None] - point.mean[index][:, :, seen]
            squares = np.einsum("bqi,bqi->bq", away, np.linalg.solve(inner, away.transpose(0, 2, 1)).transpose(0, 2, 1))
            log_det = np.linalg.slogdet(inner)[1] + 2.0 * np.log(self.units.scale[seen]).sum()
            scores[index] = -0.5 * (squares + log_det[:, None] + len(seen) * LOG_2PI)
            share = 1.0 + less[index] * squares[np.arange(len(index)), own[index]] / divisor[index]
            sure[index] &= (1.0 / share > LEAST_KEPT) & (1.0 / trace[index] > LEAST_KEPT)
        return scores, sure
