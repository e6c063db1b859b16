"""The kernels of a fit in parts: from a batch of a table to statistics, to rows that freeze columns, or to all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._arrays import Array, Codes, np
from .._memory import check_bytes
from ..automatic.statistics import Columns, MemberRows
from ..automatic.table_rows import TableRows, hashes_of, smallest_distinct
from ..errors import DataError
from ..estimate import Block
from ..fitted import Fitted
from ..schema import Level, Schema, sort_levels
from ..stats import ByClass
from ..stats.batch import Batch
from ..stats.rows import Keys, concat_rows
from ..table import read_table

if TYPE_CHECKING:
    from ..engines.arrow import Table


@dataclass(frozen=True)
class Learned:
    """What is learned from some rows: statistics, None without a row to learn from, and how many rows had no label."""

    statistics: ByClass | None
    rows: int
    unlabelled: int

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both."""
        both = [own.statistics for own in (self, other) if own.statistics is not None]
        statistics = both[0].merge(both[1]) if len(both) == 2 else both[0] if both else None
        return Learned(statistics, self.rows + other.rows, self.unlabelled + other.unlabelled)


@dataclass(frozen=True)
class Summary:
    """From a batch of a table to what is learned from it. It can be sent to another process, as every kernel can."""

    fitted: Fitted  # with settings and blocks, before anything is learned
    target: str
    weight: str | None
    groups: str | None  # the column that says which rows belong together
    unlabelled: str
    columns: Columns | None = None  # as frozen by a first pass

    @property
    def schema(self) -> Schema:
        """The columns to learn from."""
        return self.fitted.schema

    @property
    def plan(self) -> tuple[Block, ...]:
        """The blocks of the model."""
        return self.fitted.blocks

    def __call__(self, table: Table) -> Learned:
        """Summarise a pyarrow table."""
        batch, absent = self.read(table)
        if batch is None:
            return Learned(None, table.num_rows, absent)
        known, unknown = (batch, None) if batch.is_labelled else batch.split()
        k = len(known.classes)
        pairs = zip(self.plan, known.rows, strict=True)
        blocks = tuple(block.family.count(part, known.codes, k, known.weight) for block, part in pairs)
        sample = self.fitted.sample_of(known)
        statistics = ByClass(known.classes, known.class_weight, blocks, len(known.codes), sample, known.heaviest)
        if unknown is not None and self.fitted.keeps_unlabelled:
            statistics = replace(statistics, unlabelled=self.fitted.unlabelled_of(unknown))
        if self.columns is not None:
            rows = blocks[-1]
            assert isinstance(rows, MemberRows)
            assert isinstance(rows.rows, TableRows)
            statistics = replace(statistics, blocks=(*blocks[:-1], rows.frozen(self.columns)))
        return Learned(statistics, table.num_rows, absent)

    def read(self, table: Table) -> tuple[Batch | None, int]:
        """Return the rows of a pyarrow table, None if there are none, and how many have no label.

        These are refused, left out, or numbered −1.
        """
        from ..engines import LabelledRows

        names = [str(name) for name in self.schema.names]
        rows = LabelledRows.of(table, names, self.target, self.weight, self.unlabelled == "em", self.groups)
        if rows.unlabelled and self.unlabelled == "error":
            raise DataError(
                f"{self.target!r} has no label in {rows.unlabelled} of {table.num_rows} rows. Next: leave them out "
                'with unlabelled="skip", or let them join with unlabelled="em" where the model can learn from them.'
            )
        if not len(rows.labels):
            return None, rows.unlabelled
        columns = read_table(rows.columns)
        order = self.schema.align(columns.schema, self.fitted.who)
        batch = self.fitted.batch(columns, order, rows.labels, rows.weight, "any", rows.groups)
        return batch, rows.unlabelled


@dataclass(frozen=True)
class Gathered:
    """Tables of some rows as they were read, in order, of a source that holds `total` rows if that is known."""

    tables: tuple[Table, ...]
    rows: int
    bytes: int
    total: int | None

    def merge(self, other: Gathered) -> Gathered:
        """Return the rows of both; DataError where memory does not hold them all."""
        both = self.rows + other.rows, self.bytes + other.bytes
        return Gathered((*self.tables, *other.tables), *both, self.total).checked()

    def checked(self) -> Gathered:
        """Return the same rows; DataError if these, or all rows of the source at this size, take too much memory."""
        least = self.bytes * max(self.total or 0, self.rows) // max(self.rows, 1)
        many = f"{self.total:,}" if self.total else f"The first {self.rows:,}"
        advice = (
            'give fewer rows or columns, or a model whose statistics merge (not MixtureDiscriminant; unlabelled="skip" '
            "where labels are missing; diagonal covariances where cells are)"
        )
        check_bytes(least, f"{many} rows, which EM needs in memory together,", advice)
        return self

    def table(self) -> Table:
        """Return the rows as one table."""
        from ..engines.arrow import together

        return together(self.tables)


