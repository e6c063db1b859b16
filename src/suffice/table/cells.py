"""What a cell holds (a value or nothing, a number, text or a truth value), and columns as sorted levels and codes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import narwhals.stable.v2 as nw

from .._arrays import IN_CACHE, Array, Codes, Flags, NDArray, np, parallel_map, row_chunks, rows_within
from ..errors import DataError, SchemaError, either, shown
from ..schema import Kind, Level, Name, Schema, check_text, sort_levels

Cells = NDArray[Any]  # numbers, text, truth values or objects
Frame = nw.DataFrame[Any]
Series = nw.Series[Any]
Coded = tuple[Sequence[Level], Codes]  # the levels of a column, and the code of each cell
LARGEST = 1e150  # numbers beyond this are as bad as infinite: their squares overflow
INTEGER_SPAN = 4096  # integers within so small a range are counted directly, without sorting
Holes = Mapping[int, tuple[Codes, Cells]]  # column position → row numbers (h,) and the values (h,) that belong there


class Table(Protocol):
    """A table that can be asked for its schema and for one or more of its columns."""

    schema: Schema
    rows: int

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d), NaN where missing."""

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        """Return the sorted levels of a column and a code per row (n,), −1 where missing.

        Levels given as a `range` need not all occur.
        """

    def fill(self, holes: Holes) -> object:
        """Return a table of the kind it was made from with these cells filled, all others as they were."""


class Looked(Table, Protocol):
    """A table some cells of which can be looked at: one of text, perhaps."""

    def some(self, position: int, most: int) -> Cells:
        """Return at most so many cells of a column, from all over it."""


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
    if all(issubclass(kind, dt.date | np.datetime64) for kind in types):
        return Kind.DATE
    names = {kind.__name__ for kind in types}
    if any(kind.__name__ in ("date", "datetime", "Timestamp", "time", "timedelta", "Timedelta") for kind in types):
        raise SchemaError.temporal(column, ", ".join(sorted(names)))
    if len(types) == 1:
        raise ObjectCellError(str(SchemaError.unsupported(column, names.pop())))
    raise ObjectCellError(
        f"Column {shown(column)} mixes values of the types {', '.join(sorted(names))}; "
        f"{either('every argument must be a string', 'every cell must be text')}, or every one a number, or every "
        "one a truth value. Next: convert the column to one type."
    )


class ObjectCellError(SchemaError, TypeError):
    """An object cell that is no number, string or truth value; scikit-learn expects a TypeError here."""


def holds_value(value: object) -> bool:
    """Return whether a Python object is a value, not None, NaN, NaT or NA."""
    try:
        return not (value is None or value != value or type(value).__name__ in ("NAType", "NaTType"))
    except (TypeError, ValueError):  # pandas.NA has no truth value; a nested array has several
        return type(value).__name__ != "NAType"
    except ArithmeticError:  # a signalling NaN of Decimal
        return False


def fill_masked(values: Cells) -> Cells:
    """Return an array whose masked cells, if it has a mask, are NaN or None."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if values.dtype.kind in "fiu":
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    known = np.asarray(values.data).astype(object)
    known[np.ma.getmaskarray(values)] = None
    return known


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
    refuse_large(names, *(np.any(flags, axis=0) for flags in zip(*found, strict=True)))


def refuse_large(names: Sequence[Name], infinite: Flags, large: Flags) -> None:
    """Raise DataError for columns (d,) with infinity, or else with numbers whose squares overflow."""
    if infinite.any():
        raise DataError.infinite([names[int(j)] for j in np.flatnonzero(infinite)])
    if large.any():
        raise DataError.overflowing([names[int(j)] for j in np.flatnonzero(large)])


def plain_value(value: Any) -> Level:
    """Return a Python value; whole floats become integers so that 1.0 and 1 print and store as one level."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, Decimal | np.longdouble):
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value  # type: ignore[no-any-return]


