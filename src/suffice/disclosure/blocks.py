"""Disclosure control of one block of columns, by family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from .._arrays import Array, Codes, np
from ..errors import DataError
from ..estimate import Block
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..stats import (
    CategoricalStats,
    CompletedStats,
    DiagonalScatter,
    FullScatter,
    GaussianStats,
    MixtureStats,
    PatternStats,
    PooledScatter,
    Statistic,
    SumStats,
    ValueStats,
)
from .at_hand import Kept
from .counts import release_categories, release_sums, release_values
from .gaussian import Gaussians, Plan, release_diagonal, release_joint
from .least import Given, MinCount
from .lonely import Fill, Settled, Summarize, without_lonely

PARTS = "joined components of a mixture that are of too few rows to others of their class"
FROZEN = "shrank covariances once for all, by the amounts that Ledoit and Wolf's formula gave"


@dataclass(frozen=True)
class Released:
    """A block and its statistics as they may be passed on."""

    block: Block
    stats: Statistic


@dataclass(frozen=True)
class Asked:
    """What a fitted model says of a block.

    `shrunk`, where Ledoit-Wolf shrinks it: from its statistics, and which rows kept they are of and by what weights
    (None: all rows), the scatters (g, d, d) that gives. `shares`: of encoded rows of these classes how much each is of
    each component of a mixture (m, parts).
    """

    shrunk: Callable[[Statistic, tuple[Codes, Array] | None], Array] | None
    shares: Callable[[Array, Codes], Array]


def release_block(
    block: Block, stats: Statistic, weight: Array, least: MinCount, given: Given, kept: Kept | None, asked: Asked
) -> Released:
    """Return a block and its statistics in which every number is of enough rows; `weight` (k,) are the classes'.

    `kept` are rows at hand, for what sums alone do not tell. What was given up is recorded in `given`. DataError for
    statistics that cannot be released.
    """
    if isinstance(stats, CategoricalStats):
        return Released(block, release_categories(stats, weight, least, given))
    if isinstance(stats, SumStats):
        support = None if kept is None else kept.filled(len(weight))
        zeros = block.family.name == "bernoulli"
        return Released(block, release_sums(stats, weight, least, given, None if zeros else support, zeros))
    if isinstance(stats, ValueStats):
        return Released(block, release_values(stats, weight, least, given))
    if asked.shrunk is not None:
        assert isinstance(stats, PatternStats)
        return _release_shrunk(block, stats, weight, least, given, kept, asked.shrunk)
    if isinstance(stats, MixtureStats):
        return Released(block, _release_mixture(block, stats, least, given, kept, asked))
    if isinstance(stats, GaussianStats | PatternStats | CompletedStats):
        family = block.family
        assert isinstance(family, GaussianFamily)
        return Released(block, release_gaussian(stats, weight, kept, least, given, _summarize(family, len(weight))))
    raise DataError(
        f"Statistics of the kind {type(stats).__name__} cannot be released. Next: use a family that suffice ships."
    )


def release_gaussian(
    stats: Gaussians,
    weight: Array,
    kept: Kept | None,
    least: MinCount,
    given: Given,
    summarize: Summarize,
    fill: Fill | None = None,
) -> GaussianStats | PatternStats:
    """Return Gaussian statistics of enough rows, along every direction of columns as far as rows at hand tell."""
    without = without_lonely if fill is None else partial(without_lonely, fill=fill)
    settled = without(stats, weight, kept, least, given, summarize)
    if isinstance(settled.stats.scatter, DiagonalScatter):
        return release_diagonal(settled.stats, settled.facts, given)
    found = release_joint(settled.stats, settled.facts, given, settled.plan, settled.left_out)
    return found if isinstance(stats, GaussianStats) else PatternStats(found, {})


def _summarize(family: GaussianFamily, k: int) -> Summarize:
    return lambda rows, codes, weight: family.summarize(rows, codes, k, weight)


def _release_shrunk(
    block: Block,
    stats: PatternStats,
    weight: Array,
    least: MinCount,
    given: Given,
    kept: Kept | None,
    shrunk: Callable[[Statistic, tuple[Codes, Array] | None], Array],
) -> Released:
    """Return Gaussian statistics whose own estimate is the shrunk one, that of the rows which are not left out."""
    family = block.family
    assert isinstance(family, GaussianFamily)
    given.up(FROZEN)
    whole = PatternStats(stats.complete.dense(), {})
    settled = without_lonely(whole, weight, kept, least, given, _summarize(family, len(weight)))
    own: Statistic | None = stats
    left, some = settled.left, None
    if kept is not None and left is not None and left.less_than(kept).any():
        some = np.flatnonzero(~np.isnan(np.asarray(left.rows)).any(axis=1))
        rows, codes, counted = np.asarray(left.rows)[some], left.codes[some], left.weight[some]
        own = family.count(rows, codes, len(weight), counted) if left.whole else None
    if own is None or not _same(whole, settled, kept):
        values = None
    else:
        values = shrunk(own, None if some is None or left is None else (some, left.weight[some]))
    if values is None:  # nobody knows by how much to shrink what is left
        settled = replace(settled, plan=Plan.nobody(len(weight)))
    else:
        scatter = PooledScatter(values[0]) if family.shared else FullScatter(values)
        settled = replace(settled, stats=GaussianStats(weight, settled.stats.mean, scatter, family.form))
    found = release_joint(settled.stats, settled.facts, given, settled.plan, settled.left_out)
    return Released(block, PatternStats(found, {}))


def _same(whole: PatternStats, settled: Settled, kept: Kept | None) -> bool:
    """Return whether variance that rows at hand do not show was taken from nothing."""
    return (
        kept is None or kept.whole or bool(np.array_equal(whole.complete.scatter.values, settled.stats.scatter.values))
    )


def _release_mixture(
    block: Block, stats: MixtureStats, least: MinCount, given: Given, kept: Kept | None, asked: Asked
) -> MixtureStats:
    """Return components of enough rows: smaller ones have joined the nearest of their class."""
    family = block.family
    assert isinstance(family, MixtureFamily)
    merged = stats
    cells = None if kept is None or not isinstance(kept.rows, np.ndarray) else kept.rows
    share = None if kept is None or cells is None else asked.shares(cells, kept.codes)
    while True:
        small = np.flatnonzero(least.few(merged.weight) & (merged.counts[merged.owner] > 1))
        if not len(small):
            break
        given.up(PARTS, classes=merged.owner[small])
        merged, index = _joined(merged, int(small[np.argmin(merged.weight[small])]))
        share = None if share is None else share @ (index[:, None] == np.arange(len(merged.owner)))
    own, parts = Given(), None if kept is None or share is None else kept.shared_out(share)
    inner = release_gaussian(
        merged.inner, merged.weight, parts, least, own, _summarize(family.inner, len(merged.owner))
    )
    for what, columns in own.columns.items():  # of components, which are numbered by themselves
        given.up(what, columns, merged.owner[sorted(own.classes[what])])
    return replace(merged, inner=inner)


def _joined(stats: MixtureStats, number: int) -> tuple[MixtureStats, Codes]:
    """Return the statistics with one component added to the nearest other of its class, in standardised distance.

    The second are the new numbers of the components.
    """
    m = len(stats.owner)
    mean = stats.inner.complete.mean
    spread = np.std(mean, axis=0)
    away = (((mean - mean[number]) / np.where(spread > 0, spread, 1.0)) ** 2).sum(axis=1)
    away[(stats.owner != stats.owner[number]) | (np.arange(m) == number)] = np.inf
    goal = int(np.argmin(away))
    index = np.arange(m) - (np.arange(m) > number)
    index[number] = index[goal]
    weight = np.bincount(index, weights=stats.weight, minlength=m - 1).astype(np.float64)
    left = np.delete(stats.owner, number)
    return replace(stats, owner=left, weight=weight, inner=stats.inner.regroup(index, m - 1)), index
