"""Laplace columns: numbers with a sharp peak and tails heavier than a Gaussian's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._arrays import Array, Codes
from ...densities import Laplace
from ...errors import SettingError
from ...notes import Note
from ...stats import ValueStats
from ...stats.values import DISTINCT, LEAST_LIMIT
from ...table import Table
from ._location import fit_laplace
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

    def __post_init__(self) -> None:
        limit: object = self.distinct
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < LEAST_LIMIT:
            raise SettingError(
                f"distinct={limit!r} must be an integer of at least {LEAST_LIMIT}. Next: 10_000 is the usual choice."
            )

    @property
    def support(self) -> str:
        return "reals"

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return table.numeric(positions)

    def zero(self, k: int, columns: int) -> ValueStats:
        return ValueStats.zero(k, columns, self.distinct)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ValueStats:
        return ValueStats.summarize(rows, codes, k, weight, self.distinct)

    def estimate(self, stats: ValueStats, settings: Settings) -> tuple[Laplace, list[Note]]:
        return fit_laplace(stats, settings)

    def leave_one_out(
        self, rows: Array, stats: ValueStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array:
        """Return the log density of every row under every class without that row, (n, k) in nats.

        Medians and deviations without a value are read off running sums, once for each distinct value and weight of a
        class. Where the statistics hold rounded values (see `stats.values`), the row's rounded value is taken out.
        """
        return leave_values_out(rows, stats, codes, weight, settings)
