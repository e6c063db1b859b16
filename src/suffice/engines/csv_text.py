"""Infer the encoding, separator and header of a text file.

What had to be guessed is remarked. Workbooks and JSON lines are made text here, so that their cells are read alike.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.csv as arrow_csv

from .._dialect import Remark
from .._files import COMPRESSED, ending_for, format_of
from ..errors import SourceError
from .arrow import Rows, Table
from .csv_problems import CsvProblem
from .json_lines import key_names, text_batches
from .workbooks import ROWS, above, header_place, read_sheet

READ_CHUNK = 1 << 20  # bytes
SAMPLE = 1 << 16  # characters of a file that say how its cells are separated
BLOCK = 1 << 24  # bytes of a CSV read at a time
DECLARED = re.compile(r"sep=([,;\t|])\r?\n")  # the first line of what Excel writes for another country


@dataclass(frozen=True)
class Form:
    """How the text of a CSV file is encoded, what separates its cells, and the names of its columns.

    `above` is how many lines stand above these; `held` the cells of a workbook, which is read at once. `stored` are the
    names as the file has them, with spaces around them; empty if they are the same.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    above: int = 0
    held: Table | None = field(default=None, repr=False, compare=False)
    stored: tuple[str, ...] = ()

    def as_stored(self, names: Iterable[str]) -> list[str]:
        """Return names of columns as the file has them."""
        if not self.stored:
            return list(names)
        known = dict(zip(self.names, self.stored, strict=True))
        return [known[name] for name in names]


def remark(text: str) -> None:
    """Warn of how a file was read; the command line prints it as a note, unless quiet."""
    warnings.warn(text, Remark, stacklevel=2)


def check_regular(path: Path) -> None:
    """Refuse pipes and devices, of which `open` may never return."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise CsvProblem.pipe(path)


def find_form(path: Path, sheet: str | None = None) -> Form:
    """Return how a file is written; a CsvProblem says what it is not. `sheet` is that of a workbook."""
    kind = format_of(path)
    if kind == "Excel":
        cells, told = read_sheet(path, sheet)
        for text in told:
            remark(text)
        return Form("utf8", "", tuple(cells.column_names), held=cells)
    if sheet is not None:
        raise CsvProblem(f"{str(path)!r} is no workbook, and has no sheet {sheet!r}. Next: leave out the sheet.")
    form = None
    try:
        if kind == "JSON lines":
            return Form("utf8", "", key_names(path))
        encoding, valid = _find_encoding(path)
        form = _find_separator(path, encoding)
        if not valid:
            _find_bytes(path, form)
        # Arrow's own names, for it reads the rest: they differ where a quote stands in an odd place.
        return replace(form, names=_arrow_names(path, form))
    except (pa.ArrowException, OSError, EOFError) as error:
        raise explained(path, form, error) from error


def _arrow_names(path: Path, form: Form) -> tuple[str, ...]:
    if sum(map(len, form.names)) < BLOCK >> 8:
        with contextlib.suppress(pa.ArrowInvalid):  # a row that is longer than so small a block
            return _names(_open_csv(path, form, block=BLOCK >> 5))
    return _names(_open_csv(path, form))


def _names(reader: pa.RecordBatchReader) -> tuple[str, ...]:
    return tuple(reader.schema.names)


def open_text_cells(
    path: Path, form: Form, columns: Sequence[str] | None = None, file: IO[bytes] | None = None
) -> Iterator[Rows]:
    """Return the cells of a file as text, batch by batch, empty cells as empty text; names are those of the file."""
    stored = None if columns is None else form.as_stored(columns)
    if form.held is not None:
        return iter((form.held if stored is None else form.held.select(stored)).to_batches())
    if not form.separator:
        return text_batches(path, form.as_stored(form.names) if stored is None else stored, file)
    return iter(_open_csv(path, form, stored, file))


def _open_csv(
    path: Path,
    form: Form,
    columns: Sequence[str] | None = None,
    file: IO[bytes] | None = None,
    block: int | None = None,
) -> arrow_csv.CSVStreamingReader:
    if file is not None and path.suffix.lower() in COMPRESSED:
        file = pa.CompressedInputStream(file, pa.Codec.detect(str(path)).name)
    return arrow_csv.open_csv(
        str(path) if file is None else file,
        read_options=arrow_csv.ReadOptions(block_size=block or BLOCK, encoding=form.encoding, skip_rows=form.above),
        # Without newlines_in_values a quoted line break at the edge of a block would tear a row in two.
        parse_options=arrow_csv.ParseOptions(delimiter=form.separator, newlines_in_values=True),
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
        return CsvProblem.damaged(path, error)
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
                    raise CsvProblem.ragged(path, start, expected, len(row))
                start = form.above + rows.line_num + 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise CsvProblem.open_quote(path, start) from error
            raise CsvProblem.not_as_named(path, "CSV", f"line {start}: {error}") from error


def _find_encoding(path: Path) -> tuple[str, bool]:
    """Return how the text is encoded, UTF-8 or what Windows programs write, and whether it is text of that kind."""
    with pa.input_stream(str(path)) as file:
        mark = file.read(2)
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if not _decodes(path, "utf-16", nul=True):
            raise CsvProblem.encoding(path, "it begins with the mark of UTF-16, and is not that either")
        remark(f"{path.name} is UTF-16 text, and was read as that.")
        return "utf-16", True
    if _decodes(path, "utf8"):
        return "utf8", True
    if not _decodes(path, "cp1252"):
        return "utf8", False
    remark(
        f"{path.name} is not UTF-8, and was read as Windows-1252 (Latin-1); if letters look wrong, save it as UTF-8."
    )
    return "cp1252", True


def _decodes(path: Path, encoding: str, nul: bool = False) -> bool:
    """Say whether every byte of a file is text in this encoding; binary files hold NUL bytes, which text does not.

    `nul` says that bytes of 0 are part of the encoding.
    """
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


def _find_bytes(path: Path, form: Form) -> None:
    """Raise CsvProblem, naming the column, for text that is neither UTF-8 nor anything else."""
    if any("\ufffd" in name for name in form.names):
        raise CsvProblem.encoding(path, "in the line of column names")
    try:
        for _ in open_text_cells(path, form):
            pass
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise explained(path, form, error) from error
