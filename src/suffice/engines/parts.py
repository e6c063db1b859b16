"""The parts a table comes in: row groups of files, which any machine can read, and batches of a stream in memory.

A part is read as tables of a bounded number of rows, so that memory depends on neither its size nor their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import SourceError

CELLS = 1 << 20  # read at a time: 8 MiB of numbers
BUFFER = 1 << 16  # bytes of a column read at a time
FEWEST_ROWS, MOST_ROWS = 1 << 12, 1 << 16


class Part(Protocol):
    """Some rows of a source, by themselves."""

    @property
    def where(self) -> str:
        """What to call it in a message."""
        ...

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        ...


def rows_at_a_time(columns: int) -> int:
    """Return how many rows are read together; it depends on the columns alone, and so does every sum of rows."""
    return min(max(CELLS // max(columns, 1), FEWEST_ROWS), MOST_ROWS)


@dataclass(frozen=True)
class FilePart:
    """A row group of a Parquet file, or a whole Arrow file (`group` None); it can be sent to another process.

    `schema` is that of the table, `given` are the cells that the names of the file's folders give.
    """

    path: str
    group: int | None
    schema: Any
    given: tuple[tuple[str, Any], ...] = ()

    @property
    def where(self) -> str:
        """What to call it in a message."""
        return repr(self.path) if self.group is None else f"{self.path!r}, row group {self.group}"

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        given = dict(self.given)
        stored = [name for name in columns if name not in given]
        try:
            for batch in self._parquet(stored, rows) if self.group is not None else self._arrow(stored, rows):
                if batch.num_rows:
                    yield self._complete(batch, columns, given)
        except (pa.ArrowException, OSError) as error:
            raise SourceError.unreadable(self.where, error) from error

    def _parquet(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        # Read as it is decoded, not whole beforehand: the size of a row group is the writer's choice, memory is ours.
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER) as file:
            yield from file.iter_batches(rows, row_groups=[self.group], columns=list(columns), use_threads=False)

    def _arrow(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with pa.memory_map(self.path) as file:
            for batch in arrow_batches(file):
                chosen = batch.select(list(columns))
                for start in range(0, batch.num_rows, rows):
                    yield chosen.slice(start, rows)

    def _complete(self, batch: Any, columns: Sequence[str], given: dict[str, Any]) -> Any:
        """Return a batch as a table with its columns in order, in the types of the whole table."""
        arrays = []
        for name in columns:
            kind = self.schema.field(name).type
            if name in given:
                arrays.append(pa.repeat(pa.scalar(given[name], kind), batch.num_rows))
                continue
            own = batch.column(name)
            arrays.append(own if own.type == kind or pa.types.is_dictionary(own.type) else own.cast(kind))
        return pa.table(arrays, names=list(columns))


def arrow_batches(file: Any) -> Iterator[Any]:
    """Yield the record batches of an Arrow file, or of a stream that was written to one."""
    try:
        reader = pa.ipc.open_file(file)
    except pa.ArrowInvalid:  # no footer
        file.seek(0)
        yield from pa.ipc.open_stream(file)
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


@dataclass(frozen=True)
class HeldPart:
    """Rows in memory."""

    table: Any
    where: str

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        chosen = self.table.select(list(columns))
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)


def regular(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield the rows of batches, cut anywhere, as tables of `rows` rows each: sums then do not depend on the cuts."""
    kept: list[Any] = []
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
