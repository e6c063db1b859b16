"""The structure of trees, found by scikit-learn on the rows kept and read out into plain arrays at once.

Rows, columns and draws come in an order that the contents decide, so that equal rows grow equal trees.
"""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Codes, NDArray, np, parallel_map
from ..stats.rows import mixed
from .columns import Cells, ForestReading
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
    from sklearn.tree import ExtraTreeClassifier  # slow to load, and not before a forest grows

    weight = _relative(weight)
    rows, columns = _canonical(reading, codes, weight)
    share = min(BAG, MOST_IN_BAG / max(len(rows), 1))

    def grown(t: int) -> Any:
        bag = _in_bag(bagged(reading, t, share)[rows], weight[rows])
        heavy, own = weight[rows][bag], drawn(reading, t)[rows[bag]][:, columns]
        rng = np.random.RandomState(t)
        shuffled = _shuffled(own, heavy, rng)
        target = np.concatenate([codes[rows][bag], np.full(len(bag), k)])
        both = np.concatenate([heavy, np.full(len(bag), heavy.mean())])
        least = max(LEAF * float(heavy.mean()), float(both.sum()) / max(most_leaves // DENSITY_TREES, 2))
        tree = ExtraTreeClassifier(
            max_features="sqrt", min_weight_fraction_leaf=_fraction(least, both), random_state=rng
        )
        return tree.fit(np.concatenate([own, shuffled]).astype(np.float32), target, both).tree_

    return _read_out(list(parallel_map(grown, range(DENSITY_TREES))), columns, share)


def grow_label_trees(reading: ForestReading, codes: Codes, weight: Array, most_leaves: int) -> Trees:
    """Return trees that tell the classes apart: those of a random forest (Breiman 2001, doi:10.1023/A:1010933404324).

    A missing cell is below all others, so that its being missing can tell. `weight` (n,) is relative.
    """
    from sklearn.tree import DecisionTreeClassifier  # slow to load, and not before a forest grows

    weight = _relative(weight)
    rows, columns = _canonical(reading, codes, weight)
    cells, share = reading.cells[rows][:, columns].astype(np.float32), min(BAG, MOST_TO_TELL / max(len(rows), 1))

    def grown(t: int) -> Any:
        bag = _in_bag(bagged(reading, t, share)[rows], weight[rows])
        heavy = weight[rows][bag]
        tree = DecisionTreeClassifier(
            max_features=max(1, int(np.sqrt(len(columns)) + 0.5)),
            min_weight_fraction_leaf=_fraction(LEAF * float(heavy.mean()), heavy),
            max_leaf_nodes=max(most_leaves // LABEL_TREES, 2),
            random_state=t,
        )
        return tree.fit(cells[bag], codes[rows][bag], heavy).tree_

    return _read_out(list(parallel_map(grown, range(LABEL_TREES))), columns, share)


def _relative(weight: Array) -> Array:
    """Return weights (n,) beside the largest, so rounded that their unit makes no difference."""
    return np.asarray(np.round(weight / weight.max(initial=1e-300), 12))


def _in_bag(bag: NDArray[np.bool_], weight: Array) -> Codes:
    """Return the numbers of the rows in the bag that weigh anything, of all such rows if it has none."""
    heavy = weight > 0.0
    return np.flatnonzero(bag & heavy if (bag & heavy).any() else heavy)


def _fraction(least: float, weight: Array) -> float:
    return min(0.5, (1.0 - 1e-9) * least / float(weight.sum()))


def _shuffled(cells: Cells, weight: Array, rng: np.random.RandomState) -> Cells:
    """Return rows whose cells are drawn from those of each column by themselves, by weight."""
    if (weight == weight[0]).all():
        return np.column_stack([column[rng.permutation(len(cells))] for column in cells.T])
    cumulative = np.cumsum(weight) / weight.sum()
    draws = (np.minimum(np.searchsorted(cumulative, rng.uniform(size=len(cells))), len(cells) - 1) for _ in cells.T)
    return np.column_stack([column[index] for column, index in zip(cells.T, draws, strict=True)])


def _canonical(reading: ForestReading, codes: Codes, weight: Array) -> tuple[Codes, Codes]:
    """Return rows and columns in an order that only contents decide.

    Rows of alike contents may have their cells in other columns; only equal ones come in the order of their classes.
    """
    keys = [
        mixed(mixed((column.astype(np.int64) + 2).astype(np.uint64)) ^ reading.contents).sum()
        for column in reading.cells.T
    ]
    columns = np.argsort(np.array(keys, dtype=np.uint64), kind="stable")
    return np.lexsort((weight, codes, *reading.cells[:, columns].T, reading.contents)), columns


def _read_out(trees: list[Any], columns: Codes, share: float) -> Trees:
    """Return scikit-learn's trees as plain arrays, their columns numbered as they stand in a row."""
    parts: dict[str, list[NDArray[np.int64]]] = {name: [] for name in ("column", "threshold", "left", "right")}
    roots, first = [], 0
    for tree in trees:
        inner = tree.children_left >= 0
        parts["column"].append(np.where(inner, columns[np.where(inner, tree.feature, 0)], -1))
        parts["threshold"].append(np.where(inner, np.floor(tree.threshold), 0).astype(np.int64))
        for side in ("left", "right"):
            child = getattr(tree, f"children_{side}")
            parts[side].append(np.where(inner, child + first, -1))
        roots.append(first)
        first += len(inner)
    whole = {name: np.concatenate(found).astype(np.int64) for name, found in parts.items()}
    away = np.zeros(first, dtype=np.bool_)  # a missing cell is −1, below all others
    return Trees(**whole, missing_right=away, roots=np.array(roots, dtype=np.int64), share=share)
