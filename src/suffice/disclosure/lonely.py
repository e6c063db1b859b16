"""Rows at hand when a model is released, and Gaussian statistics with those of high leverage down-weighted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from .._arrays import Array, Codes, Flags, is_sparse, np
from ..densities import Full, Gaussian
from ..em.cells import complete
from ..em.filling import fill as expected
from ..em.step import nearest_spd
from ..errors import MergeError, NotLearnedError
from ..estimate.families import GaussianFamily
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, PatternStats, PooledScatter
from ..stats.patterns import rows_seen
from .counts import Given, MinCount
from .gaussian import COMPLETED, Facts, Gaussians, Plan, gaussian_facts, observed_alone
from .leverage import Crowd, lonely, lonely_cells, of_rows_at_hand

LONELY = "left out, or counted for less, rows that have the variance of some combination of columns nearly alone"
UNSEEN = "left out correlations, since no rows are kept to tell whose they are"
ROUNDS = 10  # of leaving rows out and filling the missing cells of the others again; two are seldom needed
Fill = Callable[[PatternStats], GaussianStats]


@dataclass(frozen=True)
class Kept:
    """Encoded rows of a block that are at hand: class numbers, how many rows had each content, their weight, all (m,).

    `whole` says that there are no others.
    """

    rows: object
    codes: Codes
    copies: Array
    weight: Array
    whole: bool

    def hiding(self, cells: Flags) -> Kept:
        """Return the rows without some of their cells (m, d)."""
        if not cells.any():
            return self
        return replace(self, rows=np.where(cells, np.nan, np.asarray(self.rows)))

    def counting(self, share: Array) -> Kept:
        """Return the rows with this share of their weight (m,); those of share 0 without any cell."""
        none = share <= 0
        found = self.hiding(np.broadcast_to(none[:, None], np.asarray(self.rows).shape))
        return replace(found, weight=np.where(none, self.weight, self.weight * share))

    def less_than(self, other: Kept) -> Flags:
        """Return which cells (m, d) count less than in the same rows before."""
        gone = np.isnan(np.asarray(self.rows)) & ~np.isnan(np.asarray(other.rows))
        return np.asarray(gone | (self.weight < other.weight)[:, None])

    def missing_of(self, other: Kept, k: int) -> Array:
        """Return how much less the rows of each class (k,) weigh than before; without a cell they weigh nothing."""
        none = np.isnan(np.asarray(self.rows)).all(axis=1) & ~np.isnan(np.asarray(other.rows)).all(axis=1)
        lost = np.where(none, other.weight, other.weight - self.weight)
        return np.bincount(self.codes, weights=lost, minlength=k).astype(np.float64)

    def shared_out(self, share: Array) -> Kept:
        """Return the rows of dense cells once for each component (m, parts) they count in; these are the classes."""
        assert isinstance(self.rows, np.ndarray)
        row, part = np.nonzero(share > 1e-9)
        counted = share[row, part]
        return Kept(self.rows[row], part, self.copies[row] * counted, self.weight[row] * counted, self.whole)

    def varied(self, k: int) -> Array | None:
        """Return how many of them (k, d) differ from the commonest value of their class; None for other cells."""
        if not isinstance(self.rows, np.ndarray):
            return None
        found = np.zeros((k, self.rows.shape[1]))
        for c in range(k):
            own = np.flatnonzero(self.codes == c)
            for j, column in enumerate(self.rows[own].T):
                seen = ~np.isnan(column)
                _, place = np.unique(column[seen], return_inverse=True)
                held = np.bincount(place, weights=self.copies[own][seen])
                found[c, j] = held.sum() - held.max(initial=0.0)
        return found

    def few_pairs(self, k: int, pooled: bool, least: MinCount) -> Flags | None:
        """Return which columns of two values each (k or 1, d, d) too few rows show together in one of four ways."""
        if not isinstance(self.rows, np.ndarray):
            return None
        d = self.rows.shape[1]
        found = np.zeros((1 if pooled else k, d, d), dtype=bool)
        two = [j for j in range(d) if len(np.unique(self.rows[~np.isnan(self.rows[:, j]), j])) == 2]
        if len(two) < 2:
            return found
        seen = ~np.isnan(self.rows[:, two])
        high = (self.rows[:, two] == np.nanmax(self.rows[:, two], axis=0)) & seen
        rows = MinCount(least.rows)
        for g in range(len(found)):
            copies = np.where((self.codes == g) | pooled, self.copies, 0.0)[:, None]
            for a in (high, seen & ~high):
                for b in (high, seen & ~high):
                    found[np.ix_([g], two, two)] |= rows.few((copies * a).T @ b.astype(np.float64))
        return found

    def filled(self, k: int) -> Array | None:
        """Return how many of them (k, d) have a cell that is neither 0 nor missing; None for other cells."""
        if is_sparse(self.rows):
            there = self.rows.copy()
            there.data = (there.data != 0).astype(np.float64)
        elif isinstance(self.rows, np.ndarray):
            there = (np.nan_to_num(self.rows) != 0).astype(np.float64)
        else:
            return None
        return np.stack([np.asarray(self.copies[own] @ there[own]) for own in (self.codes == c for c in range(k))])


class Terms(NamedTuple):
    """What a block is released by: class weights (k,), its rows if any are at hand, and how many rows a sum must be of.

    `given` records what is given up for that.
    """

    weight: Array
    kept: Kept | None
    least: MinCount
    given: Given


@dataclass(frozen=True)
class Settled:
    """Statistics with every cell filled, what is known of them, and which classes keep a scatter.

    `left` are the rows at hand as far as they still count, None where none are kept; `left_out` (k,) is the weight of
    the rest of them.
    """

    stats: GaussianStats
    facts: Facts
    plan: Plan
    left: Kept | None = None
    left_out: Array | None = None


def without_lonely(family: GaussianFamily, stats: Gaussians, terms: Terms, fill: Fill = complete) -> Settled:
    """Return statistics without the rows that hold the variance of a direction of columns alone.

    Such rows count in this block as rows without any cell, so that class weights do not tell of them. Where no rows
    are kept nobody knows who holds what, and variances alone are left.
    """
    weight, kept, least, given = terms
    d, diagonal = stats.complete.mean.shape[1], stats.complete.form is DiagonalScatter
    if kept is None or not isinstance(kept.rows, np.ndarray):
        if not diagonal and d > 1:
            given.up(UNSEEN, range(d))
        done, facts = gaussian_facts(stats, weight, None, least, fill if diagonal else observed_alone)
        return Settled(done, facts, Plan.nobody(len(weight)))
    search = _Search(family, stats, weight, kept, least, fill)
    left, now = kept, stats
    for _ in range(ROUNDS):
        found, less = search.look(now, left)
        if less is None:
            break
        without = search.without(less)
        if without is None:  # of statistics that no row can leave
            found, left = search.of_variances(stats, kept), kept
            break
        left, now = less, without
    else:
        found = search.of_variances(now, left)
    hidden = left.less_than(kept)
    if hidden.any():
        given.up(LONELY, hidden, np.unique(kept.codes[hidden.any(axis=1)]))
    filled = isinstance(now, CompletedStats) or bool(now.incomplete)
    if not diagonal and filled and not found.plan.none:
        given.up(COMPLETED, found.facts.seen < found.facts.weight[:, None] * (1.0 - 1e-9))
    found = replace(found, left=left, left_out=left.missing_of(kept, len(weight)))
    return found if kept.whole else search.as_at_hand(found, left)


@dataclass(frozen=True)
class _Search:
    """What stays the same while rows are left out."""

    family: GaussianFamily
    stats: Gaussians
    weight: Array
    kept: Kept
    least: MinCount
    fill: Fill

    @property
    def pooled(self) -> bool:
        """Whether all classes share one scatter."""
        return self.stats.complete.form is PooledScatter

    def look(self, stats: Gaussians, left: Kept) -> tuple[Settled, Kept | None]:
        """Return statistics of the rows as they are left, and what must be left of these instead, None for all."""
        if self.stats.complete.form is DiagonalScatter:
            done, facts = gaussian_facts(stats, self.weight, left.varied(len(self.weight)), self.least)
            return Settled(done, facts, Plan.nobody(len(self.weight))), self._without_cells(facts, left)
        rows = rows_seen(stats) / self.least.heaviest
        if not Plan.by_rows(rows, self.stats.complete.mean.shape[1], self.least.rows, self.pooled).none:
            done, facts = self._facts(stats, left, self.fill)
            plan, counted = self._plan(done, facts, left, rows)
            if not plan.none:
                return Settled(done, facts, plan), None if (counted >= 1.0).all() else left.counting(counted)
        found = self.of_variances(stats, left)
        return found, self._without_cells(found.facts, left) if self.kept.whole else None

    def of_variances(self, stats: Gaussians, left: Kept) -> Settled:
        """Return statistics of which variances alone are left: missing cells need not be filled."""
        done, facts = self._facts(stats, left, observed_alone)
        return Settled(done, facts, Plan.nobody(len(self.weight)))

    def without(self, left: Kept) -> Gaussians | None:
        """Return the statistics of the rows as they are left; None where rows cannot leave them."""

        def sums(of: Kept, own: Codes) -> Gaussians:
            return self.family.summarize(np.asarray(of.rows)[own], of.codes[own], len(self.weight), of.weight[own])

        if left.whole:
            return sums(left, np.arange(len(left.codes)))
        own, stats = np.flatnonzero(left.less_than(self.kept).any(axis=1)), cast(Any, self.stats)
        try:
            found: Gaussians = stats.subtract(sums(self.kept, own)).merge(sums(left, own))
        except (MergeError, NotLearnedError):
            return None
        return found

    def _facts(self, stats: Gaussians, left: Kept, fill: Fill) -> tuple[GaussianStats, Facts]:
        k = len(self.weight)
        pairs = left.few_pairs(k, self.pooled, self.least)
        return gaussian_facts(stats, self.weight, left.varied(k), self.least, fill, pairs)

    def _without_cells(self, facts: Facts, left: Kept) -> Kept | None:
        rows, weak = np.asarray(left.rows), self._weak(facts)
        cells = lonely_cells(Crowd(rows, left.codes, left.copies, left.weight, weak), self.least.rows)
        return left.hiding(cells) if cells.any() else None

    def _weak(self, facts: Facts) -> Flags:
        """Return the columns (k, d) whose products with others go in any case."""
        shape = np.shape(facts.rare)
        return np.broadcast_to(facts.scarce, shape) if self.pooled else np.asarray(facts.rare | facts.lost)

    def _plan(self, done: GaussianStats, facts: Facts, left: Kept, rows: Array) -> tuple[Plan, Array]:
        """Return which classes keep a scatter, and how much rows may count in it; `rows` (k,) are what they have."""
        k, d, least = len(self.weight), done.mean.shape[1], self.least.rows
        crowds = self._crowds(done, facts, left)
        first = Plan.by_rows(rows, d, least, self.pooled)
        own, counted = np.zeros(k, dtype=bool), np.ones(len(left.codes))
        for members in (range(k),) if self.pooled else ((int(c),) for c in np.flatnonzero(first.own)):
            found, enough = crowds(members)
            own[list(members)] = enough
            counted *= found if enough else 1.0
        lent = own
        if not own.all() and not self.pooled and Plan.together(rows[~own], d, least):
            found, enough = crowds(np.flatnonzero(~own).tolist())
            lent = ~own if enough else own
            counted *= found if enough else 1.0
        return Plan(own, lent), counted

    def _crowds(self, done: GaussianStats, facts: Facts, kept: Kept) -> Callable[[Sequence[int]], tuple[Array, bool]]:
        """Return what tells of some classes how much rows may count in their scatter, and whether enough are left."""
        weak, rows = self._weak(facts), np.asarray(kept.rows)
        some = np.flatnonzero(~np.isnan(rows).all(axis=1))
        cells, open_cells = self._filled(rows[some], kept.codes[some], kept.weight[some], done)
        every = Crowd(
            cells, kept.codes[some], kept.copies[some], kept.weight[some], weak, filled=open_cells is not None
        )
        beside = rows_seen(done) - np.bincount(every.codes, weights=every.weight, minlength=len(self.weight))

        def of_some(members: Sequence[int]) -> tuple[Array, bool]:
            index = np.flatnonzero(np.isin(every.codes, list(members)))
            crowd = every.some(index)
            if not kept.whole:
                more, own = float(beside[list(members)].sum()), crowd.scatter
                rest = _sum(done, members, weak) - own
                if open_cells is not None:  # what missing cells leave open is of no row, here or out of sight
                    rest -= (_sum(open_cells, members, weak) - own) * (1.0 + more / float(crowd.weight.sum()))
                crowd = replace(crowd, rest=rest, beside=more)
            found, enough = lonely(crowd, self.least.rows)
            counted = np.ones(len(rows))
            counted[some[index]] = found
            return counted, enough

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
        usable = nearest_spd(covariance[:, used][:, :, used] / unit)[0] * unit
        law = Gaussian(done.mean, Full.factor(usable), tuple(used.tolist()))
        cells = law.condition(rows, (codes[:, None] == np.arange(k)).astype(np.float64))
        return cells, expected(cells if not len(used) else rows, codes, k, weight, law, self.stats.complete.form)

    def as_at_hand(self, found: Settled, kept: Kept) -> Settled:
        """Return what was found without variance that the rows at hand do not show: few others may hold it."""
        done, rows = found.stats, np.asarray(kept.rows)
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
