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
FEWEST_KEPT, KEPT_BYTES = 2000, 1 << 28  # of rows kept
MOST_JUDGED, JUDGED_BYTES = 20_000, 1 << 25  # of rows that judge
MANY_ROWS, JUDGES_OF_MANY = 50_000, 10_000  # from so many on fewer judge: a share of them that trees can go without
BOOSTED_CELLS = 2e7  # cells × trees of a round that are boosted
MOST_BOOSTED = 2**20 - 1  # rows, as kernels count them


def rows_kept(d: int) -> int:
    """Return how many rows of d columns are kept: as many as fit."""
    return max(FEWEST_KEPT, KEPT_BYTES // (8 * max(d, 1)))


def rows_judged(d: int, n: int = 0) -> int:
    """Return how many of n rows of d columns judge members, at most, and say how columns are read."""
    most = max(FEWEST_KEPT, min(MOST_JUDGED, JUDGED_BYTES // (8 * max(d, 1))))
    return min(most, JUDGES_OF_MANY) if n >= MANY_ROWS else most


def rows_boosted(d: int, k: int) -> int:
    """Return how many rows of d columns and k classes trees are boosted on, at most."""
    return int(min(MOST_BOOSTED, BOOSTED_CELLS / (d * (1 if k == 2 else k))))


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
