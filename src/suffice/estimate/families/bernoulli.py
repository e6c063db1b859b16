"""Bernoulli columns: truth values, or 0 and 1, dense or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Bernoulli, Limit
from ...errors import NotLearnedError, SchemaError
from ...notes import Note
from ...stats import SumStats
from ...stats._downdate import DUST
from ...table import Table
from ..priors import check_smoothing, pseudo_counts
from ._counts import Counts, above, check_binary, encode_counts, read_columns
from ._removal import SumFamily, check_counts, weight_groups, without
from .family import Settings


@dataclass(frozen=True, slots=True)
class BernoulliFamily(SumFamily):
    """Independent columns of 0 and 1: p(1 | k) = (count of ones + α) / (n_k + 2 α).

    n_k is the weight of the class's observed cells of the column and α the smoothing; α = 0 is maximum likelihood,
    with ½ for a class that has no observed cell. A sparse matrix must hold 0 and 1 only (pass `X > 0` for words that
    occur); its cells that are not stored are zeros, not missing. With a `threshold` of at least 0 any numbers are
    taken, and those above it are ones.
    """

    name: str = "bernoulli"
    threshold: float | None = None
    support: ClassVar[str] = "truths"

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        for position in positions if table.schema.text else ():
            column = table.schema.columns[position]
            if column.kind.is_label:
                raise SchemaError(
                    f"Column {column.name!r} holds {column.kind.value} values; a Bernoulli column holds true and "
                    "false, or 1 and 0. Next: convert it, or give it the family 'categorical'."
                )
        if self.threshold is not None:
            return above(read_columns(table, positions), self.threshold)
        rows = encode_counts(table, positions)
        check_binary(rows, table, positions)
        return rows

    def check_possible(self, stats: SumStats) -> None:
        """Raise NotLearnedError where there are more ones than cells."""
        over = stats.total > stats.weight * (1.0 + DUST)
        if over.any():
            code = int(over.any(axis=1).argmax())
            raise NotLearnedError("fewer zeros than that were learned", code, over[code].nonzero()[0].tolist())

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Bernoulli, list[Note]]:
        check_smoothing(settings.smoothing)
        seen = stats.weight
        ones = np.clip(stats.total, 0.0, seen)
        pooled = (ones.sum(axis=0) + 0.5) / (seen.sum(axis=0) + 1.0)
        alpha, one = pseudo_counts(settings.smoothing, settings.columns, pooled)
        _, zero = pseudo_counts(settings.smoothing, settings.columns, 1.0 - pooled)
        p, limit_p = _share(ones, seen, alpha, one, one + zero)
        q, limit_q = _share(without(seen, ones), seen, alpha, zero, one + zero)
        return Bernoulli(p, q, limit_p, limit_q, np.stack([alpha * one, alpha * zero])), []

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        A cell of the row's own class takes (count of its own value − w + α) / (n_k − w + 2 α). That depends on the row
        by its weight w alone, so the rows of one weight share a table and their sums stay sparse products.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = (part.copy() for part in self.estimate(stats, settings)[0].limit(rows))
        ones = np.clip(stats.total, 0.0, stats.weight)
        zeros = without(stats.weight, ones)
        for w, index in weight_groups(codes, weight):
            seen = without(stats.weight, w)
            p, limit_p = _share(without(ones, w), seen, settings.alpha)
            q, limit_q = _share(without(zeros, w), seen, settings.alpha)
            for c in np.unique(codes[index]):
                mine, one = index[codes[index] == c], slice(c, c + 1)
                own = Bernoulli(p[one], q[one], limit_p[one], limit_q[one]).limit(rows[mine])
                order[mine, c], score[mine, c] = own[0][:, 0], own[1][:, 0]
        return order, score


def _share(
    count: Array, seen: Array, alpha: Array | float, own: Array | float = 1.0, both: Array | float = 2.0
) -> tuple[Array, Array]:
    """Return (count + α own) / (n + α both), and the same with each 0 replaced by the coefficient of α as α → 0."""
    informed = seen + alpha > 0
    p = np.where(informed, count + alpha * own, own) / np.where(informed, seen + alpha * both, both)
    return p, np.where(p > 0, p, own / np.where(seen > 0, seen, both))
