"""Moments for Ledoit-Wolf of a covariance that many classes share: batches equal the whole, in d² memory."""

import copy
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf_shrinkage

from suffice import GaussianDiscriminant, load
from suffice.errors import MergeError
from suffice.stats import FourthMomentStats, _moment_loops, fourth

RULE = {"shared": True, "shrinkage": "ledoit-wolf"}


@pytest.fixture(params=[6, 130], ids=["narrow", "batches kept as rows"])
def table(request, rng, monkeypatch):
    """Rows with heavy tails, many classes, so many that only a few may keep moments of their own."""
    d, k, n = request.param, 12, 900
    monkeypatch.setattr(fourth, "MOST_CELLS", 8 * d * d)  # classes by themselves: up to 8; open ones beyond: 8
    X = rng.standard_t(5, size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d) + 50.0
    y = rng.integers(0, k, n)
    return X + y[:, None], y, rng.integers(1, 3, n).astype(float)


def oracle(X, y, w):
    """scikit-learn's amount for rows about their class means, in units of their standard deviations."""
    X, y = np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))
    z = X - np.array([X[y == c].mean(axis=0) for c in np.unique(y)])[y]
    return ledoit_wolf_shrinkage(z / z.std(axis=0), assume_centered=True)


def amount(model):
    return model.notes_[0].amount


def test_all_rows_at_once(table):
    X, y, w = table
    model = GaussianDiscriminant(**RULE).fit(X, y, w)
    assert model.statistics_.blocks[0].is_pooled
    assert amount(model) == pytest.approx(oracle(X, y, w), rel=1e-10)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_classes_that_come_whole_in_any_order(table, rng, size):
    X, y, w = table
    whole, parts = GaussianDiscriminant(**RULE).fit(X, y, w), GaussianDiscriminant(**RULE)
    for some in np.array_split(rng.permutation(12), 12 // size):
        own = np.isin(y, some)
        parts.partial_fit(X[own], y[own], sample_weight=w[own])
    assert parts.statistics_.blocks[0].is_pooled
    assert amount(parts) == pytest.approx(oracle(X, y, w), rel=1e-10)
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-10)


@pytest.mark.parametrize("size", [40, 133, 400])
def test_sorted_rows_in_batches_that_cut_classes(table, rng, size, tmp_path):
    """The class that a batch ends in goes on in the next one: the last classes keep moments of their own."""
    X, y, w = table
    order = np.argsort(rng.permutation(12)[y], kind="stable")
    parts = GaussianDiscriminant(**RULE)
    for i in range(0, len(y), size):
        own = order[i : i + size]
        parts.partial_fit(X[own], y[own], sample_weight=w[own])
        if i == 400:
            parts.save(tmp_path / "model")
            parts = load(tmp_path / "model")
    assert amount(parts) == pytest.approx(oracle(X, y, w), rel=1e-10)
    parts.rename_classes({3: 30})
    parts.decay(0.5)
    assert amount(parts) == pytest.approx(oracle(X, y, w / w), rel=0.5)  # weights enter as they are


def test_batches_of_more_classes_than_stay_open(table, monkeypatch):
    """Of each batch the classes at both ends stay open: where it goes on from the last one, and where it stops."""
    X, y, w = table
    monkeypatch.setattr(fourth, "MOST_CELLS", 3 * X.shape[1] ** 2)
    order, parts = np.argsort(y, kind="stable"), GaussianDiscriminant(**RULE)
    for i in range(0, len(y), 400):
        own = order[i : i + 400]
        parts.partial_fit(X[own], y[own], sample_weight=w[own])
    assert amount(parts) == pytest.approx(oracle(X, y, w), rel=1e-10)


def test_what_cannot_be_exact_is_refused(table, rng):
    X, y, _ = table
    model = GaussianDiscriminant(**RULE).fit(X, y)
    closed = np.setdiff1d(np.arange(12), model.statistics_.blocks[0].open)
    own = y == closed[0]
    before = model.predict_log_proba(X)
    for call in (
        lambda: model.partial_fit(X[own] + 1.0, y[own]),
        lambda: model.forget(X[own], y[own]),
        lambda: model.drop_class(int(closed[0])),
        lambda: model.rename_classes({int(closed[0]): int(closed[1])}),
        lambda: model.leave_one_out(X[:3], y[:3]),
    ):
        with pytest.raises(MergeError, match=r"oas|fit again"):
            call()
    model._learned = replace(model._learned)  # estimated again
    assert_allclose(model.predict_log_proba(X), before)


def test_few_classes_keep_everything(table):
    """Below the bound rows come in any order, and leave again."""
    X, y, w = table
    few = y < 5
    X, y, w = X[few], y[few], w[few]
    whole, parts = GaussianDiscriminant(**RULE).fit(X, y, w), GaussianDiscriminant(**RULE)
    for own in np.array_split(np.arange(len(y)), 4):
        parts.partial_fit(X[own], y[own], sample_weight=w[own])
    assert not parts.statistics_.blocks[0].is_pooled
    assert amount(parts) == pytest.approx(amount(whole), rel=1e-10)
    parts.forget(X[:9], y[:9], w[:9])
    assert amount(parts) == pytest.approx(oracle(X[9:], y[9:], w[9:]), rel=1e-8)


