"""Two-sample tests: of numbers by ranks, of categories by counts, of means.

Every test asks how far the two samples are apart compared with how far the same rows would be apart if they were dealt
out to the samples at random, and its p-value is uniform for samples of one distribution, whatever that is: ranks have
no tails, tied numbers share their rank, and counts too small for the chi-square law are dealt out. Only
`compare_means` knows no rows, and relies on the normal law of means.

Weights are copies: weight 2 is the row twice. SciPy's tests of ranks and of tables take none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from .._arrays import Array, Codes, Flags, betainc, gammaincc, hypergeom, ndtr, nnls, np

# expected rows in the smallest cell from which on chi-square has its law (Cochran 1954): five, however rounded
ENOUGH = 5.0 - 1e-9
DEALS = 2000  # random deals of a small table
MOST_DRAWS = 4_000_000  # random counts in all of these
MANY_LEVELS = 200  # of numbers, above which rows are dealt out and not counts
FEW = 10  # deals as extreme as the table, below which their share is too rough
MOST_DEALT = 1e9  # rows that can be dealt out
ROUNDING = 1e-9
RANK = 1e-10  # relative variance of a direction of scores that is none
SINGULAR = 1e-8  # relative, of mean posteriors that do not tell classes apart
FAINT = 1e-4  # by how much priors count beside what mean posteriors tell of class shares
LARGEST_P = 0.95  # a p-value above tells no more against a difference than this


class TwoSampleTest(NamedTuple):
    """How far the mean scores (q,) of two samples are apart, its covariance (q, q) if rows were dealt out, and sizes.

    `rare` (q,) is how many rows of the smaller sample are expected to have another score than the commonest. `free` are
    the degrees of freedom of the covariance, `share` n m / (n + m) of samples of n and m rows.
    """

    difference: Array
    covariance: Array
    rare: Array
    free: float
    share: float


def rank_scores(values: Array, weight: Array) -> Array:
    """Return two scores of each number (n, 2), of its place and of how far out it is, by its rank among all.

    With u in (0, 1) the share of the weight below a number and half of that tied with it, and t = 2u − 1, they are the
    Legendre polynomials t and (3t² − 1) / 2: the first is Wilcoxon's score, the second, like Mood's (1954,
    doi:10.1214/aoms/1177728719), tells spread. Numbers that are NaN are none, and so is a weight of 0.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(values) else np.zeros(0, int)
    last = np.append(first[1:], len(values))
    middle = 0.5 * (total[first] + total[last]) / max(total[-1], 1e-300)
    t = np.empty(len(values))
    t[order] = 2.0 * np.repeat(middle, last - first) - 1.0
    return np.column_stack([t, 1.5 * t**2 - 0.5])


def compare_scores(scores: Array, weight: Array, new: Flags) -> TwoSampleTest | None:
    """Return how far apart the mean scores of rows (n, q) are, of those that are `new` (n,) and of the others.

    The covariance is that of all deals of the rows to the two samples: S (1/n + 1/m), S the covariance of all scores
    with divisor n + m − 1. None where one sample is empty, or all scores are alike.
    """
    n, m = float(weight[new].sum()), float(weight[~new].sum())
    if not (n > 0 and m > 0 and n + m > 1):
        return None
    mean = weight @ scores / (n + m)
    away = scores - mean
    spread = (weight[:, None] * away).T @ away / (n + m - 1.0)
    if not (np.diagonal(spread) > ROUNDING**2).any():
        return None
    first, second = weight[new] @ away[new] / n, weight[~new] @ away[~new] / m
    rare = min(n, m) * _uncommon(scores, weight)
    return TwoSampleTest(first - second, spread * (1.0 / n + 1.0 / m), rare, n + m - 1.0, n * m / (n + m))


def _uncommon(scores: Array, weight: Array) -> Array:
    """Return the share of the weight (q,) that is not of the commonest value of each score."""
    most = [np.bincount(np.unique(own, return_inverse=True)[1], weights=weight).max() for own in scores.T]
    return np.asarray(1.0 - np.array(most) / float(weight.sum()))


def p_of(apart: TwoSampleTest) -> float:
    """Return the p-value of a difference D with covariance C: Q = Dᵀ C⁻¹ D, by the law of Q over its largest value.

    Q / (n + m − 1) is the squared multiple correlation of the sample with the scores, whose law is about
    Beta(q / 2, (n + m − 1 − q) / 2), q the rank of C (Pitman 1938, doi:10.1093/biomet/29.3-4.322). Scores that are not
    the commonest in fewer than five rows have not that law, and are left out; NaN where no other is left.
    """
    kept = apart.rare >= ENOUGH
    q, rank = _quadratic(apart.difference[kept], apart.covariance[np.ix_(kept, kept)])
    rest = apart.free - rank
    if rank == 0 or rest <= 0:
        return float("nan")
    return float(betainc(0.5 * rest, 0.5 * rank, max(1.0 - q / apart.free, 0.0)))


