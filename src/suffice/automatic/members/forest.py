"""A random forest with leaf weights from all rows, judged out of bag.

The share of class k in a leaf is (n_k + t π_k) / (n + t) with the classes' shares π; the score is the log of the mean
share over the trees, less log π. A row left out is scored by the trees whose structure it had no part in, its own
weight taken out of their leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..._arrays import Array, Codes, np
from ..._derived import memoize
from ...errors import DataError, ExportError
from ...export.program import Term
from ...forest import FrozenForest, LeafArrays, TreeScores
from ...stats.statistic import under
from ..columns import BinnedRows, FrozenColumns
from ..judge import HoldoutScorer
from ..member import Candidate, Counts, Inputs, Member, Part, Setting, TrainingStats
from ..sample import Sample
from ..stack import centred
from ..table_rows import Hidden

STRENGTHS = (0.5, 1.0, 2.0, 4.0)
PSEUDO = 0.5  # rows of each class in its share


@dataclass(frozen=True)
class LeafSums(Part):
    """The sums of the leaves of a density, in one entry; none where there is no forest."""

    name: ClassVar[str] = "leaves"
    left_out: ClassVar[bool] = True

    @property
    def sums(self) -> LeafArrays | None:
        """The sums, None where there is no forest."""
        return self.entries.get(0)

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        frozen = reading.columns.forest
        if frozen is None or not len(frozen.density):
            return cls({})
        return cls({0: LeafArrays.summarize(reading.forest, frozen.density, codes, k, weight)})

    def arrays(self) -> tuple[dict[str, Array], bool]:
        fields = {} if self.sums is None else self.sums.arrays()[0]
        return {f"leaf_{name}": values for name, values in fields.items()}, self.sums is not None

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        if not plain:
            return cls({})
        if columns.forest is None:
            raise ValueError("leaves without a forest")
        none = LeafArrays.zero(columns.forest.cells, columns.forest.density, k)
        return cls({0: LeafArrays.read(under("leaf_", fields), none)})


@dataclass(frozen=True)
class LeafWeights(Counts):
    """The weight (k, leaves) of each class in every leaf of the trees that tell classes apart, all in one entry."""

    name: ClassVar[str] = "shares"
    left_out: ClassVar[bool] = True

    @classmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        frozen = columns.forest
        return {} if frozen is None or not len(frozen.labels) else {0: (k, len(frozen.labels.leaf_nodes))}

    @classmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        assert reading.columns.forest is not None
        return reading.columns.forest.labels.packed.count(reading.forest.cells, codes, k, weight)


class TreeMember(Member):
    """A member whose scores are sums over leaves: those of `trees`, which ask the cells of the `frozen` columns."""

    missing_tells: ClassVar[bool] = True

    frozen: FrozenForest

    if TYPE_CHECKING:  # a field of one, made by the other: at run time a dataclass would take this for a default

        @property
        def trees(self) -> TreeScores: ...

    def scores(self, reading: BinnedRows) -> Array:
        return self.trees.scores(reading.forest.cells)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        yield inputs.trees(self.trees, self.frozen.cells), weight

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values of the sums over leaves, as a log scales them if there is one."""
        found = centred(self.trees.contributions(reading.forest.cells))
        return found, np.zeros_like(found)


class DatedTrees(TreeMember):
    """One whose trees may ask parts of dates as well, those of the `asked` columns."""

    asked: FrozenColumns

    def scores(self, reading: BinnedRows) -> Array:
        return self.trees.scores(reading.dated.cells)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        if (self.trees.trees.column >= self.asked.d).any():
            raise ExportError.dates([inputs.names[j] for j in sorted({j for j, _ in self.asked.dates})])
        return super().lower(inputs, weight, by_column)

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values of the sums over leaves; a date has those of its parts."""
        every, d = self.trees.contributions(reading.dated.cells), self.asked.d
        for place, (j, _) in enumerate(self.asked.dates, start=d):
            every[:, j] += every[:, place]
        found = centred(every[:, :d])
        return found, np.zeros_like(found)


@dataclass(frozen=True)
class ForestMember(TreeMember):
    """Weights (k, leaves) of the classes in the leaves of frozen trees, and the strength t."""

    kinds: ClassVar[tuple[str, ...]] = ("forest",)
    statistic: ClassVar[type[Part]] = LeafWeights
    seconds: ClassVar[float] = 0.3
    asks_trees: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True  # leaves are of few rows, and tell of them
    left_out_error: ClassVar[float] = np.inf  # trees are grown with the row, and those are not asked
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float}

    frozen: FrozenForest
    counts: Array
    weight: Array
    strength: float = 1.0
    name: str = "forest"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every strength; none where the rows, or those without a fold of groups, were too few for trees."""
        part, frozen = known.part(LeafWeights), known.columns.forest
        without = [] if sample.folds is None else [rest.columns.forest for rest, _ in sample.folds.known]
        if frozen is None or not part.counts or None in without:
            return
        each = [cls(frozen, part.counts[0], known.weight, strength) for strength in STRENGTHS]
        for member, scores in zip(each, each[0].left_out_at(sample, STRENGTHS), strict=True):
            yield Candidate((member,), scores, judge)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> ForestMember:
        part, frozen = known.part(LeafWeights), known.columns.forest
        if frozen is None or not part.counts:
            raise DataError("a fold of them has too few rows to grow trees")
        return cls(frozen, part.counts[0], known.weight, setting["strength"])

    @property
    def shares(self) -> Array:
        """The share of each class in all rows (k,)."""
        return np.asarray((self.weight + PSEUDO) / (self.weight + PSEUDO).sum())

    @cached_property
    def trees(self) -> TreeScores:
        """The mean share over the trees, and its log."""
        pi = self.shares
        share = (self.counts.T + self.strength * pi) / (self.counts.sum(axis=0)[:, None] + self.strength)
        held = self.counts.sum(axis=0)
        return TreeScores(self.frozen.labels, share / len(self.frozen.labels), -np.log(pi), True, held)

    def left_out(self, sample: Sample) -> Array:
        return np.asarray(self.left_out_at(sample, (self.strength,))[0])

    def left_out_without(self, sample: Sample, hidden: Hidden) -> Array:
        return np.asarray(self.left_out_at(sample, (self.strength,), hidden)[0])

    def left_out_at(self, sample: Sample, strengths: Sequence[float], hidden: Hidden | None = None) -> Array:
        """Return scores (strengths, n, k) of learned rows, each by the trees that have not seen it, without it.

        Where some columns are `hidden`, or levels that no other row has, they are judged by the leaves in which the
        other cells end, but are of those in which all of them do.
        """
        trees, pi, shown = self.frozen.labels, self.shares, sample.cells(hidden, sample.unseen)
        own, free = trees.ends(sample.rows.forest) if hidden is None else memoize(sample.rows.forest, trees.ends)
        leaves = own if shown is sample.rows.forest.cells else trees.packed.leaves_of(shown, 0, len(trees))
        counts, at = self.counts.T, np.asarray(strengths, dtype=np.float64)
        total = trees.packed.left_out_shares(own, leaves, free, counts, sample.codes, sample.removed, pi, at)
        return np.asarray(np.log(total / free.sum(axis=0)[:, None]) - np.log(pi))
