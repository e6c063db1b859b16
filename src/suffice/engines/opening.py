"""Sources a table can be read from: files, Arrow streams, lazy frames, database relations.

`open_source` returns a `Source`: the types of its columns, the number of rows where that is known without reading them,
and its parts. Polars and DuckDB objects come to us; neither library is imported.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ..errors import DataError, SchemaError, SourceError, quoted
from ..schema import repeated_names
from .arrow import Rows, Table, check_names
from .csv_table import CsvTable, Reading
from .files import Given, open_files, without_spaces
from .sources import Source

BATCH = 1 << 16  # rows that other libraries give at a time


def open_source(source: object, reading: Reading | None = None) -> Source:
    """Return a source as one that is read in parts; see `fit_table` for what it may be.

    `reading` says what is known of the columns of a CSV.

    SourceError, naming the file, where it cannot be read or where files of one table differ in a column.
    """
    if isinstance(source, Source):
        return source
    found = _open(source, reading or Reading())
    repeated = repeated_names(found.schema.names)
    if repeated:
        raise SchemaError(f"{found.name} has several columns named {quoted(repeated)}. Next: rename all but one.")
    check_names(found.name, found.schema.names)
    return found


def engine_of(source: object) -> str:
    """Return the engine whose table a source is: "dask", "spark", or "local" for all others."""
    way = _way(source)
    return "local" if way is None else way.engine


def _open(source: Any, reading: Reading) -> Source:
    if isinstance(source, str | Path) or _all_of(source, (str, Path)):
        return _open_paths(source, reading)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str) and hasattr(source[0], "sql"):
        found = _open(source[0].sql(source[1]), reading)
        return replace(found, name="The query")
    way = _way(source)
    if way is not None:
        return way.open(source)
    if isinstance(source, Iterator) or _all_of(source, (pa.RecordBatch, pa.Table)):
        return _open_batches(source)
    raise DataError(
        f"A {type(source).__name__} is no table that can be read in parts. Next: give the name of a Parquet, Arrow or "
        "CSV file, a pattern or folder, an Arrow dataset or stream, a polars LazyFrame, or a DuckDB relation."
    )


def _all_of(source: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(item, kinds) for item in source)


def _open_paths(source: Given, reading: Reading) -> Source:
    found = open_files(source)
    if found.csv:
        table = CsvTable(found.csv, reading)
        return Source(found.name, table.schema, None, batches=table.batches, share=table.meter.share, csv=table)
    if not reading.trim or repeated_names(found.schema.names):
        return Source(found.name, found.schema, found.rows, found.parts)
    found, spaces = without_spaces(found)
    return Source(found.name, found.schema, found.rows, found.parts, spaces=spaces)


def _open_dataset(dataset: Any) -> Source:
    def read(columns: Sequence[str]) -> Iterator[Rows]:
        options = {"batch_size": 1 << 14, "batch_readahead": 2, "fragment_readahead": 1}
        return iter(dataset.to_batches(columns=list(columns), **options))

    return Source("The dataset", dataset.schema, None, batches=read)


def _open_lazy(frame: Any) -> Source:
    """Read a polars LazyFrame: only the columns asked for, in batches where this version of polars can."""

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        chosen = frame.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            frames = chosen.collect_batches(chunk_size=BATCH, maintain_order=True)
        else:
            frames = [_collected(chosen)]
        return (batch for part in frames for batch in part.to_arrow().to_batches())

    return Source("The LazyFrame", frame.head(0).collect().to_arrow().schema, None, batches=read)


def _collected(frame: Any) -> Any:
    try:
        return frame.collect(engine="streaming")
    except ValueError:  # polars before 1.25.2 knows no such engine
        return frame.collect()


def _open_relation(relation: Any, old: bool = False) -> Source:
    """Read a DuckDB relation as an Arrow stream of the columns asked for."""

    def reader(chosen: Any) -> pa.RecordBatchReader:
        return chosen.fetch_arrow_reader(BATCH) if old else chosen.to_arrow_reader(BATCH)

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        return iter(reader(relation.project(names)))

    empty = reader(relation.limit(0))
    schema = empty.schema
    for _ in empty:  # an open result would block the connection
        pass
    return Source("The relation", schema, None, batches=read)


def _open_stream(source: object) -> Source:
    """Read what gives an Arrow stream; a frame in memory gives it as often as asked, a reader once."""
    once = isinstance(source, pa.RecordBatchReader)
    reader: pa.RecordBatchReader = source if once else pa.RecordBatchReader.from_stream(source)

    def read(columns: Sequence[str]) -> Iterator[Rows]:
        batches: pa.RecordBatchReader = source if once else pa.RecordBatchReader.from_stream(source)
        return (batch.select(list(columns)) for batch in batches)

    rows = None if once or not isinstance(source, Sized) else len(source)
    return Source("The stream" if once else "The table", reader.schema, rows, batches=read, once=once)


def _open_batches(source: Iterable[Table]) -> Source:
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


def _open_dask(frame: object) -> Source:
    from . import dask

    return dask.open_frame(frame)


def _open_spark(frame: object) -> Source:
    from . import spark

    return spark.open_frame(frame)


class Way(NamedTuple):
    """How the tables of a library are known and opened: what its name begins with ("" for any), and their methods."""

    library: str
    methods: tuple[str, ...]
    open: Callable[[Any], Source]
    engine: str = "local"


WAYS = (
    Way("pyarrow", ("get_fragments",), _open_dataset),
    Way("dask", ("to_delayed",), _open_dask, "dask"),
    Way("pyspark", ("mapInArrow",), _open_spark, "spark"),
    Way("", ("collect_schema", "collect"), _open_lazy),
    Way("", ("to_arrow_reader",), _open_relation),
    Way("", ("fetch_arrow_reader",), partial(_open_relation, old=True)),
    Way("", ("__arrow_c_stream__",), _open_stream),
)


def _way(source: object) -> Way | None:
    library = type(source).__module__
    for way in WAYS:
        if library.startswith(way.library) and all(hasattr(source, name) for name in way.methods):
            return way
    return None
