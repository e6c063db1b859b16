"""The automatic classifier from a table in parts: a first pass for the rows that freeze its columns, then statistics.

`fit` freezes columns by the `keep_rows` distinct rows whose contents have the smallest hashes. Such rows are found part
by part (the smallest of all are among the smallest of each), so that both ways see the same knots, bins and categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._arrays import Array, Codes, np
from ..automatic.statistics import Columns, MemberRows
from ..automatic.table_rows import TableRows, hashes_of, smallest_distinct
from ..errors import SourceError
from ..schema import Level, sort_levels
from ..stats.counts import CodedColumns
from ..stats.rows import Keys, concat_rows, take_rows
from .kernels import Summary
from .opening import Run

if TYPE_CHECKING:
    from ..engines import Source, Watcher
    from ..engines.arrow import Table


@dataclass(frozen=True)
class Smallest:
    """The distinct rows with the smallest hashes, at most `bound`, in the order of these; `beyond` if there are more.

    `kind` is how such rows are held.
    `keys` (n,) are hashes of the contents, `labels` (n,) numbers of classes in the list `classes`, `weight` (n,);
    `total` is the weight of all rows, `squares` the sum of its squares, row by row: together they say how many rows
    these are.
    """

    kind: type[MemberRows]
    bound: int
    numbers: Array
    coded: CodedColumns
    keys: Keys
    labels: Codes
    classes: tuple[Level, ...]
    weight: Array
    beyond: bool
    rows: int
    total: float
    squares: float

    @classmethod
    def of(cls, part: MemberRows, classes: Sequence[Level], rows: int, bound: int) -> Smallest:
        """Return the smallest of a batch."""
        some, weight, beyond = smallest_distinct(hashes_of(part.rows), part.codes, part.weight, bound)
        kept = part.rows[some]
        keys = hashes_of(kept)
        total, squares = float(part.weight.sum()), float((part.weight**2 / part.copies).sum())
        own = part.codes[some]
        return cls(
            type(part), bound, kept.numbers, kept.coded, keys, own, tuple(classes), weight, beyond, rows, total, squares
        )

    def merge(self, other: Smallest) -> Smallest:
        """Return the smallest of both."""
        classes = sort_levels([*self.classes, *other.classes])
        place = {label: i for i, label in enumerate(classes)}
        labels = [np.array([place[c] for c in own.classes], dtype=np.int64)[own.labels] for own in (self, other)]
        both = Smallest(
            self.kind,
            self.bound,
            np.concatenate([self.numbers, other.numbers]),
            concat_rows(self.coded, other.coded),
            np.concatenate([self.keys, other.keys]),
            np.concatenate(labels),
            classes,
            np.concatenate([self.weight, other.weight]),
            self.beyond or other.beyond,
            self.rows + other.rows,
            self.total + other.total,
            self.squares + other.squares,
        )
        return both._reduced()

    def _reduced(self) -> Smallest:
        """Return each distinct row of a class once, the `bound` smallest of them; categories keep all their levels."""
        few, weight, beyond = smallest_distinct(self.keys, self.labels, self.weight, self.bound)
        return replace(
            self,
            numbers=self.numbers[few],
            coded=take_rows(self.coded, few),
            keys=self.keys[few],
            labels=self.labels[few],
            weight=weight,
            beyond=self.beyond or beyond,
        )

    def frozen(self) -> Columns:
        """Return the columns that these rows freeze."""
        rows, weight = TableRows(self.numbers, self.coded), self.weight * (self.total / self.squares)
        return self.kind.freeze(rows, self.labels, len(self.classes), weight, for_good=True)


@dataclass(frozen=True)
class Finding:
    """The kernel of the first pass: from what a batch teaches to its smallest rows."""

    summary: Summary
    bound: int

    def __call__(self, table: Table) -> Smallest | None:
        """Return the smallest rows of a pyarrow table."""
        learned = self.summary(table, rows_only=True)
        if learned.statistics is None:
            return None
        part = learned.statistics.block(-1, MemberRows)
        return Smallest.of(part, learned.statistics.classes, learned.rows, self.bound)


def freeze_columns(
    summary: Summary, source: Source, read: Sequence[str], run: Run, bound: int, progress: Watcher | None
) -> Summary:
    """Return the kernel of the second pass, with columns frozen by a first; unchanged where so few rows need none."""
    if source.once:
        raise SourceError.read_once(summary.fitted.who, "twice")
    found: Smallest | None = run(source, read, Finding(summary, bound), progress=progress)
    return replace(summary, columns=found.frozen()) if found is not None and found.beyond else summary