def p_of_scores(scores: Array, weight: Array, new: Flags) -> tuple[float, TwoSampleTest | None]:
    """Return the p-value that `new` rows and the others have the same mean scores (n, q), and how far these are apart.

    Where one sample expects fewer than five rows beside the commonest score, rows are dealt out to the samples 2,000
    times, as in `compare_counts`. NaN and None where there is nothing to compare.
    """
    apart = compare_scores(scores, weight, new)
    if apart is None:
        return float("nan"), None
    if float(apart.rare.min()) >= ENOUGH or weight.sum() > MOST_DEALT:
        return p_of(apart), apart
    _, one, level = np.unique(scores, axis=0, return_index=True, return_inverse=True)
    level = level.reshape(-1)
    after = np.bincount(level, weights=weight * new, minlength=len(one)).astype(np.float64)
    before = np.bincount(level, weights=weight * ~new, minlength=len(one)).astype(np.float64)
    found, far = _quadratic(apart.difference, apart.covariance)[0], partial(_far_scores, scores[one], apart.covariance)
    return _dealt(before, after, found, far, len(one) <= MANY_LEVELS), apart


def _dealt(before: Array, after: Array, found: float, far: Callable[[Array, int], Array], level_laws: bool) -> float:
    """Return the share of deals of the rows to the samples that are as far apart as `found`; counts (r,) are by level.

    `far` deals out so many rows of so many (r,) of each level in all, and says how far apart each deal is. By the
    levels' own laws, where hardly any deal is so, the p-value is the smallest of theirs times their number.
    """
    margin = np.maximum(np.rint(before + after), 1.0)
    few = after if after.sum() <= before.sum() else before
    n = int(np.clip(np.rint(few.sum()), 1, margin.sum() - 1))
    dealt = far(margin, n)
    extreme = int((dealt >= found * (1.0 - ROUNDING)).sum())
    share = (1.0 + extreme) / (1.0 + len(dealt))
    if extreme >= FEW or not level_laws:
        return share
    total = margin.sum()
    at = np.clip(np.rint(few), np.maximum(n - (total - margin), 0.0), np.minimum(margin, n))
    sides = np.minimum(hypergeom.cdf(at, total, margin, n), hypergeom.sf(at - 1.0, total, margin, n))
    return min(share, len(margin) * min(1.0, 2.0 * float(sides.min())))


def _far_scores(scores: Array, covariance: Array, margin: Array, n: int) -> Array:
    """Return how far apart the mean scores of deals are (deals,); the levels have these scores (r, q)."""
    total = int(margin.sum())
    if len(margin) <= MANY_LEVELS:
        drawn = _deals(margin, n) @ scores / n
    else:
        level = np.repeat(np.arange(len(margin)), margin.astype(np.int64))
        drawn = scores[level[_dealt_rows(total, n)]].mean(axis=1)
    away = (drawn - margin @ scores / total) * (total / (total - n))
    values, vectors = np.linalg.eigh(covariance)
    kept = values > RANK * values[-1]
    return np.asarray(((away @ vectors[:, kept]) ** 2 / values[kept]).sum(axis=1))


@lru_cache(maxsize=4)
def _dealt_rows(total: int, n: int) -> Codes:
    """Return numbers (deals, n) of rows dealt out, out of so many in all; the same for every column."""
    rng = np.random.default_rng(n)
    return np.stack([rng.choice(total, n, replace=False, shuffle=False) for _ in range(DEALS)])


