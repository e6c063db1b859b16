"""Columns of truth values, or of 0 and 1, in tables or in sparse matrices (words that occur in a text or do not)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Bernoulli
from ...errors import NotLearnedError, SchemaError
from ...stats import SumStats
from ...stats._downdate import DUST
from ...table import Table
from ..likelihood import check_smoothing
from ..notes import Note
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

    def check_possible(self, stats: SumStats) -> None:
        """Raise NotLearnedError where there are more ones than cells."""
        over = stats.total > stats.weight * (1.0 + DUST)
        if over.any():
            code = int(over.any(axis=1).argmax())
            raise NotLearnedError("fewer zeros than that were learned", code, over[code].nonzero()[0].tolist())

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Bernoulli, list[Note]]:
        check_smoothing(settings.smoothing)
        alpha, seen = settings.smoothing, stats.weight
        ones = np.clip(stats.total, 0.0, seen)
        informed = seen + alpha > 0
        below = np.where(informed, seen + 2.0 * alpha, 2.0)
        p = np.where(informed, ones + alpha, 1.0) / below
        q = np.where(informed, seen - ones + alpha, 1.0) / below
        vanishing = 1.0 / np.where(seen > 0, seen, 2.0)  # coefficient of α in α / (n + 2 α) as α → 0
        return Bernoulli(p, q, np.where(p > 0, p, vanishing), np.where(q > 0, q, vanishing)), []
