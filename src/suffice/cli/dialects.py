"""What CSV files do not say of themselves: their encoding, their separator, and how their numbers are written.

What had to be guessed is remarked.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import quoted
from .problems import FileProblem, Remark, count

READ_CHUNK = 1 << 20  # bytes
DECIMALS = r"[.,]\d"
FEWEST_NUMBERS = 10  # different ones, in a column whose single other text then means a missing cell


class Notation(NamedTuple):
    """A way to write numbers: what every number matches, the mark between thousands and that of decimals."""

    pattern: str
    thousands: str
    decimal: str


PLAIN = Notation(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$", "", ".")
COMMAS = Notation(r"^\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?\s*$", ".", ",")  # 1.234,5
GROUPED = Notation(r"^\s*[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][+-]?\d+)?\s*$", ",", ".")  # 1,234.5


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a possibly compressed file as text, marking bytes that do not decode."""
    import pyarrow as pa

    encoding = "utf-8-sig" if encoding == "utf8" else encoding
    return io.TextIOWrapper(pa.input_stream(str(path)), encoding=encoding, errors="replace", newline="")


def find_encoding(path: Path) -> str:
    """Return how the text of a CSV is encoded: UTF-8, or what Windows programs write, which is remarked."""
    import pyarrow as pa

    with pa.input_stream(str(path)) as file:
        mark = file.read(2)
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if not _decodes(path, "utf-16", nul=True):
            raise FileProblem.encoding(path, "it begins with the mark of UTF-16, and is not that either")
        _remark(f"{path.name} is UTF-16 text, and was read as that.")
        return "utf-16"
    if _decodes(path, "utf8") or not _decodes(path, "cp1252"):
        return "utf8"
    _remark(
        f"{path.name} is not UTF-8, and was read as Windows-1252 (Latin-1); if letters look wrong, save it as UTF-8."
    )
    return "cp1252"


def _decodes(path: Path, encoding: str, nul: bool = False) -> bool:
    """Say whether every byte of a file is text in this encoding; binary files hold NUL bytes, which text does not.

    `nul` says that bytes of 0 are part of the encoding.
    """
    import pyarrow as pa

    decoder = codecs.getincrementaldecoder(encoding)()
    with pa.input_stream(str(path)) as file:
        try:
            while block := file.read(READ_CHUNK):
                decoder.decode(block)
                if b"\0" in block and not nul:
                    return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _remark(text: str) -> None:
    """Warn of how a file was read; the command line prints it as a note, unless quiet."""
    warnings.warn(text, Remark, stacklevel=2)


def find_separator(path: Path, encoding: str) -> str:
    """Return the separator of a CSV: tab for .tsv, else the mark that parts both first lines into the most cells."""
    with open_text(path, encoding) as file:
        names, row = file.readline(), file.readline()
    if "\0" in names:
        raise FileProblem.encoding(path, "it holds NUL bytes, as UTF-16 and binary files do")
    if not names.strip():
        raise FileProblem.unreadable(path, "CSV", "the first line is blank, and should hold the column names")
    if ".tsv" in (path.suffix.lower(), path.with_suffix("").suffix.lower()):
        return "\t"
    csv.field_size_limit(sys.maxsize)
    parted = {mark: [len(cells) for cells in csv.reader([names, row], delimiter=mark)] for mark in ",;\t|"}
    even = [mark for mark, cells in parted.items() if cells[0] > 1 and len(set(cells)) == 1]
    if not row or not even:  # a table without rows, or a line that is wrong: the names alone decide
        even = [mark for mark, cells in parted.items() if cells[0] > 1]
    return max(even, key=lambda mark: parted[mark][0], default=",")


def read_numbers(table: Any, path: Path, separator: str, as_is: Sequence[str], numbers: Sequence[str]) -> Any:
    """Return the table with columns of text that is numbers as numbers.

    Numbers may have decimal commas where commas do not separate cells, marks between thousands, and one text without
    digits, such as "-" or "k.A.", for a missing cell; in the columns `numbers` even where few cells are numbers.
    """
    import pyarrow as pa

    notations = (PLAIN, GROUPED) if separator == "," else (PLAIN, COMMAS)
    changed: list[str] = []
    for place, field in enumerate(table.schema):
        if not pa.types.is_string(field.type) or field.name in as_is:
            continue
        tried = (
            (notation, _read_column(table.column(place), notation, field.name in numbers)) for notation in notations
        )
        found = [(notation, *read) for notation, read in tried if read is not None]
        if found:
            notation, column, odd = min(found, key=lambda each: bool(each[2]))
            table = table.set_column(place, field.name, column)
            if odd:
                _remark(f"{path.name}: {odd} in column {field.name!r}, which holds numbers, was read as missing.")
            if notation is not PLAIN:
                changed.append(field.name)
    if changed:
        what = "thousands separators" if separator == "," else "decimal points"
        _remark(f"{path.name}: commas in {quoted(changed)} were read as {what}.")
    return table


def _read_column(column: Any, notation: Notation, known: bool) -> tuple[Any, str] | None:
    """Return a column of text as numbers, and the text that means missing with how often it comes; None if neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return None
    fits = pc.fill_null(pc.match_substring_regex(column, notation.pattern), True)
    other = column.filter(pc.invert(fits))
    odd = other.unique().to_pylist()
    column = pc.if_else(fits, column, pa.scalar(None, pa.string()))
    known = known and (column.null_count < len(column) or not (odd and odd[0].isalpha()))  # words alone are no numbers
    if len(odd) > 1 or (odd and (any(map(str.isdigit, odd[0])) or not (known or _are_measured(column)))):
        return None
    if notation.thousands:
        column = pc.replace_substring(column, notation.thousands, "")
    numbers = pc.replace_substring(pc.utf8_trim_whitespace(column), notation.decimal, ".").cast(pa.float64())
    return numbers, f"{odd[0]!r} ({count(len(other), 'cell')})" if odd else ""


def _are_measured(column: Any) -> bool:
    """Say whether texts that are numbers look like measurements, not like codes of a few categories."""
    import pyarrow.compute as pc

    return len(column.unique()) > FEWEST_NUMBERS or pc.any(pc.match_substring_regex(column, DECIMALS)).as_py()
