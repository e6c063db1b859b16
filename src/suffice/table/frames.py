"""Tables and series of pandas, polars and pyarrow, read through narwhals."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw

from .._arrays import Array, Codes, Flags, np
from ..errors import SchemaError
from ..schema import DAYS, Column, Kind, Level, Name, Schema, check_text, sort_levels
from .cells import (
    Cells,
    Frame,
    Holes,
    Series,
    both_truths,
    check_finite,
    factorize,
    factorize_objects,
    holds_value,
    integers_of,
    object_kind,
    objects_of,
    plain_value,
    recode,
)
from .dates import factorize_dates, form_of, read_seconds
from .writing import FRAMES, fill_frame, zone_of


class FrameTable:
    """A pandas, polars or pyarrow table in memory, read through narwhals."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.rows = len(frame)
        self._names = names = frame.columns
        self._named = all(isinstance(name, str) for name in names)
        if not self._named and sum(not holds_value(name) for name in names) > 1:
            raise SchemaError("The table has several columns without a name. Next: rename.")
        self.schema = schema_of(frame, self._named, by_cells=True)

    def _series(self, position: int) -> Series:
        return self._frame.get_column(self._names[position])

    def numeric(self, positions: Sequence[int]) -> Array:
        block = np.empty((self.rows, len(positions)), dtype=np.float64, order="C")
        names = self.schema.names
        for j, position in enumerate(positions):
            block[:, j] = _series_float(self._series(position), names[position])
        check_finite(block, [names[p] for p in positions])
        return block

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        series, kind = self._series(position), self.schema.columns[position].kind
        name = self.schema.names[position]
        if kind is Kind.NUMERIC:
            return _factorize_numbers(series, name)
        if kind is Kind.DATE:
            return factorize_dates(_series_float(series, name))
        if kind is Kind.EMPTY:
            return (), np.full(self.rows, -1, dtype=np.int32)
        if _dtype(series) == nw.Object:
            levels, codes = factorize(objects_of(series), name)
            return both_truths(levels, codes) if kind is Kind.BOOLEAN else (levels, codes)
        try:
            return _factorize_series(series, kind)
        except UnicodeEncodeError:  # the strings of Arrow, which pandas may turn to, hold nothing but Unicode
            check_text([value for value in series.to_list() if holds_value(value)], name)
            raise

    def some(self, position: int, most: int) -> Cells:
        """Return at most so many cells of a column, from all over it."""
        series = self._series(position)
        return objects_of(series.gather_every(max(1, len(series) // most)).head(most))

    def fill(self, holes: Holes) -> object:
        return fill_frame(self._frame, holes)


def schema_of(frame: Frame, named: bool, by_cells: bool) -> Schema:
    """Return the schema that the types of a frame declare; `by_cells`, a column that holds no value is empty."""
    columns, library = [], frame.implementation.value
    for j, name in enumerate(frame.columns):
        series = frame.get_column(name)
        kind = Kind.EMPTY if by_cells and _is_empty(series) else _declared_kind(series, name)
        order = _declared_order(series) if kind is Kind.CATEGORICAL else ()
        columns.append(Column(name if named else j, kind, order, _form(series) if kind is Kind.DATE else ""))
    return Schema(tuple(columns), named, library if library in FRAMES else "pandas")


def _form(series: Series) -> str:
    """Return how a column holds its dates, see `schema.Column`."""
    dtype = _dtype(series)
    if dtype == nw.Datetime:
        return zone_of(series) or ""
    return DAYS if dtype == nw.Date else form_of(objects_of(series))


def _declared_order(series: Series) -> tuple[Level, ...]:
    """Return the levels of an ordered category of pandas, an Enum of polars or an ordered dictionary of Arrow."""
    if series.dtype == nw.Enum:
        return tuple(map(_named, series.cat.get_categories().to_list()))
    native = series.to_native()
    if not (series.implementation.is_pyarrow() and native.type.ordered):
        return ()
    chunks = native.unify_dictionaries().chunks
    return tuple(map(_named, chunks[0].dictionary.to_pylist())) if chunks else ()


def _declared_kind(series: Series, name: Name) -> Kind:
    dtype = _dtype(series)
    if dtype == nw.Boolean:
        return Kind.BOOLEAN
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype in (nw.Categorical, nw.Enum):
        return Kind.CATEGORICAL
    if dtype == nw.String:
        return Kind.STRING
    if dtype in (nw.Date, nw.Datetime):
        return Kind.DATE
    if dtype.is_temporal():
        raise SchemaError.temporal(name, dtype)
    if dtype == nw.Object:
        return object_kind(objects_of(series), name)
    native = series.to_native()
    own = getattr(native, "dtype", getattr(native, "type", dtype))
    raise SchemaError.unsupported(name, own if dtype == nw.Unknown else dtype)


def _dtype(series: Series) -> nw.dtypes.DType:
    """Return the type of a column.

    Narwhals takes objects whose first hundred are missing for text, and knows no zone such as New_York of pandas.
    """
    if series.dtype == nw.Unknown:
        return series.dtype if zone_of(series) is None else nw.Datetime("us", "UTC")
    text = len(series) > 100 and series.dtype == nw.String
    objects = text and str(getattr(series.to_native(), "dtype", "")) == "object"
    return nw.Object() if objects and series.head(100).is_null().all() else series.dtype


def _is_empty(series: Series) -> bool:
    """Return whether no cell has a value, whatever the type; most columns show one in their first cell."""
    if len(series) and holds_value(series[0]):
        return False
    if series.dtype == nw.Object:  # among objects may be signalling NaN, which pandas cannot look at
        return not any(holds_value(value) for value in series.to_list())
    return bool((series.is_null() | series.is_nan()).all() if series.dtype.is_float() else series.is_null().all())


def _series_float(series: Series, name: Name) -> Array:
    if _dtype(series) in (nw.Object, nw.String) and not _is_empty(series):
        return read_seconds(objects_of(series), name)
    if _dtype(series) in (nw.Date, nw.Datetime):
        return read_seconds(_utc(series), name)
    if series.dtype in (nw.Categorical, nw.Enum):
        if _is_empty(series):
            return np.full(len(series), np.nan)
        raise SchemaError.needs_numbers([name], "A Gaussian")
    if series.dtype.is_integer():
        values = np.full(len(series), np.nan)
        present, numbers = _present_numbers(series)
        values[present] = numbers  # not a cast: pyarrow refuses to round integers above 2^53
        return values
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return np.full(len(series), np.nan)


def _utc(series: Series) -> Cells:
    """Return days or moments (n,), without a time zone as of UTC."""
    native = series.to_native()
    if zone_of(series) is None:
        return series.to_numpy()
    if series.implementation.is_pandas_like():
        return native.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(dtype="datetime64[us]")  # type: ignore[no-any-return]
    return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()


def _present_numbers(series: Series) -> tuple[Flags, Cells]:
    """Return which cells of an integer column have a value, and those values exactly."""
    present = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    return present, integers_of(series if present.all() else series.drop_nulls())


def _factorize_numbers(series: Series, name: Name) -> tuple[tuple[Level, ...], Codes]:
    if not series.dtype.is_integer():
        return factorize(_series_float(series, name), name)
    present, numbers = _present_numbers(series)
    levels, found = factorize(numbers, name)
    codes = np.full(len(series), -1, dtype=np.int32)
    codes[present] = found
    return levels, codes


def _factorize_series(series: Series, kind: Kind) -> tuple[tuple[Level, ...], Codes]:
    """Code a boolean, categorical or string column without passing through object arrays.

    Dictionary columns are cast to strings first: reading a chunked pyarrow dictionary with nulls through
    `to_numpy` turns the nulls into a real category. Missing cells of pandas leave before the cast, which in
    pandas 2 makes them the text "nan".
    """
    declared: list[Level] = []
    if series.dtype in (nw.Categorical, nw.Enum):
        categories = series.cat.get_categories()
        pandas = nw.get_native_namespace(series).__name__ == "pandas"
        if categories.dtype not in (nw.String, nw.Object):
            return _declared_objects(series, categories.to_list() if pandas else [])
        if pandas or series.dtype == nw.Enum:
            declared = categories.to_list()
    if any(not isinstance(level, str) for level in declared):  # pandas categories may be any objects
        return _declared_objects(series, declared)
    codes, present = np.full(len(series), -1, dtype=np.int32), np.ones(len(series), dtype=bool)
    if series.implementation.is_pandas_like():
        present = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
        series = series.drop_nulls()
    if kind is Kind.BOOLEAN:
        series = series.cast(nw.Int8)
        declared = [False, True]
    else:
        series = series.cast(nw.String)
    found = [value for value in series.unique().to_list() if holds_value(value)]
    levels = sort_levels([*declared, *(found if kind is not Kind.BOOLEAN else [])])
    check_text(levels, series.name)
    index = {level: i for i, level in enumerate(levels)}
    if not found:
        return levels, codes
    coded = series.replace_strict(found, [index[value] for value in found], default=None, return_dtype=nw.Float64)
    places = np.asarray(coded.to_numpy(), dtype=np.float64)
    codes[present] = np.where(np.isnan(places), -1, places)
    return levels, codes


def _declared_objects(series: Series, declared: Sequence[Level]) -> tuple[tuple[Level, ...], Codes]:
    """Code a pandas category of values that are not text; intervals and the like go by their text."""
    if any(hasattr(level, "year") or hasattr(level, "total_seconds") for level in declared):
        raise SchemaError.temporal(series.name, "category")
    values = np.fromiter((_named(value) if holds_value(value) else None for value in series.to_list()), dtype=object)
    found, codes = factorize_objects(values, series.name)
    levels = sort_levels([*map(_named, declared), *found])
    return levels, recode(found, codes, levels)


def _named(value: object) -> Level:
    plain = plain_value(value)
    return plain if type(plain) in (str, int, float, bool) else str(plain)
