"""What a cell holds: a value or nothing, a number, text or a truth value."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from .._arrays import Array, np, parallel_map, row_chunks, rows_within
from ..errors import DataError, SchemaError
from ..schema import Kind, Level, Name
from .types import Cells

LARGEST = 1e150  # numbers beyond this are as bad as infinite: their squares overflow


def _is_missing(value: object) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def object_kind(values: Cells, column: Name) -> Kind:
    """Infer the kind of a column of Python objects; SchemaError names a column that mixes types."""
    types = {type(value) for value in values.tolist() if holds_value(value)}
    if not types:
        return Kind.EMPTY
    if types <= {str, np.str_}:
        return Kind.STRING
    if types <= {bool, np.bool_}:
        return Kind.BOOLEAN
    numbers = (int, float, Decimal, np.number, np.bool_)
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


def holds_value(value: object) -> bool:
    """Return whether a Python object is a value, not None, NaN, NaT or NA."""
    try:
        return not _is_missing(value)
    except (TypeError, ValueError):  # pandas.NA has no truth value; a nested array has several
        return type(value).__name__ != "NAType"
    except ArithmeticError:  # a signalling NaN of Decimal
        return False


def as_float(values: Cells, names: Sequence[Name]) -> Array:
    """Return an array as float64 (float32 stays), NaN where missing; SchemaError names columns that hold text."""
    if values.dtype.kind == "O":
        missing = np.frompyfunc(lambda value: not holds_value(value), 1, 1)(values).astype(bool)
        values = np.where(missing, np.nan, values)
    try:
        return np.asarray(values, dtype=None if values.dtype in (np.float64, np.float32) else np.float64)
    except OverflowError:
        raise DataError.infinite(list(names)) from None
    except (TypeError, ValueError):
        raise SchemaError.needs_numbers(list(names), "This block of columns") from None


def check_finite(block: Array, names: Sequence[Name]) -> None:
    """Raise DataError naming the columns with infinity or with numbers whose squares overflow; NaN (missing) passes."""

    def suspects(part: slice) -> Any:
        rows = block[part]
        flat = rows.reshape(-1) if rows.flags.c_contiguous else None  # a long line is fastest
        squares = np.einsum("ij,ij->", rows, rows) if flat is None else np.vdot(flat, flat)
        if np.isfinite(squares):  # one cheap pass settles the common case
            return None
        return np.isinf(rows).any(axis=0), (np.abs(rows) > np.float64(LARGEST)).any(axis=0)

    chunks = row_chunks(len(block), rows_within(8 * block.shape[1]))
    found = [flags for flags in parallel_map(suspects, chunks, cost=4.0 * block.size) if flags is not None]
    if not found:
        return
    infinite, large = (np.flatnonzero(np.any(flags, axis=0)) for flags in zip(*found, strict=True))
    if len(infinite):
        raise DataError.infinite([names[int(j)] for j in infinite])
    if len(large):
        raise DataError.overflowing([names[int(j)] for j in large])


def plain_value(value: Any) -> Level:
    """Return a Python value; whole floats become integers so that 1.0 and 1 print and store as one level."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value  # type: ignore[no-any-return]
