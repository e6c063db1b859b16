"""Write results batch by batch to a file that appears when complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from .._arrays import Array, Codes
from .._files import COMPRESSED, WRITTEN, whole_file
from ..errors import SourceError
from ..schema import Level
from .arrow import Schema, Table
from .files import file_kind


def write_tables(path: Path, tables: Iterable[Table]) -> int:
    """Write tables of one schema to a Parquet, Arrow or CSV file and return the number of rows.

    On any error, and when interrupted, nothing is left and an old file is as it was.
    """
    kind = file_kind(path)
    if kind not in WRITTEN:
        raise SourceError.unwritable(path, f"results are written as CSV, Parquet or Arrow, not as {kind}")
    if path.suffix.lower() in COMPRESSED:
        raise SourceError.unwritable(path, "results are not written compressed")
    rows = 0
    with written_whole(path) as file, contextlib.ExitStack() as stack:
        writer = None
        for table in tables:
            try:
                if writer is None:
                    writer = stack.enter_context(_writer(kind, file, table.schema, path))
                writer.write_table(table)
            except (pa.ArrowException, OSError) as error:
                raise SourceError.unwritable(path, reason(error)) from error
            rows += table.num_rows
        if writer is None:
            raise SourceError.no_rows("The source")
    return rows


def reason(error: Exception) -> object:
    """Return what the operating system says, or else the error."""
    return (error.strerror if isinstance(error, OSError) else None) or error


def _writer(kind: str, file: IO[bytes], schema: Schema, path: Path) -> pq.ParquetWriter | pa.ipc.RecordBatchFileWriter:
    if kind == "Parquet":
        floats = [field.name for field in schema if not pa.types.is_floating(field.type)]
        return pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=floats)
    if kind == "Arrow":
        return pa.ipc.new_file(file, schema)
    separator = "\t" if ".tsv" in path.suffixes else ","
    return arrow_csv.CSVWriter(file, schema, write_options=arrow_csv.WriteOptions(delimiter=separator))


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of `path` at the end, or disappears; SourceError says why."""
    try:
        with whole_file(path) as file:
            yield file
    except OSError as error:
        raise SourceError.unwritable(path, reason(error)) from error


def answers_table(
    labels: Sequence[Level], choice: Codes, columns: Sequence[tuple[str, Array]], kept: Table | None = None
) -> Table:
    """Return a table of the chosen label of each row, null where it is −1, and columns of numbers.

    `kept` is a table whose columns go in front, and keep their names.
    """
    first = pa.array(list(labels)).take(pa.array(choice, mask=choice < 0))
    answers = [("label", first), *((name, pa.array(values)) for name, values in columns)]
    if kept is None:
        return pa.table(dict(answers))
    for name, values in answers:
        free = name
        while free in kept.column_names:
            free = "predicted_" + free
        kept = kept.append_column(free, values)
    return kept
