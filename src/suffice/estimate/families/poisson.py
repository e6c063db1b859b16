"""Poisson columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes, gammaln, np
from ...densities import Limit, Poisson
from ...notes import Note
from ...stats import SumStats
from ...table import Table
from ..priors import check_smoothing, pseudo_counts
from ._counts import Counts, check_whole, encode_counts
from ._removal import Entries, SumFamily, check_counts, entries, weight_groups, without
from .family import Settings


@dataclass(frozen=True, slots=True)
class PoissonFamily(SumFamily):
    """Independent Poisson columns: rate(k) = (Σ x + α m) / (n_k + α).

    This is the posterior mean under a Gamma(α m, α) prior: α pseudo-rows at the mean m of the column over all classes,
    so the strength α counts rows whatever the size of the counts. m = (Σ x + ½) / n (Jeffreys' rule), so that a column
    of zeros leaves room for a one. α = 0 is maximum likelihood; a class with no observed cell has the rate m.
    """

    name: str = "poisson"
    support: ClassVar[str] = "counts"

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        rows = encode_counts(table, positions)
        check_whole(rows, table, positions)
        return rows

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Poisson, list[Note]]:
        check_smoothing(settings.smoothing)
        overall = _overall(stats.total.sum(axis=0), stats.weight.sum(axis=0))
        alpha, _ = pseudo_counts(settings.smoothing, settings.columns, overall)
        rate, limit = _rate(stats.total, stats.weight, overall, alpha)
        return Poisson(rate, limit, np.stack([alpha * overall, alpha])), []

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        The overall mean m loses the row as well, so that with smoothing every class's rate changes. A cell of 0 changes
        rates by the row's weight alone: such cells are added up once for all rows of that weight.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = np.zeros((len(codes), len(stats.total))), np.empty((len(codes), len(stats.total)))
        for w, index in weight_groups(codes, weight):
            every = len(index) == len(codes)
            removal = _Removal(stats, settings.alpha, w)
            for own in entries(rows if every else rows[index]):
                chosen = index[own.part]
                order[chosen], score[chosen] = removal.limit(own, codes[chosen])
        return order, score


class _Removal:
    """Rates without one row of weight w."""

    def __init__(self, stats: SumStats, alpha: float, w: float) -> None:
        self.stats, self.alpha, self.w = stats, alpha, w
        self.total, self.rows = stats.total.sum(axis=0), stats.weight.sum(axis=0)
        overall = _overall(self.total, without(self.rows, w))
        self.other = _rate(stats.total, stats.weight, overall, alpha)[0]  # of a row of zeros, in other classes
        self.own = _rate(stats.total, without(stats.weight, w), overall, alpha)[0]  # and in its own

    def limit(self, cells: Entries, codes: Codes) -> Limit:
        """Return (order, log coefficient) of a run of rows, (rows, k) each."""
        seen = cells.observed
        score = np.tile(-self.other.sum(axis=1), (len(codes), 1)) if seen is None else -(seen @ self.other.T)
        own = -self.own.sum(axis=1)[codes] if seen is None else -(seen * self.own[codes]).sum(axis=1)
        order, place = np.zeros_like(score), (np.arange(len(codes)), codes)
        column, x, pair = _pairs(cells, self.stats.total.shape[1])
        for c in range(score.shape[1]):
            terms, impossible = self._terms(np.array(c), column, x, 0.0, self.other)
            score[:, c] += cells.sums(terms[pair])
            if impossible.any():
                order[:, c] = cells.sums(impossible[pair])
        code = codes[cells.row]
        if len(column) < len(code):
            everyone = np.arange(score.shape[1])[:, None]
            terms, impossible = (part[code, pair] for part in self._terms(everyone, column, x, self.w, self.own))
        else:
            terms, impossible = self._terms(code, column, x, self.w, self.own)
        score[place], order[place] = own + cells.sums(terms), cells.sums(impossible)
        return order, score - cells.sums(gammaln(x + 1.0)[pair])[:, None]

    def _terms(self, code: Codes, column: Codes, x: Array, w: float, zero: Array) -> Limit:
        """Return what counts x add to the log density beyond a count of 0, and x where the rate is 0.

        `w` is what the row takes from the class `code` itself, `zero` (k, d) the rates where the count is 0.
        """
        overall = _overall(without(self.total[column], self.w * x), without(self.rows[column], self.w))
        total, seen = self.stats.total[code, column], self.stats.weight[code, column]
        if w > 0:
            total, seen = without(total, w * x), without(seen, w)
        rate, limit = _rate(total, seen, overall, self.alpha)
        return x * np.log(limit) - rate + zero[code, column], np.where(rate > 0, 0.0, x)


def _pairs(cells: Entries, d: int) -> tuple[Codes, Array, Codes]:
    """Return the different pairs of a column and a count, and which of them each entry is.

    Where most entries differ they are returned as they are.
    """
    top = float(cells.amount.max(initial=0.0)) + 1.0
    if d * top < 0.5 * len(cells.amount) and (np.floor(cells.amount) == cells.amount).all():
        key = cells.column * int(top) + cells.amount.astype(np.int64)
        present = np.zeros(d * int(top), dtype=bool)
        present[key] = True
        found = np.flatnonzero(present)
        return found // int(top), (found % int(top)).astype(np.float64), (np.cumsum(present) - 1)[key]
    return cells.column, cells.amount, np.arange(len(cells.amount))


def _overall(total: Array, rows: Array) -> Array:
    """Return the mean m of columns over all classes, (Σ x + ½) / n."""
    return np.asarray((total + 0.5) / np.where(rows > 0, rows, 1.0))


def _rate(total: Array, seen: Array, overall: Array, alpha: Array | float) -> tuple[Array, Array]:
    """Return (Σ x + α m) / (n + α), and the same with each 0 replaced by the coefficient of α as α → 0."""
    informed = seen + alpha > 0
    rate = np.where(informed, total + alpha * overall, overall) / np.where(informed, seen + alpha, 1.0)
    return rate, np.where(rate > 0, rate, overall / np.where(seen > 0, seen, 1.0))
