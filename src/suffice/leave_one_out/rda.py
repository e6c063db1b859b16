"""Regularised discriminant analysis: its two settings by leave-one-out.

The exact leave-one-out density of a row is no fair judge of settings where a class has few rows for its columns: the
own class always has one row less than the others, its determinant is smaller by as much for every row of the class, and
little shrinkage then looks as if it told the classes apart. So settings are compared with every class one row short:
the own class loses the row, the others an average row of theirs (to first order). What leaves the diagonal that
covariances are drawn to is taken out to first order as well, exactly at both ends (no shrinkage, and all of it).

Plug-in densities stake everything on a covariance, so that a single row can cost as much as all others together. If one
row alone tells two settings apart, the mean of its loss is one standard error, and √2 of two such rows: what is
less than 1½ standard errors worse than the best is not told from it, and of those the one that shares most is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .._arrays import (
    Array,
    Codes,
    Flags,
    invert_triangular,
    log_of,
    log_softmax,
    lower_factor,
    np,
    parallel_map,
    single_blas_thread,
)
from ..densities.covariance import FLOOR, correlations, least_amount
from ..em.cells import complete
from ..errors import SettingError
from ..estimate import RDA, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..notes import Kind, Note
from ..stats import CompletedStats, GaussianStats, PatternStats
from ..stats.pooling import Pool, mixed_divisors, total_variance
from ..stats.rows import content, deal_groups

Moments = GaussianStats | PatternStats | CompletedStats
MOST_ROWS = 2000  # that settings are judged by: more hardly change the choice
MOST_CELLS = 200_000  # n d of these rows, for wide tables, but not below LEAST_ROWS
LEAST_ROWS = 500
STEPS = 6  # intervals of the coarse grid in each direction
HALVINGS = 2  # of the step about the best point so far
LEAST_KEPT = 1e-9  # share of a density's precision that a row is at least said to leave
BETTER = 1e-9  # nats by which settings must be better
ERRORS = 1.5  # standard errors: what one or two rows decide is not decided
ENDS = {0.0: "a covariance for each class by itself", 1.0: "one covariance for all classes"}


@dataclass(frozen=True, slots=True)
class Judges:
    """Rows (n, d) that settings are judged by, NaN where missing, with class numbers `codes` (n,).

    `weight` (n,) leaves with a row, that of one copy where several are equal; `counts_for` (n,) is the weight of its
    loss among those of the others. Where rows are of groups, `group` (n,) are their numbers, and whole groups leave.
    """

    rows: Array
    codes: Codes
    weight: Array
    counts_for: Array
    group: Codes | None = None

    def complete(self) -> Judges:
        """Return those without a missing cell, evenly spaced ones where they are very many."""
        chosen = self.whole_rows()
        return Judges(self.rows[chosen], self.codes[chosen], self.weight[chosen], self.counts_for[chosen])

    def whole_rows(self) -> Codes:
        """Return the numbers of these."""
        chosen = np.flatnonzero(~np.isnan(self.rows).any(axis=1) & (self.weight > 0))
        if not len(chosen):
            raise SettingError(
                'shrinkage="loo" judges by complete rows, and every row misses a cell. Next: give an amount, or "oas".'
            )
        most = min(MOST_ROWS, max(LEAST_ROWS, MOST_CELLS // self.rows.shape[1]))
        if len(chosen) > most:
            chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
        return chosen


class _Fold(NamedTuple):
    """What is known without a fold, by block, the weight (k,) of each class in that, and the rows (m,) it judges."""

    moments: Sequence[GaussianStats]
    weight: Array
    own: Codes


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Blocks of Gaussian columns, a family and rows (n, d) each, in folds of whole groups; `judged` (m,) are in order.

    A row whose class no other fold has is not judged. Missing cells are filled once for all settings.
    """

    blocks: Sequence[tuple[GaussianFamily, Array]]
    codes: Codes
    folds: Sequence[_Fold]
    judged: Codes

    @classmethod
    def of(
        cls,
        blocks: Sequence[tuple[GaussianFamily, Array]],
        codes: Codes,
        weight: Array,
        k: int,
        group: Codes,
        judges: Codes,
    ) -> GroupFolds:
        """Return the folds of rows of k classes with weights (n,) in groups, of which those numbered `judges` judge."""
        place = deal_groups(group, codes, content([rows for _, rows in blocks], len(codes)))

        def fold(number: int) -> _Fold:
            others = np.flatnonzero(place != number)
            held = np.bincount(codes[others], weights=weight[others], minlength=k).astype(np.float64)
            known = codes[others], k, weight[others]
            moments = [completed(family.summarize(rows[others], *known)) for family, rows in blocks]
            own = judges[place[judges] == number]
            return _Fold(moments, held, own[held[codes[own]] > 0])

        folds = list(parallel_map(fold, range(int(place.max()) + 1), cost=np.inf))
        return cls(blocks, codes, folds, np.sort(np.concatenate([own.own for own in folds])))

    def losses(self, told: Settings) -> Array:
        """Return −log p(own class | row) (m,) in nats of the rows that judge, each by the others with a setting."""
        out = np.empty(len(self.codes))
        for moments, weight, own in self.folds:
            scores = np.tile(log_of(np.where(weight > 0, weight + 0.5, 0.0)), (len(own), 1))
            for (family, rows), stats in zip(self.blocks, moments, strict=True):
                named = replace(told, classes=tuple(range(len(weight))), columns=tuple(range(rows.shape[1])))
                density = family.estimate(stats, named)[0].log_density(rows[own])
                scores += np.where(weight > 0, density, 0.0)
            out[own] = -log_softmax(scores)[np.arange(len(own)), self.codes[own]]
        return out[self.judged]


