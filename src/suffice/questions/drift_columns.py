"""How much one column has moved: what both sides know of it, and p-values that it has not, at all or within classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from .._arrays import Array, Codes, Flags, cross_sums, is_sparse, np, places_of
from .._derived import once
from ..errors import DataError, either
from ..estimate import Block
from ..fitted import Fitted
from ..schema import Level, sort_levels
from ..stats import CategoricalStats, MixtureStats, Statistic, SumStats
from ..stats.counts import CodedColumns
from ..stats.pooling import Moments, column_moments
from ..stats.reservoir import ALL, SAME_WEIGHT, rows_per_weight
from ..stats.rows import occurring
from ..stats.scatter import spread
from ..table.labels import read_labels, read_weights
from .leave_one_out import check_one_kind
from .two_samples import (
    TwoSampleTest,
    combine,
    compare_counts,
    compare_means,
    compare_products,
    fisher,
    left_over,
    p_of,
    p_of_scores,
    rank_scores,
    together,
)

# ── What the two sides of a comparison know of each column: rows where they are there, and statistics of all rows ─────


@dataclass(frozen=True)
class ColumnSummary:
    """One column on one side; by class, and in the last place for rows without a label: k + 1 in all.

    Of numbers, `values` (m,) of the rows there are, NaN where missing, and `moments` (k + 1, 1); of categories
    `levels`, `counts` (k + 1, r), and `values` their level numbers. Either may be None. `missing` (k + 1,) is the
    weight of missing cells, `seen` that of the others; NaN where it is not known.
    """

    values: Array | None
    moments: Moments | None
    levels: tuple[Level, ...] | None
    counts: Array | None
    seen: Array
    missing: Array

    @property
    def is_number(self) -> bool:
        """Whether cells are numbers."""
        return self.levels is None

    @property
    def missing_share(self) -> float:
        """The share of cells that are missing."""
        return float(self.missing.sum()) / max(float((self.missing + self.seen).sum()), 1e-300)


@dataclass(frozen=True)
class Side:
    """The rows of one side: their classes, how many there are of each, and what is known column by column.

    `class_weight` (k + 1,) ends with the rows without a label. Of the rows that are there, m of them, perhaps a sample,
    `codes` are class numbers, k without a label; `count` how many independent rows of all each counts for in a
    comparison, and `own` the same among those of its class.
    """

    blocks: Sequence[Block]
    classes: tuple[Level, ...]
    class_weight: Array
    rows: Sequence[Any] | None
    codes: Codes
    count: Array
    own: Array
    statistics: Sequence[Statistic] | None = None
    filled: bool = False  # whether a release may have filled missing cells, so that none need not mean none

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.class_weight.sum())

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """For each column the first block that reads it, and its place there."""
        found: dict[int, tuple[int, int]] = {}
        for number, block in enumerate(self.blocks):
            for place, position in enumerate(block.positions):
                found.setdefault(position, (number, place))
        return found

    def column(self, position: int, name: object) -> ColumnSummary:
        """Return what is known of a column of the side's own schema; DataError where that is nothing."""
        number, place = self.places[position]
        part = None if self.rows is None else self.rows[number]
        stats = None if self.statistics is None else self.statistics[number]
        if isinstance(part, CodedColumns) or isinstance(stats, CategoricalStats):
            return self._categories(part, stats, place)
        numbers = part is None or is_sparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)
        values = None if part is None or not numbers else _cells(part, place)
        moments = self._moments(number, place, values)
        if moments is None:
            raise DataError(
                f"Column {name!r} is known by statistics of a kind of their own ({type(stats).__name__}), and no rows "
                f"are kept to compare. Next: fit with {either('keep_rows', '--keep-rows')}, or compare tables."
            )
        seen = moments.weight[:, 0] if stats is None else np.append(stats.column_weight()[:, place], 0.0)
        missing = self.class_weight - seen
        missing[missing <= SAME_WEIGHT * self.class_weight] = 0.0
        if isinstance(stats, MixtureStats) and not stats.is_single:  # whose cells were filled in by EM
            seen, missing = self._observed(values)
        if self.filled and not missing.any():
            seen = missing = np.full(len(self.class_weight), np.nan)
        return ColumnSummary(values, moments, None, None, seen, missing)

    def _observed(self, values: Array | None) -> tuple[Array, Array]:
        """Return how many of the rows there are have a cell, and miss it, (k + 1,) each; NaN where there are none."""
        if values is None:
            return np.full(len(self.class_weight), np.nan), np.full(len(self.class_weight), np.nan)
        size, gone = len(self.class_weight), np.isnan(values)
        missing = np.bincount(self.codes, weights=self.count * gone, minlength=size).astype(np.float64)
        return np.bincount(self.codes, weights=self.count, minlength=size) - missing, missing

    def _moments(self, number: int, place: int, values: Array | None) -> Moments | None:
        """Return the moments (k + 1, 1) of a column, of the rows there are where statistics do not hold them."""
        if self.statistics is not None:
            stats, block = self.statistics[number], self.blocks[number]
            whole = once(self, number, lambda: _block_moments(stats, block))
            if whole is not None:
                return Moments(*(np.append(own[:, place], 0.0)[:, None] for own in whole))
        return None if values is None else Moments.of_column(values, self.codes, len(self.class_weight), self.count)

    def _categories(self, part: Any, stats: Any, place: int) -> ColumnSummary:
        codes = None if part is None else np.asarray(part.codes[place])
        if isinstance(stats, CategoricalStats):
            levels, none = stats.levels[place], np.zeros((1, len(stats.levels[place])))
            counts = np.concatenate([stats.counts[place], none])
            missing = np.append(stats.missing[:, place], 0.0)
            if codes is not None:  # rows kept name their own levels
                codes = np.append(places_of(part.levels[place], levels), -1)[codes]
        else:
            assert codes is not None
            levels, codes = occurring(part.levels[place], codes)
            k, r = len(self.class_weight), len(levels)
            table = cross_sums(self.codes, codes, (k, r + 1), self.count)
            counts, missing = table[:, :r], table[:, r]
        values = None if codes is None else np.where(codes < 0, np.nan, codes)
        return ColumnSummary(values, None, tuple(levels), counts, counts.sum(axis=1), missing)


