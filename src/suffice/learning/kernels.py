"""What is made of the parts of a table: from a batch to statistics and to samples of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._arrays import np
from ..automatic.statistics import Columns, MemberRows
from ..automatic.table_rows import TableRows
from ..errors import DataError
from ..estimate import Block, Family
from ..fitted import Fitted
from ..schema import Schema
from ..stats import ByClass, ClassSamples
from ..stats.batch import Batch
from ..table import read_table

if TYPE_CHECKING:
    from ..engines.arrow import Table


@dataclass(frozen=True)
class Learned:
    """What is learned from some rows: their statistics (None without a row to learn from), and how many had no label.

    `unlabelled_weight` is the weight of those without a label that are to join, `holed` marks the blocks with cells
    that a joint density has to fill, `samples` are rows of each class, where they are asked for.
    """

    statistics: ByClass | None
    rows: int
    unlabelled: int
    unlabelled_weight: float = 0.0
    holed: tuple[bool, ...] = ()
    samples: ClassSamples | None = None

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both."""
        if self.statistics is None or other.statistics is None:
            filled = other if self.statistics is None else self
            statistics, holed, samples = filled.statistics, filled.holed, filled.samples
        else:
            statistics = self.statistics.merge(other.statistics)
            holed = tuple(a or b for a, b in zip(self.holed, other.holed, strict=True))
            samples = self.samples and other.samples and self.samples.merge(other.samples)
        return Learned(
            statistics,
            self.rows + other.rows,
            self.unlabelled + other.unlabelled,
            self.unlabelled_weight + other.unlabelled_weight,
            holed,
            samples,
        )


@dataclass(frozen=True)
class Summary:
    """The kernel of a fit: from a batch of a table to what is learned from it. It can be sent to another process."""

    fitted: Fitted  # with the settings and the blocks as they are counted, before anything is learned
    target: str
    weight: str | None
    unlabelled: str
    columns: Columns | None = None  # as frozen by a first pass
    samples: bool = False  # whether rows of each class are asked for
    groups: str | None = None  # the column that says which rows belong together

    @property
    def schema(self) -> Schema:
        """The columns to learn from."""
        return self.fitted.schema

    @property
    def plan(self) -> tuple[Block, ...]:
        """The blocks as they are counted."""
        return self.fitted.blocks

    def __call__(self, table: Table, rows_only: bool = False) -> Learned:
        """Summarise a pyarrow table; `rows_only` does without the statistics that a first pass does not need."""
        batch, absent = self.read(table)
        if batch is None:
            return Learned(None, table.num_rows, absent)
        if rows_only:
            batch = batch if batch.is_labelled else batch.split()[0]
            k = len(batch.classes)
            part = self.plan[-1].family.summarize(batch.rows[-1], batch.codes, k, batch.weight)
            return Learned(
                ByClass(batch.classes, np.zeros(k), (part,), heaviest=batch.heaviest), table.num_rows, absent
            )
        known, unknown = (batch, None) if batch.is_labelled else batch.split()
        statistics, weight = self._count(known), 0.0
        if unknown is not None and self.fitted.keeps_unlabelled:
            statistics = replace(statistics, unlabelled=self.fitted.unlabelled_of(unknown))
        elif unknown is not None:
            weight = float(len(unknown.codes) if unknown.weight is None else unknown.weight.sum())
        if self.columns is not None:
            statistics = _in_columns(statistics, self.columns)
        holed = tuple(block.family.misses(part) for block, part in zip(self.plan, batch.rows, strict=True))
        samples = None
        if self.samples:
            samples = ClassSamples.summarize(known.rows, known.codes, known.classes, known.weight, len(self.schema))
        return Learned(statistics, table.num_rows, absent, weight, holed, samples)

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

    def _count(self, batch: Batch) -> ByClass:
        """Return the statistics of labelled rows, by which every estimator begins."""
        k = len(batch.classes)
        pairs = zip(self.plan, batch.rows, strict=True)
        blocks = tuple(block.family.count(part, batch.codes, k, batch.weight) for block, part in pairs)
        sample = self.fitted.sample_of(batch)
        return ByClass(batch.classes, batch.class_weight, blocks, len(batch.codes), sample, batch.heaviest)

    def observing(self, wrap: Callable[[Family], Any]) -> Summary:
        """Return the kernel with the families of blocks whose cells a joint density fills wrapped."""
        plan = tuple(replace(b, family=wrap(b.family)) if _joint(b) else b for b in self.plan)
        return replace(self, fitted=replace(self.fitted, blocks=plan))


def _in_columns(statistics: ByClass, columns: Columns) -> ByClass:
    """Return the statistics of a batch with the rows of the automatic members condensed in frozen columns."""
    rows = statistics.blocks[-1]
    assert isinstance(rows, MemberRows)
    assert isinstance(rows.rows, TableRows)
    return replace(statistics, blocks=(*statistics.blocks[:-1], rows.frozen(columns)))


def _joint(block: Block) -> bool:
    return block.family.component().fills