def _deals(margin: Array, n: int) -> Codes:
    """Return how many of n rows dealt out are of each level (deals, r), of so many (r,) in all."""
    deals = int(np.clip(MOST_DRAWS // len(margin), 200, DEALS))
    rng = np.random.default_rng(len(margin))
    return rng.multivariate_hypergeometric(margin.astype(np.int64), n, deals, method="marginals")


def together(parts: Sequence[TwoSampleTest]) -> TwoSampleTest:
    """Return the difference that several strata agree on, each weighed by how much it knows (Mantel & Haenszel)."""
    difference = sum((own.share * own.difference for own in parts), np.zeros(len(parts[0].difference)))
    covariance = sum((own.share**2 * own.covariance for own in parts), np.zeros_like(parts[0].covariance))
    return TwoSampleTest(
        np.asarray(difference),
        np.asarray(covariance),
        np.sum([own.rare for own in parts], axis=0),
        sum(own.free for own in parts),
        sum(own.share for own in parts),
    )


def _quadratic(difference: Array, covariance: Array) -> tuple[float, int]:
    """Return Dᵀ C⁺ D and the rank of C, judged on the scale of its correlations."""
    size = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    used = np.flatnonzero(size > ROUNDING * max(float(size.max(initial=0.0)), 1e-300))
    if not len(used):
        return 0.0, 0
    scaled = covariance[np.ix_(used, used)] / np.outer(size[used], size[used])
    values, vectors = np.linalg.eigh(scaled)
    kept = values > RANK * values[-1]
    along = (difference[used] / size[used]) @ vectors[:, kept]
    return float((along**2 / values[kept]).sum()), int(kept.sum())


def compare_counts(before: Array, after: Array) -> float:
    """Return the p-value that counts (r,) of the same levels in two samples have the same shares; NaN for one level.

    Pearson's chi-square times (n − 1) / n by its law where every cell is expected to hold five rows. Otherwise the same
    number is compared with that of 2,000 tables with the same margins, dealt out at random. Where hardly any of
    these is as extreme, the p-value is the smallest of the levels' own, each by the hypergeometric law, times the
    number of levels, so that a level never seen before tells what it can.
    """
    shown = before + after > 0
    before, after = before[shown].astype(np.float64), after[shown].astype(np.float64)
    n, m = float(after.sum()), float(before.sum())
    if len(after) < 2 or n <= 0 or m <= 0 or n + m <= 1:
        return float("nan")
    order = np.lexsort((after, before + after))  # so that the order of levels decides no deal
    before, after = before[order], after[order]
    found = _chi_square(after, before + after, n)
    smallest = min(n, m) * float((before + after)[0]) / (n + m)
    if smallest >= ENOUGH or n + m > MOST_DEALT:
        return float(gammaincc(0.5 * (len(after) - 1), 0.5 * found * (n + m - 1.0) / (n + m)))
    return _dealt(before, after, float(found), lambda margin, n: _chi_square(_deals(margin, n), margin, n), True)


def _chi_square(after: Array | Codes, all_rows: Array, n: float) -> Array:
    """Return Pearson's chi-square of tables whose second row is `after` (…, r), with these margins."""
    share = n / float(all_rows.sum())
    return np.asarray(((after - share * all_rows) ** 2 / (share * (1.0 - share) * all_rows)).sum(axis=-1))


def compare_products(scores: Array, weight: Array, new: Flags) -> Array:
    """Return the p-value (c, c) for each pair of scores (n, c) that they vary together alike in `new` rows and others.

    Compared are the covariances of the two samples, each about its own means, by the normal law of a mean of products.
    The diagonal, of variances, is NaN, and so is all of it where a sample is empty.
    """
    c = scores.shape[1]
    n, m = float(weight[new].sum()), float(weight[~new].sum())
    if not (n > 1 and m > 1):
        return np.full((c, c), np.nan)
    away, mean = np.empty_like(scores), []
    for mine, size in ((new, n), (~new, m)):
        away[mine] = scores[mine] - weight[mine] @ scores[mine] / size
        mean.append((weight[mine, None] * away[mine]).T @ away[mine] / size)
    square = away**2
    center = (n * mean[0] + m * mean[1]) / (n + m)
    variance = (weight[:, None] * square).T @ square / (n + m) - center**2
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(mean[0] - mean[1]) / np.sqrt(np.where(variance > ROUNDING, variance, np.nan) * (1.0 / n + 1.0 / m))
    out = 2.0 * ndtr(-far)
    np.fill_diagonal(out, np.nan)
    return np.asarray(out)


def compare_means(weight: Array, mean: Array, scatter: Array) -> Array:
    """Return the p-value (d,) that two samples have one mean: Welch's t test, of weights, means and scatters (2, d).

    Scatters are sums of squares about the mean. For means of few rows from a heavy or lopsided tail it is only as
    right as their normal law. NaN where a sample has no row, or neither has two.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(weight > 1, scatter / (weight - 1.0), np.nan)
        single = np.isnan(variance)
        variance = np.where(single, variance[::-1], variance)  # a single row is taken to spread as the others do
        part = variance / weight
        error = part.sum(axis=0)
        one = np.where(single, np.maximum(weight[::-1] - 1.0, 1.0), np.maximum(weight - 1.0, 1e-300))
        free = error**2 / (part**2 / one).sum(axis=0)
        square = (mean[1] - mean[0]) ** 2 / error
        p = betainc(0.5 * free, 0.5, free / (free + square))
    p = np.where(np.isposinf(square), 0.0, p)  # two constants that are not the same
    same = (error == 0) & (mean[0] == mean[1])
    return np.where((weight > 0).all(axis=0) & ~same, p, np.nan)


def combine(values: Sequence[float] | Array, weight: Array | None = None) -> float:
    """Return one p-value of several (m,), however they depend on each other, weighed (m,); NaN are none, none is NaN.

    Liu & Xie (2020), Cauchy combination, doi:10.1080/01621459.2018.1554485: the weighted mean of tan((½ − p) π) has
    about the tail of one Cauchy variable.
    """
    p_values = np.asarray(values)
    told = ~np.isnan(p_values)
    if not told.any():
        return float("nan")
    if told.sum() == 1:
        return float(p_values[told][0])
    p = np.clip(p_values[told], 1e-300, LARGEST_P)
    share = np.ones(len(p)) if weight is None else weight[told]
    far = np.where(p < 1e-8, 1.0 / (np.pi * p), np.tan((0.5 - p) * np.pi))
    mean = float(share @ far / share.sum())
    return 1.0 / (np.pi * mean) if mean > 1e8 else float(0.5 - np.arctan(mean) / np.pi)


def fisher(p_values: Sequence[float]) -> float:
    """Return one p-value of several that do not depend on each other: −2 Σ log p is chi-square; NaN are none."""
    told = [max(p, 1e-300) for p in p_values if p == p]
    if len(told) < 2:
        return told[0] if told else float("nan")
    return float(gammaincc(len(told), -float(np.log(told).sum())))


def holm(p_values: Array) -> Array:
    """Return p-values (d,) adjusted for their number: one is at most α by chance in a share of at most α of all tests.

    Holm (1979), A simple sequentially rejective multiple test procedure, however they depend on each other. NaN stay.
    """
    out = np.full(len(p_values), np.nan)
    told = np.flatnonzero(~np.isnan(p_values))
    order = told[np.argsort(p_values[told], kind="stable")]
    times = np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(p_values[order] * times), 1.0)
    return out


def left_over(scores: Array, posterior: Array, codes: Codes, weight: Array, priors: Array) -> TwoSampleTest | None:
    """Return how far new rows are from old ones apart from what other shares of the classes explain.

    `scores` (n, q) and `posterior` (n, k) are of old rows, of the classes `codes` (n,), and of new ones, whose code is
    −1; `weight` (n,) counts rows, and `priors` (k,) are about the classes' shares among the new. From the scores a
    combination of the posteriors is taken away, such that their mean is the same in every class of old rows: other
    shares then move it nowhere, whatever the posteriors get wrong (the moments of Lipton, Wang & Smola 2018,
    arXiv:1802.03916, section 3). None where one sample is empty.
    """
    new, k = codes < 0, posterior.shape[1]
    n, old = float(weight[new].sum()), np.bincount(codes[~new], weights=weight[~new], minlength=k)
    used = old > 0
    if n <= 0 or not used.any():
        return None
    one = np.zeros((k, len(codes)))
    one[codes[~new], np.flatnonzero(~new)] = weight[~new]
    one = one[used] / old[used][:, None]
    mean_score, mean_posterior = one @ scores, one @ posterior
    share = _shares(mean_posterior, weight[new] @ posterior[new] / n, priors[used])
    turn, *_ = np.linalg.lstsq(mean_posterior - share @ mean_posterior, mean_score - share @ mean_score, rcond=SINGULAR)
    rest = scores - posterior @ turn
    away = rest - share @ (one @ rest)
    known = 1.0 / float((share**2 / old[used]).sum())  # so many rows would know the mean of old ones in these shares
    pooled = np.where(new, weight, known * (share @ one))
    spread = (pooled[:, None] * away).T @ away / max(n + known - 1.0, 1e-300)
    if not (np.diagonal(spread) > ROUNDING**2).any():
        return None
    difference = weight[new] @ away[new] / n
    rare = min(n, known) * _uncommon(scores, weight)
    return TwoSampleTest(difference, spread * (1.0 / n + 1.0 / known), rare, n + known - 1.0, n * known / (n + known))


def _shares(of_class: Array, found: Array, priors: Array) -> Array:
    """Return the shares (k,) in which classes of these mean posteriors (k, k) have the mean posterior found (k,).

    Where that does not tell them, they are near the priors (k,).
    """
    k = len(priors)
    priors = priors / priors.sum() if priors.sum() > 0 else np.full(k, 1.0 / k)
    equations = np.concatenate([of_class.T, np.sqrt(FAINT) * np.eye(k), np.full((1, k), 1.0 / FAINT)])
    share, _ = nnls(equations, np.concatenate([found, np.sqrt(FAINT) * priors, [1.0 / FAINT]]))
    return np.asarray(share / share.sum())
