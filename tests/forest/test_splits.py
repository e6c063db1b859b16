"""A tree grown from cells has the best split at every node, told by exact fractions."""

import heapq
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from suffice.forest import frozen
from suffice.forest.frozen import grow_tree, with_leaves
from suffice.kernels import growing


def table(seed, n=None, d=None, k=None, cells=None):
    """Cells (d, n), some missing, classes and their number."""
    rng = np.random.default_rng(seed)
    n, d, k = n or int(rng.integers(2, 120)), d or int(rng.integers(1, 6)), k or int(rng.integers(1, 5))
    most = cells or int(rng.integers(1, 30))
    y = rng.integers(0, k, n)
    found = np.minimum(rng.integers(-1, most, (d, n)) + (y * rng.integers(0, 2, (d, 1))), most - 1)
    return found.astype(np.int16), y, k


def rows_of(nodes, cells):
    """The rows at every node."""
    found = [np.arange(cells.shape[1])] + [None] * (len(nodes.column) - 1)
    for v, (column, threshold, left) in enumerate(zip(nodes.column, nodes.threshold, nodes.left, strict=True)):
        if column >= 0:
            below = cells[column, found[v]] <= threshold
            found[left], found[left + 1] = found[v][below], found[v][~below]
    return found


def purity(codes, weight, rows):
    """The squared weights of the classes beside their sum, as a fraction."""
    whole = [Fraction(float(weight[rows][codes[rows] == c].sum())) for c in np.unique(codes[rows])]
    return sum(own**2 for own in whole) / sum(whole)


