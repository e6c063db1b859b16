"""Naive Bayes on which cells are missing, of the columns where that goes with the class.

A column's cells are missing or not: a category of two levels, with the shares and leave-one-out of `levels`. Only
columns whose missing cells tell more than chance are read: rows left out must win by them what χ² with k − 1 degrees of
freedom exceeds at level `CHANCE`, divided by the number of columns with missing cells (Bonferroni). So cells missing
completely at random say nothing, in all but `CHANCE` of tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._arrays import Array, Codes, gammaincc, np
from ...export.program import PiecewiseLinear, Term
from ...notes import Note
from ...schema import Name
from ..columns import BinnedRows
from ..judge import HoldoutScorer
from ..member import Candidate, Inputs, Member, Setting, TrainingStats, total, totals
from ..sample import Sample
from ..stack import centred
from ..table_rows import MISSING, Hidden
from .levels import LevelShares

STRENGTHS = (2.0, 8.0, 32.0)
CHANCE = 0.001  # of tables where nothing that is missing tells; of .01 rare cells came in that cost 2 % of fresh loss


@dataclass(frozen=True)
class MissingMember(Member):
    """Shares of missing cells by class in some columns, whose numbers among all, numbers first, are in its name."""

    kinds: ClassVar[tuple[str, ...]] = ("missing cells",)
    seconds: ClassVar[float] = 0.0  # some hundredths at most
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float}
    needs_rows: ClassVar[bool] = True

    model: LevelShares
    places: tuple[int, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """Its kind with its columns."""
        return f"{self.kinds[0]}, {' '.join(map(str, self.places))}"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every strength; none where no column's missing cells tell."""
        places = _telling(known, sample, judge)
        if not places:
            return
        model = LevelShares(_counts(known, places))
        columns = model.left_out(_missing(sample.rows, places), sample.codes, sample.removed, STRENGTHS)
        for t, scores in zip(STRENGTHS, totals(columns, len(STRENGTHS), judge), strict=True):
            yield Candidate((cls(replace(model, strength=t), places),), scores, judge)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> MissingMember:
        places = tuple(map(int, detail.split()))
        if not places or list(places) != sorted(set(places)) or not 0 <= places[0] <= places[-1] < known.seen.shape[1]:
            raise ValueError("columns whose missing cells tell")
        return cls(LevelShares(_counts(known, places), setting["strength"]), places)

    def notes(self, names: Sequence[Name]) -> tuple[Note, ...]:
        why = "rows left out are told better so; for new rows it must be missing for the same reasons"
        return (
            Note("a missing cell counts as a sign of the class", why, columns=tuple(names[j] for j in self.places)),
        )

    def scores(self, reading: BinnedRows) -> Array:
        return total(self.model.columns(_missing(reading, self.places)))

    def left_out(self, sample: Sample) -> Array:
        return self._left_out(sample, ())

    def left_out_without(self, sample: Sample, hidden: Hidden) -> Array:
        """Return the same where some columns are hidden: of those of which nothing is known, nothing is said."""
        return (
            self.left_out(sample.hiding(hidden.columns))
            if hidden.as_missing
            else self._left_out(sample, hidden.columns)
        )

    def _left_out(self, sample: Sample, without: Sequence[int] | Codes) -> Array:
        cells = [
            np.where(j in without, MISSING, own)
            for j, own in zip(self.places, _missing(sample.rows, self.places), strict=True)
        ]
        columns = self.model.left_out(cells, sample.codes, sample.removed, (self.model.strength,))
        return total(own for (own,) in columns)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        """Yield a line through log p(known) at 0 and log p(missing) at 1 for each column."""
        for j, place in enumerate(self.places):
            yield PiecewiseLinear(inputs.missing(place), np.array([0.0, 1.0]), self.model.table(j)[:, :2]), weight

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return what each column adds by being missing or not: exact."""
        parts = list(self.model.columns(_missing(reading, self.places)))
        score = np.zeros((*reading.known.shape, parts[0].shape[1]))
        for place, part in zip(self.places, parts, strict=True):
            score[:, place] = centred(part)
        return score, np.zeros_like(score)


def _telling(known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> tuple[int, ...]:
    """Return the columns whose missing cells tell the class beyond chance."""
    held = known.weight.sum() - known.seen.sum(axis=0)
    some = tuple(np.flatnonzero(held > 0.0).tolist())
    if not some or known.k < 2:
        return ()
    alone = judge.losses(np.zeros_like(judge.offset))
    columns = LevelShares(_counts(known, some)).left_out(
        _missing(sample.rows, some), sample.codes, sample.removed, STRENGTHS[:1]
    )
    won = [max(float(judge.weight @ (alone - judge.losses(own))), 0.0) for (own,) in columns]  # half of χ²
    by_chance = gammaincc(0.5 * (known.k - 1), won)
    return tuple(place for place, own in zip(some, by_chance, strict=True) if own < CHANCE / len(some))


def _counts(known: TrainingStats, places: Sequence[int]) -> tuple[Array, ...]:
    """Return the weights (k, 2) of known and of missing cells, by class, of some columns."""
    seen = known.seen[:, list(places)].T
    return tuple(np.column_stack([own, np.maximum(known.weight - own, 0.0)]) for own in seen)


def _missing(reading: BinnedRows, places: Sequence[int]) -> list[Codes]:
    """Return of some columns which cells (n,) are missing: 1, where the others are 0."""
    d = reading.numbers.shape[1]
    cells = (np.isnan(reading.numbers[:, j]) if j < d else reading.shown[j - d] == MISSING for j in places)
    return [own.astype(np.int64) for own in cells]
