"""Which column pushed towards which class, for the pooled posterior of the automatic classifier."""

from __future__ import annotations

from .._arrays import Array, np
from .columns import Reading
from .pool import Automatic
from .stack import centred

ROUNDING = 1e-12  # nats: contributions that add up to no more are none
MOST_STEPS = 1500  # columns × orders looked at, where each is one evaluation of all rows


def contributions(
    automatic: Automatic,
    rows: Reading,
    log_posterior: Array,
    log_prior: Array,
    orders: int | None = None,
    errors: bool = False,
) -> tuple[Array, Array | None]:
    """Return contributions (n, d, k) in nats, numbers first, and their standard errors if asked for.

    Shapley values are linear in what is explained, and the pool adds up its members: each member's contributions times
    its weight. They are exact for the members that add up columns; for the others they are Shapley values of their
    marginal densities, exact for few columns and else sampled. What the pool adds itself (intercepts, the floor, half
    a row of prior for each class) is shared out in proportion to the sizes of a row's contributions, alike among its
    cells where none has any, so that they add up with `log_prior` (k,) to the odds of `log_posterior` (n, k).
    """
    d = len(automatic.frozen.scores) + len(automatic.frozen.vocabulary)
    n, k = len(rows), len(log_prior)
    orders = orders or max(8, min(64, MOST_STEPS // max(d, 1)))
    total, variance = np.zeros((n, d, k)), np.zeros((n, d, k))
    weights = automatic.stack.weight
    for member, weight in zip(automatic.members, weights, strict=False):
        if weight:
            score, spread = member.member.explain(rows, orders, errors)
            total += weight * score
            variance += weight**2 * spread
    single = zip(automatic.single_places(rows), automatic.single_columns(rows), strict=True)
    for (place, part), weight in zip(single, weights[len(automatic.members) :], strict=True):
        total[:, place] += weight * centred(part)
    known = rows.known
    total[~known] = 0.0
    goal = centred(log_posterior) - (log_prior - log_prior.mean())
    rest = goal - total.sum(axis=1)
    size = np.abs(total).sum(axis=2)
    whole = size.sum(axis=1, keepdims=True)
    alike = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
    told = whole > ROUNDING
    share = np.where(told, size / np.where(told, whole, 1.0), alike)
    total += share[:, :, None] * rest[:, None, :]
    return total, np.sqrt(variance) if errors else None
