"""Categorical densities and products of blocks: sums to one, missing cells, the limit for vanishing smoothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from suffice.densities import Categorical, Diagonal, Gaussian, Product
from suffice.estimate import estimate_categorical
from suffice.stats import CategoricalStats
from suffice.stats.counts import CodedColumns


def tables(rng, sizes, k):
    """Return random log probabilities, the last entry of each row being a level never seen."""
    return tuple(np.log(rng.dirichlet(np.ones(size), size=k) @ np.eye(size, size + 1) + 1e-3) for size in sizes)


def categorical(rng, sizes, k):
    log_p = tables(rng, sizes, k)
    return Categorical(tuple(tuple(range(size)) for size in sizes), log_p, log_p)


@pytest.mark.parametrize("sizes", [[1], [3, 2], [2] * 8, [300, 2, 200, 5]])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_sum_of_logs(rng, sizes, k):
    """Small columns are added up in joint tables beforehand; the sum does not show it."""
    density = categorical(rng, sizes, k)
    codes = [rng.integers(-1, size + 1, 200) for size in sizes]
    expected = np.zeros((200, k))
    for column, log_p in zip(codes, density.log_p, strict=True):
        for i, code in enumerate(column):
            expected[i] += 0.0 if code < 0 else log_p[:, code]
    assert_allclose(density.log_density(codes), expected, rtol=1e-12)
    small = [column.astype(np.int8) if size < 100 else column for column, size in zip(codes, sizes, strict=True)]
    assert_allclose(density.log_density(small), expected, rtol=1e-12)


def counts(table, levels=None):
    k, size = np.shape(table)
    levels = tuple(f"v{i}" for i in range(size)) if levels is None else levels
    return CategoricalStats((levels,), (np.array(table, dtype=float),), np.zeros((k, 1)))


@pytest.mark.parametrize("smoothing", [Fraction(1, 2), Fraction(1), Fraction(7)])
def test_smoothing_by_hand(smoothing):
    table = [[3, 0, 5], [0, 0, 0], [1, 1, 0]]
    p = np.exp(estimate_categorical(counts(table), float(smoothing)).log_p[0])
    for row, found in zip(table, p, strict=True):
        expected = [(n + smoothing) / (sum(row) + 3 * smoothing) for n in row] + [
            smoothing / (sum(row) + 4 * smoothing)
        ]
        assert_allclose(found, [float(x) for x in expected], rtol=1e-14)


def posterior_at(tables_, row, alpha):
    """Return the exact posterior for a row of codes (len: unseen) with smoothing `alpha`, equal priors."""
    k = len(tables_[0])
    scores = [Fraction(1)] * k
    for table, code in zip(tables_, row, strict=True):
        for c in range(k):
            n, size = sum(table[c]), len(table[c])
            if code == size:
                scores[c] *= alpha / (n + alpha * (size + 1))
            elif code >= 0:
                scores[c] *= (table[c][code] + alpha) / (n + alpha * size)
    return [float(score / sum(scores)) for score in scores]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), k=st.integers(2, 3), sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_limit_of_vanishing_smoothing(data, k, sizes):
    """Where no class gives a row any probability, the answer is what exact arithmetic gives for α = 1e-30."""
    cell = st.integers(0, 3)
    found = [[[data.draw(cell) for _ in range(size)] for _ in range(k)] for size in sizes]
    row = [data.draw(st.integers(-1, size)) for size in sizes]
    stats = CategoricalStats(
        tuple(tuple(range(size)) for size in sizes),
        tuple(np.array(table, dtype=float) for table in found),
        np.zeros((k, len(sizes))),
    )
    density = estimate_categorical(stats, 0.0)
    order, score = density.limit([np.array([code]) for code in row])
    leading = np.where(order[0] == order[0].min(), score[0], -np.inf)
    p = np.exp(leading - leading.max())
    assert_allclose(p / p.sum(), posterior_at(found, row, Fraction(1, 10**30)), atol=1e-12)
    possible = np.exp(density.log_density([np.array([code]) for code in row])[0])
    if possible.any():
        expected = posterior_at(found, row, Fraction(1, 10**30))
        assert_allclose(possible / possible.sum(), expected, atol=1e-12)


def test_limit_of_a_product(rng):
    """A Gaussian has no vanishing part: its log density joins the coefficients."""
    gaussian = Gaussian(rng.normal(size=(2, 1)), Diagonal(np.ones((2, 1))), (0,))
    words = estimate_categorical(
        CategoricalStats.summarize(CodedColumns((("a", "b"),), (np.array([0, 0, 1]),)), np.array([0, 0, 1]), 2), 0.0
    )
    rows, codes = rng.normal(size=(4, 1)), (np.array([0, 1, 2, 2]),)
    chosen = np.array([3, 2])
    order, score = Product((gaussian, words)).limit((rows, codes), chosen)
    assert_array_equal(order, [[1, 1], [1, 1]])
    assert_allclose(score, gaussian.log_density(rows[chosen]) + np.log([[1 / 2, 1 / 1]] * 2))
