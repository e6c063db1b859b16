"""The automatic classifier from a table in parts: a first pass for the rows that freeze its columns, then statistics.

`fit` freezes columns by the `keep_rows` distinct rows whose contents have the smallest hashes. Such rows are found part
by part (the smallest of all are among the smallest of each), so that both ways see the same knots, bins and categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import SourceError
from ..schema import Level, sort_levels
from ..selection.columns import FrozenColumns
from ..selection.pieces import MemberRows, TableRows
from ..stats import ByClass
from ..stats.rows import concat_rows, fingerprints, take_rows


@dataclass(frozen=True)
class Smallest:
    """The distinct rows with the smallest hashes, at most `bound`, in the order of these; `beyond` if there are more.

    `keys` (n,) are hashes of the contents, `labels` (n,) numbers of classes in the list `classes`, `weight` (n,).
    """

    bound: int
    numbers: Array
    coded: Any
    keys: Any
    labels: Codes
    classes: tuple[Level, ...]
    weight: Array
    beyond: bool
    rows: int

    @classmethod
    def of(cls, part: MemberRows, classes: Sequence[Level], rows: int, bound: int) -> Smallest:
        """Return the smallest of a batch."""
        numbers, coded = part.rows.numbers, part.rows.coded
        keys = fingerprints(numbers) if numbers.shape[1] else np.zeros(len(part.codes), dtype=np.uint64)
        keys = keys ^ (fingerprints(coded) if coded.codes else np.uint64(0))
        few = np.flatnonzero(keys <= np.partition(keys, 2 * bound)[2 * bound]) if len(keys) > 4 * bound else slice(None)
        own = cls(
            bound,
            numbers[few],
            take_rows(coded, few),
            keys[few],
            part.codes[few],
            tuple(classes),
            part.weight[few],
            False,
            rows,
        )
        return replace(own._reduced(), beyond=own._reduced().beyond or len(own.keys) < len(keys))

    def merge(self, other: Smallest) -> Smallest:
        """Return the smallest of both."""
        classes = sort_levels([*self.classes, *other.classes])
        place = {label: i for i, label in enumerate(classes)}
        labels = [np.array([place[c] for c in own.classes], dtype=np.int64)[own.labels] for own in (self, other)]
        both = Smallest(
            self.bound,
            np.concatenate([self.numbers, other.numbers]),
            concat_rows(self.coded, other.coded),
            np.concatenate([self.keys, other.keys]),
            np.concatenate(labels),
            classes,
            np.concatenate([self.weight, other.weight]),
            self.beyond or other.beyond,
            self.rows + other.rows,
        )
        return both._reduced()

    def _reduced(self) -> Smallest:
        """Return each distinct row of a class once, the `bound` smallest of them; categories keep all their levels."""
        pairs = np.stack([self.keys, self.labels.astype(np.uint64)], axis=1)
        distinct, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        weight = np.bincount(group.reshape(-1), weights=self.weight, minlength=len(distinct))
        few = first[: self.bound]
        return replace(
            self,
            numbers=self.numbers[few],
            coded=take_rows(self.coded, few),
            keys=self.keys[few],
            labels=self.labels[few],
            weight=weight[: self.bound].astype(np.float64),
            beyond=self.beyond or len(distinct) > self.bound,
        )

    def frozen(self) -> FrozenColumns:
        """Return the columns that these rows freeze."""
        return FrozenColumns.freeze(self.numbers, self.coded, self.weight)


@dataclass(frozen=True)
class Finding:
    """The kernel of the first pass: from what a batch teaches to its smallest rows."""

    summary: Any
    bound: int

    def __call__(self, table: Any) -> Smallest | None:
        """Return the smallest rows of a pyarrow table."""
        learned = self.summary(table, rows_only=True)
        if learned.statistics is None:
            return None
        part = learned.statistics.blocks[-1]
        return Smallest.of(part, learned.statistics.classes, learned.rows, self.bound)


def freeze_columns(
    summary: Any, source: Any, read: Sequence[str], run: Callable[..., Any], bound: int, progress: Any = None
) -> Any:
    """Return the kernel of the second pass, with columns frozen by a first; unchanged where so few rows need none."""
    if source.once:
        raise SourceError.read_once("GenerativeClassifier", "twice")
    found = run(source, read, Finding(summary, bound), progress=progress)
    return replace(summary, columns=found.frozen()) if found is not None and found.beyond else summary


def summarize_frozen(statistics: ByClass, columns: FrozenColumns) -> ByClass:
    """Return the statistics of a batch with the members' rows condensed in frozen columns."""
    rows = statistics.blocks[-1]
    assert isinstance(rows, MemberRows)
    assert isinstance(rows.rows, TableRows)
    return replace(statistics, blocks=(*statistics.blocks[:-1], rows.condensed(columns)))
