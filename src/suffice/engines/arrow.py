"""What is used of pyarrow's tables, columns and types, for a type checker: pyarrow comes without types of its own.

And what is asked of columns in several places.
"""

# ruff: noqa: D102 - the names are those of pyarrow

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import NDArray, np
from ..errors import SourceError

AS_WRITTEN = "\0"  # in front of the name of a column that is asked for so; no name begins with it: `check_names`


class DataType(Protocol):
    """The type of a column."""

    value_type: DataType  # of a dictionary or list


class Field(Protocol):
    """The name and the type of a column."""

    name: str
    type: DataType


class Schema(Protocol):
    """The fields of a table."""

    names: list[str]

    def field(self, name: str) -> Field: ...
    def get_field_index(self, name: str) -> int: ...
    def append(self, field: Field) -> Schema: ...
    def __iter__(self) -> Iterator[Field]: ...
    def __len__(self) -> int: ...


class Scalar(Protocol):
    """A cell."""

    def as_py(self) -> Any: ...


class Column(Protocol):
    """The cells of a column: an array, or several of them."""

    type: DataType
    null_count: int

    def cast(self, target_type: DataType, safe: bool = True) -> Self: ...
    def drop_null(self) -> Self: ...
    def filter(self, mask: Column) -> Self: ...
    def slice(self, offset: int, length: int | None = None) -> Self: ...
    def take(self, indices: Sequence[int] | NDArray[np.generic]) -> Self: ...
    def to_numpy(self) -> NDArray[Any]: ...
    def to_pylist(self) -> list[Any]: ...
    def unique(self) -> Column: ...
    def value_counts(self) -> Column: ...
    def __getitem__(self, place: int) -> Scalar: ...
    def __len__(self) -> int: ...


class Rows(Protocol):
    """A record batch or a table."""

    columns: list[Column]
    nbytes: int
    num_rows: int
    schema: Schema

    def column(self, name: str) -> Column: ...
    def filter(self, mask: Column) -> Self: ...
    def select(self, columns: Sequence[str]) -> Self: ...
    def slice(self, offset: int, length: int | None = None) -> Self: ...
    def to_pylist(self) -> list[dict[str, Any]]: ...
    def validate(self, *, full: bool) -> None: ...


class Table(Rows, Protocol):
    """A table."""

    column_names: list[str]
    num_columns: int

    def add_column(self, place: int, name: str, column: Column) -> Table: ...
    def append_column(self, name: str, column: Column) -> Table: ...
    def drop_columns(self, columns: str | Iterable[str]) -> Table: ...
    def drop_null(self) -> Table: ...
    def rename_columns(self, names: list[str]) -> Table: ...
    def set_column(self, place: int, name: str, column: Column) -> Table: ...
    def take(self, indices: Sequence[int] | NDArray[np.generic]) -> Table: ...
    def to_batches(self) -> list[Rows]: ...
    def __getitem__(self, name: str) -> Column: ...


def is_number(kind: DataType) -> bool:
    """Return whether cells are integers or floats."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_text(kind: DataType) -> bool:
    """Return whether cells are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def decoded(column: Column) -> Column:
    """Return a column with the cells of a dictionary in its place."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def missing(column: Column) -> Column:
    """Return which cells are null or NaN."""
    found: Column = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return found


def how_many(truths: Column) -> int:
    """Return how many cells are true."""
    return int(pc.sum(truths).as_py() or 0)


def together(tables: Sequence[Table]) -> Table:
    """Return the rows of tables of the same columns; where their types differ, dictionaries are written out."""
    if any(table.schema != tables[0].schema for table in tables):
        tables = [pa.table(list(map(decoded, own.columns)), names=own.column_names) for own in tables]
    whole: Table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    return whole


def as_written(name: str) -> str:
    """Return the name by which a file gives a column as it stands: of a CSV its text, else texts with their spaces."""
    return AS_WRITTEN + name


def check_names(where: str, names: Iterable[str]) -> None:
    """Raise SourceError where a column's own name would read as one that asks for another as it is written."""
    for name in names:
        if name.startswith(AS_WRITTEN):
            raise SourceError.begins_with_nul(where, name)
