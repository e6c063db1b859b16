"""Contributions against Shapley's formula spelled out, closed forms, and the log odds they must add up to."""

from itertools import permutations

import numpy as np
import pytest
from kinds import kinds
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.attribution.explain import explain_block
from suffice.densities import Full, Gaussian, LowRank
from suffice.errors import SettingError

MODELS = kinds("full, shared, diagonal, spherical shared, mixture, naive bayes, laplace") | {
    "shrunken": lambda: GaussianDiscriminant(shrinkage=0.3),
    "mda": lambda: MixtureDiscriminant(2, covariance="diagonal", shared=True, n_init=1, random_state=0),
    "predictive": lambda: NaiveBayes("gaussian", prior=NormalInverseWishart()),
    "joint": lambda: NaiveBayes({(0, 2): "gaussian", 1: "laplace"}),
}


def pairwise_gap(model, X, contributions):
    """Largest difference from the log posterior odds of any two classes, relative where they are large."""
    total = contributions.sum(axis=1) + np.log(model.priors_)
    posterior = model.predict_log_proba(X)
    odds = posterior[:, :, None] - posterior[:, None]
    return np.abs(total[:, :, None] - total[:, None] - odds).max() / max(1.0, np.abs(odds).max() / 100)


def average_over_orders(value, d):
    """Shapley values by their definition: what each column adds, averaged over all d! orders."""
    orders = list(permutations(range(d)))
    total = 0.0
    for order in orders:
        step = [None] * d
        for t, j in enumerate(order):
            step[j] = value(order[: t + 1]) - value(order[:t])
        total = total + np.stack(step)
    return total / len(orders)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_contributions_add_up_to_the_log_odds_and_missing_cells_to_nothing(name, load, rng):
    X, y = load(return_X_y=True)
    X = X[:, :6]
    model = MODELS[name]().fit(X, y)
    rows = X[::5].copy()
    assert pairwise_gap(model, rows, model.explain(rows)) < 1e-10
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[3] = np.nan
    found = model.explain(rows)
    assert (found[np.isnan(rows)] == 0.0).all()
    assert pairwise_gap(model, rows, found) < 1e-10
    assert np.abs(found.mean(axis=2)).max() < 1e-10


@pytest.mark.parametrize("name", ["full", "shared", "shrunken"])
def test_gaussian_contributions_are_shapley_values_of_marginal_densities(name):
    X, y = load_iris(return_X_y=True)
    model = MODELS[name]().fit(X, y)
    rows = X[::37]
    covariances = np.broadcast_to(model.covariances_, (3, 4, 4))

    def value(columns):
        c = list(columns)
        if not c:
            return np.zeros((len(rows), 3))
        laws = [multivariate_normal(m[c], s[np.ix_(c, c)]) for m, s in zip(model.means_, covariances, strict=True)]
        return np.stack([np.atleast_1d(law.logpdf(rows[:, c])) for law in laws], axis=1)

    expected = np.moveaxis(average_over_orders(value, 4), 0, 1)
    expected -= expected.mean(axis=2, keepdims=True)
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-9)


def test_mixture_contributions_are_shapley_values_of_marginal_mixtures(rng):
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))
    X[::2] += 2.0
    y = np.arange(120) % 3
    model = MixtureDiscriminant(2, n_init=1, random_state=1).fit(X, y)
    rows = X[:7]

    def value(columns):
        c = list(columns)
        if not c:
            return np.zeros((len(rows), 3))
        laws = zip(model.means_, model.covariances_, strict=True)
        found = [[multivariate_normal(m[c], s[np.ix_(c, c)]) for m, s in zip(*own, strict=True)] for own in laws]
        return np.log(np.einsum("kc,kcn->nk", model.weights_, [[law.pdf(rows[:, c]) for law in own] for own in found]))

    expected = np.moveaxis(average_over_orders(value, 3), 0, 1)
    expected -= expected.mean(axis=2, keepdims=True)
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-9)


