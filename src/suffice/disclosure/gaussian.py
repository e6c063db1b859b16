"""Disclosure control of means and scatters.

A mean is a sum over the rows of a class, a scatter over as many. Three things still give rows away, and are dealt with
here. A scatter of no more rows than columns is the rows themselves, but for a rotation: it is kept where there are more
rows than columns by the least number asked for. A column in which all rows but a few of a class agree has those few
for what it adds to every sum: its mean is rounded or taken from other classes, and its products with other columns go.
Two columns of 0 and 1 count, by their product, the rows that show both: where these are few, the product goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._arrays import Array, Flags, np
from ..densities.covariance import USABLE
from ..em.cells import complete
from ..errors import DataError, setting
from ..stats import CompletedStats, DiagonalScatter, FullScatter, GaussianStats, PatternStats, PooledScatter
from ..stats.patterns import MAX_CELLS, observed_cells, rows_seen
from .counts import ROUNDED, SLACK, SPREAD, Given, MinCount

COMPLETED = "filled missing cells by EM, once for all, so that which cells miss together is not told"
POOLED = "gave classes of too few rows for so many columns the covariance of other classes"
UNCORRELATED = "left out correlations of columns that too few rows tell of"
UNREMEMBERED = "keeps what all classes add to the shared covariance, not what each does"
Gaussians = GaussianStats | PatternStats | CompletedStats
BINARY = 1e-9


@dataclass(frozen=True)
class Facts:
    """What is known of a block: class weights (k,); weight, mean (k, d) and squares (k or 1, d) of observed cells.

    `varied` (k, d) are the rows of a class, or fewer, that differ from a column's commonest value, infinite where
    nobody knows; `together` (k or 1, d, d) is the weight of the rows that show both of two cells, None where none is
    missing, and `pairs` (k or 1, d, d) marks columns of two values each that too few rows show together.
    """

    weight: Array
    seen: Array
    mean: Array
    squares: Array
    varied: Array
    together: Array | None
    least: MinCount
    pairs: Flags | None = None

    @property
    def binary(self) -> Flags:
        """Which columns (d,) hold nothing but 0 and 1, as their sums tell."""
        spread = self.seen * self.mean * (1.0 - self.mean)
        spread = spread if len(self.squares) == len(spread) else spread.sum(axis=0, keepdims=True)
        slack = BINARY * np.maximum(self.seen.sum(axis=0), 1.0)
        inside = (self.mean >= -BINARY) & (self.mean <= 1.0 + BINARY)
        return np.asarray(inside.all(axis=0) & (np.abs(self.squares - spread) <= slack).all(axis=0))

    @property
    def ones(self) -> Array:
        """The weight of the ones of binary columns (k, d)."""
        return np.clip(self.mean, 0.0, 1.0) * self.seen

    @property
    def rare(self) -> Flags:
        """Where a binary column has too few ones or zeros in a class (k, d)."""
        ones = self.ones
        return np.asarray(self.binary & (self.least.few(ones) | self.least.few(self.seen - ones)))

    @property
    def lost(self) -> Flags:
        """Where what a class says of a column is of too few rows (k, d), and is taken from the other classes."""
        alike = self.varied * self.least.heaviest
        return np.asarray((self.least.few(self.seen) | self.least.few(alike)) & ~self.rare)

    @property
    def shown(self) -> Array:
        """The means (k, d) of binary columns with small counts of ones or zeros rounded, never to none."""
        ones, size = self.ones, self.least.size
        ones = np.where(self.least.few(self.seen - ones), self.seen - size, np.where(self.least.few(ones), size, ones))
        return np.clip(ones / np.where(self.seen > 0, self.seen, 1.0), 0.0, 1.0)

    @property
    def scarce(self) -> Flags:
        """The columns (d,) that too few rows of all classes tell of."""
        return np.asarray(self.least.few(self.support.sum(axis=0)) | self.least.few(self.seen.sum(axis=0)))

    @property
    def support(self) -> Array:
        """The weight of the rows (k, d) that differ from the commonest value, infinite where nobody knows."""
        ones = self.ones
        return np.where(self.binary, np.minimum(ones, self.seen - ones), self.varied * self.least.heaviest)


def gaussian_facts(
    stats: Gaussians,
    weight: Array,
    varied: Array | None,
    least: MinCount,
    fill: Callable[[PatternStats], GaussianStats] = complete,
    pairs: Flags | None = None,
) -> tuple[GaussianStats, Facts]:
    """Return Gaussian statistics with missing cells filled, and what is known of the observed ones."""
    together = None
    if isinstance(stats, CompletedStats):
        done = stats.complete
        seen, mean = stats.observed, done.mean
        squares = done.scatter.diagonal(len(weight))
    elif isinstance(stats, PatternStats):
        seen, mean, squares = observed_cells(stats)
        if stats.incomplete:
            together = _together(stats)
        done = fill(stats)
    else:
        done = stats
        seen, mean, squares = stats.column_weight(), stats.mean, stats.scatter.diagonal(len(weight))
    unknown = np.full(np.shape(seen), np.inf)
    facts = Facts(
        weight, np.asarray(seen), mean, squares, unknown if varied is None else varied, together, least, pairs
    )
    return done, facts


def _together(stats: PatternStats) -> Array:
    """Return the weight of the rows (k or 1, d, d) that show both of two cells."""
    pooled = stats.complete.form is PooledScatter
    weights = stats.complete.weight
    found = np.broadcast_to(
        (weights.sum(keepdims=True) if pooled else weights)[:, None, None], (1 if pooled else stats.k, stats.d, stats.d)
    ).copy()
    for pattern, (present, part) in stats.incomplete.items():
        at = np.asarray(pattern)
        if pooled:
            found[0][np.ix_(at, at)] += part.weight.sum()
        else:
            found[np.ix_(present, at, at)] += part.weight[:, None, None]
    return found


def observed_alone(stats: PatternStats) -> GaussianStats:
    """Return means and variances of the observed cells, without products: what is left of them where few rows are."""
    weight = rows_seen(stats)
    seen, mean, squares = observed_cells(stats)
    if stats.complete.form is PooledScatter:
        total = seen.sum(axis=0)
        values = np.diag(squares[0] * weight.sum() / np.where(total > 0, total, 1.0))
    else:
        values = (squares * weight[:, None] / np.where(seen > 0, seen, 1.0))[:, :, None] * np.eye(mean.shape[1])
    return GaussianStats(weight, mean, stats.complete.form(values), stats.complete.form)


def release_diagonal(stats: GaussianStats, facts: Facts, given: Given) -> GaussianStats:
    """Return weights, means and squares by class and column, each of enough rows."""
    mean, squares = _columns(facts, facts.mean, stats.scatter.values, given)
    gap = facts.least.few(facts.weight[:, None] - facts.seen)
    whole = np.broadcast_to(facts.weight[:, None], mean.shape)
    seen = np.where(gap | facts.lost, whole, facts.seen)
    scale = np.where(facts.lost, 1.0, seen / np.where(facts.seen > 0, facts.seen, 1.0))
    return GaussianStats(seen, np.where(seen > 0, mean, 0.0), DiagonalScatter(squares * scale), DiagonalScatter)


def _columns(facts: Facts, mean: Array, squares: Array, given: Given) -> tuple[Array, Array]:
    """Return means and squares (k, d), from other classes or rounded where too few rows of a class tell them."""
    rare, lost = facts.rare, facts.lost
    mean = np.where(rare, facts.shown, mean)
    squares = np.where(rare, facts.seen * mean * (1.0 - mean), squares)
    held = np.where(~lost, facts.seen, 0.0)
    total = np.where(held.sum(axis=0) > 0, held.sum(axis=0), 1.0)
    lent, within = (held * mean).sum(axis=0) / total, np.where(~lost, squares, 0.0).sum(axis=0) / total
    given.up(ROUNDED, rare)
    given.up(SPREAD, lost, np.flatnonzero(lost.any(axis=1)))
    return np.where(lost, lent, mean), np.where(lost, facts.weight[:, None] * within, squares)


@dataclass(frozen=True)
class Plan:
    """Which classes (k,) keep a scatter of their own, and whose scatters the others have, if any."""

    own: Flags
    lent: Flags

    @classmethod
    def nobody(cls, k: int) -> Plan:
        """Return that of classes of which variances alone are left."""
        return cls(np.zeros(k, dtype=bool), np.zeros(k, dtype=bool))

    @classmethod
    def by_rows(cls, rows: Array, d: int, least: int, pooled: bool) -> Plan:
        """Return that of classes with so many rows (k,)."""
        if pooled:
            enough = np.full(len(rows), cls.together(rows, d, least))
            return cls(enough, enough)
        own = np.asarray(rows >= d + least)
        return cls(own, ~own if not own.all() and cls.together(rows[~own], d, least) else own)

    @staticmethod
    def together(rows: Array, d: int, least: int) -> bool:
        """Return whether classes of so many rows have enough together for one scatter about their own means."""
        return bool(rows.sum() - len(rows) >= d + least)

    @property
    def none(self) -> bool:
        """Whether nothing but variances is left."""
        return not (self.own.any() or self.lent.any())


def release_joint(
    stats: GaussianStats, facts: Facts, given: Given, plan: Plan, left_out: Array | None
) -> GaussianStats:
    """Return means by class and scatters, by class or pooled, none of which is of too few rows.

    In the place of the rows of each class that were `left_out` (k,) come as many of any class.
    """
    k, d = stats.mean.shape
    pooled = stats.form is PooledScatter
    if (1 if pooled else k) * d * d > MAX_CELLS:
        raise DataError(
            f"{k} covariances of {d} columns are too large to be released. "
            f"Next: share one covariance, or fit with {setting('covariance', 'diagonal')}."
        )
    before, weight = stats.weight, facts.weight
    stats = stats.dense()
    if pooled:  # rows without any cell are rows of their class too, so that their number is not told
        values = stats.scatter.values[None] * (weight.sum() / max(float(before.sum()), 1e-300))
        given.up(UNREMEMBERED)
        steady = np.zeros((k, d))
        mean, _ = _columns(facts, stats.mean, steady, given)
        squares = np.diagonal(values[0])[None].copy()
        scarce = facts.scarce
        squares[0, scarce] = np.where(facts.binary, (weight[:, None] * mean * (1.0 - mean)).sum(axis=0), 0.0)[scarce]
        weak = scarce[None]
    else:
        values = stats.scatter.values * (weight / np.where(before > 0, before, 1.0))[:, None, None]
        mean, squares = _columns(facts, stats.mean, np.diagonal(values, axis1=1, axis2=2), given)
        weak = facts.rare | facts.lost
    gone: Flags = weak[:, :, None] | weak[:, None, :] | _few_pairs(values, stats.mean, facts, pooled)
    if facts.together is not None:
        gone |= facts.least.few(facts.together)
    if facts.pairs is not None:
        gone |= facts.pairs
    gone[:, np.arange(d), np.arange(d)] = False
    given.up(UNCORRELATED, np.asarray(gone.any(axis=1)))
    mended = np.stack([_without(own, gone[g], squares[g]) for g, own in enumerate(values)])
    found = _of_enough(mended, facts, plan, given)
    if not pooled and left_out is not None:
        found = _like_any_class(found, weight, left_out, facts.least)
    scatter = PooledScatter(found[0]) if pooled else FullScatter(found)
    return GaussianStats(weight, mean, scatter, stats.form)


def _few_pairs(values: Array, mean: Array, facts: Facts, pooled: bool) -> Flags:
    """Return the pairs of binary columns (g, d, d) that too few rows show in one of the four ways."""
    gone = np.zeros(values.shape, dtype=bool)
    columns = np.flatnonzero(facts.binary)
    if len(columns) < 2:
        return gone
    at = np.ix_(np.arange(len(values)), columns, columns)
    p, weight = mean[:, columns], facts.weight
    products = weight[:, None, None] * p[:, :, None] * p[:, None, :]
    ones = weight[:, None] * p
    if pooled:
        products, ones, weight = (part.sum(axis=0, keepdims=True) for part in (products, ones, weight))
    both = values[at] + products
    first, second = ones[:, :, None] - both, ones[:, None, :] - both
    neither = weight[:, None, None] - both - first - second
    few = [facts.least.few(np.where(np.abs(own) < 1e-6, 0.0, own)) for own in (both, first, second, neither)]
    gone[at] = few[0] | few[1] | few[2] | few[3]
    return gone


def _of_enough(values: Array, facts: Facts, plan: Plan, given: Given) -> Array:
    """Return scatters of enough rows for their columns: other classes' where there are some, else variances alone."""
    d = values.shape[1]
    if d == 1 or plan.own.all():
        return values
    numbers = np.flatnonzero(~plan.own)
    if len(values) == 1:
        given.up(UNCORRELATED, range(d))
        return np.diag(np.diagonal(values[0]))[None]
    found = values.copy()
    if plan.lent.any():
        given.up(POOLED, classes=numbers)
        lent = values[plan.lent].sum(axis=0) / facts.weight[plan.lent].sum()
        found[numbers] = facts.weight[numbers, None, None] * lent
    else:
        given.up(UNCORRELATED, range(d), numbers)
        for c in numbers:
            found[c] = np.diag(np.diagonal(values[c]))
    return found


