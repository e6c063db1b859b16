"""Rows that are not independent of each other: copies of a row, and rows of one subject, such as a patient.

A copied row must leave with all of its copies wherever rows are held out: a member that memorises a row would otherwise
be judged by a row it has seen. Where columns take few values, as yes and no, equal rows are to be expected, and each is
a row of its own. The table itself decides. Its distinct rows and their classes give a tree of dependences (Chow & Liu
1968, doi:10.1109/TIT.1968.1054142); with p the probability of a row under the others, n p more rows equal to it are
expected among n. Rows are copies where over four times as many distinct rows are repeated as that explains.

A column names subjects where rows of one value are too much alike. They are compared with those of the next value in
the column's order, so that a number which other columns follow (an age, a year) is none. The distance of two rows is,
over the other columns, the sum of squared differences of rank shares of numbers, and of 1 for categories that differ.
With W the mean distance of a row from another of its value and B that from the rows of the values next to it, a column
names subjects where W is at least a fifth less than B, and the difference is over 5 standard errors of values that are
drawn whole.

A column names rows, as an identifier does, where each has a value of its own though that is no matter of course. Of n
numbers drawn evenly from m, n² / 2m repeat an earlier one, and of those drawn otherwise more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, is_sparse, np, rankdata
from .counts import CodedColumns
from .reservoir import Reservoir

ENOUGH = 500  # distinct rows that tell which columns depend on each other
MOST_COLUMNS = 64  # whose dependences are looked for; of more, columns depend on the class alone
EXCESS = 4.0  # times as many repeated rows as expected: up to 3.2 of votes, mushrooms and scores, over 5 once copied
FEWEST_VALUES = 11
ROWS_PER_VALUE = 2.0
MOST_OTHERS = 20  # columns that a column is judged by, evenly spaced where there are more
FEWEST_ROWS = 20  # from which on it says something that each has its own value
ALL_DIFFER = 0.99
SURPRISING = 7.0  # repeats to be expected, from which on it is telling that there are none
LESS = 0.2  # share by which distances within values are less
ERRORS = 5.0


def as_judged(sample: Reservoir) -> Reservoir:
    """Return the sample in which copies of a row are one row with the weight of all; other equal rows stay as many."""
    if not are_copies(sample):
        return sample
    return replace(sample, copies=np.where(_are_natural(sample), sample.copies, 1.0))


def are_copies(sample: Reservoir) -> bool:
    """Return whether more rows of a sample are repeated than its columns make equal by chance."""
    repeated = (sample.copies > 1.0) & ~_are_natural(sample)
    if not repeated.any():
        return False
    return float(repeated.sum()) > EXCESS * float(_expected(sample).sum())


def count_shared(merged: Reservoir, one: Reservoir, two: Reservoir) -> tuple[int, int]:
    """Return how many of the rows kept of `two` are in `one` as well, and how many of `two` are kept in both `merged`.

    0 are where so many distinct rows are equal by chance.
    """
    seen = []
    for part in (one, two):
        order = np.argsort(part.identity)
        place = np.searchsorted(part.identity, merged.identity, sorter=order)
        found = np.append(order, 0)[place]
        here = np.isin(merged.identity, part.identity, kind="sort")
        seen.append(np.where(here, np.append(part.copies, 0.0)[found], 0.0))
    both = np.minimum(*seen)
    is_told = are_copies(replace(merged, copies=np.where(both > 0.0, 2.0, 1.0)))
    return (round(float(both.sum())) if is_told else 0), round(float(seen[1].sum()))


def _are_natural(sample: Reservoir) -> Flags:
    """Return which rows (m,) are equal whatever others are: those without a cell, and those of a constant class.

    A class is constant whose only distinct row is there more often than any of other classes.
    """
    lone = np.bincount(sample.codes)[sample.codes] == 1
    constant: Flags = lone & (sample.copies > sample.copies[~lone].max(initial=1.0))
    empty = np.ones(len(sample.codes), dtype=np.bool_)
    for part in sample.rows:
        if isinstance(part, CodedColumns):
            for column in part.codes:
                empty &= column < 0
        elif is_sparse(part):
            empty[:] = False
        else:
            empty &= np.isnan(part).all(axis=1)
    return constant | empty


def _expected(sample: Reservoir) -> Array:
    """Return the probability (m,) that a row that was seen was seen more than once, under the model of the others."""
    columns = _columns(sample.rows, sample.codes)
    if columns is None:
        return np.zeros(len(sample.codes))
    mean = float(sample.copies.sum()) * _probability(columns)
    there = -np.expm1(-mean)  # P(count > 1 | count > 0) for Poisson counts
    return np.where(mean > 1e-9, 1.0 - mean * np.exp(-mean) / np.where(there > 0, there, 1.0), 0.5 * mean)


def _columns(rows: Sequence[Any], codes: Codes) -> list[Codes] | None:
    """Return the class and every column as numbers (m,) of their values; None where there are too many to compare."""
    found: list[Any] = [codes]
    for part in rows:
        if is_sparse(part):
            return None
        found += part.codes if isinstance(part, CodedColumns) else list(part.T)
    return [np.unique(column, return_inverse=True)[1].reshape(-1) for column in found]


def _probability(columns: Sequence[Codes]) -> Array:
    """Return the probability of each row (m,) under the tree of the others: it is left out of the counts.

    One more row is shared out among the values of a column, and one by their shares under each value of its parent.
    """
    total = np.zeros(len(columns[0]))
    for own, parent in zip(columns, _parents(columns), strict=True):
        count = np.bincount(own)
        share = (count[own] - 1.0 + 1.0 / len(count)) / len(own)
        if parent >= 0:
            given = columns[parent]
            _, both, pairs = np.unique(own * (int(given.max()) + 1) + given, return_inverse=True, return_counts=True)
            share = (pairs[both.reshape(-1)] - 1.0 + share) / np.bincount(given)[given]
        total += np.log(share)
    return np.exp(total)


def _parents(columns: Sequence[Codes]) -> list[int]:
    """Return on which other column each depends, −1 for the first: the class, or the tree of most information."""
    if len(columns) > MOST_COLUMNS + 1:
        return [-1, *[0] * (len(columns) - 1)]
    few = [np.unique(column[:ENOUGH], return_inverse=True)[1].ravel() for column in columns]
    parents, best = [-1] * len(few), np.full(len(few), -np.inf)
    best[0], left = np.inf, set(range(len(few)))
    while left:
        new = max(left, key=lambda j: (best[j], -j))
        left.remove(new)
        for j in left:
            told = _information(few[new], few[j])
            if told > best[j]:
                best[j], parents[j] = told, new
    return parents


def _information(a: Codes, b: Codes) -> float:
    """Return the mutual information of two columns in nats, less what as many values tell by chance."""
    both = a * (int(b.max()) + 1) + b
    counts = [np.unique(own, return_counts=True)[1] for own in (a, b, both)]
    alone, other, together = (-float((own / len(a)) @ np.log(own / len(a))) for own in counts)
    chance = (len(counts[0]) - 1) * (len(counts[1]) - 1) / (2.0 * len(a))
    return alone + other - together - chance


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


def name_rows(column: Cells) -> bool:
    """Return whether nearly every row has a level of its own, or a whole number though more would repeat by chance."""
    seen = column.values[~np.isnan(column.values)]
    distinct = np.unique(seen)
    again = len(seen) - len(distinct)
    if len(seen) < FEWEST_ROWS or again > (1.0 - ALL_DIFFER) * len(seen):
        return False
    if column.is_level:
        return True
    span = float(distinct[-1] - distinct[0])
    if not (seen == np.rint(seen)).all() or not 0.0 < span < 2.0**53:
        return False
    step = int(np.gcd.reduce(np.diff(distinct).astype(np.int64)))
    by_chance = len(seen) ** 2 / (2.0 * span / step)
    return by_chance >= SURPRISING and again <= 0.1 * by_chance


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
    out = np.full(len(cells), np.nan)
    out[known] = (rankdata(cells[known]) - 0.5) / max(int(known.sum()), 1)
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
