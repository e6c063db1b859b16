"""Read sheets of workbooks (Excel, OpenDocument) and JSON lines as text cells.

Of workbooks numbers are written with a decimal point, dates as in ISO 8601, a duration in days as Excel counts them.
The names of columns stand below title lines, if there are any, as in text for people (`header_place`). Of JSON lines a
key is a column, null and a key that is not there are empty cells, and numbers are text as they are written.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import pyarrow as pa

from .._files import COMPRESSED, ending_for
from ..errors import SourceError, pip_install, quoted
from .arrow import Rows, Table
from .csv_text import ROWS, CsvProblem, above, footer, header_place

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

EXACT = 2.0**53
DAY = 86_400.0  # seconds
BATCH = 1 << 14  # lines


class _Sheet(NamedTuple):
    """The cells of a sheet as text: its name, the number of its first row, its rows, and which has the names."""

    name: str
    first: int
    rows: list[list[str]]
    place: int

    @property
    def is_table(self) -> bool:
        """Whether there are rows below names of several columns, none of them twice."""
        names = [cell.strip() for cell in self.rows[self.place]] if self.rows else []
        filled = [name for name in names if name]
        below = [row for row in self.rows[self.place + 1 :] if sum(map(bool, row)) > 1]
        return len(filled) > 1 and len(filled) == len(set(filled)) and 2 * len(filled) > len(names) and bool(below)


def read_sheet(path: Path, sheet: str | None, wanted: Collection[str] = ()) -> tuple[Table, list[str]]:
    """Return a sheet as a table of text with its column names, and what to remark.

    It is the one of this name or number; else the first that is a table and has the columns `wanted`, else the first
    that is a table, else the first.
    """
    book = _open(path)
    try:
        chosen, told = _choose(book, path, sheet, wanted)
    except SourceError:
        raise
    except Exception as error:
        raise CsvProblem.not_as_named(path, "Excel", error) from error
    rows, place = chosen.rows, chosen.place
    if not any(any(row) for row in rows):
        others = [name for name in book.sheet_names if name != chosen.name]
        next_ = f"choose another sheet: {quoted(others)}" if others else "write a table into it"
        raise CsvProblem(f"{str(path)!r}: the sheet {chosen.name!r} has no cells. Next: {next_}.")
    if any(any(row) for row in rows[:place]):
        told.append(above(path, chosen.first + place, place))
    below = footer(path, rows[place + 1 :], len(rows[place]))
    filled = [row for row in rows[place + 1 :] if any(row)]
    return _table(rows[place], filled[: len(filled) - len(below)]), told


def _read(book: CalamineWorkbook, name: str) -> _Sheet:
    sheet = book.get_sheet_by_name(name)
    rows = [[as_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    return _Sheet(name, (sheet.start or (0, 0))[0] + 1, rows, header_place(rows[:ROWS]))


def _open(path: Path) -> CalamineWorkbook:
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise SourceError(
            f"{str(path)!r} is a workbook, and what reads it is not installed. Next: {pip_install('excel')}."
        ) from None
    try:
        return python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError:
        raise CsvProblem(f"{str(path)!r} is protected by a password. Next: save it without one, or as a CSV.") from None
    except (python_calamine.CalamineError, OSError) as error:
        with path.open("rb") as file:
            suits = ending_for(file.read(1 << 12))
        if suits not in (".xlsx", ".xls"):  # many programs write text and call it .xls
            raise CsvProblem.other_kind(path, suits) from error
        raise CsvProblem.not_as_named(path, "Excel", error) from error


def _choose(book: CalamineWorkbook, path: Path, sheet: str | None, wanted: Collection[str]) -> tuple[_Sheet, list[str]]:
    """Return the sheet asked for, or that is to be read, and a remark that names the others."""
    import python_calamine as calamine

    tables = [own for own in book.sheets_metadata if own.typ == calamine.SheetTypeEnum.WorkSheet]
    names = [own.name for own in tables]
    if not names:
        raise CsvProblem(f"{str(path)!r} has no sheet of cells. Next: check the file.")
    if sheet is not None:
        is_place = sheet.isascii() and sheet.isdigit() and 1 <= int(sheet) <= len(names)
        name = sheet if sheet in names else names[int(sheet) - 1] if is_place else None
        if name is None:
            raise CsvProblem(
                f"{str(path)!r} has no sheet {sheet!r}; it has {quoted(names)}. Next: give one of these names, or a "
                f"number from 1 to {len(names)}."
            )
        return _read(book, name), []
    seen = [own.name for own in tables if own.visible == calamine.SheetVisibleEnum.Visible] or names
    if len(names) == 1:
        return _read(book, seen[0]), []
    sheets, suited = list[_Sheet](), None
    for name in seen:
        sheets.append(_read(book, name))
        if sheets[-1].is_table and {*wanted} <= {cell.strip() for cell in sheets[-1].rows[sheets[-1].place]}:
            suited = sheets[-1]
            break
    chosen = suited or next((own for own in sheets if own.is_table), sheets[0])
    others = quoted([name for name in names if name != chosen.name])
    why = ""
    if chosen is not sheets[0]:
        lacks = (
            f"no column {quoted(sorted({*wanted} - {*sheets[0].rows[sheets[0].place]}))}"
            if sheets[0].is_table
            else "no table"
        )
        why = f", as {sheets[0].name!r} holds {lacks}"
    told = f"{path.name} has {len(names)} sheets, and {chosen.name!r} was read{why}."
    return chosen, [f"{told} For another: --sheet NAME, of {others}"]


def as_text(cell: object) -> str:
    """Return a cell as text that is read as what it is."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return _number(cell)
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, dt.timedelta):
        return _number(cell.total_seconds() / DAY)
    return str(cell)


