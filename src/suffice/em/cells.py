"""EM for Gaussians with missing cells, on the statistics of each pattern.

Little & Rubin, Statistical Analysis with Missing Data (3rd ed., 2019), section 11.2: the E step completes the
statistics of a pattern by regressing its missing columns on the observed ones; the M step divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, Flags, np, row_chunks, rows_within, single_blas_thread
from ..densities.covariance import FLOOR, ROUNDING
from ..errors import DataError, setting
from ..notes import Kind, Note
from ..schema import Level
from ..stats import CompletedStats, DiagonalScatter, FullScatter, GaussianStats, PatternStats, PooledScatter
from ..stats.patterns import PatternGroup, groups_of, observed_cells, rows_seen
from ..stats.pooling import total_variance
from ..stats.scatter import Scatter
from .accelerated_em import Climb, climb
from .step import (
    PRIOR_ROWS,
    Parts,
    PatternProblem,
    Point,
    Regressions,
    add_up,
    nearest_spd,
    prior_ridge,
    row_parts,
    side_by_side,
    without_rounding,
)

MAX_STEPS = 1000
SECURED = "kept the covariance usable while filling missing cells"
SPANNED = 1e-13  # least eigenvalue of a scatter, relative to its largest, that is no rounding
MAX_COLUMNS = 4096  # EM holds d × d matrices


def complete(
    stats: PatternStats,
    report: Callable[[Note], None] | None = None,
    classes: Sequence[Level] = (),
    most_steps: int | None = None,
    spreads_known: bool = False,
) -> GaussianStats:
    """Return statistics whose ordinary estimate (mean, scatter / weight) is the maximum-likelihood one.

    With no incomplete row these are the complete rows' own. Missing cells are taken to be missing at random. What a
    class's own cells cannot tell is borrowed: a column with no value in the class has the mean of all classes, and,
    when covariances are separate, one with at most one value has the variance within all classes and no correlations,
    unless all are known (`spreads_known`): a prior among the complete rows tells them, be it worth less than a row.

    `report` is called with a note, which names `classes`, where EM stopped early or a covariance came near singular,
    or EM did not settle, so that the class had to be given a weak prior, see `step.prior_ridge`.
    """
    if not stats.incomplete:
        return stats.complete
    check_columns(stats.d)
    groups = groups_of(stats)
    units = Units.of(*observed_cells(stats, groups))
    problem = problem_of(groups, units, stats)
    if spreads_known:
        problem = replace(problem, lonely=np.zeros_like(problem.lonely))
    found, reached = climb_from(problem, problem.weight, units, stats.complete.form, most_steps)
    for note in climb_notes(reached.steps, reached.moved, reached.secured, classes):
        if report is not None:
            report(note)
    return found


def weak_prior(stats: PatternStats | CompletedStats, shared: bool) -> Array:
    """Return the squares (g, d) that the prior of a class near singular adds to its scatter, in the columns' units."""
    if isinstance(stats, CompletedStats):
        squares = stats.complete.scatter.diagonal(len(stats.complete.weight))
        units = Units.of(stats.observed, stats.complete.mean, squares)
    else:
        units = Units.of(*observed_cells(stats))
    weight = rows_seen(stats)
    total = weight.sum(keepdims=True) if shared else weight
    return np.asarray(units.ridge(shared, weight) * total[:, None] * units.scale**2)


def check_columns(d: int) -> None:
    """Raise DataError if EM would need matrices that are too large."""
    if d > MAX_COLUMNS:
        raise DataError(
            f"Missing cells in {d} columns at once: EM would need {d} × {d} matrices. "
            f"Next: use {setting('covariance', 'diagonal')}, or drop the incomplete columns."
        )


