"""Naive Bayes on numbers by density ratios: each column's density is piecewise linear between quantile knots.

A cell x lies between two knots and counts for both, w_b(x) and 1 − w_b(x) (linear B-splines). With n_kb the counts of
class k, n_k their sum, π_b = (n_b + ½) / (n + B / 2) those of all classes, and t the strength of smoothing,

    F_k(x) = Σ_b w_b(x) log[(n_kb + t π_b) / ((n_k + t) π_b)],

a log density ratio that is 0 where the class is like the others. Missing cells contribute nothing. Leaving a row out
takes w_b(x) from n_kb of its class and from n_b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ..._arrays import Array, Codes, np, row_chunks, rows_within
from ...estimate.priors import pooled_shares, smoothed_shares
from ...export.program import PiecewiseLinear, Term
from ...kernels.columns import between_knots, spline_ratios
from ..columns import BinnedRows, FrozenColumns
from ..judge import HoldoutScorer
from ..knots import INTERVALS, Splines
from ..limits import step_of_rows
from ..member import Additive, Candidate, Counts, Inputs, Part, Setting, TrainingStats, totals
from ..sample import Sample

STRENGTHS = (1.0, 4.0, 16.0)


@dataclass(frozen=True, slots=True)
class SplineRatios:
    """Density ratios of numbers: knots, counts (k, B) and the strength t."""

    splines: Splines
    counts: Array
    strength: float = 1.0

    def table(self, j: int) -> Array:
        """Return F at the knots of column j, (k, knots)."""
        start, stop = self.splines.packed.starts[j : j + 2]
        own = self.counts[:, start:stop]
        base = pooled_shares(own)
        shares, _ = smoothed_shares(own, own.sum(axis=1, keepdims=True), self.strength, base, 1.0)
        return np.asarray(np.log(shares) - np.log(base))

    def columns(self, rows: Array, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield F (n, k) of each column for new rows, or of those `wanted`."""
        for j in range(rows.shape[1]) if wanted is None else wanted:
            table, x, knots = self.table(j), np.asarray(rows[:, j], dtype=np.float64), self.splines.knots[j]
            yield between_knots(x, knots, table) if len(knots) > 1 else np.zeros((len(x), len(table)))

    def left_out(self, rows: Array, codes: Codes, removed: Array, strengths: Sequence[float]) -> Iterator[list[Array]]:
        """Yield, by column, F (n, k) at each strength, made without the weight `removed` (n,) of each row."""
        knots = self.splines.packed
        bytes_per_column = 16 * len(strengths) * len(rows) * len(self.counts)
        for some in row_chunks(rows.shape[1], rows_within(bytes_per_column)):
            counts = self.counts[:, knots.starts[some.start] : knots.starts[some.stop]]
            yield from map(list, spline_ratios(rows[:, some], knots[some], counts, codes, removed, strengths))


@dataclass(frozen=True)
class SplineCounts(Counts):
    """Sums of splines (k, B) by number of intervals."""

    name: ClassVar[str] = "hats"

    @classmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        """Return the shapes by number of intervals; none without numbers."""
        return {m: (k, len(columns.splines[m].packed.values)) for m in INTERVALS} if columns.scores else {}

    @classmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        return reading.columns.splines[entry].count(reading.numbers, codes, k, weight)


@dataclass(frozen=True)
class SplineMember(Additive):
    """Piecewise linear densities of all numbers, in so many `intervals`."""

    kinds: ClassVar[tuple[str, ...]] = ("hats",)
    statistic: ClassVar[type[Part]] = SplineCounts
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"intervals": int, "strength": float}
    column_kind: ClassVar[str] = "hat"

    intervals: int
    model: SplineRatios
    name: str = "hats"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every number of intervals and strength; on fewer rows where there are very many columns."""
        d = sample.rows.numbers.shape[1]
        if not d:
            return
        few = slice(None, None, step_of_rows(len(sample), judge.offset.shape[1], d))
        some, inner = sample[few], judge[few]
        for m, counts in known.part(SplineCounts).counts.items():
            model = SplineRatios(known.columns.splines[m], counts)
            columns = model.left_out(some.rows.numbers, some.codes, some.removed, STRENGTHS)
            for t, scores in zip(STRENGTHS, totals(columns, len(STRENGTHS), inner), strict=True):
                member = cls(m, replace(model, strength=t))
                final = partial(member.left_out, sample) if len(some) < len(sample) else None
                yield Candidate((member,), scores, inner, final)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> SplineMember:
        m = int(setting["intervals"])
        return cls(m, SplineRatios(known.columns.splines[m], known.part(SplineCounts).counts[m], setting["strength"]))

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether columns are frozen in so many intervals, and 0 < t < ∞."""
        return setting["intervals"] in INTERVALS and super().allows(setting)

    @property
    def width(self) -> int:
        """The number of numbers."""
        return len(self.model.splines.knots)

    def columns(self, reading: BinnedRows, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield F (n, k) of each number, or of those `wanted`."""
        return self.model.columns(reading.numbers, wanted)

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        strength = (self.model.strength,)
        for (part,) in self.model.left_out(sample.rows.numbers, sample.codes, sample.removed, strength):
            yield part

    def without(self, rows: Sample) -> SplineMember:
        counts, splines = self.model.counts, self.model.splines
        lost = splines.count(rows.rows.numbers, rows.codes, len(counts), rows.held)
        return replace(self, model=replace(self.model, counts=np.maximum(counts - lost, 0.0)))

    def lower_column(self, inputs: Inputs, column: int) -> Term:
        """Return the values at the knots."""
        return PiecewiseLinear(inputs.numbers[column], self.model.splines.knots[column], self.model.table(column))
