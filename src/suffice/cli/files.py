"""Tables in files: CSV, Parquet and Arrow IPC, read into pyarrow tables and written whole or not at all.

A result is written beside its destination under a temporary name, synced, and renamed over it: when anything fails,
the old file is as it was.
"""

from __future__ import annotations

import csv
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from .._files import COMPRESSED, MISSING_TOKENS, check_replaceable, format_of, is_stream, whole_file
from ..schema import repeated_names
from .dialects import find_encoding, find_separator, open_text, read_numbers
from .problems import FileProblem

CSV_CHUNK = 1 << 16  # rows written to stdout at a time


def file_format(path: Path) -> str:
    """Return what the ending of a name promises: "CSV", "Parquet" or "Arrow"."""
    kind = format_of(path)
    if kind is None:
        raise FileProblem.unknown_format(path)
    return kind


# --- reading -----------------------------------------------------------------------------------------------------


def read_table(path: Path, text: Sequence[str] = (), numbers: Sequence[str] = (), as_is: Sequence[str] = ()) -> Any:
    """Return the table in a file as a pyarrow Table with at least one row and distinct column names.

    `text` names columns to read from a CSV as text even where every cell looks like a number: a category "7" must not
    become the number 7 because a batch happens to hold no other. `numbers` names columns known to hold numbers, and
    `as_is` those whose text is not to be taken for numbers, such as the target.
    """
    import pyarrow as pa

    form = file_format(path)
    check_readable(path)
    readers: dict[str, Callable[[Path], Any]] = {
        "CSV": lambda file: _read_csv(file, text, numbers, as_is),
        "Parquet": _read_parquet,
        "Arrow": _read_ipc,
    }
    try:
        table = readers[form](path)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if getattr(error, "strerror", None):  # the system's own, such as a permission
            raise
        raise FileProblem.unreadable(path, form, error) from error
    repeated = repeated_names(names)
    if repeated:
        raise FileProblem.repeated(path, repeated)
    if table.num_rows == 0:
        raise FileProblem.no_rows(path, len(names))
    return table