def _block_moments(stats: Statistic, block: Block) -> Moments | None:
    """Return the moments of a block; of sums, which hold no squares, by the law of truth values or by Poisson's."""
    if isinstance(stats, SumStats):
        mean = stats.total / np.where(stats.weight > 0, stats.weight, 1.0)
        return Moments(stats.weight, mean, stats.total * np.where(block.family.support == "truths", 1.0 - mean, 1.0))
    return column_moments(stats)


def _cells(part: Any, place: int) -> Array:
    """Return a column of numbers (m,), dense."""
    if is_sparse(part):
        return np.asarray(part[:, [place]].toarray()[:, 0], dtype=np.float64)
    return np.asarray(part[:, place], dtype=np.float64)


def learned_side(fitted: Fitted, as_weighed: bool = False) -> Side:
    """Return what a model has learned, its statistics and the rows it keeps: counted as rows, or `as_weighed`."""
    statistics, sample = fitted.statistics, fitted.judges
    if sample is not None and not as_weighed and not _are_copies(sample.weight):
        unit = sample.rows_per_weight
        statistics, sample = statistics.scale(unit), sample.scale(unit)
    weight = np.append(statistics.weight, 0.0)
    blocks = fitted.blocks[: len(statistics.blocks)]
    if sample is None or not len(sample.codes):
        none, nobody, filled = np.zeros(0), np.zeros(0, dtype=np.int64), fitted.past.released is not None
        return Side(blocks, statistics.classes, weight, None, nobody, none, none, statistics.blocks, filled)
    k, codes, stands = len(statistics.classes), sample.codes, sample.represented(statistics.weight)
    held = np.bincount(codes, weights=sample.weight, minlength=k)
    whole = (sample.limit == ALL) & (np.abs(held - statistics.weight) <= SAME_WEIGHT * statistics.weight)
    # all rows of a class: copies are rows; a sample of them: a row that was drawn with all its copies is one draw
    doubt = np.where(whole[codes], stands, stands**2)
    by_class = np.bincount(codes, weights=doubt, minlength=k)
    count = stands * (stands.sum() / doubt.sum())
    own = stands * (statistics.weight / np.where(by_class > 0, by_class, 1.0))[codes]
    return Side(blocks, statistics.classes, weight, list(fitted.sampled_rows()), codes, count, own, statistics.blocks)


def table_side(fitted: Fitted, X: object, y: object, sample_weight: object) -> Side:
    """Return the rows of a table as the model reads them; labels may be missing, or of no class it knows."""
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    weight = np.ones(n) if weight is None else weight
    classes, codes = ((), np.full(n, -1)) if y is None else read_labels(y, n, fitted.who, missing="any")
    check_one_kind(fitted.statistics.classes, classes)
    codes = np.where(codes < 0, len(classes), codes)
    weight = weight if _are_copies(weight) else weight * rows_per_weight(weight, np.ones(n))
    total = np.bincount(codes, weights=weight, minlength=len(classes) + 1).astype(np.float64)
    return Side(fitted.blocks, classes, total, list(rows), codes, weight, weight)


