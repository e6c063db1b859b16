"""Data augmentation on statistics of patterns, against the same on rows, and against a posterior in closed form."""

import numpy as np
import pytest
from scipy import stats

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.densities import Full, Gaussian
from suffice.em.filling import draw_completed
from suffice.questions.proba_interval import posteriors
from suffice.stats import FullScatter, PatternStats, PooledScatter
from suffice.stats.patterns import groups_of

LEVEL = 1e-3  # of every goodness-of-fit test below; seeds are fixed


@pytest.mark.parametrize("form", [FullScatter, PooledScatter])
def test_statistics_are_as_those_of_drawn_rows(form) -> None:
    """Mean and standard deviation of every mean and sum of products, within five standard errors."""
    rng, k, d = np.random.RandomState(0), 2, 3
    X, codes = rng.normal(size=(40, d)) @ rng.normal(size=(d, d)), np.arange(40) % k
    holed = np.where(rng.random_sample(X.shape) < 0.3, np.nan, X)
    holed[np.isnan(holed).all(axis=1), 0] = 0.0
    means = np.stack([X[codes == c].mean(axis=0) for c in range(k)])
    covariance = np.stack([np.cov(X[codes == c].T) for c in range(k)])
    covariance = covariance[:1] if form is PooledScatter else covariance
    groups = groups_of(PatternStats.summarize(holed, codes, k, None, form))
    density = Gaussian(means, Full.factor(covariance), tuple(range(d)))

    def of_rows(n: int) -> np.ndarray:
        rows = density.sample(np.tile(holed, (n, 1)), np.tile(codes, n), rng).reshape(n, *X.shape)
        center = np.stack([rows[:, codes == c].mean(axis=1) for c in range(k)], axis=1)
        apart = rows - center[:, codes]
        products = np.stack(
            [np.einsum("nri,nrj->nij", own, own) for own in (apart[:, codes == c] for c in range(k))], 1
        )
        products = products.sum(axis=1) if form is PooledScatter else products
        return np.hstack([center.reshape(n, -1), products.reshape(n, -1)])

    def of_statistics() -> np.ndarray:
        found = draw_completed(groups, means, covariance, form, rng)
        return np.concatenate([found.mean.ravel(), found.scatter.values.ravel()])

    n = 1000
    one, other = of_rows(n), np.array([of_statistics() for _ in range(n)])
    error = 5 * np.sqrt(2 / n) * one.std(axis=0)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < error).all()
    assert (np.abs(one.std(axis=0) - other.std(axis=0)) < error).all()  # whose error is less, but for heavy tails


def test_a_slope_has_the_posterior_of_its_complete_pairs() -> None:
    """x₂ misses in some rows, which say nothing of x₂ given x₁: under Jeffreys' prior the slope is a t about OLS.

    |Σ|^(−3/2) dΣ is σ⁻³ dσ² dβ times a function of Σ₁₁, so that of m pairs (β − b) / se has m − 1 degrees of freedom
    with se² = RSS / (m − 1) / Σ (x₁ − x̄₁)².
    """
    rng = np.random.RandomState(1)
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], size=12)
    X[8:, 1] = np.nan
    model = GaussianDiscriminant().fit(X, ["a"] * 12)
    (draw,) = posteriors(model._fitted)
    found = [draw(rng).covariance.dense()[0] for _ in range(500)]
    slopes = np.array([own[0, 1] / own[0, 0] for own in found])
    u, v = X[:8].T - X[:8].mean(axis=0)[:, None]
    b = (u @ v) / (u @ u)
    error = np.sqrt(((v - b * u) ** 2).sum() / 7 / (u @ u))
    assert stats.kstest((slopes - b) / error, stats.t(7).cdf).pvalue > LEVEL


def test_filled_cells_have_the_predictive_law_of_few_rows() -> None:
    """Five values under Jeffreys' prior: x̄ + s √(1 + 1/5) t₄, with far wider tails than the Gaussian of the fit."""
    x = np.array([1.0, 2.0, 2.5, 4.0, 7.0])
    model = NaiveBayes().fit(x[:, None], ["a"] * 5)
    tables = model.impute([[np.nan]], draws=2000, random_state=0, as_recorded=False)
    law = stats.t(4, x.mean(), x.std(ddof=1) * np.sqrt(1.2))
    assert stats.kstest([own[0][0] for own in tables], law.cdf).pvalue > LEVEL
    assert stats.kstest([own[0][0] for own in tables], stats.norm(x.mean(), x.std()).cdf).pvalue < LEVEL


def test_the_pool_draws_regressions_that_shrinkage_does_not_pull() -> None:
    """Two classes, equal but for a shift: the pooled slope, ±4 standard errors of 400 draws; the fitted one is less."""
    rng = np.random.RandomState(2)
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=30)
    model = GenerativeClassifier().fit(np.vstack([X, X + 0.5]), np.repeat(["a", "b"], 30))
    asked = model._fitted.joint_value
    covariance = asked.joint.density.blocks[0].covariance.dense()[0]
    (draw,) = posteriors(asked)
    drawn = np.array([draw(rng).covariance.dense()[0] for _ in range(400)])
    slopes, own = drawn[:, 0, 1] / drawn[:, 0, 0], np.cov(X.T)
    assert abs(slopes.mean() - own[0, 1] / own[0, 0]) < 4 * slopes.std() / 20
    assert covariance[0, 1] / covariance[0, 0] < own[0, 1] / own[0, 0]


def test_leaves_of_a_forest_are_drawn_by_a_bootstrap() -> None:
    """The mean of a column among draws: about the forest's, with a standard error near s / √n."""
    rng = np.random.RandomState(3)
    X = rng.normal(size=(300, 2))
    asked = GenerativeForest().fit(X, ["a", "b"] * 150)._fitted.joint_value
    (draw,) = posteriors(asked)
    means = np.array([draw(rng).moments(0)[0] for _ in range(60)])
    known = asked.joint.density.blocks[0].moments(0)[0]
    assert (np.abs(means.mean(axis=0) - known) < 5 * means.std(axis=0) / np.sqrt(60)).all()
    assert ((means.std(axis=0) > 0.5 / np.sqrt(150)) & (means.std(axis=0) < 1.5 / np.sqrt(150))).all()
