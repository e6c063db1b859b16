"""Rows end in the same leaves by scikit-learn's compiled walk and by steps of our own."""

from dataclasses import replace

import numpy as np
import pytest
from forests import small_table
from numpy.testing import assert_array_equal

from suffice.forest import FrozenForest, Trees, compiled


@pytest.fixture(scope="module")
def grown():
    """Trees on a table with holes, and cells of other rows."""
    rng = np.random.default_rng(0)
    numbers, categories, y = small_table(rng, 400, holes=0.2)
    frozen = FrozenForest.freeze(numbers, categories, y, 2, np.ones(400))
    return frozen, frozen.read(numbers, categories).forest.cells


@pytest.mark.parametrize("kind", ["density", "labels"])
@pytest.mark.parametrize("missing_right", [False, True, None])
def test_the_same_leaves(grown, kind, missing_right):
    """Missing cells go left, right, or either way."""
    trees, cells = getattr(grown[0], kind), grown[1]
    assert (cells < 0).any()
    away = np.arange(len(trees.column)) % 2 == 0 if missing_right is None else np.full(len(trees.column), missing_right)
    trees = replace(trees, missing_right=away & (trees.column >= 0))
    assert compiled.compiled(trees, cells.shape[1]) is not None
    for tree, node in enumerate(trees.nodes_of(cells)):
        expected = trees.steps_of(cells, tree)
        assert len(np.unique(expected)) > 3
        assert_array_equal(trees.leaves_of(cells, tree), expected)
        assert_array_equal(trees.leaf[node + trees.roots[tree]], expected)
    few = cells[: compiled.FEW - 1]
    assert_array_equal(trees.leaves_of(few, 0), trees.steps_of(cells, 0)[: len(few)])


def test_trees_that_answer_otherwise_are_not_used(grown, monkeypatch):
    """As of a release of scikit-learn whose nodes mean something else, or that makes them in another way."""
    trees, cells = grown[0].labels, grown[1]
    right = compiled._maker

    def wrong(d):
        return lambda trees, begin, end: right(d)(replace(trees, threshold=trees.threshold - 3), begin, end)

    def none(d):
        raise AttributeError("Tree")

    for make in (wrong, none):
        monkeypatch.setattr(compiled, "_maker", make)
        own = replace(trees)
        assert compiled.compiled(own, cells.shape[1]) is None
        assert_array_equal(own.leaves_of(cells, 1), trees.steps_of(cells, 1))
        assert [len(node) for node in own.nodes_of(cells)] == [len(cells)] * len(trees)


def test_trees_whose_nodes_are_mixed_up():
    """A file may have the nodes of two trees in turn; each is still walked from its root."""
    column = np.array([0, 1, -1, -1, -1, -1])
    left, right = np.array([2, 4, -1, -1, -1, -1]), np.array([3, 5, -1, -1, -1, -1])
    threshold, away = np.array([1, 2, 0, 0, 0, 0]), np.zeros(6, dtype=bool)
    trees = Trees(column, threshold, left, right, away, np.array([0, 1]), 0.0)
    cells = np.tile(np.array([[0, 3], [2, 1]], dtype=np.int16), (compiled.FEW, 1))
    assert compiled.compiled(trees, 2) is None
    assert_array_equal(trees.leaves_of(cells, 0)[:2], [0, 1])
    assert_array_equal(trees.leaves_of(cells, 1)[:2], [3, 2])