def _number(value: float) -> str:
    if isinstance(value, int) or (value == math.floor(value) and abs(value) < EXACT):
        return str(int(value))
    text = repr(value)
    # 9.125 in a column of text with decimal commas would be nine thousand.
    return f"{text}0" if len(text.rpartition(".")[2]) == 3 else text


def _table(header: Sequence[str], rows: list[list[str]]) -> Table:
    """Return rows under their names, without the columns that have neither a name nor a cell."""
    names, columns = [], []
    for j, name in enumerate(header):
        cells = [row[j] for row in rows]
        if name.strip() or any(cells):
            names.append(name)
            columns.append(pa.array(cells, pa.string()))
    return pa.Table.from_arrays(columns, names=names)


def key_names(path: Path) -> tuple[str, ...]:
    """Return the keys of all objects in a file, in the order in which they first come."""
    names: dict[str, None] = {}
    for _, found in _objects(path, None):
        if not found.keys() <= names.keys():
            names.update(dict.fromkeys(found))
    if not names:
        raise CsvProblem.not_as_named(path, "JSON lines", "it holds no object with a key")
    return tuple(names)


def text_batches(path: Path, names: Sequence[str], file: IO[bytes] | None = None) -> Iterator[Rows]:
    """Yield record batches of the cells of these keys as text, empty where there is nothing."""
    rows: list[list[str]] = []
    for line, found in _objects(path, file):
        cells = [found.get(name) for name in names]
        for name, cell in zip(names, cells, strict=True):
            if isinstance(cell, dict | list):
                what = "an object" if isinstance(cell, dict) else "a list"
                raise CsvProblem(
                    f"{str(path)!r}, line {line}: {name!r} holds {what}, and a cell of a table holds one value. "
                    "Next: write its parts under names of their own."
                )
        rows.append(["" if cell is None else as_text(cell) for cell in cells])
        if len(rows) == BATCH:
            yield _batch(rows, names)
            rows = []
    yield _batch(rows, names)


def _batch(rows: list[list[str]], names: Sequence[str]) -> Rows:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.RecordBatch.from_arrays([pa.array(cells, pa.string()) for cells in columns], names=list(names))


def _objects(path: Path, file: IO[bytes] | None) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file and the lines they stand in."""
    number = 0
    try:
        # Opened by its name, pyarrow reads a compressed file as what it holds.
        source = pa.input_stream(str(path)) if file is None or path.suffix.lower() in COMPRESSED else file
        for number, line in enumerate(io.TextIOWrapper(source, encoding="utf-8-sig"), start=1):
            if line.strip():
                yield number, _object(line, number, path)
    except UnicodeDecodeError as error:
        raise CsvProblem.encoding(path, f"after line {number}") from error


def _object(line: str, number: int, path: Path) -> dict[str, object]:
    try:
        found = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        what = "line {}: {}".format(number, getattr(error, "msg", None) or error)
        if number == 1 and line.lstrip().startswith("["):
            what += "; an array has to be written one object a line, for example by jq -c '.[]'"
        raise CsvProblem.not_as_named(path, "JSON lines", what) from error
    if not isinstance(found, dict):
        raise CsvProblem.not_as_named(path, "JSON lines", f'line {number} is no object such as {{"key": 1}}')
    return found
