"""Counts that share out a total, such as the words of a text: one multinomial per class over a block of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import Array, Codes, is_sparse, np
from ...densities import Multinomial
from ...errors import DataError
from ...stats import SumStats
from ...table import Table
from ..likelihood import check_smoothing
from ..notes import Note
from ._contract import Settings
from ._counts import encode_counts


@dataclass(frozen=True, slots=True)
class MultinomialFamily:
    """One multinomial over all columns of the block: p(column | k) = (count + α) / (total of the class + α d).

    Columns named one by one form one block together; a tuple of columns forms a block of its own. Amounts of at least
    0 need not be whole. A missing cell is refused: without it the total that the row shares out is unknown (the family
    "poisson" takes missing cells). The density leaves out the multinomial coefficient, see `densities.Multinomial`.
    """

    name: str = "multinomial"
    support: ClassVar[str] = "shares"
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = True

    def joint(self) -> MultinomialFamily:
        return self

    def encode(self, table: Table, positions: Sequence[int]) -> Any:
        rows = encode_counts(table, positions)
        if not is_sparse(rows) and np.isnan(rows).any():
            column = int(np.nonzero(np.isnan(rows).any(axis=0))[0][0])
            raise DataError(
                f"Column {table.schema.names[positions[column]]!r} misses a count (NaN), so the total that its row "
                "shares out is unknown. Next: write 0 where nothing was counted, or use the family 'poisson'."
            )
        return rows

    def recode(self, rows: Any, stats: Any) -> Any:
        return rows

    def zero(self, k: int, columns: int) -> SumStats:
        return SumStats.zero(k, columns)

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> SumStats:
        return SumStats.summarize(rows, codes, k, weight)

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Multinomial, list[Note]]:
        check_smoothing(settings.smoothing)
        alpha, d = settings.smoothing, stats.total.shape[1]
        total = stats.total.sum(axis=1, keepdims=True)
        informed = total + alpha > 0
        p = np.where(informed, stats.total + alpha, 1.0) / np.where(informed, total + alpha * d, float(d))
        vanishing = 1.0 / np.where(total > 0, total, float(d))  # coefficient of α in α / (total + α d) as α → 0
        seen = stats.weight.max(axis=1)
        size = total[:, 0] / np.where(seen > 0, seen, 1.0)
        return Multinomial(p, np.where(p > 0, p, vanishing), size), []