def best_gain(cells, codes, weight, rows, least):
    """The largest gain of any split of a node that leaves enough on both sides; None where there is none."""
    gains = []
    for own in cells:
        for threshold in np.unique(own[rows])[:-1]:
            left, right = rows[own[rows] <= threshold], rows[own[rows] > threshold]
            if min(weight[left].sum(), weight[right].sum()) >= least:
                gains.append(purity(codes, weight, left) + purity(codes, weight, right))
    return max(gains) - purity(codes, weight, rows) if gains else None


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_every_node_has_the_best_split_of_all(seed, heavy):
    cells, y, k = table(seed)
    # a sum of 2^16: every weight is a whole number of units, so that fractions know them exactly
    weight = np.random.default_rng(seed).integers(1, 5, len(y)) if heavy else np.ones(len(y))
    weight = np.append(weight[:-1], 2.0**16 - weight[:-1].sum()) if heavy else weight
    if not heavy:
        size = 2 ** int(np.log2(len(y)))
        cells, y, weight = cells[:, :size], y[:size], weight[:size]
    least = 3.0
    nodes = grow_tree(cells, y, weight, k, tries=len(cells), least=least, drawn=False, tree=seed)
    for v, rows in enumerate(rows_of(nodes, cells)):
        best = best_gain(cells, y, weight, rows, least)
        pure = len(np.unique(y[rows])) == 1
        if nodes.column[v] < 0:
            assert best is None or pure
            continue
        children = [rows_of(nodes, cells)[nodes.left[v] + side] for side in (0, 1)]
        assert min(weight[own].sum() for own in children) >= least
        gain = sum(purity(y, weight, own) for own in children) - purity(y, weight, rows)
        assert float(gain) == pytest.approx(float(best), rel=1e-12, abs=1e-9)
        assert nodes.gain[v] == pytest.approx(float(best) * frozen.UNITS / weight.sum(), rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_thresholds_part_the_rows_of_their_node(seed):
    cells, y, k = table(seed, n=90)
    nodes = grow_tree(cells, y, np.ones(90), k, tries=2, least=3.0, drawn=True, tree=seed)
    found = rows_of(nodes, cells)
    for v in np.flatnonzero(nodes.column >= 0):
        own = cells[nodes.column[v], found[v]]
        assert own.min() <= nodes.threshold[v] < own.max()
        assert min(len(found[nodes.left[v] + side]) for side in (0, 1)) >= 3


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_order_and_no_unit_of_weights_makes_another_tree(seed, drawn):
    cells, y, k = table(seed, n=80)
    weight = np.random.default_rng(seed).uniform(0.1, 9.0, 80)
    setting = {"tries": 2, "drawn": drawn, "tree": 3}
    first = grow_tree(cells, y, weight, k, least=4.0, **setting)
    order = np.random.default_rng(1).permutation(80)
    other = grow_tree(cells[:, order], y[order], 8.0 * weight[order], k, least=32.0, **setting)
    for a, b in zip(first, other, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("drawn", [False, True])
def test_weight_two_is_the_row_twice(drawn):
    cells, y, k = table(5, n=70)
    twice = np.arange(70) % 3 == 0
    setting = {"tries": 2, "drawn": drawn, "tree": 0, "least": 5.0}
    heavy = grow_tree(cells, y, 1.0 + twice, k, **setting)
    doubled = np.concatenate([cells, cells[:, twice]], axis=1)
    rows = grow_tree(doubled, np.append(y, y[twice]), np.ones(70 + int(twice.sum())), k, **setting)
    for a, b in zip(heavy, rows, strict=True):
        assert_array_equal(a, b)


def test_columns_are_drawn_alike_often():
    """The first column of 600 trees that try one, all of which would do."""
    d = 6
    cells = np.tile(np.arange(40, dtype=np.int16), (d, 1))
    y = np.arange(40) % 2
    roots = [
        grow_tree(cells, y, np.ones(40), 2, tries=1, least=10.0, drawn=False, tree=t).column[0] for t in range(600)
    ]
    assert chisquare(np.bincount(roots, minlength=d)).pvalue > 1e-4


def test_a_node_goes_on_to_a_column_that_varies():
    cells = np.zeros((9, 20), dtype=np.int16)
    cells[7] = np.arange(20)
    for tree in range(10):
        nodes = grow_tree(cells, np.arange(20) // 10, np.ones(20), 2, tries=1, least=1.0, drawn=False, tree=tree)
        assert_array_equal(nodes.column, [7, -1, -1])
        assert nodes.threshold[0] == 9


@pytest.mark.parametrize(("one", "heavy"), [(True, False), (False, True)])
def test_what_cannot_be_split_is_a_leaf(one, heavy):
    y = np.zeros(30, dtype=int) if one else np.arange(30) % 2
    cells = np.arange(30, dtype=np.int16)[None]
    nodes = grow_tree(cells, y, np.ones(30), 2, tries=1, least=16.0 if heavy else 1.0, drawn=False, tree=0)
    assert_array_equal(nodes.column, [-1])


def by_heap(nodes, most):
    """The nodes split, the best of those at hand first, until there are so many leaves."""
    split, waiting = set(), [(-nodes.gain[0], 0)] if nodes.column[0] >= 0 else []
    while waiting and len(split) < most - 1:
        _, v = heapq.heappop(waiting)
        split.add(v)
        for child in (nodes.left[v], nodes.left[v] + 1):
            if nodes.column[child] >= 0:
                heapq.heappush(waiting, (-nodes.gain[child], int(child)))
    return split


@pytest.mark.parametrize("most", [2, 3, 7, 20, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_few_leaves_are_those_of_the_best_splits(seed, most):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 150, (4, 600)).astype(np.int16)
    y = (cells[0] + cells[1] + rng.normal(0, 60, 600) > 150).astype(int)
    weight = rng.uniform(0.5, 1.5, 600)  # no two gains alike
    nodes = grow_tree(cells, y, weight, 2, tries=4, least=5.0, drawn=False, tree=seed)
    fewer = with_leaves(nodes, most)
    found = rows_of(fewer, cells)
    assert (fewer.column < 0).sum() == min(most, (nodes.column < 0).sum())
    wanted = by_heap(nodes, most)
    whole = rows_of(nodes, cells)
    assert {tuple(found[v]) for v in np.flatnonzero(fewer.column >= 0)} == {tuple(whole[v]) for v in wanted}
    leaves = np.concatenate([found[v] for v in np.flatnonzero(fewer.column < 0)])
    assert_array_equal(np.sort(leaves), np.arange(600))


@pytest.mark.parametrize(
    "broken", [{"codes": [0, 3]}, {"codes": [-1, 0]}, {"weight": [1, -1]}, {"weight": [2**27, 1]}, {"codes": [0]}]
)
def test_loops_refuse_what_does_not_fit(broken):
    given = {"codes": [0, 1], "weight": [1, 1]} | broken
    cells = np.zeros((1, 2), dtype=np.int16)
    rows = (np.array(given[name], dtype=np.int64) for name in ("codes", "weight"))
    with pytest.raises(ValueError, match=r"class numbers|rows"):
        growing.grow(cells, *rows, 2, tries=1, least=1, drawn=False, tree=0)
