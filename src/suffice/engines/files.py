"""Tables in files of any size, read and written: Parquet by row group, Arrow files, CSV; one file, many, or a folder.

Every file's footer is read before any row, so that a file whose columns differ is named at once.
"""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from .._arrays import Array, Codes
from .._files import ADDRESS, format_of, whole_file, written_kind
from ..errors import SourceError, shown
from ..schema import Level
from .arrow import AS_WRITTEN, Column, DataType, Rows, Schema, Spaces, Table, check_alike, decoded, is_text

BUFFER = 1 << 16  # bytes of a column read at a time
CSV_CHUNK = 1 << 16  # rows of a CSV written at a time
MOST_CELLS = 1 << 28  # of a table that repeats: 2 GiB of numbers
MOST_REPEATED = 1 << 10  # cells for each byte of its file
LARGEST_TEXT = 1 << 30  # bytes of repeated text in one column of a batch
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)  # what pyarrow raises for damaged files

Given = str | Path | Sequence[str | Path]  # names, patterns, folders
Parts = tuple[Schema, int, tuple["FilePart", ...]]  # their schema, and how many rows they have


def find_files(source: Given) -> tuple[list[Path], Path | None]:
    """Return the files that a name, a pattern, a folder or a list of these means, sorted, and the folder if it is one.

    Names that begin with a dot or an underscore are no data: they are the marks that engines leave.
    """
    if not isinstance(source, str | Path):
        return [file for item in source for file in find_files(item)[0]], None
    path = Path(source)
    if ADDRESS.match(str(source)):
        raise SourceError.address(source)
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if file.is_file() and not _is_mark(file, path))
        known = [file for file in below if format_of(file)]
        known = [file for file in known if ".txt" not in file.suffixes] or known  # notes beside tables
        if not known:
            raise SourceError(f"{str(path)!r} is a folder that holds no file of a table. Next: check the name.")
        return known, path
    if path.exists():
        return [path], None
    found = sorted(Path(name) for name in glob.glob(str(source), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise SourceError.absent(source)
    return [file for item in found for file in find_files(item)[0]], None


def _is_mark(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def open_files(paths: Sequence[Path], kind: str, folder: Path | None, spaces: Spaces | None) -> Parts:
    """Return the schema, the number of rows and the parts of Parquet or Arrow files, checked against each other.

    `folder` is the one they were found in. With `spaces`, names and texts are given without the spaces around them.
    """
    with ThreadPoolExecutor(8) as pool:
        footers = list(pool.map(partial(_footer, kind=kind), paths))
    schema = _common_schema(footers)
    places = [_given(path, folder) for path in paths]
    for name in dict.fromkeys(name for place in places for name in place):
        values = [place.get(name) for place in places]
        whole = all(value is not None and re.fullmatch(r"-?\d{1,18}", value) for value in values)
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.int64() if whole else pa.string()))
    stored = tuple(schema.names)
    names = stored if spaces is None else spaces.trim_names(stored)
    short = dict(zip(stored, names, strict=True))
    kinds = {field.name: field.type for field in schema}
    schema = pa.schema([pa.field(short[field.name], field.type) for field in schema])
    parts: list[FilePart] = []
    for footer, place in zip(footers, places, strict=True):
        cells = tuple(
            (short[name], int(value) if value is not None and kinds[name] == pa.int64() else value)
            for name, value in place.items()
        )
        groups = [None if kind == "Arrow" else number for number, rows in enumerate(footer.groups) if rows]
        parts += [FilePart(footer.path, group, schema, stored, cells, spaces) for group in groups]
    return schema, sum(sum(footer.groups) for footer in footers), tuple(parts)


class _Footer(NamedTuple):
    """What a file says of itself: its schema, and the rows of each row group (of an Arrow file: of all)."""

    path: str
    schema: Schema
    groups: tuple[int, ...]


def _footer(path: Path, kind: str) -> _Footer:
    try:
        if kind == "Parquet":
            with pq.ParquetFile(path) as file:
                schema, meta = file.schema_arrow, file.metadata
                groups = tuple(int(meta.row_group(number).num_rows) for number in range(meta.num_row_groups))
        else:
            with pa.OSFile(str(path)) as file:
                schema = arrow_reader(file).schema
                groups = (sum(batch.num_rows for batch in arrow_batches(file, ())),)
            if claims_too_much(groups[0], len(schema), path.stat().st_size):
                raise pa.ArrowInvalid(f"it claims {groups[0]:,} rows, more than its size allows")
        # Without metadata; a name that is no text does not decode.
        return _Footer(str(path), pa.schema([pa.field(field.name, field.type) for field in schema]), groups)
    except UNREADABLE as error:
        raise SourceError.not_as_named(path, kind, error) from error


def _given(path: Path, folder: Path | None) -> dict[str, str | None]:
    """Return the cells that the names of a file's folders give, `column=value` as Hive writes them."""
    if folder is None:
        return {}
    pairs = (part.partition("=") for part in path.relative_to(folder).parts[:-1])
    return {
        unquote(name): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
        for name, mark, value in pairs
        if mark
    }


def _common_schema(footers: Sequence[_Footer]) -> Schema:
    """Return the schema of all files; SourceError names a file that lacks a column or has it in another kind."""
    filled = [footer for footer in footers if any(footer.groups)] or list(footers[:1])
    first = filled[0]
    wanted = dict.fromkeys(first.schema.names)
    for footer in filled:
        check_alike(first.path, first.schema.names, footer.path, footer.schema.names)
    fields = []
    for name in wanted:
        kind: DataType = pa.null()
        for footer in filled:
            if footer.schema.names.count(name) == 1:
                kind = _joined(kind, footer.schema.field(name).type, footer.path, name)
        fields += [pa.field(name, kind)] * first.schema.names.count(name)
    return pa.schema(fields)


def _joined(one: DataType, other: DataType, path: str, name: str) -> DataType:
    """Return the type that holds the cells of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    try:
        fields = [pa.schema([pa.field(name, kind)]) for kind in plain]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise SourceError(
            f"{path!r}: column {shown(name)} is {other}, and {one} in the other files. Next: write the files with one "
            "schema."
        ) from error


@dataclass(frozen=True)
class FilePart:
    """A row group of a Parquet file, or a whole Arrow file (`group` None); it can be sent to another process.

    `schema` is that of the table, `stored` are the names as they stand in the file, `given` the cells that the names of
    its folders give. With `spaces`, which counts them, texts are given without the spaces around them.
    """

    path: str
    group: int | None
    schema: Schema
    stored: tuple[str, ...]
    given: tuple[tuple[str, str | int | None], ...] = ()
    spaces: Spaces | None = None

    @property
    def where(self) -> str:
        """What to call it in a message."""
        return repr(self.path) if self.group is None else f"{self.path!r}, row group {self.group}"

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Table]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        given, found = dict(self.given), Spaces()
        known = dict(zip(self.schema.names, self.stored, strict=True))
        wanted = dict.fromkeys(name.removeprefix(AS_WRITTEN) for name in columns)
        stored = [known[name] for name in wanted if name not in given]
        try:
            for batch in self._batches(stored, rows):
                if batch.num_rows:
                    arrays = [self._column(checked(batch), name, known, given, found) for name in columns]
                    yield pa.table(arrays, names=list(columns))
            if self.spaces is not None:
                self.spaces.read(self.where, found)
        except UNREADABLE as error:
            raise SourceError.unreadable(self.where, error) from error

    def _batches(self, stored: Sequence[str], rows: int) -> Iterator[Rows]:
        if self.group is None:
            with pa.OSFile(self.path) as file:
                for batch in arrow_batches(file, stored):
                    chosen = checked(batch).select(list(stored))
                    yield from (chosen.slice(start, rows) for start in range(0, batch.num_rows, rows))
            return
        # Read as it is decoded, not whole beforehand: the size of a row group is the writer's choice, memory is ours.
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield from file.iter_batches(rows, row_groups=[self.group], columns=list(stored), use_threads=False)

    def _column(
        self, batch: Rows, asked: str, known: dict[str, str], given: dict[str, str | int | None], found: Spaces
    ) -> Column:
        """Return a column of a batch in the type of the whole table."""
        name = asked.removeprefix(AS_WRITTEN)
        kind = self.schema.field(name).type
        if name in given:
            return pa.repeat(pa.scalar(given[name], kind), batch.num_rows)
        own = batch.column(known[name])
        own = own if own.type == kind or pa.types.is_dictionary(own.type) else own.cast(kind)
        return own if self.spaces is None or asked != name else found.trim(own, name)


def arrow_batches(file: IO[bytes], columns: Sequence[str]) -> Iterator[Rows]:
    """Yield the record batches of an open Arrow file, or of a stream that was written to one, as they stand there.

    Of the columns at least these, or at least one where there are none, are read. The file is not to be a memory map:
    the process would end where the file grows shorter while it is read.
    """
    file.seek(0)
    names, kept = arrow_reader(file).schema.names, set(columns)
    wanted = [place for place, name in enumerate(names) if name in kept] or [0][: len(names)]
    file.seek(0)
    reader = arrow_reader(file, pa.ipc.IpcReadOptions(included_fields=wanted))
    if isinstance(reader, pa.RecordBatchReader):
        yield from reader
        return
    yield from map(reader.get_batch, range(reader.num_record_batches))


def arrow_reader(file: IO[bytes], options: pa.ipc.IpcReadOptions | None = None) -> pa.RecordBatchReader:
    """Return what reads an open Arrow file, or a stream that was written to one."""
    try:
        return pa.ipc.open_file(file, options=options)
    except pa.ArrowInvalid:  # no footer
        file.seek(0)
        return pa.ipc.open_stream(file, options=options)


def claims_too_much(rows: int, columns: int, size: int) -> bool:
    """Say whether a table could be in a file of so many bytes by repetition only, and would fill the memory."""
    cells = max(rows, 0) * max(columns, 1)
    return rows < 0 or (cells > MOST_CELLS and cells > MOST_REPEATED * size)


def checked(batch: Rows) -> Rows:
    """Return a record batch or table having looked at every offset, index and letter in it; ArrowInvalid if one is off.

    Arrow believes the buffers of a file: an offset beyond the end of its text would be read all the same, and end the
    process. Repeated text of a dictionary is refused where it would not fit into memory as plain text.
    """
    batch.validate(full=True)
    for column in batch.columns:
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            if pa.types.is_dictionary(chunk.type) and len(chunk):
                _check_dictionary(chunk)
    return batch


def _check_dictionary(column: pa.DictionaryArray) -> None:
    known = column.dictionary
    if not is_text(known.type):
        return
    longest = pc.max(pc.binary_length(known)).as_py() or 0
    if longest * len(column) > LARGEST_TEXT:
        written = pc.sum(pc.binary_length(known).take(column.indices)).as_py() or 0
        if written > LARGEST_TEXT:
            raise pa.ArrowInvalid(f"{len(column)} cells repeat {written / 2**30:.1f} GiB of text")


def write_tables(path: Path, tables: Iterable[Table]) -> int:
    """Write tables of one schema to a Parquet, Arrow or CSV file and return the number of rows.

    On any error, and when interrupted, nothing is left and an old file is as it was.
    """
    kind = written_kind(path)
    try:
        with whole_file(path) as file:
            rest = iter(tables)
            first = next(rest, None)
            if first is None:
                raise SourceError.no_rows("The source")
            every = itertools.chain([first], rest)
            if kind == "CSV":
                return write_csv(every, file, "\t" if ".tsv" in path.suffixes else ",")
            rows = 0
            with _typed_writer(kind, file, first.schema) as writer:
                for table in every:
                    writer.write_table(table)
                    rows += table.num_rows
            return rows
    except (pa.ArrowException, OSError) as error:
        raise SourceError.unwritable(path, reason(error)) from error


def _typed_writer(kind: str, file: IO[bytes], schema: Schema) -> pq.ParquetWriter | pa.ipc.RecordBatchFileWriter:
    if kind == "Arrow":
        return pa.ipc.new_file(file, schema)
    floats = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=floats)


def write_csv(tables: Iterable[Table], file: IO[bytes], separator: str = ",") -> int:
    """Write tables of one schema as CSV, with quotes about texts where any of a table needs them; return the rows."""
    rows = 0
    for number, table in enumerate(map(_plain_columns, tables)):
        quotes = _needs_quotes(table, separator)
        if not number:  # Arrow before release 22 would always quote the names
            names = [f'"{name.replace(chr(34), chr(34) * 2)}"' if quotes else name for name in table.column_names]
            file.write((separator.join(names) + "\n").encode())
        style = "needed" if quotes else "none"
        options = arrow_csv.WriteOptions(delimiter=separator, quoting_style=style, include_header=False)
        with arrow_csv.CSVWriter(file, table.schema, write_options=options) as writer:
            writer.write_table(table, CSV_CHUNK)
        rows += table.num_rows
    return rows


def _plain_columns(table: Table) -> Table:
    """Return the table with dictionary columns as their values, which CSV can hold, and moments without zeros."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, decoded(table.column(field.name)))
        elif pa.types.is_timestamp(field.type) and field.type.unit != "s":
            column, seconds = table.column(i), pa.timestamp("s", field.type.tz)
            whole = column.cast(seconds, safe=False)
            if pc.all(pc.equal(whole.cast(field.type), column)).as_py() is not False:
                table = table.set_column(i, field.name, whole)
    return table


def _needs_quotes(table: Table, separator: str) -> bool:
    if any("binary" in str(own.type) for own in table.columns):  # whose bytes may be anything
        return True
    special = '[\\r\\n"' + ("\\t" if separator == "\t" else separator) + "]"
    texts = [pa.array(table.column_names, pa.string()), *(own for own in table.columns if is_text(own.type))]
    return any(pc.any(pc.match_substring_regex(own, special)).as_py() for own in texts)


def reason(error: Exception) -> object:
    """Return what the operating system says, or else the error."""
    return (error.strerror if isinstance(error, OSError) else None) or error


def answers_table(
    names: Sequence[str], labels: Sequence[Level], choice: Codes, columns: Sequence[Array], kept: Table | None = None
) -> Table:
    """Return a table, under these names, of the chosen label of each row, null where it is −1, and columns of numbers.

    `kept` is a table whose columns go in front, and keep their names.
    """
    answers = [pa.array(labels).take(pa.array(choice, mask=choice < 0)), *map(pa.array, columns)]
    if kept is None:
        return pa.table(answers, names)
    for name, values in zip(names, answers, strict=True):
        free = name
        while free in kept.column_names:
            free = "predicted_" + free
        kept = kept.append_column(free, values)
    return kept
