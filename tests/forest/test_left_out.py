"""A row is left out of a forest by taking its sums away: as if the same trees had never learned it."""

from dataclasses import replace

import numpy as np
import pytest
from forests import coded, grown, small_table
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from suffice.forest import Forest, LeafArrays


def table(rng, holes, unseen):
    """Return rows grown on, and such as the trees learn later, some of a level they have never seen."""
    numbers, categories, y = small_table(rng, 260, holes)
    if unseen:
        first = categories.codes[0].copy()
        first[::9] = 3
        categories = coded([first, categories.codes[1]], [("a", "b", "c", "late"), ("p", "q")])
    return np.column_stack([numbers, rng.normal(size=len(y)) + y]), categories, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("holes", "unseen"), [(0.0, False), (0.3, False), (0.0, True), (0.3, True)])
def test_left_out_is_a_refit_of_the_sums_without_the_row(rng, holes, unseen, weighted):
    numbers, categories, y = table(rng, holes, unseen=False)
    forest, _ = grown(numbers, categories, y)
    numbers, categories, y = table(np.random.default_rng(1), holes, unseen)
    weight = rng.uniform(0.5, 3.0, len(y)) if weighted else np.ones(len(y))
    reading = forest.columns.read(numbers, categories)
    learned = replace(forest, sums=LeafArrays.summarize(reading, forest.trees, y, 2, weight))
    some = np.arange(0, len(y), 29)
    found = learned.left_out(reading[some], y[some], weight[some])
    for i, left_out in zip(some, found, strict=True):
        rest = np.delete(np.arange(len(y)), i)
        sums = LeafArrays.summarize(reading[rest], forest.trees, y[rest], 2, weight[rest])
        again = replace(forest, sums=sums).density().log_density_of(reading[[i]])
        assert_allclose(left_out, again[0], rtol=0, atol=1e-10)


def test_nothing_taken_away_leaves_the_density(rng):
    forest, reading = grown(*table(rng, 0.2, unseen=False))
    left_out = forest.left_out(reading, np.zeros(len(reading), dtype=int), np.zeros(len(reading)))
    assert_allclose(left_out, forest.density().log_density_of(reading), atol=1e-10)


def only(forest, tree):
    """Return the forest of one of the trees, the others cut off."""
    trees = forest.trees
    ends = np.append(trees.roots, len(trees.column))
    nodes = slice(ends[tree], ends[tree + 1])

    def moved(child):
        return np.where(child[nodes] < 0, -1, child[nodes] - ends[tree])

    alone = replace(
        trees,
        column=trees.column[nodes],
        threshold=trees.threshold[nodes],
        left=moved(trees.left),
        right=moved(trees.right),
        missing_right=trees.missing_right[nodes],
        roots=np.zeros(1, dtype=np.int64),
    )
    leaves = trees.leaf_tree == tree
    return Forest(forest.columns, alone, forest.sums.each(lambda own: own[:, leaves]))


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_out_of_bag_is_the_mean_over_trees_that_have_not_seen_the_row(rng, holes):
    """One tree alone, without the row in its sums; how missing cells were drawn depends on the tree's number."""
    numbers, categories, y = table(rng, holes, unseen=False)
    forest, reading = grown(numbers, categories, y)
    some = np.arange(0, len(y), 60)
    found = forest.left_out(reading[some], y[some], np.ones(len(some)), out_of_bag=True)
    for i, left_out in zip(some, found, strict=True):
        one, judges = reading[[i]], []
        for t in range(len(forest.trees)):
            if forest.trees.in_bag(one, t)[0]:
                continue
            alone = only(forest, t)
            gone = LeafArrays.summarize(one, forest.trees, y[[i]], 2, None).each(
                lambda own, t=t: own[:, forest.trees.leaf_tree == t]
            )
            rest = replace(alone, sums=alone.sums.subtract(gone))
            judges.append(rest.density().log_density_of(one)[0])
        assert 3 <= len(judges) <= 20  # of 30, each of which sees a row with a chance of 0.63
        assert_allclose(left_out, logsumexp(judges, axis=0) - np.log(len(judges)), rtol=0, atol=1e-9)


def test_equal_rows_are_in_the_same_bags(rng):
    forest, reading = grown(*table(rng, 0.2, unseen=False))
    twice = reading[np.repeat(np.arange(20), 2)]
    bags = forest.trees.in_bag(twice, np.arange(5)[:, None])
    assert_array_equal(bags[:, ::2], bags[:, 1::2])


def test_a_bag_has_its_share_of_the_rows(rng):
    """Within five standard errors of a share of distinct rows."""
    n = 3000
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    forest, reading = grown(X, coded([], []), y)
    share = forest.trees.share
    within = [forest.trees.in_bag(reading, t).mean() for t in range(30)]
    assert np.abs(np.array(within) - share).max() < 5 * np.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("holes", [(0.0, 0.0), (0.3, 0.3), (0.0, 0.3), (0.3, 0.0)])
@pytest.mark.parametrize("categories", [False, True])
def test_sums_of_both_are_added(rng, holes, categories):
    numbers, coded_, y = small_table(rng, 300)
    coded_ = coded_ if categories else coded([], [])
    forest, _ = grown(numbers, coded_, y)
    parts = []
    for seed, own in enumerate(holes):
        numbers, coded_, y = small_table(np.random.default_rng(seed), 200, own)
        parts.append((forest.columns.read(numbers, coded_ if categories else coded([], [])), y))
    first, second = (LeafArrays.summarize(reading, forest.trees, y, 2, None) for reading, y in parts)
    assert first.whole == (not categories and not holes[0] and forest.trees.packed is not None)
    added = first.merge(second)
    for name in ("weight", "seen", "first", "second"):
        assert_array_equal(getattr(added, name), getattr(first, name) + getattr(second, name))
    for own, *parts in zip(added.levels, first.levels, second.levels, strict=True):
        assert_array_equal(own, parts[0] + parts[1])
