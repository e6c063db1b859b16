"""Counts of categories against a loop over the cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice.stats import CategoricalStats
from suffice.stats.counts import CodedColumns


def columns(rng, n, sizes, missing=0.2):
    codes = tuple(np.where(rng.random(n) < missing, -1, rng.integers(0, size, n)) for size in sizes)
    return CodedColumns(tuple(tuple(f"v{i:04d}" for i in range(size)) for size in sizes), codes)


def counted(rows, codes, k, weight):
    tables = [np.zeros((k, len(levels))) for levels in rows.levels]
    missing = np.zeros((k, len(rows.levels)))
    for j, column in enumerate(rows.codes):
        for cell, c, w in zip(column.tolist(), codes.tolist(), weight.tolist(), strict=True):
            if cell < 0:
                missing[c, j] += w
            else:
                tables[j][c, cell] += w
    return tables, missing


@pytest.mark.parametrize("sizes", [[1], [2, 2, 2, 2], [3, 50, 2], [2000, 3], [5] * 9])
@pytest.mark.parametrize("k", [1, 3, 2500])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts(rng, sizes, k, weighted):
    """Columns are counted together while their joint table stays small; the counts do not show it."""
    n = 300
    rows, codes = columns(rng, n, sizes), rng.integers(0, k, n)
    weight = rng.integers(1, 9, n) / 4 if weighted else np.ones(n)
    stats = CategoricalStats.summarize(rows, codes, k, weight if weighted else None)
    tables, missing = counted(rows, codes, k, weight)
    for found, expected in zip(stats.counts, tables, strict=True):
        assert_array_equal(found, expected)  # weights in quarters add up exactly
    assert_array_equal(stats.missing, missing)
    assert_array_equal(stats.column_weight(), np.stack([t.sum(axis=1) for t in tables], axis=1))


def test_merging_takes_the_union_of_the_vocabularies():
    a = CategoricalStats.summarize(CodedColumns((("b", "d"),), (np.array([0, 1, 1]),)))
    b = CategoricalStats.summarize(CodedColumns(((1, "a", "d"),), (np.array([2, 1, 0, -1]),)))
    merged = a.merge(b)
    assert merged.levels == ((1, "a", "b", "d"),)
    assert_array_equal(merged.counts[0], [[1, 1, 1, 3]])
    assert_array_equal(merged.missing, [[1]])
    assert b.merge(a).levels == merged.levels


def test_numbers_and_truth_values_that_are_equal_are_one_level():
    a = CategoricalStats.summarize(CodedColumns(((0, 1),), (np.array([0, 1, 1]),)))
    b = CategoricalStats.summarize(CodedColumns(((False, True),), (np.array([1, 0]),)))
    assert_array_equal(a.merge(b).counts[0], [[2, 3]])


def test_no_columns_of_text_in_a_class():
    stats = CategoricalStats.summarize(CodedColumns((("a",),), (np.array([0, -1]),)), np.array([0, 1]), 3)
    assert_allclose(stats.column_weight(), [[1], [0], [0]])
    assert_allclose(stats.missing, [[0], [1], [0]])