def factorize(values: Cells, column: Name) -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted levels in a one-dimensional array and a code per value, −1 where missing."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < INTEGER_SPAN:
            return _factorize_range(values, low, high)
    if values.dtype.kind == "O":
        return factorize_objects(values, column)
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    found, inverse = np.unique(values[present], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = inverse
    levels = tuple(plain_value(level) for level in found.tolist())
    _check_values(levels, column)
    check_text(levels, column)
    return levels, codes


def factorize_integers(values: Cells) -> list[Coded | None]:
    """Return levels and codes of every column of an integer array (n, d); None for a column that spans too much.

    The levels of a column are the range from its least to its largest value: which of them occur is for who counts
    them to say. A block of rows is turned into contiguous columns while in cache; reading the columns one by one would
    fetch each cache line of the table once per column.
    """
    n, d = values.shape
    if not n or not d:
        return [None] * d
    chunks = list(row_chunks(n, rows_within(8 * d, IN_CACHE)))
    coded = _code_small(values, chunks) or _code_any(values, chunks)
    codes, least, most = coded
    columns: list[Coded | None] = []
    for own, lowest, highest in zip(codes, least, most, strict=True):
        columns.append((range(lowest, highest + 1), own) if highest - lowest < INTEGER_SPAN else None)
    return columns


Spans = tuple[Codes, list[int], list[int]]  # codes (d, n), least and largest values (d)


def _code_small(values: Cells, chunks: list[slice]) -> Spans | None:
    """Code numbers that fit in a byte, the common case: they are narrowed before they are turned."""
    codes = np.empty(values.shape[::-1], dtype=np.int8)

    def code(part: slice) -> tuple[Codes, Codes] | None:
        block = values[part]
        if block.min() < -128 or block.max() > 127:
            return None
        own = codes[:, part]
        own[...] = block.astype(np.int8).T
        return own.min(axis=1), own.max(axis=1)

    if code(chunks[0]) is None:
        return None
    ends = list(parallel_map(code, chunks, cost=20.0 * values.size))
    known = [pair for pair in ends if pair is not None]
    least, most = _ends(known)
    if len(known) < len(ends) or max(b - a for a, b in zip(least, most, strict=True)) > 127:
        return None
    for own, lowest in zip(codes, least, strict=True):
        if lowest:
            own -= np.int8(lowest)
    return codes, least, most


def _code_any(values: Cells, chunks: list[slice]) -> Spans:
    """Code any integers; where a column spans too much its codes are of no use."""
    low = values[chunks[0]].min(axis=0)  # seldom has to be lowered
    low = low.astype(np.int32) if low.itemsize < 4 else low
    codes = np.empty(values.shape[::-1], dtype=np.int16)

    def code(part: slice) -> tuple[Codes, Codes]:
        block = np.ascontiguousarray(values[part].T, dtype=low.dtype)
        np.subtract(block, low[:, None], out=codes[:, part], casting="unsafe")
        return block.min(axis=1), block.max(axis=1)

    least, most = _ends(list(parallel_map(code, chunks, cost=20.0 * values.size)))
    for own, first, lowest, highest in zip(codes, low.tolist(), least, most, strict=True):
        if lowest < first and highest - lowest < INTEGER_SPAN:
            own += first - lowest
    return codes, least, most


def _ends(pairs: list[tuple[Codes, Codes]]) -> tuple[list[int], list[int]]:
    return np.min([a for a, _ in pairs], axis=0).tolist(), np.max([b for _, b in pairs], axis=0).tolist()


def _factorize_range(values: Cells, low: int, high: int) -> tuple[tuple[Level, ...], Codes]:
    shifted = values if low == 0 else values.astype(np.int64) - low if high < 2**63 else values - np.uint64(low)
    shifted = shifted.astype(np.intp, copy=False)
    seen = np.bincount(shifted, minlength=high - low + 1) > 0
    levels = tuple(int(level) + low for level in np.flatnonzero(seen))
    if seen.all():
        return levels, np.asarray(shifted)
    return levels, np.asarray((np.cumsum(seen) - 1)[shifted])


def factorize_objects(values: Cells, column: Name) -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted levels and codes of an array of Python objects."""
    cells: list[Any] = values.tolist()
    try:
        plain: dict[Any, Any] = dict.fromkeys(cells)
    except TypeError:  # some have no hash: those of a type that is refused, or a missing Decimal
        cells = [plain_value(value) if holds_value(value) else None for value in cells]
        _check_values(cells, column)
        plain = dict.fromkeys(cells)
    for value in plain:  # each distinct one once
        plain[value] = plain_value(value) if holds_value(value) else None
    _check_values(plain.values(), column)
    present = list(set(plain.values()) - {None})
    check_text(present, column)
    levels = sort_levels(present)
    index = {level: i for i, level in enumerate(levels)}
    code = {value: index.get(level, -1) for value, level in plain.items()}
    return levels, np.fromiter(map(code.__getitem__, cells), dtype=np.int32, count=len(cells))


def _check_values(values: Iterable[object], column: Name) -> None:
    strange = {type(value).__name__ for value in values} - {"str", "int", "float", "bool", "NoneType"}
    if strange:
        raise SchemaError.unsupported(column, min(strange))
    if {np.inf, -np.inf}.intersection(values):
        raise DataError.infinite([column])


def both_truths(levels: Sequence[Level], codes: Codes) -> tuple[tuple[Level, ...], Codes]:
    """Return the codes of a column of truth values, which has both levels even where one does not occur."""
    return (False, True), recode(levels, codes, (False, True))


def recode(levels: Sequence[Level | None], codes: Codes, known: Sequence[Level]) -> Codes:
    """Return codes against the `known` levels: len(known) for a level not among them, or None, −1 for missing."""
    if tuple(levels) == tuple(known):
        return codes
    index: dict[Level | None, int] = {level: i for i, level in enumerate(known)}
    lookup = np.array([index.get(level, len(known)) for level in levels] + [-1], dtype=np.int32)
    return lookup[codes]


def objects_of(series: Series) -> Cells:
    """Return the cells of a column as objects; `to_numpy` would ask them all whether they are missing.

    Nor would it keep the nulls of a dictionary of Arrow in chunks.
    """
    return np.fromiter(series.to_list(), dtype=object, count=len(series))


def integers_of(series: Series) -> Cells:
    """Return integers without nulls exactly; NumPy has no type for those of 128 bits."""
    if series.dtype in (nw.Int128, nw.UInt128):
        return np.array(series.to_list(), dtype=object)
    return series.to_numpy()
