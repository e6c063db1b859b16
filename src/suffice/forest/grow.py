"""Grow trees on the rows kept.

Rows, columns and draws come in an order that the contents decide, so that equal rows grow equal trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, Codes, NDArray, np, parallel_map
from ..kernels.growing import Nodes
from ..kernels.trees import WIDEST
from ..stats.rows import mixed
from .columns import Cells, ForestReading
from .splits import grow_tree, with_leaves
from .trees import Trees, bagged, drawn

DENSITY_TREES = 30
LABEL_TREES = 60
MOST_IN_BAG = 4000  # rows that grow a tree of a density
MOST_TO_TELL = 8000  # rows that grow a tree which tells classes apart
BAG = 0.632  # of the rows grow a tree: the share of distinct ones in a bootstrap sample
LEAF = 3.0  # rows of a leaf


def grow_density_trees(reading: ForestReading, codes: Codes, k: int, weight: Array, most_leaves: int) -> Trees:
    """Return trees whose leaves hold alike rows: they tell the classes apart, and all rows from shuffled ones.

    Beside the rows of each tree stand as many whose cells were drawn column by column. Splits that tell these from real
    rows are where columns depend on each other (Watson et al. 2023, AISTATS); drawn thresholds keep boxes from being
    alike (Geurts, Ernst & Wehenkel 2006, doi:10.1007/s10994-006-6226-1). `weight` (n,) is relative.
    """
    weight = _relative(weight)
    rows, columns = _canonical(reading, codes, weight)
    share, tries = min(BAG, MOST_IN_BAG / max(len(rows), 1)), _tries(len(columns))

    def grown(t: int) -> Nodes:
        bag = _in_bag(bagged(reading, t, share)[rows], weight[rows])
        heavy, own = weight[rows][bag], drawn(reading, t).T[np.ix_(columns, rows[bag])]
        shuffled = _shuffled(own, heavy, np.random.RandomState(t))
        both = np.concatenate([heavy, np.full(len(bag), heavy.mean())])
        least = max(LEAF * float(heavy.mean()), float(both.sum()) / max(most_leaves // DENSITY_TREES, 2))
        cells = np.concatenate([own, shuffled], axis=1)
        target = np.concatenate([codes[rows][bag], np.full(len(bag), k)])
        return grow_tree(cells, target, both, k + 1, tries=tries, least=least, drawn=True, tree=t)

    return _joined(list(parallel_map(grown, range(DENSITY_TREES))), columns, share)


def grow_label_trees(reading: ForestReading, codes: Codes, weight: Array, most_leaves: int) -> Trees:
    """Return trees that tell the classes apart: those of a random forest (Breiman 2001, doi:10.1023/A:1010933404324).

    A missing cell is below all others, so that its being missing can tell. `weight` (n,) is relative.
    """
    weight = _relative(weight)
    columns = canonical_columns(reading)
    cells, k = np.ascontiguousarray(reading.cells[:, columns].T), int(codes.max(initial=0)) + 1
    share, tries = min(BAG, MOST_TO_TELL / max(len(codes), 1)), _tries(len(columns))

    def grown(t: int) -> Nodes:
        bag = _in_bag(bagged(reading, t, share), weight)
        heavy = weight[bag]
        least = LEAF * float(heavy.mean())
        nodes = grow_tree(cells[:, bag], codes[bag], heavy, k, tries=tries, least=least, drawn=False, tree=t)
        return with_leaves(nodes, max(most_leaves // LABEL_TREES, 2))

    return _joined(list(parallel_map(grown, range(LABEL_TREES))), columns, share)


def _tries(d: int) -> int:
    """Return how many of d columns a node tries (Breiman 2001, §4)."""
    return max(1, int(np.sqrt(d) + 0.5))


def _relative(weight: Array) -> Array:
    """Return weights (n,) beside the largest, so rounded that their unit makes no difference."""
    return np.asarray(np.round(weight / weight.max(initial=1e-300), 12))


def _in_bag(bag: NDArray[np.bool_], weight: Array) -> Codes:
    """Return the numbers of the rows in the bag that weigh anything, of all such rows if it has none."""
    heavy = weight > 0.0
    return np.flatnonzero(bag & heavy if (bag & heavy).any() else heavy)


def _shuffled(cells: Cells, weight: Array, rng: np.random.RandomState) -> Cells:
    """Return cells (d, n) that are drawn from those of each column by itself, by weight."""
    n = len(weight)
    if (weight == weight[0]).all():
        return np.stack([column[rng.permutation(n)] for column in cells])
    cumulative = np.cumsum(weight) / weight.sum()
    draws = (np.minimum(np.searchsorted(cumulative, rng.uniform(size=n)), n - 1) for _ in cells)
    return np.stack([column[index] for column, index in zip(cells, draws, strict=True)])


def _canonical(reading: ForestReading, codes: Codes, weight: Array) -> tuple[Codes, Codes]:
    """Return rows and columns in an order that only contents decide.

    Rows of alike contents may have their cells in other columns; only equal ones come in the order of their classes.
    """
    columns = canonical_columns(reading)
    return np.lexsort((weight, codes, *reading.cells[:, columns].T, reading.contents)), columns


def canonical_columns(reading: ForestReading) -> Codes:
    """Return columns in an order that only contents decide, as many as trees can ask."""
    keys = [
        mixed(mixed((column.astype(np.int64) + 2).astype(np.uint64)) ^ reading.contents).sum()
        for column in reading.cells.T
    ]
    return np.argsort(np.array(keys, dtype=np.uint64), kind="stable")[:WIDEST]


def _joined(trees: Sequence[Nodes], columns: Codes, share: float) -> Trees:
    """Return trees one after the other, their columns numbered as they stand in a row."""
    sizes = np.array([len(own.column) for own in trees])
    roots = np.cumsum(sizes) - sizes
    column, threshold, left = (
        np.concatenate([getattr(own, name) for own in trees]).astype(np.int64)
        for name in ("column", "threshold", "left")
    )
    inner = column >= 0
    left = np.where(inner, left + np.repeat(roots, sizes), -1)
    right = np.where(inner, left + 1, -1)
    column = np.where(inner, columns[np.where(inner, column, 0)], -1)
    away = np.zeros(len(column), dtype=np.bool_)  # a missing cell is −1, below all others
    return Trees(column, threshold, left, right, away, roots, share)
