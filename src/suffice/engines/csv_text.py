"""Infer the encoding, separator and header of a CSV file, read its cells as text, and say what is wrong with it.

What had to be guessed is remarked.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.csv as arrow_csv

from .._dialect import Remark
from .._files import COMPRESSED, ending_for
from ..errors import SourceError, quoted, sentence
from .arrow import Table

READ_CHUNK = 1 << 20  # bytes
SAMPLE = 1 << 16  # characters of a file that say how its cells are separated
BLOCK = 1 << 24  # bytes of a CSV read at a time
ROWS = 64  # that are looked at for the names of columns
NUMBER_LIKE = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
TAIL = 1 << 12  # bytes at the end of a file, in which lines below the table are looked for
FOOTER = re.compile(r"\s*(?:[*†‡©]|[^\W\d][^:]{0,30}:\s)")  # such as "Source: …"
DECLARED = re.compile(r"sep=([,;\t|])\r?\n")  # the first line of what Excel writes for another country


class CsvProblem(SourceError):
    """A CSV file cannot be read, or says two things at once."""

    @classmethod
    def encoding(cls, path: object, where: str) -> CsvProblem:
        """Return the refusal of bytes that are no text."""
        return cls(
            f"{str(path)!r} is not UTF-8 text ({where}). Next: save it as UTF-8, for example with "
            "iconv -f latin1 -t utf-8."
        )

    @classmethod
    def other_kind(cls, path: object, ending: str) -> CsvProblem:
        """Return the refusal of a file whose name should end otherwise."""
        return cls(
            f"{str(path)!r} is no file of the kind that its name says: by its first bytes its name should end in "
            f"{ending}. Next: rename it."
        )


@dataclass(frozen=True)
class Form:
    """How the text of a CSV file is encoded, what separates its cells, and the names of its columns.

    `above` is how many lines stand above these, `below` are the texts that stand below the table, such as a source;
    `held` the cells of a workbook, which is read at once. `stored` are the
    names as the file has them, with spaces around them; empty if they are the same.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    above: int = 0
    below: tuple[str, ...] = ()
    held: Table | None = field(default=None, repr=False, compare=False)
    stored: tuple[str, ...] = ()


def remark(text: str) -> None:
    """Warn of how a file was read; the command line prints it as a note, unless quiet."""
    warnings.warn(text, Remark, stacklevel=2)


def find_form(path: Path) -> Form:
    """Return how a CSV file is written; a CsvProblem says what it is not."""
    form = None
    try:
        encoding = _find_encoding(path)
        form = _find_separator(path, encoding or "utf8")
        if encoding is None:
            if any("\ufffd" in name for name in form.names):
                raise CsvProblem.encoding(path, "in the line of column names")
            for _ in open_csv(path, form):  # of which a column is named that is no text
                pass
        form = replace(form, below=_find_footer(path, form))
        # Arrow's own names, for it reads the rest: they differ where a quote stands in an odd place.
        if sum(map(len, form.names)) < BLOCK >> 8:
            with contextlib.suppress(pa.ArrowInvalid):  # a row that is longer than so small a block
                return replace(form, names=tuple(open_csv(path, form, block=BLOCK >> 5).schema.names))
        return replace(form, names=tuple(open_csv(path, form).schema.names))
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise explained(path, form, error) from error


def _find_encoding(path: Path) -> str | None:
    """Return how the text is encoded, UTF-8, UTF-16 or what Windows programs write; None if it is no text of these."""
    with pa.input_stream(str(path)) as file:
        mark = file.read(2)
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if not _decodes(path, "utf-16"):
            raise CsvProblem.encoding(path, "it begins with the mark of UTF-16, and is not that either")
        remark(f"{path.name} is UTF-16 text, and was read as that.")
        return "utf-16"
    if _decodes(path, "utf8"):
        return "utf8"
    if not _decodes(path, "cp1252"):
        return None
    remark(
        f"{path.name} is not UTF-8, and was read as Windows-1252 (Latin-1); if letters look wrong, save it as UTF-8."
    )
    return "cp1252"


