"""A sample of rows: parts hold what the whole holds, equal rows are one, every class keeps some, weights add up."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from suffice.stats import ByClass, Reservoir
from suffice.stats.counts import CodedColumns
from suffice.stats.rows import content, fingerprints, level_keys, priorities, take_rows

LEVELS = ("blue", "green", "red")


def mixed_rows(rng, n, decimals=6):
    X = rng.normal(size=(n, 3)).round(decimals)
    X[rng.random((n, 3)) < 0.1] = np.nan
    colours = CodedColumns((LEVELS,), (rng.integers(-1, 3, n),))
    return X, colours, csr_array(rng.poisson(0.5, (n, 4)).astype(float))


def take(rows, index):
    return tuple(take_rows(part, index) for part in rows)


def test_rows_whose_cells_change_places_are_told_apart_in_any_order_of_columns():
    rows = np.array([[1.0, 5.0], [5.0, 1.0], [2.0, 3.0], [3.0, 4.0], [4.0, 2.0]])
    keys = content([rows], 5)
    assert len(set(keys.tolist())) == 5
    assert_array_equal(content([10.0 * rows[::-1, ::-1]], 5), keys[::-1])


def contents(sample, classes):
    """Return {identity: (label, copies, weight, cells)}, with categories by name."""
    found = {}
    for i, key in enumerate(sample.identity.tolist()):
        cells = []
        for part in sample.rows:
            if isinstance(part, CodedColumns):
                cells += [known[codes[i]] if codes[i] >= 0 else None for known, codes in zip(*part, strict=True)]
            else:
                cells += (part[[i]].toarray() if hasattr(part, "toarray") else part[[i]])[0].tolist()
        found[key] = (classes[sample.codes[i]], sample.copies[i], round(sample.weight[i], 9), str(cells))
    return found


@pytest.mark.parametrize("bound", [0, 20, 100, 1000])
@pytest.mark.parametrize("decimals", [6, 0])  # with 0 many rows are equal
def test_parts_in_any_order_hold_what_the_whole_holds(rng, bound, decimals):
    n = 600
    rows, labels = (
        mixed_rows(rng, n, decimals),
        rng.choice(np.array(["a", "b", "c", "rare"]), n, p=[0.5, 0.3, 0.19, 0.01]),
    )
    weight = rng.integers(1, 4, n).astype(float)

    def summary(index):
        classes, codes = np.unique(labels[index], return_inverse=True)
        sample = Reservoir.summarize(take(rows, index), codes, tuple(classes.tolist()), weight[index], bound)
        return ByClass(tuple(classes.tolist()), np.bincount(codes, weights=weight[index]), (), len(index), sample)

    whole = summary(np.arange(n))
    cuts = np.split(rng.permutation(n), [150, 170, 400])
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        merged = summary(cuts[order[0]])
        for i in order[1:]:
            merged = merged.merge(summary(cuts[i]))
        assert contents(merged.sample, merged.classes) == contents(whole.sample, whole.classes)
        assert_array_equal(merged.sample.limit, whole.sample.limit)
    if bound == 0:
        assert len(whole.sample.codes) == 0


@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 80))
@settings(max_examples=40, deadline=None)
def test_up_to_the_bound_every_row_is_held_with_its_weight(seed, n, bound):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.integers(0, 3, (n, 2)).astype(float), rng.integers(0, 2, n), rng.random(n) + 0.1
    sample = Reservoir.summarize((X,), y, (0, 1), weight, bound)
    keys, group = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if len(keys) > bound:
        return
    held = np.column_stack([sample.rows[0], sample.codes])
    order = np.lexsort(held.T[::-1])
    assert_array_equal(held[order], keys)
    assert_array_equal(sample.copies[order], np.bincount(group.ravel()))
    assert_allclose(sample.weight[order], np.bincount(group.ravel(), weights=weight))


def test_rare_classes_keep_rows_and_weights_stand_for_all(rng):
    n = 50_000
    codes = np.concatenate([np.zeros(n - 40, int), np.full(30, 1), np.full(10, 2)])
    sample = Reservoir.summarize((rng.normal(size=(n, 2)),), codes, ("many", "few", "fewer"), None, 500)
    assert 500 <= len(sample.codes) <= 540
    assert_array_equal(np.bincount(sample.codes)[1:] >= [25, 10], True)
    total = np.bincount(codes).astype(float)
    assert_allclose(np.bincount(sample.codes, weights=sample.represented(total)), total)


def test_the_sample_is_one_at_random(rng):
    """The mean of the sample is that of all rows to within four standard errors."""
    X = rng.exponential(size=(100_000, 3))
    X[:, 2] = X[:, 2].round()
    sample = Reservoir.summarize((X,), np.zeros(len(X), int), ("only",))
    assert len(sample.codes) == 2000
    error = (sample.rows[0].mean(axis=0) - X.mean(axis=0)) / (X.std(axis=0) / np.sqrt(2000))
    assert np.abs(error).max() < 4


def test_forgotten_rows_leave_and_later_rows_do_not_slip_in(rng):
    X, y = rng.normal(size=(3000, 2)), np.zeros(3000, int)
    whole = Reservoir.summarize((X,), y, ("a",), None, 400)
    gone = Reservoir.summarize((X[:1500],), y[:1500], ("a",), None, 3000)
    left = whole.subtract(gone)
    direct = Reservoir.summarize((X[1500:],), y[1500:], ("a",), None, 400)
    held = set(left.identity.tolist())
    assert 100 < len(held) < 300
    assert held < set(direct.identity.tolist())
    again = left.merge(Reservoir.summarize((X[:1500],), y[:1500], ("a",), None, 400))
    assert contents(again, "a") == contents(whole, "a")


def test_files(rng):
    rows, codes = mixed_rows(rng, 50), rng.integers(0, 2, 50)
    sample = Reservoir.summarize(rows, codes, ("a", "b"), None, 30)
    fields, plain = sample.arrays()
    assert all(np.isfinite(values).all() for values in fields.values())
    again = Reservoir.from_arrays(fields, plain)
    assert contents(again, "ab") == contents(sample, "ab")
    assert contents(again.merge(sample), "ab").keys() == contents(sample, "ab").keys()
    for name in ("codes", "identity", "x0", "c1", "s2data"):
        with pytest.raises((ValueError, KeyError)):
            Reservoir.from_arrays({**fields, name: fields[name][:-1]}, plain)


def test_hashes_depend_on_contents_alone(rng):
    X = rng.normal(size=(100, 5))
    order = rng.permutation(100)
    assert_array_equal(fingerprints(X)[order], fingerprints(X[order]))
    assert_array_equal(priorities(X, 1)[order], priorities(np.asfortranarray(X[order]), 1))
    assert len(np.unique(fingerprints(X))) == 100
    assert fingerprints(np.array([[0.0]])) == fingerprints(np.array([[-0.0]]))
    assert (fingerprints(X) != fingerprints(X[:, ::-1])).all()
    words = csr_array(rng.poisson(1.0, (20, 6)).astype(float))
    stored = words.copy()
    stored.data[::3] = 0.0
    assert_array_equal(fingerprints(stored), fingerprints(csr_array(stored.toarray())))


def test_hashes_of_levels():
    assert_array_equal(level_keys(range(-2, 4)), level_keys(tuple(range(-2, 4))))
    assert_array_equal(level_keys((1.0, 2.0)), level_keys((1, 2)))
    assert len(np.unique(level_keys(("1", 1, "a", 1.5, "")))) == 6
