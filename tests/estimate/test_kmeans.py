"""Parts of rows against SciPy's k-means from the same draws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from sklearn.cluster import KMeans

from suffice.estimate.mixture_starts import far_apart, k_means, lloyd


@pytest.mark.parametrize("rounds", [1, 4, 60])
@pytest.mark.parametrize(("n", "parts"), [(400, 2), (400, 8), (40, 7), (3000, 4)])
def test_parts_are_those_of_scipy(rng, n: int, parts: int, rounds: int) -> None:
    rows = rng.normal(size=(n, 3)) + 3 * rng.normal(size=(4, 3))[rng.integers(0, 4, n)] + 50.0
    for seed in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a part may be left without rows
            theirs = kmeans2(rows, parts, iter=rounds, minit="++", seed=seed)[1]
        np.testing.assert_array_equal(k_means(rows, parts, rounds, seed), theirs)


def test_rows_that_are_all_equal_are_one_part() -> None:
    assert not k_means(np.full((30, 2), 7.0), 3, 10, 0).any()


def test_weighted_parts_are_those_of_scikit_learn(rng) -> None:
    rows = rng.normal(size=(300, 3)) + 3 * rng.normal(size=(4, 3))[rng.integers(0, 4, 300)]
    weight = rng.integers(0, 4, 300) + 0.5
    means = far_apart(rows, weight, 4, rng)
    theirs = KMeans(4, init=means, n_init=1, tol=0.0).fit(rows, sample_weight=weight)
    assert len(set(theirs.labels_)) == 4  # else theirs would move an empty one elsewhere
    np.testing.assert_array_equal(lloyd(rows, weight, means, 300), theirs.labels_)


def test_starts_are_rows_with_a_weight_far_from_each_other(rng) -> None:
    rows = np.repeat(np.eye(4) * 100.0, 10, axis=0) + rng.normal(size=(40, 4))
    weight = np.where(np.arange(40) % 10 == 3, 1.0, 0.0)
    for _ in range(20):
        starts = far_apart(rows, weight, 4, rng)
        assert {tuple(own) for own in starts} == {tuple(own) for own in rows[3::10]}
