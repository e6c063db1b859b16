"""Tests of two samples against SciPy, against deals of the rows, and by simulation under no change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from suffice.questions.two_samples import (
    combine,
    compare_counts,
    compare_means,
    compare_scores,
    fisher,
    holm,
    p_of,
    p_of_scores,
    rank_scores,
)


def ranks_p(old: np.ndarray, new: np.ndarray) -> float:
    x = np.concatenate([old, new])
    w = np.ones(len(x))
    p, _ = p_of_scores(rank_scores(x, w), w, np.arange(len(x)) >= len(old))
    return 1.0 if p != p else p


def test_place_alone_is_wilcoxons_test() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=90), 1)  # with ties
    new = np.arange(90) < 40
    apart = compare_scores(rank_scores(x, np.ones(90))[:, :1], np.ones(90), new)
    assert apart is not None
    z2 = float(apart.difference[0] ** 2 / apart.covariance[0, 0])
    theirs = stats.mannwhitneyu(x[new], x[~new], method="asymptotic", use_continuity=False).pvalue
    assert 2 * stats.norm.sf(np.sqrt(z2)) == pytest.approx(theirs, rel=1e-9)


def test_the_covariance_is_that_of_all_deals() -> None:
    x = np.array([0.0, 1.0, 1.0, 2.5, 4.0, 4.0, 9.0])
    w = np.ones(7)
    scores = rank_scores(x, w)
    differences = []
    for chosen in combinations(range(7), 3):
        new = np.isin(np.arange(7), chosen)
        differences.append(scores[new].mean(axis=0) - scores[~new].mean(axis=0))
    apart = compare_scores(scores, w, np.arange(7) < 3)
    assert apart is not None
    np.testing.assert_allclose(np.cov(np.array(differences).T, bias=True), apart.covariance, atol=1e-12)
    np.testing.assert_allclose(np.mean(differences, axis=0), 0.0, atol=1e-12)


def test_rank_scores_are_legendre_polynomials_of_midranks() -> None:
    x = np.array([3.0, 1.0, 3.0, 7.0])
    t = 2 * (stats.rankdata(x) - 0.5) / 4 - 1
    np.testing.assert_allclose(rank_scores(x, np.ones(4)), np.column_stack([t, 1.5 * t**2 - 0.5]))


def test_weight_two_is_the_row_twice() -> None:
    rng = np.random.default_rng(1)
    x, new = rng.normal(size=60), np.arange(60) < 25
    w = rng.integers(1, 4, 60).astype(float)
    again = np.repeat(np.arange(60), w.astype(int))
    one = p_of_scores(rank_scores(x, w), w, new)[0]
    ones = np.ones(len(again))
    assert one == pytest.approx(p_of_scores(rank_scores(x[again], ones), ones, new[again])[0], rel=1e-9)


def test_dense_counts_are_pearsons_test() -> None:
    before, after = np.array([80.0, 120.0, 60.0]), np.array([50.0, 45.0, 40.0])
    found = stats.chi2_contingency(np.stack([before, after]), correction=False)
    n = before.sum() + after.sum()
    expected = stats.chi2.sf(found.statistic * (n - 1) / n, 2)
    assert compare_counts(before, after) == pytest.approx(expected, rel=1e-9)


def test_few_counts_are_dealt_out() -> None:
    before, after = np.array([30.0, 3.0, 1.0]), np.array([3.0, 2.0, 4.0])
    exact = stats.fisher_exact(np.stack([before, after]).astype(int)).pvalue  # of the probability, not of chi-square
    rng = np.random.default_rng(0)
    margin = (before + after).astype(int)
    draws = rng.multivariate_hypergeometric(margin, 9, 200_000)
    far = (((draws - margin * 9 / 43) ** 2) / margin).sum(axis=1)
    share = (far >= (((after - margin * 9 / 43) ** 2) / margin).sum() - 1e-9).mean()
    found = compare_counts(before, after)
    assert abs(found - share) < 4 * np.sqrt(share / 2000) + 1e-3
    assert 0.1 < found / exact < 10


def test_an_unseen_level_tells_what_it_can() -> None:
    found = compare_counts(np.array([5000.0, 5000.0, 0.0]), np.array([100.0, 100.0, 8.0]))
    exact = stats.hypergeom.sf(7, 10208, 8, 208)
    assert exact < found <= 6 * exact * (1 + 1e-9)


def test_welch_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(30, 4)), rng.normal(0.3, 2, size=(12, 4))
    facts = [np.array([np.full(4, 30.0), np.full(4, 12.0)]), np.stack([a.mean(0), b.mean(0)])]
    scatter = np.stack([((own - own.mean(0)) ** 2).sum(0) for own in (a, b)])
    np.testing.assert_allclose(compare_means(*facts, scatter), stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_means_of_constants_and_of_nothing() -> None:
    weight = np.array([[5.0, 5.0, 5.0], [4.0, 4.0, 0.0]])
    mean = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 0.0]])
    found = compare_means(weight, mean, np.zeros((2, 3)))
    np.testing.assert_array_equal(found, [np.nan, 0.0, np.nan])


def test_the_quadratic_form_is_hotellings() -> None:
    """With scores that are the columns themselves, Q is Hotelling's T² about the common mean, whose F is exact."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(25, 3)), rng.normal(size=(14, 3)) + 0.3
    apart = compare_scores(np.concatenate([a, b]), np.ones(39), np.arange(39) >= 25)
    assert apart is not None
    pooled = (np.cov(a.T) * 24 + np.cov(b.T) * 13) / 37
    gap = a.mean(0) - b.mean(0)
    t2 = 25 * 14 / 39 * gap @ np.linalg.solve(pooled, gap)
    assert p_of(apart) == pytest.approx(stats.f.sf(t2 * (37 - 3 + 1) / (37 * 3), 3, 35), rel=1e-9)
    assert p_of(apart._replace(rare=np.full(3, 5.0 - 1e-14))) == p_of(apart)  # five rows, as rounded


