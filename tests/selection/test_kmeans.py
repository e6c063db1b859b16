"""Parts of rows against SciPy's k-means from the same draws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

from suffice.automatic.kmeans import k_means


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
