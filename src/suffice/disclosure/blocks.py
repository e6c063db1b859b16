"""Disclosure control of one block of columns, by family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._arrays import Codes, np
from ..densities import Density, Gaussian, Mixture
from ..em.cells import complete
from ..errors import DataError
from ..estimate import Block, Settings, WholeRows
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
    TextStats,
    ValueStats,
)
from .counts import Given, release_categories, release_sums, release_texts, release_values
from .gaussian import Gaussians, Plan, release_diagonal, release_joint
from .lonely import Fill, Terms, without_lonely

JOINED_COMPONENTS = "joined components of a mixture that are of too few rows to others of their class"
FROZEN = "shrank covariances once for all, by the amounts that Ledoit and Wolf's formula gave"


def release_block(
    block: Block, stats: Statistic, terms: Terms, told: Settings, density: Callable[[], Density]
) -> Statistic:
    """Return the statistics of a block in which every number is of enough rows; `weight` (k,) are the classes'.

    `kept` are rows at hand, for what sums alone do not tell; `told` is what the estimate of the block is told, and
    `density` makes that. What was given up is recorded in `given`. DataError for statistics that cannot be released.
    """
    family, (weight, kept, least, given) = block.family, terms
    if isinstance(stats, CategoricalStats):
        return release_categories(stats, weight, least, given)
    if isinstance(stats, SumStats):
        zeros = family.name == "bernoulli"
        support = None if kept is None or zeros else kept.filled(len(weight))
        return release_sums(stats, weight, least, given, support, zeros)
    if isinstance(stats, TextStats):
        return release_texts(stats, weight, least, given, getattr(family, "occurs", False))
    if isinstance(stats, ValueStats):
        return release_values(stats, weight, least, given)
    if isinstance(stats, MixtureStats):
        assert isinstance(family, MixtureFamily)
        return _release_mixture(family, stats, terms, density)
    if not isinstance(family, GaussianFamily) or not isinstance(stats, GaussianStats | PatternStats | CompletedStats):
        raise DataError(
            f"Statistics of the kind {type(stats).__name__} cannot be released. Next: use a family that suffice ships."
        )
    if told.kept is None:
        return release_gaussian(family, stats, terms)
    assert isinstance(stats, PatternStats)
    return _release_shrunk(family, stats, terms, told)


def release_gaussian(
    family: GaussianFamily, stats: Gaussians, terms: Terms, fill: Fill = complete
) -> GaussianStats | PatternStats:
    """Return Gaussian statistics of enough rows, along every direction of columns as far as rows at hand tell."""
    settled = without_lonely(family, stats, terms, fill)
    if isinstance(settled.stats.scatter, DiagonalScatter):
        return release_diagonal(settled.stats, settled.facts, terms.given)
    found = release_joint(settled.stats, settled.facts, terms.given, settled.plan, settled.left_out)
    return found if isinstance(stats, GaussianStats) else PatternStats(found, {})


def _release_shrunk(family: GaussianFamily, stats: PatternStats, terms: Terms, told: Settings) -> PatternStats:
    """Return Gaussian statistics whose own estimate is what Ledoit and Wolf's formula gives of rows not left out."""
    weight, kept, _, given = terms
    given.up(FROZEN)
    whole = PatternStats(stats.complete.dense(), {})
    settled = without_lonely(family, whole, terms)
    own: Gaussians = stats
    left = settled.left
    unseen = kept is not None and not kept.whole  # rows at hand may not show all variance
    known = not unseen or np.array_equal(whole.complete.scatter.values, settled.stats.scatter.values)
    if kept is not None and left is not None and left.less_than(kept).any():
        some = np.flatnonzero(~np.isnan(np.asarray(left.rows)).any(axis=1))
        rows = WholeRows(np.asarray(left.rows)[some], left.codes[some], left.weight[some])
        told, known = replace(told, kept=rows), known and left.whole
        own = family.count(rows.rows, rows.codes, len(weight), rows.weight)
    if not known:  # nobody knows by how much to shrink what is left
        settled = replace(settled, plan=Plan.nobody(len(weight)))
    else:
        density = family.estimate(own, told)[0]
        assert isinstance(density, Gaussian)
        less = 0.0 if told.divisor == "mle" else 1.0
        factors = np.array([weight.sum() - less * len(weight)]) if family.shared else weight - less
        values = factors[:, None, None] * density.covariances()[: len(factors)]
        scatter = PooledScatter(values[0]) if family.shared else FullScatter(values)
        settled = replace(settled, stats=GaussianStats(weight, settled.stats.mean, scatter, family.form))
    return PatternStats(release_joint(settled.stats, settled.facts, given, settled.plan, settled.left_out), {})


def _release_mixture(
    family: MixtureFamily, stats: MixtureStats, terms: Terms, density: Callable[[], Density]
) -> MixtureStats:
    """Return components of enough rows: smaller ones have joined the nearest of their class."""
    _, kept, least, given = terms
    merged, share = stats, None
    if kept is not None and isinstance(kept.rows, np.ndarray):
        mixture = density()
        assert isinstance(mixture, Mixture)
        share = mixture.shares(kept.rows, kept.codes)
    while True:
        small = np.flatnonzero(least.few(merged.weight) & (merged.counts[merged.owner] > 1))
        if not len(small):
            break
        given.up(JOINED_COMPONENTS, classes=merged.owner[small])
        merged, index = _joined(merged, int(small[np.argmin(merged.weight[small])]))
        share = None if share is None else share @ (index[:, None] == np.arange(len(merged.owner)))
    own, parts = Given(), None if kept is None or share is None else kept.shared_out(share)
    inner = release_gaussian(family.inner, merged.inner, Terms(merged.weight, parts, least, own))
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
