"""Densities of counts against SciPy, on dense and sparse rows, and their limits as smoothing vanishes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from suffice.densities import Bernoulli, Multinomial, Poisson

K, D = 3, 5


def densities(rng):
    """Each density with an oracle of the log density of one row."""
    p = rng.dirichlet(np.ones(D), K)
    rate = rng.gamma(2.0, size=(K, D))
    q = rng.random((K, D))

    def shares(x, c):  # SciPy's number without the coefficient
        alike = np.full(D, 1.0 / D)
        return (
            stats.multinomial.logpmf(x, x.sum(), p[c])
            - stats.multinomial.logpmf(x, x.sum(), alike)
            - x.sum() * np.log(D)
        )

    return {
        "multinomial": (Multinomial(p, p), shares),
        "poisson": (Poisson(rate, rate), lambda x, c: stats.poisson.logpmf(x, rate[c]).sum()),
        "bernoulli": (Bernoulli(q, 1 - q, q, 1 - q), lambda x, c: stats.bernoulli.logpmf(x, q[c]).sum()),
    }


@pytest.mark.parametrize("name", ["multinomial", "poisson", "bernoulli"])
def test_log_density(rng, name):
    density, oracle = densities(rng)[name]
    X = rng.poisson(2.0, (40, D)).astype(float) if name != "bernoulli" else (rng.random((40, D)) < 0.4).astype(float)
    expected = [[oracle(row.astype(int), c) for c in range(K)] for row in X]
    found = density.log_density(X)
    assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    for rows in (sparse.csr_matrix(X), sparse.csr_array(X), sparse.csr_array(X.astype(np.int32)), X.astype(np.float32)):
        assert_allclose(density.log_density(rows), found, rtol=1e-12, atol=1e-13)
    assert density.log_density(X[:0]).shape == (0, K)
    assert all(len(values) == K for values in density.parameters(1).values())


@pytest.mark.parametrize("name", ["poisson", "bernoulli"])
def test_missing_cells_are_integrated_out(rng, name):
    density, _ = densities(rng)[name]
    X = (rng.random((30, D)) < 0.5).astype(float)
    X[:, [1, 3]] = np.nan
    assert_allclose(density.log_density(X), density.marginal([0, 2, 4]).log_density(X[:, [0, 2, 4]]), rtol=1e-12)
    assert_array_equal(density.log_density(np.full((2, D), np.nan)), 0.0)


def test_the_marginal_of_shares_is_conditional_on_their_sum(rng):
    density, _ = densities(rng)["multinomial"]
    part = density.marginal([1, 4])
    assert_allclose(part.p.sum(axis=1), 1.0)
    assert_allclose(part.p[:, 0] / part.p[:, 1], density.p[:, 1] / density.p[:, 4])


def smoothed(name, alpha):
    """Two classes with one zero estimate each, smoothed by α, from totals of 4 and 8."""
    counts, total = np.array([[4.0, 0.0], [0.0, 8.0]]), np.array([[4.0], [8.0]])
    if name == "multinomial":
        p = (counts + alpha) / (total + 2 * alpha)
        return Multinomial(p, np.where(p > 0, p, 1 / total))
    if name == "bernoulli":
        p, q = (counts + alpha) / (total + 2 * alpha), (total - counts + alpha) / (total + 2 * alpha)
        return Bernoulli(p, q, np.where(p > 0, p, 1 / total), np.where(q > 0, q, 1 / total))
    mean = 3.0
    rate = (counts + alpha * mean) / (total + alpha)
    return Poisson(rate, np.where(rate > 0, rate, mean / total))


@pytest.mark.parametrize("name", ["multinomial", "poisson", "bernoulli"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_zero_probabilities_and_their_limit(name, as_sparse):
    """As α → 0 a density p ≈ c·α^order: order and log c agree with two small values of α."""
    X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    if name != "bernoulli":
        X = np.vstack([X, [[3.0, 2.0], [0.0, 4.0]]])
    rows = sparse.csr_array(X) if as_sparse else X
    order, score = smoothed(name, 0.0).limit(rows)
    small, smaller = (smoothed(name, alpha).log_density(rows) for alpha in (1e-7, 1e-9))
    assert_allclose(order, (small - smaller) / np.log(100.0), atol=1e-5)
    assert_allclose(score, smaller - order * np.log(1e-9), atol=1e-6)
    found = smoothed(name, 0.0).log_density(rows)
    assert_array_equal(np.isneginf(found), order > 0.5)
    assert_allclose(found[order == 0], score[order == 0])
