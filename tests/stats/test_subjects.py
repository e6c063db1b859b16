"""Columns that name what rows belong to: distances against all pairs of rows, and alarms that are due and no others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice.stats.dependent_rows import MOST_OTHERS, Cells, _compared, _of_levels, _of_numbers, name_subjects


@pytest.mark.parametrize("is_level", [False, True])
def test_distances_are_those_of_all_pairs(is_level, rng):
    value = rng.integers(0, 12, 90)
    value[value == 11] = 10
    value = np.append(value, 11)  # a value of one row
    cells = rng.integers(0, 4, len(value)).astype(float) if is_level else rng.random(len(value))
    cells[(value == 5) | (value == 7) | (rng.random(len(value)) < 0.1)] = np.nan
    apart = (cells[:, None] != cells) if is_level else (cells[:, None] - cells) ** 2
    sums = _of_levels(value, cells, 12) if is_level else _of_numbers(value, cells[:, None], 12)
    rows, within, between = (own[:, 0] for own in _compared(*sums))
    for v in range(12):
        known = ~np.isnan(cells)
        own = known & (value == v)
        sides = [known & (value == w) for w in (v - 1, v + 1) if (known & (value == w)).any()]
        if own.sum() < 2 or not sides:
            assert rows[v] == 0
            continue
        assert rows[v] == own.sum()
        assert_allclose(within[v], apart[np.ix_(own, own)].sum() / (own.sum() * (own.sum() - 1)))
        assert_allclose(between[v], np.mean([apart[np.ix_(own, side)].mean() for side in sides]))


def table(rng, subjects, spread=1.5, d=5):
    """Numbers and categories of subjects with a mean of their own, and the subject of each row, in no order."""
    size = rng.integers(15, 21, subjects)
    who = rng.permutation(subjects)[np.arange(subjects).repeat(size)].astype(float)
    own = spread * rng.normal(size=(subjects, d))[who.astype(int)]
    numbers = own + 0.5 * rng.normal(size=own.shape)
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    groups = np.where(rng.random(len(who)) < 0.8, (7 * who) % 6, rng.integers(0, 6, len(who)))
    return [*(Cells(column, False) for column in numbers.T), Cells(groups, True)], who


@pytest.mark.parametrize("is_level", [False, True])
def test_subjects_are_found(is_level):
    for seed in range(20):
        columns, who = table(np.random.default_rng(seed), 40)
        columns.append(Cells(who, is_level))
        assert name_subjects(columns, range(len(columns))) == [len(columns) - 1]


def test_independent_columns_raise_no_alarm():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, columns = int(rng.integers(100, 1500)), list[Cells]()
        for _ in range(int(rng.integers(2, 12))):
            kind, levels = rng.integers(0, 4), int(rng.integers(2, 60))
            made = (rng.normal(size=n), rng.integers(0, levels, n), rng.integers(0, levels, n), rng.exponential(20, n))
            columns.append(Cells(np.round(made[kind], 0 if kind else 6).astype(float), kind == 2))
        assert not name_subjects(columns, range(len(columns)))


def test_numbers_that_others_follow_name_nobody():
    """An age, a year, a score: rows of one value are alike, and so are those of the next."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(300, 1500))
        hidden = rng.normal(size=n)
        numbers = hidden[:, None] * rng.normal(size=5) + 0.3 * rng.normal(size=(n, 5))
        columns = [Cells(column, False) for column in numbers.T] + [Cells(np.round(40 + 12 * hidden), False)]
        assert not name_subjects(columns, [5])


def test_few_values_and_values_of_single_rows_are_no_candidates(rng):
    columns, who = table(rng, 40)
    for cells in (who % 10, np.arange(len(who)), who + 0.5):
        assert not name_subjects([*columns, Cells(cells.astype(float), False)], [len(columns)])
    assert not name_subjects([Cells(who, False)], [0])  # nothing to judge by
    assert not name_subjects([Cells(np.full(50, np.nan), False), *columns], [0])


def test_of_very_many_columns_some_judge(rng):
    columns, who = table(rng, 40, d=3 * MOST_OTHERS)
    assert name_subjects([*columns, Cells(who, False)], [len(columns)]) == [len(columns)]