def _are_copies(weight: Array) -> bool:
    """Return whether weights (n,) may be how often rows are there: they are whole, and of others n counts (Kish)."""
    return bool((np.abs(np.rint(weight) - weight) <= SAME_WEIGHT * weight).all())


class Pair(NamedTuple):
    """The two sides, in one order of columns and classes."""

    old: Side
    new: Side
    order: Sequence[int]  # the position of each column on the new side
    classes: tuple[Level, ...]

    def of(self, side: Side, values: Array) -> Array:
        """Return numbers by class of a side (k + 1, …) in the order of all classes, without those of no label."""
        return spread(values[:-1], [self.classes.index(label) for label in side.classes], len(self.classes))

    def codes(self, side: Side) -> Codes:
        """Return the class number of each row of a side among all classes, −1 without a label."""
        return np.append(places_of(side.classes, self.classes), -1)[side.codes]


# ── How much a column has moved, and p-values that it has not: at all, within classes, beside class shares ────────────


MOST_LEVELS = 20  # of one column, that are told apart in what class shares leave over
AGREED = 0.5  # weight of what all classes agree on, against that of each class alone
FEWEST_EACH = 10.0  # rows of a level, and of the others, that the smaller side is expected to have in a pair
MOST_PAIRED = 1000  # scores of columns of which all pairs are compared


class Posteriors(NamedTuple):
    """Posteriors of the rows kept (m, k), each by a model of the others, and of the new ones (n, k)."""

    old: Array
    new: Array
    uniform: Array  # log posteriors of the new ones under equal priors


# how much one column has moved: the effect, spread, before, after and level of `Drift`
Size: TypeAlias = tuple[float, float, float, float, Level | None]


def number_effect(old: ColumnSummary, new: ColumnSummary) -> Size:
    """Return how far the mean has moved, in standard deviations before, and the ratio of standard deviations."""
    (m0, s0), (m1, s1) = (mean_and_deviation(own) for own in (old, new))
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.float64(m1 - m0) / s0 if m1 != m0 else np.float64(m1 - m0)
        return float(effect), float(np.float64(s1) / s0), m0, m1, None


def mean_and_deviation(facts: ColumnSummary) -> tuple[float, float]:
    """Return the mean of a column of numbers and its standard deviation; NaN where too few cells tell them."""
    assert facts.moments is not None
    w, mean, scatter = (float(part[0, 0]) for part in facts.moments.pooled())
    return mean if w > 0 else np.nan, np.sqrt(scatter / (w - 1.0)) if w > 1 else np.nan


def _tables(old: ColumnSummary, new: ColumnSummary) -> tuple[tuple[Level, ...], Array, Array]:
    """Return the levels of both sides, and the counts (k + 1, levels + 1) of each, missing cells last."""
    levels = sort_levels([*(old.levels or ()), *(new.levels or ())])
    found = []
    for own in (old, new):
        assert own.levels is not None
        assert own.counts is not None
        table = np.zeros((len(own.counts), len(levels) + 1))
        table[:, places_of(own.levels, levels)] = own.counts
        table[:, -1] = own.missing
        found.append(table)
    return levels, found[0], found[1]


def category_effect(old: ColumnSummary, new: ColumnSummary) -> Size:
    """Return the total variation between the shares of categories, and the one whose share changed most."""
    levels, a, b = _tables(old, new)
    shares = [own.sum(axis=0) / max(float(own.sum()), 1e-300) for own in (a, b)]
    change = shares[1] - shares[0]
    most = int(np.argmax(np.abs(change)))
    level = levels[most] if most < len(levels) else None
    return 0.5 * float(np.abs(change).sum()), np.nan, float(shares[0][most]), float(shares[1][most]), level


def overall(pair: Pair, old: ColumnSummary, new: ColumnSummary) -> float:
    """Return the p-value that all cells of a column have one distribution; NaN where there is nothing to compare."""
    if not old.is_number:
        _, a, b = _tables(old, new)
        return compare_counts(a.sum(axis=0), b.sum(axis=0))
    counts = [np.array([own.seen.sum(), own.missing.sum()]) for own in (old, new)]
    gone = float("nan") if np.isnan(counts).any() else compare_counts(*counts)
    if old.values is None or new.values is None:
        return fisher([_welch(old, new), gone])
    x, weight, later = _stacked(old.values, new.values, pair.old.count, pair.new.count)
    return fisher([p_of_scores(rank_scores(x, weight), weight, later)[0], gone])


