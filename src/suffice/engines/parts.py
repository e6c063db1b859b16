"""Parts of a table: row groups of files, batches of a stream.

A part is read as tables of a bounded number of rows, so that memory depends on neither its size nor their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import SourceError
from .arrow import AS_WRITTEN, Rows, Schema, Table, is_text
from .spaces import Spaces

CELLS = 1 << 20  # read at a time: 8 MiB of numbers
BUFFER = 1 << 16  # bytes of a column read at a time
MOST_CELLS = 1 << 28  # of a table that repeats: 2 GiB of numbers
MOST_REPEATED = 1 << 10  # cells for each byte of its file
LARGEST_TEXT = 1 << 30  # bytes of repeated text in one column of a batch
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)  # what pyarrow raises for damaged files
FEWEST_ROWS, MOST_ROWS = 1 << 12, 1 << 16
AnyRows = TypeVar("AnyRows", bound=Rows)


class Part(Protocol):
    """Some rows of a source, by themselves."""

    @property
    def where(self) -> str:
        """What to call it in a message."""

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Table]:
        """Yield these columns as pyarrow tables of at most so many rows."""


def rows_at_a_time(columns: int) -> int:
    """Return how many rows are read together; it depends on the columns alone, and so does every sum of rows."""
    return min(max(CELLS // max(columns, 1), FEWEST_ROWS), MOST_ROWS)


@dataclass(frozen=True)
class FilePart:
    """A row group of a Parquet file, or a whole Arrow file (`group` None); it can be sent to another process.

    `schema` is that of the table, `given` are the cells that the names of the file's folders give. With `spaces`, which
    counts them, names and texts are given without the spaces around them, and `stored` are the names as they stand.
    """

    path: str
    group: int | None
    schema: Schema
    given: tuple[tuple[str, str | int | None], ...] = ()
    spaces: Spaces | None = None
    stored: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """What to call it in a message."""
        return repr(self.path) if self.group is None else f"{self.path!r}, row group {self.group}"

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Table]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        given, spaces = dict(self.given), Spaces()
        known = dict(zip(self.schema.names, self.stored or self.schema.names, strict=True))
        wanted = (name.removeprefix(AS_WRITTEN) for name in columns)
        stored = [known[name] for name in dict.fromkeys(wanted) if name not in given]
        try:
            for batch in self._parquet(stored, rows) if self.group is not None else self._arrow(stored, rows):
                if batch.num_rows:
                    yield self._complete(checked(batch), columns, known, spaces)
            if self.spaces is not None:
                self.spaces.read(self.where, spaces)
        except UNREADABLE as error:
            raise SourceError.unreadable(self.where, error) from error

    def _parquet(self, columns: Sequence[str], rows: int) -> Iterator[Rows]:
        # Read as it is decoded, not whole beforehand: the size of a row group is the writer's choice, memory is ours.
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield from file.iter_batches(rows, row_groups=[self.group], columns=list(columns), use_threads=False)

    def _arrow(self, columns: Sequence[str], rows: int) -> Iterator[Rows]:
        with pa.OSFile(self.path) as file:
            for batch in arrow_batches(file, columns):
                chosen = checked(batch).select(list(columns))
                for start in range(0, batch.num_rows, rows):
                    yield chosen.slice(start, rows)

    def _complete(self, batch: Rows, columns: Sequence[str], stored: dict[str, str], spaces: Spaces) -> Table:
        """Return a batch as a table with its columns in order, in the types of the whole table."""
        arrays, given = [], dict(self.given)
        for asked in columns:
            name = asked.removeprefix(AS_WRITTEN)
            kind = self.schema.field(name).type
            if name in given:
                arrays.append(pa.repeat(pa.scalar(given[name], kind), batch.num_rows))
                continue
            own = batch.column(stored[name])
            own = own if own.type == kind or pa.types.is_dictionary(own.type) else own.cast(kind)
            arrays.append(own if self.spaces is None or asked != name else spaces.trim(own, name))
        table: Table = pa.table(arrays, names=list(columns))
        return table


def arrow_batches(file: IO[bytes], columns: Sequence[str]) -> Iterator[Rows]:
    """Yield the record batches of an open Arrow file, or of a stream that was written to one, as they stand there.

    Of the columns at least these, or at least one where there are none, are read. The file is not to be a memory map:
    the process would end where the file grows shorter while it is read.
    """
    kept = set(columns)
    names = arrow_schema(file).names
    wanted = [place for place, name in enumerate(names) if name in kept] or [0][: len(names)]
    file.seek(0)
    reader = arrow_reader(file, pa.ipc.IpcReadOptions(included_fields=wanted))
    if isinstance(reader, pa.RecordBatchReader):
        yield from reader
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def arrow_schema(file: IO[bytes]) -> Schema:
    """Return the schema of an open Arrow file or stream."""
    schema: Schema = arrow_reader(file).schema
    return schema


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


def checked(batch: AnyRows) -> AnyRows:
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


@dataclass(frozen=True)
class HeldPart:
    """Rows in memory."""

    table: Table
    where: str

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Table]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        chosen = self.table.select(list(columns))
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)


def regular(batches: Iterable[Rows], rows: int) -> Iterator[Table]:
    """Yield the rows of batches, cut anywhere, as tables of `rows` rows each: sums then do not depend on the cuts."""
    kept: list[Rows] = []
    count = 0
    for batch in batches:
        while count + batch.num_rows >= rows:
            head = batch.slice(0, rows - count)
            yield pa.Table.from_batches([*kept, head]).combine_chunks()
            batch, kept, count = batch.slice(rows - count), [], 0
        if batch.num_rows:
            kept.append(batch)
            count += batch.num_rows
    if kept:
        yield pa.Table.from_batches(kept).combine_chunks()
