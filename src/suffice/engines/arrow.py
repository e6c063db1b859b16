"""What is asked of pyarrow's tables and columns in several places, and spaces around texts taken away and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import np
from .._dialect import SPACES, trimmed_names
from ..errors import SourceError, quoted, shown

# pyarrow comes without types: these names are for readers, and for a type checker anything.
DataType: TypeAlias = pa.DataType
Field: TypeAlias = pa.Field
Schema: TypeAlias = pa.Schema
Column: TypeAlias = pa.Array  # or a chunked one
Rows: TypeAlias = pa.RecordBatch  # or a table
Table: TypeAlias = pa.Table
AS_WRITTEN = "\0"  # in front of the name of a column that is asked for so; no name begins with it: `check_names`


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
    return pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))


def how_many(truths: Column) -> int:
    """Return how many cells are true."""
    return int(pc.sum(truths).as_py() or 0)


def together(tables: Sequence[Table]) -> Table:
    """Return the rows of tables of the same columns; where their types differ, dictionaries are written out."""
    if any(table.schema != tables[0].schema for table in tables):
        tables = [pa.table(list(map(decoded, own.columns)), names=own.column_names) for own in tables]
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def as_written(name: str) -> str:
    """Return the name by which a file gives a column as it stands: of a CSV its text, else texts with their spaces."""
    return AS_WRITTEN + name


def check_names(where: str, names: Iterable[str]) -> None:
    """Raise SourceError where a column's own name would read as one that asks for another as it is written."""
    for name in names:
        if name.startswith(AS_WRITTEN):
            raise SourceError(
                f"{where} has a column whose name begins with the character NUL: {shown(name)}. Next: rename it."
            )


def check_alike(first: str, columns: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Raise SourceError where one of two files, by their paths, lacks a column that the other has."""
    here, there = dict.fromkeys(columns), dict.fromkeys(others)
    lacking = [name for name in here if name not in there]
    if lacking:
        raise SourceError.columns_missing(repr(other), lacking, others, "as the other files have")
    lacking = [name for name in there if name not in here]
    if lacking:
        raise SourceError.columns_missing(repr(first), lacking, columns, f"as {other!r} has")


class Spaces:
    """How many cells of each column, and which names, had spaces around them; a copy in another process counts alone.

    `cells` counts cells by the name of their column, `names` are those of columns. Parts of a table may be read again,
    and by many threads: those that `read` tells of count once.
    """

    def __init__(self) -> None:
        self.cells: Counter[str] = Counter()
        self.names: list[str] = []
        self._parts: dict[str, Counter[str]] = {}

    def __reduce__(self) -> tuple[type[Spaces], tuple[()]]:
        return Spaces, ()

    def trim(self, cells: Column, name: str) -> Column:
        """Return cells of any type, texts without the spaces around them."""
        kept = trim(cells)
        if kept is not cells:
            self.cells[name] += how_many(pc.not_equal(decoded(kept), decoded(cells)))
        return kept

    def read(self, part: str, spaces: Spaces) -> None:
        """Take in what was found in a whole part."""
        self._parts[part] = spaces.cells

    def trim_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return names of columns without the spaces around them, as far as they stay apart."""
        short = trimmed_names(names)
        self.names += [own for own, name in zip(short, names, strict=True) if own != name and own not in self.names]
        return short

    def __str__(self) -> str:
        """Return what was taken away, "" for nothing."""
        total = +sum([*self._parts.values()], self.cells)
        cells = (f"{name!r} ({times:,} cell{'' if times == 1 else 's'})" for name, times in sorted(total.items()))
        parts = [f"in {', '.join(cells)}"] if total else []
        if self.names:
            parts.append(f"in the name{'' if len(self.names) == 1 else 's'} of {quoted(self.names)}")
        return f"spaces around texts were taken away {' and '.join(parts)}" if parts else ""


def trim(cells: Column) -> Column:
    """Return cells of any type, texts without the spaces around them; the same object where there are none."""
    kind, chunks = cells.type, cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        if all(trim(chunk.dictionary) is chunk.dictionary for chunk in chunks):
            return cells
        # Texts that become alike have one code.
        coded = [pc.dictionary_encode(trim(chunk.dictionary.take(chunk.indices))) for chunk in chunks]
        again = pa.chunked_array(coded).cast(pa.dictionary(pa.int32(), kind.value_type))
        return again if isinstance(cells, pa.ChunkedArray) else again.combine_chunks()
    if not is_text(kind) or not any(map(_may_have_spaces, chunks)):
        return cells
    short = pc.utf8_trim(cells, characters=SPACES)
    return cells if _bytes(short) == _bytes(cells) else short


def _may_have_spaces(cells: Column) -> bool:
    """Return whether some byte of these texts is no printed sign of ASCII: looking takes a tenth of trimming."""
    letters = cells.buffers()[2]
    if letters is None or not letters.size:
        return False
    values = np.frombuffer(letters, np.uint8)
    return bool(values.min() <= ord(" ") or values.max() >= 0x7F)


def _bytes(cells: Column) -> int:
    return int(pc.sum(pc.binary_length(cells)).as_py() or 0)
