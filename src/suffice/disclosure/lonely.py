"""Gaussian statistics without the rows that alone hold the variance of a direction, as far as rows at hand tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Array, Codes, NDArray, np
from ..densities import Full, Gaussian
from ..em.cells import complete
from ..em.fill import fill as expected
from ..em.regression import mend
from ..errors import MergeError, NotLearnedError
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, PatternStats, PooledScatter
from .at_hand import Kept
from .gaussian import COMPLETED, Facts, Gaussians, Plan, gaussian_facts, observed_alone, rows_seen
from .least import Given, Least
from .leverage import Crowd, lonely, lonely_cells, of_rows_at_hand

LONELY = "left out rows that alone, or with too few others, have the variance of some combination of columns"
UNSEEN = "left out correlations, since no rows are kept to tell whose they are"
ROUNDS = 10  # of leaving rows out and filling the missing cells of the others again; two are seldom needed
Summarize = Callable[[Array, Codes, Array], Gaussians]
Fill = Callable[[PatternStats], GaussianStats]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Settled:
    """Statistics with every cell filled, what is known of them, and which classes keep a scatter.

    `hidden` (m, d) are cells of the rows at hand that no longer count.
    """

    stats: GaussianStats
    facts: Facts
    plan: Plan
    hidden: Flags | None = None


def without_lonely(
    stats: Gaussians,
    weight: Array,
    kept: Kept | None,
    least: Least,
    given: Given,
    summarize: Summarize,
    fill: Fill = complete,
) -> Settled:
    """Return statistics without the rows that hold the variance of a direction of columns alone.

    Such rows count in this block as rows without any cell, so that class weights do not tell of them. Where no rows
    are kept nobody knows who holds what, and variances alone are left.
    """
    d, diagonal = stats.complete.mean.shape[1], stats.complete.form is DiagonalScatter
    if kept is None or not isinstance(kept.rows, np.ndarray):
        if not diagonal and d > 1:
            given.up(UNSEEN, range(d))
        done, facts = gaussian_facts(stats, weight, None, least, fill if diagonal else observed_alone)
        return Settled(done, facts, Plan.nobody(len(weight)))
    search = _Search(stats, weight, kept, least, summarize, fill)
    hidden, now = np.zeros(kept.rows.shape, dtype=bool), stats
    for _ in range(ROUNDS):
        found, more = search.look(now, hidden)
        if not more.any():
            break
        hidden |= more
        without = search.without(hidden)
        if without is None:  # of statistics that no row can leave
            found = search.of_variances(stats, np.zeros_like(hidden))
            break
        now = without
    else:
        found = search.of_variances(now, hidden)
    if hidden.any():
        given.up(LONELY, hidden, np.unique(kept.codes[hidden.any(axis=1)]))
    filled = isinstance(now, CompletedStats) or bool(now.incomplete)
    if not diagonal and filled and not found.plan.none:
        given.up(COMPLETED, found.facts.seen < found.facts.weight[:, None] * (1.0 - 1e-9))
    found = replace(found, hidden=hidden)
    return found if kept.whole else search.as_at_hand(found)


@dataclass(frozen=True)
class _Search:
    """What stays the same while rows are left out."""

    stats: Gaussians
    weight: Array
    kept: Kept
    least: Least
    summarize: Summarize
    fill: Fill

    @property
    def pooled(self) -> bool:
        """Whether all classes share one scatter."""
        return self.stats.complete.form is PooledScatter

    def look(self, stats: Gaussians, hidden: Flags) -> tuple[Settled, Flags]:
        """Return statistics as they are without the hidden cells, and which cells must be hidden besides."""
        none = np.zeros_like(hidden)
        if self.stats.complete.form is DiagonalScatter:
            done, facts = gaussian_facts(stats, self.weight, self._varied(hidden), self.least)
            return Settled(done, facts, Plan.nobody(len(self.weight))), self._lonely_cells(facts, hidden)
        rows = rows_seen(stats) / self.least.heaviest
        if not Plan.by_rows(rows, hidden.shape[1], self.least.rows, self.pooled).none:
            done, facts = self._facts(stats, hidden, self.fill)
            plan, out = self._plan(done, facts, hidden, rows)
            if not plan.none:
                none[out] = ~hidden[out]
                return Settled(done, facts, plan), none
        found = self.of_variances(stats, hidden)
        return found, self._lonely_cells(found.facts, hidden) if self.kept.whole else none

    def of_variances(self, stats: Gaussians, hidden: Flags) -> Settled:
        """Return statistics of which variances alone are left: missing cells need not be filled."""
        done, facts = self._facts(stats, hidden, observed_alone)
        return Settled(done, facts, Plan.nobody(len(self.weight)))

    def without(self, hidden: Flags) -> Gaussians | None:
        """Return the statistics without the hidden cells; None where rows cannot leave them."""
        kept, rows = self.kept, np.asarray(self.kept.hiding(hidden).rows)
        if kept.whole:
            return self.summarize(rows, kept.codes, kept.weight)
        own = np.flatnonzero(hidden.any(axis=1))
        before, after = (
            self.summarize(np.asarray(part)[own], kept.codes[own], kept.weight[own]) for part in (kept.rows, rows)
        )
        try:
            stats: Any = self.stats
            left: Gaussians = stats.subtract(before).merge(after)
        except (MergeError, NotLearnedError):
            return None
        return left

    def _varied(self, hidden: Flags) -> Array | None:
        return self.kept.hiding(hidden).varied(len(self.weight))

    def _facts(self, stats: Gaussians, hidden: Flags, fill: Fill) -> tuple[GaussianStats, Facts]:
        pairs = self.kept.hiding(hidden).few_pairs(len(self.weight), self.pooled, self.least)
        return gaussian_facts(stats, self.weight, self._varied(hidden), self.least, fill, pairs)

    def _lonely_cells(self, facts: Facts, hidden: Flags) -> Flags:
        own = self.kept.hiding(hidden)
        return lonely_cells(np.asarray(own.rows), own.codes, own.copies, own.weight, self._weak(facts), self.least.rows)

    def _weak(self, facts: Facts) -> Flags:
        """Return the columns (k, d) whose products with others go in any case."""
        shape = np.shape(facts.rare)
        return np.broadcast_to(facts.scarce, shape) if self.pooled else np.asarray(facts.rare | facts.lost)

    def _plan(self, done: GaussianStats, facts: Facts, hidden: Flags, rows: Array) -> tuple[Plan, Codes]:
        """Return which classes keep a scatter, and which rows must leave these; `rows` (k,) are what they have."""
        k, d, least = len(self.weight), hidden.shape[1], self.least.rows
        crowds = self._crowds(done, facts, hidden)
        first = Plan.by_rows(rows, d, least, self.pooled)
        own, out = np.zeros(k, dtype=bool), list[Codes]()
        for members in (range(k),) if self.pooled else ((int(c),) for c in np.flatnonzero(first.own)):
            found, enough = crowds(members)
            own[list(members)] = enough
            out += [found] if enough else []
        lent = own
        if not own.all() and not self.pooled and Plan.together(rows[~own], d, least):
            found, enough = crowds(np.flatnonzero(~own).tolist())
            lent = ~own if enough else own
            out += [found] if enough else []
        return Plan(own, lent), np.concatenate([np.zeros(0, dtype=np.int64), *out])

    def _crowds(
        self, done: GaussianStats, facts: Facts, hidden: Flags
    ) -> Callable[[Sequence[int]], tuple[Codes, bool]]:
        """Return what tells of some classes which rows must leave their scatter, and whether enough are left."""
        kept, weak = self.kept, self._weak(facts)
        rows = np.asarray(kept.hiding(hidden).rows)
        some = np.flatnonzero(~np.isnan(rows).all(axis=1))
        cells, open_cells = self._filled(rows[some], kept.codes[some], kept.weight[some], done)
        every = Crowd(
            cells, kept.codes[some], kept.copies[some], kept.weight[some], weak, filled=open_cells is not None
        )
        beside = rows_seen(done) - np.bincount(every.codes, weights=every.weight, minlength=len(self.weight))

        def of_some(members: Sequence[int]) -> tuple[Codes, bool]:
            index = np.flatnonzero(np.isin(every.codes, list(members)))
            crowd = every.some(index)
            if not kept.whole:
                more, own = float(beside[list(members)].sum()), crowd.scatter
                rest = _sum(done, members, weak) - own
                if open_cells is not None:  # what missing cells leave open is of no row, here or out of sight
                    rest -= (_sum(open_cells, members, weak) - own) * (1.0 + more / float(crowd.weight.sum()))
                crowd = replace(crowd, rest=rest, beside=more)
            found, enough = lonely(crowd, self.least.rows)
            return some[index[found]], enough

        return of_some

    def _filled(
        self, rows: Array, codes: Codes, weight: Array, done: GaussianStats
    ) -> tuple[Array, GaussianStats | None]:
        """Return rows with missing cells as expected, and statistics with what that leaves open, None for none."""
        if not np.isnan(rows).any():
            return rows, None
        values, k = done.dense().scatter.values, len(self.weight)
        total = done.weight.sum() if self.pooled else done.weight[:, None, None]
        covariance = np.atleast_3d(values / np.where(total > 0, total, 1.0)).reshape(-1, rows.shape[1], rows.shape[1])
        size = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2).max(axis=0))
        used = np.flatnonzero(size > 0)
        unit = size[used][:, None] * size[used]
        usable = mend(covariance[:, used][:, :, used] / unit)[0] * unit
        law = Gaussian(done.mean, Full.factor(usable), tuple(used.tolist()))
        cells = law.condition(rows, (codes[:, None] == np.arange(k)).astype(np.float64))
        return cells, expected(cells if not len(used) else rows, codes, k, weight, law, self.stats.complete.form)

    def as_at_hand(self, found: Settled) -> Settled:
        """Return what was found without variance that the rows at hand do not show: few others may hold it."""
        done, kept, hidden = found.stats, self.kept, found.hidden
        assert hidden is not None
        rows = np.asarray(kept.hiding(hidden).rows)
        k = len(done.mean)
        if isinstance(done.scatter, DiagonalScatter):
            return replace(found, stats=_columns_at_hand(done, rows, kept))
        some = np.flatnonzero(~np.isnan(rows).all(axis=1))
        cells, _ = self._filled(rows[some], kept.codes[some], kept.weight[some], done)
        every = Crowd(cells, kept.codes[some], kept.copies[some], kept.weight[some], self._weak(found.facts))
        values = done.dense().scatter.values.copy()
        groups = [list(range(k))] if self.pooled else [[int(c)] for c in np.flatnonzero(found.plan.own)]
        lent = found.plan.lent & ~found.plan.own
        for members in [*groups, *([np.flatnonzero(lent).tolist()] if lent.any() else [])]:
            crowd = every.some(np.flatnonzero(np.isin(every.codes, members)))
            weight = rows_seen(done)[members]
            if not len(crowd.codes):
                continue
            own = crowd.scatter * (weight.sum() / crowd.weight.sum())
            seen = of_rows_at_hand(_sum(done, members, every.weak), own, float(crowd.copies.sum()))
            if self.pooled:
                values = seen
            else:
                values[members] = seen * (weight / weight.sum())[:, None, None]
        return replace(found, stats=replace(done, scatter=done.form(values)))


def _columns_at_hand(done: GaussianStats, rows: Array, kept: Kept) -> GaussianStats:
    """Return sums of squares (k, d) without what the rows at hand do not show."""
    values = done.scatter.values.copy()
    for c in np.unique(kept.codes):
        own = kept.codes == c
        w = np.where(np.isnan(rows[own]), 0.0, kept.weight[own][:, None])
        cells, total = np.nan_to_num(rows[own]), w.sum(axis=0)
        safe = np.where(total > 0, total, 1.0)
        squares = (w * (cells - (w * cells).sum(axis=0) / safe) ** 2).sum(axis=0) * done.column_weight()[c] / safe
        for j in np.flatnonzero(total > 0):
            values[c, j] = of_rows_at_hand(values[c, [j]][None], squares[[j]][None], float((w[:, j] > 0).sum()))[0, 0]
    return replace(done, scatter=DiagonalScatter(values))


def _sum(stats: GaussianStats, members: Sequence[int], weak: Flags) -> Array:
    """Return the scatter of some classes together (where all share one, that), without columns weak (k, d) in them."""
    values, index = stats.dense().scatter.values, list(members)
    strong = ~weak[index]
    if values.ndim == 2:
        return np.asarray(values * np.outer(strong[0], strong[0]))
    return np.asarray((values[index] * strong[:, :, None] * strong[:, None, :]).sum(axis=0))
