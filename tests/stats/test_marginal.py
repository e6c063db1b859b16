"""Statistics of some columns are those of rows that never had the others."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.stats import (
    CategoricalStats,
    DiagonalScatter,
    FullScatter,
    GaussianStats,
    PatternStats,
    PooledScatter,
    SumStats,
    ValueStats,
)
from suffice.stats.counts import CodedColumns
from suffice.stats.subsets import of_columns

COLUMNS = [3, 0, 2]


def rows(rng, n=50, d=5):
    return rng.normal(size=(n, d)) * 10.0 ** np.arange(d), rng.integers(0, 3, n), rng.choice([0.5, 1.0, 3.0], n)


def same(found, expected):
    own, told = (stats.arrays()[0] for stats in (found, expected))
    assert own.keys() == told.keys()
    for name, values in own.items():
        scale = np.abs(told[name]).max(initial=1.0)
        np.testing.assert_allclose(values, told[name], rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("form", [FullScatter, PooledScatter, DiagonalScatter])
def test_gaussians(rng, form):
    X, codes, weight = rows(rng)
    whole = GaussianStats.summarize(X, codes, 3, weight, form)
    same(of_columns(whole, COLUMNS), GaussianStats.summarize(X[:, COLUMNS], codes, 3, weight, form))


def test_of_more_columns_than_rows(rng):
    X, codes, weight = rng.normal(size=(20, 150)), rng.integers(0, 2, 20), np.ones(20)
    whole = GaussianStats.summarize(X, codes, 2, weight)
    same(of_columns(whole, COLUMNS).dense(), GaussianStats.summarize(X[:, COLUMNS], codes, 2, weight).dense())
    most = list(range(1, 150))
    same(of_columns(whole, most).dense(), GaussianStats.summarize(X[:, most], codes, 2, weight).dense())


@pytest.mark.parametrize("form", [FullScatter, PooledScatter])
def test_patterns_of_missing_cells_of_which_some_become_alike(rng, form):
    X, codes, weight = rows(rng)
    X[rng.random(X.shape) < 0.3] = np.nan
    whole = PatternStats.summarize(X, codes, 3, weight, form)
    found, expected = of_columns(whole, COLUMNS), PatternStats.summarize(X[:, COLUMNS], codes, 3, weight, form)
    assert found.incomplete.keys() == expected.incomplete.keys()
    same(found, expected)


def test_categories_and_counts(rng):
    _, codes, weight = rows(rng)
    levels = tuple(tuple(range(j + 2)) for j in range(5))
    cells = CodedColumns(levels, tuple(rng.integers(-1, j + 2, 50) for j in range(5)))
    some = CodedColumns(tuple(levels[j] for j in COLUMNS), tuple(cells.codes[j] for j in COLUMNS))
    same(
        of_columns(CategoricalStats.summarize(cells, codes, 3, weight), COLUMNS),
        CategoricalStats.summarize(some, codes, 3, weight),
    )
    X = rng.poisson(2.0, (50, 5)).astype(float)
    same(
        of_columns(SumStats.summarize(X, codes, 3, weight), COLUMNS),
        SumStats.summarize(X[:, COLUMNS], codes, 3, weight),
    )


def test_what_cannot_be_taken_apart_is_told(rng):
    X, codes, weight = rows(rng)
    assert of_columns(ValueStats.summarize(X, codes, 3, weight), COLUMNS) is None
