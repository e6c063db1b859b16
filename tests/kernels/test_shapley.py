"""Shapley values of a product over columns: those of all subsets, and the same to the bit in NumPy."""

import itertools
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice.forest.trees import _gauss_legendre
from suffice.kernels import trees
from suffice.kernels.trees import Ways


def paths(rng, m, leaves, d):
    """Return columns (m, leaves), each once on a way, what they allow and the shares of rows that go there."""
    column = np.argsort(rng.random((leaves, d)), axis=1)[:, :m].T
    low = rng.integers(-1, 4, (m, leaves)).astype(np.int16)
    high = (low + rng.integers(1, 5, (m, leaves))).astype(np.int16)
    share = rng.random((m, leaves)) * (rng.random((m, leaves)) < 0.9)
    return Ways(np.ascontiguousarray(column), low, high, share)


def by_subsets(row, column, low, high, share):
    """Return the Shapley values (m,) of one way: the mean of what each column changes, over all orders."""
    m = len(column)
    ways = zip(row[column], low, high, share, strict=True)
    inside = [float(lo < cell <= hi) if cell >= 0 else s for cell, lo, hi, s in ways]
    out = np.zeros(m)
    for j in range(m):
        others = [i for i in range(m) if i != j]
        for size in range(m):
            for known in itertools.combinations(others, size):
                rest = np.prod([inside[i] if i in known else share[i] for i in others])
                out[j] += (inside[j] - share[j]) * rest / (m * comb(m - 1, size))
    return out


@pytest.mark.parametrize("m", [1, 2, 5, 7])
def test_values_are_means_over_all_orders(m, rng):
    d, leaves = 8, 70
    own, cells = paths(rng, m, leaves, d), rng.integers(-1, 9, (6, d)).astype(np.int16)
    found = trees.product_values(cells, own, _gauss_legendre(m // 2 + 1))
    for i, row in enumerate(cells):
        for leaf in range(0, leaves, 7):
            assert_allclose(found[i, :, leaf], by_subsets(row, *(part[:, leaf] for part in own)), atol=1e-13)


def test_what_does_not_fit_together(rng):
    column, low, high, share = paths(rng, 3, 10, 5)
    cells, nodes = np.zeros((4, 5), dtype=np.int16), _gauss_legendre(2)
    for wrong in ((column + 5, low, high, share), (column - 5, low, high, share), (column, low[1:], high, share)):
        with pytest.raises(ValueError, match="columns"):
            trees.product_values(cells, Ways(*wrong), nodes)
    for wrong in ((column, low, high[:, :4], share), (column, low, high, share.T)):
        with pytest.raises(ValueError, match="columns"):
            trees.product_values(cells, Ways(*wrong), nodes)
