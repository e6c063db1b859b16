"""What several test files need: seeded numbers and a few small tables."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A generator that starts alike in every test, whatever the order of the tests."""
    return np.random.default_rng(20240607)


@pytest.fixture
def blobs(rng):
    """Three overlapping correlated classes of unequal size in four columns: (X, y), y text."""
    sizes, d = (40, 25, 15), 4
    mixing = rng.normal(size=(3, d, d)) / 2 + np.eye(d)
    X = np.concatenate(
        [rng.normal(size=(n, d)) @ m + c * 0.8 for c, (n, m) in enumerate(zip(sizes, mixing, strict=True))]
    )
    y = np.repeat(["ash", "birch", "cedar"], sizes)
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.fixture
def holed(blobs, rng):
    """The same table with a fifth of its cells missing, one row without any cell, and every class and column seen."""
    X, y = blobs
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    X[7] = np.nan
    return X, y
