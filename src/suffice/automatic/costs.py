"""What the automatic classifier's members cost, known from sizes alone, before a byte of it is spent.

Members that can be spared are left out beyond a fixed number of bytes, the same on every machine, so that a model does
not depend on where it was fitted; what cannot be spared is refused where this machine has no memory for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._memory import check_bytes
from .columns import BINS, INTERVALS, MOST_COLUMNS, FrozenColumns

MOST_PARENTS = 70  # columns of a one-dependence estimator
PAIR_BYTES = 1 << 28  # of the counts of pairs for one number of bins: beyond, they are left out
MOST_WEIGHTED = 100  # columns with a weight of their own
COLUMN_BYTES = 1 << 28  # of the scores of single columns that get a weight of their own: beyond, fewer do
GRID = 72  # settings (a, γ) of a Gaussian member
COPIES = 4  # of the scores of all members while their weights are found
MOST_SCORES = 1 << 27  # by row, class and column, that settings of hat functions are compared by
FEWEST_ROWS = 300  # to compare them on
WORKSPACE = 48 << 20  # bytes, while rows are left out of the weights
SETTINGS = 30  # scores (n, k) that are there at once while settings are compared
ADVICE = "GaussianDiscriminant(shared=True) or NaiveBayes, which need no choice between members; or fewer {}"


class Cost(NamedTuple):
    """Bytes that are kept, and multiplications to choose the settings with."""

    bytes: int
    work: float


def member_costs(n: int, d: int, k: int, levels: Sequence[int], width: int | None = None) -> dict[str, Cost]:
    """Return what each member costs, of `n` judged rows, `d` numbers, `k` classes and categories of so many `levels`.

    `width` is the number of columns of the Gaussian block, at most that of numbers and levels where it is not known.
    "choice" is the cost of judging: scores of all members, and of a column with a weight of its own, for every judged
    row and class.
    """
    p = min(d + sum(size - 1 for size in levels), MOST_COLUMNS) if width is None else width
    versions = 2 if d else 1
    costs = {
        "gaussians": Cost(8 * versions * k * p * p, GRID * versions * k * (2.0 * p**3 + 0.5 * n * p * p)),
        "hats": Cost(8 * k * d * sum(m + 1 for m in INTERVALS), 60.0 * n * k * d * len(INTERVALS)),
        "categories": Cost(8 * k * sum(levels), 40.0 * n * k * len(levels)),
    }
    columns = d + len(levels)
    for bins in (BINS if d else BINS[:1]) if 2 <= columns <= MOST_PARENTS else ():
        size = d * bins + sum(levels)
        costs[f"one-dependence, {bins} bins"] = Cost(pair_bytes(k, size), 6.0 * n * k * size * columns)
    weighted = SETTINGS + COPIES * min(columns, most_weighted(n, k))
    costs["choice"] = Cost(8 * n * k * weighted + WORKSPACE, 12.0 * 60 * n * k * weighted)
    return costs


def pair_bytes(k: int, size: int) -> int:
    """Return the bytes of the counts of pairs of so many levels, of all columns together."""
    return 8 * k * size * size


def most_weighted(n: int, k: int) -> int:
    """Return how many columns may have a weight of their own for n judged rows of k classes."""
    return min(max(COLUMN_BYTES // max(8 * n * k, 1), 1), MOST_WEIGHTED)


def step_of_rows(n: int, k: int, d: int) -> int:
    """Return s so that settings of `d` columns are compared on every s-th of n rows: on fewer where that is work."""
    return max(1, min(n * k * d // MOST_SCORES, n // FEWEST_ROWS))


def check_costs(n: int, d: int, k: int, levels: Sequence[int], width: int | None = None) -> None:
    """Raise DataError, naming what is too much, if what cannot be left out does not fit into memory."""
    costs = member_costs(n, d, k, levels, width)
    p = min(d + sum(levels), MOST_COLUMNS) if width is None else width
    for name, what, fewer in (
        ("choice", f"Choosing between members on {n:,} rows and {k:,} classes", "classes"),
        ("gaussians", f"A covariance of {p:,} columns for each of {k:,} classes", "columns"),
        ("hats", f"Densities of {d:,} columns for each of {k:,} classes", "columns"),
        ("categories", f"Counts of {sum(levels):,} categories for each of {k:,} classes", "columns of names or ids"),
    ):
        check_bytes(costs[name].bytes, what, ADVICE.format(fewer))


def check_columns(columns: FrozenColumns, k: int, n: int = 0) -> None:
    """Raise DataError if members in these columns, judged on `n` rows of `k` classes, do not fit into memory."""
    width = max((columns.width(kind) for kind in columns.kinds), default=0)
    check_costs(n, len(columns.scores), k, [len(known) for known in columns.vocabulary], width)