def completed(stats: Moments) -> GaussianStats:
    """Return the statistics of complete rows, missing cells expected from the others."""
    if isinstance(stats, PatternStats):
        return complete(stats)
    return stats.complete if isinstance(stats, CompletedStats) else stats


def choose_rda(judges: Judges, stats: GaussianStats | PatternStats, family: GaussianFamily, settings: Settings) -> RDA:
    """Return the RDA settings of least class-balanced leave-one-out log loss.

    Covariances come from `stats`, which may hold many more rows than judge; incomplete rows judge nothing. `shared` is
    tried at squares and `amount` (towards the diagonal) at cubes of an even grid from 0 to 1, refined about the best;
    an amount of 0 becomes None, the least that makes a covariance usable. Of the settings less than `ERRORS` standard
    errors worse than the best the one that shares most is taken. With `family.shared` only the amount is chosen.
    SettingError if no row is complete. Rows in groups are judged by folds of whole groups, from rows of the others.

    Friedman (1989), doi:10.1080/01621459.1989.10478752, chooses by the leave-one-out error rate; the log loss also sees
    how sure the answers are.
    """
    k, d = stats.column_weight().shape
    whole = judges.whole_rows()
    told = replace(settings, shrinkage=Shrinkage(RDA(amount=1.0)), classes=tuple(range(k)), columns=tuple(range(d)))
    used = list(family.estimate(stats, told)[0].used)
    if not used:
        return RDA()
    with single_blas_thread():
        if judges.group is None:
            moments = completed(stats).dense()
            problem = _Problem.of(moments, judges.complete(), used, family.shared, settings.divisor)
            work = float(problem.rows.size) * d * k
            share, amount = _search(problem.losses, problem.counts_for, work, family.shared)
        else:
            folds = GroupFolds.of([(family, judges.rows)], judges.codes, judges.weight, k, judges.group, whole)

            def losses(share: float, amount: float) -> Array:
                return folds.losses(replace(told, shrinkage=Shrinkage(RDA(share, amount or None))))

            counts_for, group = judges.counts_for[folds.judged], judges.group[folds.judged]
            share, amount = _search(losses, counts_for, np.inf, family.shared, group)
    return RDA(shared=share, amount=amount or None)


def choice_note(chosen: RDA, alike: bool) -> Note:
    """Return the note that says what was chosen; if `alike`, beside one covariance for all classes."""
    amount = "the least that serves" if chosen.amount is None else f"{chosen.amount:.3g}"
    shared = ENDS.get(1.0 if alike else float(chosen.shared), f"covariances of which classes share {chosen.shared:.3g}")
    why = "of the settings that leave-one-out cannot tell from the best, this shares the most"
    return Note(f"chose {shared}, correlations shrunk by {amount}", why, kind=Kind.CHOSEN)


def undecided(losses: Array, counts_for: Array, errors: float, group: Codes | None = None) -> Flags:
    """Return which settings (s,) are not told from that of least loss: worse by at most so many standard errors.

    `losses` (s, n) are by row, `counts_for` (n,) their weights; errors are of the paired differences, and nothing
    smaller than `BETTER` counts. Of rows in groups, whose numbers are `group` (n,), whole groups are drawn.
    Breiman et al. (1984), section 3.4.3; Hastie et al. (2009), section 7.10.
    """
    share = counts_for / counts_for.sum()
    worse = losses - losses[int((losses @ share).argmin())]
    mean = worse @ share
    apart = (worse - mean[:, None]) * share
    if group is not None:
        order = np.argsort(group, kind="stable")
        apart = np.add.reduceat(apart[:, order], np.unique(group[order], return_index=True)[1], axis=1)
    error = np.sqrt((apart**2).sum(axis=1))
    return np.asarray(mean <= errors * error + BETTER)


