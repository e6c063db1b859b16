"""Categories as codes: the sorted levels of a column, and a small number for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arrays import Codes, np, parallel_map, row_chunks
from ..errors import DataError, SchemaError
from ..schema import Level, Name, sort_levels
from .cells import holds_value, plain_value

INTEGER_SPAN = 4096  # integers within so small a range are counted directly, without sorting


def factorize(values: Any, column: Name) -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted levels in a one-dimensional array and a code per value, −1 where missing."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < INTEGER_SPAN:
            return _factorize_range(values, low, high)
    if values.dtype.kind == "O":
        return factorize_objects(values, column)
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    found, inverse = np.unique(values[present], return_inverse=True)
    if values.dtype.kind == "f" and np.isinf(found).any():
        raise DataError.infinite([column])
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = inverse
    return tuple(plain_value(level) for level in found.tolist()), codes


def factorize_integers(values: Any) -> list[tuple[Sequence[Level], Codes]]:
    """Return levels and codes of every column of an integer array (n, d); an empty list if a column spans too much.

    The levels of a column are the range from its least to its largest value: which of them occur is for who counts
    them to say. A block of rows is turned into contiguous columns while in cache; reading the columns one by one would
    fetch each cache line of the table once per column.
    """
    n, d = values.shape
    if not n or not d:
        return []
    low = int(values[0].min()) - INTEGER_SPAN // 2  # a first guess, so that one pass may do
    codes = np.empty((d, n), dtype=np.int16)

    def code(part: slice) -> tuple[Any, Any] | None:
        block = np.ascontiguousarray(values[part].T)
        least, most = block.min(axis=1), block.max(axis=1)
        if int(least.min()) < low or int(most.max()) >= low + INTEGER_SPAN:
            return None
        np.subtract(block, low, out=codes[:, part], casting="unsafe")
        return least, most

    ends = list(parallel_map(code, row_chunks(n, max(1, (1 << 17) // d)), cost=20.0 * values.size))
    known = [pair for pair in ends if pair is not None]
    if len(known) < len(ends):
        return []
    least, most = np.min([a for a, _ in known], axis=0), np.max([b for _, b in known], axis=0)
    codes -= (least - low).astype(np.int16)[:, None]
    return [(range(int(a), int(b) + 1), codes[j]) for j, (a, b) in enumerate(zip(least, most, strict=True))]


def _factorize_range(values: Any, low: int, high: int) -> tuple[tuple[Level, ...], Codes]:
    shifted = values if low == 0 else values.astype(np.int64) - low if high < 2**63 else values - np.uint64(low)
    shifted = shifted.astype(np.intp, copy=False)
    seen = np.bincount(shifted, minlength=high - low + 1) > 0
    levels = tuple(int(level) + low for level in np.flatnonzero(seen))
    if seen.all():
        return levels, np.asarray(shifted)
    return levels, np.asarray((np.cumsum(seen) - 1)[shifted])


def factorize_objects(values: Any, column: Name) -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted levels and codes of an array of Python objects."""
    plain = [plain_value(value) if holds_value(value) else None for value in values.tolist()]
    present = {value for value in plain if value is not None}
    strange: list[Any] = [value for value in present if type(value) not in (str, int, float, bool)]
    if strange:
        raise SchemaError.unsupported(column, type(strange[0]).__name__)
    levels = sort_levels(list(present))
    index = {level: i for i, level in enumerate(levels)}
    return levels, np.array([-1 if value is None else index[value] for value in plain], dtype=np.int32)


def recode(levels: Sequence[Level], codes: Codes, known: Sequence[Level]) -> Codes:
    """Return codes against the `known` levels: len(known) for a level not among them, −1 for missing."""
    if tuple(levels) == tuple(known):
        return codes
    index = {level: i for i, level in enumerate(known)}
    lookup = np.array([index.get(level, len(known)) for level in levels] + [-1], dtype=np.int32)
    return lookup[codes]
