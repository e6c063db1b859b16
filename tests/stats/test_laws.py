"""Every statistic in every form keeps the laws of merging: the grid statistic × form × kind of rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from statistic_laws import assert_same_statistics, check_statistics

from suffice.stats import (
    CategoricalStats,
    DiagonalScatter,
    FullScatter,
    GaussianStats,
    PatternStats,
    PooledScatter,
)
from suffice.stats.counts import CodedColumns

FORMS = [FullScatter, PooledScatter, DiagonalScatter]
MATRICES = [FullScatter, PooledScatter]


class Settled:
    """A statistic with everything but the rows settled, as `check_statistics` asks."""

    def __init__(self, kind, k, width, *form):
        self.kind, self.k, self.width, self.form = kind, k, width, form

    def zero(self):
        return self.kind.zero(self.k, self.width, *self.form)

    def summarize(self, rows, codes, k, weight):
        return self.kind.summarize(rows, codes, k, weight, *self.form)


def by_name(value):
    return getattr(value, "__name__", None)


def table(rng, n, d, k, holes=0.0):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0
    codes = rng.integers(0, k, n)
    X += codes[:, None]
    return np.where(rng.random((n, d)) < holes, np.nan, X), codes


def coded(columns):
    """Encode columns of text (None: missing) with the levels these rows hold, so that parts have fewer levels."""
    levels, codes = [], []
    for column in columns:
        own = tuple(sorted({cell for cell in column if cell is not None}))
        levels.append(own)
        codes.append(np.array([-1 if cell is None else own.index(cell) for cell in column], dtype=np.int32))
    return CodedColumns(tuple(levels), tuple(codes))


class TextColumns:
    """Columns of text that are encoded only when they are summarised."""

    def __init__(self, columns):
        self.columns = columns

    def take(self, index):
        return TextColumns([[column[i] for i in index] for column in self.columns])


class SettledCounts(Settled):
    def summarize(self, rows, codes, k, weight):
        return CategoricalStats.summarize(coded(rows.columns), codes, k, weight)


@pytest.mark.parametrize("form", FORMS, ids=by_name)
@pytest.mark.parametrize(("n", "d", "k"), [(4, 1, 1), (30, 1, 3), (60, 5, 1), (60, 5, 4), (9, 7, 9), (200, 3, 2)])
def test_gaussian(rng, form, n, d, k):
    X, codes = table(rng, n, d, k)
    check_statistics(Settled(GaussianStats, k, d, form), X, codes, k)


@pytest.mark.parametrize("form", MATRICES, ids=by_name)
@pytest.mark.parametrize(("n", "k"), [(20, 1), (60, 3), (128, 2), (300, 2)])
def test_gaussian_wider_than_long(rng, form, n, k):
    """From 128 columns on, few rows are kept as they are; with 300 rows the whole is a matrix and its parts are not."""
    X, codes = table(rng, n, 128, k)
    statistic = Settled(GaussianStats, k, 128, form)
    kept = statistic.summarize(X, codes, k, None).scatter.name
    assert kept == ("thin" if n <= 128 else form.name)
    check_statistics(statistic, X, codes, k)


@pytest.mark.parametrize("form", MATRICES, ids=by_name)
@pytest.mark.parametrize(
    ("n", "d", "k", "holes"), [(40, 3, 2, 0.3), (60, 5, 3, 0.5), (30, 4, 1, 0.05), (20, 2, 3, 0.9)]
)
def test_patterns_of_missing_cells(rng, form, n, d, k, holes):
    X, codes = table(rng, n, d, k, holes)
    check_statistics(Settled(PatternStats, k, d, form), X, codes, k)


@pytest.mark.parametrize(("n", "d", "k", "holes"), [(40, 3, 2, 0.3), (60, 5, 3, 0.7), (200, 150, 2, 0.1)])
def test_diagonal_with_missing_cells(rng, n, d, k, holes):
    X, codes = table(rng, n, d, k, holes)
    check_statistics(Settled(GaussianStats, k, d, DiagonalScatter), X, codes, k)


@pytest.mark.parametrize(
    ("n", "k", "levels"), [(40, 1, [2]), (60, 3, [2, 5, 1]), (80, 2, [40, 70, 3]), (30, 9, [2, 2, 2])]
)
def test_counts_with_growing_vocabularies(rng, n, k, levels):
    columns = [[None if v == 0 else f"level {v}" for v in rng.integers(0, count + 1, n)] for count in levels]
    statistic = SettledCounts(CategoricalStats, k, len(levels))
    rows = TextColumns(columns)
    check_statistics(statistic, rows, rng.integers(0, k, n), k, take=lambda r, index: r.take(index))


@pytest.mark.parametrize("form", FORMS, ids=by_name)
def test_single_precision_rows(rng, form):
    """Rows of float32 are accumulated in float64: the laws hold as tightly as for float64."""
    X, codes = table(rng, 500, 4, 3)
    X = X.astype(np.float32)
    check_statistics(Settled(GaussianStats, 3, 4, form), X, codes, 3)
    assert_same_statistics(
        GaussianStats.summarize(X, codes, 3, None, form),
        GaussianStats.summarize(X.astype(np.float64), codes, 3, None, form),
        0.0,
    )


@pytest.mark.parametrize("statistic", [GaussianStats, PatternStats], ids=by_name)
@pytest.mark.parametrize("form", FORMS, ids=by_name)
@pytest.mark.parametrize("offset", [1e8, -1e8, 1e4])
def test_far_from_the_origin(rng, statistic, form, offset):
    """The mean of rows near 1e8 is itself only known to 1.5e-8, hence a tolerance of 1e-8 of the scatter."""
    if statistic is PatternStats and form is DiagonalScatter:
        form = FullScatter
    X, codes = table(rng, 300, 3, 2)
    X += offset
    if statistic is PatternStats:
        X[::4, 1] = np.nan
    check_statistics(Settled(statistic, 2, 3, form), X, codes, 2, tolerance=1e-8)


@st.composite
def weighted_parts(draw):
    """Rows with exact small numbers, their classes and weights, and a number of the part each belongs to."""
    n, d, k = draw(st.integers(1, 25)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.integers(-50, 50) | st.sampled_from([0.25, 1e3, -7.5])
    X = np.array(draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=np.float64)
    each = {"min_size": n, "max_size": n}
    codes = np.array(draw(st.lists(st.integers(0, k - 1), **each)))
    weight = np.array(draw(st.lists(st.sampled_from([0.25, 1.0, 2.0, 7.0, 1e3]), **each)))
    return X, codes, k, weight, np.array(draw(st.lists(st.integers(0, 3), **each)))


@settings(max_examples=80, deadline=None)
@given(data=weighted_parts(), form=st.sampled_from(FORMS), holes=st.integers(0, 2**32 - 1) | st.none())
def test_any_weighted_parts_merge_to_the_whole(data, form, holes):
    X, codes, k, weight, parts = data
    kind = GaussianStats
    if holes is not None:
        X = np.where(np.random.default_rng(holes).random(X.shape) < 0.3, np.nan, X)
        kind = GaussianStats if form is DiagonalScatter else PatternStats
    whole = kind.summarize(X, codes, k, weight, form)
    merged = kind.zero(k, X.shape[1], form)
    for part in range(4):
        own = parts == part
        merged = merged.merge(kind.summarize(X[own], codes[own], k, weight[own], form))
    # weights span 4e3 and cells 1e3: sums of squares of ±1e3 leave rounding of 1e6 · 1e-16 beside variances near 1
    assert_same_statistics(merged, whole, 1e-9)
