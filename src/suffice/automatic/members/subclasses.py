"""Each class as several Gaussians, its parts found by k-means.

k-means moves when a row leaves, and parts found with the row know it, so that leave-one-out on frozen parts flatters.
Left-out log densities are therefore those of five folds, each scored by parts found on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar, Self

from ..._arrays import Array, Codes, cumcount, np
from ...attribution.explain import explain_block
from ...densities import MultivariateT
from ...densities.mixture import sum_within
from ...estimate.mixture_starts import k_means
from ...export.program import Mixture, Term
from ...leave_one_out.wishart import WishartClasses
from ...stats import FullScatter, GaussianStats
from ...stats.statistic import Fields
from ..columns import SCORES, BinnedRows, FrozenColumns
from ..completion import fill_blindly
from ..folds import by_fold
from ..judge import HoldoutScorer
from ..member import Candidate, Chosen, Inputs, Member, Part, Setting, TrainingStats, gathered
from ..sample import Sample, SomeRows
from ..table_rows import Hidden
from .gaussian import GaussianPart

PART_COUNTS = (2, 4, 8)
STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0, np.inf)
SPHERES = (0.001, 0.03, 0.3, 1.0)
FOLDS = 5
LEAST = 20  # rows of a part
LEAST_ROWS = 800
ROUNDS = 25
MANY = 5000  # rows, of which a fifth is enough to choose the number of parts by
MOST_NUMBERS = 200  # of columns whose classes are split into parts


@dataclass(frozen=True, slots=True)
class SubclassDensity:
    """log Σ_r share_r f_r(x) over the parts r of each class: `owner` (parts,) class numbers, `log_share` (parts,)."""

    parts: MultivariateT
    owner: Codes
    log_share: Array
    k: int

    def log_density(self, rows: Array) -> Array:
        """Return log densities (n, k) in nats; missing cells are integrated out."""
        return sum_within(self.parts.log_density(rows) + self.log_share, self.owner)


@dataclass(frozen=True)
class Split:
    """Statistics of the parts of every class, and which class each belongs to."""

    member: WishartClasses
    owner: Codes
    log_share: Array
    k: int

    @classmethod
    def of(cls, rows: Array, codes: Codes, weight: Array, k: int, parts: int) -> Split:
        """Divide the rows (n, p) of each class into at most so many parts of at least 20 rows."""
        number = np.zeros(len(rows), dtype=np.int64)
        owner: list[int] = []
        for c in range(k):
            members = np.flatnonzero(codes == c)
            wanted = min(parts, max(1, len(members) // LEAST))
            own: Codes = np.zeros(len(members), dtype=np.int64)
            if wanted > 1:
                own = np.unique(k_means(rows[members], wanted, ROUNDS, seed=c), return_inverse=True)[1]
            number[members] = own + len(owner)
            owner += [c] * (int(own.max(initial=0)) + 1)
        stats = GaussianStats.summarize(rows, number, len(owner), weight, FullScatter)
        held = np.maximum(stats.weight, 0.5)
        classes = np.asarray(owner)
        total = np.bincount(classes, weights=held, minlength=k)
        return cls(WishartClasses(stats), classes, np.log(held / total[classes]), k)

    def path(self, rows: Array) -> Iterator[tuple[float, float, Array]]:
        """Yield γ, a and log densities (n, k) of new rows at every setting."""
        for sphere, strength, found in self.member.new_rows_path(rows, STRENGTHS, SPHERES):
            yield sphere, strength, sum_within(found + self.log_share, self.owner)

    def density(self, strength: float, sphere: float) -> SubclassDensity:
        """Return the densities of the classes at one setting of the prior."""
        return SubclassDensity(self.member.density(strength, sphere), self.owner, self.log_share, self.k)


def deal_in_turn(sample: Sample) -> Codes:
    """Return the fold (n,) of each row, those of a class in turn, or of whole groups."""
    return (cumcount(sample.codes) + sample.codes) % FOLDS if sample.place is None else sample.place


def choose_split(
    rows: Array, codes: Codes, weight: Array, k: int, judge: HoldoutScorer, place: Codes
) -> tuple[int, float, float, Array]:
    """Return the number of parts, a, γ and the left-out log densities (n, k) of least loss, by five folds.

    Where rows are many, one fold tells how many parts.
    """
    largest = int(np.bincount(codes, minlength=k).max()) // LEAST
    numbers = [parts for parts in PART_COUNTS if parts <= max(largest, PART_COUNTS[0])]

    @cache
    def without(fold: int, parts: int) -> Split:
        kept = place != fold
        return Split.of(rows[kept], codes[kept], weight[kept], k, parts)

    def tried(parts: int, folds: Sequence[int]) -> Iterator[tuple[float, float, float]]:
        """Yield the loss of some rows of these folds at every γ and a."""
        own = np.flatnonzero(np.isin(place, folds))
        few, some = judge[own].thinned()
        judged = own[some]
        paths = [without(v, parts).path(rows[judged[place[judged] == v]]) for v in folds]
        for each in zip(*paths, strict=True):
            scores = np.empty((len(judged), k))
            for v, (_, _, found) in zip(folds, each, strict=True):
                scores[place[judged] == v] = found
            yield few.temperature(scores)[0], each[0][0], each[0][1]

    if len(rows) >= MANY and len(numbers) > 1:
        numbers = [min(numbers, key=lambda parts: min(loss for loss, _, _ in tried(parts, [0])))]
    found = ((loss, n, sphere, a) for n in numbers for loss, sphere, a in tried(n, range(FOLDS)))
    _, parts, sphere, strength = min(found, key=lambda own: own[0])

    def of_fold(fold: int, own: Codes) -> Array:
        return without(fold, parts).density(strength, sphere).log_density(rows[own])

    return parts, strength, sphere, by_fold(place, k, of_fold)


@dataclass(frozen=True)
class SubclassMember(Member):
    """Gaussians of the parts of each class, in normal scores of the numbers; `used` are their columns of the block."""

    kinds: ClassVar[tuple[str, ...]] = ("gaussians of parts",)
    statistic: ClassVar[type[Part]] = GaussianPart
    seconds: ClassVar[float] = 1.0
    widest: ClassVar[float] = MOST_NUMBERS
    needs_rows: ClassVar[bool] = True
    left_out_error: ClassVar[float] = np.inf  # parts are found with the row
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"parts": int, "strength": float, "sphere": float}

    columns_read: FrozenColumns
    used: Codes
    density: SubclassDensity
    parts: int
    strength: float
    sphere: float
    name: str = "gaussians of parts, scores"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield the best setting by five folds; none for few rows or numbers.

        Missing cells are filled by what the Gaussians of all rows expect.
        """
        numbers = cls._numbers(known)
        if not len(numbers):
            return
        cells = _filled(known, numbers, sample)
        parts, strength, sphere, scores = choose_split(
            cells, sample.codes, sample.weight, known.k, judge, deal_in_turn(sample)
        )
        member = cls._of(known, sample, cells, parts, strength, sphere)
        yield Candidate((member,), scores, judge, again=_Again(known, member).scores)

    @classmethod
    def _numbers(cls, known: TrainingStats) -> Codes:
        """Return which columns of normal scores are modelled: none for few rows or numbers, or very many."""
        columns, none = known.columns, np.zeros(0, dtype=np.int64)
        numbers = np.flatnonzero(columns.used.get(SCORES, none) < len(columns.scores))
        few = float(known.weight.sum()) < LEAST_ROWS or len(numbers) < 2
        return none if few or len(numbers) > MOST_NUMBERS or SCORES in columns.basis else numbers

    @classmethod
    def _of(
        cls, known: TrainingStats, sample: Sample, cells: Array, parts: int, strength: float, sphere: float
    ) -> Self:
        density = Split.of(cells, sample.codes, sample.weight, known.k, parts).density(strength, sphere)
        return cls(known.columns, cls._numbers(known), density, parts, strength, sphere)

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        numbers = cls._numbers(known)
        if not len(numbers):
            raise ValueError("parts of classes of a model without any")
        cells, parts = _filled(known, numbers, sample), int(setting["parts"])
        member = cls._of(known, sample, cells, parts, setting["strength"], setting["sphere"])
        again = _Again(known, member)
        return Chosen(member, partial(again.left_out, sample), again.scores)

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether so many parts are tried, a > 0, ∞ included, and 0 ≤ γ ≤ 1."""
        return setting["parts"] in PART_COUNTS and setting["strength"] > 0.0 and 0.0 <= setting["sphere"] <= 1.0

    def cells(self, reading: BinnedRows) -> Array:
        """Return the rows as the density reads them."""
        return reading.gaussian(SCORES)[:, self.used]

    def scores(self, reading: BinnedRows) -> Array:
        return self.density.log_density(self.cells(reading))

    def left_out(self, sample: Sample) -> Array:
        """Return log densities of rows the parts were not made of, as only those that judged the choice are."""
        return self.scores(sample.rows)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        cells = inputs.cells(SCORES)
        parts = inputs.normal(self.density.parts, [cells[int(j)] for j in self.used])
        yield Mixture(parts, tuple(int(c) for c in self.density.owner), np.asarray(self.density.log_share)), weight

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values of the marginal densities."""
        found = explain_block(self.density, self.cells(reading), orders, errors)
        return gathered(found, self.columns_read.owners[self.columns_read.used[SCORES]][self.used], reading)