@dataclass(frozen=True, slots=True)
class Units:
    """Per column a centre and a scale (d,), and by class what the observed cells say, in these units.

    Every column then has total variance 1, so that the columns' own units do not matter to EM.
    """

    center: Array  # (d,)
    scale: Array  # (d,)
    weight: Array  # (k, d)
    mean: Array  # (k, d)
    within: Array  # (d,) variance within classes
    own: Array  # (k, d) or (1, d) variance within each class, or within all where only that is known
    constant: Flags  # (d,) columns that never vary

    @classmethod
    def of(cls, weight: Array, mean: Array, squares: Array) -> Units:
        """Return the units for observed cells with this weight and mean (k, d) and sums of squares (1 or k, d)."""
        spread = np.sqrt(np.maximum(total_variance(mean, weight, squares), 0.0))  # rows taken out leave rounding
        spread[spread <= ROUNDING * np.abs(mean).max(axis=0, initial=0.0)] = 0.0
        total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
        center = (weight * mean).sum(axis=0) / total
        scale = np.where(spread > 0, spread, 1.0)
        within = squares.sum(axis=0) / total / scale**2
        started = np.where(weight > 0, (mean - center) / scale, 0.0)
        within = np.where(within > FLOOR, within, 1.0)
        known = (len(squares) == len(weight)) & (weight > 1.0)
        own = np.where(known, squares / np.where(known, weight, 1.0) / scale**2, within)
        return cls(center, scale, weight, started, within, own, spread == 0)

    def restored(self, weight: Array, mean: Array, scatter: Array, form: type[Scatter]) -> GaussianStats:
        """Return means (k, d) and scatters (…, d, d) that are in these units as statistics in the columns' own."""
        varies = ~self.constant * self.scale
        scatter = without_rounding(scatter) * varies[:, None] * varies
        return GaussianStats(weight, mean * varies + self.center, form(scatter), form)  # a constant mean is no rounding

    def start(self, shared: bool) -> Point:
        """Return the parameters EM starts from: class means, and the variances within classes.

        With covariances of their own, classes start from their own variances: where several maxima are, which of them
        a class arrives at is then for its own rows to tell.
        """
        variance = self.within[None] if shared else np.where(self.own > FLOOR, self.own, self.within)
        return Point(self.mean, variance[:, :, None] * np.eye(len(self.within)))

    def ridge(self, shared: bool, weight: Array) -> Array:
        """Return what keeps the covariances of classes with this weight (k,) from becoming singular (g, d)."""
        return prior_ridge(self.within[None] if shared else self.own, weight)

    def lonely(self, shared: bool) -> Flags:
        """Return the columns whose spread a class cannot tell (k, d)."""
        return np.zeros(self.weight.shape, dtype=bool) if shared else self.weight <= 1.0


def climb_from(
    problem: PatternProblem, weight: Array, units: Units, form: type[Scatter], most_steps: int | None = None
) -> tuple[GaussianStats, Climb]:
    """Return the statistics, of classes with this weight (k,), whose ordinary estimate is where EM arrives."""
    shared = form is PooledScatter
    with single_blas_thread():
        reached = climb(problem, units.start(shared), MAX_STEPS if most_steps is None else most_steps)
    point = reached.point
    values = point.covariance[0] * weight.sum() if shared else point.covariance * weight[:, None, None]
    return units.restored(weight, point.mean, values, form), reached


def climb_notes(steps: int, moved: float, secured: Flags, classes: Sequence[Level]) -> Iterator[Note]:
    """Yield what there is to say of a climb; `secured` (g,) marks the covariances that were kept usable."""
    if moved > 0:
        why = f"after {steps} steps the estimate still moved"
        yield Note("stopped EM early", why, amount=moved, kind=Kind.STOPPED_EARLY)
    for i in np.flatnonzero(secured):
        label = classes[int(i)] if len(secured) == len(classes) else None
        why = "columns follow from each other, or nearly, or EM did not settle; a prior worth that many rows was added"
        yield Note(SECURED, why, label, amount=PRIOR_ROWS, kind=Kind.SECURED)


def problem_of(groups: Sequence[PatternGroup], units: Units, stats: PatternStats) -> PatternProblem:
    """Return what EM climbs for statistics by pattern, in these units."""
    shared = stats.complete.form is PooledScatter
    g, d = 1 if shared else stats.k, stats.d
    whole, weight, parts = np.zeros((g, d, d)), rows_seen(stats), list[Parts]()
    for group in groups:
        sd = units.scale[group.observed if shared else group.observed[group.pattern]]
        some = np.flatnonzero(group.scatter.any(axis=(1, 2)))  # most patterns of many have one row, which has none
        scatter = group.scatter[some] / sd[some, :, None] / sd[some, None, :]
        if group.observed.shape[1] == d:
            whole[np.zeros_like(some) if shared else group.owner[some]] = scatter
            some, scatter = some[:0], scatter[:0]
        parts.append(_parts(group, units, some, scatter, shared))
    return PatternProblem(
        parts and [Parts.joined(parts)], weight, whole, units.lonely(shared), units.within, units.ridge(shared, weight)
    )


