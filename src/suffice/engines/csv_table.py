"""The CSV reader: whole or in parts, one file or many, plain or compressed.

So are workbooks and JSON lines, whose cells are made text first (`workbooks`).

Every cell is read as text. A first pass settles, from all cells, what each column holds and how its numbers are
written; what comes out is converted batch by batch, or as it stands for columns that nobody counts with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .._dialect import Dialect
from .._files import MISSING_TOKENS, format_of
from ..errors import quoted
from ..schema import Kind, Schema, repeated_names
from .arrow import AS_WRITTEN, Column, DataType, Field, Rows, Spaces, Table, check_alike, check_names, is_number, trim
from .calendar import added
from .cells import PERCENT, ColumnSniffer, UnexpectedCellError, blanks, convert, without
from .csv_inference import NONE, Dates, decimal_marks, of_labels, of_missing, of_none, of_numbers, of_spaces, of_units
from .csv_text import CsvProblem, Form, check_lines, explained, find_form, open_csv, remark
from .workbooks import key_names, read_sheet, text_batches


@dataclass(frozen=True)
class Reading:
    """What is known of the columns of a CSV before it is read, and what is to be made of them.

    `text` are columns of text, whatever they look like, `numbers` columns known to hold numbers, `moments` those
    known to hold dates, `as_is` says of a
    column that nobody counts with it. Labels are those of `target`: their cells as they stand ("text"), the same unless
    they are measurements or dates (None), or whole numbers ("numbers"). `blank` are further texts that mean a missing
    cell, `learned` is how the file wrote its cells that a model learned from, `sheet` names one of a workbook, and
    `dates` is the notation ("dmy" or "mdy") of dates that do not say which it is. With `trim`, names and texts are read
    without the spaces around them.
    """

    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    as_is: Callable[[str], bool] | None = None
    target: str | None = None
    labels: str | None = None
    blank: tuple[str, ...] = ()
    learned: Dialect | None = None
    sheet: str | None = None
    dates: str | None = None
    trim: bool = True

    @classmethod
    def of(
        cls,
        schema: Schema,
        learned: Dialect | None,
        also: Sequence[str] = (),
        target: str | None = None,
        labels: str | None = None,
        blank: tuple[str, ...] = (),
        sheet: str | None = None,
    ) -> Reading:
        """Return how the columns of a model are read: its text as text, its numbers as numbers, others not at all.

        `also` names columns that are read beside those.
        """
        text = tuple(str(column.name) for column in schema.columns if column.kind.is_label)
        moments = tuple(str(column.name) for column in schema.columns if column.kind is Kind.DATE)
        others = (str(column.name) for column in schema.columns if column.kind.is_number)
        numbers = tuple(name for name in others if name not in moments)
        dated = () if learned is None else learned.dates  # of which a model may know the calendar's columns alone
        used = {
            *text,
            *numbers,
            *moments,
            *also,
            *(name for name in dated if not added(name).keys().isdisjoint(numbers)),
        }
        known = cls(text, numbers, moments, lambda name: name not in used) if schema.named else cls()
        trim = learned is None or learned.trimmed is not False
        told = learned or Dialect()
        return replace(known, target=target, labels=labels, blank=blank, learned=told, sheet=sheet, trim=trim)

    def is_verbatim(self, name: str) -> bool:
        """Return whether a column is copied as it stands."""
        return self.as_is is not None and name != self.target and self.as_is(name)

    @property
    def wanted(self) -> set[str]:
        """The columns that a table must have."""
        return {*self.text, *self.numbers, *self.moments, *(() if self.target is None else (self.target,))}

    @property
    def declared(self) -> tuple[str, ...]:
        """The texts that were said to mean a missing cell, now and when the model learned."""
        known = () if self.learned is None else self.learned.blank
        return tuple(dict.fromkeys((*known, *self.blank)))


class Batch(NamedTuple):
    """Some rows of a file as text, and those columns as numbers that are such as programs write."""

    text: Rows
    numbers: dict[str, Column]


class CsvTable:
    """The table in one or several CSV files of the same columns.

    `schema` holds the types of its columns, `dialect` what a model should know of how they are written, `names` their
    names in order. With `hold`, the text stays in memory and no file is read again.
    """

    def __init__(self, paths: Sequence[Path], reading: Reading, hold: bool = False) -> None:
        self._paths, self._reading = list(paths), reading
        self._spaces = Spaces()
        self._forms = [self._find_form(path) for path in paths]
        self.names = list(self._forms[0].names)
        self._check_names()
        self._blank = blanks(reading.declared)
        self._no_label = pa.array(["", *reading.declared], pa.string())
        self._held: list[list[Batch]] | None = [] if hold else None
        self._looks_missing: Counter[str] = Counter()
        self._said_none: Counter[str] = Counter()  # cells of each column
        self._seen = [self._look(path, form) for path, form in zip(self._paths, self._forms, strict=True)]
        self._settle()
        self._sizes = [path.stat().st_size for path in paths]
        self._done = 0  # bytes of files that are read
        self._file: IO[bytes] | None = None  # the one being read

    def _find_form(self, path: Path) -> Form:
        """Return how a file is written, with the names of its columns as they are to be used."""
        reading = self._reading
        kind, sheet = format_of(path), reading.sheet
        if kind != "Excel" and sheet is not None:
            raise CsvProblem(f"{str(path)!r} is no workbook, and has no sheet {sheet!r}. Next: leave out the sheet.")
        if kind == "Excel":
            cells, told = read_sheet(path, sheet, reading.wanted)
            for text in told:
                remark(text)
            form = Form("utf8", "", tuple(cells.column_names), held=cells)
        elif kind == "JSON lines":
            try:
                form = Form("utf8", "", key_names(path))
            except (pa.ArrowException, OSError, EOFError) as error:
                raise explained(path, None, error) from error
        else:
            form = find_form(path)
        names = self._spaces.trim_names(form.names) if reading.trim else form.names
        return form if names == form.names else replace(form, names=names, stored=form.names)

    def _check_names(self) -> None:
        first = self._forms[0].names
        for path, form in zip(self._paths, self._forms, strict=True):
            repeated = repeated_names(form.names)
            if repeated:
                raise CsvProblem.repeated(path, repeated)
            check_names(repr(str(path)), form.names)
            check_alike(str(self._paths[0]), first, str(path), form.names)

    def _look(self, path: Path, form: Form) -> dict[str, ColumnSniffer]:
        """Return what the cells of a file say of each column that something depends on."""
        reading = self._reading
        fixed = {*reading.text} - {reading.target}
        seen = {name: ColumnSniffer() for name in form.names if name not in fixed and not reading.is_verbatim(name)}
        looks = pa.array([token for token in MISSING_TOKENS if token and token not in reading.declared], pa.string())
        held: list[Batch] = []
        last = None
        for raw in _batches(path, form):
            batch = raw
            if reading.trim:  # but for columns that nothing depends on
                columns = [
                    raw.column(name) if reading.is_verbatim(name) else self._spaces.trim(raw.column(name), name)
                    for name in self.names
                ]
                batch = pa.RecordBatch.from_arrays(columns, names=self.names)
            numbers = {name: own.add(batch.column(name), self._blank) for name, own in seen.items()}
            for name in seen if reading.learned is None and NONE not in reading.declared else ():
                self._said_none[name] += pc.sum(pc.equal(batch.column(name), NONE)).as_py() or 0
            if reading.target in seen:
                cells = batch.column(reading.target)
                self._looks_missing.update(cells.filter(pc.is_in(cells, value_set=looks)).to_pylist())
            if self._held is not None:
                held.append(Batch(raw, {name: found for name, found in numbers.items() if found is not None}))
            last = raw if raw.num_rows else last
        end = [] if last is None or not form.separator else last.slice(last.num_rows - 1).to_pylist()
        if any("\n" in cell for row in end for cell in row.values()):
            check_lines(path, form)  # a quote left open swallows the rest of a file
        if self._held is not None:
            self._held.append(held)
        return seen

    def _settle(self) -> None:
        """Decide what every column holds and the decimal mark of its numbers in every file; remark what was guessed."""
        reading, learned, paths, seen = self._reading, self._reading.learned or Dialect(), self._paths, self._seen
        names = [name for name in self.names if name in seen[0]]
        self._total = total = {name: reduce(ColumnSniffer.merge, (own[name] for own in seen)) for name in names}
        marks = decimal_marks(paths, self._forms, seen, total, reading.target, learned)
        self._marks = marks.found
        kinds, known = dict.fromkeys(self.names, pa.string()), set(reading.numbers)
        for name in names:
            kinds[name] = total[name].kind(name in known, learned.missing.get(name), name in marks.mixed)
        features = {name: own for name, own in total.items() if name != reading.target}
        self.dates = Dates(paths[0], self.names, seen, features, reading.numbers, reading.learned, reading.dates)
        kinds |= self.dates.kinds
        self.target = total.get(reading.target) if reading.target is not None else None
        if reading.target in kinds:
            kinds[reading.target] = pa.int64() if reading.labels == "numbers" else pa.string()
        self.schema = pa.schema(self._fields(kinds))
        dated = self.dates.notations
        numbers = dict.fromkeys(name for name in features if is_number(kinds[name]) and name not in dated)
        odd = {name: next(iter(total[name].odd)) for name in numbers if total[name].odd}
        self.dialect = Dialect(
            decimal=learned.decimal or marks.of_table,
            decimals=learned.decimals | {name: mark for name, mark in marks.to_learn.items() if name in numbers},
            missing={**odd, **learned.missing},
            blank=reading.declared,
            trimmed=reading.trim,
            dates=learned.dates | dated,
            units=learned.units | {name: own for name in sorted(numbers) if (own := total[name].unit)},
        )
        self._check_units()
        for name in [name for name in self._spaces.cells if not pa.types.is_string(kinds[name])]:
            del self._spaces.cells[name]
        of_spaces(paths, self._spaces, reading.learned is None)
        of_missing(paths, seen, odd)
        of_none(paths, {name: self._said_none[name] for name in features if pa.types.is_string(kinds[name])})
        of_numbers(paths, seen, marks, numbers, learned)
        of_units(paths, features, numbers, self.mark, reading.learned)
        if reading.target is not None and reading.labels != "numbers":
            of_labels(paths, reading.target, self._looks_missing)

    def _fields(self, kinds: dict[str, DataType]) -> Iterator[Field]:
        """Yield the fields of the table: its columns, and behind each what the calendar adds."""
        for name in self.names:
            yield pa.field(name, kinds[name])
            yield from (
                pa.field(own, self.dates.kind(own)) for own, (base, _) in self.dates.parts.items() if base == name
            )

    def _stored(self, name: str) -> str:
        """Return the column of the files that a column comes from."""
        name = name.removeprefix(AS_WRITTEN)
        return self.dates.parts[name][0] if name in self.dates.parts else name

    def _check_units(self) -> None:
        """Refuse numbers of another unit than those that the model learned from."""
        self._shares = set[str]()
        if self._reading.learned is None:
            return
        for name in self._reading.numbers:
            seen = self._total.get(name)
            if seen is None or seen.settled or name in self.dates.notations:
                continue
            before, own = self._reading.learned.units.get(name, ""), seen.unit
            if own != before and seen.units and (own is None or own == PERCENT or (before and own)):
                was = {"": "numbers without a unit", PERCENT: "percentages"}.get(before, f"amounts in {before}")
                raise CsvProblem(
                    f"{str(self._paths[0])!r}, column {name!r} holds {quoted(list(seen.units.values()))}, and the "
                    f"table that the model learned from {was}. Next: write its numbers as in that table."
                )
            if before == PERCENT and own == "":  # such as a program writes them
                self._shares.add(name)

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
        needed = list(dict.fromkeys(map(self._stored, columns)))
        self._done = 0
        for number, (path, form) in enumerate(zip(self._paths, self._forms, strict=True)):
            with pa.OSFile(str(path)) as self._file:
                source: Iterable[Batch] = (
                    (Batch(batch, {}) for batch in _batches(path, form, needed, self._file))
                    if self._held is None
                    else self._held[number]
                )
                for batch in source:
                    arrays = [self._column(batch, name, number) for name in columns]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            self._done += self._sizes[number]

    def share(self) -> float:
        """Return the share of the bytes that `batches` has read, which is some blocks ahead of the rows."""
        here = 0 if self._file is None or self._file.closed else int(self._file.tell())
        return min((self._done + here) / max(sum(self._sizes), 1), 1.0)

    def _column(self, batch: Batch, name: str, number: int) -> Column:
        if name.startswith(AS_WRITTEN):
            name = name.removeprefix(AS_WRITTEN)
            return self._column(batch, name, number).cast(pa.string()) if name in self.dates.parts else batch.text[name]
        if name in self.dates.parts:
            return self.dates.part(self._column(batch, self._stored(name), number), name)
        kind, cells = self.schema.field(name).type, batch.text[name]
        if self._reading.is_verbatim(name):
            return cells
        cells = trim(cells) if self._reading.trim else cells
        if name == self._reading.target:
            cells = without(cells, self._no_label)
            return self._whole(cells, number) if is_number(kind) else cells
        mark = self._marks[number].get(name, ".")
        if name in batch.numbers and is_number(kind) and mark == "." and name not in self._shares:
            return batch.numbers[name].cast(kind, safe=False)  # beyond 2^53 a float is the nearest one
        try:
            if name in self.dates.notations:
                return self.dates.read(cells, name, self._blank)
            found = convert(cells, kind, mark, self._blank, self.dialect.missing.get(name))
        except UnexpectedCellError as error:
            raise CsvProblem(
                f"{str(self._paths[number])!r}, column {name!r}: the cell {str(error)!r} was not there when the file "
                "was first read: it changes while it is read. Next: wait until it is written, and try again."
            ) from error
        if name in self._shares:  # numbers that stand for percentages
            large = found.filter(pc.fill_null(pc.greater(pc.abs(found), 1), False))
            if len(large):
                cell = f"{large[0].as_py():g}"
                raise CsvProblem(
                    f"{str(self._paths[number])!r}, column {name!r}: {cell} has no percent sign, and the table that "
                    f"the model learned from percentages: it could be {cell}% or {cell} times the whole. Next: write "
                    "the sign, or shares such as 0.35."
                )
        return found

    def _whole(self, cells: Column, number: int) -> Column:
        """Return labels that were said to be numbers as integers."""
        target = self._reading.target or ""
        try:
            found = convert(cells, pa.float64(), self._marks[number].get(target, "."), self._no_label)
            odd = pc.or_(pc.not_equal(pc.floor(found), found), pc.greater(pc.abs(found), 2.0**53))
            odd = cells.filter(pc.and_(pc.is_valid(cells), odd))
            if len(odd):
                raise UnexpectedCellError(odd[0].as_py())
        except UnexpectedCellError as error:
            raise CsvProblem(
                f"{str(self._paths[number])!r}, column {target!r}: {str(error)!r} is no whole number, and labels were "
                "said to be numbers. Next: take labels as text, or correct the cell."
            ) from error
        return found.cast(pa.int64())

    def table(self, columns: Sequence[str]) -> Table:
        """Return these columns of all rows."""
        fields = [
            pa.field(name, pa.string()) if name.startswith(AS_WRITTEN) else self.schema.field(name) for name in columns
        ]
        return pa.Table.from_batches(list(self.batches(columns)), pa.schema(fields))

    def mark(self, name: str) -> str:
        """Return the decimal mark by which numbers of a column are written, of the first file."""
        return self._marks[0].get(name) or self.dialect.mark(name) or "."

    def is_percent(self, name: str) -> bool:
        """Return whether the numbers of a column are written as percentages."""
        return self._total[name].unit == PERCENT if name in self._total else False


def _batches(
    path: Path, form: Form, columns: Sequence[str] | None = None, file: IO[bytes] | None = None
) -> Iterator[Rows]:
    """Yield record batches of text; a CsvProblem names the line where there is one."""
    names = list(form.names if columns is None or form.below else columns)  # all of them tell lines below the table
    known = dict(zip(form.names, form.stored or form.names, strict=True))
    stored = [known[name] for name in names]
    try:
        if form.held is not None:
            batches = form.held.select(stored).to_batches()
        else:
            batches = open_csv(path, form, stored, file) if form.separator else text_batches(path, stored, file)
        for batch in batches:
            found = pa.RecordBatch.from_arrays(batch.columns, names=names)
            yield _without_footer(found, form.below).select(names if columns is None else list(columns))
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise explained(path, form, error) from error


def _without_footer(batch: Rows, below: Sequence[str]) -> Rows:
    """Return the rows but for those that stand below the table: one of these texts in the first cell, and no other."""
    if not below:
        return batch
    first, *others = batch.columns
    lone = pc.is_in(pc.utf8_trim_whitespace(first), value_set=pa.array(below))
    for cells in others:
        lone = pc.and_(lone, pc.equal(pc.utf8_trim_whitespace(cells), ""))
    return batch.filter(pc.invert(lone))