def _filled(known: TrainingStats, numbers: Codes, sample: Sample) -> Array:
    """Return normal scores of the numbers, missing ones as the Gaussians of all rows expect them."""
    cells = sample.rows.gaussian(SCORES)[:, numbers]
    if np.isnan(cells).any():
        whole = WishartClasses(known.part(GaussianPart).completed(SCORES))
        cells = fill_blindly(cells, whole.restricted(numbers).stats)
    return cells


class _Again:
    """How rows are scored once more by parts found on other folds, which are found again when first asked for."""

    def __init__(self, known: TrainingStats, member: SubclassMember) -> None:
        self.known, self.member = known, member
        self._folds: list[SubclassDensity] = []

    def left_out(self, sample: Sample) -> Array:
        """Return log densities (n, k) of the rows, as they were judged."""
        return self._scores(sample, deal_in_turn(sample), _filled(self.known, self.member.used, sample))

    def scores(self, rows: SomeRows, hidden: Hidden) -> Array:
        """Return log densities (n, k) of some rows, some columns hidden."""
        place = deal_in_turn(rows.whole)[rows.index]
        cells = rows.sample.rows.gaussian_without(SCORES, hidden)[:, self.member.used]
        return self._scores(rows.whole, place, cells)

    def _scores(self, sample: Sample, place: Codes, cells: Array) -> Array:
        found = self._found(sample)
        return by_fold(place, self.known.k, lambda fold, own: found[fold].log_density(cells[own]))

    def _found(self, sample: Sample) -> list[SubclassDensity]:
        if not self._folds:
            own, k, place = self.member, self.known.k, deal_in_turn(sample)
            cells = _filled(self.known, own.used, sample)
            for v in range(FOLDS):
                kept = place != v
                split = Split.of(cells[kept], sample.codes[kept], sample.weight[kept], k, own.parts)
                self._folds.append(split.density(own.strength, own.sphere))
        return self._folds
