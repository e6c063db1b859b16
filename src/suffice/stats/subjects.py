"""Find columns that name subjects, such as the number of a patient: rows of one value are too much alike.

Rows of one value are compared with those of the next value in the column's order, so that a number which other columns
follow (an age, a year) is none. The distance of two rows is, over the other columns, the sum of squared differences of
rank shares of numbers, and of 1 for categories that differ. With W the mean distance of a row from another of its
value and B that from the rows of the values next to it, a column names subjects where W is at least a fifth less than
B, and the difference is over 5 standard errors of values that are drawn whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._arrays import Array, Codes, np

FEWEST_VALUES = 11
ROWS_PER_VALUE = 2.0
MOST_OTHERS = 20  # columns that a column is judged by, evenly spaced where there are more
LESS = 0.2  # share by which distances within values are less
ERRORS = 5.0


class Cells(NamedTuple):
    """The cells (n,) of a column, NaN where missing: numbers, or numbers of levels in their order if `is_level`."""

    values: Array
    is_level: bool

    @classmethod
    def of_levels(cls, codes: Codes, levels: Sequence[object]) -> Cells:
        """Return the cells of codes (n,), −1 where missing, of levels in any order."""
        place = np.empty(len(levels) + 1)
        place[np.argsort([str(level) for level in levels], kind="stable")] = np.arange(len(levels))
        place[-1] = np.nan
        return cls(place[codes], True)


def name_subjects(columns: Sequence[Cells], candidates: Sequence[int]) -> list[int]:
    """Return which of the candidates, columns of text or numbers, name subjects; no two rows should be copies."""
    found, ranked = list[int](), dict[int, Array]()
    for j in candidates:
        value = _values(columns[j].values)
        if value is None:
            continue
        others = [i for i in range(len(columns)) if i != j]
        others = [others[int(i)] for i in np.linspace(0, len(others) - 1, min(len(others), MOST_OTHERS))]
        numbers = [i for i in others if not columns[i].is_level]
        for i in numbers:
            if i not in ranked:
                ranked[i] = _rank_shares(columns[i].values)
        known, size = value >= 0, int(value.max()) + 1
        parts = [_of_levels(value[known], columns[i].values[known], size) for i in others if columns[i].is_level]
        if numbers:
            parts.append(_of_numbers(value[known], np.column_stack([ranked[i] for i in numbers])[known], size))
        if parts and _is_apart(*(np.hstack(own) for own in zip(*(_compared(*part) for part in parts), strict=True))):
            found.append(j)
    return found


def _values(cells: Array) -> Codes | None:
    """Return the number (n,) of the value of each cell, −1 if missing; None where it can name no subjects."""
    known = ~np.isnan(cells)
    seen = cells[known]
    if not len(seen) or not (seen == np.rint(seen)).all():
        return None
    distinct, number = np.unique(seen, return_inverse=True)
    if len(distinct) < FEWEST_VALUES or len(seen) < ROWS_PER_VALUE * len(distinct):
        return None
    out = np.full(len(cells), -1, dtype=np.int64)
    out[known] = number.reshape(-1)
    return out


def _rank_shares(cells: Array) -> Array:
    """Return the rank of each cell among those known, from 0 to 1, the mean of those of equal cells; NaN if missing."""
    known = ~np.isnan(cells)
    _, number, times = np.unique(cells[known], return_inverse=True, return_counts=True)
    out = np.full(len(cells), np.nan)
    out[known] = ((np.cumsum(times) - 0.5 * times) / max(int(known.sum()), 1))[number.reshape(-1)]
    return out


def _is_apart(rows: Array, within: Array, between: Array) -> bool:
    """Return whether rows of a value are nearer to each other than to those of the next, of `_compared` columns."""
    total, own = (rows * between).sum(axis=0), (rows * within).sum(axis=0)
    if not (total > 0.0).any():
        return False
    less = 1.0 - own[total > 0.0] / total[total > 0.0]
    apart = (rows * (between - within))[:, total > 0.0].sum(axis=1)
    return bool(less.mean() > LESS and apart.sum() > ERRORS * np.sqrt(float(apart @ apart)))


class _Values(NamedTuple):
    """Of each value and column (s, c): how many `rows` have a cell, and sums over pairs of them and of the next value.

    The distance of two rows is a mean of `squares`, less `alike` within a value, less `next_alike` (s − 1, c) from it.
    """

    rows: Array
    squares: Array
    alike: Array
    next_alike: Array


def _of_numbers(value: Codes, cells: Array, size: int) -> _Values:
    """Return the sums of rank shares (n, c)."""
    order = np.argsort(value, kind="stable")
    starts = np.searchsorted(value[order], np.arange(size))
    cells = cells[order]
    known = ~np.isnan(cells)
    cells = np.where(known, cells, 0.0)
    rows, total, squares = (np.add.reduceat(own, starts, axis=0) for own in (known.astype(np.float64), cells, cells**2))
    mean, squares = total / np.maximum(rows, 1.0), squares / np.maximum(rows, 1.0)
    return _Values(rows, 2.0 * squares, 2.0 * mean**2, 2.0 * mean[:-1] * mean[1:])


def _of_levels(value: Codes, cells: Array, size: int) -> _Values:
    """Return the sums of the levels of one column (n,)."""
    value, cells = value[~np.isnan(cells)], cells[~np.isnan(cells)]
    rows = np.bincount(value, minlength=size).astype(np.float64)
    levels = int(cells.max(initial=0)) + 1
    key, count = np.unique(value * levels + cells.astype(np.int64), return_counts=True)
    own = key // levels
    share = count / rows[own]
    after = np.searchsorted(key, key + levels)
    there = np.append(key, -1)[after] == key + levels
    both = np.where(there, share * np.append(share, 0.0)[after], 0.0)
    alike, next_alike = (np.bincount(own, part, size).astype(np.float64) for part in (share**2, both))
    return _Values(rows[:, None], np.ones((size, 1)), alike[:, None], next_alike[:-1, None])


def _compared(rows: Array, squares: Array, alike: Array, next_alike: Array) -> tuple[Array, Array, Array]:
    """Return how many rows are compared (s, c), and their mean distances within a value and from the next ones."""
    within = (squares - alike) * rows / np.maximum(rows - 1.0, 1.0)
    apart = 0.5 * (squares[:-1] + squares[1:]) - next_alike
    both = (rows[:-1] > 0) & (rows[1:] > 0)
    total, sides = np.zeros(rows.shape), np.zeros(rows.shape)
    for side in (slice(None, -1), slice(1, None)):
        total[side] += np.where(both, apart, 0.0)
        sides[side] += both
    return np.where((rows > 1.0) & (sides > 0.0), rows, 0.0), within, total / np.maximum(sides, 1.0)
