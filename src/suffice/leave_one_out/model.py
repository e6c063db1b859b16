"""Exact leave-one-out of a whole model.

Statistics lose a row as they gained it, so the answer costs about one scoring pass instead of n refits. Families say
how (`leave_one_out` in `estimate.families`), Gaussians by rank-one downdates; families without a closed form are
estimated again without each row. The class prior loses the row as well, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .. import classify
from .._arrays import Array, Codes, np
from ..densities import Rows
from ..errors import DataError
from ..estimate import Block, Settings
from ..estimate.families import GaussianFamily
from ..estimate.priors import plain_smoothing
from ..stats import ByClass, GaussianStats, PatternStats, Statistic
from .gaussian import gaussian_leave_one_out
from .refit import refit_limit

SLACK = 1e-9  # by which a row may outweigh its class: rounding of long sums


@dataclass(frozen=True, slots=True)
class Learned:
    """A model as it was learned: its blocks, what their estimates are told, its statistics, and its rule for priors.

    `log_prior` turns class weights (k,) into log π (k,) in nats.
    """

    blocks: Sequence[Block]
    settings: Sequence[Settings]
    statistics: ByClass
    log_prior: Callable[[Array], Array]


class Parts(NamedTuple):
    """Log densities of rows without themselves: order and log coefficient (n, k), see `Categorical.limit`."""

    order: Array
    score: Array


def leave_one_out(learned: Learned, rows: Rows, codes: Codes, weight: Array | None = None) -> Array:
    """Return log p(y = k | x) of each row under the model of all other rows, (n, k) in nats.

    `rows` has one entry per block, as its family encoded it; `codes` (n,) are class numbers, `weight` (n,) row weights,
    all of which leaves. A class whose only row leaves has posterior 0 for it: a refit would not know the class. Where
    every class gives a row density zero, the answer is the limit for vanishing smoothing, as in `classify`.
    DataError for a row that cannot be in the statistics, or without which no class is left.
    """
    prior = log_priors(learned, codes, weight)
    parts = log_densities(learned, rows, codes, weight)
    scores = np.where(parts.order > 0, -np.inf, parts.score) + prior
    return classify.normalize(scores, prior, lambda chosen: (parts.order[chosen], parts.score[chosen] + prior[chosen]))


def log_joint(learned: Learned, rows: Rows, codes: Codes, weight: Array | None = None) -> Array:
    """Return log π_k + log p(x | k) of each row under the model of all other rows, (n, k) in nats."""
    parts = log_densities(learned, rows, codes, weight)
    return np.where(parts.order > 0, -np.inf, parts.score) + log_priors(learned, codes, weight)


def log_priors(learned: Learned, codes: Codes, weight: Array | None) -> Array:
    """Return the log class priors without each row (n, k), −∞ for a class whose only row it is.

    Empirical priors become (n_c − w) / (N − w) and n_k / (N − w), given ones stay as they are.
    """
    totals, labels = learned.statistics.weight, learned.statistics.classes
    w = np.ones(len(codes)) if weight is None else weight
    over = np.flatnonzero(w > totals[codes] * (1.0 + SLACK))
    if len(over):
        row, code = int(over[0]), int(codes[over[0]])
        why = f"its weight is {w[row]:g}, and that of the whole class {totals[code]:g}"
        raise DataError.not_learned(row, labels[code], why)
    kinds, again = np.unique(np.stack([codes, w], axis=1), axis=0, return_inverse=True)
    table = np.empty((len(kinds), len(totals)))
    for i, (c, amount) in enumerate(kinds):
        rest = totals.copy()
        own = int(c)
        rest[own] = max(rest[own] - amount, 0.0)
        gone = rest[own] <= SLACK * totals[own]
        if gone:
            rest[own] = 0.0
        if not rest.any():
            raise DataError(
                f"The model has learned a single row, of class {labels[own]!r}, and without it there is none. "
                "Next: give at least two rows."
            )
        table[i] = learned.log_prior(rest)
        if gone:
            table[i, own] = -np.inf
    prior = table[again.ravel()]
    lost = np.flatnonzero(np.isneginf(prior).all(axis=1))
    if len(lost):
        raise DataError(
            f"Row {lost[0]} is the only one of class {labels[int(codes[lost[0]])]!r}, and the priors of all other "
            "classes are 0. Next: give other priors, or leave that class out."
        )
    return prior


def log_densities(learned: Learned, rows: Rows, codes: Codes, weight: Array | None) -> Parts:
    """Return the log densities of each row without itself, summed over the blocks."""
    shape = (len(codes), len(learned.statistics.classes))
    total = Parts(np.zeros(shape), np.zeros(shape))
    for block, told, stats, part in zip(learned.blocks, learned.settings, learned.statistics.blocks, rows, strict=True):
        order, score = block_log_densities(block, told, stats, part, codes, weight)
        np.add(total.score, score, out=total.score)
        if order is not None:
            np.add(total.order, order, out=total.order)
    return total


def block_log_densities(
    block: Block, settings: Settings, stats: Any, rows: Any, codes: Codes, weight: Array | None
) -> tuple[Array | None, Array]:
    """Return (order or None, log density or coefficient), (n, k) each, of the rows of one block without themselves."""
    family = block.family
    if isinstance(family, GaussianFamily):
        return None, gaussian_leave_one_out(rows, stats, codes, weight, family, settings)
    alpha = plain_smoothing(settings.smoothing)
    if alpha is None:  # pseudo-counts by column, or by the shares of all rows, which lose the row as well
        return refit_limit(family, rows, stats, codes, weight, settings)
    settings = replace(settings, smoothing=alpha)
    closed = family.leave_one_out_limit(family.recode(rows, stats), stats, codes, weight, settings)
    if closed is not None:
        return closed
    return refit_limit(family, rows, stats, codes, weight, settings)


def refits_needed(blocks: Sequence[Statistic], repaired: bool) -> float:
    """Return about how many small refits leave-one-out of all rows takes, from the statistics of the blocks.

    Gaussian blocks are estimated again for each row where cells are missing under a full covariance, or where the
    estimate was `repaired`. A refit of one pattern of cells in ten columns counts as one, about a millisecond.
    """
    total = 0.0
    for stats in blocks:
        patterns = len(stats.incomplete) if isinstance(stats, PatternStats) else 0
        known = isinstance(stats, GaussianStats | PatternStats)
        if known and (patterns or repaired):
            weight = stats.column_weight()
            total += float(weight.max(axis=1).sum()) * max(patterns, 1) * (1.0 + weight.shape[1] ** 2 / 100.0)
    return total
