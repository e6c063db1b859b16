"""Limits in bytes and rows of the automatic classifier, and what follows from them for given sizes.

Members that can be spared are left out beyond a fixed number of bytes, the same on every machine, so that a model does
not depend on where it was fitted; what cannot be spared is refused where this machine has no memory for it, see
`statistics.check_costs`.
"""

from __future__ import annotations

MOST_PARENTS = 70  # columns of a one-dependence estimator
PAIR_BYTES = 1 << 28  # of the counts of pairs for one number of bins: beyond, they are left out
MOST_WEIGHTED = 100  # columns with a weight of their own
COLUMN_BYTES = 1 << 28  # of the scores of single columns that get a weight of their own: beyond, fewer do
MOST_SCORES = 1 << 27  # by row, class and column, that settings of splines are compared by
FEWEST_ROWS = 300  # to compare them on
ENOUGH_ROWS = 4000  # to compare settings on, however little work more would be


def counts_pairs(k: int, size: int) -> bool:
    """Return whether the counts of pairs of so many levels in `k` classes take little enough to be kept."""
    return 8 * k * size * size <= PAIR_BYTES


def most_weighted(n: int, k: int) -> int:
    """Return how many columns may have a weight of their own for n judged rows of k classes."""
    return min(max(COLUMN_BYTES // max(8 * n * k, 1), 1), MOST_WEIGHTED)


def step_of_rows(n: int, k: int, d: int) -> int:
    """Return s so that settings of `d` columns are compared on every s-th of n rows, some thousands at most.

    Where there are very many columns or classes, they are compared on fewer.
    """
    return max(1, n // ENOUGH_ROWS, min(n * k * d // MOST_SCORES, n // FEWEST_ROWS))
