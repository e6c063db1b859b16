"""Laplace and Student t columns against SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from suffice.densities import Laplace, StudentT

K, D = 3, 4


@pytest.fixture
def both(rng):
    location, scale, df = rng.normal(size=(K, D)) * 10, rng.gamma(2.0, size=(K, D)), rng.uniform(0.5, 50, (K, D))
    everyone = tuple(range(D))
    return {
        "laplace": (Laplace(location, scale, everyone), stats.laplace(location, scale)),
        "student_t": (StudentT(location, scale, everyone, df), stats.t(df, location, scale)),
    }


@pytest.mark.parametrize("name", ["laplace", "student_t"])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_log_density(rng, both, name, n):
    density, oracle = both[name]
    X = rng.standard_t(1, (n, D)) * 30
    expected = oracle.logpdf(X[:, None, :])  # (n, k, d)
    if name == "laplace":  # SciPy takes the logarithm of a density that has vanished
        expected = -np.abs(X[:, None, :] - density.location) / density.scale - np.log(2.0 * density.scale)
    assert_allclose(density.log_density(X), expected.sum(axis=2), rtol=1e-11)
    assert_allclose(density.log_density(X.astype(np.float32)), expected.sum(axis=2), rtol=1e-4)
    holes = rng.random(X.shape) < 0.3
    expected[np.broadcast_to(holes[:, None], expected.shape)] = 0.0
    assert_allclose(density.log_density(np.where(holes, np.nan, X)), expected.sum(axis=2), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["laplace", "student_t"])
def test_marginal_and_columns_left_out(rng, both, name):
    density, oracle = both[name]
    X = rng.normal(size=(20, D))
    part = density.marginal([3, 1])
    assert_allclose(part.log_density(X[:, [3, 1]]), oracle.logpdf(X[:, None])[..., [3, 1]].sum(axis=2), rtol=1e-11)
    fewer = type(density)(density.location, density.scale, (0, 3), *([density.df] if name == "student_t" else []))
    assert_allclose(fewer.log_density(X), oracle.logpdf(X[:, None])[..., [0, 3]].sum(axis=2), rtol=1e-11)
    assert_allclose(fewer.marginal([1, 3]).log_density(X[:, [1, 3]]), oracle.logpdf(X[:, None])[..., 3], rtol=1e-11)
    assert_array_equal(fewer.marginal([1, 2]).log_density(X[:, [1, 2]]), 0.0)
    assert "scale" not in fewer.parameters(1)
    assert "scale" in fewer.parameters(3)


@pytest.mark.parametrize("name", ["laplace", "student_t"])
def test_far_away_rows_keep_their_order(both, name):
    """At 1e300 the squares of distances overflow; log densities do not."""
    density, _ = both[name]
    scores = density.log_density(np.array([[0.0] * D, [1e150] * D, [1e300] * D]))
    assert np.isfinite(scores).all()
    assert (np.diff(scores, axis=0) < 0).all()


def test_a_far_cell_weighs_on_its_own_column_only():
    df = np.array([[3.0, 3.0]])
    density = StudentT(np.zeros((1, 2)), np.ones((1, 2)), (0, 1), df)
    expected = stats.t.logpdf(0.7, 3) + (stats.t.logpdf(1e100, 3) - 4.0 * np.log(1e100))
    assert_allclose(density.log_density(np.array([[1e200, 0.7]])), expected, rtol=1e-12)
