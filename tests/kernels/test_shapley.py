"""Shapley values of trees, by the mean of what each column changes over all subsets of the others."""

import itertools
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice.forest.trees import Trees, TreeScores

D = 5


def grown(rng, depth, trees):
    """Return trees that ask columns at random, again too, some of whose leaves no row is in."""
    column, threshold, left, right, roots = [], [], [], [], []

    def node(deep):
        own = len(column)
        ends = deep == depth or rng.random() < 0.15
        for part, value in (
            (column, -1 if ends else rng.integers(D)),
            (threshold, rng.integers(6)),
            (left, 0),
            (right, 0),
        ):
            part.append(value)
        if not ends:
            left[own], right[own] = node(deep + 1), node(deep + 1)
        return own

    for _ in range(trees):
        roots.append(node(0))
    arrays = [np.array(own, dtype=np.int64) for own in (column, threshold, left, right)]
    found = Trees(*arrays, rng.random(len(column)) < 0.5, np.array(roots, dtype=np.int64), 1.0)
    cover = rng.random(len(found.leaf_nodes)) * (rng.random(len(found.leaf_nodes)) < 0.8)
    return found, cover


def worth(trees, values, node, row, known, held):
    """Return what the leaves below a node hold of a row of which some columns are known."""
    if trees.column[node] < 0:
        return values[trees.leaf[node]]
    ways = trees.left[node], trees.right[node]
    j = trees.column[node]
    if j in known and row[j] >= 0:
        return worth(trees, values, ways[int(row[j] > trees.threshold[node])], row, known, held)
    part = np.array([held[own] for own in ways])
    part = part / part.sum() if part.sum() > 0 else np.full(2, 0.5)
    return sum(share * worth(trees, values, own, row, known, held) for share, own in zip(part, ways, strict=True))


def by_subsets(trees, values, cover, row):
    held = np.zeros(len(trees.column))
    held[trees.leaf_nodes] = cover
    for node in reversed(range(len(held))):
        if trees.column[node] >= 0:
            held[node] = held[trees.left[node]] + held[trees.right[node]]
    sets = [own for size in range(D + 1) for own in itertools.combinations(range(D), size)]
    game = {own: sum(worth(trees, values, root, row, own, held) for root in trees.roots) for own in sets}
    out = np.zeros((D, values.shape[1]))
    for own, j in ((own, j) for own in sets for j in range(D) if j not in own):
        out[j] += (game[tuple(sorted((*own, j)))] - game[own]) / (D * comb(D - 1, len(own)))
    return out


@pytest.mark.parametrize("depth", [0, 1, 3, 9])
@pytest.mark.parametrize("k", [1, 3])
def test_values_are_means_over_all_orders(depth, k, rng):
    """Of more rows than go down a tree together, cells missing too; a tree may have values for one class alone."""
    trees, cover = grown(rng, depth, trees=3)
    values = rng.normal(size=(len(cover), k))
    values[trees.leaf_tree == 1, : k - 1] = 0.0
    cells = rng.integers(-1, 7, (37, D)).astype(np.int16)
    found = TreeScores(trees, values, np.zeros(k), False, cover).contributions(cells)
    for i in (0, 5, 31, 32, 36):
        assert_allclose(found[i], by_subsets(trees, values, cover, cells[i]), atol=1e-12)


def test_of_very_many_columns_those_asked(rng):
    trees, cover = grown(rng, 3, trees=2)
    values, cells = rng.normal(size=(len(cover), 2)), rng.integers(-1, 7, (3, D)).astype(np.int16)
    many = replace(trees, column=np.where(trees.column < 0, -1, trees.column + 40_000))
    wide = np.concatenate([np.zeros((3, 40_000), dtype=np.int16), cells], axis=1)
    few, found = (TreeScores(own, values, np.zeros(2), False, cover) for own in (trees, many))
    added = found.contributions(wide)
    assert_allclose(added[:, 40_000:], few.contributions(cells), atol=1e-15)
    assert not added[:, :40_000].any()


def test_what_is_added_up_with_what_is_there(rng):
    trees, cover = grown(rng, 3, trees=2)
    cells, shares, values = np.zeros((4, D), dtype=np.int16), np.ones(len(trees.column)), np.ones((len(cover), 2))
    asked, only = trees.asked_on_a_way, np.full(2, -1, dtype=np.int32)
    for more in ((-1, 0, 0), (0, 1, 0), (0, 0, -1)):
        with pytest.raises(ValueError, match="added up"):
            trees.packed.add_shapley_values(cells, shares, asked, 3, only, values, np.zeros(np.add((4, D, 2), more)))
