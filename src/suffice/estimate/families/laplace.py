"""Laplace columns: numbers with a sharp peak and tails heavier than a Gaussian's."""

from __future__ import annotations

from dataclasses import dataclass

from ..._arrays import Array, Codes
from ...densities import Laplace
from ...notes import Note
from ...stats import ValueStats
from ...stats.values import DISTINCT
from ._location import ValueFamily, check_limit, fit_locations
from ._values_out import leave_values_out
from .family import Settings


@dataclass(frozen=True, slots=True)
class LaplaceFamily(ValueFamily):
    """Independent Laplace columns by maximum likelihood.

    The location is the weighted median (the middle of the interval where several serve), the scale the mean absolute
    deviation about it. Both are exact while a class has at most `distinct` different values in a column; beyond that
    values are rounded to a grid, and a note states by how much (see `stats.values`).
    """

    name: str = "laplace"
    distinct: int = DISTINCT

    def __post_init__(self) -> None:
        check_limit(self.distinct)

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
