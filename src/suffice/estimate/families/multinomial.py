"""Multinomial counts, such as the words of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes, np, row_chunks, rows_within
from ...densities import Limit, Multinomial
from ...errors import DataError
from ...notes import Note
from ...stats import SumStats
from ...table import Table
from ..priors import check_smoothing, pseudo_counts
from ._counts import Counts, encode_counts
from ._removal import SumFamily, check_counts, entries, row_weights, without
from .family import Settings


@dataclass(frozen=True, slots=True)
class MultinomialFamily(SumFamily):
    """One multinomial over all columns of the block: p(column | k) = (count + α) / (total of the class + α d).

    Columns named one by one form one block together; a tuple of columns forms a block of its own. Amounts of at least
    0 need not be whole. A missing cell is refused: without it the total that the row shares out is unknown (the family
    "poisson" takes missing cells). The density leaves out the multinomial coefficient, see `densities.Multinomial`.
    """

    name: str = "multinomial"
    support: ClassVar[str] = "shares"
    takes_missing: ClassVar[bool] = False

    def joint(self) -> MultinomialFamily:
        return self

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        rows = encode_counts(table, positions)
        if isinstance(rows, np.ndarray) and np.isnan(rows).any():
            column = int(np.nonzero(np.isnan(rows).any(axis=0))[0][0])
            raise DataError(
                f"Column {table.schema.names[positions[column]]!r} misses a count (NaN), so the total that its row "
                "shares out is unknown. Next: write 0 where nothing was counted, or use the family 'poisson'."
            )
        return rows

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Multinomial, list[Note]]:
        check_smoothing(settings.smoothing)
        total, overall = stats.total.sum(axis=1, keepdims=True), stats.total.sum(axis=0)
        pooled = (overall + 0.5) / (overall.sum() + 0.5 * len(overall))
        alpha, share = pseudo_counts(settings.smoothing, settings.columns, pooled)
        added, shares = alpha * share, float(share.sum())
        mean = float(added.sum()) / shares  # the strength, where all columns have the same
        informed = total + mean > 0
        p = np.where(informed, stats.total + added, share) / np.where(informed, total + mean * shares, shares)
        least = np.finfo(np.float64).tiny  # of a total, so that the share of it stays finite
        limit = np.where(p > 0, p, share / np.where(total > 0, np.maximum(total, least), shares))
        seen = stats.weight.max(axis=1)
        return Multinomial(p, limit, added, size=stats.total.sum(axis=1) / np.where(seen > 0, seen, 1.0)), []

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        Of the row's own class both the count of a column and the total lose the row's: stored cells are all it takes.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = (part.copy() for part in self.estimate(stats, settings)[0].limit(rows))
        w, d = row_weights(codes, weight), stats.total.shape[1]
        totals = stats.total.sum(axis=1)
        if settings.alpha > 0 and isinstance(rows, np.ndarray):
            score[np.arange(len(codes)), codes] = _own_scores(rows, stats.total, totals, codes, w, settings.alpha)
            return order, score
        for own in entries(rows):
            code, weighs = codes[own.part], w[own.part]
            rest = without(totals[code], weighs * own.sums(own.amount))[own.row]
            known = without(stats.total[code[own.row], own.column], weighs[own.row] * own.amount)
            p, limit = _share(known, rest, settings.alpha, d)
            place = np.arange(own.part.start, own.part.stop), code
            order[place] = own.sums(np.where(p > 0, 0.0, own.amount))
            score[place] = own.sums(own.amount * np.log(limit))
        return order, score


def _own_scores(rows: Array, counts: Array, totals: Array, codes: Codes, w: Array, alpha: float) -> Array:
    """Return Σ x log((count − w x + α) / (total − w Σ x + α d)) of dense rows under their own classes, (n,)."""
    score, d = np.empty(len(rows)), rows.shape[1]
    for part in row_chunks(len(rows), rows_within(8 * d)):
        x, code, weighs = rows[part].astype(np.float64), codes[part], w[part]
        length = x.sum(axis=1)
        left = without(counts[code], x if (weighs == 1.0).all() else weighs[:, None] * x)
        rest = without(totals[code], weighs * length)
        score[part] = np.einsum("ij,ij->i", x, np.log(left + alpha)) - length * np.log(rest + alpha * d)
    return score


def _share(count: Array, total: Array, alpha: float, d: int) -> tuple[Array, Array]:
    """Return (count + α) / (total + α d), and the same with each 0 replaced by the coefficient of α as α → 0."""
    informed = total + alpha > 0
    p = np.where(informed, count + alpha, 1.0) / np.where(informed, total + alpha * d, float(d))
    least = np.finfo(np.float64).tiny  # so that the share of a total stays finite
    return p, np.where(p > 0, p, 1.0 / np.where(total > 0, np.maximum(total, least), float(d)))
