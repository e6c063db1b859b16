"""Laplace columns: numbers with a sharp peak and tails heavier than a Gaussian's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes
from ...densities import Laplace
from ...notes import Note
from ...stats import ValueStats
from ...stats.values import DISTINCT
from ...table import Table
from ._location import check_limit, fit_locations
from ._values_out import leave_values_out
from .family import Family, Settings


@dataclass(frozen=True, slots=True)
class LaplaceFamily(Family):
    """Independent Laplace columns by maximum likelihood.

    The location is the weighted median (the middle of the interval where several serve), the scale the mean absolute
    deviation about it. Both are exact while a class has at most `distinct` different values in a column; beyond that
    values are rounded to a grid, and a note states by how much (see `stats.values`).
    """

    name: str = "laplace"
    distinct: int = DISTINCT
    support: ClassVar[str] = "reals"

    def __post_init__(self) -> None:
        check_limit(self.distinct)

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return table.numeric(positions)

    def zero(self, k: int, columns: int) -> ValueStats:
        return ValueStats.zero(k, columns, self.distinct)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ValueStats:
        return ValueStats.summarize(rows, codes, k, weight, self.distinct)

    def estimate(self, stats: ValueStats, settings: Settings) -> tuple[Laplace, list[Note]]:
        fitted = fit_locations(stats, settings)
        return Laplace(fitted.location, fitted.scale, fitted.used), fitted.notes

    def leave_one_out(
        self, rows: Array, stats: ValueStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array:
        """Return the log density of every row under every class without that row, (n, k) in nats.

        Medians and deviations without a value are read off running sums, once for each distinct value and weight of a
        class. Where the statistics hold rounded values (see `stats.values`), the row's rounded value is taken out.
        """
        return leave_values_out(rows, stats, codes, weight, settings)
