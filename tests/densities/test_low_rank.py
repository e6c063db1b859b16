"""Covariances of tables wider than long, against the same covariances as matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice.densities import Full, LowRank

D, R = 12, 4


@pytest.fixture
def both(rng):
    """Return the same two covariances in both structures: (1 − s) zᵀz + s I on the correlation scale."""
    rows = [rng.normal(size=(R, D)) for _ in range(2)]
    scale = np.logspace(-3, 3, D) * np.ones((2, 1))
    shrinkage = np.array([1e-2, 0.3])
    thin = LowRank.factor(rows, scale, shrinkage)
    dense = np.stack(
        [
            ((1 - s) * z.T @ z + s * np.eye(D)) * sd[:, None] * sd
            for z, s, sd in zip(rows, shrinkage, scale, strict=True)
        ]
    )
    return thin, Full.factor(dense)


def test_matrix_and_determinant(both):
    thin, full = both
    sd = np.sqrt(np.einsum("gii->gi", full.dense()))
    assert_allclose(
        thin.dense() / sd[:, :, None] / sd[:, None], full.dense() / sd[:, :, None] / sd[:, None], atol=1e-12
    )
    assert_allclose(thin.log_det, full.log_det, rtol=1e-11)
    assert thin.g == 2


@pytest.mark.parametrize("columns", [[0], [3, 1, 7], list(range(D)), [11, 0, 5, 6, 2, 9]])
def test_marginals(both, rng, columns):
    thin, full = both
    rows, means = rng.normal(size=(9, D)) * thin.scale[0], rng.normal(size=(2, D)) * thin.scale[0]
    cut = np.ix_(range(9), columns), np.ix_(range(2), columns)
    found = thin.marginal(columns)
    assert_allclose(found.log_det, full.marginal(columns).log_det, rtol=1e-10, atol=1e-10)
    expected = full.marginal(columns).distances(rows[cut[0]], means[cut[1]])
    assert_allclose(found.distances(rows[cut[0]], means[cut[1]]), expected, rtol=1e-8)


def test_full_shrinkage_leaves_a_diagonal(rng):
    thin = LowRank.factor([rng.normal(size=(R, D))], np.full((1, D), 2.0), np.array([1.0]))
    assert_allclose(thin.dense()[0], 4.0 * np.eye(D), atol=1e-12)


def test_no_rows_at_all():
    thin = LowRank.factor([np.zeros((0, D))], np.full((1, D), 3.0), np.array([0.5]))
    assert_allclose(thin.dense()[0], 4.5 * np.eye(D))
    assert_allclose(thin.log_det, D * np.log(4.5))


def test_rows_that_repeat_each_other(rng):
    """Directions at rounding level are left out; the covariance is that of the two different rows."""
    z = rng.normal(size=(2, D))
    thin = LowRank.factor([np.concatenate([z, z, z])], np.ones((1, D)), np.array([1e-3]))
    assert len(thin.values[0]) == 2
    assert_allclose(thin.dense()[0], 0.999 * 3 * z.T @ z + 1e-3 * np.eye(D), rtol=1e-12, atol=1e-12)