def test_fisher_and_holm_are_those_of_scipy() -> None:
    p = [0.03, 0.2, 0.9]
    assert fisher(p) == pytest.approx(stats.combine_pvalues(p, "fisher").pvalue, rel=1e-12)
    assert fisher([0.2, float("nan")]) == 0.2
    assert np.isnan(fisher([]))
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, np.nan, 0.03])), [0.06, 0.03, np.nan, 0.06])


def test_cauchy_combination_is_uniform_and_keeps_small_ones() -> None:
    rng = np.random.default_rng(5)
    found = np.array([combine(rng.random(6)) for _ in range(4000)])
    assert abs((found <= 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 4000)
    assert combine(np.array([1e-200, 0.5])) == pytest.approx(2e-200, rel=1e-6)
    assert np.isnan(combine(np.array([np.nan])))


DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "counts": lambda rng, n: rng.poisson(2, n).astype(float),
    "rare": lambda rng, n: (rng.random(n) < 0.03).astype(float),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("m", "n"), [(100, 10), (1000, 100), (2000, 5000), (100, 2)])
def test_ranks_hold_their_level(kind: str, m: int, n: int) -> None:
    """Of p-values without a change at most α are up to α: within 3.5 standard errors of 300 tables."""
    rng = np.random.default_rng(7)
    tables = 300 if n < 1000 else 100
    p = np.array([ranks_p(DRAWS[kind](rng, m), DRAWS[kind](rng, n)) for _ in range(tables)])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() <= level + 3.5 * np.sqrt(level * (1 - level) / tables)
    if kind == "cauchy":  # no ties: uniform (Kolmogorov)
        assert stats.kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("m", "n"), [(100, 10), (10_000, 100), (5000, 5000)])
def test_counts_hold_their_level(m: int, n: int) -> None:
    """The same of categories with rare levels."""
    rng = np.random.default_rng(8)
    share = 1 / np.arange(1, 13) ** 2
    share /= share.sum()
    p = np.array([compare_counts(rng.multinomial(m, share), rng.multinomial(n, share)) for _ in range(300)])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() <= level + 3.5 * np.sqrt(level * (1 - level) / 300)
