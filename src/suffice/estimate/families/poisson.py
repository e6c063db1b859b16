"""Columns of counts with no upper end: how often something happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Poisson
from ...stats import SumStats
from ...table import Table
from ..notes import Note
from ..priors import check_smoothing, pseudo_counts
from ._contract import Settings
from ._counts import check_whole, encode_counts


@dataclass(frozen=True, slots=True)
class PoissonFamily:
    """Independent Poisson columns: rate(k) = (Σ x + α m) / (n_k + α).

    This is the posterior mean under a Gamma(α m, α) prior: α pseudo-rows at the mean m of the column over all classes,
    so the strength α counts rows whatever the size of the counts. m = (Σ x + ½) / n (Jeffreys' rule), so that a column
    of zeros leaves room for a one. α = 0 is maximum likelihood; a class with no observed cell has the rate m.
    """

    name: str = "poisson"
    support: ClassVar[str] = "counts"
    takes_sparse: ClassVar[bool] = True

    def encode(self, table: Table, positions: Sequence[int]) -> Any:
        rows = encode_counts(table, positions)
        check_whole(rows, table, positions)
        return rows

    def recode(self, rows: Any, stats: Any) -> Any:
        return rows

    def zero(self, k: int, columns: int) -> SumStats:
        return SumStats.zero(k, columns)

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> SumStats:
        return SumStats.summarize(rows, codes, k, weight)

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Poisson, list[Note]]:
        check_smoothing(settings.smoothing)
        seen = stats.weight
        rows = seen.sum(axis=0)
        overall = (stats.total.sum(axis=0) + 0.5) / np.where(rows > 0, rows, 1.0)
        alpha, _ = pseudo_counts(settings.smoothing, settings.columns, overall)
        informed = seen + alpha > 0
        rate = np.where(informed, stats.total + alpha * overall, overall) / np.where(informed, seen + alpha, 1.0)
        vanishing = overall / np.where(seen > 0, seen, 1.0)  # coefficient of α in α m / (n + α) as α → 0
        return Poisson(rate, np.where(rate > 0, rate, vanishing)), []
