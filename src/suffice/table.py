"""Read the columns of any table (NumPy, pandas, polars, pyarrow, lists) as numbers or as category codes.

Null and NaN are both missing: NaN in a numeric block, −1 in a code. Infinity is an error that names the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol

import narwhals.stable.v2 as nw

from ._arrays import Array, Codes, np, sparse
from .errors import DataError, SchemaError
from .schema import Column, Kind, Level, Name, Schema, sort_levels

INTEGER_SPAN = 4096  # integers within so small a range are counted directly, without sorting


class Table(Protocol):
    """A table that can be asked for its schema and for one or more of its columns."""

    schema: Schema
    rows: int

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d), NaN where missing."""
        ...

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        """Return the sorted levels of a column and a code per row (n,), −1 where missing."""
        ...


def read_table(X: Any) -> Table:
    """Return `X` as a Table: a 2-D array or list of rows, or any data frame that narwhals or Arrow can read."""
    if sparse.issparse(X):
        raise _TypeMismatch(
            "Sparse input is not supported here: a Gaussian needs every cell. Next: X.toarray() if it fits in memory."
        )
    if isinstance(X, np.ndarray | list | tuple) or not _is_frame(X):
        return _ArrayTable(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        frame = _from_arrow_stream(X)
    return _FrameTable(frame)


class _TypeMismatch(DataError, TypeError):
    """A container of the wrong type; scikit-learn expects a TypeError here."""


def _is_frame(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and not hasattr(X, "__array_interface__"))


def _from_arrow_stream(X: Any) -> nw.DataFrame[Any]:
    try:
        return nw.from_arrow(X, backend="pyarrow")
    except (TypeError, ModuleNotFoundError) as error:
        raise _TypeMismatch(
            f"X is a {type(X).__name__}, which cannot be read as a table in memory. "
            "Next: collect it into a pandas, polars or pyarrow table, or a NumPy array."
        ) from error


# --- arrays ----------------------------------------------------------------------------------------------------------


class _ArrayTable:
    """A 2-D array (or list of rows) whose columns have no names."""

    def __init__(self, X: Any) -> None:
        values = np.asarray(X) if not isinstance(X, np.ma.MaskedArray) else _fill_masked(X)
        self._values = _check_array(values)
        self.rows, d = self._values.shape
        kinds = _array_kinds(self._values)
        self.schema = Schema(tuple(Column(j, kinds[j]) for j in range(d)), named=False)

    def numeric(self, positions: Sequence[int]) -> Array:
        every = list(positions) == list(range(len(self.schema)))
        values = self._values if every else self._values[:, list(positions)]
        block = _as_float(values, [self.schema.names[p] for p in positions])
        check_finite(block, [self.schema.names[p] for p in positions])
        return block

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        return factorize(self._values[:, position], self.schema.names[position])


def _check_array(values: Any) -> Any:
    if values.ndim == 0:
        raise DataError(f"Expected 2D array, got scalar array instead: {values!r}. Next: pass rows and columns.")
    if values.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has one column or array.reshape(1, -1) if it has one row."
        )
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported. Next: model the real and imaginary parts as two columns.")
    if values.dtype.kind in "mM":
        raise SchemaError.temporal(0, values.dtype)
    return values


def _fill_masked(X: Any) -> Any:
    if X.dtype.kind in "fiub":
        return X.astype(np.float64).filled(np.nan)
    return X.astype(object).filled(None)


def _array_kinds(values: Any) -> list[Kind]:
    if values.dtype.kind == "O":
        return [object_kind(values[:, j], j) for j in range(values.shape[1])]
    kinds = {"b": Kind.BOOLEAN, "U": Kind.STRING, "S": Kind.STRING, "T": Kind.STRING}
    return [kinds.get(values.dtype.kind, Kind.NUMERIC)] * values.shape[1]


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def object_kind(values: Any, column: Name) -> Kind:
    """Infer the kind of a column of Python objects; SchemaError names a column that mixes types."""
    types = {type(value) for value in values.tolist() if _holds_value(value)}
    if not types:
        return Kind.EMPTY
    if types <= {str, np.str_}:
        return Kind.STRING
    if types <= {bool, np.bool_}:
        return Kind.BOOLEAN
    numbers = (int, float, Decimal, np.number)
    if all(issubclass(kind, numbers) for kind in types):
        return Kind.NUMERIC
    names = {kind.__name__ for kind in types}
    if any(kind.__name__ in ("date", "datetime", "Timestamp", "time", "timedelta") for kind in types):
        raise SchemaError.temporal(column, ", ".join(sorted(names)))
    if len(types) == 1:
        raise _ObjectMismatch(str(SchemaError.unsupported(column, names.pop())))
    raise _ObjectMismatch(str(SchemaError.mixed_objects(column, names)))


