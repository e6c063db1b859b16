"""Write cells back: fill the holes of a table, or make a new one, in the kind of table a user has."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from .._arrays import Array, Codes, Flags, np, sparse
from ..schema import DAYS, WRITTEN, Kind, Level, Name
from .cells import Cells, Frame, Holes, Series
from .dates import as_moments, as_texts, dates_like

FRAMES = ("pandas", "polars", "pyarrow")
CONTAINERS = ("numpy", "sparse", *FRAMES)


class NewColumn(NamedTuple):
    """A column to be made: `values` (n,) are floats, integers, truth values, or objects (categories, None if missing).

    `levels` are the categories it may take, None for numbers and truth values; `ordered` says that they stand in order.
    Dates are seconds, which become what their `form` says, see `schema.Column`.
    """

    name: Name
    kind: Kind
    values: Cells
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    form: str = ""


def fill_array(values: Cells, holes: Holes) -> Cells:
    """Return a copy of an array (n, d) with its holes filled; floats stay floats, objects take Python values."""
    out = np.array(values)
    for position, (rows, cells) in holes.items():
        if cells.dtype.kind == "M" and out.dtype.kind != "M":
            out[rows, position] = dates_like(values[:, position].tolist(), cells)
            continue
        out[rows, position] = cells.tolist() if out.dtype.kind == "O" else cells
    return out


def fill_frame(frame: Frame, holes: Holes) -> object:
    """Return the data frame, in its own library, with holes filled; columns without any are those that came in."""
    native = frame.to_native()
    pandas = frame.implementation.is_pandas_like()
    out: Any = native.copy() if pandas else frame
    for position, (rows, cells) in holes.items():
        series = frame.get_column(frame.columns[position])
        if pandas:
            out.isetitem(position, _fill_pandas(series, rows, cells))
        else:
            out = out.with_columns(_fill_series(series, rows, cells).alias(series.name))
    return out if pandas else out.to_native()


def _fill_pandas(series: Series, rows: Codes, cells: Cells) -> object:
    """Fill a pandas column, which keeps its type where that can hold the values."""
    native = series.to_native()
    if len(rows) == len(series) and not _can_hold(series.dtype, cells):
        filled = native.astype(object)
        filled.iloc[rows] = cells.tolist()
        return filled.infer_objects()
    if cells.dtype.kind == "M":
        filled = native.copy()
        filled.iloc[rows] = _dates_like(series, cells)
        return filled
    native = _fit_numbers(series, cells).to_native().copy()
    if series.dtype in (nw.Categorical, nw.Enum):
        present = set(native.cat.categories)
        native = native.cat.add_categories([level for level in dict.fromkeys(cells.tolist()) if level not in present])
        cells = cells.astype(object)
    if native.dtype != object and cells.dtype.kind in "fiub":
        cells = cells.astype(getattr(native.dtype, "numpy_dtype", native.dtype))
    native.iloc[rows] = cells.tolist() if native.dtype == object or cells.dtype.kind == "O" else cells
    return native


def _fill_series(series: Series, rows: Codes, cells: Cells) -> Series:
    """Fill a polars or pyarrow column, which keeps its type where that can hold the values."""
    dtype, backend = series.dtype, series.implementation
    if len(rows) == len(series) and not _can_hold(dtype, cells):
        return nw.new_series(series.name, cells[np.argsort(rows)].tolist(), backend=backend)
    if cells.dtype.kind == "M":
        return series.scatter(rows.tolist(), _dates_like(series, cells))
    if dtype in (nw.Categorical, nw.Enum):
        filled = series.cast(nw.String).scatter(rows.tolist(), [str(cell) for cell in cells.tolist()])
        if backend.is_pyarrow():
            encoded = filled.to_native().dictionary_encode().cast(series.to_native().type)
            return nw.from_native(encoded, series_only=True)
        if dtype == nw.Enum:
            dtype = nw.Enum(list(dict.fromkeys([*series.cat.get_categories().to_list(), *map(str, cells.tolist())])))
        return filled.cast(dtype)
    if dtype == nw.Object:  # of polars: whatever Python holds, which nothing is cast to
        whole = series.to_list()
        for row, cell in zip(rows.tolist(), cells.tolist(), strict=True):
            whole[row] = cell
        return nw.new_series(series.name, whole, dtype, backend=backend)
    base = _fit_numbers(series, cells)
    values = nw.new_series("", cells.tolist(), backend=backend).cast(base.dtype)
    if backend.is_pyarrow():  # where one type of ours is several of theirs, such as large strings
        values = nw.from_native(values.to_native().cast(base.to_native().type), series_only=True)
    return base.scatter(rows.tolist(), values)


def _can_hold(dtype: nw.dtypes.DType, cells: Cells) -> bool:
    """Return whether a column in which no cell has a value is of a type for these cells."""
    if cells.dtype.kind == "O":
        return dtype in (nw.Categorical, nw.Enum, nw.String, nw.Object)
    if cells.dtype.kind == "M":
        return dtype in (nw.Date, nw.Datetime, nw.String)
    return bool(dtype.is_numeric() or (cells.dtype.kind == "b" and dtype == nw.Boolean))


def _dates_like(series: Series, cells: Cells) -> Any:
    """Return dates (n,) as a column holds them: text, Python's dates, or of its type and time zone."""
    if series.dtype == nw.String:
        return as_texts(cells).tolist()
    if series.dtype == nw.Object:
        return dates_like(series.to_list(), cells)
    whole = cells.tolist() if series.implementation.is_pyarrow() else cells
    made = _zoned(nw.new_series("", whole, backend=series.implementation), zone_of(series))
    pandas = series.implementation.is_pandas_like()
    return made.to_native().astype(series.to_native().dtype) if pandas else made.cast(series.dtype).to_native()


