"""Gaussian log densities of every structure against scipy.stats.multivariate_normal, with and without missing cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from suffice.densities import Diagonal, Full, Gaussian, LowRank, Spherical

K, D = 3, 4
STRUCTURES = ["full", "diagonal", "spherical", "low rank"]


def structure(name, g, d, rng):
    """Return a covariance structure holding g random covariances of d columns."""
    if name == "full":
        factors = rng.normal(size=(g, d, d))
        return Full.factor(factors @ factors.transpose(0, 2, 1) + 0.2 * np.eye(d))
    if name == "diagonal":
        return Diagonal(rng.uniform(0.2, 5.0, size=(g, d)))
    if name == "spherical":
        return Spherical.of(rng.uniform(0.2, 5.0, size=g), d)
    rows = [rng.normal(size=(2, d)) for _ in range(g)]
    return LowRank.factor(rows, rng.uniform(0.5, 3.0, size=(g, d)), np.full(g, 0.1))


def gaussian(name, shared, rng, d=D, k=K):
    return Gaussian(rng.normal(size=(k, d)) * 2, structure(name, 1 if shared else k, d, rng), tuple(range(d)))


def by_scipy(density, rows):
    """Return log N of the observed cells of each row, one row and class at a time."""
    dense = density.covariance.dense()
    out = np.zeros((len(rows), len(density.means)))
    for i, row in enumerate(rows):
        seen = ~np.isnan(row)
        if seen.any():
            for c, mean in enumerate(density.means):
                matrix = dense[min(c, len(dense) - 1)][np.ix_(seen, seen)]
                out[i, c] = multivariate_normal(mean[seen], matrix).logpdf(row[seen])
    return out


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("d", [1, 2, 4, 9])
def test_log_density(rng, name, shared, d):
    density = gaussian(name, shared, rng, d)
    rows = rng.normal(size=(50, d)) * 3
    assert_allclose(density.log_density(rows), by_scipy(density, rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("shared", [False, True])
def test_missing_cells_are_integrated_out(rng, name, shared):
    """The marginal of a Gaussian keeps the rows and columns of its observed cells; no cell at all has density one."""
    density = gaussian(name, shared, rng)
    rows = np.where(rng.random((80, D)) < 0.4, np.nan, rng.normal(size=(80, D)) * 3)
    rows[5] = np.nan
    assert_allclose(density.log_density(rows), by_scipy(density, rows), rtol=1e-10, atol=1e-10)
    assert_array_equal(density.log_density(rows)[5], np.zeros(K))


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("shared", [False, True])
def test_marginals(rng, name, shared):
    density = gaussian(name, shared, rng)
    rows = rng.normal(size=(20, D))
    holed = rows.copy()
    holed[:, [1, 3]] = np.nan
    marginal = density.marginal([2, 0])
    assert_allclose(marginal.log_density(rows[:, [2, 0]]), density.log_density(holed), rtol=1e-10, atol=1e-10)
    inner = density.marginal([3, 2, 0]).marginal([1, 2])
    assert_allclose(inner.log_density(rows[:, [2, 0]]), density.log_density(holed), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", STRUCTURES)
def test_parts_of_a_structure_agree_with_its_matrix(rng, name):
    covariance = structure(name, 2, D, rng)
    dense = covariance.dense()
    assert covariance.g == 2
    assert dense.shape == (2, D, D)
    assert_allclose(covariance.log_det, np.linalg.slogdet(dense)[1], rtol=1e-10, atol=1e-12)
    vectors = rng.normal(size=(7, D))
    assert_allclose(covariance.solve(vectors), np.linalg.solve(dense[0], vectors.T).T, rtol=1e-9, atol=1e-12)
    white = covariance.whiten(np.eye(D))
    assert_allclose(white.T @ dense[0] @ white, np.eye(white.shape[1]), atol=1e-10)
    assert_allclose(covariance.marginal([3, 1]).dense(), dense[:, [3, 1]][:, :, [3, 1]], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("apart", [1e3, 1e5, 1e8])
def test_class_means_far_apart(rng, name, shared, apart):
    """Expanding |x − μ|² into products would cancel; rows near a far mean keep their digits.

    x − μ itself is exact to 1.5e-8 at 1e8, and enters the log density about once per standard deviation.
    """
    density = gaussian(name, shared, rng)
    means = density.means + apart * np.array([[0.0], [1.0], [-1.0]])
    density = Gaussian(means, density.covariance, density.used)
    rows = means[rng.integers(0, K, 40)] + rng.normal(size=(40, D))
    rows[::5, 2] = np.nan
    found, expected = density.log_density(rows), by_scipy(density, rows)
    assert_allclose(found.max(axis=1), expected.max(axis=1), atol=1e-8 if apart < 1e6 else 1e-6)
    assert_allclose(found, expected, rtol=1e-7)


def test_unused_columns_contribute_nothing(rng):
    inner = gaussian("full", False, rng, d=2)
    means = np.column_stack([inner.means[:, 0], np.full(K, 7.0), inner.means[:, 1]])
    density = Gaussian(means, inner.covariance, (0, 2))
    rows = rng.normal(size=(10, 3))
    expected = inner.log_density(rows[:, [0, 2]])
    assert_array_equal(density.log_density(rows), expected)
    rows[:, 1] = np.nan
    assert_array_equal(density.log_density(rows), expected)
    assert_allclose(
        density.marginal([1, 2]).log_density(rows[:, [1, 2]]), inner.marginal([1]).log_density(rows[:, [2]])
    )
    nothing = Gaussian(np.ones((K, 3)), Spherical.of(np.ones(1), 0), ())
    assert_array_equal(nothing.log_density(rows), np.zeros((10, K)))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("spare", [1e-4, 1.0])
def test_few_missing_cells_of_many_columns(rng, shared, spare):
    """Each row against SciPy's density of its own cells, nearly singular covariances included.

    At a condition number of about 1e7 a distance keeps some eight digits, by whichever way it is measured.
    """
    d, n = 40, 60
    factor = rng.normal(size=(1 if shared else 3, d, 6))
    sd = np.exp(0.3 * rng.normal(size=d))
    sigma = (factor @ factor.transpose(0, 2, 1) + spare * np.eye(d)) * sd[:, None] * sd
    means = rng.normal(size=(3, d)) * sd
    rows = means[0] + rng.multivariate_normal(np.zeros(d), sigma[0], size=n)
    rows[rng.random((n, d)) < rng.uniform(0.0, 0.7, size=(n, 1))] = np.nan
    found = Gaussian(means, Full.factor(sigma), tuple(range(d))).log_density(rows)
    for row, own in zip(rows, found, strict=True):
        o = np.flatnonzero(~np.isnan(row))
        every = np.broadcast_to(sigma, (3, d, d))
        expected = [
            multivariate_normal(m[o], s[np.ix_(o, o)]).logpdf(row[o]) for m, s in zip(means, every, strict=True)
        ]
        assert_allclose(own, expected, rtol=1e-10 if spare == 1.0 else 1e-7)