class _ObjectMismatch(SchemaError, TypeError):
    """An object cell that is no number, string or truth value; scikit-learn expects a TypeError here."""


def _holds_value(value: Any) -> bool:
    try:
        return not _is_missing(value)
    except (TypeError, ValueError):  # pandas.NA has no truth value; a nested array has several
        return type(value).__name__ != "NAType"


def _as_float(values: Any, names: Sequence[Name]) -> Array:
    if values.dtype.kind == "O":
        missing = np.frompyfunc(lambda value: not _holds_value(value), 1, 1)(values).astype(bool)
        values = np.where(missing, np.nan, values)
    try:
        return np.asarray(values, dtype=None if values.dtype in (np.float64, np.float32) else np.float64)
    except (TypeError, ValueError):
        raise SchemaError.needs_numbers(list(names), "This block of columns") from None


def check_finite(block: Array, names: Sequence[Name]) -> None:
    """Raise DataError naming the columns that hold infinity; missing cells (NaN) pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(block.sum()):  # one cheap pass: a sum is finite only if no cell is NaN or infinite
            return
    infinite = np.isinf(block).any(axis=0)
    if infinite.any():
        raise DataError.infinite([name for name, bad in zip(names, infinite, strict=True) if bad])


# --- categories ------------------------------------------------------------------------------------------------------


def factorize(values: Any, column: Name) -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted levels in a one-dimensional array and a code per value, −1 where missing."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < INTEGER_SPAN:
            return _factorize_range(values, low, high)
    if values.dtype.kind == "O":
        return _factorize_objects(values)
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    found, inverse = np.unique(values[present], return_inverse=True)
    if values.dtype.kind == "f" and np.isinf(found).any():
        raise DataError.infinite([column])
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = inverse
    return tuple(_plain(level) for level in found.tolist()), codes


def _factorize_range(values: Any, low: int, high: int) -> tuple[tuple[Level, ...], Codes]:
    shifted = values if low == 0 else values - low
    seen = np.bincount(shifted, minlength=high - low + 1) > 0
    levels = tuple(int(level) + low for level in np.flatnonzero(seen))
    if seen.all():
        return levels, np.asarray(shifted)
    return levels, np.asarray((np.cumsum(seen) - 1)[shifted])


def _factorize_objects(values: Any) -> tuple[tuple[Level, ...], Codes]:
    plain = [_plain(value) if _holds_value(value) else None for value in values.tolist()]
    levels = sort_levels([value for value in set(plain) if value is not None])
    index = {level: i for i, level in enumerate(levels)}
    return levels, np.array([-1 if value is None else index[value] for value in plain], dtype=np.int32)


def _plain(value: Any) -> Level:
    """Return a Python value; whole floats become integers so that 1.0 and 1 print and store as one level."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value  # type: ignore[no-any-return]


def recode(levels: Sequence[Level], codes: Codes, known: Sequence[Level]) -> Codes:
    """Return codes against the `known` levels: len(known) for a level not among them, −1 for missing."""
    if tuple(levels) == tuple(known):
        return codes
    index = {level: i for i, level in enumerate(known)}
    lookup = np.array([index.get(level, len(known)) for level in levels] + [-1], dtype=np.int32)
    return lookup[codes]  # type: ignore[no-any-return]


# --- data frames -----------------------------------------------------------------------------------------------------


