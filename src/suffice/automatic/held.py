"""Rows kept by an estimator, or, beyond a bound, statistics of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from .._arrays import Array, Codes, np
from .._derived import has_made, shared
from ..densities import Density, Rows
from ..errors import MergeError, either
from ..estimate import FAMILIES, Family, Settings
from ..fitted import Fitted
from ..notes import Note
from ..schema import Kind
from ..stats import ByClass, Reservoir
from ..stats.by_class import Batch
from ..stats.counts import CodedColumns
from ..stats.dependent_rows import are_copies
from ..stats.reservoir import rows_per_weight
from ..stats.rows import Units, take_rows
from ..table import Table
from ..table.dates import DATE_PARTS
from .statistics import MemberRows, MemberStats
from .table_rows import TableRows
from .train import rows_of_sample, table_rows


@dataclass(frozen=True, slots=True)
class Silent(Density):
    """The density of no column: 0 nats under each of `k` classes."""

    k: int

    def log_density(self, rows: TableRows) -> Array:
        return np.zeros((len(rows), self.k))


@dataclass(frozen=True)
class MemberFamily(Family):
    """All columns, as the members of the automatic classifier need them; numbers come first, so many `texts` last."""

    numbers: int
    texts: int = 0
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
        return TableRows(numbers, coded, self.texts)

    def recode(self, rows: TableRows, stats: object) -> TableRows:
        """Return the rows as they are: columns are frozen when a model is chosen."""
        return rows

    def zero(self, k: int, columns: int) -> MemberRows:
        none = CodedColumns(((),) * (columns - self.numbers), (np.zeros(0, dtype=np.int64),) * (columns - self.numbers))
        empty, rows = np.zeros(0), TableRows(np.zeros((0, self.numbers)), none, self.texts)
        return self.held(rows, np.zeros(0, dtype=np.int64), empty, empty, k)

    def summarize(self, rows: TableRows, codes: Codes, k: int, weight: Array | None) -> MemberRows:
        """Return the rows of a batch, held as they are until a model settles them."""
        return self.held.summarize(rows, codes, k, weight)

    def estimate(self, stats: object, settings: Settings) -> tuple[Silent, list[Note]]:
        """Return a density that says nothing: members are chosen together, by `automatic.choose`, and pooled."""
        return Silent(len(settings.classes)), []


@dataclass(frozen=True, eq=False)
class HeldFitted(Fitted):
    """A value whose last block are the rows of all columns; the others are statistics of numbers and categories."""

    freezes_columns = True
    _joint_alone: ClassVar[Any]  # the value of the joint model, under the priors of the rows

    @property
    def joint_value(self) -> Fitted:
        """The joint model alone, asked as any other is."""
        return self._joint_alone.with_priors(self.priors)  # type: ignore[no-any-return]

    def with_statistics(self, statistics: ByClass, **changed: Any) -> Self:
        """Return the value of other statistics, the rows made statistics where they are more than are kept.

        While all are kept, the last block are those of the sample, in the same memory.
        """
        held, sample = held_by(statistics), statistics.sample
        self.check_memory(held, statistics)
        if isinstance(held, MemberRows) and sample is not None and sample.is_whole:
            rows = self.dated(table_rows(sample.rows))
            held = self.held_as(rows, sample.codes, sample.copies, sample.weight, len(statistics.classes))
        else:
            held = self._dated(held).distinct(self.most_read)
        statistics = replace(statistics, blocks=(*statistics.blocks[:-1], held))
        return super().with_statistics(statistics, **changed)

    def dated(self, rows: TableRows) -> TableRows:
        """Return rows of all columns that know which are dates, and which parts of these are no columns already."""
        names = set(map(str, self.schema.names))
        own = [(j, self.schema.columns[p]) for j, p in enumerate(self.blocks[-1].positions)]
        parts = [
            (j, i)
            for j, column in own
            if column.kind is Kind.DATE
            for i, part in enumerate(DATE_PARTS)
            if f"{column.name}_{part}" not in names
        ]
        return replace(rows, dates=tuple(parts))

    def _dated(self, held: MemberRows | MemberStats) -> MemberRows | MemberStats:
        return replace(held, rows=self.dated(held.rows)) if isinstance(held, MemberRows) else held

    @property
    def most_read(self) -> int:
        """By how many rows, at most, columns are read."""
        return self.settings.keep_rows

    @property
    def judged(self) -> ByClass:
        """The statistics with no other rows than those by which the model judges itself."""
        return replace(self.statistics, sample=self.judges)

    def check_memory(self, held: MemberRows | MemberStats, statistics: ByClass) -> None:
        """Raise DataError, before it is paid for, if what is made of the rows does not fit into memory."""
        return

    def sample_of(self, batch: Batch, keep_rows: int | None = None) -> Reservoir | None:
        """Return the rows of a batch that are kept, which the last block holds as well."""
        return super().sample_of(batch._replace(rows=batch.rows[:-1]), keep_rows)

    def recoded(self, rows: Rows) -> Rows:
        """Return encoded rows as members read them: cells of columns in which no row has a value are as if missing."""
        *others, every = super().recoded(rows)
        return (*others, self.shown(every))

    def shown(self, every: TableRows) -> TableRows:
        """Return rows of all columns with nothing in those in which no row has a value."""
        empty = self.empty_columns
        return every.showing([j for j, p in enumerate(self.blocks[-1].positions) if p not in empty]) if empty else every

    def sampled_rows(self) -> Rows:
        """Return the rows kept, one part for each block."""
        return [*super().sampled_rows(), rows_of_sample(self.judged, self.held_as).rows]

    def left_out_groups(
        self, rows: Rows, codes: Codes, weight: Array | None, group: Codes, place: Codes | None = None
    ) -> Array:
        """Return the same of rows that are kept, by folds of whole groups; others leave one by one."""
        assert place is not None
        out, other = self.left_out_rows[place], np.flatnonzero(place < 0)
        if len(other):
            some = [take_rows(part, other) for part in rows]
            out[other] = self.left_out_unseen(some, codes[other], None if weight is None else weight[other])
        return out

    @property
    def held_as(self) -> type[MemberRows]:
        family = self.blocks[-1].family
        assert isinstance(family, MemberFamily)
        return family.held

    @property
    def rows_beside(self) -> int:  # type: ignore[override]
        """How many rows the last block holds."""
        block = self.statistics.blocks[-1]
        return int(block.copies.sum()) if isinstance(block, MemberRows) else 0

    by_folds = False
    leaves_soon = True  # every member has left-out scores, and trees have rows that they were not grown on

    @property
    def holds_no_rows(self) -> bool:
        """Whether no rows are kept, to choose or to judge by."""
        return self.statistics.sample is None

    @shared
    def frozen_statistics(self) -> MemberStats:
        """The statistics in frozen columns; of rows held as they are, in columns that these rows freeze for now."""
        block = self._dated(held_by(self.statistics)).distinct(self.most_read)
        self.check_memory(block, self.statistics)
        if isinstance(block, MemberStats):
            return block
        unit = row_unit(self.judged, block)
        weight = block.weight * unit
        units = units_of(self.judged, block)
        columns = block.freeze(block.rows, block.codes, block.k, weight, for_good=False, units=units)
        return block.frozen(columns)

    @property
    def is_trained(self) -> bool:
        return super().is_trained or has_made(self, HeldFitted.frozen_statistics.make)

    def before_merge(self, other: Self) -> tuple[Self, Self]:
        """Return both values, the other's as rows of its sample where both have frozen their columns apart."""
        mine, theirs = (value.statistics.blocks[-1] for value in (self, other))
        if isinstance(mine, MemberStats) and isinstance(theirs, MemberStats) and mine.columns != theirs.columns:
            if self.holds_no_rows or other.holds_no_rows:
                raise MergeError(
                    "These two models read columns on different knots, and at least one holds no rows to read them "
                    "again. Next: release the second like the first: "
                    f"{either('second.release(like=first)', 'suffice release SECOND --like FIRST')}, or "
                    "`suffice release SECOND --like FIRST -o FILE`."
                )
            sample = rows_of_sample(other.statistics, self.held_as).as_sample()
            blocks = (*other.statistics.blocks[:-1], sample)
            return self, replace(other, statistics=replace(other.statistics, blocks=blocks))
        return self, other


def row_unit(statistics: ByClass, held: MemberRows) -> float:
    """Return how many rows a weight of 1 speaks for among rows that are held, copies of a row being one."""
    return rows_per_weight(held.weight, units_of(statistics, held).copies)


def units_of(statistics: ByClass, held: MemberRows) -> Units:
    """Return what leaves together of rows that are held, each distinct one once."""
    together = statistics.sample is not None and are_copies(statistics.sample)
    return Units(np.ones_like(held.copies) if together else held.copies)


def held_by(statistics: ByClass) -> MemberRows | MemberStats:
    """Return what the last block holds."""
    found = statistics.blocks[-1]
    assert isinstance(found, MemberRows | MemberStats)
    return found