def _like_any_class(values: Array, weight: Array, left_out: Array, least: MinCount) -> Array:
    """Return scatters (k, d, d) in which what all classes have within them stands for rows left out (k,).

    Else what such rows alone show would never happen. How many they were is told in steps of rows enough.
    """
    share = np.minimum(np.ceil(left_out / least.size - SLACK) * least.size / weight, 1.0)[:, None, None]
    within = values.sum(axis=0) / weight.sum()
    return np.asarray((1.0 - share) * values + share * weight[:, None, None] * within)


def _without(scatter: Array, gone: Flags, squares: Array) -> Array:
    """Return a scatter without some products and with these squares, drawn to its diagonal until it is a scatter."""
    if not gone.any() and np.allclose(squares, np.diagonal(scatter), rtol=1e-12, atol=0.0):
        return scatter
    out = np.where(gone, 0.0, scatter)
    out[np.diag_indices(len(out))] = squares
    root = np.sqrt(np.where(squares > 0, squares, 1.0))
    out[squares <= 0] = 0.0
    out[:, squares <= 0] = 0.0
    scaled = out / root[:, None] / root
    used = np.flatnonzero(squares > 0)
    smallest = float(np.linalg.eigvalsh(scaled[np.ix_(used, used)]).min(initial=1.0)) if len(used) else 1.0
    if smallest < USABLE:
        out *= 1.0 - (USABLE - smallest) / (1.0 - smallest)
        out[np.diag_indices(len(out))] = squares
    return out
