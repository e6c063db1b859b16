"""Tables without column names: arrays, also of other libraries, lists of rows, and SciPy sparse matrices.

Cells of sparse matrices that are not stored are zeros. Families of counts read them as they are. All others read every
cell, and get these columns dense, if memory allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from functools import cached_property
from typing import Any

from .._arrays import Array, Codes, check_bytes, np, sparse
from .._arrays_api import DeviceArray, blocks, fetch, namespace, plain, put, wide_float
from ..errors import DataError, SchemaError, either, quoted, shown
from ..schema import Column, Kind, Level, Name, Schema, unnamed_schema
from .cells import (
    LARGEST,
    Cells,
    Coded,
    Holes,
    as_float,
    both_truths,
    check_finite,
    factorize,
    factorize_integers,
    fill_masked,
    object_kind,
    refuse_large,
)
from .dates import MAY_DATE, factorize_dates, form_of, read_seconds
from .writing import fill_array


class ArrayTable:
    """A 2-D array (or list of rows) whose columns have no names."""

    def __init__(self, X: object) -> None:
        self._values = _check_array(fill_masked(_rectangle(X)))
        self._coded: list[Coded | None] | None = None
        self.rows, d = self._values.shape
        kinds = _array_kinds(self._values)
        if len(set(kinds)) == 1 and kinds[0] is not Kind.DATE:
            self.schema = unnamed_schema(d, kinds[0], "numpy")
        else:
            forms = [form_of(self._values[:, j]) if kind is Kind.DATE else "" for j, kind in enumerate(kinds)]
            self.schema = Schema(tuple(Column(j, kinds[j], form=forms[j]) for j in range(d)), named=False)

    def numeric(self, positions: Sequence[int]) -> Array:
        every = list(positions) == list(range(len(self.schema)))
        names = [self.schema.names[p] for p in positions]
        values = self._values if every else self._values[:, list(positions)]
        if values.dtype.kind in "MUO" and any(self.schema.columns[p].kind in MAY_DATE for p in positions):
            block = np.column_stack([read_seconds(own, name) for own, name in zip(values.T, names, strict=True)])
        else:
            block = as_float(values, names)
        check_finite(block, names)
        return block

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        if self._values.dtype.kind in "iu" and self._coded is None:
            self._coded = factorize_integers(self._values)  # all columns at once, while their rows are in cache
        if self._values.dtype.kind == "M" or self.schema.columns[position].kind is Kind.DATE:
            return factorize_dates(read_seconds(self._values[:, position], self.schema.names[position]))
        coded = self._coded[position] if self._coded else None
        levels, codes = coded or factorize(self._values[:, position], self.schema.names[position])
        return both_truths(levels, codes) if self.schema.columns[position].kind is Kind.BOOLEAN else (levels, codes)

    def some(self, position: int, most: int) -> Cells:
        """Return at most so many cells of a column, from all over it."""
        return self._values[:: max(1, self.rows // most), position][:most]

    def fill(self, holes: Holes) -> Cells:
        return fill_array(self._values, holes)


def _rectangle(X: Any) -> Cells:
    """Return an array; rows that mix text and numbers keep their Python values instead of all becoming text."""
    if hasattr(X, "__array__"):
        return np.asanyarray(X)
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
    check_plane(values.ndim, np.iscomplexobj(values))
    if values.dtype.kind == "m":
        raise SchemaError.temporal(0, values.dtype)
    if values.dtype.kind == "V":
        raise SchemaError.unsupported(0, values.dtype)
    return values


def check_plane(dimensions: int, imaginary: bool) -> None:
    """Raise DataError, in the words of scikit-learn, for an array that is not of two dimensions, or not real."""
    if dimensions != 2:
        raise DataError(
            f"Expected 2D array, got {dimensions}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has one column or array.reshape(1, -1) if it has one row."
        )
    if imaginary:
        raise DataError("Complex data not supported. Next: model the real and imaginary parts as two columns.")


def _array_kinds(values: Cells) -> list[Kind]:
    if values.dtype.kind == "O":
        return [object_kind(values[:, j], j) for j in range(values.shape[1])]
    kinds = {"b": Kind.BOOLEAN, "U": Kind.STRING, "S": Kind.STRING, "T": Kind.STRING, "M": Kind.DATE}
    found = [kinds.get(values.dtype.kind, Kind.NUMERIC)] * values.shape[1]
    if values.dtype.kind in "fM" and len(values):
        for j in np.flatnonzero(values[0] != values[0]):  # a column with a value in its first cell is not empty
            if (values[:, j] != values[:, j]).all():
                found[j] = Kind.EMPTY
    return found


class ContainerError(DataError, TypeError):
    """A container of the wrong type; scikit-learn expects a TypeError here."""


class SparseTable:
    """A sparse matrix (n, d), kept in rows (CSR)."""

    def __init__(self, X: sparse.csr_array) -> None:
        if X.ndim != 2:
            raise DataError(f"Expected 2D array, got {X.ndim}D sparse array instead. Next: pass rows and columns.")
        if X.dtype.kind not in "biuf":
            raise DataError(f"The sparse matrix holds values of type {X.dtype}. Next: convert them to numbers.")
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy() if rows is X else rows
            rows.sum_duplicates()
        if rows.dtype.kind == "f" and not np.isfinite(np.einsum("i,i->", rows.data, rows.data)):
            _refuse_odd(rows)
        self._rows = rows
        self.rows = int(rows.shape[0])
        kind = Kind.BOOLEAN if rows.dtype.kind == "b" else Kind.NUMERIC
        self.schema = unnamed_schema(int(rows.shape[1]), kind, "sparse")

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """The matrix (d, n) of columns as rows."""
        return self._rows.T.tocsr()

    def sparse(self, positions: Sequence[int]) -> sparse.csr_array:
        """Return these columns as a sparse array (n, d) of numbers."""
        every = tuple(positions) == tuple(range(len(self.schema)))
        rows = self._rows if every else self._rows[:, list(positions)]
        if rows.dtype != np.bool_:
            return rows
        counted = sparse.csr_array((rows.data.view(np.int8), rows.indices, rows.indptr), shape=rows.shape)
        counted.has_canonical_format = True
        return counted

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d); DataError where that would take too much memory."""
        n, d = self.rows, len(positions)
        check_bytes(  # before anything is allocated
            8 * n * d,
            f"This sparse matrix as numbers of {n:,} rows and {d:,} columns, every cell of which this model reads,",
            "use NaiveBayes with the family 'multinomial', 'bernoulli' or 'poisson' for all columns, which stays "
            "sparse; pass fewer rows at a time (partial_fit, predict_proba); or have fewer levels (min_frequency of "
            "OneHotEncoder)",
        )
        return self.sparse(positions).astype(np.float64, copy=False).toarray()

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        """Return the sorted levels of a column, 0 where a cell is not stored, and a code per row (n,)."""
        column = self._columns[[position]].toarray()[0]
        levels, codes = factorize(column, position)
        return both_truths(levels, codes) if column.dtype.kind == "b" else (levels, codes)

    def fill(self, holes: Holes) -> object:
        """Return a copy: a sparse matrix has no holes."""
        return self._rows.copy()


