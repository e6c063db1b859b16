"""Learn from a table in memory: classes, with rows without a label by EM; and mixtures of several components by EM.

Rows without a label count in every class by their posterior.

Nigam, McCallum, Thrun & Mitchell (2000), doi:10.1023/A:1007692713085.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from sklearn.utils import check_random_state

from .._arrays import Array, log_softmax, logsumexp, np
from ..densities import Rows
from ..errors import DataError, MergeError, SettingError, count, either, quoted, setting
from ..estimate import Block, Settings, class_log_prior
from ..estimate.families import TextFamily
from ..estimate.mixture_starts import BIC, Search, fit_mixtures, join_rows
from ..fitted import NOTHING, Fitted
from ..joint import JointModel, log_posterior
from ..notes import Kind, Note
from ..schema import Level
from ..stats import ByClass, MixtureStats, Statistic
from ..stats.by_class import Batch, Joined
from ..stats.rows import take_rows
from ..table import Table
from ..table.labels import label_name

F = TypeVar("F", bound=Fitted)
MAX_STEPS = 1000
NEGLIGIBLE = 1e-13  # posteriors that cannot move an estimate beyond rounding
TOLERANCE = 1e-7  # nats per row: EM stops when a step gains less


def fit(begun: F, table: Table, y: object, sample_weight: object, groups: object = None) -> F:
    """Return what is learned from all rows of a table; `begun` has its schema and blocks, and no statistics."""
    batch = begun.batch(table, range(len(table.schema)), y, sample_weight, "em", groups)
    objects = isinstance(y, np.ndarray) and y.dtype == object
    return learn(begun.with_past(object_labels=objects, target=label_name(y)), batch)


def learn(begun: F, batch: Batch) -> F:
    """Return what is learned from encoded rows; those without a label join by EM, or are kept where a model does so."""
    absent = int((batch.codes < 0).sum())
    labelled = batch if not absent or begun.keeps_unlabelled else batch.split()[0]
    statistics = begun.summarize(labelled)
    check_observed(statistics)
    fitted = begun.with_statistics(statistics)
    if absent and begun.keeps_unlabelled:
        fitted = fitted.with_past(unlabelled=absent)
    elif absent:
        joined = fitted.join(batch) or fitted.with_steps(join_unlabelled(fitted, batch))
        statistics = replace(joined.statistics, sample=statistics.sample)
        fitted = fitted.with_statistics(statistics, chosen=fitted.choices).with_past(
            joined=True, steps=joined.steps, unlabelled=absent, notes=tuple(joined_notes(joined, absent))
        )
    fitted.train()  # what cannot be estimated is said here
    return fitted


def check_observed(statistics: ByClass) -> None:
    """Raise DataError where no column has a value in any row."""
    if not any(stats.column_weight().any() for stats in statistics.blocks):
        raise DataError(
            f"No column has a value in any of the {statistics.rows} rows. Next: give rows with values, or leave these "
            f"to {either('partial_fit', '`suffice update`')}, which only counts them by class."
        )


def joined_notes(joined: Joined, rows: int) -> list[Note]:
    """Return what there is to say of so many rows that have joined."""
    steps = count(joined.steps, "step")
    notes = [Note(f"joined {count(rows, 'row')} without a label", f"EM took {steps}", kind=Kind.JOINED)]
    early = Note("stopped EM early", f"the likelihood still rose after {steps}", kind=Kind.STOPPED_EARLY)
    return notes if joined.finished else [*notes, early]


def join_unlabelled(fitted: Fitted, batch: Batch) -> Joined:
    """Return the statistics at which the likelihood of labelled and unlabelled rows together no longer rises.

    `fitted` is learned from those rows of the batch that have a label.
    The E step takes posteriors of the unlabelled rows, the M step estimates, by maximum likelihood and with what was
    chosen, from the labelled rows' statistics, made once, merged with the unlabelled rows' by posterior. The likelihood
    (under smoothing: times the prior that smoothing stands for) never falls; where a repaired or shrunk estimate would
    lower it, EM stops before. A class whose missing cells could only be filled under a weak prior keeps that prior.
    """
    settings = replace(fitted.settings, divisor="mle", kept=fitted.block_settings(fitted.blocks[0]).kept)

    def estimated(statistics: ByClass) -> Fitted:
        return replace(fitted, statistics=statistics, settings=settings, chosen=fitted.choices)

    first = estimated(with_words(fitted, batch))
    rows, model = _Rows.of(first, batch, first.estimated[1]), first.joint
    trace = list[float]()
    before: Array | None = None  # the posterior behind the last model but one
    last: Array | None = None  # and behind the last
    for step in range(1, MAX_STEPS + 1):
        objective, posterior = rows.expect(model)
        if trace and objective < trace[-1]:
            if step > 2:
                return Joined(rows.joined(before), step, True, tuple(trace))
            trace.clear()  # few labelled rows, repaired on their own, can be more likely than all rows together
        gain = objective - trace[-1] if trace and np.isfinite(trace[-1]) else np.inf
        trace.append(objective)
        if gain <= TOLERANCE * (rows.labelled.total + float(rows.weight.sum())):
            return Joined(rows.joined(last), step, True, tuple(trace))
        before, last = last, posterior
        model = estimated(rows.filled(posterior, model)).joint
    return Joined(rows.joined(before), MAX_STEPS, False, tuple(trace))


def with_words(fitted: Fitted, batch: Batch) -> ByClass:
    """Return the statistics of the labelled rows of a batch, in which all its words are met, those of other rows at 0.

    So the columns of a text are those of one vocabulary at every step.
    """
    blocks, none = [], np.zeros(len(batch.codes))
    for block, stats, rows in zip(fitted.blocks, fitted.statistics.blocks, batch.rows, strict=True):
        if isinstance(block.family, TextFamily):
            words = block.family.summarize(rows, np.zeros_like(batch.codes), len(batch.classes), none)
            stats = stats.merge(words)
        blocks.append(stats)
    return replace(fitted.statistics, blocks=tuple(blocks))


@dataclass(frozen=True)
class _Rows:
    """All rows: the `known` have a label and are counted in `labelled`, the `unknown` have a `weight` (u,).

    `held` are the squares (g, d) that a weak prior adds to a block, None where no cell is to be filled.
    """

    plan: Sequence[Block]
    labelled: ByClass
    known: Batch
    unknown: Batch
    weight: Array
    held: Sequence[Array | None]

    @classmethod
    def of(cls, fitted: Fitted, batch: Batch, notes: Sequence[Note]) -> _Rows:
        """Return the rows of a batch; by these `notes` classes get weak priors that EM could not do without one."""
        plan, labelled = fitted.blocks, fitted.statistics
        known, unknown = batch.split()
        weight = np.ones(len(unknown.codes)) if unknown.weight is None else unknown.weight
        named = [note.label for note in notes if note.kind is Kind.SECURED]
        flags = np.array([None in named or label in named for label in labelled.classes])
        held = [
            np.asarray(block.family.prior_squares(stats, flags)) if block.family.misses(part) else None
            for block, stats, part in zip(plan, labelled.blocks, batch.rows, strict=True)
        ]
        return cls(plan, labelled, known, unknown, weight, held)

    def expect(self, model: JointModel) -> tuple[float, Array]:
        """Return the log likelihood of all rows with the priors, in nats, and the posteriors (u, k) of the unknown."""
        own = model.log_joint(self._recoded(self.known))[np.arange(len(self.known.codes)), self.known.codes]
        likelihood = float(own.sum() if self.known.weight is None else self.known.weight @ own)
        rows = self._recoded(self.unknown)
        scores = model.log_joint(rows)
        likelihood += float(self.weight @ np.asarray(logsumexp(scores, axis=1)))
        possible = bool(np.isfinite(scores.max(axis=1)).all())
        posterior = np.exp(log_softmax(scores) if possible else log_posterior(model, rows))
        objective, weak = likelihood + float(sum(density.log_prior() for density in model.density.blocks)), 0.0
        for block, density, squares in zip(self.plan, model.density.blocks, self.held, strict=True):
            if squares is not None and squares.any():
                weak += block.family.log_prior_of_squares(density, squares)
        return objective + weak, posterior

    def _recoded(self, batch: Batch) -> Rows:
        triples = zip(self.plan, self.labelled.blocks, batch.rows, strict=True)
        return tuple(block.family.recode(part, stats) for block, stats, part in triples)

    def joined(self, posterior: Array | None) -> ByClass:
        """Return the statistics of all rows, the unknown in every class by a posterior; of the known alone for None."""
        if posterior is None:
            return self.labelled
        unknown, share = self.unknown, posterior * self.weight[:, None]
        row, codes = np.nonzero(share)
        rows, part, k = unknown.take(row).rows, share[row, codes], len(unknown.classes)
        blocks = tuple(block.family.summarize(x, codes, k, part) for block, x in zip(self.plan, rows, strict=True))
        heaviest = float(self.weight.max(initial=0.0))
        found = ByClass(unknown.classes, share.sum(axis=0), blocks, len(unknown.codes), heaviest=heaviest)
        return self.labelled.merge(found)

    def filled(self, posterior: Array, model: JointModel) -> ByClass:
        """Return the same with missing cells of blocks `held` at what the model expects, and squares of weak priors."""
        if all(squares is None for squares in self.held):
            return self.joined(posterior)
        known, k = self.known, len(self.unknown.classes)
        share = posterior * self.weight[:, None]
        row, codes = np.nonzero(posterior > NEGLIGIBLE)
        everyone = np.concatenate([known.codes, codes])
        known_weight = np.ones(len(known.codes)) if known.weight is None else known.weight
        counts = np.concatenate([known_weight, share[row, codes]])
        blocks = []
        for i, (block, density, squares) in enumerate(zip(self.plan, model.density.blocks, self.held, strict=True)):
            if squares is not None:
                rows = np.concatenate([known.rows[i], self.unknown.rows[i][row]])
                part = block.family.fill(rows, everyone, k, counts, density)
                blocks.append(block.family.add_squares(part, squares))
            else:
                part = block.family.summarize(take_rows(self.unknown.rows[i], row), codes, k, share[row, codes])
                blocks.append(self.labelled.blocks[i].merge(part))
        weight = self.labelled.weight + posterior.T @ self.weight
        return ByClass(self.labelled.classes, weight, tuple(blocks), self.labelled.rows)


# ── Learn mixtures of several components by EM ────────────────────────────────────────────────────────────────────────


HELD_OUT_STEPS, HELD_OUT_TOLERANCE = 100, 1e-3  # of EM, where any model serves that has not seen a row


@dataclass(frozen=True, slots=True)
class Components:
    """How components are looked for: a number, "bic", or one of these by label; see `MixtureDiscriminant`."""

    wanted: object
    random_state: object = None
    most: int = 5
    starts: int = 3
    steps: int = 500
    tolerance: float = 1e-5

    @property
    def are_single(self) -> bool:
        """Whether every class is one component."""
        each = self.wanted.values() if isinstance(self.wanted, Mapping) else [self.wanted]
        return all(number == 1 for number in each)

    def search(self, classes: Sequence[Level]) -> Search:
        """Return how to look for components, for these classes."""
        wanted = self.wanted
        if isinstance(wanted, Mapping):
            unnamed = [label for label in classes if label not in wanted]
            if unnamed:
                raise SettingError(
                    f"{setting('n_components')} says nothing of {quoted(unnamed)}. Next: name every class."
                )
            each = [wanted[label] for label in classes]
        else:
            each = [wanted] * len(classes)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))  # of every class, whatever it is called
        numbers = [n if n == BIC else int(n) for n in each]
        return Search(numbers, seed, self.most, self.starts, self.steps, self.tolerance)


@dataclass(frozen=True, eq=False)
class MixtureFitted(Fitted):
    """What was learned as mixtures; with one component in every class it is edited and asked as any other value."""

    components: Components = Components(1)

    def _block_settings(self, classes: Sequence[Level]) -> Settings:
        return replace(self.settings, classes=tuple(classes), columns=self.schema.names)

    @property
    def _family(self) -> Any:
        """The `estimate.mixture.MixtureFamily` of the one block."""
        return self.blocks[0].family

    @property
    def _stats(self) -> MixtureStats:
        return self.statistics.block(0, MixtureStats)

    def summarize_block(self, block: Block, rows: Array, batch: Batch) -> MixtureStats:
        """Return the statistics of the components, found by EM."""
        search, told = self.components.search(batch.classes), self._block_settings(batch.classes)
        return fit_mixtures(rows, batch.codes, len(batch.classes), batch.weight, self._family.under(told), search)

    def join(self, batch: Batch) -> Joined | None:
        """Return the statistics of all rows, those without a label in every component by their posterior."""
        stats, classes = self._stats, self.statistics.classes
        if stats.is_single:
            return None
        search, told = self.components.search(classes), self._block_settings(classes)
        priors = self.class_priors(self.priors)
        prior = None if priors is None else class_log_prior(self.statistics.weight, priors)
        found = join_rows(batch.rows[0], batch.codes, batch.weight, stats, self._family.under(told), search, prior)
        statistics = ByClass(classes, found.class_weight, (found,), len(batch.codes), heaviest=batch.heaviest)
        return Joined(statistics, int(found.steps.max()), not found.unfinished.any())

    def with_steps(self, joined: Joined) -> Joined:
        """Return what joined, with its steps in the statistics."""
        stats = joined.statistics.block(0, MixtureStats)
        counted = replace(stats, steps=np.full(stats.k, joined.steps))
        return joined._replace(statistics=replace(joined.statistics, blocks=(counted,)))

    def for_fold(self) -> Self:
        """Return the value with as many components as were found, from one start with a fixed seed, nearly climbed."""
        wanted: object = 1
        if not self.components.are_single:
            number = np.bincount(self._stats.owner, minlength=len(self.statistics.classes))
            wanted = dict(zip(self.statistics.classes, number.tolist(), strict=True))
        own = self.components
        steps, tolerance = min(own.steps, HELD_OUT_STEPS), max(own.tolerance, HELD_OUT_TOLERANCE)
        few = replace(own, wanted=wanted, starts=1, random_state=0, steps=steps, tolerance=tolerance)
        return replace(self, statistics=NOTHING, priors=None, chosen=None, components=few)

    def before_merge(self, other: Self) -> tuple[Self, Self]:
        """Return both; MergeError unless every class of both is one component."""
        if not (self.components.are_single and other.components.are_single):
            raise MergeError.mixture()
        return self, other

    @property
    def by_folds(self) -> bool:
        """Whether no formula takes a row out: of several components in a class none does."""
        return super().by_folds or not self.components.are_single

    def _leaving(self) -> tuple[tuple[Block, ...], tuple[Statistic, ...]]:
        if not self.components.are_single:
            raise SettingError(
                "A mixture of several components has no closed form for leave-one-out: EM would run again for "
                "every row. Next: "
                + either(
                    "use sklearn.model_selection.cross_val_predict(model, X, y, method='predict_log_proba'), or "
                    "n_components=1.",
                    "judge it by `suffice compare`, or fit with --components 1.",
                )
            )
        block = Block(self._family.inner, self.blocks[0].positions)
        return (block,), (self._stats.inner,)

    @property
    def needs_all_rows(self) -> bool:  # type: ignore[override]
        """Whether a class may have several components, which EM finds."""
        return not self.components.are_single