def test_categories_and_counts():
    X = [["red", 3], ["red", 0], ["blue", 1], ["blue", 9], ["green", 8], ["blue", 7]]
    model = NaiveBayes({1: "poisson"}).fit(X, list("aaabbb"))
    found = model.explain([["red", 4], ["black", None]])
    table, rate = model.probabilities_[0], model.parameters_[1]["rate"]
    expected = [np.log(table["red"]), 4 * np.log(rate) - rate]
    for j, score in enumerate(expected):
        assert found[0, j, 1] - found[0, j, 0] == pytest.approx(score[1] - score[0], abs=1e-12)
    assert found[1].tolist() == [[0.0, 0.0], [0.0, 0.0]]  # classes of equal weight say the same of a new category


def test_a_class_that_gives_a_cell_probability_zero_has_minus_infinity_there():
    X = [["red", 1.0], ["red", 2.0], ["blue", 1.5], ["green", 2.5], ["blue", 3.0], ["green", 1.0]]
    model = NaiveBayes(smoothing=0.0).fit(X, list("aabbcc"))
    row = model.explain([["green", 2.0]])[0]
    assert np.isneginf(row[0]).tolist() == [True, False, False]
    total = row.sum(axis=0) + np.log(model.priors_)
    posterior = model.predict_log_proba([["green", 2.0]])[0]
    assert total[1] - total[2] == pytest.approx(posterior[1] - posterior[2], abs=1e-12)
    never = model.explain([["black", 2.0]])  # impossible for all: the limit of vanishing smoothing
    posterior = model.predict_log_proba([["black", 2.0]])[0]
    total = never[0].sum(axis=0) + np.log(model.priors_)
    np.testing.assert_allclose(total - total[0], posterior - posterior[0], atol=1e-12)


def test_a_column_that_never_varies_contributes_nothing(blobs):
    X, y = blobs
    X = np.column_stack([X, np.full(len(X), 7.0)])
    for make in (GaussianDiscriminant, NaiveBayes):
        model = make().fit(X, y)
        assert (model.explain(X[:5])[:, -1] == 0.0).all()


def test_sampled_contributions_add_up_and_state_their_error(rng):
    d = 15
    X = rng.normal(size=(200, d)) @ (np.eye(d) + rng.normal(size=(d, d)) / 4)
    y = np.arange(200) % 2
    X[y == 1, :3] += 0.5
    model = GaussianDiscriminant().fit(X, y)
    few, error = model.explain(X[:20], orders=64, return_error=True)
    assert pairwise_gap(model, X[:20], few) < 1e-10
    np.testing.assert_allclose(model.explain(X[:20], orders=64), few, atol=1e-9)  # by rows, and by quadratic forms
    many = model.explain(X[:20], orders=20_000)
    z = (few - many) / error
    assert 0.8 < np.sqrt((z**2).mean()) < 1.25  # errors of 600 values: about 1, with few independent ones
    exact, none = model.explain(X[:20, :].copy() * np.r_[np.ones(12), [np.nan] * 3], return_error=True)
    assert (none == 0.0).all()
    assert exact.shape == (20, d, 2)


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(40, 150))
    y = np.arange(40) % 2
    model = GaussianDiscriminant(shrinkage=0.3).fit(X, y)
    assert isinstance(model.model_.density.blocks[0].covariance, LowRank)
    assert pairwise_gap(model, X[:5], model.explain(X[:5], orders=4)) < 1e-8  # sums of 150 terms of up to 1e2
    wide = model.model_.density.blocks[0]
    dense = Gaussian(wide.means, Full.factor(wide.covariance.dense()), wide.used)
    found, expected = (explain_block(own, X[:3], 4, False).score for own in (wide, dense))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("orders", [0, 1, 2.5, True])
def test_a_number_of_orders_that_cannot_work_is_refused(orders, blobs):
    X, y = blobs
    with pytest.raises(SettingError, match="orders"):
        GaussianDiscriminant().fit(X, y).explain(X, orders=orders)