def _stacked(old: Array, new: Array, count: Array, fresh: Array) -> tuple[Array, Array, Flags]:
    """Return the observed cells of both sides, how many rows each counts for, and which are new."""
    x, weight = np.concatenate([old, new]), np.concatenate([count, fresh])
    later = np.arange(len(x)) >= len(old)
    told = ~np.isnan(x) & (weight > 0)
    return x[told], weight[told], later[told]


def _welch(old: ColumnSummary, new: ColumnSummary) -> float:
    assert old.moments is not None
    assert new.moments is not None
    parts = zip(old.moments.pooled(), new.moments.pooled(), strict=True)
    return float(compare_means(*(np.concatenate(part) for part in parts))[0])


def within_classes(pair: Pair, old: ColumnSummary, new: ColumnSummary) -> tuple[Array, float]:
    """Return p-values of no change within each class (k,), and one of all: what they agree on, and each alone."""
    found, gone = np.full((2, len(pair.classes)), np.nan)
    tests, gone_tests, shares = list[TwoSampleTest | None](), list[TwoSampleTest | None](), np.zeros(len(found))
    weights = [pair.of(side, side.class_weight) for side in (pair.old, pair.new)]
    both = np.flatnonzero((weights[0] > 0) & (weights[1] > 0))
    shares[both] = weights[0][both] * weights[1][both] / (weights[0][both] + weights[1][both])
    if not old.is_number:
        _, a, b = _tables(old, new)
        a, b = pair.of(pair.old, a), pair.of(pair.new, b)
        for c in both:
            found[c] = compare_counts(a[c], b[c])
            tests.append(_counts_apart(a[c], b[c]))
    else:
        seen = [
            pair.of(side, np.stack([own.seen, own.missing], axis=1)) for side, own in ((pair.old, old), (pair.new, new))
        ]
        holed = old.missing.any() or new.missing.any()
        for c in both if holed and not np.isnan(seen).any() else ():
            gone[c] = compare_counts(seen[0][c], seen[1][c])
            gone_tests.append(_counts_apart(seen[0][c], seen[1][c]))
        for c, (p, test) in zip(both, _numbers_within(pair, old, new, both), strict=True):
            found[c] = p
            tests.append(test)
    of_all = ([own for own in part if own is not None] for part in (tests, gone_tests))
    agreed = fisher([p_of(together(part)) for part in of_all if part])
    each = np.array([fisher([p, q]) for p, q in zip(found, gone, strict=True)])
    if len(both) < 2:
        return each, float(np.nanmin(each)) if not np.isnan(each).all() else float("nan")
    every = combine(each, shares)
    return each, combine([agreed, every], np.array([AGREED, 1.0 - AGREED]))


def _counts_apart(before: Array, after: Array) -> TwoSampleTest | None:
    """Return how far apart the shares of levels are, as if each were scored in the rows."""
    n, m = float(after.sum()), float(before.sum())
    if not (n > 0 and m > 0 and n + m > 1):
        return None
    share = (before + after) / (n + m)
    spread = (np.diag(share) - np.outer(share, share)) * (n + m) / (n + m - 1.0)
    rare = min(n, m) * np.minimum(share, 1.0 - share)
    return TwoSampleTest(after / n - before / m, spread * (1.0 / n + 1.0 / m), rare, n + m - 1.0, n * m / (n + m))


def _numbers_within(
    pair: Pair, old: ColumnSummary, new: ColumnSummary, both: Codes
) -> list[tuple[float, TwoSampleTest | None]]:
    """Return for each of some classes its p-value, and how far apart its rows are."""
    if old.values is None or new.values is None:
        assert old.moments is not None
        assert new.moments is not None
        a = Moments(*(pair.of(pair.old, part) for part in old.moments))
        b = Moments(*(pair.of(pair.new, part) for part in new.moments))
        return [_means_apart(*(np.stack([x[c], y[c]]) for x, y in zip(a, b, strict=True))) for c in both]
    x, weight, later = _stacked(old.values, new.values, pair.old.own, pair.new.own)
    told = np.concatenate([~np.isnan(old.values) & (pair.old.own > 0), ~np.isnan(new.values) & (pair.new.own > 0)])
    codes = np.concatenate([pair.codes(pair.old), pair.codes(pair.new)])[told]
    classes = [np.flatnonzero(codes == c) for c in both]
    return [p_of_scores(rank_scores(x[own], weight[own]), weight[own], later[own]) for own in classes]