@dataclass(frozen=True)
class Gathering:
    """From a batch of a table to the batch itself: for what no statistics that merge do."""

    total: int | None

    def __call__(self, table: Table) -> Gathered:
        """Return the rows of a pyarrow table."""
        return Gathered((table,), table.num_rows, table.nbytes, self.total).checked()


@dataclass(frozen=True)
class Smallest:
    """The distinct rows with the smallest hashes, at most `bound`, in the order of these; `beyond` if there are more.

    The automatic classifier freezes its columns by these rows. They are found part by part, as the smallest of all are
    among the smallest of each, so that `fit` and `fit_table` see the same knots, bins and categories.
    `kind` is how such rows are held.
    `keys` (n,) are hashes of the contents, `labels` (n,) numbers of classes in the list `classes`, `weight` (n,);
    `total` is the weight of all rows, `squares` the sum of its squares, row by row: together they say how many rows
    these are.
    """

    kind: type[MemberRows]
    bound: int
    cells: TableRows
    keys: Keys
    labels: Codes
    classes: tuple[Level, ...]
    weight: Array
    beyond: bool
    rows: int
    total: float
    squares: float

    @classmethod
    def of(cls, part: MemberRows, classes: tuple[Level, ...], rows: int, bound: int) -> Smallest:
        """Return the smallest of a batch."""
        assert isinstance(part.rows, TableRows)
        weight, squares = part.weight, float((part.weight**2 / part.copies).sum())
        keys, total = hashes_of(part.rows), float(weight.sum())
        whole = cls(type(part), bound, part.rows, keys, part.codes, classes, weight, False, rows, total, squares)
        return whole._reduced()

    def merge(self, other: Smallest) -> Smallest:
        """Return the smallest of both."""
        classes = sort_levels([*self.classes, *other.classes])
        place = {label: i for i, label in enumerate(classes)}
        labels = [np.array([place[c] for c in own.classes], dtype=np.int64)[own.labels] for own in (self, other)]
        numbers = np.concatenate([self.cells.numbers, other.cells.numbers])
        both = replace(
            self,
            cells=TableRows(numbers, concat_rows(self.cells.coded, other.cells.coded)),
            keys=np.concatenate([self.keys, other.keys]),
            labels=np.concatenate(labels),
            classes=classes,
            weight=np.concatenate([self.weight, other.weight]),
            beyond=self.beyond or other.beyond,
            rows=self.rows + other.rows,
            total=self.total + other.total,
            squares=self.squares + other.squares,
        )
        return both._reduced()

    def _reduced(self) -> Smallest:
        """Return each distinct row of a class once, the `bound` smallest of them; categories keep all their levels."""
        few, weight, more = smallest_distinct(self.keys, self.labels, self.weight, self.bound)
        keys, labels, beyond = self.keys[few], self.labels[few], self.beyond or more
        return replace(self, cells=self.cells[few], keys=keys, labels=labels, weight=weight, beyond=beyond)

    def frozen(self) -> Columns:
        """Return the columns that these rows freeze."""
        weight = self.weight * (self.total / self.squares)
        return self.kind.freeze(self.cells, self.labels, len(self.classes), weight, for_good=True)


@dataclass(frozen=True)
class Finding:
    """From a batch of a table to its smallest rows."""

    summary: Summary
    bound: int

    def __call__(self, table: Table) -> Smallest | None:
        """Return the smallest rows with a label of a pyarrow table."""
        batch, _ = self.summary.read(table)
        if batch is None:
            return None
        known = batch if batch.is_labelled else batch.split()[0]
        family, k = self.summary.plan[-1].family, len(known.classes)
        part = family.summarize(known.rows[-1], known.codes, k, known.weight)
        assert isinstance(part, MemberRows)
        return Smallest.of(part, known.classes, table.num_rows, self.bound)
