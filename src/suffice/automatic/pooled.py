"""The fitted value of the automatic classifier: statistics of its members, their pool and a joint density."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self, cast

from .._arrays import Array, Codes, log_of, np
from .._derived import has_made, shared, shared_with
from ..densities import Product, Rows
from ..disclosure import Given, MinCount, release_categories
from ..errors import DataError, either, quoted
from ..estimate import Block, Dirichlet
from ..estimate.families import GaussianFamily, text_positions
from ..fitted import Fitted
from ..notes import Note
from ..stats import ByClass, CategoricalStats, PatternStats, Reservoir, Statistic
from ..stats.by_class import Batch
from ..stats.reservoir import NAMELESS
from ..stats.statistic import AuxArrays
from .by_columns import PoolByColumns, PoolShown
from .choice import Choice, KeptChoice
from .columns import BinnedRows
from .doubt import Doubt
from .forest_fitted import ForestJoint
from .held import HeldFitted, MemberFamily, held_by
from .joint import MOST_UNLABELLED, ShrunkGaussianFamily, joined_block, joint_note
from .joint_choice import chosen_note, forest_beside, gain_of_forest, may_be_forest
from .judge import HoldoutScorer
from .limits import rows_boosted, rows_judged
from .pool import StackedEnsemble, contributions, exchange_priors
from .release import check_width, diagonal_of, released_members
from .sample import Sample
from .statistics import MemberRows, MemberStats
from .train import (
    check_judges,
    check_memory,
    few_to_judge,
    joint_by_rows,
    level_counts,
    rows_of_sample,
    table_rows,
    train,
)

SAMPLED = "learned the members from the rows kept, not from all"


@dataclass(frozen=True, eq=False)
class PooledFitted(HeldFitted):
    """What was learned by members that are pooled; `choice` of them stands where there are no rows to choose by."""

    choice: Choice | None = None
    by_forest: bool | None = None  # whether the joint model is a forest; None where the rows are asked

    # --- statistics --------------------------------------------------------------------------------------------------

    keeps_unlabelled = True
    chosen_by_sample = True  # settings and weights: the rows judge these too mildly

    def unlabelled_of(self, batch: Batch, keep_rows: int = MOST_UNLABELLED) -> Reservoir | None:
        """Return the rows of a batch without a label that are kept: 2,000 of them, if nothing else is said."""
        none = np.zeros(len(batch.codes), dtype=np.int64)
        found = Reservoir.summarize(batch.rows[:-1], none, NAMELESS, batch.weight, keep_rows)
        return found if len(found.codes) else None

    def summarize(self, batch: Batch, keep_rows: int | None = None) -> ByClass:
        """Return the statistics of rows, those without a label kept beside them."""
        if batch.is_labelled:
            return super().summarize(batch, keep_rows)
        known, unknown = batch.split()
        unlabelled = self.unlabelled_of(unknown, max(MOST_UNLABELLED, keep_rows or 0))
        return replace(super().summarize(known, keep_rows), unlabelled=unlabelled)

    def check_memory(self, held: MemberRows | MemberStats, statistics: ByClass) -> None:
        """Raise DataError if the members or the choice between them do not fit into memory."""
        check_memory(held, statistics)

    @property
    def most_read(self) -> int:
        """By how many rows, at most, columns are read, and no more of few judge."""
        return min(self.settings.keep_rows, rows_judged(len(self.schema)))

    @shared
    def judges(self) -> Reservoir | None:
        """The rows kept by which members are judged: of many a sample, those of the smallest hashes."""
        sample = self.statistics.sample
        return None if sample is None else sample.bounded(rows_judged(len(self.schema), len(sample.codes)))

    @property
    def rows_learned(self) -> Reservoir | None:
        """The rows kept that trees are boosted on."""
        sample, k = self.statistics.sample, len(self.statistics.classes)
        return None if sample is None else sample.bounded(rows_boosted(len(self.schema), k))

    @property
    def _chosen_before(self) -> Choice:
        if self.choice is None:
            raise DataError("This model holds no rows to choose its members by, and no choice. Next: fit it again.")
        return self.choice

    def train(self) -> None:
        """Choose the members and keep them, as after an edit the first question does.

        The joint model is made when it is first asked for.
        """
        self.memoize(pool_of, whatever_priors=True)

    @property
    def pool(self) -> StackedEnsemble:
        """The members and their stack."""
        return self.memoize(pool_of, whatever_priors=True)

    # --- what rows chose, kept in a file ------------------------------------------------------------------------------

    @property
    def chosen_by_rows(self) -> AuxArrays | None:  # type: ignore[override]
        """The choice of members and of the joint model where it is made: after an edit, once it is asked for."""
        if self.holds_no_rows or (self._kept is None and not has_made(self, pool_of)):
            return None
        if self.reservoir.group is not None:  # models of folds would have to be kept as well
            return None
        found, gain = self._joint_gaussian, self._gain_of_forest
        gaussian = None if found is None else found[0]
        with contextlib.suppress(ValueError):  # what cannot be written is chosen anew, and saved all the same
            return KeptChoice.of(self.pool, self.statistics, gaussian, gain).arrays()
        return None

    @property
    def _kept(self) -> KeptChoice | None:
        """The choice that a file recalls, None where there is none that can be used."""
        return shared_with(self).get(KeptChoice)

    def saved_choices(self) -> dict[str, object]:
        """Return the choice that stands where there are no rows."""
        return {"choice": self._chosen_before.plain()} if self.holds_no_rows else {}

    def with_choices(self, saved: Mapping[str, object], by_rows: AuxArrays | None = None) -> Self:
        """Return the value with what `saved_choices` returned, and `chosen_by_rows`; ValueError if it cannot be."""
        if set(saved) != ({"choice"} if self.holds_no_rows else set()):
            raise ValueError("the choice of members")
        if not self.holds_no_rows:
            if by_rows is not None:
                with contextlib.suppress(Exception):  # whatever is wrong with it, the rows know better
                    shared_with(self)[KeptChoice] = KeptChoice.from_arrays(*by_rows)
            return self
        plain = cast("dict[str, Any]", saved["choice"])
        found = replace(self, choice=Choice.of_plain(plain))
        found.memoize(pool_of, whatever_priors=True)  # whose members must bind to the statistics
        return found

    # --- the joint model beside the pool -----------------------------------------------------------------------------

    @shared
    def _joint_parts(self) -> tuple[tuple[Block, ...], tuple[Statistic, ...], tuple[Note, ...]]:
        """The blocks of the joint model, their statistics, and what was chosen for them."""
        statistics, blocks, kinds, notes = self.statistics, list[Block](), list[Statistic](), list[Note]()
        joined = self._unlabelled_posterior
        for number, (block, stats) in enumerate(zip(self.blocks[:-1], statistics.blocks, strict=False)):
            found = self._joint_gaussian if isinstance(block.family, GaussianFamily) else None
            if found is not None:
                notes.append(joint_note(found[0]))
                block, stats = Block(found[0], block.positions), found[1]
            if joined is not None and statistics.unlabelled is not None:
                unit = 1.0 if found is None else self.reservoir.rows_per_weight  # as `joint_by_rows` counts rows
                stats = joined_block(block.family, stats, statistics.unlabelled.rows[number], unit * joined)
            blocks.append(block)
            kinds.append(stats)
        return tuple(blocks), tuple(kinds), tuple(notes)

    @property
    def _unlabelled_posterior(self) -> Array | None:
        """How much rows without a label count in each class (m, k), as the pool expects; None where there are none."""
        unlabelled = self.statistics.unlabelled
        if unlabelled is None or self.holds_no_rows:
            return None
        rows = table_rows(unlabelled.rows)
        posterior = np.exp(self.pool.log_posterior(self.pool.frozen.read(rows.numbers, rows.coded)))
        return np.asarray(posterior * unlabelled.weight[:, None])

    @shared
    def _joint_gaussian(self) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
        """The family of the joint model's numbers and their statistics, None for none."""
        if self.holds_no_rows:
            return self._chosen_before.joint_model(self.frozen_statistics)
        kept = None if self._kept is None else self._kept.choice.joint
        return joint_by_rows(self.judged, self._joint_statistics, kept)

    @property
    def _joint_statistics(self) -> MemberStats:
        """The statistics of which joint Gaussians are made, without those that only members need."""
        held = held_by(self.statistics)
        if isinstance(held, MemberStats) or len(held.codes) > self.most_read:
            return self.frozen_statistics
        return held.united().gaussians()

    @property
    def joint_gaussians(self) -> tuple[Fitted, tuple[Note, ...]]:
        """Gaussians and categories over all columns, and what was chosen for them; they may not be the joint model."""
        blocks, kinds, notes = self._joint_parts
        statistics = replace(self.judged, blocks=kinds)
        return Fitted(self.who, self.schema, blocks, statistics, self.settings, self.priors, None, self.past), notes

    @property
    def gaussians_beside(self) -> Fitted:
        """Gaussians and categories over all columns, under the priors as they are: what is near a forest and short."""
        return self.joint_gaussians[0].with_priors(self.priors)

    @shared
    def _joint_chosen(self) -> tuple[Fitted, tuple[Note, ...]]:
        """The value of the joint model's blocks, and what is to be said of the choice."""
        gain = self._gain_of_forest
        if gain is None:
            trees = self.by_forest and may_be_forest(self)
            return (forest_beside(self, alone=True), ()) if trees else self.joint_gaussians
        if gain > 0.0:
            forest = forest_beside(self)
            return forest, (chosen_note(gain, forest),)
        gaussian, notes = self.joint_gaussians
        return gaussian, (chosen_note(gain, None), *notes)

    @shared
    def _gain_of_forest(self) -> float | None:
        """How much likelier rows left out are under a forest; None where there is none, or which it is was said."""
        if self.by_forest is not None or not may_be_forest(self):
            return None
        known = None if self._kept is None else self._kept.gain
        return gain_of_forest(self, self.joint_gaussians[0]) if known is None else known

    @property
    def _joint_alone(self) -> Fitted:
        return self._joint_chosen[0]

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        density, repairs = self._joint_alone.estimated
        return density, (*self._joint_chosen[1], *repairs)

    def for_fold(self) -> Self:
        """Return the value that learns from some of the rows, with the same settings and kind of joint model."""
        return replace(super().for_fold(), by_forest=isinstance(self._joint_alone, ForestJoint))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was repaired or chosen, of the joint model and of the members."""
        few, names = few_to_judge(self.judged), [self.schema.names[p] for p in self.blocks[-1].positions]
        used = zip(self.pool.members, self.pool.stack.weight, strict=False)
        own = chain.from_iterable(each.member.notes(names) for each, weight in used if weight)
        return (*super().notes, *self.pool.notes, *own, *(() if few is None else (few,)))

    # --- answers -----------------------------------------------------------------------------------------------------

    def log_posterior(self, rows: Rows, priors: object = None, leading: bool = False) -> Array:
        """Return the pooled log posteriors (n, k) in nats, of all classes."""
        log_prior = None
        if priors is not None or self.priors is not None:
            log_prior = self.log_prior if priors is None else self.log_prior_of(priors)
        return self.pool.log_posterior(self._read(rows), log_prior)

    def bare(self, rows: Rows) -> Array:
        """Return the pooled log posteriors (n, k), no floor mixed in."""
        return replace(self.pool, floor=0.0).log_posterior(
            self._read(rows), None if self.priors is None else self.log_prior
        )

    @shared
    def doubt(self) -> Doubt:
        """What tells how sure the pooled probabilities are."""
        return Doubt.of(self)

    def _read(self, rows: Rows) -> BinnedRows:
        return self.pool.frozen.read(rows[-1].numbers, rows[-1].coded)

    def posterior_and_density(self, rows: Rows, priors: object = None) -> tuple[Array, Array]:
        """Return the pooled log posteriors (n, k), and log p(x) (n,) under the joint model."""
        return self.log_posterior(rows, priors), self.log_density(rows)

    def as_joint(self, rows: Rows) -> Rows:
        asked = self.joint_value
        return asked.recoded(rows) if isinstance(asked, ForestJoint) else rows[:-1]

    def log_joint(self, rows: Rows) -> Array:
        """Return log p(k | x) + log p(x), (n, k) in nats: the pooled posterior and the joint model's density."""
        posterior, density = self.posterior_and_density(rows)
        return np.asarray(posterior + density[:, None])

    def check_leaving(self) -> None:
        if self.holds_no_rows:
            raise DataError.released("leave rows out", "ask the model it was made from")

    def left_out(self, rows: Rows, codes: Codes, weight: Array | None) -> Array:
        """Return leave-one-out log posteriors (n, k) of encoded rows that were learned."""
        removed = np.ones(len(codes)) if weight is None else weight
        if (removed > self.statistics.weight[codes] * (1.0 + 1e-9)).any():
            raise DataError("A row weighs more than its class. Next: give rows and weights as they were learned.")
        log_prior = self._priors_without(codes, removed)
        own = removed * (self._chosen_before.unit if self.holds_no_rows else self.reservoir.rows_per_weight)
        return self.pool.leave_out(Sample(self._read(rows), codes, own, own, own, own), log_prior)

    @property
    def left_out_rows(self) -> Array:
        """The leave-one-out log posteriors (m, k) of the rows kept; DataError where they say too little."""
        if self.holds_no_rows:
            raise DataError.without_rows("This model keeps no rows to judge itself by", released=True)
        check_judges(self.judged)
        pool, sample = self.pool, self.reservoir
        log_prior = self._priors_without(sample.codes, sample.row_weight())
        if log_prior is None:
            return pool.left_out_posterior
        return exchange_priors(pool.left_out_posterior, pool.offset, log_prior, pool.floor)

    def by_columns(self, index: Codes, as_new: bool = False) -> PoolByColumns | PoolShown:
        """Return what says of some of the rows kept, each left out, what only some of their cells tell.

        `as_new`: by the members weighed as they are for new rows, and not anew for these columns.
        """
        check_judges(self.judged)
        sample = self.reservoir.part(index)
        log_prior = self._priors_without(sample.codes, sample.row_weight())
        if as_new:
            return PoolShown(self.pool, index, self.blocks[-1].positions, log_prior)
        weight = sample.represented(self.statistics.weight)
        return PoolByColumns(self.pool, index, weight, self.blocks[-1].positions, log_prior)

    @property
    def loss(self) -> float:
        """The mean leave-one-out log-loss on the rows kept, in nats; DataError where they say too little."""
        check_judges(self.judged)
        sample = self.judges
        if self.priors is None or sample is None:
            return self.pool.loss
        lost = -self.left_out_rows[np.arange(len(sample.codes)), sample.codes]
        weight = sample.represented(self.statistics.weight)
        return float(weight @ lost) / float(weight.sum())

    @property
    def loss_error(self) -> float:
        """Its standard error in nats; not a number where a file written before it was known holds no rows to say it."""
        check_judges(self.judged)
        if self.priors is None or self.holds_no_rows:
            return np.nan if self.pool.loss_error is None else self.pool.loss_error
        sample = self.reservoir
        weight, left_out = sample.represented(self.statistics.weight), self.left_out_rows
        judge = HoldoutScorer(sample.codes, left_out, weight, weight / sample.copies)
        lost = -left_out[np.arange(len(sample.codes)), sample.codes]
        return judge.error_of_choice(lost, sample.units.groups)

    def _priors_without(self, codes: Codes, removed: Array) -> Array | None:
        """Return the log class priors that were given (n, k), those that count rows without each row; None for none."""
        if self.priors is None:
            return None
        log_prior = np.tile(self.log_prior, (len(codes), 1))
        if isinstance(self.priors, Dirichlet):
            rest = np.tile(self.statistics.weight + self.priors.strength, (len(codes), 1))
            rest[np.arange(len(codes)), codes] -= removed
            log_prior = log_of(np.maximum(rest, 0.0) / rest.sum(axis=1, keepdims=True))
        return log_prior

    def contributions(self, rows: Rows, orders: int | None, errors: bool) -> tuple[Array, Array | None]:
        """Return how much each column speaks for each class (n, d, k) in nats, and standard errors."""
        read, log_prior = self._read(rows), self.log_prior
        goal = self.pool.log_posterior(read, None if self.priors is None else log_prior)
        found, error = contributions(self.pool, read, goal, log_prior, orders, errors)
        place = np.argsort(self.blocks[-1].positions)
        return found[:, place], np.asarray(error)[:, place] if errors else None

    # --- edits -------------------------------------------------------------------------------------------------------

    def before_merge(self, other: Self) -> tuple[Self, Self]:
        """Return both values, the other's members as rows of its sample where both have frozen their columns apart."""
        own, other = super().before_merge(other)
        choice = self.choice if self.holds_no_rows else None
        if choice is None and other.holds_no_rows:
            choice = other.choice
        return replace(own, choice=choice), other

    # --- letting go --------------------------------------------------------------------------------------------------

    def release_whole(self, limit: MinCount, like: Self | None) -> tuple[Self, list[tuple[Block, Given]]]:
        """Return the released value and what was given up; see `automatic.release`."""
        statistics, given = self.statistics, Given()
        texts = [self.schema.names[p] for p in text_positions(self.blocks)]
        if texts:
            raise DataError(
                f"An automatic classifier of texts ({quoted(texts)}) is not released: what it says of words is made of "
                f"rows. Next: release {either('NaiveBayes', '--model nb')}, whose counts of words can be, or leave "
                "these columns out."
            )
        if self.holds_no_rows:
            raise DataError(
                "An automatic classifier is released from rows, and this one holds none. Next: release the model that "
                "was fitted to them."
            )
        block = statistics.blocks[-1]
        rows = block if isinstance(block, MemberRows) else rows_of_sample(statistics)
        least = MinCount(limit.rows, float((rows.weight / rows.copies).max()))
        check_width(rows)
        if not isinstance(block, MemberRows):
            given.up(SAMPLED)
        weight, k = statistics.weight, len(statistics.classes)
        levels = CategoricalStats.summarize(rows.rows.coded, rows.codes, k, rows.weight)
        levels = release_categories(levels, weight, least, given)
        members = self.blocks[-1].family
        assert isinstance(members, MemberFamily)
        shift = members.numbers  # numbers come first in the block of the members, and levels after them
        for what in list(given.columns):
            given.columns[what] = {j + shift for j in given.columns[what]}
        columns = None if like is None else like.frozen_statistics.columns
        stats, exact = released_members(rows, levels, weight, least, given, columns)
        if like is None:
            pool = train(self.judged, exact, parts=False)
            joint = joint_by_rows(self.judged, exact) if shift else None
            unit = self.reservoir.rows_per_weight
            choice = Choice.of(pool, statistics.classes, None if joint is None else joint[0], unit)
        else:
            assert like.choice is not None
            choice = like.choice
        blocks = tuple(
            diagonal_of(stats, shift, weight) if isinstance(own.family, GaussianFamily) else levels
            for own in self.blocks[:-1]
        )
        found = replace(statistics, blocks=(*blocks, stats), sample=None, heaviest=least.told, unlabelled=None)
        return self.with_statistics(found, choice=choice), [(self.blocks[-1], given)]


def pool_of(value: PooledFitted) -> StackedEnsemble:
    """Return the members and their stack, as they were chosen before or as the rows kept choose them now."""
    statistics, pieces = value.statistics, value.frozen_statistics
    if value.holds_no_rows:
        counts = level_counts(statistics, pieces.columns)
        return value._chosen_before.automatic(pieces, counts, statistics.weight, statistics.classes)
    if value._kept is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with it, the rows know better
            return value._kept.automatic(value.judged, pieces, value.rows_learned)
    settings = value.settings
    return train(
        value.judged, pieces, wanted=settings.members, every=value.rows_learned, time_limit=settings.time_limit
    )