def _parts(group: PatternGroup, units: Units, some: Codes, scatter: Array, shared: bool) -> Parts:
    """Return the means and the roots of `some` scatters (standardised) as rows, in the order of their patterns."""
    columns = group.observed[group.pattern]
    cells = (group.mean - units.center[columns]) / units.scale[columns]
    own = group.pattern if shared else np.arange(len(columns))
    observed = group.observed if shared else columns
    unit = np.zeros(len(observed), dtype=np.int64) if shared else group.owner
    root_of, roots = _roots(some, scatter)
    pattern = np.concatenate([own, root_of])
    owner = np.concatenate([group.owner, np.zeros(len(root_of), dtype=np.int64) if shared else unit[root_of]])
    order = np.argsort(pattern, kind="stable")
    seen, full = np.zeros((len(observed), len(units.scale)), dtype=bool), np.zeros((len(pattern), len(units.scale)))
    np.put_along_axis(seen, observed, True, axis=1)
    np.put_along_axis(full, observed[pattern], np.concatenate([cells, roots]), axis=1)
    mass = np.bincount(own, weights=group.weight, minlength=len(observed)).astype(np.float64)
    weight, centred = np.concatenate([group.weight, np.ones(len(root_of))]), np.arange(len(pattern)) >= len(own)
    return Parts(seen, unit, mass, pattern[order], owner[order], weight[order], centred[order], full[order])


def _roots(number: Codes, scatter: Array) -> tuple[Codes, Array]:
    """Return rows (r, o) with RᵀR the scatters (s, o, o), and the number (s,) of the scatter each belongs to (r,)."""
    values, vectors = np.linalg.eigh(scatter)
    at, which = np.nonzero(values > SPANNED * values[:, -1:])
    return number[at], vectors.transpose(0, 2, 1)[at, which] * np.sqrt(values[at, which])[:, None]


def complete_shared(tables: Sequence[PatternStats], steps: int) -> list[GaussianStats]:
    """Return the statistics of each table, all of the same columns, after so many steps of EM.

    Means and the scatters of the classes are those expected, conditional covariances of the missing cells included.
    """
    groups = [groups_of(stats.dense()) for stats in tables]
    units = [Units.of(*observed_cells(stats, own)) for own, stats in zip(groups, tables, strict=True)]
    return _stepped([problem_of(*each) for each in zip(groups, units, tables, strict=True)], units, steps)


def complete_rows_shared(rows: Array, codes: Codes, k: int, weight: Array, steps: int) -> GaussianStats:
    """Return the same of rows (n, d), whose patterns may be as many as they are."""
    problem, units = problem_of_rows(rows, codes, k, weight, FullScatter)
    return _stepped([problem], [units], steps)[0]


def problem_of_rows(
    rows: Array, codes: Codes, k: int, weight: Array | None, form: type[Scatter]
) -> tuple[PatternProblem, Units]:
    """Return what EM climbs for rows (n, d) of which those that miss cells stay rows, in chunks, and their units."""
    weight, seen = np.ones(len(rows)) if weight is None else weight, ~np.isnan(rows)
    whole, holed = seen.all(axis=1), np.flatnonzero(seen.any(axis=1) & ~seen.all(axis=1))
    stats = PatternStats(GaussianStats.summarize(rows[whole], codes[whole], k, weight[whole], form), {})
    cells = GaussianStats.summarize(rows, codes, k, weight, DiagonalScatter)
    units = Units.of(cells.weight, cells.mean, cells.scatter.values)
    problem, parts = problem_of(groups_of(stats), units, stats), list[Parts]()
    for chunk in row_chunks(len(holed), rows_within(8 * rows.shape[1], least=256)):
        index = holed[chunk]
        chosen = (rows[index] - units.center) / units.scale
        own = codes[index].astype(np.int64)
        parts += row_parts(chosen, np.arange(len(index)), own, weight[index], len(problem.whole) == 1)
    total = problem.weight + np.bincount(codes[holed], weights=weight[holed], minlength=k)
    return replace(
        problem, parts=[*problem.parts, *parts], weight=total, guard=units.ridge(form is PooledScatter, total)
    ), units


def complete_rows(rows: Array, codes: Codes, k: int, weight: Array | None, form: type[Scatter]) -> CompletedStats:
    """Return the completed statistics of rows (n, d) whose patterns are too many to be kept."""
    check_columns(rows.shape[1])
    problem, units = problem_of_rows(rows, codes, k, weight, form)
    complete, reached = climb_from(problem, problem.weight, units, form)
    secured = np.broadcast_to(reached.secured, (k,)).astype(np.float64)
    return CompletedStats(complete, units.weight, secured, reached.steps, reached.moved)


def _stepped(problems: Sequence[PatternProblem], units: Sequence[Units], steps: int) -> list[GaussianStats]:
    """Return the statistics of tables in these units after so many steps."""
    every, sizes = side_by_side(problems), [len(own.weight) for own in problems]
    parts, weight, whole = every.parts, every.weight, every.whole
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
    for own, start, size in zip(units, starts, sizes, strict=True):
        part = slice(start, start + size)
        found.append(own.restored(weight[part], mean[part], scatter[part], FullScatter))
    return found
