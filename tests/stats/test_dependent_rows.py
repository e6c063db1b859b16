"""Copies of rows and rows that few values make equal are told apart."""

import numpy as np
import pytest

from suffice.stats.counts import CodedColumns
from suffice.stats.dependent_rows import are_copies, as_judged
from suffice.stats.reservoir import Reservoir


def sample(numbers, categories, codes):
    """Return all rows of a table; `categories` (n, c) are whole numbers below 10."""
    levels = tuple(tuple("abcdefghij") for _ in categories.T)
    coded = CodedColumns(levels, tuple(np.ascontiguousarray(column) for column in categories.T))
    rows = [part for part, width in ((numbers, numbers.shape[1]), (coded, categories.shape[1])) if width]
    return Reservoir.summarize(rows, codes, ("no", "yes"), bound=len(codes))


def few_values(rng, n, columns=4, levels=3):
    """Return columns of few values that depend on each other and on the class."""
    codes = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.7, codes, rng.integers(0, levels, n))
    found = [first]
    for _ in range(columns - 1):
        found.append(np.where(rng.random(n) < 0.6, found[-1], rng.integers(0, levels, n)))
    return np.stack(found, axis=1), codes


@pytest.mark.parametrize("columns", [1, 3, 6, 10])
@pytest.mark.parametrize("n", [100, 1000])
def test_equal_rows_of_few_values_are_rows_of_their_own(columns, n, rng):
    categories, codes = few_values(rng, n, columns)
    whole = sample(np.zeros((n, 0)), categories, codes)
    assert (whole.copies > 1).any()
    assert not are_copies(whole)
    assert as_judged(whole) is whole


def test_yes_and_no_beside_whole_numbers_may_repeat_too(rng):
    categories, codes = few_values(rng, 2000, 2, 2)
    assert not are_copies(sample(rng.integers(0, 20, (2000, 1)).astype(float), categories, codes))


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("numbers", [1, 4])
def test_measurements_given_again_are_copies(times, numbers, rng):
    categories, codes = few_values(rng, 200)
    again = np.tile(np.arange(200), times)
    found = sample(rng.normal(size=(200, numbers))[again], categories[again], codes[again])
    assert are_copies(found)
    assert (as_judged(found).copies == 1).all()
    assert as_judged(found).weight.sum() == 200 * times


def test_a_class_drawn_again_to_balance_a_table_is_of_copies(rng):
    numbers, codes = rng.normal(size=(400, 3)), (np.arange(400) >= 350).astype(np.int64)
    drawn = np.append(np.arange(400), rng.choice(np.arange(350, 400), 300))
    assert are_copies(sample(numbers[drawn], np.zeros((len(drawn), 0), dtype=np.int64), codes[drawn]))


def test_categories_that_hardly_ever_repeat_given_twice_are_copies(rng):
    categories, codes = few_values(rng, 300, 12, 8)
    n = np.zeros((300, 0))
    assert not are_copies(sample(n, categories, codes))
    again = np.tile(np.arange(300), 2)
    assert are_copies(sample(n[again], categories[again], codes[again]))


def test_missing_cells_are_a_value(rng):
    numbers, codes = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    numbers[::2, 1] = np.nan
    again = np.tile(np.arange(100), 2)
    none = np.zeros((200, 0), dtype=np.int64)
    assert not are_copies(sample(numbers, none[:100], codes))
    assert are_copies(sample(numbers[again], none, codes[again]))


def test_rows_of_a_constant_class_and_rows_without_a_cell_are_no_copies(rng):
    numbers, codes, none = rng.normal(size=(100, 2)), np.arange(100) % 2, np.zeros((200, 0), dtype=np.int64)
    numbers[codes == 1] = 4.0
    assert not are_copies(sample(numbers, none[:100], codes))
    numbers[codes == 1] = np.nan
    assert not are_copies(sample(numbers, none[:100], codes))
    again = np.tile(np.arange(100), 2)
    judged = as_judged(sample(numbers[again], none, codes[again]))
    assert (judged.copies[judged.codes == 0] == 1).all()
    assert judged.copies[judged.codes == 1] == 100  # or the class would leave with its only row