def check_readable(path: Path) -> None:
    """Refuse what is not a file of at least one byte."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise FileProblem.absent(path) from None
    if stat.S_ISDIR(status.st_mode):
        raise FileProblem.folder(path)
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise FileProblem.empty(path)


def _read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    from ..engines.parts import checked, claims_too_much

    with pq.ParquetFile(path) as file:
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        if claims_too_much(rows, columns, path.stat().st_size):
            raise FileProblem.unreadable(path, "Parquet", f"it claims {rows:,} rows of {columns} columns")
        return checked(file.read())


def _read_ipc(path: Path) -> Any:
    import pyarrow as pa

    from ..engines.parts import arrow_reader, checked, claims_too_much

    with pa.OSFile(str(path)) as source:
        table = arrow_reader(source).read_all()
    if claims_too_much(table.num_rows, table.num_columns, path.stat().st_size):
        raise FileProblem.unreadable(path, "Arrow", f"it claims {table.num_rows:,} rows")
    return checked(table)


def _read_csv(path: Path, text: Sequence[str], numbers: Sequence[str], as_is: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    encoding = find_encoding(path)
    separator = find_separator(path, encoding)
    try:
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(encoding=encoding),
            # Without newlines_in_values a quoted line break at the edge of a block would tear a row in two.
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=list(MISSING_TOKENS),
                strings_can_be_null=True,
                column_types={name: pa.string() for name in text},
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        _explain_csv(path, separator, encoding)
        raise FileProblem.unreadable(path, "CSV", error) from error
    try:
        names = table.column_names
    except UnicodeDecodeError as error:
        raise FileProblem.encoding(path, "in the line of column names") from error
    for name, kind in zip(names, table.schema.types, strict=True):
        if pa.types.is_binary(kind):  # what Arrow makes of text it cannot decode
            raise FileProblem.encoding(path, f"in column {name!r}")
    if _ends_in_line_break(table):
        _explain_csv(path, separator, encoding)
    return read_numbers(table, path, separator, (*text, *as_is), numbers)


def _explain_csv(path: Path, separator: str, encoding: str) -> None:
    """Raise FileProblem for the first line with too many or too few cells, or for a quote never closed.

    Only called when something is wrong: Arrow reads fast and in blocks, and does not know line numbers.
    """
    csv.field_size_limit(sys.maxsize)
    with open_text(path, encoding) as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        start = 1
        expected = 0
        try:
            for row in rows:
                expected = expected or len(row)
                if row and len(row) != expected:
                    raise FileProblem.ragged(path, start, expected, len(row))
                start = rows.line_num + 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise FileProblem.open_quote(path, start) from error
            raise FileProblem.unreadable(path, "CSV", f"line {start}: {error}") from error


def _ends_in_line_break(table: Any) -> bool:
    """Say whether a cell of the last row holds a line break, as it does when a quote was left open."""
    if not table.num_rows:
        return False
    last = table.slice(table.num_rows - 1).to_pylist()[0]
    return any(isinstance(value, str) and "\n" in value for value in last.values())


# --- writing -----------------------------------------------------------------------------------------------------


def check_writable(path: Path, inputs: Iterable[tuple[Path, str]] = ()) -> None:
    """Refuse a destination that cannot work before any work is done; `inputs` are files it must not replace."""
    if path.is_dir():
        raise FileProblem.folder(path)
    if is_stream(path):  # into which it is written where it stands
        return
    if not path.parent.is_dir():
        raise FileProblem.unwritable(path, f"there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileProblem.unwritable(path, f"there is no permission to write in the folder {str(path.parent)!r}")
    for other, what in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise FileProblem.overwrites(path, what)
    try:
        check_replaceable(path)
    except OSError as error:
        raise FileProblem.unwritable(path, error.strerror or error) from error


def write_table(table: Any, path: Path) -> None:
    """Write a table in the format of the name's ending."""
    import pyarrow as pa

    form = file_format(path)
    writers: dict[str, Callable[[Any, IO[bytes]], None]] = {
        "CSV": lambda rows, file: write_csv(rows, file, "\t" if ".tsv" in path.suffixes else ","),
        "Parquet": _write_parquet,
        "Arrow": _write_ipc,
    }
    if form == "CSV" and path.suffix.lower() in COMPRESSED:
        raise FileProblem.unwritable(path, "results are not written compressed")

    try:
        write_whole(path, lambda file: writers[form](table, file))
    except pa.ArrowException as error:
        raise FileProblem.unwritable(path, error) from error


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Call `write` with a file that takes the place of `path` once it is complete and on disk."""
    try:
        with whole_file(path) as file:
            write(file)
    except OSError as error:
        raise FileProblem.unwritable(path, error.strerror or error) from error


def _write_parquet(table: Any, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _write_ipc(table: Any, file: IO[bytes]) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def write_csv(table: Any, file: IO[bytes], separator: str = ",") -> None:
    """Write a table as CSV, with quotes about text and names if any of them needs quotes."""
    from pyarrow import csv as arrow_csv

    table = _plain_columns(table)
    quotes = _needs_quotes(table, separator)
    names = [f'"{name.replace(chr(34), chr(34) * 2)}"' if quotes else name for name in table.column_names]
    file.write((separator.join(names) + "\n").encode())  # Arrow before release 22 would always quote them
    style = "needed" if quotes else "none"
    options = arrow_csv.WriteOptions(delimiter=separator, quoting_style=style, include_header=False)
    with arrow_csv.CSVWriter(file, table.schema, write_options=options) as writer:
        for start in range(0, table.num_rows, CSV_CHUNK):
            writer.write_table(table.slice(start, CSV_CHUNK))


def _plain_columns(table: Any) -> Any:
    """Return the table with dictionary columns as their values, which CSV can hold."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table


def _needs_quotes(table: Any, separator: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    special = '[\\r\\n"' + ("\\t" if separator == "\t" else separator) + "]"
    columns = [pa.array(table.column_names, pa.string())]
    columns += [c for c in table.columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
    return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in columns)
