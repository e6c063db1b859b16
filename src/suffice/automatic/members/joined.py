"""Semi-supervised Gaussian classes: rows without a label count in every class by their posterior (EM).

Nigam, McCallum, Thrun & Mitchell (2000), doi:10.1023/A:1007692713085, who also let such rows count for less than their
weight, as here is tried. A row that judges is scored by EM that never saw its label: rows are dealt into folds, and
each fold is left out of all of it. EM of all other rows would have posteriors in it that the row's label had moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

from ..._arrays import Array, Codes, log_of, log_softmax, np
from ...densities import MultivariateT
from ...errors import count
from ...leave_one_out.wishart import WishartClasses
from ...notes import Kind, Note
from ...stats import FullScatter, GaussianStats
from ...stats.statistic import Fields
from ..columns import FrozenColumns
from ..completion import complete_rows, fill_blindly
from ..folds import FOLDS, by_fold, dealt
from ..judge import HoldoutScorer
from ..member import Candidate, Chosen, Setting, TrainingStats
from ..sample import Sample
from .gaussian import BlockMember

JOINED = "joined gaussian"
STRENGTHS = (30.0, np.inf)
SPHERES = (0.01, 0.1, 0.5)
SHARES = (1.0, 0.0)  # of their weight that unlabelled rows have together, 0: that of the labelled ones, if it is less
STEPS = 8  # of EM, which say as much for classification as its limit
MOST_WORK = 4e9  # multiplications to choose with: beyond, fewer of the unlabelled rows take part
FEWEST = 50  # of them
NEGLIGIBLE = 1e-9  # of a row in a class


@dataclass(frozen=True)
class Rows:
    """Cells (n, p) of labelled and (m, p) of unlabelled rows of `k` classes, with none missing, and their weights."""

    cells: Array
    codes: Codes
    weight: Array
    unlabelled: Array
    count: Array
    k: int

    def without(self, out: Codes) -> Rows:
        """Return the rows less some of the labelled ones, by their numbers."""
        kept = np.delete(np.arange(len(self.codes)), out)
        return Rows(self.cells[kept], self.codes[kept], self.weight[kept], self.unlabelled, self.count, self.k)

    def climb(self, strength: float, sphere: float, share: float) -> WishartClasses:
        """Return the classes after some steps of EM from those that the labelled rows give."""
        known = GaussianStats.summarize(self.cells, self.codes, self.k, self.weight, FullScatter).dense()
        held = float(self.count.sum())
        count = self.count * (share or min(1.0, float(self.weight.sum()) / held))
        found = WishartClasses(known)
        for _ in range(STEPS):
            log_prior = log_of(found.stats.weight)  # a class whose only rows are left out gets none
            posterior = np.exp(log_softmax(found.density(strength, sphere).log_density(self.unlabelled) + log_prior))
            row, codes = np.nonzero(posterior > NEGLIGIBLE)
            part = posterior[row, codes] * count[row]
            added = GaussianStats.summarize(self.unlabelled[row], codes, self.k, part, FullScatter).dense()
            found = WishartClasses(known.merge(added))
        return found


@dataclass(frozen=True)
class SemiSupervisedGaussian(BlockMember):
    """One setting: `strength` a and `sphere` γ, see `leave_one_out.wishart`; `share` is that of unlabelled rows."""

    kinds: ClassVar[tuple[str, ...]] = (JOINED,)
    needs_rows: ClassVar[bool] = True
    left_out_error: ClassVar[float] = np.inf  # posteriors of unlabelled rows are found with the row
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float, "sphere": float, "share": float}

    name: str
    version: str
    columns_read: FrozenColumns
    rows: Rows
    strength: float
    sphere: float
    share: float

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield a setting of every version of the block, chosen in folds; none where there are no such rows."""
        for version in known.columns.kinds:
            rows = rows_of(version, known, sample)
            if rows is not None:
                setting, scores = choose_setting(rows, sample.rows.gaussian(version), dealt(sample), judge)
                yield Candidate((cls(f"{JOINED}, {version}", version, known.columns, rows, *setting),), scores, judge)

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        rows = None
        if detail in known.columns.kinds and known.unlabelled is not None:
            rows = rows_of(detail, known, sample)
        if rows is None:
            raise ValueError("unlabelled rows of a model without any")
        amounts = setting["strength"], setting["sphere"], setting["share"]
        member = cls(f"{kind}, {detail}", detail, known.columns, rows, *amounts)

        def left_out() -> Array:
            return scores_by_folds(rows, sample.rows.gaussian(detail), dealt(sample), amounts)

        return Chosen(member, left_out)

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether a > 0, ∞ included, 0 ≤ γ ≤ 1, and the share is one of those tried."""
        return setting["strength"] > 0.0 and 0.0 <= setting["sphere"] <= 1.0 and setting["share"] in SHARES

    @classmethod
    def spared(cls, known: TrainingStats) -> tuple[Note, ...]:
        """Return what is to be said where the rows would have taken too much."""
        assert known.unlabelled is not None
        what = f"left {count(round(known.unlabelled.rows_read), 'row')} without a label out of the members"
        return (Note(what, "EM over so many columns and classes would take too long", kind=Kind.LEFT_OUT),)

    @cached_property
    def density(self) -> MultivariateT:
        """The predictive density of new rows."""
        return self.rows.climb(self.strength, self.sphere, self.share).density(self.strength, self.sphere)

    def left_out(self, sample: Sample) -> Array:
        """Return log densities of rows that EM had no part of, as only those that judged the choice are."""
        return self.scores(sample.rows)


def choose_setting(
    rows: Rows, cells: Array, place: Codes, judge: HoldoutScorer
) -> tuple[tuple[float, float, float], Array]:
    """Return (a, γ, share) and log densities (n, k) of the rows `cells` (n, p), each by EM without its fold `place`.

    Of the settings that lose no more than the best, but for chance, the one whose densities differ least between the
    classes (Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, section 7.10.1). Chance is a standard
    error, or 1 / (n + 2) nats if that is more: n rows that are all right do not say that the next is (Laplace).
    """
    tried = list[tuple[float, tuple[float, float, float], Array, Array]]()
    for setting in product(STRENGTHS, SPHERES, SHARES):
        scores = scores_by_folds(rows, cells, place, setting)
        _, temperature = judge.temperature(scores)
        tried.append((float(np.ptp(scores, axis=1).mean()), setting, scores, judge.losses(temperature * scores)))
    best = min((lost for *_, lost in tried), key=lambda lost: judge.mean(lost)[0])

    def is_as_good(lost: Array) -> bool:
        more, error = judge.mean(lost - best)
        return more <= max(error, 1.0 / (float(judge.weight.sum()) + 2.0))

    _, setting, scores, _ = min((own for own in tried if is_as_good(own[-1])), key=lambda own: own[0])
    return setting, scores


def scores_by_folds(rows: Rows, cells: Array, place: Codes, setting: tuple[float, float, float]) -> Array:
    """Return log densities (n, k) of the rows `cells` (n, p) at (a, γ, share), each by EM without its fold."""

    def of_fold(fold: int, own: Codes) -> Array:
        return rows.without(own).climb(*setting).density(*setting[:2]).log_density(cells[own])

    return by_fold(place, rows.k, of_fold)


def rows_of(version: str, known: TrainingStats, sample: Sample) -> Rows | None:
    """Return the rows in one version of the block, missing cells regressed on the others under one Gaussian for all.

    Of the unlabelled rows as many as there is time for; None where those are next to none.
    """
    assert known.unlabelled is not None
    width, n = known.columns.width(version), len(sample)
    each = len(STRENGTHS) * len(SPHERES) * len(SHARES) * FOLDS * known.k * width**2
    most = int(min(len(known.unlabelled.weight), MOST_WORK / (each * STEPS)))
    if most < min(FEWEST, len(known.unlabelled.weight)) or not most:
        return None
    labelled, unlabelled = sample.rows.gaussian(version), known.unlabelled.rows[:most].gaussian(version)
    count = known.unlabelled.weight[:most]
    count = count * (known.unlabelled.weight.sum() / count.sum())
    if np.isnan(labelled).any() or np.isnan(unlabelled).any():
        both = np.concatenate([labelled, unlabelled])
        whole = complete_rows(both, np.append(sample.weight, count))
        both = fill_blindly(both, whole)
        labelled, unlabelled = both[:n], both[n:]
    return Rows(labelled, sample.codes, sample.weight, unlabelled, count, known.k)
