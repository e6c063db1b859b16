"""Which column pushed towards which class, for the pooled posterior of the automatic classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, np
from ..tasks.explain import Explanation, explain_block
from .choose import Automatic, Member
from .columns import SCORES, FrozenColumns, MixedRows
from .members.dependence import DependenceMember
from .scorers import GaussianScorer, HatScorer, LevelScorer, PairScorer, PartScorer
from .stack import centred

ROUNDING = 1e-12  # nats: contributions that add up to no more are none
MOST_STEPS = 1500  # columns × orders looked at, where each is one evaluation of all rows


def contributions(
    automatic: Automatic,
    rows: MixedRows,
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
            score, spread = _of_member(automatic, member, rows, orders, errors)
            total += weight * score
            variance += weight**2 * spread
    parts = automatic.single_columns(rows)
    for (kind, j), part, weight in zip(automatic.columns, parts, weights[len(automatic.members) :], strict=True):
        place = j if kind == "hat" else len(automatic.frozen.scores) + j
        total[:, place] += weight * centred(part)
    known = automatic.frozen.known(rows)
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


def _of_member(
    automatic: Automatic, member: Member, rows: MixedRows, orders: int | None, errors: bool
) -> tuple[Array, Array]:
    """Return contributions and their variances, (n, d, k), to one member's log density."""
    frozen, scorer = automatic.frozen, member.scorer
    numbers, d = len(frozen.scores), len(frozen.scores) + len(frozen.vocabulary)
    score = np.zeros((len(rows), d, len(automatic.log_prior)))
    spread = np.zeros_like(score)
    if isinstance(scorer, HatScorer | LevelScorer):
        start = 0 if isinstance(scorer, HatScorer) else numbers
        cells: Any = rows.numbers if isinstance(scorer, HatScorer) else rows.levels
        for j, part in enumerate(scorer.model.columns(cells)):
            score[:, start + j] = centred(part)
        return score, spread
    owner: Codes = np.arange(d)
    if isinstance(scorer, PairScorer):
        found = explain_block(_ByColumn(scorer.model), tuple(frozen.binned(scorer.bins, rows).T), orders, errors)
    else:
        assert isinstance(scorer, GaussianScorer | PartScorer)
        found = explain_block(scorer.density, scorer.cells(rows), orders, errors)
        version = scorer.version if isinstance(scorer, GaussianScorer) else SCORES
        owner = _owners(frozen)[frozen.used[version]]
        owner = owner[scorer.used] if isinstance(scorer, PartScorer) else owner
        if version in frozen.basis:
            found = _through(frozen.basis[version], frozen.cells(version, rows), found)
    for c, place in enumerate(owner):  # a category's indicators together
        score[:, place] += found.score[:, :, c].T
        if found.variance is not None:
            spread[:, place] += found.variance[:, :, c].T
    return score, spread


def _through(basis: Array, cells: Array, found: Explanation) -> Explanation:
    """Share out what each direction adds (k, n, r) among the columns that make it up, by the sizes of their parts."""
    cells = np.nan_to_num(cells)
    score, variance = np.empty((len(found.score), *cells.shape)), np.zeros((len(found.score), *cells.shape))
    for i, row in enumerate(cells):
        share = np.abs(row[:, None] * basis)
        share /= np.maximum(share.sum(axis=0), 1e-300)
        score[:, i] = found.score[:, i] @ share.T
        if found.variance is not None:
            variance[:, i] = found.variance[:, i] @ (share**2).T
    return Explanation(score, None, variance)


def _owners(frozen: FrozenColumns) -> Codes:
    """Return the column behind each column of the Gaussian block."""
    numbers = len(frozen.scores)
    owners = list(range(numbers))
    for j, own in enumerate(frozen.indicators):
        owners += [numbers + j] * len(own)
    return np.asarray(owners, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _ByColumn:
    """A one-dependence member asked with one array of level numbers per column."""

    model: DependenceMember

    def log_density(self, rows: Sequence[Codes]) -> Array:
        """Return log densities (n, k)."""
        return self.model.scores(np.stack(rows, axis=1))
