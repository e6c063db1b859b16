"""Memory and time that members take, predicted from sizes alone."""

from __future__ import annotations

from collections.abc import Sequence

from .._memory import check_bytes
from .budget import Cost, Sizes, most_weighted
from .columns import MOST_COLUMNS, FrozenColumns
from .members import MEMBERS

COPIES = 4  # of the scores of all members while their weights are found
SETTINGS = 70  # scores (n, k) that are there at once while settings of several members are compared
WORKSPACE = 24 << 20  # bytes, while rows are left out of the weights and trees are grown
ADVICE = (
    "GaussianDiscriminant(shared=True) or NaiveBayes, which need no choice between members; keep_rows=2000, to judge "
    "by fewer rows; or fewer {}"
)


def member_costs(n: int, d: int, k: int, levels: Sequence[int], width: int | None = None) -> dict[str, Cost]:
    """Return what each member costs, of `n` judged rows, `d` numbers, `k` classes and categories of so many `levels`.

    `width` is the number of columns of the Gaussian block, at most that of numbers and levels where it is not known.
    "choice" is the cost of judging: scores of all members, and of a column with a weight of its own, for every judged
    row and class.
    """
    p = min(d + sum(size - 1 for size in levels), MOST_COLUMNS) if width is None else width
    sizes = Sizes(n, d, k, levels, p)
    weighted = SETTINGS + COPIES * min(d + len(levels), most_weighted(n, k))
    what = f"Choosing between members on {n:,} rows and {k:,} classes"
    costs = {"choice": Cost(8 * n * k * weighted + WORKSPACE, 12.0 * 60 * n * k * weighted, what, "classes")}
    for member in MEMBERS:
        costs |= member.costs(sizes)
    return costs


def check_costs(n: int, d: int, k: int, levels: Sequence[int], width: int) -> None:
    """Raise DataError, naming what is too much, if what cannot be left out does not fit into memory."""
    for cost in member_costs(n, d, k, levels, width).values():
        if cost.doing:
            check_bytes(cost.bytes, cost.doing, ADVICE.format(cost.fewer))


def check_columns(columns: FrozenColumns, k: int, n: int = 0) -> None:
    """Raise DataError if members in these columns, judged on `n` rows of `k` classes, do not fit into memory."""
    width = max((columns.width(kind) for kind in columns.kinds), default=0)
    check_costs(n, len(columns.scores), k, [len(known) for known in columns.vocabulary], width)