def zone_of(series: Series) -> str | None:
    """Return the time zone of a column of moments, None where it has none."""
    native = getattr(series.to_native(), "dtype", None)  # of pandas, of which narwhals knows no zone such as New_York
    zone = getattr(getattr(native, "pyarrow_dtype", native), "tz", None)
    return getattr(series.dtype, "time_zone", None) if zone is None else str(zone)


def _zoned(moments: Series, zone: str | None) -> Series:
    """Return moments of UTC in a time zone; as they are where there is none."""
    return moments if zone is None else moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _in_form(column: NewColumn) -> NewColumn:
    """Return a column of dates, given as seconds, as dates or their text; any other as it is."""
    if column.kind is not Kind.DATE or column.values.dtype.kind not in "fi":
        return column
    moments = as_moments(column.values.astype(np.float64))
    if column.form == WRITTEN:
        return column._replace(values=as_texts(moments))
    return column._replace(values=moments.astype("datetime64[D]") if column.form == DAYS else moments)


def _fit_numbers(series: Series, cells: Cells) -> Series:
    """Return the column as floats if it holds integers or decimals and some cell to come is not among those."""
    dtype = series.dtype
    if cells.dtype.kind not in "fiu" or not dtype.is_numeric() or dtype.is_float():
        return series
    if dtype.is_integer():
        low, high = cells.min(), cells.max()
        bits = int("".join(filter(str.isdigit, str(dtype))))
        least, most = (0, 2**bits - 1) if dtype.is_unsigned_integer() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if (cells == np.floor(cells)).all() and least <= low and high < most:
            return series
    return series.cast(nw.Float64)


def make_table(container: str, named: bool, columns: Sequence[NewColumn]) -> object:
    """Return a new table of the wanted kind; a data frame of a library that is not there becomes one that is.

    Columns without names, or no library of data frames at all, make an array: of numbers, or of objects where some
    column holds text.
    """
    columns = [_in_form(column) for column in columns]
    if container not in FRAMES:
        return make_array(columns)
    there: list[Any] = [name for name in (container, *FRAMES) if name in FRAMES and find_spec(name)]
    if not there:
        return make_array(columns)
    series = [_make_series(column, there[0]) for column in columns]
    frame = series[0].to_frame().with_columns(*series[1:]).to_native()
    if there[0] == "pandas" and not named:
        frame.columns = [column.name for column in columns]
    return frame


def without_cells(table: Any, missing: Flags) -> Any:
    """Return a new table, in its own library, without the cells (n, d) that are `missing`; a sparse one as it is."""
    if isinstance(table, np.ndarray):
        out = table.astype(object if table.dtype.kind in "bO" else np.float64)
        out[missing] = None if out.dtype.kind == "O" else np.nan
        return out
    frame = None if sparse.issparse(table) else nw.from_native(table)
    if frame is None or frame.implementation.is_pandas_like():
        return table if frame is None else table.mask(missing)
    for name, gone in zip(frame.columns, missing.T, strict=True):
        series = frame[name]
        kept = [None if own else row for row, own in enumerate(gone.tolist())]
        cells = series.to_native()
        cells = cells.take(kept) if frame.implementation.is_pyarrow() else cells.gather(kept)
        frame = frame.with_columns(nw.from_native(cells, series_only=True).alias(name))
    return frame.to_native()


def make_array(columns: Sequence[NewColumn]) -> Cells:
    """Return an array (n, d) of these columns: numbers if all are, else objects."""
    kinds = {column.values.dtype.kind for column in columns}
    if kinds <= set("fiub") or kinds == {"M"}:
        return np.column_stack([column.values for column in columns])
    out = np.empty((len(columns[0].values), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column.values.tolist()
    return out


def make_sparse(rows: Array) -> sparse.csr_array:
    """Return rows of numbers or truth values (n, d) as a sparse array, of integers where all are whole."""
    whole = rows.dtype.kind == "f" and bool((rows == np.rint(rows)).all())
    return sparse.csr_array(rows.astype(np.int64) if whole else rows)


def _make_series(column: NewColumn, backend: Any) -> Series:
    values, name = column.values, str(column.name)
    if values.dtype.kind == "M":
        made = nw.new_series(name, values.tolist() if backend == "pyarrow" else values, backend=backend)
        return _zoned(made, None if column.form in ("", DAYS) else column.form)
    if values.dtype.kind != "O":
        return nw.new_series(name, values.tolist() if backend == "pyarrow" else values, backend=backend)
    cells = values.tolist()
    if column.levels is None or not (column.ordered or column.kind is Kind.CATEGORICAL):
        return nw.new_series(name, cells, backend=backend)
    if backend == "pandas":
        native = nw.new_series(name, cells, backend=backend).to_native().astype("category")
        native = native.cat.set_categories(list(column.levels), ordered=column.ordered)
        return nw.from_native(native, series_only=True)
    text = [None if cell is None else str(cell) for cell in cells]
    series = nw.new_series(name, text, nw.String, backend=backend)
    if backend == "pyarrow":
        native = _in_order(series, text, column.levels) if column.ordered else series.to_native().dictionary_encode()
        coded: Series = nw.from_native(native, series_only=True)
        return coded.alias(name)
    return series.cast(nw.Enum(list(map(str, column.levels))) if column.ordered else nw.Categorical)


def _in_order(series: Series, text: Sequence[str | None], levels: Sequence[Level]) -> object:
    """Return texts of pyarrow as codes of levels in order."""
    arrow: Any = nw.get_native_namespace(series)
    place = {str(level): i for i, level in enumerate(levels)}
    codes = arrow.array([None if cell is None else place[cell] for cell in text], arrow.int32())
    return arrow.chunked_array([arrow.DictionaryArray.from_arrays(codes, list(place), ordered=True)])
