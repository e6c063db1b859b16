"""Strip spaces of text columns, and count how many cells had some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import np
from .._spaces import SPACES, trimmed_names
from ..errors import quoted
from .arrow import Column, Table, how_many, is_text


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
            self.cells[name] += how_many(pc.not_equal(texts(kept), texts(cells)))
        return kept

    def read(self, part: str, spaces: Spaces) -> None:
        """Take in what was found in a whole part."""
        self._parts[part] = spaces.cells

    def only(self, columns: Sequence[str]) -> Spaces:
        """Return what is known of the cells of these columns, and of all names."""
        found = Spaces()
        found.cells, found.names = Counter({name: self.cells[name] for name in columns if self.cells[name]}), self.names
        return found

    def trim_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return names of columns without the spaces around them, as far as they stay apart."""
        short = trimmed_names(names)
        self.names += [own for own, name in zip(short, names, strict=True) if own != name and own not in self.names]
        return short

    def trim_table(self, table: Table, as_is: Callable[[str], bool]) -> Table:
        """Return a table, its names and texts without the spaces around them; columns that are `as_is` stay so."""
        names = self.trim_names(table.column_names)
        pairs = zip(table.columns, names, strict=True)
        columns = [cells if as_is(name) else self.trim(cells, name) for cells, name in pairs]
        found: Table = pa.table(columns, names=list(names))
        return found

    def __str__(self) -> str:
        """Return what was taken away, "" for nothing."""
        total = sum([*self._parts.values()], self.cells)
        places = ", ".join(f"{name!r} ({_cells(times)})" for name, times in sorted(total.items()))
        parts = [f"in {places}"] if places else []
        if self.names:
            parts.append(f"in the name{'' if len(self.names) == 1 else 's'} of {quoted(self.names)}")
        return f"spaces around texts were taken away {' and '.join(parts)}" if parts else ""


def trim(cells: Column) -> Column:
    """Return cells of any type, texts without the spaces around them; the same object where there are none."""
    kind = cells.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return _trim_dictionary(cells)
    if not is_text(kind):
        return cells
    if not any(map(_may_have_spaces, cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells])):
        return cells
    short: Column = pc.utf8_trim(cells, characters=SPACES)
    return cells if _bytes([short]) == _bytes([cells]) else short


def _may_have_spaces(cells: Any) -> bool:
    """Return whether some byte of these texts is no printed sign of ASCII: looking takes a tenth of trimming."""
    letters = cells.buffers()[2]
    if letters is None or not letters.size:
        return False
    values = np.frombuffer(letters, np.uint8)
    return bool(values.min() <= ord(" ") or values.max() >= 0x7F)


def _trim_dictionary(cells: Column) -> Column:
    """Return coded texts without spaces around them; those that become alike have one code."""
    chunks: list[Any] = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if all(trim(chunk.dictionary) is chunk.dictionary for chunk in chunks):
        return cells
    kind = cells.type
    coded = [pc.dictionary_encode(trim(chunk.dictionary.take(chunk.indices))) for chunk in chunks]
    again = pa.chunked_array(coded).cast(pa.dictionary(pa.int32(), kind.value_type))
    found: Column = again if isinstance(cells, pa.ChunkedArray) else again.combine_chunks()
    return found


def texts(cells: Column) -> Column:
    """Return coded texts as texts, others as they are."""
    kind = cells.type
    found: Column = cells.cast(kind.value_type) if pa.types.is_dictionary(kind) else cells
    return found


def _bytes(columns: Iterable[Column]) -> int:
    return sum(int(pc.sum(pc.binary_length(cells)).as_py() or 0) for cells in columns)


def _cells(times: int) -> str:
    return f"{times:,} cell{'' if times == 1 else 's'}"