def _search(
    losses_at: Callable[[float, float], Array], counts_for: Array, work: float, shared: bool, group: Codes | None = None
) -> tuple[float, float]:
    """Return (shared, amount) by a coarse grid and steps halved about its best point.

    `losses_at` settings are by row, which `counts_for` so much; `work` is what they cost.
    """
    rows: dict[tuple[float, float], Array] = {}

    def visit(points: list[tuple[float, float]]) -> dict[tuple[float, float], float]:
        new = [p for p in dict.fromkeys(points) if p not in rows]
        found = parallel_map(lambda p: losses_at(p[0] ** 2, p[1] ** 3), new, cost=work * len(new))
        rows.update(zip(new, found, strict=True))
        share = counts_for / counts_for.sum()
        return {point: float(share @ loss) for point, loss in rows.items()}

    steps = [i / STEPS for i in range(STEPS + 1)]
    losses = visit([(a, b) for a in ([0.0] if shared else steps) for b in steps])
    step = 1.0 / STEPS
    for _ in range(HALVINGS):
        step /= 2.0
        losses = visit(list(_around(_best(losses), step, shared)))
    a, b = _best(losses)
    if not shared:
        alike = undecided(np.stack(list(rows.values())), counts_for, ERRORS, group)
        most = max(point[0] for point, one in zip(rows, alike, strict=True) if one)
        chosen = {point: losses[point] for point, one in zip(rows, alike, strict=True) if one and point[0] == most}
        a, b = _best(chosen)
    return round(a**2, 6), round(b**3, 6)


def _best(losses: dict[tuple[float, float], float]) -> tuple[float, float]:
    """Return the point of least loss; of equal ones that which shares most, then that which shrinks least."""
    least = min(losses.values())
    return min((p for p, loss in losses.items() if loss <= least + BETTER), key=lambda p: (-p[0], p[1]))


