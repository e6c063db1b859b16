"""The smallest shrinkage that makes a correlation matrix usable, on matrices of known spectrum."""

import numpy as np
import pytest

from suffice.densities.covariance import (
    USABLE,
    least_amount,
    rank_and_columns,
    smallest_eigenvalue_is_usable,
)


def correlation(rng, d, rank, spread=1.0):
    factor = rng.normal(size=(rank, d)) * np.logspace(0, spread, rank)[:, None]
    gram = factor.T @ factor
    sd = np.sqrt(np.diag(gram))
    return gram / sd[:, None] / sd


@pytest.mark.parametrize("d", [2, 5, 40])
@pytest.mark.parametrize("rank", [1, 2, 5, 40, 80])
def test_least_amount_lifts_the_smallest_eigenvalue_to_the_bound(rng, d, rank):
    R = correlation(rng, d, rank)
    s = least_amount(R)
    before = np.linalg.eigvalsh(R)[0]
    after = np.linalg.eigvalsh((1 - s) * R + s * np.eye(d))[0]
    if before >= USABLE:
        assert s == 0.0
    else:
        assert after == pytest.approx(USABLE, rel=1e-6)
    assert smallest_eigenvalue_is_usable(R) == (s == 0.0)


def test_an_indefinite_matrix_is_lifted_too():
    """Pairwise correlations with a slightly negative eigenvalue, as rounding leaves them."""
    R = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]])
    assert np.linalg.eigvalsh(R)[0] < -0.1
    s = least_amount(R)
    assert np.linalg.eigvalsh((1 - s) * R + s * np.eye(3))[0] == pytest.approx(USABLE, rel=1e-9)


def test_rank_and_the_columns_that_repeat_each_other(rng):
    X = rng.normal(size=(100, 6))
    X[:, 5] = X[:, 1] + X[:, 3]
    X[:, 4] = -X[:, 0]
    rank, columns = rank_and_columns(np.corrcoef(X.T))
    assert (rank, columns) == (4, [0, 1, 3, 4, 5])
    assert rank_and_columns(np.corrcoef(X[:, :4].T)) == (4, [])