def _decodes(path: Path, encoding: str) -> bool:
    """Say whether every byte of a file is text in this encoding; binary files hold NUL bytes, which text does not."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with pa.input_stream(str(path)) as file:
        try:
            while block := file.read(READ_CHUNK):
                decoder.decode(block)
                if b"\0" in block and encoding != "utf-16":
                    return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _find_separator(path: Path, encoding: str) -> Form:
    """Return the form of a CSV: its separator, its names, and how many lines stand above them.

    The separator is tab for .tsv, else the one that the file declares as Excel does (sep=;), else the mark that parts
    most lines alike and into most cells. Title lines are looked for where no mark parts the first line as it parts the
    others.
    """
    with open_text(path, encoding) as file:
        first = file.readline()
        sample = first + file.read(SAMPLE)
        whole = not file.read(1)
    if "\0" in first:
        with pa.input_stream(str(path)) as start:
            suits = ending_for(start.read(8))
        if suits in (".xlsx", ".xls", ".parquet", ".arrow"):
            raise CsvProblem.other_kind(path, suits)
        raise CsvProblem.encoding(path, "it holds NUL bytes, as UTF-16 and binary files do")
    csv.field_size_limit(sys.maxsize)
    declared = DECLARED.match(sample)
    if declared:
        mark = declared[1]
        return Form(encoding, mark, tuple(_records(sample[declared.end() :], mark, whole)[0].cells), 1)
    tabs = {".tsv", ".tab"} & {path.suffix.lower(), path.with_suffix("").suffix.lower()}
    marks = "\t" if tabs else ",;\t|"
    parted = {mark: _records(sample, mark, whole) for mark in marks}
    best = max(marks, key=lambda mark: _evenness(parted[mark]))
    if not _evenness(parted[best])[0] or parted[best][0].cells.count("") > 1:
        below = {mark: own[header_place([record.cells for record in own]) :] for mark, own in parted.items()}
        titled = max(marks, key=lambda mark: _evenness(below[mark]))
        if len(below[titled]) < len(parted[titled]):
            record = below[titled][0]
            if sample.splitlines()[: record.line - 1] != [""] * (record.line - 1):
                remark(above(path, record.line, record.line - 1))
            return Form(encoding, titled, tuple(record.cells), record.line - 1)
    if not first.strip():
        raise CsvProblem.not_as_named(path, "CSV", "the first line is blank, and should hold the column names")
    mark = best if len(parted[best][0].cells) > 1 else marks[0]
    return Form(encoding, mark, tuple(parted[mark][0].cells))


class Record(NamedTuple):
    """The cells of a row, and the line in which it begins."""

    cells: list[str]
    line: int


def _records(sample: str, mark: str, whole: bool) -> list[Record]:
    """Return the first records of a text parted by a mark; the last one only if the text is whole."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=mark)
    rows: list[Record] = []
    try:
        start = 1
        for cells in itertools.islice(reader, ROWS):
            rows.append(Record(cells, start))
            start = reader.line_num + 1
    except csv.Error:
        rows = [Record(sample.split(mark), 1)]
    return rows if whole or len(rows) < 3 else rows[:-1]


def _evenness(rows: list[Record]) -> tuple[float, int]:
    width, others = len(rows[0].cells), [row for row in rows[1:] if row.cells]
    if width < 2:
        return 0.0, 0
    same = sum(len(row.cells) == width for row in others) / len(others) if others else 1.0
    return same, width


def above(path: Path, line: int, lines: int) -> str:
    """Return what is said of title lines."""
    were = "line above was" if lines == 1 else f"{lines} lines above were"
    return f"{path.name}: the names of the columns are taken from line {line}, and the {were} left out."


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


def _find_footer(path: Path, form: Form) -> tuple[str, ...]:
    """Return the texts of lines below the table, of a file that is neither compressed nor UTF-16, and remark them."""
    if path.suffix.lower() in COMPRESSED or form.encoding == "utf-16":
        return ()
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL, 0))
        lines = file.read().decode(form.encoding, errors="replace").splitlines()
    # The first line may have lost its beginning, and where a quote is left open, the line is part of a cell.
    parted = [
        ["", line] if line.count('"') % 2 else next(csv.reader([line], delimiter=form.separator), []) for line in lines
    ]
    return footer(path, parted[1:], len(form.names))


