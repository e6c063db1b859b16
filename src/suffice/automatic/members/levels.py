"""Naive Bayes on categories with a Dirichlet prior centred on the levels' shares in all classes.

p(l | k) = (n_kl + t π_l) / (n_k + t) with π_l = (n_l + ½) / (N + L / 2), L counting one spare level for what was never
seen; n counts the observed cells of the column. Missing cells contribute nothing. Leaving a row out lowers the counts
of its own cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._arrays import Array, Codes, np
from ...estimate.priors import smooth_pooled
from ...export.program import Table, Term
from ..columns import BinnedRows
from ..judge import HoldoutScorer
from ..member import Additive, Candidate, Inputs, Setting, TrainingStats, totals
from ..sample import Sample

STRENGTHS = (0.5, 2.0, 8.0, 32.0)


@dataclass(frozen=True, slots=True)
class LevelShares:
    """Counts (k, levels) of each column, and the strength t."""

    counts: tuple[Array, ...]
    strength: float = 2.0

    def table(self, j: int) -> Array:
        """Return log p(level | k) of column j, (k, levels + 1), the last for a level never seen."""
        return np.asarray(np.log(smooth_pooled(self.counts[j], self.strength)[0]))

    def columns(self, codes: Sequence[Codes], wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield log p(level | k), (n, k), of each column for new rows, or of those `wanted`.

        Level numbers (n,) are −1 where a cell is missing, and L − 1 where its level was never seen.
        """
        for j in range(len(codes)) if wanted is None else wanted:
            yield np.where(codes[j][:, None] < 0, 0.0, self.table(j).T[codes[j]])

    def left_out(
        self, codes: Sequence[Codes], labels: Codes, removed: Array, strengths: Sequence[float]
    ) -> Iterator[list[Array]]:
        """Yield, by column, log p(level | k) (n, k) at each strength, without the weight `removed` of each row."""
        own = np.zeros((len(labels), len(self.counts[0])))
        own[np.arange(len(labels)), labels] = removed
        for counts, column in zip(self.counts, codes, strict=True):
            seen = column >= 0
            known = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
            less = removed * seen
            levels = np.maximum(known.T[column] - own * seen[:, None], 0.0)
            whole = np.maximum(known.sum(axis=1) - own * seen[:, None], 0.0)
            share = np.maximum(known.sum(axis=0)[column] - less, 0.0) + 0.5
            share = (share / (np.maximum(known.sum() - less, 0.0) + 0.5 * known.shape[1]))[:, None]
            yield [np.where(seen[:, None], np.log((levels + t * share) / (whole + t)), 0.0) for t in strengths]


@dataclass(frozen=True)
class LevelMember(Additive):
    """Shares of the levels of all categories, whose counts the model has without any member."""

    kinds: ClassVar[tuple[str, ...]] = ("categories",)
    seconds: ClassVar[float] = 0.0  # some hundredths at most
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float}
    column_kind: ClassVar[str] = "cat"

    model: LevelShares
    name: str = "categories"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every strength; none without categories, of which columns of texts are none."""
        if len(known.categories) == known.columns.texts:
            return
        model = LevelShares(known.categories)
        columns = model.left_out(sample.rows.levels, sample.codes, sample.removed, STRENGTHS)
        for t, scores in zip(STRENGTHS, totals(columns, len(STRENGTHS), judge), strict=True):
            yield Candidate((cls(replace(model, strength=t)),), scores, judge)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> LevelMember:
        if not known.categories:
            raise ValueError("categories of a model without any")
        return cls(LevelShares(known.categories, setting["strength"]))

    @property
    def width(self) -> int:
        """The number of categories."""
        return len(self.model.counts)

    def columns(self, reading: BinnedRows, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield log p(level | k), (n, k), of each category, or of those `wanted`."""
        return self.model.columns(reading.levels, wanted)

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        strength = (self.model.strength,)
        for (part,) in self.model.left_out(sample.rows.levels, sample.codes, sample.removed, strength):
            yield part

    def without(self, rows: Sample) -> LevelMember:
        pairs = zip(self.model.counts, rows.rows.levels, strict=True)
        return replace(self, model=replace(self.model, counts=tuple(_less(own, column, rows) for own, column in pairs)))

    def lower_column(self, inputs: Inputs, column: int) -> Term:
        """Return the log shares."""
        return Table(inputs.codes[column], self.model.table(column))

    def place_of(self, column: int, reading: BinnedRows) -> int:
        """Return the number of a category among all columns: after the numbers."""
        return int(reading.numbers.shape[1]) + column


def _less(counts: Array, column: Codes, out: Sample) -> Array:
    """Return the counts (k, levels) of a column without some rows."""
    left, seen = counts.copy(), (column >= 0) & (column < counts.shape[1])
    np.subtract.at(left, (out.codes[seen], column[seen]), out.held[seen])
    return np.maximum(left, 0.0)
