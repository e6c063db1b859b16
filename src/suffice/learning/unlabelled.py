"""Rows without a label join a model by EM: each counts in every class by its posterior (semi-supervised learning).

Nigam, McCallum, Thrun & Mitchell (2000), doi:10.1023/A:1007692713085.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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


def join_unlabelled(fitted: Fitted, batch: Batch) -> Joined:
    """Return the statistics at which the likelihood of labelled and unlabelled rows together no longer rises.

    `fitted` is learned from those rows of the batch that have a label.
    The E step takes posteriors of the unlabelled rows, the M step estimates, by maximum likelihood and with what was
    chosen, from the labelled rows' statistics, made once, merged with the unlabelled rows' by posterior. The likelihood
    (under smoothing: times the prior that smoothing stands for) never falls; where a repaired or shrunk estimate would
    lower it, EM stops before. A class whose missing cells could only be filled under a weak prior keeps that prior.
    """
    labelled, plan, settings = fitted.statistics, fitted.blocks, replace(fitted.settings, divisor="mle")

    def estimated(statistics: ByClass) -> Fitted:
        return replace(fitted, statistics=statistics, settings=settings, chosen=fitted.choices)

    known, unknown = batch.split()
    weight = np.ones(len(unknown.codes)) if unknown.weight is None else unknown.weight
    first = estimated(labelled)
    model, notes = first.joint, first.estimated[1]
    held = [
        _held(block, stats, notes, labelled) if block.family.misses(part) else None
        for block, stats, part in zip(plan, labelled.blocks, batch.rows, strict=True)
    ]

    def joined(posterior: Array | None) -> ByClass:
        if posterior is None:
            return labelled
        return labelled.merge(_summarize_by(unknown, weight, posterior, plan))

    trace = list[float]()
    before: Array | None = None  # the posterior behind the last model but one
    last: Array | None = None  # and behind the last
    for step in range(1, MAX_STEPS + 1):
        likelihood, posterior = expect_rows(model, labelled, known, unknown, weight, plan)
        objective = likelihood + float(sum(density.log_prior() for density in model.density.blocks))
        objective += _log_prior(plan, model, held)
        if trace and objective < trace[-1]:
            if step > 2:
                return Joined(joined(before), step, True, tuple(trace))
            trace.clear()  # few labelled rows, repaired on their own, can be more likely than all rows together
        gain = objective - trace[-1] if trace and np.isfinite(trace[-1]) else np.inf
        trace.append(objective)
        if gain <= TOLERANCE * (labelled.total + float(weight.sum())):
            return Joined(joined(last), step, True, tuple(trace))
        before, last = last, posterior
        if any(squares is not None for squares in held):
            statistics = _filled(labelled, known, unknown, weight, posterior, plan, held, model)
        else:
            statistics = joined(posterior)
        model = estimated(statistics).joint
    return Joined(joined(before), MAX_STEPS, False, tuple(trace))


def _held(block: Block, stats: Statistic, notes: Sequence[Note], labelled: ByClass) -> Array:
    """Return the squares (g, d) that a weak prior adds to each class that EM could not do without one."""
    named = [note.label for note in notes if note.kind is Kind.SECURED]
    flags = [None in named or label in named for label in labelled.classes]
    return np.asarray(block.family.prior_squares(stats, np.array(flags)))


def _log_prior(plan: Sequence[Block], model: JointModel, held: Sequence[Array | None]) -> float:
    """Return the log density of the weak priors, up to a constant, in nats."""
    total = 0.0
    for block, density, squares in zip(plan, model.density.blocks, held, strict=True):
        if squares is not None and squares.any():
            total += block.family.log_prior_of_squares(density, squares)
    return total


def _filled(
    labelled: ByClass,
    known: Batch,
    unknown: Batch,
    weight: Array,
    posterior: Array,
    plan: Sequence[Block],
    held: Sequence[Array | None],
    model: JointModel,
) -> ByClass:
    """Return the statistics of all rows after one EM step for labels and cells; weak priors add their squares.

    Missing cells of the blocks that are `held` are at what the model expects.
    """
    k = len(unknown.classes)
    share = posterior * weight[:, None]
    row, codes = np.nonzero(posterior > NEGLIGIBLE)
    everyone = np.concatenate([known.codes, codes])
    known_weight = np.ones(len(known.codes)) if known.weight is None else known.weight
    counts = np.concatenate([known_weight, share[row, codes]])
    blocks = []
    for i, (block, own, density) in enumerate(zip(plan, labelled.blocks, model.density.blocks, strict=True)):
        squares = held[i]
        if squares is not None:
            rows = np.concatenate([known.rows[i], unknown.rows[i][row]])
            part = block.family.fill(rows, everyone, k, counts, density)
            blocks.append(block.family.add_squares(part, squares))
        else:
            part = block.family.summarize(take_rows(unknown.rows[i], row), codes, k, share[row, codes])
            blocks.append(own.merge(part))
    return ByClass(labelled.classes, labelled.weight + posterior.T @ weight, tuple(blocks), labelled.rows)


def expect_rows(
    model: JointModel, statistics: ByClass, known: Batch, unknown: Batch, weight: Array, plan: Sequence[Block]
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


def _summarize_by(unknown: Batch, weight: Array, posterior: Array, plan: Sequence[Block]) -> ByClass:
    """Return the statistics of the unlabelled rows, each in every class by its posterior."""
    k = len(unknown.classes)
    share = posterior * weight[:, None]
    row, codes = np.nonzero(share)
    part = share[row, codes]
    spread = unknown.take(row)
    blocks = [block.family.summarize(x, codes, k, part) for block, x in zip(plan, spread.rows, strict=True)]
    heaviest = float(weight.max(initial=0.0))
    return ByClass(unknown.classes, share.sum(axis=0), tuple(blocks), len(unknown.codes), heaviest=heaviest)
