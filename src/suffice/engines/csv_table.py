"""CSV files read the one way there is, whoever asks: whole or in parts, one file or many, plain or compressed.

Every cell is read as text. A first pass settles, from all cells, what each column holds and how its numbers are
written; what comes out is converted batch by batch, or as it stands for columns that nobody counts with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .._dialect import Dialect
from .._files import MISSING_TOKENS
from ..errors import SourceError
from ..schema import Schema, repeated_names
from . import csv_remarks
from .arrow import Column, Rows, Table, is_number
from .cells import Seen, UnexpectedCellError, blanks, convert, without
from .csv_marks import Marks
from .csv_problems import CsvProblem
from .csv_text import Form, check_lines, check_regular, explained, find_form, open_text_cells

AS_WRITTEN = "\0"  # in front of the name of a column whose text is asked for; no name in a CSV holds it


@dataclass(frozen=True)
class Reading:
    """What is known of the columns of a CSV before it is read, and what is to be made of them.

    `text` are columns of text, whatever they look like, `numbers` columns known to hold numbers, `as_is` says of a
    column that nobody counts with it. Labels are those of `target`: their cells as they stand ("text"), the same unless
    they are measurements or dates (None), or whole numbers ("numbers"). `blank` are further texts that mean a missing
    cell, and `learned` is how the file wrote its cells that a model learned from.
    """

    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    as_is: Callable[[str], bool] | None = None
    target: str | None = None
    labels: str | None = None
    blank: tuple[str, ...] = ()
    learned: Dialect | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        learned: Dialect | None,
        also: Sequence[str] = (),
        target: str | None = None,
        labels: str | None = None,
        blank: tuple[str, ...] = (),
    ) -> Reading:
        """Return how the columns of a model are read: its text as text, its numbers as numbers, others not at all.

        `also` names columns that are read beside those.
        """
        text = tuple(str(column.name) for column in schema.columns if column.kind.is_label)
        numbers = tuple(str(column.name) for column in schema.columns if column.kind.is_number)
        used = {*text, *numbers, *also}
        known = cls(text, numbers, lambda name: name not in used) if schema.named else cls()
        return replace(known, target=target, labels=labels, blank=blank, learned=learned)

    def is_verbatim(self, name: str) -> bool:
        """Return whether a column is copied as it stands."""
        return self.as_is is not None and name != self.target and self.as_is(name)

    @property
    def declared(self) -> tuple[str, ...]:
        """The texts that were said to mean a missing cell, now and when the model learned."""
        known = () if self.learned is None else self.learned.blank
        return tuple(dict.fromkeys((*known, *self.blank)))


@dataclass
class Meter:
    """How much of some files is read: the bytes of those done, and the one being read."""

    size: int
    done: int = 0
    file: IO[bytes] | None = None

    def share(self) -> float:
        """Return the share of the bytes that is read, which is some blocks ahead of the rows."""
        here = 0 if self.file is None or self.file.closed else int(self.file.tell())
        return min((self.done + here) / max(self.size, 1), 1.0)


class Batch(NamedTuple):
    """Some rows of a file as text, and those columns as numbers that are such as programs write."""

    text: Rows
    numbers: dict[str, Column]


def as_written(name: str) -> str:
    """Return the name by which a CSV gives a column as text, cell by cell as it stands in the file."""
    return AS_WRITTEN + name


class CsvTable:
    """The table in one or several CSV files of the same columns.

    `schema` holds the types of its columns, `dialect` what a model should know of how they are written, `names` their
    names in order. With `hold`, the text stays in memory and no file is read again.
    """

    def __init__(self, paths: Sequence[Path], reading: Reading, hold: bool = False) -> None:
        self._paths, self._reading = list(paths), reading
        for path in paths:
            check_regular(path)
        self._forms = [find_form(path) for path in paths]
        self.names = list(self._forms[0].names)
        self._check_names()
        self._blank = blanks(reading.declared)
        self._no_label = pa.array(["", *reading.declared], pa.string())
        self._held: list[list[Batch]] | None = [] if hold else None
        self.looks_missing: Counter[str] = Counter()
        self._seen = [self._look(path, form) for path, form in zip(self._paths, self._forms, strict=True)]
        self._settle()
        self.meter = Meter(sum(path.stat().st_size for path in paths))

    def _check_names(self) -> None:
        first = self._forms[0].names
        for path, form in zip(self._paths, self._forms, strict=True):
            repeated = repeated_names(form.names)
            if repeated:
                raise CsvProblem.repeated(path, repeated)
            if sorted(form.names) != sorted(first):
                missing = [name for name in first if name not in form.names]
                extra = [name for name in form.names if name not in first]
                role = "as the other files have" if missing else f"as {str(path)!r} has"
                where, known = (path, form.names) if missing else (self._paths[0], first)
                raise SourceError.columns_missing(repr(str(where)), missing or extra, known, role)

    def _look(self, path: Path, form: Form) -> dict[str, Seen]:
        """Return what the cells of a file say of each column that something depends on."""
        reading = self._reading
        fixed = {*reading.text} - {reading.target}
        seen = {name: Seen() for name in form.names if name not in fixed and not reading.is_verbatim(name)}
        looks = pa.array([token for token in MISSING_TOKENS if token and token not in reading.declared], pa.string())
        held: list[Batch] = []
        last = None
        for batch in _batches(path, form):
            numbers = {name: own.add(batch.column(name), self._blank) for name, own in seen.items()}
            if reading.target in seen:
                cells = batch.column(reading.target)
                self.looks_missing.update(cells.filter(pc.is_in(cells, value_set=looks)).to_pylist())
            if self._held is not None:
                held.append(Batch(batch, {name: found for name, found in numbers.items() if found is not None}))
            last = batch if batch.num_rows else last
        if last is not None and any("\n" in cell for cell in last.slice(last.num_rows - 1).to_pylist()[0].values()):
            check_lines(path, form)  # a quote left open swallows the rest of a file
        if self._held is not None:
            self._held.append(held)
        return seen

    def _settle(self) -> None:
        """Decide what every column holds, and the decimal mark of its numbers in every file."""
        reading, learned = self._reading, self._reading.learned or Dialect()
        names = [name for name in self.names if name in self._seen[0]]
        total = {name: _merged(seen[name] for seen in self._seen) for name in names}
        marks = Marks(self._paths, self._forms, self._seen, total, reading.target, learned)
        self._marks = marks.found
        kinds, known = dict.fromkeys(self.names, pa.string()), set(reading.numbers)
        for name in names:
            kinds[name] = total[name].kind(name in known, learned.missing.get(name), name in marks.mixed)
        self.target = total.get(reading.target) if reading.target is not None else None
        if reading.target in kinds:
            kinds[reading.target] = pa.int64() if reading.labels == "numbers" else pa.string()
        self.schema = pa.schema([pa.field(name, kinds[name]) for name in self.names])
        numbers = {name for name in names if is_number(kinds[name]) and name != reading.target}
        odd = {name: next(iter(total[name].odd)) for name in numbers if total[name].odd}
        self.dialect = Dialect(
            decimal=learned.decimal or marks.of_table,
            decimals=learned.decimals | {name: mark for name, mark in marks.to_learn.items() if name in numbers},
            missing={**odd, **learned.missing},
            blank=reading.declared,
        )
        csv_remarks.of_missing(self._paths, self._seen, odd)
        csv_remarks.of_numbers(self._paths, self._forms, self._seen, marks, numbers, learned)
        if reading.target is not None and reading.labels != "numbers":
            csv_remarks.of_labels(self._paths, reading.target, self.looks_missing)

    @property
    def measured(self) -> str | None:
        """What the target holds instead of classes, dates or measurements; None if it may hold classes."""
        seen = self.target
        if seen is None or self._reading.labels is not None or seen.settled:
            return None
        if seen.has_dates:
            return f"dates or times, such as {next(iter(seen.odd))}"
        if seen.fraction and not seen.odd:
            several = len(seen.numbers)
            many = f"more than {several - 1}" if several > 10 else str(several)
            return f"{many} different number{'' if several == 1 else 's'}, such as {seen.fraction}"
        return None

    def batches(self, columns: Sequence[str]) -> Iterator[Rows]:
        """Yield record batches of these columns, those named by `as_written` as the text they are."""
        needed = list(dict.fromkeys(name.removeprefix(AS_WRITTEN) for name in columns))
        self.meter.done = 0
        for number, (path, form) in enumerate(zip(self._paths, self._forms, strict=True)):
            with pa.OSFile(str(path)) as self.meter.file:
                source: Iterable[Batch] = (
                    (Batch(batch, {}) for batch in _batches(path, form, needed, self.meter.file))
                    if self._held is None
                    else self._held[number]
                )
                for batch, numbers in source:
                    arrays = [self._column(batch, name, number, numbers) for name in columns]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            self.meter.done += path.stat().st_size

    def _column(self, batch: Rows, name: str, number: int, numbers: dict[str, Column]) -> Column:
        if name.startswith(AS_WRITTEN):
            return batch.column(name.removeprefix(AS_WRITTEN))
        cells, kind = batch.column(name), self.schema.field(name).type
        if self._reading.is_verbatim(name):
            return cells
        if name == self._reading.target:
            cells = without(cells, self._no_label)
            return self._whole(cells, number) if is_number(kind) else cells
        mark = self._marks[number].get(name, ".")
        if name in numbers and is_number(kind) and mark == ".":
            return numbers[name].cast(kind, safe=False)  # beyond 2^53 a float is the nearest one
        try:
            return convert(cells, kind, mark, self._blank, self.dialect.missing.get(name))
        except UnexpectedCellError as error:
            raise CsvProblem.changed(self._paths[number], name, str(error)) from error

    def _whole(self, cells: Column, number: int) -> Column:
        """Return labels that were said to be numbers as integers."""
        target = self._reading.target or ""
        try:
            found = convert(cells, pa.float64(), self._marks[number].get(target, "."), self._no_label)
        except UnexpectedCellError as error:
            raise CsvProblem.no_whole_number(self._paths[number], target, str(error)) from error
        bad = cells.filter(pc.and_(pc.is_valid(cells), pc.not_equal(pc.floor(found), found)))
        bad = bad if len(bad) else cells.filter(pc.greater(pc.abs(found), 2.0**53))
        if len(bad):
            raise CsvProblem.no_whole_number(self._paths[number], target, bad[0].as_py())
        return found.cast(pa.int64())

    def table(self, columns: Sequence[str]) -> Table:
        """Return these columns of all rows."""
        fields = [
            pa.field(name, pa.string()) if name.startswith(AS_WRITTEN) else self.schema.field(name) for name in columns
        ]
        table: Table = pa.Table.from_batches(list(self.batches(columns)), pa.schema(fields))
        return table

    def mark(self, name: str) -> str:
        """Return the decimal mark by which numbers of a column are written, of the first file."""
        return self._marks[0].get(name) or self.dialect.mark(name) or "."


def _merged(seen: Iterable[Seen]) -> Seen:
    total = Seen()
    for own in seen:
        total = total.merge(own)
    return total


def _batches(
    path: Path, form: Form, columns: Sequence[str] | None = None, file: IO[bytes] | None = None
) -> Iterator[Rows]:
    """Yield record batches of text; a CsvProblem names the line where there is one."""
    try:
        yield from open_text_cells(path, form, columns, file)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise explained(path, form, error) from error