def _refuse_odd(rows: sparse.csr_array) -> None:
    """Raise DataError naming a column with NaN, infinity, or numbers as large as dense tables refuse."""
    finite = np.isfinite(rows.data)
    if not finite.all():
        column = int(rows.indices[int(np.argmin(finite))])
        raise DataError(
            f"Input X contains NaN or infinity in column {column} of a sparse matrix, where cells that are not "
            "stored are zeros. Next: correct those cells."
        )
    large = np.abs(rows.data) > np.float64(LARGEST)
    if large.any():
        raise DataError.overflowing([int(rows.indices[int(np.argmax(large))])])


# ── Arrays of other libraries (PyTorch, CuPy), which stay where they live ─────────────────────────────────────────────


class DeviceTable:
    """A 2-D array of real numbers (n, d) of another library."""

    def __init__(self, X: Any) -> None:
        xp = namespace(X)
        check_plane(X.ndim, xp.isdtype(X.dtype, "complex floating"))
        self._values = plain(X)
        self.rows = int(X.shape[0])
        kind = Kind.BOOLEAN if xp.isdtype(X.dtype, "bool") else Kind.NUMERIC
        self.schema = unnamed_schema(int(X.shape[1]), kind, "numpy")

    def resident(self, positions: Sequence[int]) -> Any:
        """Return these columns (n, d) where they live; DataError names columns with missing cells or infinity."""
        xp, values = namespace(self._values), self._values
        if list(positions) != list(range(len(self.schema))):
            values = xp.take(values, put(np.array(positions, dtype=np.int64), values), axis=1)
        if not xp.isdtype(values.dtype, "real floating"):
            values = xp.astype(values, wide_float(values))
        self._check(values, [self.schema.names[p] for p in positions])
        return values

    @staticmethod
    def _check(values: DeviceArray, names: Sequence[Name]) -> None:
        xp = namespace(values)
        for part in blocks(values):
            cells = xp.astype(values[part, ...], wide_float(values))
            with np.errstate(over="ignore", invalid="ignore"):  # for libraries that are NumPy within
                if bool(xp.isfinite(xp.sum(cells * cells))):  # one cheap pass settles the common case
                    continue
            empty = np.flatnonzero(fetch(xp.any(xp.isnan(cells), axis=0)))
            if len(empty):
                raise DataError(
                    f"Cells are missing{either(' (NaN)', '')} in {quoted([names[int(j)] for j in empty])}, and on "
                    "another device only complete rows are worked on. Next: fill them in, or pass the rows as a NumPy "
                    "array, which may miss cells."
                )
            largest = fetch(xp.max(xp.abs(cells), axis=0))
            refuse_large(names, np.isinf(largest), largest > LARGEST)

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns on the CPU, for families that know no device."""
        return self._here().numeric(positions)

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        """Return the levels of a column and their codes, on the CPU."""
        return self._here().categories(position)

    def fill(self, holes: Holes) -> Cells:
        """Return a NumPy array with these cells filled."""
        return self._here().fill(holes)

    def _here(self) -> ArrayTable:
        return ArrayTable(fetch(self._values))
