"""Statistics of a whole table: class lists grow, blocks must agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from statistic_laws import assert_same_statistics

from suffice.errors import MergeError
from suffice.stats import ByClass, CategoricalStats, GaussianStats, PooledScatter
from suffice.stats.counts import CodedColumns


def summary(X, y):
    classes, codes = np.unique(y, return_inverse=True)
    k = len(classes)
    kinds = CodedColumns((("n", "p"),), ((X[:, 0] > 0).astype(int),))
    blocks = (
        GaussianStats.summarize(X, codes, k),
        GaussianStats.summarize(X, codes, k, None, PooledScatter),
        CategoricalStats.summarize(kinds, codes, k),
    )
    return ByClass(tuple(classes.tolist()), np.bincount(codes).astype(float), blocks, len(y))


def assert_equal_tables(a, b, tolerance=1e-12):
    assert a.classes == b.classes
    assert a.rows == b.rows
    assert_allclose(a.weight, b.weight)
    for mine, theirs in zip(a.blocks, b.blocks, strict=True):
        assert_same_statistics(mine, theirs, tolerance)


def test_parts_with_different_classes(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat(["b", "d", "a", "c"], 15)
    parts = [summary(X[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)]
    whole = summary(X, y)
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        merged = parts[order[0]].merge(parts[order[1]]).merge(parts[order[2]])
        assert_equal_tables(merged, whole)
    assert whole.total == 60


def test_numbers_come_before_text_and_equal_classes_stay_put(rng):
    X = rng.normal(size=(8, 2))
    a, b = summary(X[:4], np.array([2, 10, 2, 10])), summary(X[4:], np.array([1, 10, 1, 10]))
    assert a.merge(b).classes == b.merge(a).classes == (1, 2, 10)
    assert a.merge(a).classes is a.classes


def test_a_longer_list_of_classes_leaves_the_new_ones_empty(rng):
    table = summary(rng.normal(size=(6, 2)), np.array(list("bbbddd"))).with_classes(("a", "b", "c", "d"))
    assert_array_equal(table.weight, [0, 3, 0, 3])
    assert not table.blocks[0].mean[[0, 2]].any()
    assert table.with_classes(("a", "b", "c", "d")) is table


def test_other_blocks_do_not_merge(rng):
    X, y = rng.normal(size=(6, 2)), np.array(list("aabbaa"))
    table = summary(X, y)
    with pytest.raises(MergeError, match="3 blocks of columns and the other 2"):
        table.merge(ByClass(table.classes, table.weight, table.blocks[:2]))


def test_statistics_that_cannot_be_edited_are_refused(rng):
    """A statistic made elsewhere may stop at what merging asks of it."""

    class MergeOnly:
        def merge(self, other):
            return self

        def place(self, index, k):
            return self

    table = ByClass(("a", "b"), np.ones(2), (MergeOnly(),), 2)
    for verb, edit in {
        "subtract": lambda: table.subtract(table),
        "scale": lambda: table.scale(0.5),
        "regroup": lambda: table.regroup({"a": None, "b": "b"}),
    }.items():
        with pytest.raises(MergeError, match=f"MergeOnly have no '{verb}'"):
            edit()


def test_subtracting_everything_leaves_no_class(rng):
    X, y = rng.normal(size=(30, 3)), np.repeat(["a", "b", "c"], 10)
    table = summary(X, y)
    assert table.subtract(table).classes == ()
    part = summary(X[:25], y[:25])
    left = table.subtract(part)
    assert left.classes == ("c",)
    assert_equal_tables(left, summary(X[25:], y[25:]))
    assert_equal_tables(left.merge(part), table)


@pytest.mark.parametrize("factor", [1.0, 0.5, 1e-3])
def test_regroup_and_scale_commute(rng, factor):
    X, y = rng.normal(size=(30, 3)), np.repeat(["a", "b", "c"], 10)
    names = {"a": "z", "b": None, "c": "z"}
    table = summary(X, y)
    assert_equal_tables(table.scale(factor).regroup(names), table.regroup(names).scale(factor))
    kept = y != "b"
    assert_equal_tables(table.regroup(names), summary(X[kept], np.where(y[kept] == "b", "b", "z")))
