"""What a table can be read from, piece by piece: files, Arrow streams, lazy frames, relations of a database.

`open_source` returns a `Source`: the types of its columns, the number of rows where that is known without reading them,
and its parts. Polars and DuckDB objects come to us; neither library is imported.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import DataError, SchemaError, SourceError, quoted
from ..schema import repeated_names
from .csv_table import CsvTable, Reading, as_written
from .files import open_files
from .parts import UNREADABLE, FilePart, HeldPart, Part, checked, regular


@dataclass(frozen=True)
class Source:
    """A table that is read in parts.

    `schema` is a pyarrow schema, `rows` None where the number is not known beforehand. `files` are parts that another
    process can read; a stream has none, and `batches(columns)` reads it. `once` says that it can be read one time only.
    """

    name: str
    schema: Any
    rows: int | None
    files: tuple[FilePart, ...] = ()
    batches: Callable[[Sequence[str]], Iterator[Any]] | None = None
    once: bool = False
    identity: str = ""
    native: Any = None  # a table of the engine that is to read it
    share: Callable[[], float] | None = None  # of a text whose rows nobody has counted: how much of it is read
    relation: Any = None  # of DuckDB, which can add up by itself
    csv: CsvTable | None = None  # which knows how it is written

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

    def written(self, name: str) -> str:
        """Return the name by which a column comes cell by cell as it was written, where the source is text."""
        return name if self.csv is None else as_written(name)

    def declared(self, columns: Sequence[str]) -> Any:
        """Return a table of no rows with the types of these columns; one without a type is taken for numbers."""
        fields = [self.schema.field(name) for name in columns]
        kinds = [pa.float64() if pa.types.is_null(field.type) else field.type for field in fields]
        return pa.schema(list(zip(columns, kinds, strict=True))).empty_table()

    def check_columns(self, names: Sequence[str], role: str) -> None:
        """Raise SourceError for columns that are not there."""
        present = set(self.schema.names)
        missing = [name for name in names if name not in present]
        if missing:
            raise SourceError.columns_missing(self.name, missing, self.schema.names, role)


def open_source(source: Any, reading: Reading | None = None) -> Source:
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
    return found


def engine_of(source: Any) -> str:
    """Return the engine whose table a source is: "dask", "spark", or "local" for all others."""
    library = type(source).__module__.split(".")[0]
    if library in ("dask", "dask_expr") and hasattr(source, "to_delayed"):
        return "dask"
    return "spark" if library == "pyspark" and hasattr(source, "mapInArrow") else "local"


def _open(source: Any, reading: Reading) -> Source:
    if isinstance(source, str | Path) or _all_of(source, (str, Path)):
        return _open_paths(source, reading)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str) and hasattr(source[0], "sql"):
        return _open_relation(source[0].sql(source[1]), "The query")
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "get_fragments"):
        return _open_dataset(source)
    if engine_of(source) == "dask":
        from .dask import open_frame as open_dask

        return open_dask(source)
    if engine_of(source) == "spark":
        from .spark import open_frame as open_spark

        return open_spark(source)
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _open_lazy(source)
    if hasattr(source, "to_arrow_reader") or hasattr(source, "fetch_arrow_reader"):
        return _open_relation(source, "The relation")
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source)
    if isinstance(source, Iterator) or _all_of(source, (pa.RecordBatch, pa.Table)):
        return _open_batches(source)
    raise DataError(
        f"A {type(source).__name__} is no table that can be read in parts. Next: give the name of a Parquet, Arrow or "
        "CSV file, a pattern or folder, an Arrow dataset or stream, a polars LazyFrame, or a DuckDB relation."
    )


def _all_of(source: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(item, kinds) for item in source)


def _open_paths(source: Any, reading: Reading) -> Source:
    found = open_files(source)
    if found.csv:
        table = CsvTable(found.csv, reading)
        identity = _digest((*found.stamps, repr((reading.target, reading.labels, reading.declared))))
        return Source(
            found.name, table.schema, None, batches=table.batches, identity=identity, share=table.meter.share, csv=table
        )
    return Source(found.name, found.schema, found.rows, found.parts, identity=_digest(found.stamps))


def _digest(stamps: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(stamps).encode("utf-8", "surrogatepass")).hexdigest()


def _open_dataset(dataset: Any) -> Source:
    def read(columns: Sequence[str]) -> Iterator[Any]:
        options = {"batch_size": 1 << 14, "batch_readahead": 2, "fragment_readahead": 1}
        return iter(dataset.to_batches(columns=list(columns), **options))

    return Source("The dataset", dataset.schema, None, batches=read)


def _open_lazy(frame: Any) -> Source:
    """Read a polars LazyFrame: only the columns asked for, in batches where this version of polars can."""

    def read(columns: Sequence[str]) -> Iterator[Any]:
        chosen = frame.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            frames = chosen.collect_batches(chunk_size=1 << 16, maintain_order=True)
        else:
            frames = [_collected(chosen)]
        return (batch for part in frames for batch in part.to_arrow().to_batches())

    return Source("The LazyFrame", frame.head(0).collect().to_arrow().schema, None, batches=read)


def _collected(frame: Any) -> Any:
    try:
        return frame.collect(engine="streaming")
    except ValueError:  # polars before 1.25.2 knows no such engine
        return frame.collect()


def _open_relation(relation: Any, name: str) -> Source:
    """Read a DuckDB relation as an Arrow stream of the columns asked for."""

    def reader(chosen: Any) -> Any:
        name = "to_arrow_reader" if hasattr(chosen, "to_arrow_reader") else "fetch_arrow_reader"
        return getattr(chosen, name)(1 << 16)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        return iter(reader(relation.project(names)))

    empty = reader(relation.limit(0))
    schema = empty.schema
    for _ in empty:  # an open result would block the connection
        pass
    return Source(name, schema, None, batches=read, relation=relation)


def _open_stream(source: Any) -> Source:
    """Read what gives an Arrow stream; a frame in memory gives it as often as asked, a reader once."""
    once = isinstance(source, pa.RecordBatchReader)
    reader = source if once else pa.RecordBatchReader.from_stream(source)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        batches = source if once else pa.RecordBatchReader.from_stream(source)
        return (batch.select(list(columns)) for batch in batches)

    rows = None if once or not hasattr(source, "__len__") else len(source)
    return Source("The stream" if once else "The table", reader.schema, rows, batches=read, once=once)


def _open_batches(source: Any) -> Source:
    """Read an iterator or a list of record batches or tables."""
    first = next(iter(source), None)
    if first is None:
        raise SourceError.no_rows("The stream")
    if not isinstance(first, pa.RecordBatch | pa.Table):
        raise DataError(f"The iterator gave a {type(first).__name__}. Next: let it give pyarrow record batches.")
    once = isinstance(source, Iterator)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        for item in itertools.chain([first], source) if once else source:
            chosen = item.select(list(columns))
            yield from chosen.to_batches() if isinstance(item, pa.Table) else [chosen]

    return Source("The stream", first.schema, None, batches=read, once=once)
