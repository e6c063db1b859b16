"""Leave-one-out with missing cells: EM for many rows side by side.

A refit of a small table costs what its calls cost, not its numbers. Here every array holds the estimates of many rows:
EM is that of `em`, from the start that a refit has, on sums by pattern of cells which lack one row. What is near any
repair, or would lose digits when a row is subtracted, is left to a refit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map, pattern_groups, row_chunks, single_blas_thread
from ..densities import Gaussian
from ..densities.covariance import FLOOR, ROUNDING
from ..densities.gaussian import LOG_2PI
from ..em.accelerated_em import Climb, climb
from ..em.cells import Units, groups_of, standard_units
from ..em.step import Point, Regressions, nearest_spd
from ..estimate import Settings
from ..stats import PatternStats, PooledScatter
from ..stats.pooling import divisors
from ..stats.rows import taken
from .downdate import EMPTY, LEAST_KEPT, ROOM

MANY = 256  # rows side by side
CELLS = 1 << 18  # numbers in the parameters of so many
FEW = 1.5  # rows left for each column and one more: the likelihood of fewer may have several maxima
QUICK = 100  # steps: where a climb that takes more of them arrives may depend on rounding


def without_row(
    rows: Array,
    codes: Codes,
    weight: Array,
    stats: PatternStats,
    density: Gaussian,
    settings: Settings,
    shared: bool,
) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    Statistics must be of an estimate that needed no repair, without shrinkage, whose `density` uses all columns.
    """
    scores, sure = density.log_density(rows), np.zeros(len(rows), dtype=bool)
    whole = _Whole.of(stats, settings.divisor, shared)
    if whole is None:
        return scores, sure
    k, d = len(stats.column_weight()), rows.shape[1]
    size = min(MANY, max(1, CELLS // (d * (d + (k if shared else 1)))))
    jobs: list[tuple[Codes, Codes]] = []
    for classes in [np.arange(k)] if shared else list(np.arange(k)[:, None]):
        able = np.flatnonzero(np.isin(codes, classes) & (weight > 0) & ~np.isnan(rows).all(axis=1))
        jobs += [(classes, able[part]) for part in row_chunks(len(able), size)]

    def run(job: tuple[Codes, Codes]) -> tuple[Array, Flags]:
        classes, index = job
        return whole.scores(classes, rows[index], codes[index], weight[index])

    for (classes, index), (found, good) in zip(jobs, parallel_map(run, jobs), strict=True):
        scores[np.ix_(index[good], classes)] = found[good]
        sure[index] = good
    return scores, sure


@dataclass(frozen=True, slots=True)
class _Shown:
    """Rows of some classes (q,) that show one pattern of cells, and those that leave, one to an estimate (r,)."""

    observed: Codes  # (o,)
    missing: Codes  # (m,)
    classes: Codes  # (q,) numbers among the classes of the problem
    weight: Array  # (q,)
    mean: Array  # (q, o)
    scatter: Array  # (o, o) about these means
    leaving: Codes  # (r,) numbers of the estimates
    own: Codes  # (r,) places of their classes in `classes`
    less: Array  # (r,) their weights
    cells: Array  # (r, o)

    def take(self, units: Codes) -> _Shown:
        """Return the same for some of the estimates (ascending)."""
        kept = np.isin(self.leaving, units)
        left = taken(self, kept, "leaving", "own", "less", "cells")
        return replace(left, leaving=np.searchsorted(units, left.leaving))

    def sums(self, mean: Array) -> tuple[Array, Array, Array]:
        """Return, about means (b, q, d): sums of squares (b, o, o), sums (b, q, o) and the weight of the rows (b,)."""
        about = mean[:, self.classes][:, :, self.observed]
        shift = self.mean - about
        first = shift * self.weight[:, None]
        squares = self.scatter + first.transpose(0, 2, 1) @ shift
        mass = np.full(len(mean), self.weight.sum())
        own = self.cells - about[self.leaving, self.own]
        pulled = own * self.less[:, None]
        squares[self.leaving] -= pulled[:, :, None] * own[:, None, :]
        first[self.leaving, self.own] -= pulled
        mass[self.leaving] -= self.less
        return squares, first, mass


@dataclass(frozen=True, slots=True)
class _Problem:
    """What `climb` climbs: b estimates of classes (q,) that share a covariance, each without one row."""

    parts: Sequence[_Shown]
    weight: Array  # (b, q) what is left of the classes

    def step(self, point: Point) -> tuple[Array, Point, Flags]:
        """Return log likelihoods (b,), the parameters one EM step on, and which covariances had to be mended (b,)."""
        covariance, mended = nearest_spd(point.covariance)
        regressions = Regressions.under(covariance)
        b, d = covariance.shape[:2]
        mean = point.mean.reshape(b, -1, d)
        first, second, left = np.zeros_like(mean), np.zeros((b, d, d)), np.zeros((b, d, d))
        halves = np.zeros(b)
        for part in self.parts:
            halves += _fill(part, mean, regressions, first, second, left)
        likelihood = -halves - 0.5 * np.einsum("bij,bij->b", second, regressions.precision)
        step = first / self.weight[:, :, None]
        spread = second + left - (step * self.weight[:, :, None]).transpose(0, 2, 1) @ step
        spread /= self.weight.sum(axis=1)[:, None, None]
        ahead = Point((mean + step).reshape(-1, d), 0.5 * (spread + spread.transpose(0, 2, 1)))
        return likelihood, ahead, mended

    def take(self, units: Codes) -> Self:
        """Return some of the problems."""
        return replace(self, parts=[part.take(units) for part in self.parts], weight=self.weight[units])

    def secured(self, units: Codes) -> Self:
        """Return the problem as it is: what would have to be secured is left to a refit."""
        return self


def _fill(part: _Shown, mean: Array, regressions: Regressions, first: Array, second: Array, left: Array) -> Array:
    """Return half the log determinants of what a pattern observes (b,), each as often as the weight of its rows.

    Add its sums, missing cells filled in, to `first` (b, q, d) and `second` (b, d, d), what regressions leave over to
    `left` (b, d, d).
    """
    squares, sums, mass = part.sums(mean)
    seen, gone = part.observed, part.missing
    first[:, part.classes[:, None], seen] += sums
    second[:, seen[:, None], seen] += squares
    if not len(gone):
        return np.asarray(0.5 * mass * regressions.log_det)
    given = regressions.given(seen, gone)
    turned = given.slopes.transpose(0, 2, 1)
    across = given.slopes @ squares
    first[:, part.classes[:, None], gone] += sums @ turned
    second[:, gone[:, None], seen] += across
    second[:, seen[:, None], gone] += across.transpose(0, 2, 1)
    second[:, gone[:, None], gone] += across @ turned
    left[:, gone[:, None], gone] += given.noise * mass[:, None, None]
    return np.asarray(0.5 * mass * given.log_det)


def _climb(problem: _Problem, start: Point) -> tuple[Climb, Point]:
    """Return how EM climbed from there, and where it arrived: means (b, q, d) and covariances."""
    b, d = start.covariance.shape[:2]
    with single_blas_thread():
        reached = climb(problem, Point(start.mean.reshape(-1, d), start.covariance), QUICK)
    return reached, Point(reached.point.mean.reshape(b, -1, d), reached.point.covariance)


@dataclass(frozen=True, slots=True)
class _Whole:
    """The statistics of all rows by pattern, in units in which every column has total variance 1."""

    units: Units
    observed: Array  # (k, d) weight of the observed cells
    mean: Array  # (k, d) of them
    squares: Array  # (k, d) their sums of squares within each class, or (1, d) within all that share a covariance
    least: Array  # (d,) variances that no estimate may come near
    patterns: dict[tuple[int, ...], tuple[Codes, Array, Array, Array]]  # classes (q,), weight, mean, scatter (q or 1,)
    rule: str
    shared: bool

    @classmethod
    def of(cls, stats: PatternStats, rule: str, shared: bool) -> Self | None:
        """Return the same, or None where a class or a column is near what calls for a repair."""
        if (stats.complete.form is PooledScatter) != shared:
            return None
        groups = groups_of(stats)
        units = standard_units(groups, stats.k, stats.d)
        rounding = (ROUNDING * np.abs(units.mean + units.center / units.scale).max(axis=0, initial=0.0)) ** 2
        least = np.maximum(ROOM * FLOOR, rounding / FLOOR)
        if units.constant.any() or (units.own < least).any() or (units.weight <= (0.0 if shared else 1.0)).any():
            return None
        patterns = {}
        for group in groups:
            for s, columns in enumerate(group.observed):
                sd = units.scale[columns]
                rows = np.flatnonzero(group.pattern == s)
                scatter = group.scatter[[s]] if shared else group.scatter[rows]
                mean = (group.mean[rows] - units.center[columns]) / sd
                own = scatter / sd[:, None] / sd
                patterns[tuple(columns.tolist())] = (group.owner[rows], group.weight[rows], mean, own)
        squares = units.within[None] * units.weight.sum(axis=0) if shared else units.own * units.weight
        return cls(units, units.weight, units.mean, squares, least, patterns, rule, shared)

    def scores(self, classes: Codes, rows: Array, codes: Codes, less: Array) -> tuple[Array, Flags]:
        """Return log densities (b, q) of rows under classes that share a covariance, each without itself, and if so."""
        cells = (rows - self.units.center) / self.units.scale
        own = np.searchsorted(classes, codes)
        found, good = np.zeros((len(rows), len(classes))), np.zeros(len(rows), dtype=bool)
        parts, there = self._parts(classes, cells, own, less)
        weight = np.zeros((len(rows), len(classes)))
        for part in parts:
            weight[:, part.classes] += part.weight
        weight[np.arange(len(rows)), own] -= less
        start, able = self._start(classes, cells, own, less)
        able &= there & (weight > 0).all(axis=1)
        index, every = np.flatnonzero(able), _Problem(parts, weight)
        while len(index):
            reached, point = _climb(every.take(index), Point(start.mean[index], start.covariance[index]))
            if reached.arrived.all():
                found[index], sure = self._judged(point, weight[index], cells[index], own[index], less[index])
                good[index] = sure & ~reached.secured
                break
            index = index[reached.arrived]  # again: they may stand on saddles, which are looked for when all arrive
        return found, good

    def _parts(self, classes: Codes, cells: Array, own: Codes, less: Array) -> tuple[list[_Shown], Flags]:
        """Return the patterns that some classes show, and which rows are among theirs (b,)."""
        members = {tuple(seen.tolist()): index for seen, index in pattern_groups(~np.isnan(cells))}
        parts, there = [], np.zeros(len(cells), dtype=bool)
        for pattern, (owner, weight, mean, scatter) in self.patterns.items():
            some = np.flatnonzero(np.isin(owner, classes))
            if not len(some):
                continue
            seen = np.array(pattern, dtype=np.int64)
            gone = np.setdiff1d(np.arange(cells.shape[1]), seen)
            local = np.searchsorted(classes, owner[some])
            index = members.get(pattern, np.zeros(0, dtype=np.int64))
            index = index[np.isin(own[index], local)]
            there[index] = True
            sums = (scatter if self.shared else scatter[some]).sum(axis=0)
            place = np.searchsorted(local, own[index])
            left = index, place, less[index], cells[np.ix_(index, seen)]
            parts.append(_Shown(seen, gone, local, weight[some], mean[some], sums, *left))
        return parts, there

    def _start(self, classes: Codes, cells: Array, own: Codes, less: Array) -> tuple[Point, Flags]:
        """Return where a refit without each row begins: means (b, q, d) and covariances; and if it borrows nothing."""
        b, c = np.arange(len(cells)), classes[own]
        seen = ~np.isnan(cells)
        w = seen * less[:, None]
        count = self.observed[c]
        left = count - w
        able = np.asarray((left > (EMPTY * count if self.shared else 1.0)).all(axis=1))
        rest = (self.observed.sum(axis=0) if self.shared else count) - w
        able &= (rest >= FEW * (cells.shape[1] + 1.0) * less[:, None]).all(axis=1)
        safe = np.where(left > 0, left, 1.0)
        shift = np.where(seen, cells - self.mean[c], 0.0)
        mean = np.repeat(self.mean[classes][None], len(cells), axis=0)
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
