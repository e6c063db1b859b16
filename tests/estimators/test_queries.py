"""The questions every estimator answers, each against Bayes' rule written out with scipy."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, SchemaError, SettingError

SETTINGS = [(covariance, shared) for covariance in ("full", "diagonal", "spherical") for shared in (False, True)]
GRID = pytest.mark.parametrize(("covariance", "shared"), SETTINGS)


def log_joint(X, y, covariance, shared, priors=None):
    """Return log π_k + log N(x; μ_k, Σ_k) from the definitions."""
    groups = [X[y == label] for label in np.unique(y)]
    matrices = [np.cov(g.T, ddof=0) for g in groups]
    if shared:
        pooled = sum(len(g) * m for g, m in zip(groups, matrices, strict=True)) / len(X)
        matrices = [pooled] * len(groups)
    if covariance != "full":
        variances = [np.diag(m) for m in matrices]
        if covariance == "spherical":
            variances = [np.full(X.shape[1], v.mean()) for v in variances]
        matrices = [np.diag(v) for v in variances]
    pi = [len(g) / len(X) for g in groups] if priors is None else priors
    parts = zip(pi, groups, matrices, strict=True)
    return np.column_stack([np.log(p) + multivariate_normal(g.mean(axis=0), m).logpdf(X) for p, g, m in parts])


@GRID
def test_answers_are_read_off_the_joint_density(blobs, covariance, shared):
    X, y = blobs
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    scores = log_joint(X, y, covariance, shared)
    posterior = scores - logsumexp(scores, axis=1, keepdims=True)
    assert_allclose(model.predict_joint_log_proba(X), scores, rtol=1e-9, atol=1e-9)
    assert_allclose(model.predict_log_proba(X), posterior, rtol=1e-9, atol=1e-9)
    assert_allclose(model.predict_proba(X), np.exp(posterior), rtol=1e-9, atol=1e-12)
    assert_allclose(model.score_samples(X), logsumexp(scores, axis=1), rtol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert_allclose(model.priors_, np.unique(y, return_counts=True)[1] / len(y))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


@GRID
def test_the_score_of_two_classes_is_their_log_odds(blobs, covariance, shared):
    X, y = blobs
    X, y = X[y != "cedar"], y[y != "cedar"]
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X),)
    assert_allclose(expit(scores), model.predict_proba(X)[:, 1], rtol=1e-10)
    assert_array_equal(model.classes_[(scores > 0).astype(int)], model.predict(X))


def test_every_score_exists_where_no_class_is_possible():
    """Without smoothing a word no class has seen gives every class density zero; the limit decides, in every answer."""
    words = np.array([["a"], ["b"], ["b"], ["c"]], dtype=object)
    for y in (["u", "v", "v", "v"], ["u", "v", "v", "w"]):
        model = NaiveBayes(smoothing=0.0).fit(words, y)
        Z = np.array([["new"], ["a"], [None]], dtype=object)
        scores, labels = model.decision_function(Z), model.predict(Z)
        chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        assert not np.isnan(scores).any()
        assert_array_equal(model.classes_[chosen], labels)
        assert_allclose(model.predict_proba(Z).sum(axis=1), 1)
        assert model.score_samples(Z)[0] == -np.inf


# --- priors and costs ---


BAD_PRIORS = [
    [0.5, 0.5],
    [0.5, 0.5, 0.5],
    [-0.1, 0.6, 0.5],
    "even",
    {"ash": 1.0},
    {"ash": 0.5, "birch": 0.5, "oak": 0},
    1.0,
    ["a"] * 3,
]


@pytest.mark.parametrize("priors", BAD_PRIORS, ids=repr)
def test_priors_that_are_no_distribution_over_the_classes(blobs, priors):
    X, y = blobs
    with pytest.raises(SettingError, match="priors"):
        GaussianDiscriminant(priors=priors).fit(X, y)
    model = GaussianDiscriminant().fit(X, y)
    for ask in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.raises(SettingError, match="priors"):
            ask(X, priors=priors)


@pytest.mark.parametrize("reject", [0.01, 0.1, 0.3, 0.7])
def test_reject_by_chows_rule(blobs, reject):
    """No answer where the best one is wrong with a probability above `reject`, under whatever priors."""
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    for priors in (None, "uniform", [0.1, 0.2, 0.7]):
        p = model.predict_proba(X, priors=priors)
        found = model.predict(X, priors=priors, reject=reject)
        assert found.dtype == object
        assert_array_equal([label is None for label in found], 1 - p.max(axis=1) > reject)
        kept = 1 - p.max(axis=1) <= reject
        assert_array_equal(found[kept].astype(str), model.predict(X, priors=priors)[kept])
        assert_array_equal(model.predict(X, priors=priors, costs=1 - np.eye(3), reject=reject), found)
    assert kept.any()
    assert kept.all() == (reject > 1 - 1 / 3)


@pytest.mark.parametrize("reject", [0.0, 1.0, -0.1, float("nan"), "much", True])
def test_reject_must_be_a_cost(blobs, reject):
    X, y = blobs
    with pytest.raises(SettingError, match=r"reject=.* must be above 0 and below 1"):
        GaussianDiscriminant().fit(X, y).predict(X, reject=reject)


def test_numbers_as_labels_stay_numbers_beside_no_answer(blobs):
    X, y = blobs
    found = GaussianDiscriminant().fit(X, np.searchsorted(["ash", "birch"], y)).predict(X, reject=0.05).tolist()
    assert {type(label) for label in found} == {int, type(None)}


def test_costs(blobs, rng):
    """The answer is the class of least expected cost Σ_i p(i | x) costs[i, j]."""
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    p, names = model.predict_proba(X), model.classes_
    for costs in (1 - np.eye(3), rng.random((3, 3)), np.array([[5, 1, 2], [50, 0, 1], [1, 1, 0]])):
        expected = names[(p[:, :, None] * costs[None]).sum(axis=1).argmin(axis=1)]
        for told in (costs, costs.tolist(), pd.DataFrame(costs, names, names).iloc[::-1, ::-1]):
            assert_array_equal(model.predict(X, costs=told), expected)
    assert_array_equal(model.predict(X, costs=1 - np.eye(3)), model.predict(X))
    q = model.predict_proba(X, priors="uniform")
    found = model.predict(X, priors="uniform", costs=costs)
    assert_array_equal(found, model.classes_[(q @ costs).argmin(axis=1)])


@pytest.mark.parametrize(
    "costs", [np.eye(2), np.ones(3), np.full((3, 3), np.nan), [[np.inf] * 3] * 3, "cheap"], ids=str
)
def test_costs_that_fit_no_classes(blobs, costs):
    with pytest.raises(SettingError, match="costs"):
        GaussianDiscriminant().fit(*blobs).predict(blobs[0], costs=costs)


# --- settings, and models that have learned nothing ---


@pytest.mark.parametrize("make", [GaussianDiscriminant, NaiveBayes])
def test_predicting_other_columns(blobs, make):
    X, y = blobs
    table = pd.DataFrame(X, columns=list("abcd"))
    model = make().fit(table, y)
    expected = model.predict_proba(table)
    assert_array_equal(model.predict_proba(table[list("dbca")]), expected)
    with pytest.raises(SchemaError, match=f"lacks 'c'.*{make.__name__} does not know 'e'"):
        model.predict(table.rename(columns={"c": "e"}))
    with pytest.raises(SchemaError, match="does not know 'e'"):
        model.predict(table.assign(e=1))
    with pytest.raises(SchemaError, match="Column 'b' was numeric when the model was fitted and is string now"):
        model.predict(table.assign(b="x"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(model.predict_proba(X), expected)
    with pytest.warns(UserWarning, match="X has feature names"):
        assert_allclose(make().fit(X, y).predict_proba(table), expected)
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        model.predict(table[:0])


@pytest.mark.parametrize("make", [GaussianDiscriminant, NaiveBayes])
def test_a_missing_cell_of_any_type_is_missing(blobs, make):
    """One row at a time, pandas gives a lone None the type object and a lone NaN the type float."""
    X, y = blobs
    table = pd.DataFrame(X, columns=list("abcd"))
    model = make().fit(table, y)
    expected = model.predict_proba(pd.DataFrame([[np.nan, 1.0, 2.0, 3.0]], columns=list("abcd")))
    for empty in (None, pd.NA, float("nan")):
        row = pd.DataFrame([{"a": empty, "b": 1.0, "c": 2.0, "d": 3.0}])
        assert_array_equal(model.predict_proba(row), expected)
    model.partial_fit(row.assign(a=None), ["ash"])
    assert model.statistics_.total == len(y) + 1