def test_memory_does_not_grow_with_classes_times_columns_squared(monkeypatch):
    """300 classes × 256 columns: one (k, d, d) array would be 157 MB, and classes by themselves need three."""
    k, d = 300, 256
    monkeypatch.setattr(fourth, "MOST_CELLS", 4 * d * d)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(k), 10)
    X = rng.normal(size=(len(y), d))
    tracemalloc.start()
    stats = FourthMomentStats.summarize(X, y, k, shared=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stats.is_pooled
    assert peak < 8 * (40 * d * d + 6 * k * d)  # 23 MB: open classes, blocks on the way, means


# --- moments made when first asked for -------------------------------------------------------------------------------


def by_loops(X, y, w, k):
    """Return scatter, third and fourth moments of each class by their definitions (k, d, d)."""
    found = np.zeros((3, k, X.shape[1], X.shape[1]))
    for c in range(k):
        z, own = X[y == c] - np.average(X[y == c], axis=0, weights=w[y == c]), w[y == c]
        for row, weight in zip(z, own, strict=True):
            found[:, c] += weight * np.array([np.outer(row, row), np.outer(row**2, row), np.outer(row**2, row**2)])
    return found


@pytest.mark.parametrize("kept", [True, False], ids=["rows", "matrices"])
@pytest.mark.parametrize("pooled", [False, True])
def test_moments_are_their_definitions_whether_rows_are_kept_or_not(rng, monkeypatch, kept, pooled):
    n, d, k = 60, 4, 5
    X, y, w = rng.normal(size=(n, d)) ** 3 + 9.0, rng.integers(0, k, n), rng.integers(1, 4, n).astype(float)
    monkeypatch.setattr(_moment_loops, "FEW_CELLS", 10**6 if kept else 0)
    if not kept:
        monkeypatch.setattr(_moment_loops, "_are_few", lambda rows, cells: False)
    if pooled:
        monkeypatch.setattr(fourth, "MOST_CELLS", 3 * d * d)
    stats = FourthMomentStats.summarize(X, y, k, w, shared=pooled)
    scatter, third, most = by_loops(X, y, w, k)
    scale = rng.uniform(1, 3, d)
    lengths = (((X - stats.gaussian.mean[y]) / scale) ** 2).sum(axis=1) ** 2
    assert stats.norms(scale, range(k)) == pytest.approx(w @ lengths, rel=1e-12)
    if pooled:
        assert stats.is_pooled
        assert 2 <= len(stats.open) <= 3
        assert_allclose(stats.fourth, most.sum(axis=0), rtol=1e-12)
        assert_allclose(stats.own, scatter[stats.open], rtol=1e-10, atol=1e-9)
        third = third[stats.open]
    else:
        assert stats.norms(scale, [1, 3]) == pytest.approx((w * lengths)[np.isin(y, [1, 3])].sum(), rel=1e-12)
        assert_allclose(stats.fourth, most, rtol=1e-12)
    assert_allclose(stats.third, third, rtol=1e-10, atol=1e-8)
    assert stats.norms(scale, range(k)) == pytest.approx(w @ lengths, rel=1e-12)  # from matrices now


def test_pickles_answer_to_the_bit_and_files_hold_no_rows(rng):
    """What an engine sends between processes is what was there; what is saved are sums."""
    X, y = rng.normal(size=(400, 30)), rng.integers(0, 2, 400)
    stats, scale = FourthMomentStats.summarize(X, y, 2), rng.uniform(1, 2, 30)
    expected = stats.norms(scale, [0, 1])
    for twin in (copy.deepcopy(stats), pickle.loads(pickle.dumps(stats))):
        assert twin.norms(scale, [0, 1]) == expected
        assert_array_equal(twin.fourth, FourthMomentStats.summarize(X, y, 2).fourth)
    fields, plain = FourthMomentStats.summarize(X, y, 2).arrays()
    assert max(array.size for array in fields.values()) == 2 * 30 * 30
    assert_array_equal(FourthMomentStats.from_arrays(fields, plain).third, stats.third)


def test_rows_are_not_kept_where_there_are_many(rng, monkeypatch):
    monkeypatch.setattr(_moment_loops, "FEW_CELLS", 0)
    k, d = 3, 5
    for n in (2 * k * d, 2 * k * d + 1):
        stats = FourthMomentStats.summarize(rng.normal(size=(n, d)), rng.integers(0, k, n), k)
        assert (stats.moments._rows is None) == (n > 2 * k * d)


def test_a_table_changed_after_the_fit_changes_nothing(rng):
    X, y = rng.normal(size=(400, 6)), rng.integers(0, 2, 400)
    stats = FourthMomentStats.summarize(X, y, 2)
    expected = by_loops(X, y, np.ones(400), 2)[2]
    X *= 5.0
    assert_allclose(stats.fourth, expected, rtol=1e-12)
