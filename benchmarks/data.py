"""Tables to measure on: the same numbers for the same sizes, rows in no order of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]


def gaussian_table(n: int, d: int, k: int) -> tuple[Numbers, Labels]:
    """Correlated columns about class means that differ by a standard deviation or so in each column."""
    rng = np.random.default_rng(n + d + k)
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    X += rng.standard_normal((k, d))[y]
    return X, y


def categorical_table(n: int, columns: int, k: int, levels: int = 6) -> tuple[Labels, Labels]:
    """Integer codes, each moved by the class number in three rows of ten."""
    rng = np.random.default_rng(n + columns)
    y = rng.integers(0, k, n)
    X = (rng.integers(0, levels, (n, columns)) + (rng.random((n, columns)) < 0.3) * y[:, None]) % levels
    return X, y


def clumped_table(n: int, d: int, k: int) -> tuple[Numbers, Labels]:
    """Correlated columns about three clumps of each class, one of them skewed."""
    rng = np.random.default_rng(n + d + k)
    y, clump = rng.integers(0, k, n), rng.integers(0, 3, n)
    X = 0.6 * rng.standard_normal((k, 3, d))[y, clump] + rng.standard_normal((n, d))
    X = X @ (np.eye(d) + rng.standard_normal((d, d)) / np.sqrt(d))
    X[:, 0] = np.exp(X[:, 0] / 2)
    return X, y