class _FrameTable:
    """A pandas, polars or pyarrow table in memory, read through narwhals."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self.rows = len(frame)
        names = frame.columns
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise SchemaError(f"The table has several columns named {', '.join(map(repr, repeated))}. Next: rename.")
        self._named = all(isinstance(name, str) for name in names)
        columns = tuple(
            Column(name if self._named else j, _series_kind(frame.get_column(name), name))
            for j, name in enumerate(names)
        )
        self.schema = Schema(columns, self._named)

    def _series(self, position: int) -> nw.Series[Any]:
        return self._frame.get_column(self._frame.columns[position])

    def numeric(self, positions: Sequence[int]) -> Array:
        block = np.empty((self.rows, len(positions)), dtype=np.float64, order="C")
        for j, position in enumerate(positions):
            block[:, j] = _series_float(self._series(position), self.schema.names[position])
        check_finite(block, [self.schema.names[p] for p in positions])
        return block

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        series, kind = self._series(position), self.schema.columns[position].kind
        name = self.schema.names[position]
        if kind is Kind.NUMERIC:
            return factorize(_series_numbers(series, name), name)
        if kind is Kind.EMPTY:
            return (), np.full(self.rows, -1, dtype=np.int32)
        if series.dtype == nw.Object:
            return factorize(series.to_numpy(), name)
        return _factorize_series(series, kind)


def _series_kind(series: nw.Series[Any], name: Name) -> Kind:
    dtype = series.dtype
    if dtype == nw.Boolean:
        return Kind.BOOLEAN
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype in (nw.Categorical, nw.Enum):
        return Kind.CATEGORICAL
    if dtype == nw.String:
        return Kind.STRING
    if dtype.is_temporal():
        raise SchemaError.temporal(name, dtype)
    if len(series) == int(series.is_null().sum()):
        return Kind.EMPTY
    if dtype == nw.Object:
        return object_kind(series.to_numpy(), name)
    raise SchemaError.unsupported(name, dtype)


def _series_float(series: nw.Series[Any], name: Name) -> Array:
    if series.dtype == nw.Object:
        return _as_float(np.asarray(series.to_numpy()), [name])
    if series.dtype in (nw.Categorical, nw.Enum, nw.String):
        if len(series) == int(series.is_null().sum()):
            return np.full(len(series), np.nan)
        raise SchemaError.needs_numbers([name], "A Gaussian")
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return np.full(len(series), np.nan)


def _series_numbers(series: nw.Series[Any], name: Name) -> Any:
    if series.dtype.is_integer() and int(series.is_null().sum()) == 0:
        return series.to_numpy()
    return _series_float(series, name)


def _factorize_series(series: nw.Series[Any], kind: Kind) -> tuple[tuple[Level, ...], Codes]:
    """Code a boolean, categorical or string column without passing through object arrays.

    Dictionary columns are cast to strings first: reading a chunked pyarrow dictionary with nulls through
    `to_numpy` turns the nulls into a real category.
    """
    declared: list[Level] = []
    if series.dtype == nw.Enum:
        declared = list(series.dtype.categories)  # type: ignore[attr-defined]
    elif series.dtype == nw.Categorical and nw.get_native_namespace(series).__name__ == "pandas":
        declared = [_plain(level) for level in series.cat.get_categories().to_list()]
    if kind is Kind.BOOLEAN:
        series = series.cast(nw.Int8)
        declared = [False, True]
    elif any(not isinstance(level, str) for level in declared):
        return _declared_objects(series, declared)
    else:
        series = series.cast(nw.String)
    found = [value for value in series.unique().to_list() if _holds_value(value)]
    levels = sort_levels([*declared, *(found if kind is not Kind.BOOLEAN else [])])
    index: dict[Any, int] = {level: i for i, level in enumerate(levels)}
    if not found:
        return levels, np.full(len(series), -1, dtype=np.int32)
    coded = series.replace_strict(found, [index[value] for value in found], default=None, return_dtype=nw.Float64)
    codes = np.asarray(coded.to_numpy(), dtype=np.float64)
    return levels, np.where(np.isnan(codes), -1, codes).astype(np.int32)


def _declared_objects(series: nw.Series[Any], declared: Sequence[Level]) -> tuple[tuple[Level, ...], Codes]:
    found, codes = _factorize_objects(np.array(series.to_list(), dtype=object))
    levels = sort_levels([*declared, *found])
    return levels, recode(found, codes, levels)


def label_values(y: Any) -> Any:
    """Return labels (a list, array, or pandas, polars or pyarrow series) as a one-dimensional array."""
    if isinstance(y, np.ndarray):
        return y
    try:
        series = nw.from_native(y, series_only=True)
    except TypeError:
        return _labels_array(y)
    if series.dtype.is_temporal():
        raise SchemaError.temporal("y", series.dtype)
    if series.dtype.is_integer() and not series.is_null().any():
        return series.to_numpy()
    if series.dtype.is_float():
        return series.to_numpy()
    values = np.empty(len(series), dtype=object)  # through a list: a chunked dictionary array would lose its nulls
    values[:] = series.to_list()
    return values


def _labels_array(y: Any) -> Any:
    if hasattr(y, "__array__"):
        return np.asarray(y)
    items = list(y)
    if any(value is None for value in items):
        values = np.empty(len(items), dtype=object)
        values[:] = items
        return values
    return np.asarray(items)
