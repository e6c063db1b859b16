"""Tables without column names: arrays and lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import DataError, SchemaError, shown
from ..schema import Column, Kind, Level, Schema, unnamed_schema
from .categories import both_truths, factorize, factorize_integers
from .cells import as_float, check_finite, object_kind
from .types import Cells, Coded
from .writing import Holes, fill_array


class ArrayTable:
    """A 2-D array (or list of rows) whose columns have no names."""

    def __init__(self, X: object) -> None:
        values = _fill_masked(X) if isinstance(X, np.ma.MaskedArray) else _rectangle(X)
        self._values = _check_array(values)
        self._coded: list[Coded | None] | None = None
        self.rows, d = self._values.shape
        kinds = _array_kinds(self._values)
        if len(set(kinds)) == 1:
            self.schema = unnamed_schema(d, kinds[0], "numpy")
        else:
            self.schema = Schema(tuple(Column(j, kinds[j]) for j in range(d)), named=False)

    def numeric(self, positions: Sequence[int]) -> Array:
        every = list(positions) == list(range(len(self.schema)))
        values = self._values if every else self._values[:, list(positions)]
        names = self.schema.names
        own = [names[p] for p in positions]
        block = as_float(values, own)
        check_finite(block, own)
        return block

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        if self._values.dtype.kind in "iu" and self._coded is None:
            self._coded = factorize_integers(self._values)  # all columns at once, while their rows are in cache
        coded = self._coded[position] if self._coded else None
        levels, codes = coded or factorize(self._values[:, position], self.schema.names[position])
        return both_truths(levels, codes) if self.schema.columns[position].kind is Kind.BOOLEAN else (levels, codes)

    def fill(self, holes: Holes) -> Cells:
        return fill_array(self._values, holes)


def _rectangle(X: Any) -> Cells:
    """Return an array; rows that mix text and numbers keep their Python values instead of all becoming text."""
    if hasattr(X, "__array__"):
        return np.asarray(X)
    try:
        values = np.asarray(X)
    except ValueError:
        _refuse_ragged(X)
        values = np.asarray(X, dtype=object)
    if values.dtype.kind in "USO" and values.ndim == 2:
        kept = np.empty(values.shape, dtype=object)
        for i, row in enumerate(X):
            kept[i, :] = list(row)
        return kept
    return values


def _refuse_ragged(X: Iterable[object]) -> None:
    lengths = [len(row) if isinstance(row, Sized) else -1 for row in X]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise DataError(
            f"Row {odd} has {lengths[odd]} cells and the first row has {lengths[0]}. Next: give every row as many."
        )


def _check_array(values: Cells) -> Cells:
    if values.ndim == 0:
        what = f"{type(values.item()).__name__} {shown(values.item())}"
        raise DataError(f"Expected 2D array, got scalar array instead: {what}. Next: pass rows and columns.")
    if values.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has one column or array.reshape(1, -1) if it has one row."
        )
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported. Next: model the real and imaginary parts as two columns.")
    if values.dtype.kind in "mM":
        raise SchemaError.temporal(0, values.dtype)
    if values.dtype.kind == "V":
        raise SchemaError.unsupported(0, values.dtype)
    return values


def _fill_masked(X: Any) -> Cells:
    if X.dtype.kind in "fiu":
        filled: Cells = X.astype(np.float64).filled(np.nan)
        return filled
    values = np.asarray(X.data).astype(object)
    values[np.ma.getmaskarray(X)] = None
    return values


def _array_kinds(values: Cells) -> list[Kind]:
    if values.dtype.kind == "O":
        return [object_kind(values[:, j], j) for j in range(values.shape[1])]
    kinds = {"b": Kind.BOOLEAN, "U": Kind.STRING, "S": Kind.STRING, "T": Kind.STRING}
    found = [kinds.get(values.dtype.kind, Kind.NUMERIC)] * values.shape[1]
    if values.dtype.kind == "f" and len(values):
        for j in np.flatnonzero(np.isnan(values[0])):  # a column with a value in its first cell is not empty
            if np.isnan(values[:, j]).all():
                found[j] = Kind.EMPTY
    return found
