"""Rows without a label join a model by EM: each counts in every class by its posterior (semi-supervised learning).

Nigam, McCallum, Thrun & Mitchell (2000), doi:10.1023/A:1007692713085.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from .._arrays import Array, log_softmax, logsumexp, np
from ..densities import Rows
from ..estimate import Block
from ..fitted import Fitted
from ..joint import JointModel
from ..notes import Kind, Note
from ..stats import ByClass, Statistic
from ..stats.batch import Batch, Joined
from ..stats.rows import take_rows
from ..tasks import classify

MAX_STEPS = 1000
NEGLIGIBLE = 1e-13  # posteriors that cannot move an estimate beyond rounding
TOLERANCE = 1e-7  # nats per row: EM stops when a step gains less


def joined_notes(joined: Joined, rows: int) -> list[Note]:
    """Return what there is to say of so many rows that have joined."""
    notes = [Note(f"joined {rows} rows without a label", f"EM took {joined.steps} steps", kind=Kind.JOINED)]
    why = f"the likelihood still rose after {joined.steps} steps"
    early = Note("stopped EM early", why, kind=Kind.STOPPED_EARLY)
    return notes if joined.finished else [*notes, early]


class Expected(Protocol):
    """An E step over all rows: its objective in nats, and the statistics it leaves."""

    @property
    def objective(self) -> float:
        """The log likelihood of all rows, with the prior of the densities."""
        ...

    def joined(self) -> ByClass:
        """Return the statistics of all rows, those without a label in every class by their posterior."""
        ...

    def filled(self) -> ByClass:
        """Return the same with missing cells at what the model expects."""
        ...


class Expect(Protocol):
    """What makes an E step."""

    def __call__(self, model: JointModel, held: Sequence[Array | None]) -> Expected:
        """Return the E step of a model; `held` are squares of weak priors by block, None where no cell is to fill."""
        ...


Estimate = Callable[[ByClass], tuple[JointModel, Sequence[Note]]]


def estimating(fitted: Fitted) -> Estimate:
    """Return what estimates a joint model, by maximum likelihood and with what was chosen, from other statistics."""
    settings = replace(fitted.settings, divisor="mle", kept=fitted.told_of(fitted.blocks[0]).kept)

    def estimate(statistics: ByClass) -> tuple[JointModel, Sequence[Note]]:
        found = replace(fitted, statistics=statistics, settings=settings, chosen=fitted.choices)
        return found.joint, found.estimated[1]

    return estimate


def join_unlabelled(fitted: Fitted, batch: Batch) -> Joined:
    """Return the statistics at which the likelihood of rows in memory no longer rises; see `join`.

    `fitted` is learned from those of them that have a label.
    """
    labelled, plan, estimate = fitted.statistics, fitted.blocks, estimating(fitted)
    known, unknown = batch.split()
    weight = np.ones(len(unknown.codes)) if unknown.weight is None else unknown.weight
    holed = [block.family.misses(part) for block, part in zip(plan, batch.rows, strict=True)]

    def expect(model: JointModel, held: Sequence[Array | None]) -> Expected:
        likelihood, posterior = expect_rows(model, labelled, known, unknown, weight, plan)
        return _Here(likelihood + log_prior(model), posterior, labelled, known, unknown, weight, plan, held, model)

    return join(labelled, float(weight.sum()), plan, holed, estimate, expect)


class _Here(NamedTuple):
    """An E step over rows in memory."""

    objective: float
    posterior: Array  # (u, k)
    labelled: ByClass
    known: Batch
    unknown: Batch
    weight: Array
    plan: Sequence[Block]
    held: Sequence[Array | None]
    model: JointModel

    def joined(self) -> ByClass:
        return self.labelled.merge(summarize_by(self.unknown, self.weight, self.posterior, self.plan))

    def filled(self) -> ByClass:
        parts = fill(self.known, self.unknown, self.weight, self.posterior, self.plan, self.held, self.model)
        total = self.labelled.weight + self.posterior.T @ self.weight
        return with_filled(self.labelled, parts, total, self.held, self.plan)


def join(
    labelled: ByClass,
    weight: float,
    plan: Sequence[Block],
    holed: Sequence[bool],
    estimate: Estimate,
    expect: Expect,
) -> Joined:
    """Return the statistics at which the likelihood of labelled and unlabelled rows together no longer rises.

    The E step takes posteriors of the unlabelled rows, of this `weight`, the M step estimates from the labelled rows'
    statistics, made once, merged with the unlabelled rows' by posterior. The likelihood (under smoothing: times the
    prior that smoothing stands for) never falls; where a repaired or shrunk estimate would lower it, EM stops before. A
    class whose missing cells could only be filled under a weak prior keeps that prior. `holed` marks the blocks in
    which a joint density has cells to fill.
    """
    total = labelled.total + weight
    trace = list[float]()
    model, notes = estimate(labelled)
    held = [
        _held(block, stats, notes, labelled) if is_holed else None
        for block, stats, is_holed in zip(plan, labelled.blocks, holed, strict=True)
    ]
    before: Expected | None = None  # the E step behind the last model but one
    last: Expected | None = None  # and behind the last

    def reached(expected: Expected | None) -> ByClass:
        return labelled if expected is None else expected.joined()

    for step in range(1, MAX_STEPS + 1):
        expected = expect(model, held)
        objective = expected.objective + _log_prior(plan, model, held)
        if trace and objective < trace[-1]:
            if step > 2:
                return Joined(reached(before), step, True, tuple(trace))
            trace.clear()  # few labelled rows, repaired on their own, can be more likely than all rows together
        gain = objective - trace[-1] if trace and np.isfinite(trace[-1]) else np.inf
        trace.append(objective)
        if gain <= TOLERANCE * total:
            return Joined(reached(last), step, True, tuple(trace))
        before, last = last, expected
        model, _ = estimate(expected.filled() if any(holed) else expected.joined())
    return Joined(reached(before), MAX_STEPS, False, tuple(trace))


def _held(block: Block, stats: Statistic, notes: Sequence[Note], labelled: ByClass) -> Array:
    """Return the squares (g, d) that a weak prior adds to each class that EM could not do without one."""
    named = [note.label for note in notes if note.kind is Kind.SECURED]
    flags = [None in named or label in named for label in labelled.classes]
    return np.asarray(block.family.prior_squares(stats, np.array(flags)))


def _log_prior(plan: Sequence[Block], model: JointModel, held: Sequence[Array | None]) -> float:
    """Return the log density of these priors, up to a constant, in nats."""
    total = 0.0
    for block, density, squares in zip(plan, model.density.blocks, held, strict=True):
        if squares is not None and squares.any():
            total += block.family.log_prior_of_squares(density, squares)
    return total


def fill(
    known: Batch,
    unknown: Batch,
    weight: Array,
    posterior: Array,
    plan: Sequence[Block],
    held: Sequence[Array | None],
    model: JointModel,
) -> list[Statistic]:
    """Return statistics by block: one EM step for labels and cells.

    Where a block holds cells to fill those of all rows, missing cells at what the model expects, and else those of the
    unlabelled rows.
    """
    k = len(unknown.classes)
    share = posterior * weight[:, None]
    row, codes = np.nonzero(posterior > NEGLIGIBLE)
    everyone = np.concatenate([known.codes, codes])
    known_weight = np.ones(len(known.codes)) if known.weight is None else known.weight
    counts = np.concatenate([known_weight, share[row, codes]])
    blocks = []
    for i, (block, density) in enumerate(zip(plan, model.density.blocks, strict=True)):
        squares = held[i]
        if squares is not None:
            rows = np.concatenate([known.rows[i], unknown.rows[i][row]])
            blocks.append(block.family.fill(rows, everyone, k, counts, density))
        else:
            blocks.append(block.family.summarize(take_rows(unknown.rows[i], row), codes, k, share[row, codes]))
    return blocks


def with_filled(
    labelled: ByClass, parts: Sequence[Statistic], weight: Array, held: Sequence[Array | None], plan: Sequence[Block]
) -> ByClass:
    """Return the statistics of all rows from what `fill` found; weak priors add their squares."""
    blocks = []
    for block, own, part, squares in zip(plan, labelled.blocks, parts, held, strict=True):
        blocks.append(own.merge(part) if squares is None else block.family.add_squares(part, squares))
    return ByClass(labelled.classes, weight, tuple(blocks), labelled.rows)


def log_prior(model: JointModel) -> float:
    """Return the log density of the priors that smoothing stands for, up to a constant, in nats."""
    return float(sum(density.log_prior() for density in model.density.blocks))


def expect_rows(
    model: JointModel,
    statistics: ByClass,
    known: Batch,
    unknown: Batch,
    weight: Array,
    plan: Sequence[Block],
) -> tuple[float, Array]:
    """Return the log likelihood of rows in nats and the posteriors (u, k) of the unlabelled ones."""
    own = model.log_joint(_recode(known, statistics, plan))[np.arange(len(known.codes)), known.codes]
    objective = float(own.sum() if known.weight is None else known.weight @ own)
    rows = _recode(unknown, statistics, plan)
    scores = model.log_joint(rows)
    objective += float(weight @ np.asarray(logsumexp(scores, axis=1)))
    possible = bool(np.isfinite(scores.max(axis=1)).all())
    posterior = np.exp(log_softmax(scores) if possible else classify.log_posterior(model, rows))
    return objective, posterior


def _recode(batch: Batch, statistics: ByClass, plan: Sequence[Block]) -> Rows:
    triples = zip(plan, statistics.blocks, batch.rows, strict=True)
    return tuple(block.family.recode(part, stats) for block, stats, part in triples)


def summarize_by(unknown: Batch, weight: Array, posterior: Array, plan: Sequence[Block]) -> ByClass:
    """Return the statistics of the unlabelled rows, each in every class by its posterior."""
    k = len(unknown.classes)
    share = posterior * weight[:, None]
    row, codes = np.nonzero(share)
    part = share[row, codes]
    spread = unknown.take(row)
    blocks = [block.family.summarize(x, codes, k, part) for block, x in zip(plan, spread.rows, strict=True)]
    heaviest = float(weight.max(initial=0.0))
    return ByClass(unknown.classes, share.sum(axis=0), tuple(blocks), len(unknown.codes), heaviest=heaviest)
