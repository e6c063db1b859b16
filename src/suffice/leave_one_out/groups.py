"""Leave-one-group-out.

A group leaves the statistics with all of its rows, and the estimate is made again of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import classify
from .._arrays import Array, Codes, np, parallel_map
from ..densities import Rows, as_density
from ..errors import DataError, NotLearnedError
from ..estimate import Block
from ..stats import ByClass
from ..stats.rows import take_rows
from .model import Learned, Parts, leave_one_out
from .refit import SLACK, negative


def leave_groups_out(learned: Learned, rows: Rows, codes: Codes, weight: Array | None, group: Codes) -> Array:
    """Return log p(y = k | x) of each row under the model of all other groups, (n, k) in nats.

    `group` (n,) are numbers; the other arguments are those of `leave_one_out`, by which rows that are a group by
    themselves leave. Where the rows are all that was learned, the others are summed up again, else the group's are
    taken away from the sums. DataError for a group without which no class is left.
    """
    w = np.ones(len(codes)) if weight is None else weight
    size = np.bincount(group)[group]
    out, alone = np.empty((len(codes), len(learned.statistics.weight))), np.flatnonzero(size == 1)
    if len(alone):
        out[alone] = leave_one_out(learned, [take_rows(part, alone) for part in rows], codes[alone], w[alone])
    order = np.argsort(group, kind="stable")
    members = [own for own in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(own) > 1]
    complete = _is_complete(learned.statistics, codes, w)

    def left_out(own: Codes) -> Array:
        return _left_out(learned, rows, codes, w, own, complete)

    for own, found in zip(members, parallel_map(left_out, members, cost=np.inf), strict=True):
        out[own] = found
    return out


def _is_complete(statistics: ByClass, codes: Codes, weight: Array) -> bool:
    """Return whether the rows are all that the statistics are of."""
    held = np.bincount(codes, weights=weight, minlength=len(statistics.weight))
    return bool(np.allclose(held, statistics.weight, rtol=SLACK, atol=0.0))


def _left_out(learned: Learned, rows: Rows, codes: Codes, weight: Array, own: Codes, complete: bool) -> Array:
    """Return log posteriors (m, k) of the rows of one group."""
    statistics, others = learned.statistics, np.setdiff1d(np.arange(len(codes)), own)
    gone = np.bincount(codes[own], weights=weight[own], minlength=len(statistics.weight))
    rest = np.maximum(statistics.weight - gone, 0.0)
    rest[rest <= SLACK * statistics.weight] = 0.0
    if not rest.any():
        raise DataError("All rows learned are of one group, and without it there is none. Next: give other groups.")
    prior = np.tile(np.where(rest > 0, learned.log_prior(rest), -np.inf), (len(own), 1))
    total = Parts(np.zeros(prior.shape), np.zeros(prior.shape))
    for block, told, stats, part in zip(learned.blocks, learned.settings, statistics.blocks, rows, strict=True):
        left = _without(block, stats, part, codes, weight, own, others if complete else None)
        told = told.without(take_rows(part, own), codes[own], weight[own])
        density = as_density(block.family.estimate(left, told)[0])
        order, score = density.limit(block.family.recode(take_rows(part, own), left))
        np.add(total.order, order, out=total.order)
        np.add(total.score, score, out=total.score)
    with np.errstate(invalid="ignore"):
        scores = np.where((total.order > 0) | np.isneginf(prior), -np.inf, total.score + prior)
    return classify.normalize(scores, prior, lambda some: (total.order[some], total.score[some] + prior[some]))


def _without(
    block: Block, stats: Any, rows: Any, codes: Codes, weight: Array, own: Codes, others: Sequence[int] | Codes | None
) -> Any:
    """Return the statistics of a block without some rows: those of the others, where these are known."""
    k = len(stats.column_weight())
    if others is not None:
        index = np.asarray(others, dtype=np.int64)
        return block.family.summarize(take_rows(rows, index), codes[index], k, weight[index])
    part = block.family.summarize(take_rows(rows, own), codes[own], k, weight[own])
    try:
        return stats.subtract(part)
    except NotLearnedError:  # rounding, where little is left
        return stats.merge(negative(part))
