"""Read the columns of any table (NumPy, pandas, polars, pyarrow, lists) as numbers or as category codes.

Null and NaN are both missing: NaN in a numeric block, −1 in a code. Infinity is an error that names the column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw
from sklearn import get_config

from .._arrays import is_sparse, np
from .._arrays_api import fetch, is_device_array, is_on_cpu
from .._dialect import Remark
from ..errors import DataError, SchemaError, either, quoted
from ..schema import Kind, Name, Schema, repeated_names
from .arrays import ArrayTable, ContainerError, DeviceTable, SparseTable as SparseTable
from .cells import (
    Frame,
    Holes as Holes,
    Table as Table,
    as_float,
    factorize as factorize,
    holds_value,
    object_kind,
    recode as recode,
)
from .dates import are_dates
from .frames import FrameTable, schema_of
from .labels import label_values as label_values
from .writing import (
    CONTAINERS as CONTAINERS,
    NewColumn as NewColumn,
    make_sparse as make_sparse,
    make_table as make_table,
)


def read_table(X: object) -> Table:
    """Return `X` as a Table: a 2-D array, also of another library, list of rows, SciPy sparse matrix or data frame."""
    if is_sparse(X):
        return SparseTable(X)
    if is_device_array(X):
        return DeviceTable(X)
    if isinstance(X, np.ndarray | list | tuple) or not (is_frame(X) or _is_series(X)):
        return ArrayTable(X)
    if _is_series(X):
        raise DataError(
            "Expected 2D array, got 1D array instead: a single column. Next: pass it as a table of one "
            "column; of a single row pass a dictionary, or X.iloc[[0]] of pandas."
        )
    return FrameTable(_frame(X))


def dispatches() -> bool:
    """Return whether arrays of other libraries are to be worked on where they live."""
    return bool(get_config().get("array_api_dispatch", False))


def take_in(X: object, resident: bool) -> object:
    """Return X as it is to be read: as it is, of rows of named cells as a table, or on the CPU as NumPy's.

    An array of another library stays where it lives if `resident` and scikit-learn's `array_api_dispatch` is on. If
    that is off, DataError for one that the CPU cannot read.
    """
    if not is_device_array(X):
        return as_rows(X)
    if dispatches():
        return X if resident else fetch(X)
    if not is_on_cpu(X):
        raise DataError(
            f"{either('X', 'The table')} is a {type(X).__name__} on the device {X.device}, which the CPU cannot read. "
            + either(
                "Next: set SCIPY_ARRAY_API=1 in the environment and call sklearn.set_config(array_api_dispatch=True) "
                "to compute there, or move X to the CPU.",
                "Next: move it there.",
            )
        )
    return fetch(X)


def as_rows(X: Any, schema: Schema | None = None) -> Any:
    """Return a row, or rows, of named cells as a table: a dictionary, a list of them; all else as it is.

    With the schema of a model so is a series of pandas whose index has its columns, as `table.iloc[0]` is one.
    """
    if is_sparse(X):  # some of which are dictionaries
        return X
    names = schema.names if schema is not None and schema.named else ()
    if hasattr(X, "to_frame") and hasattr(X, "index") and not set(names).isdisjoint(X.index):
        return X.to_frame().T.infer_objects()
    rows: Sequence[Any] = [X] if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else ()
    if not any(isinstance(row, Mapping) for row in rows[:1]):
        return X
    if isinstance(X, Mapping) and any(isinstance(cell, list | tuple | np.ndarray) for cell in X.values()):
        raise DataError(
            "A dictionary is one row, with a value for each column, and this one holds several. Next: make a data "
            "frame of it, or pass a list of dictionaries, one a row."
        )
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"Row {i} is a {type(row).__name__} and the first row a dictionary. Next: make all alike.")
    columns = []
    for name in dict.fromkeys([*(own for own in names if own in rows[0]), *(own for row in rows for own in row)]):
        own = [row.get(name) for row in rows]
        cells = np.fromiter((cell if holds_value(cell) else None for cell in own), dtype=object, count=len(own))
        kind = object_kind(cells, name)
        columns.append(NewColumn(name, kind, as_float(cells, [name]) if kind is Kind.NUMERIC else cells))
    return make_table("pandas" if schema is None else schema.container, True, columns) if columns else X


def add_missing(X: object, schema: Schema) -> object:
    """Return a table with the columns of a schema that it lacks, every cell missing, of which a warning tells.

    A table without names is returned as it is, and so is any for a schema without names.
    """
    if not (schema.named and is_frame(X)) or is_sparse(X) or is_device_array(X) or _is_series(X):
        return X
    frame = _frame(X)
    there = set(frame.columns)
    lacking = [str(name) for name in schema.names if name not in there]
    if lacking:
        one = len(lacking) == 1
        message = f"{'Column' if one else 'Columns'} {quoted(lacking)} {'is' if one else 'are'} not in the table"
        warnings.warn(f"{message}: every cell there was taken as missing.", Remark, stacklevel=4)
        # Of numbers whatever their kind: pandas 2 writes a missing text as "None".
        frame = frame.with_columns(*(nw.lit(None, nw.Float64()).alias(name) for name in lacking))
    return frame.to_native()


def read_schema(X: object) -> Schema:
    """Return the schema that the column types of a data frame declare: a column without a value has its type's kind."""
    return schema_of(_frame(X), named=True, by_cells=False)


