"""A table of a model's columns in which few cells are known, read without ever being built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, NDArray, np
from ..schema import Kind, Level, Schema
from ..table import Holes, factorize
from ..table.categories import both_truths


@dataclass(frozen=True, slots=True)
class Known:
    """The cells of one column that are known: their rows, and their values (m,) as a user has them."""

    rows: slice
    values: NDArray[np.generic]


@dataclass(slots=True)
class KnownCells:
    """A table with the columns of a schema, in which all cells miss but those in `known`, by position."""

    schema: Schema
    rows: int
    known: Mapping[int, Known]

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d), NaN where missing."""
        block = np.full((self.rows, len(positions)), np.nan)
        for j, position in enumerate(positions):
            own = self.known.get(position)
            if own is not None:
                block[own.rows, j] = own.values.astype(np.float64)
        return block

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        """Return the sorted levels of a column and a code per row (n,), −1 where missing."""
        codes = np.full(self.rows, -1, dtype=np.int32)
        own, column = self.known.get(position), self.schema.columns[position]
        if own is None:
            return (), codes
        if column.kind is Kind.BOOLEAN:
            levels, found = both_truths(*factorize(own.values.astype(bool), column.name))
        else:
            values = own.values if column.kind.is_label else own.values.astype(np.float64)
            levels, found = factorize(values, column.name)
        codes[own.rows] = found
        return levels, codes

    def fill(self, holes: Holes) -> object:
        """There is no table to fill."""
        raise NotImplementedError("a table that was never built")