def _means_apart(weight: Array, mean: Array, scatter: Array) -> tuple[float, TwoSampleTest | None]:
    """Return Welch's p-value of two means (2, 1), and how far apart these are."""
    p = float(compare_means(weight, mean, scatter)[0])
    n, m = float(weight[0, 0]), float(weight[1, 0])
    if n < 2 or m < 2 or p != p:
        return p, None
    error = float((scatter / (weight - 1.0) / weight).sum())
    sure = np.full(1, np.inf)
    return p, TwoSampleTest(
        mean[1] - mean[0], np.array([[error]]), sure, n + m - 2.0, n * m / (n + m)
    ) if error > 0 else None


def beside_shares(pair: Pair, old: ColumnSummary, new: ColumnSummary, found: Posteriors, priors: Array) -> float:
    """Return the p-value that what has changed is class shares alone; NaN where no rows are kept."""
    if not len(found.old) or old.values is None or new.values is None:
        return float("nan")
    posterior = np.concatenate([found.old, found.new])
    codes = np.concatenate([pair.old.codes, np.full(len(found.new), -1)])
    weight = np.concatenate([pair.old.own, pair.new.own])
    if old.is_number:
        x = np.concatenate([old.values, new.values])
        gone = np.isnan(x)
        told = ~gone & (weight > 0)
        scores = rank_scores(x[told], weight[told])
        first = left_over(scores, posterior[told], codes[told], weight[told], priors)
        second = left_over(gone[:, None].astype(np.float64), posterior, codes, weight, priors) if gone.any() else None
        return fisher([p_of(own) for own in (first, second) if own is not None])
    apart = left_over(_indicators(old, new), posterior, codes, weight, priors)
    return float("nan") if apart is None else p_of(apart)


def _indicators(old: ColumnSummary, new: ColumnSummary) -> Array:
    """Return flags (n, r) of the commonest levels of a column, missing cells among them, in the rows of both sides."""
    levels, a, b = _tables(old, new)
    codes = []
    for own in (old, new):
        assert own.levels is not None
        assert own.values is not None
        table = np.append(places_of(own.levels, levels), len(levels))
        codes.append(table[np.where(np.isnan(own.values), -1, own.values).astype(np.int64)])
    held = a.sum(axis=0) + b.sum(axis=0)
    common = [i for i in np.argsort(-held, kind="stable")[:MOST_LEVELS] if held[i] > 0]
    flags = np.concatenate(codes)[:, None] == np.array(common)
    return np.asarray(flags, dtype=np.float64)


def pair_scores(pair: Pair, old: ColumnSummary, new: ColumnSummary) -> Array | None:
    """Return scores (n, s) of a column in the rows of both sides, by which it may go together with others.

    Of numbers that is their place among all, 0 where missing; of categories whether a cell is of a level, for those
    that are not too rare. None where there are none, or no rows.
    """
    if old.values is None or new.values is None:
        return None
    count = np.concatenate([pair.old.count, pair.new.count])
    few = min(float(pair.old.count.sum()), float(pair.new.count.sum()))
    if old.is_number:
        x = np.concatenate([old.values, new.values])
        told = ~np.isnan(x) & (count > 0)
        scores = np.zeros((len(x), 1))
        scores[told, 0] = rank_scores(x[told], count[told])[:, 0]
        tied = np.unique(scores[told, 0], return_inverse=True)[1]
        most = np.bincount(tied, weights=count[told]).max(initial=0.0) / max(float(count.sum()), 1e-300)
        return scores if few * (1.0 - most) >= FEWEST_EACH else None
    flags = _indicators(old, new)
    share = count @ flags / max(float(count.sum()), 1e-300)
    return flags[:, few * np.minimum(share, 1.0 - share) >= FEWEST_EACH]


def compare_pairs(pair: Pair, scores: list[Array | None]) -> tuple[float, tuple[int, int] | None]:
    """Return the p-value that all pairs of columns go together as they did, and the pair that speaks most against it.

    `scores` are those of each column. NaN and None where there is no pair, or more columns than can be paired.
    """
    owner = np.concatenate([np.full(0 if own is None else own.shape[1], j) for j, own in enumerate(scores)])
    if len(np.unique(owner)) < 2 or len(owner) > MOST_PAIRED:
        return float("nan"), None
    whole = np.concatenate([own for own in scores if own is not None], axis=1)
    count = np.concatenate([pair.old.count, pair.new.count])
    p = compare_products(whole, count, np.arange(len(count)) >= len(pair.old.count))
    p[(owner[:, None] == owner) | np.tri(len(owner), dtype=bool)] = np.nan
    if np.isnan(p).all():
        return float("nan"), None
    first, second = np.unravel_index(int(np.nanargmin(p)), p.shape)
    return combine(p.ravel()), (int(owner[first]), int(owner[second]))