def _frame(X: Any) -> Frame:
    X = _dense(X)
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        repeated = repeated_names(getattr(X, "column_names", getattr(X, "columns", ())))
        raise SchemaError(f"The table has several columns named {quoted(repeated)}. Next: rename.") from None
    except TypeError:
        return _from_arrow_stream(X)


MILLISECONDS = "date64[ms]"


def _dense(X: Any) -> Any:
    """Return a data frame whose sparse columns, of pandas, hold every cell, and its long doubles as float64.

    Arrow's dictionaries there become categories, and its days in milliseconds days, which narwhals knows; periods of
    pandas become the moments at which they begin.
    """
    if hasattr(X, "set_column"):  # of pyarrow
        for i in [i for i, own in enumerate(X.schema) if str(own.type) == MILLISECONDS]:
            X = X.set_column(i, X.schema.field(i).name, X.column(i).cast("date32"))
    types = X.dtypes if hasattr(X, "iloc") and X.columns.is_unique else None
    if types is None:
        return X
    plain = {name: getattr(own, "subtype", np.float64) for name, own in types.items() if _is_sparse_or_long(own)}
    arrow = [(name, getattr(own, "pyarrow_dtype", None)) for name, own in types.items()]
    coded = [name for name, own in arrow if hasattr(own, "index_type") or str(own) == MILLISECONDS]
    periods = [name for name, own in types.items() if str(own).startswith("period[")]
    X = X.astype(plain) if plain else X.copy(deep=False) if coded or periods else X
    for name in coded:  # not by astype, which pandas cannot do where a cell is missing
        X[name] = X[name].array.__arrow_array__().to_pandas().array
    for name in periods:
        X[name] = X[name].dt.to_timestamp()
    return X


def _is_sparse_or_long(dtype: Any) -> bool:
    sparse = hasattr(dtype, "subtype") and hasattr(dtype, "fill_value")
    return sparse or bool(dtype == np.longdouble and dtype != np.float64)


def check_filled(table: Table, who: str) -> None:
    """Raise DataError for a table without a column or a row."""
    shape = table.rows, len(table.schema)
    for count, what, part in ((shape[1], "feature", "column"), (shape[0], "sample", "row")):
        if not count:
            found = either(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required by {who}.",
                f"There is no {part}.",
            )
            raise DataError(f"{found} Next: give at least one {part}.")


# ── Which columns of text hold dates, and which texts of several words ────────────────────────────────────────────────


LOOKED_AT = 1000  # levels of a column
FEWEST = 50  # different texts; of fewer, values are categories however long they are
MANY = 0.5  # of the cells there are, so many are different
WORDS = 4  # on average
GLANCE, HINT = 64, 2  # cells that are looked at first, and the words they have on average where all are read


def text_columns(table: Table) -> list[Name]:
    """Return the names of columns of text whose values are many and of several words."""
    found = []
    for position, looked in _columns_of_text(table):
        if _words(filter(holds_value, looked.some(position, GLANCE))) >= HINT:
            levels, codes = looked.categories(position)
            if are_texts(levels, float((np.asarray(codes) >= 0).sum())):
                found.append(looked.schema.names[position])
    return found


def date_columns(table: Table) -> list[Name]:
    """Return the names of columns of text every cell of which is an ISO date, such as 2026-04-03 14:05."""
    return [looked.schema.names[p] for p, looked in _columns_of_text(table) if are_dates(looked, p)]


def _columns_of_text(table: Table) -> Iterator[tuple[int, FrameTable | ArrayTable]]:
    if isinstance(table, FrameTable | ArrayTable):
        for position, column in enumerate(table.schema.columns):
            if column.kind is Kind.STRING:
                yield position, table


def are_sentences(levels: Iterable[object]) -> bool:
    """Return whether levels have four words or more on average."""
    return _words(islice(levels, LOOKED_AT)) >= WORDS


def are_texts(levels: Sequence[object], cells: float) -> bool:
    """Return whether levels of so many cells are texts: many, and of several words."""
    return len(levels) >= max(FEWEST, MANY * cells) and are_sentences(levels)


def _words(values: Iterable[object]) -> float:
    counts = [len(str(value).split()) for value in values]
    return sum(counts) / max(len(counts), 1)


# ── What a table is ───────────────────────────────────────────────────────────────────────────────────────────────────


def is_frame(X: object) -> bool:
    """Return whether X says itself that it has columns."""
    return hasattr(type(X), "__arrow_c_stream__") or hasattr(type(X), "columns")


def _is_series(X: Any) -> bool:
    try:
        nw.from_native(X, series_only=True)
    except TypeError:
        return False
    return True


def _from_arrow_stream(X: Any) -> Frame:
    try:
        return nw.from_arrow(X, backend="pyarrow")
    except (TypeError, ModuleNotFoundError) as error:
        raise ContainerError(
            f"X is a {type(X).__name__}, which cannot be read as a table in memory. "
            "Next: collect it into a pandas, polars or pyarrow table, or a NumPy array."
        ) from error
