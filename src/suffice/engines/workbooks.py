"""Read sheets of Excel and OpenDocument workbooks as text cells.

Numbers are written with a decimal point, dates as in ISO 8601, a duration in days as Excel counts them. The names of
columns stand below title lines, if there are any, as in text for people (`header_place`).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from .._files import ending_for
from ..errors import SourceError, quoted
from .arrow import Table
from .csv_problems import CsvProblem

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

ROWS = 64  # that are looked at for the names of columns
NUMBER_LIKE = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
EXACT = 2.0**53
DAY = 86_400.0  # seconds


def read_sheet(path: Path, sheet: str | None) -> tuple[Table, list[str]]:
    """Return a sheet, chosen by its name or number, as a table of text with its column names, and what to remark."""
    book = _open(path)
    try:
        chosen, told = _choose(book, path, sheet)
        rows = [[as_text(cell) for cell in row] for row in chosen.to_python(skip_empty_area=True)]
    except Exception as error:
        if isinstance(error, SourceError):
            raise
        raise CsvProblem.not_as_named(path, "Excel", error) from error
    if not any(any(row) for row in rows):
        others = [name for name in book.sheet_names if name != chosen.name]
        next_ = f"choose another sheet: {quoted(others)}" if others else "write a table into it"
        raise CsvProblem(f"{str(path)!r}: the sheet {chosen.name!r} has no cells. Next: {next_}.")
    place = header_place(rows[:ROWS])
    first = (chosen.start or (0, 0))[0] + 1
    if any(any(row) for row in rows[:place]):
        told.append(above(path, first + place, place))
    return _table(rows[place], [row for row in rows[place + 1 :] if any(row)]), told


def above(path: Path, line: int, lines: int) -> str:
    """Return what is said of title lines."""
    were = "line above was" if lines == 1 else f"{lines} lines above were"
    return f"{path.name}: the names of the columns are taken from line {line}, and the {were} left out."


def _open(path: Path) -> CalamineWorkbook:
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise SourceError(
            f"{str(path)!r} is a workbook, and what reads it is not installed. Next: pip install 'suffice[excel]'."
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


def _choose(book: CalamineWorkbook, path: Path, sheet: str | None) -> tuple[CalamineSheet, list[str]]:
    """Return the sheet asked for, or the first, and a remark that names the others."""
    import python_calamine as calamine

    tables = [own for own in book.sheets_metadata if own.typ == calamine.SheetTypeEnum.WorkSheet]
    names = [own.name for own in tables]
    if not names:
        raise CsvProblem(f"{str(path)!r} has no sheet of cells. Next: check the file.")
    if sheet is not None:
        wanted = sheet if sheet in names else names[int(sheet) - 1] if _is_place(sheet, len(names)) else None
        if wanted is None:
            raise CsvProblem(
                f"{str(path)!r} has no sheet {sheet!r}; it has {quoted(names)}. Next: give one of these names, or a "
                f"number from 1 to {len(names)}."
            )
        return book.get_sheet_by_name(wanted), []
    seen = [own.name for own in tables if own.visible == calamine.SheetVisibleEnum.Visible] or names
    others = [name for name in names if name != seen[0]]
    if not others:
        return book.get_sheet_by_name(seen[0]), []
    told = (
        f"{path.name} has {len(names)} sheets, and {seen[0]!r} was read. For another: --sheet NAME, of {quoted(others)}"
    )
    return book.get_sheet_by_name(seen[0]), [told]


def _is_place(sheet: str, most: int) -> bool:
    return sheet.isascii() and sheet.isdigit() and 1 <= int(sheet) <= most


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
    found: Table = pa.Table.from_arrays(columns, names=names)
    return found


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the row of column names among the first rows of a table; empty cells are empty text.

    Lines above it are blank, or have a cell in no more than half of the columns, such as a title and a date; they end
    earlier than the table, or leave at least two columns without a name, so that no table could begin with them. What
    then follows has to look like names: different texts, none of them a number, and below a number or above a blank
    line, as a column of sentences would lack. Else the first row is taken.
    """
    rows = [_without_end(row) for row in rows[:ROWS]]
    widths = Counter(len(row) for row in rows if any(row))
    width = max(widths, key=lambda w: (widths[w], w), default=0)
    place = next((i for i, row in enumerate(rows) if not _is_title(row, width)), 0)
    above, below = rows[:place], rows[place + 1 :]
    if not any(map(any, above)):
        return place
    blank = not all(map(any, above))
    numbers = any(NUMBER_LIKE.fullmatch(cell) for row in below for cell in row)
    return place if width > 1 and _are_names(rows[place], width) and below and (blank or numbers) else 0


def _without_end(row: Sequence[str]) -> list[str]:
    """Return the cells of a row up to the last that is not empty, without blanks around them."""
    cells = [cell.strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(map(bool, row))
    return not filled or (len(row) < width and filled <= max(width // 2, 1))


def _are_names(row: Sequence[str], width: int) -> bool:
    filled = [cell for cell in row if cell]
    known = len(set(filled)) == len(filled) >= width - 1
    return known and not any(NUMBER_LIKE.fullmatch(cell) for cell in filled)
