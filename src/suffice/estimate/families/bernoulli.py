"""Columns of truth values, or of 0 and 1, in tables or in sparse matrices (words that occur in a text or do not)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Bernoulli
from ...errors import SchemaError
from ...stats import SumStats
from ...table import Table
from ..notes import Note
from ..priors import check_smoothing, pseudo_counts
from ._contract import Settings
from ._counts import check_binary, encode_counts


@dataclass(frozen=True, slots=True)
class BernoulliFamily:
    """Independent columns of 0 and 1: p(1 | k) = (count of ones + α) / (n_k + 2 α).

    n_k is the weight of the class's observed cells of the column and α the smoothing; α = 0 is maximum likelihood,
    with ½ for a class that has no observed cell. A sparse matrix must hold 0 and 1 only (pass `X > 0` for words that
    occur); its cells that are not stored are zeros, not missing.
    """

    name: str = "bernoulli"
    support: ClassVar[str] = "truths"
    takes_sparse: ClassVar[bool] = True

    def encode(self, table: Table, positions: Sequence[int]) -> Any:
        for position in positions if table.schema.text else ():
            column = table.schema.columns[position]
            if column.kind.is_label:
                raise SchemaError(
                    f"Column {column.name!r} holds {column.kind.value} values; a Bernoulli column holds true and "
                    "false, or 1 and 0. Next: convert it, or give it the family 'categorical'."
                )
        rows = encode_counts(table, positions)
        check_binary(rows, table, positions)
        return rows

    def recode(self, rows: Any, stats: Any) -> Any:
        return rows

    def zero(self, k: int, columns: int) -> SumStats:
        return SumStats.zero(k, columns)

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> SumStats:
        return SumStats.summarize(rows, codes, k, weight)

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Bernoulli, list[Note]]:
        check_smoothing(settings.smoothing)
        seen = stats.weight
        ones = np.clip(stats.total, 0.0, seen)
        pooled = (ones.sum(axis=0) + 0.5) / (seen.sum(axis=0) + 1.0)
        alpha, one = pseudo_counts(settings.smoothing, settings.columns, pooled)
        _, zero = pseudo_counts(settings.smoothing, settings.columns, 1.0 - pooled)
        informed, both = seen + alpha > 0, one + zero
        below = np.where(informed, seen + alpha * both, both)
        p = np.where(informed, ones + alpha * one, one) / below
        q = np.where(informed, seen - ones + alpha * zero, zero) / below
        rows = np.where(seen > 0, seen, both)  # one / n is the coefficient of α in p as α → 0
        limits = np.where(p > 0, p, one / rows), np.where(q > 0, q, zero / rows)
        return Bernoulli(p, q, *limits, np.stack([alpha * one, alpha * zero])), []
