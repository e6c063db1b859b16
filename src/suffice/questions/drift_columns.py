"""How much one column has moved, and the p-values that it has not: at all, within classes, and beside class shares."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .._arrays import Array, Codes, NDArray, np
from ..schema import Level, sort_levels
from ..stats.pooling import Moments
from .drift_sides import ColumnSummary, Pair
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
    (m0, s0), (m1, s1) = (_mean_and_deviation(own) for own in (old, new))
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.float64(m1 - m0) / s0 if m1 != m0 else np.float64(m1 - m0)
        return float(effect), float(np.float64(s1) / s0), m0, m1, None


def _mean_and_deviation(facts: ColumnSummary) -> tuple[float, float]:
    assert facts.moments is not None
    w, mean, scatter = (float(part[0, 0]) for part in facts.moments.pooled())
    return mean if w > 0 else np.nan, np.sqrt(scatter / (w - 1.0)) if w > 1 else np.nan


def _tables(old: ColumnSummary, new: ColumnSummary) -> tuple[tuple[Level, ...], Array, Array]:
    """Return the levels of both sides, and the counts (k + 1, levels + 1) of each, missing cells last."""
    levels = sort_levels([*(old.levels or ()), *(new.levels or ())])
    place = {level: i for i, level in enumerate(levels)}
    found = []
    for own in (old, new):
        assert own.levels is not None
        assert own.counts is not None
        table = np.zeros((len(own.counts), len(levels) + 1))
        table[:, [place[level] for level in own.levels]] = own.counts
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


def marginal(pair: Pair, old: ColumnSummary, new: ColumnSummary) -> float:
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


def _stacked(old: Array, new: Array, count: Array, fresh: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
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


def within(pair: Pair, old: ColumnSummary, new: ColumnSummary) -> tuple[Array, float]:
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
    return each, combine(np.array([agreed, every]), np.array([AGREED, 1.0 - AGREED]))


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


def left(pair: Pair, old: ColumnSummary, new: ColumnSummary, found: Posteriors, priors: Array) -> float:
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
    place = {level: i for i, level in enumerate(levels)}
    codes = []
    for own in (old, new):
        assert own.levels is not None
        assert own.values is not None
        table = np.array([*(place[level] for level in own.levels), len(levels)])
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
