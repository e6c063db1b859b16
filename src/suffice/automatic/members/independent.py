"""Gaussian classes with independent columns.

Where columns are independent within each class, a covariance says nothing that the variances do not, and costs p²
numbers to be learned from the rows. Each column is a block of one in `leave_one_out.wishart`, so that what is exact
there is exact here, and by known cells alone: nothing is filled. This member stands in for the Gaussian of the columns
as they are, where it loses less; beside it, it would take a share of the weight where columns do depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from ..._arrays import Array, np
from ...densities import MultivariateT
from ...export.program import Term
from ...leave_one_out.wishart import SPHERES, LeftOut, WishartClasses
from ...stats import FullScatter, GaussianStats, PatternStats
from ...stats.patterns import observed_cells
from ..columns import MOST_COLUMNS, RAW, BinnedRows, FrozenColumns
from ..judge import HoldoutScorer
from ..limits import step_of_rows
from ..member import Additive, Candidate, Inputs, Part, Setting, TrainingStats, total, totals
from ..sample import Sample
from ..table_rows import Hidden
from .gaussian import OWN, GaussianPart

INDEPENDENT = "independent gaussian"
STRENGTHS = (1.0, 10.0, 100.0, np.inf)  # more say no more
ENOUGH = 1000  # rows to compare them on
SPHERE = SPHERES[0]  # keeps a column without variance within classes from deciding everything


@dataclass(frozen=True)
class IndependentMember(Additive):
    """One setting: `strength` a, in rows, of the pooled variance of a column in that of each class."""

    kinds: ClassVar[tuple[str, ...]] = (INDEPENDENT,)
    statistic: ClassVar[type[Part]] = GaussianPart
    seconds: ClassVar[float] = 0.65
    widest: ClassVar[float] = MOST_COLUMNS
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float}
    left_out_error: ClassVar[float] = 0.03  # τ, the variance of the sphere, stays when a row leaves

    columns_read: FrozenColumns
    prior: tuple[WishartClasses, ...]  # of each column
    strength: float
    name: str = f"{INDEPENDENT}, {RAW}"
    rival: str = f"{OWN}, {RAW}"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every strength; none where the block has been filled, or is of directions, which are not independent.

        They are compared on some of the rows where there are many.
        """
        columns, stats = known.columns, known.part(GaussianPart)
        if RAW not in columns.kinds or RAW in columns.basis or RAW in columns.guess:
            return
        prior = by_column(stats.versions[RAW])
        step = max(step_of_rows(len(sample), known.k, len(prior)), len(sample) // ENOUGH)
        some, inner = sample[::step], judge[::step]
        found = totals(_left_out(prior, some, STRENGTHS), len(STRENGTHS), inner)
        for strength, scores in zip(STRENGTHS, found, strict=True):
            own = cls(columns, prior, strength)
            yield Candidate((own,), scores, inner, partial(own.left_out, sample))

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> IndependentMember:
        """Return the member at this setting."""
        return cls(known.columns, by_column(known.part(GaussianPart).of(RAW)), setting["strength"])

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether a > 0, ∞ included."""
        return setting["strength"] > 0.0

    @cached_property
    def densities(self) -> tuple[MultivariateT, ...]:
        """The predictive density of new rows by column."""
        return tuple(own.density(self.strength, SPHERE) for own in self.prior)

    @property
    def adds_up(self) -> bool:
        return True

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        return (scores for (scores,) in _left_out(self.prior, sample, (self.strength,)))

    def place_of(self, column: int, reading: BinnedRows) -> int:
        """Return the number among all columns of the one behind a column of the Gaussian block."""
        columns = self.columns_read
        return int(columns.owners[columns.used[RAW]][column])

    def left_out_without(self, sample: Sample, hidden: Hidden) -> Array:
        cells = sample.rows.gaussian_without(RAW, hidden)
        return total(scores for (scores,) in _left_out(self.prior, sample, (self.strength,), cells))

    def columns(self, reading: BinnedRows, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield the scores (n, k) of each column of the Gaussian block; a missing cell adds nothing."""
        cells = reading.gaussian(RAW)
        for j in range(len(self.prior)) if wanted is None else wanted:
            yield self.densities[j].log_density(cells[:, [j]])

    def lower_column(self, inputs: Inputs, column: int) -> Term:
        """Return the density."""
        return inputs.normal(self.densities[column], (inputs.gaussian(RAW)[column],))

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        return ((self.lower_column(inputs, j), weight) for j in range(len(self.prior)))


def by_column(stats: PatternStats) -> tuple[WishartClasses, ...]:
    """Return each column by itself, by all of its known cells; they share the sphere, their mean variance."""
    weight, mean, squares = observed_cells(stats)
    tau = max(float((squares.sum(axis=0) / np.maximum(weight.sum(axis=0) - stats.k, 2.0)).mean()), 1e-8)
    return tuple(
        WishartClasses(GaussianStats(w, m[:, None], FullScatter(s[:, None, None]), FullScatter), tau)
        for w, m, s in zip(weight.T, mean.T, squares.T, strict=True)
    )


def _left_out(
    prior: Sequence[WishartClasses], sample: Sample, strengths: tuple[float, ...], cells: Array | None = None
) -> Iterator[list[Array]]:
    """Yield for each column its scores (n, k) at every strength, each row left out, 0 where the cell is missing."""
    cells = sample.rows.gaussian(RAW) if cells is None else cells
    for j, own in enumerate(prior):
        seen = np.flatnonzero(~np.isnan(cells[:, j]))
        left = LeftOut(cells[seen][:, [j]], sample.codes[seen], sample.removed[seen], sample.weight[seen])
        scores = np.zeros((len(strengths), len(cells), len(own.stats.weight)))
        if len(seen):
            scores[:, seen] = [found for _, _, found in own.path(left, strengths, (SPHERE,))]
        yield list(scores)
