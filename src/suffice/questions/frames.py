"""Answers as data frames: of the library that the rows came in, or of one that is named."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from .._arrays import Array, np
from ..errors import SettingError, quoted
from ..fitted import Fitted
from ..schema import Kind
from ..table import NewColumn, make_table, read_table
from ..table.writing import FRAMES


def check_frame(wanted: object) -> None:
    """Raise SettingError for what is neither True, False nor the name of a library of data frames."""
    if not isinstance(wanted, bool) and wanted not in FRAMES:
        raise SettingError(f"as_frame={wanted!r} must be True, False or one of {quoted(FRAMES)}. Next: as_frame=True.")


def by_class(fitted: Fitted, X: object, values: Array, wanted: object) -> Any:
    """Return numbers (n, k) as a frame with a column for each class."""
    return _frame(X, [str(label) for label in fitted.statistics.classes], values, wanted)


def by_column(fitted: Fitted, X: object, values: Array, wanted: object) -> Any:
    """Return numbers (n, d) as a frame with the columns of the model."""
    return _frame(X, [str(name) for name in fitted.schema.names], values, wanted)


def by_column_and_class(fitted: Fitted, X: object, values: Array, wanted: object) -> Any:
    """Return numbers (n, d, k) as a frame of n · d rows: `row`, `column`, and a column for each class.

    `row` is the number of the row, from 0, or what the index of a pandas frame calls it.
    """
    n, d, k = values.shape
    index = getattr(X, "index", None) if _library(X) == "pandas" else None
    rows = np.repeat(np.arange(n) if index is None else np.asarray(index), d)
    names = np.array([str(name) for name in fitted.schema.names] * n, dtype=object)
    heads = [apart(str(label), ("row", "column")) for label in fitted.statistics.classes]
    row_kind = Kind.NUMERIC if rows.dtype.kind in "fiu" else Kind.CATEGORICAL
    columns = [NewColumn("row", row_kind, rows if row_kind is Kind.NUMERIC else rows.astype(object))]
    columns.append(NewColumn("column", Kind.CATEGORICAL, names))
    parts = zip(heads, values.reshape(n * d, k).T, strict=True)
    columns += [NewColumn(head, Kind.NUMERIC, np.ascontiguousarray(own)) for head, own in parts]
    return _made(X, columns, wanted)


def apart(name: str, taken: Container[str]) -> str:
    """Return the name of a class for a column beside others of these names."""
    return f"class {name}" if name in taken else name


def _frame(X: object, names: Sequence[str], values: Array, wanted: object) -> Any:
    parts = zip(names, values.T, strict=True)
    found = _made(X, [NewColumn(name, Kind.NUMERIC, np.ascontiguousarray(own)) for name, own in parts], wanted)
    index = getattr(X, "index", None)
    if _library(X) == "pandas" and hasattr(found, "iloc") and index is not None:
        found.index = index
    return found


def frame_of(columns: Mapping[str, object], container: str = "pandas") -> Any:
    """Return a data frame of columns (n,) of numbers, or of objects, of this library; of pandas if it is none."""
    found = []
    for name, values in columns.items():
        cells: Any = np.asarray(values)
        number = cells.dtype.kind in "iuf"
        kind = Kind.NUMERIC if number else Kind.STRING
        found.append(NewColumn(name, kind, cells if number else np.array(values, dtype=object)))
    return make_table(container if container in FRAMES else "pandas", True, found)


def plain(document: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a document as JSON holds it: keys as text, arrays as lists, None for numbers that are none."""
    return {str(key): _plain(own) for key, own in document.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns of a table."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _library(X: object) -> str:
    return read_table(X).schema.container


def _made(X: object, columns: list[NewColumn], wanted: object) -> Any:
    container = str(wanted) if isinstance(wanted, str) else _library(X)
    found = make_table(container if container in FRAMES else "pandas", True, columns)
    if isinstance(found, np.ndarray):
        raise ImportError("A data frame needs pandas, polars or pyarrow. Next: pip install pandas, or as_frame=False")
    return found