def footer(path: Path, rows: Sequence[Sequence[str]], width: int) -> tuple[str, ...]:
    """Return the texts in the last rows of a file that stand below its table, and remark them.

    Such a row has a text in its first cell and no other. The first of them begins as a source or a footnote does, or
    stands below a blank row.
    """
    last = len(rows)
    while last and (not any(rows[last - 1]) or _is_lone(rows[last - 1], width)):
        last -= 1
    below = rows[last:]
    start = next((i for i, row in enumerate(below) if not any(row) or FOOTER.match(row[0])), len(below))
    found = tuple(row[0].strip() for row in below[start:] if any(row))
    if not found or not last:
        return ()
    were = "a line below the table was" if len(found) == 1 else f"{len(found)} lines below the table were"
    remark(f"{path.name}: {were} left out: {quoted(found, 3)}.")
    return found


def _is_lone(row: Sequence[str], width: int) -> bool:
    """Return whether a row is one text in its first cell; in a table of two columns only if it has no second cell."""
    first, others = row[0], row[1:]
    return (len(row) < width or width > 2) and not any(others) and re.search(r"[^\W\d]", first) is not None


def open_csv(
    path: Path,
    form: Form,
    columns: Sequence[str] | None = None,
    file: IO[bytes] | None = None,
    block: int | None = None,
) -> arrow_csv.CSVStreamingReader:
    """Return the cells of a CSV file as text, batch by batch, empty cells as empty text; `columns` as it names them."""
    if file is not None and path.suffix.lower() in COMPRESSED:
        file = pa.CompressedInputStream(file, pa.Codec.detect(str(path)).name)

    def skip(row: arrow_csv.InvalidRow) -> str:
        return "skip" if row.text.strip() in form.below else "error"

    return arrow_csv.open_csv(
        str(path) if file is None else file,
        read_options=arrow_csv.ReadOptions(block_size=block or BLOCK, encoding=form.encoding, skip_rows=form.above),
        # Without newlines_in_values a quoted line break at the edge of a block would tear a row in two.
        parse_options=arrow_csv.ParseOptions(
            delimiter=form.separator, newlines_in_values=True, invalid_row_handler=skip
        ),
        convert_options=arrow_csv.ConvertOptions(
            null_values=[],
            strings_can_be_null=False,
            column_types=dict.fromkeys(form.stored or form.names, pa.string()),
            include_columns=columns,
        ),
    )


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a possibly compressed file as text, marking bytes that do not decode."""
    encoding = "utf-8-sig" if encoding == "utf8" else encoding
    return io.TextIOWrapper(pa.input_stream(str(path)), encoding=encoding, errors="replace", newline="")


def explained(path: Path, form: Form | None, error: Exception) -> SourceError:
    """Return what is wrong with a file that could not be read, in words of its lines and columns."""
    if isinstance(error, SourceError):
        return error
    if path.suffix.lower() in COMPRESSED and isinstance(error, OSError | EOFError):
        return CsvProblem(
            f"{str(path)!r} is damaged or cut off, or not compressed as its name says: {sentence(error)}. Next: copy "
            "it again, or decompress it to see how far it is good."
        )
    column = re.search(r"In CSV column #(\d+):.*invalid UTF8", str(error))
    if column and form is not None:
        return CsvProblem.encoding(path, f"in column {form.names[int(column[1])]!r}")
    if form is not None and isinstance(error, pa.ArrowInvalid | pa.ArrowKeyError):
        try:
            check_lines(path, form)
        except SourceError as found:
            return found
    return CsvProblem.not_as_named(path, "CSV", error)


def check_lines(path: Path, form: Form) -> None:
    """Raise CsvProblem for the first line with too many or too few cells, or for a quote never closed.

    Only called when something is wrong: Arrow reads fast and in blocks, and does not know line numbers.
    """
    csv.field_size_limit(sys.maxsize)
    with open_text(path, form.encoding) as file:
        for _ in range(form.above):
            file.readline()
        rows = csv.reader(file, delimiter=form.separator, strict=True)
        start = form.above + 1
        expected = 0
        try:
            for row in rows:
                expected = expected or len(row)
                if row and len(row) != expected:
                    cells = f"{len(row):,} cell{'' if len(row) == 1 else 's'}"
                    raise CsvProblem(
                        f"{str(path)!r}, line {start}: {cells} where the line of column names has {expected:,}. Next: "
                        "correct that line; a cell that contains the separator must stand in double quotes."
                    )
                start = form.above + rows.line_num + 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise CsvProblem(
                    f"{str(path)!r}: a double quote opened on or after line {start} is never closed. Next: close it, "
                    'or write a quote inside a cell as "".'
                ) from error
            raise CsvProblem.not_as_named(path, "CSV", f"line {start}: {error}") from error
