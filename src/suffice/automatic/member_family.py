"""The family of the block of columns that all members share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .._arrays import Array, Codes, np
from ..densities import Density
from ..estimate import FAMILIES, Family, Settings
from ..notes import Note
from ..stats.counts import CodedColumns
from ..table import Table
from .statistics import MemberRows
from .table_rows import TableRows


@dataclass(frozen=True, slots=True)
class Silent(Density):
    """The density of no column: 0 nats under each of `k` classes."""

    k: int

    def log_density(self, rows: TableRows) -> Array:
        return np.zeros((len(rows), self.k))


@dataclass(frozen=True)
class MemberFamily(Family):
    """All columns, as the members of the automatic classifier need them; the numbers come first."""

    numbers: int
    name: ClassVar[str] = "members"
    held: ClassVar[type[MemberRows]] = MemberRows  # how rows are held until they are too many

    def encode(self, table: Table, positions: Sequence[int]) -> TableRows:
        numeric, labels = list(positions[: self.numbers]), list(positions[self.numbers :])
        numbers = np.zeros((table.rows, 0))
        if numeric:
            numbers = np.asarray(FAMILIES["gaussian"].encode(table, numeric), dtype=np.float64)
        coded = CodedColumns((), ())
        if labels:
            coded = FAMILIES["categorical"].encode(table, labels)
        return TableRows(numbers, coded)

    def recode(self, rows: TableRows, stats: object) -> TableRows:
        """Return the rows as they are: columns are frozen when a model is chosen."""
        return rows

    def zero(self, k: int, columns: int) -> MemberRows:
        none = CodedColumns(((),) * (columns - self.numbers), (np.zeros(0, dtype=np.int64),) * (columns - self.numbers))
        empty = np.zeros(0)
        return self.held(TableRows(np.zeros((0, self.numbers)), none), np.zeros(0, dtype=np.int64), empty, empty, k)

    def summarize(self, rows: TableRows, codes: Codes, k: int, weight: Array | None) -> MemberRows:
        """Return the rows of a batch, held as they are until a model settles them."""
        return self.held.summarize(rows, codes, k, weight)

    def estimate(self, stats: object, settings: Settings) -> tuple[Silent, list[Note]]:
        """Return a density that says nothing: members are chosen together, by `automatic.choose`, and pooled."""
        return Silent(len(settings.classes)), []
