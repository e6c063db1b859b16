"""The frozen structure of a forest: cells of columns, and trees grown on the rows kept.

Rows, columns and draws come in an order that the contents decide, so that equal rows grow equal trees. Splits go by
Gini's index (Breiman, Friedman, Olshen & Stone 1984, Classification and Regression Trees, ch. 4): the best has the
largest Σ_c l_c² / Σ_c l_c + Σ_c r_c² / Σ_c r_c of the classes' weights on either side. Weights are whole numbers, so
that the sums are exact: no order of rows, and no loop that adds them up, makes another tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map
from ..kernels.growing import Nodes, grow
from ..kernels.trees import WIDEST
from ..stats.counts import CodedColumns
from ..stats.rows import Units, mixed
from ..stats.statistic import Fields, Plain, WrittenAlike, under
from .columns import Cells, ForestColumns, ForestReading, levels_within
from .trees import Trees, bagged, drawn

LEAF_BYTES = 1 << 25  # of the sums of all leaves: trees of more are cut short
DENSITY_TREES = 30
LABEL_TREES = 60
MOST_IN_BAG = 4000  # rows that grow a tree of a density
MOST_TO_TELL = 8000  # rows that grow a tree which tells classes apart
BAG = 0.632  # of the rows grow a tree: the share of distinct ones in a bootstrap sample
LEAF = 3.0  # rows of a leaf
UNITS = 2.0**26  # that the weights of a tree's rows add up to, roughly


@dataclass(frozen=True, eq=False)
class FrozenForest(WrittenAlike):
    """Cells of columns, trees of a density (`density`), and trees that tell classes apart (`labels`); either may be
    none.
    """

    cells: ForestColumns
    density: Trees
    labels: Trees

    @classmethod
    def freeze(
        cls,
        numbers: Array,
        coded: CodedColumns,
        codes: Codes,
        k: int,
        weight: Array,
        *,
        density: bool = True,
        labels: bool = True,
        units: Units | None = None,
    ) -> Self:
        """Return what rows (n,) of `k` classes and these weights, counted as rows, give; see `stats.rows`."""
        units = Units.each(len(codes)) if units is None else units
        cells = ForestColumns.freeze(numbers, coded, codes, k, weight, units)
        unseen = units.unseen(coded.codes, [len(own) for own in coded.levels], slice(None))
        reading = cells.read(numbers, coded).with_unseen(unseen)
        columns = len(cells.numbers)
        most = LEAF_BYTES // (8 * k * (1 + 3 * columns + sum(cells.sizes[columns:])))
        return cls(
            cells,
            grow_density_trees(reading, codes, k, weight, most) if density else Trees.none(),
            grow_label_trees(reading, codes, weight, LEAF_BYTES // (8 * k)) if labels else Trees.none(),
        )

    @property
    def forest(self) -> Self:
        """What is frozen, under the name that columns with other things besides have for it."""
        return self

    @property
    def numbers(self) -> int:
        """How many of the columns are numbers."""
        return len(self.cells.numbers)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return self.cells.d

    def read(self, numbers: Array, coded: CodedColumns) -> FrozenReading:
        """Return rows of a table as these columns read them."""
        levels = levels_within(coded, self.cells.vocabulary)
        return FrozenReading(np.asarray(numbers, dtype=np.float64), levels, self)

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        fields: Fields = {}
        plain: Plain = {}
        for name, part in (("cells", self.cells), ("density", self.density), ("labels", self.labels)):
            own, plain[name] = part.arrays()
            fields |= {f"{name}_{field}": values for field, values in own.items()}
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""
        cells = ForestColumns.from_arrays(under("cells_", fields), plain["cells"])
        density, labels = (
            Trees.from_arrays(under(f"{name}_", fields), plain[name], cells.sizes) for name in ("density", "labels")
        )
        return cls(cells, density, labels)


@dataclass(frozen=True)
class FrozenReading:
    """Rows as read from a table: numbers (n, ·), NaN where missing, and level numbers of each category (n,)."""

    numbers: Array
    levels: tuple[Codes, ...]
    columns: FrozenForest

    @property
    def shown(self) -> tuple[Codes, ...]:
        """Where each category has a level: −1 where not, (n,) each."""
        return self.levels

    @cached_property
    def forest(self) -> ForestReading:
        """The rows as trees read them."""
        return self.columns.cells.reading(self.numbers, self.levels)


def grow_density_trees(reading: ForestReading, codes: Codes, k: int, weight: Array, most_leaves: int) -> Trees:
    """Return trees whose leaves hold alike rows: they tell the classes apart, and all rows from shuffled ones.

    Beside the rows of each tree stand as many whose cells were drawn column by column. Splits that tell these from real
    rows are where columns depend on each other (Watson et al. 2023, AISTATS); drawn thresholds keep boxes from being
    alike (Geurts, Ernst & Wehenkel 2006, doi:10.1007/s10994-006-6226-1). `weight` (n,) is relative.
    """
    weight = _relative(weight)
    columns = canonical_columns(reading)
    # rows of alike contents may have their cells in other columns; only equal ones come in the order of their classes
    rows = np.lexsort((weight, codes, *reading.cells[:, columns].T, reading.contents))
    share, tries = min(BAG, MOST_IN_BAG / max(len(rows), 1)), _tries(len(columns))

    def grown(t: int) -> Nodes:
        bag = _in_bag(bagged(reading, t, share)[rows], weight[rows])
        bag_weight, own = weight[rows][bag], drawn(reading, t).T[np.ix_(columns, rows[bag])]
        shuffled = _shuffled(own, bag_weight, np.random.RandomState(t))
        both = np.concatenate([bag_weight, np.full(len(bag), bag_weight.mean())])
        least = max(LEAF * float(bag_weight.mean()), float(both.sum()) / max(most_leaves // DENSITY_TREES, 2))
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
        bag_weight = weight[bag]
        least = LEAF * float(bag_weight.mean())
        nodes = grow_tree(cells[:, bag], codes[bag], bag_weight, k, tries=tries, least=least, drawn=False, tree=t)
        return with_leaves(nodes, max(most_leaves // LABEL_TREES, 2))

    return _joined(list(parallel_map(grown, range(LABEL_TREES))), columns, share)


def _tries(d: int) -> int:
    """Return how many of d columns a node tries (Breiman 2001, §4)."""
    return max(1, int(np.sqrt(d) + 0.5))


def _relative(weight: Array) -> Array:
    """Return weights (n,) beside the largest, so rounded that their unit makes no difference."""
    return np.asarray(np.round(weight / weight.max(initial=1e-300), 12))


def _in_bag(bag: Flags, weight: Array) -> Codes:
    """Return the numbers of the rows in the bag that weigh anything, of all such rows if it has none."""
    weighs = weight > 0.0
    return np.flatnonzero(bag & weighs if (bag & weighs).any() else weighs)


def _shuffled(cells: Cells, weight: Array, rng: np.random.RandomState) -> Cells:
    """Return cells (d, n) that are drawn from those of each column by itself, by weight."""
    n = len(weight)
    if (weight == weight[0]).all():
        return np.stack([column[rng.permutation(n)] for column in cells])
    cumulative = np.cumsum(weight) / weight.sum()
    draws = (np.minimum(np.searchsorted(cumulative, rng.uniform(size=n)), n - 1) for _ in cells)
    return np.stack([column[index] for column, index in zip(cells, draws, strict=True)])


def canonical_columns(reading: ForestReading) -> Codes:
    """Return columns in an order that only contents decide, as many as trees can ask."""
    keys = [mixed(own ^ reading.contents[:, None]).sum(axis=0) for own in reading.mixed_cells()]
    return np.argsort(np.concatenate([*keys, np.zeros(0, dtype=np.uint64)]), kind="stable")[:WIDEST]


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


def grow_tree(
    cells: Cells, codes: Codes, weight: Array, k: int, *, tries: int, least: float, drawn: bool, tree: int
) -> Nodes:
    """Return a tree of rows (n,) of classes below k, whose cells are (d, n).

    A node tries columns in an order that its place and the number of the `tree` decide: `tries` of them, and more until
    one varies. It tries every threshold, or one of each column that is `drawn`. No node is split that would have a
    child of less weight than `least`, or that has rows of one class only.
    """
    whole = np.rint(weight * (UNITS / float(weight.sum()))).astype(np.int64)
    enough = max(1, int(np.ceil(least * (UNITS / float(weight.sum())) * (1.0 - 1e-9))))
    codes = codes.astype(np.int64)
    return grow(cells, codes, whole, k, tries=tries, least=enough, drawn=drawn, tree=tree)


def with_leaves(nodes: Nodes, most: int) -> Nodes:
    """Return the tree with its best splits, so many that it has at most `most` leaves.

    A split comes no sooner than those above it: its gain counts as the smallest on the way to it.
    """
    inner = np.flatnonzero(nodes.column >= 0)
    if len(inner) < most:
        return nodes
    worth = nodes.gain.copy()
    for v in inner.tolist():  # parents before their children
        below = slice(int(nodes.left[v]), int(nodes.left[v]) + 2)
        worth[below] = np.minimum(worth[below], worth[v])
    kept = np.zeros(len(worth), dtype=np.bool_)
    kept[inner[np.argsort(-worth[inner], kind="stable")[: most - 1]]] = True
    there = np.zeros(len(worth), dtype=np.bool_)
    there[0] = True
    children = nodes.left[kept]
    there[children] = there[children + 1] = True
    place = np.cumsum(there) - 1
    column, left = np.where(kept, nodes.column, -1), np.where(kept, place[nodes.left], 0)
    threshold, gain = np.where(kept, nodes.threshold, 0), np.where(kept, nodes.gain, 0.0)
    return Nodes(column[there], threshold[there], left[there].astype(np.int32), gain[there])
