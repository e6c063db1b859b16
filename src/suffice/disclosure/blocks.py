"""The statistics of one block of columns, of whatever family, with nothing left that is of too few rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._arrays import Array, Codes, NDArray, is_sparse, np
from ..errors import DataError
from ..estimate import Block
from ..estimate.families import GaussianFamily
from ..stats import (
    CategoricalStats,
    CompletedStats,
    DiagonalScatter,
    FourthMomentStats,
    FullScatter,
    GaussianStats,
    MixtureStats,
    PatternStats,
    PooledScatter,
    Statistic,
    SumStats,
    ValueStats,
)
from .counts import release_categories, release_sums, release_values
from .gaussian import COMPLETED, Gaussians, gaussian_facts, release_diagonal, release_joint
from .least import Given, Least

PARTS = "joined components of a mixture that are of too few rows to others of their class"
FROZEN = "shrank covariances once for all, by the amounts that Ledoit and Wolf's formula gave"


@dataclass(frozen=True)
class Released:
    """A block and its statistics as they may be passed on."""

    block: Block
    stats: Statistic


@dataclass(frozen=True)
class Kept:
    """Encoded rows of a block that are at hand, with their class numbers and how many rows had each content."""

    rows: object
    codes: Codes
    copies: Array

    def varied(self, k: int) -> Array | None:
        """Return how many of them (k, d) differ from the commonest value of their class; None for other cells."""
        if is_sparse(self.rows) or not isinstance(self.rows, np.ndarray):
            return None
        found = np.zeros((k, self.rows.shape[1]))
        for c in range(k):
            own = np.flatnonzero(self.codes == c)
            for j, column in enumerate(self.rows[own].T):
                seen = ~np.isnan(column)
                _, place = np.unique(column[seen], return_inverse=True)
                held = np.bincount(place, weights=self.copies[own][seen])
                found[c, j] = held.sum() - held.max(initial=0.0)
        return found

    def few_pairs(self, k: int, pooled: bool, least: Least) -> NDArray[np.bool_] | None:
        """Return which columns of two values each (k or 1, d, d) too few rows show together in one of four ways."""
        if is_sparse(self.rows) or not isinstance(self.rows, np.ndarray):
            return None
        d = self.rows.shape[1]
        found = np.zeros((1 if pooled else k, d, d), dtype=bool)
        two = [j for j in range(d) if len(np.unique(self.rows[~np.isnan(self.rows[:, j]), j])) == 2]
        if len(two) < 2:
            return found
        seen = ~np.isnan(self.rows[:, two])
        high = (self.rows[:, two] == np.nanmax(self.rows[:, two], axis=0)) & seen
        rows = Least(least.rows)
        for g in range(len(found)):
            heavy = np.where((self.codes == g) | pooled, self.copies, 0.0)[:, None]
            for a in (high, seen & ~high):
                for b in (high, seen & ~high):
                    found[np.ix_([g], two, two)] |= rows.few((heavy * a).T @ b.astype(np.float64))
        return found

    def filled(self, k: int) -> Array | None:
        """Return how many of them (k, d) have a cell that is neither 0 nor missing; None for other cells."""
        if is_sparse(self.rows):
            there = self.rows.copy()
            there.data = (there.data != 0).astype(np.float64)
        elif isinstance(self.rows, np.ndarray):
            there = (np.nan_to_num(self.rows) != 0).astype(np.float64)
        else:
            return None
        return np.stack([np.asarray(self.copies[own] @ there[own]) for own in (self.codes == c for c in range(k))])


def release_block(
    block: Block,
    stats: Statistic,
    weight: Array,
    least: Least,
    given: Given,
    kept: Kept | None,
    shrunk: Array | None = None,
) -> Released:
    """Return a block and its statistics in which every number is of enough rows; `weight` (k,) are the classes'.

    `kept` are rows at hand, for what sums alone do not tell; `shrunk` (g, d, d), where shrinkage needs moments that are
    not passed on, are the scatters it gave. What was given up is recorded in `given`. DataError for statistics that
    cannot be released.
    """
    if isinstance(stats, CategoricalStats):
        return Released(block, release_categories(stats, weight, least, given))
    if isinstance(stats, SumStats):
        support = None if kept is None else kept.filled(len(weight))
        zeros = block.family.name == "bernoulli"
        return Released(block, release_sums(stats, weight, least, given, None if zeros else support, zeros))
    if isinstance(stats, ValueStats):
        return Released(block, release_values(stats, weight, least, given))
    if isinstance(stats, FourthMomentStats):
        stats, block = _shrunk(stats, block, shrunk, given)
    if isinstance(stats, MixtureStats):
        return Released(block, _release_mixture(stats, least, given))
    if isinstance(stats, GaussianStats | PatternStats | CompletedStats):
        return Released(block, _release_gaussian(stats, weight, kept, least, given))
    raise DataError(
        f"Statistics of the kind {type(stats).__name__} cannot be released. Next: use a family that suffice ships."
    )


def _release_gaussian(
    stats: Gaussians, weight: Array, kept: Kept | None, least: Least, given: Given
) -> GaussianStats | PatternStats:
    inner = stats.complete
    varied = None if kept is None else kept.varied(len(weight))
    pairs = None
    if kept is not None and inner.form is not DiagonalScatter:
        pairs = kept.few_pairs(len(weight), inner.form is PooledScatter, least)
    done, facts = gaussian_facts(stats, weight, varied, least, pairs=pairs)
    if isinstance(done.scatter, DiagonalScatter):
        return release_diagonal(done, facts, given)
    if isinstance(stats, CompletedStats) or stats.incomplete:
        holes = facts.seen < facts.weight[:, None] * (1.0 - 1e-9)
        given.up(COMPLETED, holes)
    found = release_joint(done, facts, given)
    return found if isinstance(stats, GaussianStats) else PatternStats(found, {})


def _shrunk(stats: FourthMomentStats, block: Block, scatter: Array | None, given: Given) -> tuple[PatternStats, Block]:
    """Return Gaussian statistics whose own estimate is the shrunk one."""
    gaussian, family = stats.gaussian.dense(), block.family
    assert isinstance(family, GaussianFamily)
    given.up(FROZEN)
    assert scatter is not None
    values = PooledScatter(scatter[0]) if family.shared else FullScatter(scatter)
    own = GaussianStats(gaussian.weight, gaussian.mean, values, family.form)
    return PatternStats(own, {}), replace(block, family=replace(family, fourth=False))


def _release_mixture(stats: MixtureStats, least: Least, given: Given) -> MixtureStats:
    """Return components of enough rows: smaller ones have joined the nearest of their class."""
    merged = stats
    while True:
        small = np.flatnonzero(least.few(merged.weight) & (merged.counts[merged.owner] > 1))
        if not len(small):
            break
        given.up(PARTS, classes=merged.owner[small])
        merged = _joined(merged, int(small[np.argmin(merged.weight[small])]))
    own = Given()
    inner = _release_gaussian(merged.inner, merged.weight, None, least, own)
    for what, columns in own.columns.items():  # of components, which are numbered by themselves
        given.up(what, columns, merged.owner[sorted(own.classes[what])])
    return replace(merged, inner=inner)


def _joined(stats: MixtureStats, number: int) -> MixtureStats:
    """Return the statistics with one component added to the nearest other of its class, in standardised distance."""
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
    return replace(stats, owner=left, weight=weight, inner=stats.inner.regroup(index, m - 1))
