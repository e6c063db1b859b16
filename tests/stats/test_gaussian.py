"""Gaussian statistics against sums written out with NumPy, in extended precision where float64 would not do."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice.errors import DataError
from suffice.stats import (
    DiagonalScatter,
    FullScatter,
    GaussianStats,
    LowRankScatter,
    PatternStats,
    PooledScatter,
    centred_sums,
    patterns,
)

FORMS = [FullScatter, PooledScatter, DiagonalScatter]
SIZES = [(1, 1, 1), (7, 3, 2), (50, 4, 3), (400, 6, 5), (3000, 80, 2), (40, 130, 3), (200, 130, 2)]


def sums(X, codes, k, weight):
    """Return weight, mean and scatter by class as plain extended-precision sums; nothing is shared with the library."""
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    d = X.shape[1]
    total, mean, scatter = (
        np.zeros(k, np.longdouble),
        np.zeros((k, d), np.longdouble),
        np.zeros((k, d, d), np.longdouble),
    )
    for c in range(k):
        own, w = X[codes == c], weight[codes == c]
        if len(own):
            total[c] = w.sum()
            mean[c] = (w[:, None] * own).sum(axis=0) / total[c]
            centred = own - mean[c]
            scatter[c] = centred.T @ (w[:, None] * centred)
    return total, mean, scatter


def reduced(scatter, form):
    if form is PooledScatter:
        return scatter.sum(axis=0)
    return scatter if form is FullScatter else np.diagonal(scatter, axis1=1, axis2=2)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums(rng, form, n, d, k, weighted, dtype):
    X = (rng.normal(size=(n, d)) * np.logspace(-2, 2, d) + 5).astype(dtype)
    codes = rng.integers(0, k, n)
    weight = rng.integers(1, 5, n) / 2 if weighted else np.ones(n)
    total, mean, scatter = sums(X, codes, k, weight)
    stats = GaussianStats.summarize(X, codes, k, weight if weighted else None, form).dense()
    # each entry is a sum of n rounded products: n · 1e-16 relative to the two columns' own sums of squares
    unit = np.sqrt(np.maximum(np.diagonal(scatter.sum(axis=0)), 1e-300))
    unit = unit**2 if form is DiagonalScatter else np.outer(unit, unit)
    assert_allclose(stats.column_weight(), np.broadcast_to(total[:, None], (k, d)).astype(float), rtol=1e-14)
    assert_allclose(stats.mean, mean.astype(float), rtol=0, atol=1e-13 * np.abs(X).max())
    gap = np.abs(stats.scatter.values - reduced(scatter, form)) / unit
    assert gap.max() < 1e-12


@pytest.mark.parametrize("form", [FullScatter, PooledScatter], ids=lambda form: form.name)
def test_few_wide_rows_are_kept_as_rows(rng, form):
    """A table of 20 × 5,000 has 2e8 bytes of scatter matrix and 8e5 bytes of rows."""
    X, codes = rng.normal(size=(20, 5000)), np.arange(20) % 2
    stats = GaussianStats.summarize(X, codes, 2, None, form)
    assert isinstance(stats.scatter, LowRankScatter)
    halves = [GaussianStats.summarize(X[part], codes[part], 2, None, form) for part in (slice(0, 9), slice(9, 20))]
    merged = halves[0].merge(halves[1])
    assert isinstance(merged.scatter, LowRankScatter)
    assert merged.scatter.values.shape[0] <= 20 + 2  # one more row per class, for the distance between the halves
    assert_allclose(merged.scatter.diagonal(2), stats.scatter.diagonal(2), rtol=1e-10)


@pytest.mark.parametrize("form", [FullScatter, PooledScatter], ids=lambda form: form.name)
@pytest.mark.parametrize("products", [0, 1 << 40])
def test_how_classes_are_dealt_to_threads_changes_nothing(rng, form, products, monkeypatch):
    """Classes with results of their own, one without rows among them, whether they come together or one by one."""
    X, codes = rng.normal(size=(900, 12)), rng.choice([0, 1, 3], 900)
    whole = GaussianStats.summarize(X, codes, 4, None, form)
    monkeypatch.setattr(centred_sums, "TASK_PRODUCTS", products)
    other = GaussianStats.summarize(X, codes, 4, None, form)
    assert_array_equal(other.scatter.values, whole.scatter.values)
    assert_array_equal(other.mean, whole.mean)
    expected = np.stack(
        [np.cov(X[codes == c].T, ddof=0) * (codes == c).sum() if c != 2 else np.zeros((12, 12)) for c in range(4)]
    )
    expected = expected.sum(axis=0) if form is PooledScatter else expected
    assert_allclose(whole.scatter.values, expected, atol=1e-10)


# --- missing cells ---


@pytest.mark.parametrize("form", [FullScatter, PooledScatter], ids=lambda form: form.name)
def test_patterns_hold_the_sums_of_their_rows(rng, form):
    X, codes = rng.normal(size=(120, 3)) + 4, rng.integers(0, 3, 120)
    X[rng.random(X.shape) < 0.35] = np.nan
    X[:4] = np.nan
    weight = rng.integers(1, 4, 120).astype(float)
    stats = PatternStats.summarize(X, codes, 3, weight, form)
    seen = ~np.isnan(X)
    expected = {tuple(np.flatnonzero(row).tolist()) for row in seen} - {(), (0, 1, 2)}
    assert set(stats.incomplete) == expected
    assert list(stats.incomplete) == sorted(expected)
    for pattern, (present, part) in stats.incomplete.items():
        own = (seen == np.isin(np.arange(3), pattern)).all(axis=1)
        assert_array_equal(present, np.unique(codes[own]))
        total, mean, scatter = sums(X[own][:, list(pattern)], codes[own], 3, weight[own])
        assert_allclose(part.weight, total[present].astype(float))
        assert_allclose(part.mean, mean[present].astype(float), rtol=1e-12)
        assert_allclose(part.scatter.values, reduced(scatter[present], form).astype(float), rtol=1e-10, atol=1e-12)
    by_hand = np.stack([(weight[:, None] * seen)[codes == c].sum(axis=0) for c in range(3)])
    assert_allclose(stats.column_weight(), by_hand, rtol=1e-13)


def test_rows_without_any_cell_leave_no_trace(rng):
    X, codes = rng.normal(size=(10, 2)), np.zeros(10, dtype=int)
    X[:5] = np.nan
    stats = PatternStats.summarize(X, codes, 1)
    assert not stats.incomplete
    assert stats.complete.weight[0] == 5


def test_too_many_patterns_are_refused_before_memory_is_spent(rng, monkeypatch):
    monkeypatch.setattr(patterns, "MAX_CELLS", 200)
    X = np.where(rng.random((200, 8)) < 0.5, np.nan, rng.normal(size=(200, 8)))
    with pytest.raises(DataError, match=r"patterns.*Next: call fit on all rows"):
        PatternStats.summarize(X, np.zeros(200, dtype=int), 1)
    parts = [PatternStats.summarize(row[None], np.zeros(1, dtype=int), 1) for row in X]
    with pytest.raises(DataError, match="patterns"):
        reduce(PatternStats.merge, parts)


# --- fields of a file that do not fit ---


@pytest.mark.parametrize(
    "broken",
    [
        {"weight": np.ones(3)},
        {"mean": np.ones((2, 4))},
        {"scatter": np.ones((2, 3))},
        {"scatter": np.ones((3, 3))},
        {"weight": np.ones((2, 3))},
    ],
    ids=lambda broken: f"{next(iter(broken))} {next(iter(broken.values())).shape}",
)
def test_arrays_of_other_shapes_are_refused(rng, broken):
    fields, plain = GaussianStats.summarize(rng.normal(size=(9, 3)), np.arange(9) % 2, 2).arrays()
    with pytest.raises(ValueError, match="shape"):
        GaussianStats.from_arrays({**fields, **broken}, plain)


def test_kept_rows_of_unknown_classes_are_refused(rng):
    fields, plain = GaussianStats.summarize(rng.normal(size=(9, 200)), np.arange(9) % 2, 2).arrays()
    for owner in (np.full(9, 2), np.full(9, -1), np.zeros(8, dtype=int)):
        with pytest.raises(ValueError, match=r"numbers beyond|an array of"):
            GaussianStats.from_arrays({**fields, "owner": owner}, plain)
