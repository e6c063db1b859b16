"""Tables that are read in parts: files, Arrow streams, lazy frames, database relations, frames of Dask and Spark.

`open_source` returns a `Source`: the types of its columns, the number of rows where that is known without reading them,
and its parts, each of which is read as tables of a bounded number of rows, so that memory depends on neither its size
nor their number. Tables of other libraries come to us; but for pyarrow none of these is imported.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from .._dialect import Dialect
from .._files import OF_TEXT, check_readable, file_kind
from ..errors import DataError, SchemaError, SourceError, quoted
from ..schema import repeated_names
from .arrow import Rows, Schema, Spaces, Table, as_written, check_names, together
from .csv_inference import of_index
from .csv_table import CsvTable, Reading
from .files import UNREADABLE, FilePart, Given, checked, find_files, open_files

BATCH = 1 << 16  # rows that other libraries give at a time
CELLS = 1 << 20  # read at a time: 8 MiB of numbers
FEWEST_ROWS, MOST_ROWS = 1 << 12, 1 << 16


@dataclass(frozen=True)
class HeldPart:
    """Rows in memory."""

    table: Table
    where: str

    def tables(self, columns: Sequence[str], rows: int) -> Iterator[Table]:
        """Yield these columns as pyarrow tables of at most so many rows."""
        chosen = self.table.select(list(columns))
        return (chosen.slice(start, rows) for start in range(0, chosen.num_rows, rows))


Part = FilePart | HeldPart  # some rows of a source, by themselves


def rows_at_a_time(columns: int) -> int:
    """Return how many rows are read together; it depends on the columns alone, and so does every sum of rows."""
    return min(max(CELLS // max(columns, 1), FEWEST_ROWS), MOST_ROWS)


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


@dataclass(frozen=True)
class Source:
    """A table that is read in parts.

    `schema` is a pyarrow schema, `rows` None where the number is not known beforehand. `files` are parts that another
    process can read; a stream has none, and `batches(columns)` reads it. `once` says that it can be read one time only.
    """

    name: str
    schema: Schema
    rows: int | None
    files: tuple[FilePart, ...] = ()
    batches: Callable[[Sequence[str]], Iterator[Rows]] | None = None
    once: bool = False
    native: Any = None  # a table of the engine that is to read it
    csv: CsvTable | None = None  # which knows how it is written, and how much of it is read
    spaces: Spaces | None = None  # of Parquet and Arrow files: what was taken away in the parts read so far

    def parts(self, columns: Sequence[str], rows: int) -> Iterator[Part]:
        """Yield the parts in order; those of a stream are regular batches of these columns."""
        if self.native is not None:
            raise DataError(f"{self.name} is read by its own engine. Next: leave out engine, or collect the table.")
        if self.batches is None:
            yield from self.files
            return
        try:
            for number, table in enumerate(regular(map(checked, self.batches(columns)), rows)):
                yield HeldPart(table, f"{self.name}, rows from {number * rows}")
        except UNREADABLE as error:
            raise SourceError.unreadable(self.name, error) from error

    def table(self, columns: Sequence[str]) -> Table:
        """Return these columns of all rows, in memory."""
        if self.csv is not None:
            return self.csv.table(columns)
        rows = rows_at_a_time(len(columns))
        tables = [table for part in self.parts(columns, rows) for table in part.tables(columns, rows)]
        return together(tables) if tables else pa.table([pa.nulls(0)] * len(columns), names=list(columns))

    def written(self, name: str) -> str:
        """Return the name by which a column comes cell by cell as it stands in its file."""
        return name if self.csv is None and self.spaces is None else as_written(name)

    @property
    def dialect(self) -> Dialect | None:
        """What a model should know of how the table was written; None of what is no file."""
        if self.csv is not None:
            return self.csv.dialect
        return Dialect(trimmed=self.spaces is not None) if self.files else None

    def declared(self, columns: Sequence[str]) -> Table:
        """Return a table of no rows with the types of these columns; one without a type is taken for numbers."""
        fields = [self.schema.field(name) for name in columns]
        typed = [own.with_type(pa.float64()) if pa.types.is_null(own.type) else own for own in fields]
        return pa.schema(typed).empty_table()

    def not_for_clusters(self) -> SourceError:
        """Return the refusal of a table that other machines cannot read."""
        return SourceError(
            f"{self.name} is read on this machine, and a cluster needs files that its workers can read. "
            'Next: give Parquet or Arrow files, or engine="local".'
        )

    def check_columns(self, names: Sequence[str], role: str) -> None:
        """Raise SourceError for columns that are not there."""
        present = set(self.schema.names)
        missing = [name for name in names if name not in present]
        if missing:
            raise SourceError.columns_missing(self.name, missing, self.schema.names, role)


def open_source(source: object, reading: Reading | None = None, hold: bool = False) -> Source:
    """Return a source as one that is read in parts; see `fit_table` for what it may be.

    `reading` says what is known of the columns of a CSV; with `hold` its text stays in memory.

    SourceError, naming the file, where it cannot be read or where files of one table differ in a column.
    """
    if isinstance(source, Source):
        return source
    found = _open(source, reading or Reading(), hold)
    repeated = repeated_names(found.schema.names)
    if repeated:
        raise SchemaError(f"{found.name} has several columns named {quoted(repeated)}. Next: rename all but one.")
    check_names(found.name, found.schema.names)
    return found


def engine_of(source: object) -> str:
    """Return the engine whose table a source is: "dask", "spark", or "local" for all others."""
    library = type(source).__module__
    if library.startswith("dask") and hasattr(source, "to_delayed"):
        return "dask"
    return "spark" if library.startswith("pyspark") and hasattr(source, "mapInArrow") else "local"


def _open(source: Any, reading: Reading, hold: bool = False) -> Source:
    if isinstance(source, str | Path) or _all_of(source, (str, Path)):
        return _open_paths(source, reading, hold)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str) and hasattr(source[0], "sql"):
        return replace(_open(source[0].sql(source[1]), reading), name="The query")
    engine = engine_of(source)
    if engine == "dask":  # whose parts are its partitions, as Spark's are
        return Source(
            "The Dask DataFrame", pa.Schema.from_pandas(source._meta, preserve_index=False), None, native=source
        )
    if engine == "spark":
        return Source("The Spark DataFrame", source.limit(0).toArrow().schema, None, native=source)
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "get_fragments"):
        options = {"batch_size": 1 << 14, "batch_readahead": 2, "fragment_readahead": 1}
        return Source("The dataset", source.schema, None, batches=lambda names: source.to_batches(names, **options))
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _open_lazy(source)
    if hasattr(source, "to_arrow_reader") or hasattr(source, "fetch_arrow_reader"):
        return _open_relation(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source)
    if isinstance(source, Iterator) or _all_of(source, (pa.RecordBatch, pa.Table)):
        return _open_batches(source)
    raise DataError(
        f"A {type(source).__name__} is no table that can be read in parts. Next: give the name of a Parquet, Arrow or "
        "CSV file, a pattern or folder, an Arrow dataset or stream, a polars LazyFrame, or a DuckDB relation."
    )


def _all_of(source: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(item, kinds) for item in source)


def _open_paths(source: Given, reading: Reading, hold: bool) -> Source:
    paths, folder = find_files(source)
    name = str(source) if isinstance(source, str | Path) else f"{paths[0]} and the others"
    kinds = set(map(file_kind, paths))
    if len(kinds) > 1:
        several = ", ".join(sorted(kinds))
        raise SourceError(f"{name!r} means files of several formats, {several}. Next: name those of one format.")
    for path in paths:
        check_readable(path)
    kind = kinds.pop()
    if kind in OF_TEXT:
        table = CsvTable(paths, reading, hold)
        return Source(repr(name), table.schema, None, batches=table.batches, csv=table)
    spaces = Spaces() if reading.trim else None
    schema, rows, parts = open_files(paths, kind, folder, spaces)
    index = of_index(repr(name), schema.names, reading.wanted)
    schema = pa.schema([field for field in schema if field.name not in index])
    return Source(repr(name), schema, rows, parts, spaces=spaces)


def _open_lazy(frame: Any) -> Source:
    """Read a polars LazyFrame: only the columns asked for, in batches where this version of polars can."""

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        chosen = frame.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            frames = chosen.collect_batches(chunk_size=BATCH, maintain_order=True)
        else:
            frames = [chosen.collect()]
        return (batch for part in frames for batch in part.to_arrow().to_batches())

    return Source("The LazyFrame", frame.head(0).collect().to_arrow().schema, None, batches=read)


def _open_relation(relation: Any) -> Source:
    """Read a DuckDB relation as an Arrow stream of the columns asked for."""

    def reader(chosen: Any) -> pa.RecordBatchReader:
        method = "to_arrow_reader" if hasattr(chosen, "to_arrow_reader") else "fetch_arrow_reader"
        return getattr(chosen, method)(BATCH)

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        return iter(reader(relation.project(names)))

    empty = reader(relation.limit(0))
    for _ in empty:  # an open result would block the connection
        pass
    return Source("The relation", empty.schema, None, batches=read)


def _open_stream(source: Any) -> Source:
    """Read what gives an Arrow stream; a frame in memory gives it as often as asked, a reader once."""
    once = isinstance(source, pa.RecordBatchReader)
    reader = source if once else pa.RecordBatchReader.from_stream(source)

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        batches = source if once else pa.RecordBatchReader.from_stream(source)
        return (batch.select(list(columns)) for batch in batches)

    rows = None if once or not isinstance(source, Sized) else len(source)
    return Source("The stream" if once else "The table", reader.schema, rows, batches=read, once=once)


def _open_batches(source: Iterable[Rows]) -> Source:
    """Read an iterator or a list of record batches or tables."""
    first = next(iter(source), None)
    if first is None:
        raise SourceError.no_rows("The stream")
    if not isinstance(first, pa.RecordBatch | pa.Table):
        raise DataError(f"The iterator gave a {type(first).__name__}. Next: let it give pyarrow record batches.")
    once = isinstance(source, Iterator)

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        for item in itertools.chain([first], source) if once else source:
            chosen = item.select(list(columns))
            yield from chosen.to_batches() if isinstance(item, pa.Table) else [chosen]

    return Source("The stream", first.schema, None, batches=read, once=once)
