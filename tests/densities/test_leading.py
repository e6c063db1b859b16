"""Posteriors of which classes that cannot matter are left out, against scipy's densities of all classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.densities import Full, Gaussian, Mixture, Product
from suffice.densities.leading import LEAST_COLUMNS, LEAST_ROWS
from suffice.drop_in import QuadraticDiscriminantAnalysis
from suffice.joint import JointModel, log_posterior

D = LEAST_COLUMNS
K = 6
N = LEAST_ROWS * D + 40
SHARE = 1e-17  # of a row's probability, for all classes left out


def covariances(rng, d, k, unlike=1.0):
    factors = np.eye(d) + unlike * rng.normal(size=(k, d, d)) / np.sqrt(d)
    return factors @ factors.transpose(0, 2, 1) + 0.3 * np.eye(d)


def separated(rng, d=D, k=K, apart=3.0):
    return Gaussian(apart * rng.normal(size=(k, d)), Full.factor(covariances(rng, d, k)), tuple(range(d)))


def overlapping(rng, d=D, k=K):
    return Gaussian(0.02 * rng.normal(size=(k, d)), Full.factor(covariances(rng, d, k, 0.02)), tuple(range(d)))


def alike(rng, d=D, k=K):
    """Two classes are the same, and the others are elsewhere."""
    means, sigma = 3.0 * rng.normal(size=(k, d)), covariances(rng, d, k)
    means[1], sigma[1] = means[0], sigma[0]
    return Gaussian(means, Full.factor(sigma), tuple(range(d)))


def one_far(rng, d=D, k=K):
    """All but one overlap a little, and that one is so far that no square may be expanded about a common origin."""
    means = 1.0 * rng.normal(size=(k, d))
    means[2] = 1e7
    return Gaussian(means, Full.factor(covariances(rng, d, k)), tuple(range(d)))


def unlike(rng, d=D, k=K):
    """Means are the same; one class is a thousandth as wide as another."""
    scale = 10.0 ** -np.arange(k)[:, None, None]
    return Gaussian(np.zeros((k, d)), Full.factor(scale * covariances(rng, d, k)), tuple(range(d)))


def units(rng, d=D, k=K):
    """Columns of very small and very large units."""
    unit = 10.0 ** rng.uniform(-9, 9, d)
    means, sigma = 3.0 * rng.normal(size=(k, d)) * unit, covariances(rng, d, k) * unit[:, None] * unit
    return Gaussian(means, Full.factor(sigma), tuple(range(d)))


def draw(density, rng, n=N):
    """Return rows of the classes in turn, and last some between two classes."""
    dense, k = density.covariance.dense(), len(density.means)
    rows = np.stack([rng.multivariate_normal(density.means[i % k], dense[i % k], method="cholesky") for i in range(n)])
    between = rng.uniform(size=(20, 1))
    rows[-20:] = between * rows[:20] + (1 - between) * rows[1:21]
    return rows


def by_scipy(density, rows, prior):
    """Return log joints (n, k), all columns in units in which the first class has the variance 1."""
    dense = density.covariance.dense()
    unit = np.sqrt(np.diagonal(dense[0]))
    pairs = zip(density.means / unit, dense / unit[:, None] / unit, strict=True)
    scores = [multivariate_normal(mean, sigma).logpdf(rows / unit) for mean, sigma in pairs]
    with np.errstate(divide="ignore"):
        return np.stack(scores, axis=1) + np.log(prior)


def posterior(density, rows, prior, leading=True):
    with np.errstate(divide="ignore"):
        model = JointModel(tuple(range(len(prior))), np.log(prior), Product((density,)))
    return np.exp(log_posterior(model, [rows], leading=leading))


def left_out(density, rows, prior):
    """Return where the log density returned is more than the log density."""
    with np.errstate(divide="ignore"):
        found = density.leading_log_density(rows, np.log(prior))
    return found > density.log_density(rows) + 1e-3


@pytest.mark.parametrize("make", [separated, overlapping, alike, one_far, unlike, units])
@pytest.mark.parametrize("d", [D - 1, D, 97])
def test_posteriors_are_those_of_scipy(rng, make, d):
    density = make(rng, d)
    rows = draw(density, rng, LEAST_ROWS * d + 7)
    prior = rng.dirichlet(np.ones(K))
    log_joint = by_scipy(density, rows, prior)
    found = posterior(density, rows, prior)
    rounding = 1e-13 * np.abs(log_joint).max(axis=1, keepdims=True)  # of log joints, where two classes are as probable
    expected = softmax(log_joint, axis=1)
    assert (np.abs(found - expected) <= 1e-15 + rounding * expected * (1 - expected)).all()
    assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-15 * K)


@pytest.mark.parametrize("make", [separated, alike, units, unlike])
def test_what_is_returned_is_more_only_where_it_cannot_matter(rng, make):
    density = make(rng)
    rows, prior = draw(density, rng), np.full(K, 1 / K)
    found, whole = density.leading_log_density(rows, np.log(prior)), density.log_density(rows)
    more = left_out(density, rows, prior)
    assert more.mean() > (0.3 if make is unlike else 0.5)  # classes are left out at all
    assert (found >= whole - 1e-9 * np.abs(whole)).all()
    assert (np.where(more, softmax(found, axis=1), 0.0).sum(axis=1) <= SHARE).all()
    assert (np.exp(log_softmax(whole, axis=1))[more] <= SHARE).all()


def test_a_class_of_no_prior_has_no_posterior(rng):
    density, prior = separated(rng), np.array([0.0, 0.3, 0.0, 0.3, 0.2, 0.2])
    rows = draw(density, rng)  # a third of them of the classes without a prior
    found = posterior(density, rows, prior)
    assert (found[:, prior == 0] == 0).all()
    assert_allclose(found, softmax(by_scipy(density, rows, prior), axis=1), rtol=0, atol=1e-12)
    assert left_out(density, rows, prior).any()


def test_rows_far_from_every_class(rng):
    density, prior = separated(rng), np.full(K, 1 / K)
    rows = draw(density, rng)
    rows[::3] *= 1e5
    assert_allclose(posterior(density, rows, prior), posterior(density, rows, prior, leading=False), rtol=0, atol=1e-6)
    rows[1] = 1e200  # the square is beyond all numbers
    with np.errstate(over="ignore", invalid="ignore"):
        assert_array_equal(posterior(density, rows, prior)[1], posterior(density, rows, prior, leading=False)[1])


def test_missing_cells_are_integrated_out_and_change_no_other_row(rng):
    density, prior = separated(rng), np.full(K, 1 / K)
    rows = draw(density, rng)
    holed = rows.copy()
    holed[::5, 3] = np.nan
    holed[2::50] = np.nan
    found = posterior(density, holed, prior)
    assert_allclose(found, posterior(density, holed, prior, leading=False), rtol=0, atol=1e-12)
    complete = ~np.isnan(holed).any(axis=1)
    assert_allclose(found[complete], posterior(density, rows, prior)[complete], rtol=0, atol=1e-15)
    assert_allclose(found[2::50], 1 / K, rtol=1e-14)


def test_a_row_alone_has_the_answer_it_has_in_a_table(rng):
    density, prior = separated(rng, apart=0.6), rng.dirichlet(np.ones(K))
    rows = draw(density, rng)
    whole = posterior(density, rows, prior)
    alone = np.concatenate([posterior(density, row[None], prior) for row in rows])
    assert np.abs(whole - alone).max() <= 1e-12
    assert np.abs(whole - alone)[whole.max(axis=1) > 1 - 1e-6].max() <= 1e-15


def test_an_offset_by_row_decides_which_classes_lead(rng):
    """Another block may favour a class that the Gaussian alone would leave out."""
    density = separated(rng, apart=2.0)
    rows, favoured = draw(density, rng), rng.integers(0, K, N)
    offset = np.where(np.arange(K) == favoured[:, None], 2000.0, 0.0)
    expected = softmax(density.log_density(rows) + offset, axis=1)
    found = softmax(density.leading_log_density(rows, offset) + offset, axis=1)
    assert (found.argmax(axis=1) == favoured).mean() > 0.5
    assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_components_of_a_mixture_are_left_out(rng):
    inner = separated(rng, k=2 * K)
    owner, weight = np.repeat(np.arange(K), 2), np.log(np.tile([0.3, 0.7], K))
    density, rows = Mixture(inner, owner, weight), draw(inner, rng)
    found, whole = density.leading_log_density(rows, np.zeros(K)), density.log_density(rows)
    assert (found > whole + 1e-3).mean() > 0.5
    assert_allclose(softmax(found, axis=1), softmax(whole, axis=1), rtol=0, atol=1e-13)


# --- models ----------------------------------------------------------------------------------------------------------


def table(rng, n=3000, d=D, k=K):
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, d)) * rng.uniform(0.8, 1.2, size=(k, d))[y] + 1.5 * rng.normal(size=(k, d))[y], y


MODELS = [
    GaussianDiscriminant(),
    GaussianDiscriminant(shrinkage="oas", priors="uniform"),
    MixtureDiscriminant(2, n_init=1, random_state=0),
    NaiveBayes(families={tuple(range(D)): "gaussian", D: "categorical"}),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_answers_of_models_are_those_of_log_posteriors(rng, model):
    X, y = table(rng)
    if isinstance(model, NaiveBayes):
        X = np.column_stack([X, (y + (rng.random(len(y)) < 0.3)) % K])
    model.fit(X, y)
    block = max(model.model_.density.blocks, key=lambda block: block.has_leading)
    assert (block.leading_log_density(X[:, :D], np.zeros(K)) > block.log_density(X[:, :D]) + 1e-3).mean() > 0.4
    log_p = model.predict_log_proba(X)
    assert_allclose(model.predict_proba(X), np.exp(log_p), rtol=0, atol=1e-13)
    assert_array_equal(model.predict(X), model.classes_[log_p.argmax(axis=1)])
    assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=1e-12)
    assert log_p.min() < -60  # a row alone or many: log posteriors are those of all classes
    assert_allclose(log_p[:9], model.predict_log_proba(X[:9]), rtol=1e-9)


def test_costs_see_all_classes(rng):
    """A class of probability e⁻¹⁰⁰ costs as much as one of 1 where its errors cost e¹⁰⁰ times as much."""
    X, y = table(rng)
    model = GaussianDiscriminant().fit(X, y)
    rows = X[y > 0]
    other = model.predict_log_proba(rows)[:, 0]
    costs = 1.0 - np.eye(K)
    costs[0, 1:] = np.exp(-np.median(other))
    answers = model.predict(rows, costs=costs)
    expected = np.exp(model.predict_log_proba(rows)) @ costs
    assert_array_equal(answers, expected.argmin(axis=1))
    assert 0.3 < (answers == 0).mean() < 0.7