def _around(point: tuple[float, float], step: float, shared: bool) -> Iterator[tuple[float, float]]:
    for a in (0.0,) if shared else (-step, 0.0, step):
        for b in (-step, 0.0, step):
            yield min(max(point[0] + a, 0.0), 1.0), min(max(point[1] + b, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class _Problem:
    """What does not depend on the settings: rows (n, d) that judge, and statistics of the columns in use."""

    rows: Array
    codes: Codes
    weight: Array
    counts_for: Array
    count: Array  # (k,)
    mean: Array  # (k, d)
    scatter: Array  # (k, d, d), or (1, d, d) when shared
    pooled: Array  # (d, d)
    typical: Array  # (k,) weight of a row
    least: Array  # (d,) variance
    log_unit: float  # of the volume that densities are per: rows are in units of the columns' standard deviations
    rule: str
    shared: bool

    @classmethod
    def of(cls, stats: GaussianStats, judges: Judges, used: list[int], shared: bool, rule: str) -> _Problem:
        known = stats.weight > 0  # a class without a row judges nothing
        position = np.cumsum(known) - 1
        mine = known[judges.codes]
        codes = position[judges.codes[mine]]
        count = stats.weight[known]
        values = stats.scatter.values[..., used, :][..., used]
        scatter = values[None] if shared else values[known]
        weight, judged = judges.weight[mine], judges.counts_for[mine]
        rows_of = np.bincount(codes, weights=judged / weight, minlength=len(count))
        total = np.bincount(codes, weights=judged, minlength=len(count))
        typical = np.where(rows_of > 0, total / np.where(rows_of > 0, rows_of, 1.0), weight.mean())
        rows, mean = judges.rows[mine][:, used], stats.mean[known][:, used]
        squares = np.diagonal(scatter, axis1=1, axis2=2)
        units = np.sqrt(total_variance(mean, np.repeat(count[:, None], len(used), axis=1), squares))
        rows, mean, scatter = rows / units, mean / units, scatter / units[:, None] / units  # products stay in range
        pooled, squares = scatter.sum(axis=0), np.diagonal(scatter, axis1=1, axis2=2)
        overall = total_variance(mean, np.repeat(count[:, None], len(used), axis=1), squares)
        within = np.diagonal(pooled) / count.sum()
        least = FLOOR * np.where(within > FLOOR**2 * overall, within, overall)
        log_unit = float(np.log(units).sum())
        return cls(rows, codes, weight, judged, count, mean, scatter, pooled, typical, least, log_unit, rule, shared)

    def losses(self, share: float, amount: float) -> Array:
        """Return the class-balanced leave-one-out log loss of each row (n,), in nats."""
        scores = np.empty((len(self.rows), len(self.count)))
        for k in range(len(self.count)):
            scores[:, k] = self._log_density(k, share, amount)
        scores += np.log((self.count + 0.5) / (self.count + 0.5).sum())
        return np.asarray(-log_softmax(scores)[np.arange(len(scores)), self.codes])

    def _log_density(self, k: int, share: float, amount: float) -> Array:
        """Return log p(x | k) (n,), in nats up to a constant, of an estimate in which each class is a row short."""
        mine = self.codes == k
        factor, scatter, log_det, drawn = self._factor(k, share, amount)
        inverse = np.einsum("ij,ij->j", factor, factor)  # diagonal of B⁻¹
        count, w = self.count[self.codes], self.weight
        left = np.maximum(count - w, 0.5 * w)
        h = w * count / left
        beta = h if self.shared else np.where(mine, h, share * h)
        r = self.rows - self.mean[k]
        z = r @ factor.T
        y = z @ factor
        offset = self.mean[k] - self.mean  # δ = r + m_k − m_c
        z_own = z + (offset @ factor.T)[self.codes]
        delta = r + offset[self.codes]
        lost = delta**2
        lost *= (drawn * beta)[:, None]  # what leaves the diagonal of B
        kept = np.maximum(1.0 - lost * inverse, LEAST_KEPT)
        lost /= kept
        y_own = y + (offset @ factor.T @ factor)[self.codes]
        squares = (z * z).sum(axis=1) + (lost * y * y).sum(axis=1)
        cross = (z * z_own).sum(axis=1) + (lost * y * y_own).sum(axis=1)
        own = (z_own * z_own).sum(axis=1) + (lost * y_own * y_own).sum(axis=1)
        less = np.maximum(1.0 - (1.0 - drawn) * beta * own, LEAST_KEPT)
        squares += (1.0 - drawn) * beta * cross**2 / less
        squares[mine] *= (count / left)[mine] ** 2
        change = np.log(kept).sum(axis=1) + np.log(less)
        if not self.shared:
            self._balance(k, mine, scatter, drawn, y, (own, h / less, change), (squares, change))
        divisor = self._divisor(k, share)
        log_det += 2.0 * self.log_unit
        return np.asarray(-0.5 * (log_det + change - len(inverse) * np.log(divisor) + divisor * squares))

    def _balance(
        self,
        k: int,
        mine: Flags,
        scatter: Array,
        drawn: float,
        y: Array,
        judged: tuple[Array, ...],
        out: tuple[Array, ...],
    ) -> None:
        """Add to rows of other classes what class k loses with an average row of its own."""
        squares, change = out
        others = ~mine
        if not mine.any():
            return
        own, pull, logs = (float(np.average(values[mine], weights=self.counts_for[mine])) for values in judged)
        spread = scatter / self.count[k]
        along = ((1.0 - drawn) * np.einsum("nd,nd->n", y @ spread, y)) + drawn * (y * y) @ np.diagonal(spread)
        ratio = self.typical[k] / max(self.count[k] - self.typical[k], 0.5 * self.typical[k])
        squares[others] += pull * along[others] + own * ratio**2
        change[others] += logs

    def _divisor(self, k: int, share: float) -> Array:
        """Return what the sums of squares of class k are divided by without a row (n,)."""
        total, number = self.count.sum() - self.weight, len(self.count)
        if self.shared:
            return np.asarray(np.maximum(total - (number if self.rule == "unbiased" else 0), 1.0))
        mine = self.codes == k
        left = self.count[k] - np.where(mine, self.weight, self.typical[k])
        return mixed_divisors(np.maximum(left, 0.5 * self.typical[k]), Pool(total, number, share), self.rule)

    def _factor(self, k: int, share: float, amount: float) -> tuple[Array, Array, float, float]:
        """Return G with B⁻¹ = GᵀG, B = (1 − s) A + s diag A; the class's own scatter; log|B|; and s as used."""
        own = self.scatter[0 if self.shared else k]
        mixed = own if self.shared else (1.0 - share) * own + share * self.pooled
        weight = self.count.sum() if self.shared else (1.0 - share) * self.count[k] + share * self.count.sum()
        variance = np.maximum(np.diagonal(mixed), self.least * weight)
        correlation = correlations(mixed, variance)
        drawn = max(amount, least_amount(correlation)) if amount < 1e-3 else amount
        correlation *= 1.0 - drawn
        np.fill_diagonal(correlation, 1.0)
        lower = lower_factor(correlation, overwrite=True)
        log_det = 2.0 * float(np.log(np.diagonal(lower)).sum()) + float(np.log(variance).sum())
        return invert_triangular(lower) / np.sqrt(variance), own, log_det, drawn
