"""Forests on small tables, and what is known of all rows that a table of few levels and values may hold."""

import itertools

import numpy as np

from suffice.forest import Forest, FrozenForest, LeafArrays
from suffice.stats.counts import CodedColumns

REACH = 6.0  # beyond the values, where hardly any density is left
STEP = 0.025


def coded(codes, levels):
    """Return a column of categories, −1 where missing."""
    return CodedColumns(tuple(tuple(own) for own in levels), tuple(codes))


def small_table(rng, n=240, holes=0.0):
    """Return numbers (n, 1) of five values, one column of three levels and one of two, and two classes."""
    y = rng.integers(0, 2, n)
    numbers = np.minimum(rng.poisson(1.0 + y), 4)[:, None].astype(float)
    first = np.where(rng.random(n) < 0.6, numbers[:, 0].astype(int) % 3, rng.integers(0, 3, n))
    second = ((first + y + (rng.random(n) < 0.2)) % 2).astype(int)
    if holes:
        numbers[rng.random(n) < holes] = np.nan
        first = np.where(rng.random(n) < holes, -1, first)
        second = np.where(rng.random(n) < holes, -1, second)
    return numbers, coded([first, second], [("a", "b", "c"), ("p", "q")]), y


def grown(numbers, categories, y, k=2, weight=None):
    """Return a forest on rows, which it has learned with these weights, and the rows as it reads them."""
    frozen = FrozenForest.freeze(numbers, categories, y, k, np.ones(len(y)), labels=False)
    reading = frozen.read(numbers, categories).forest
    return Forest(frozen.cells, frozen.density, LeafArrays.summarize(reading, frozen.density, y, k, weight)), reading


def every_row(levels=(3, 2)):
    """Return all rows (m, 1 + categories) with numbers in steps, and the measure of each step.

    Numbers lie in the middle of steps, none of which is cut by a cell: cells of whole numbers end at halves.
    """
    number = np.arange(-REACH, 4.0 + REACH, STEP) + 0.5 * STEP
    rows = [(x, *codes) for codes in itertools.product(*map(range, levels)) for x in number]
    return np.array(rows), STEP
