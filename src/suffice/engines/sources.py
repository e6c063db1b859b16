"""The protocol of a table read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .._dialect import Dialect
from ..errors import DataError, SourceError
from .arrow import Rows, Schema, Table, as_written
from .csv_table import CsvTable
from .parts import UNREADABLE, FilePart, HeldPart, Part, checked, regular
from .spaces import Spaces


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
    share: Callable[[], float] | None = None  # of a text whose rows nobody has counted: how much of it is read
    csv: CsvTable | None = None  # which knows how it is written
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
        kinds = [pa.float64() if pa.types.is_null(field.type) else field.type for field in fields]
        empty: Table = pa.schema(list(zip(columns, kinds, strict=True))).empty_table()
        return empty

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
