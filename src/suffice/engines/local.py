"""The local engine, and what every engine has: parts, a kernel that maps each to a state, and the order of merging.

Parts × threads on this machine, with bounded readahead, so that memory is flat in rows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array, bounded_map
from ..errors import DataError, SufficeError
from .arrow import Column, Table, decoded, how_many, is_number, missing
from .sources import Part, Source, rows_at_a_time

FAN_IN = 8


class State(Protocol):
    """What is learned from some rows."""

    @property
    def rows(self) -> int:
        """How many rows that are."""

    def merge(self, other: Self) -> Self:
        """Return what is learned from both sets of rows."""


Kernel = Callable[[Table], State | None]  # None of no row


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a positive weight, of one batch, and how many had no label: these are left out unless they are kept.

    `columns` is a pyarrow table, `labels` a pyarrow array, `weight` (n,) or None for ones, `groups` an array or None.
    """

    columns: Table
    labels: Column
    weight: Array | None
    unlabelled: int
    groups: Column | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        columns: Sequence[str],
        target: str,
        weight: str | None,
        keep: bool = False,
        groups: str | None = None,
    ) -> LabelledRows:
        """Take apart a batch; DataError for weights that are no weights."""
        labels = decoded(table.column(target))
        absent = how_many(missing(labels))
        weights = None if weight is None else weight_values(table.column(weight), weight)
        belong = None if groups is None else decoded(table.column(groups))
        kept = None
        if absent and not keep:
            kept = pc.invert(missing(labels))
        if weights is not None and pc.min(weights).as_py() == 0:
            positive = pc.greater(weights, 0)
            kept = positive if kept is None else pc.and_(kept, positive)
        table = table.select(list(columns))
        if kept is not None:
            table, labels = table.filter(kept), labels.filter(kept)
            weights = None if weights is None else weights.filter(kept)
            belong = None if belong is None else belong.filter(kept)
            absent = how_many(missing(labels)) if keep else absent
        return cls(table, labels, None if weights is None else weights.to_numpy(), absent, belong)


def weight_values(column: Column, name: str) -> Column:
    """Return the cells of a column as row weights in float64; DataError for what is none."""
    kind = column.type
    if not (is_number(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"The weight column {name!r} has the type {kind}. Next: name a column of numbers.")
    values = column.cast(pa.float64())
    right = pc.fill_null(pc.and_(pc.is_finite(values), pc.greater_equal(values, 0)), False)
    bad = len(values) - how_many(right)
    if bad:
        raise DataError(
            f"The weight column {name!r}: {bad} of {len(values)} cells are missing, infinite or negative; weights "
            "count copies of a row. Next: correct them."
        )
    return values


@dataclass
class Fold:
    """The states of the parts so far: for each level of the tree, how many are merged and what they gave.

    A tree of fan-in eight over the parts in their order, which depends on their number alone: any engine gives the same
    bits.
    """

    levels: list[tuple[int, Any]] = field(default_factory=list)

    def push(self, state: State | None) -> None:
        """Add the state of the next part."""
        for number, (count, sofar) in enumerate(self.levels):
            merged = state if count == 0 else merged_pair(sofar, state)
            if count + 1 < FAN_IN:
                self.levels[number] = (count + 1, merged)
                return
            self.levels[number] = (0, None)
            state = merged
        self.levels.append((1, state))

    def result(self) -> State | None:
        """Return the state of all parts, or None if there was none; the fold is empty then."""
        carried: State | None = None
        while self.levels:  # none is held once it is merged: a sample of rows takes hundreds of MB
            count, sofar = self.levels.pop(0)
            carried = merged_pair(sofar, carried) if count else carried
        return carried


def merged_pair(one: State | None, other: State | None) -> State | None:
    """Return the state of the rows of both; None is that of no row."""
    return other if one is None else one if other is None else one.merge(other)


def merge_all(states: Iterable[State | None]) -> State | None:
    """Return the states merged one after the other."""
    merged: State | None = None
    for state in states:
        merged = merged_pair(merged, state)
    return merged


def learn_part(part: Part, kernel: Kernel, columns: Sequence[str], rows: int) -> State | None:
    """Return the state of a part, read and summarised table by table; None if it holds no row.

    An error names the part.
    """
    try:
        return merge_all(kernel(table) for table in part.tables(columns, rows))
    except SufficeError as error:
        raise placed(error, part.where) from error


def placed(error: SufficeError, where: str) -> SufficeError:
    """Return the same refusal saying where it arose."""
    if where in str(error):
        return error
    try:
        return type(error)(f"{where}: {error}")
    except TypeError:
        return error


@dataclass(frozen=True)
class Progress:
    """How far a long job is: rows done, rows in all (None where that is not known), seconds since it began.

    `share` is how much is done where rows are not known beforehand but the size of the text is.
    """

    rows: int
    total: int | None
    elapsed: float
    share: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the speed so far; None where that is not known."""
        if self.total is None and self.share:
            return self.elapsed * (1.0 - self.share) / self.share
        if self.total is None or self.rows <= 0:
            return None
        return self.elapsed * max(self.total - self.rows, 0) / self.rows


Watcher = Callable[[Progress], None]
T = TypeVar("T")


class Clock:
    """Tells a watcher how far a job is."""

    def __init__(self, watcher: Watcher | None, source: Source) -> None:
        self._watcher, self._total, self._csv = watcher, source.rows, source.csv
        self._start, self.rows = time.monotonic(), 0

    def advance(self, rows: int) -> None:
        """Count rows as done."""
        self.rows += rows
        if self._watcher is not None:
            share = None if self._csv is None else self._csv.share()
            self._watcher(Progress(self.rows, self._total, time.monotonic() - self._start, share))


def learn(source: Source, columns: Sequence[str], kernel: Kernel, *, progress: Watcher | None = None) -> Any:
    """Return the state of all rows of a source, in one pass over it; None if it has no row."""
    fold, rows = Fold(), rows_at_a_time(len(columns))
    clock, parts = Clock(progress, source), source.parts(columns, rows)
    with contextlib.closing(bounded_map(lambda part: learn_part(part, kernel, columns, rows), parts)) as states:
        for state in states:
            fold.push(state)
            clock.advance(0 if state is None else state.rows)
    return fold.result()


def answer(
    source: Source,
    columns: Sequence[str],
    kernel: Callable[[Table], T],
    *,
    width: int = 0,
    progress: Watcher | None = None,
) -> Iterator[T]:
    """Yield kernel(table) for all rows of a source in their order; `width` is the number of columns of an answer."""
    rows = rows_at_a_time(len(columns) + width)
    clock = Clock(progress, source)

    def work(item: tuple[Part, Table]) -> tuple[T, int]:
        part, table = item
        try:
            return kernel(table), table.num_rows
        except SufficeError as error:
            raise placed(error, part.where) from error

    items = ((part, table) for part in source.parts(columns, rows) for table in part.tables(columns, rows))
    with contextlib.closing(bounded_map(work, items)) as results:
        for result, count in results:
            yield result
            clock.advance(count)
