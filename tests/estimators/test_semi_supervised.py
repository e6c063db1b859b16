"""Rows without a label join by EM, in all three estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from kinds import kinds
from scipy import stats
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.em.cells import SECURED
from suffice.errors import DataError
from suffice.learning import fit
from suffice.learning.fit import join_unlabelled

MODELS = kinds("full, shared, diagonal, spherical, unbiased, naive bayes, mixture, tied mixture, single components")


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture
def two(rng):
    """Two overlapping classes, 200 rows each: (X, y), and y with all but 10 labels of each class missing."""
    X = np.concatenate([rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) @ np.diag([1, 2, 0.5]) + 2])
    y = np.repeat(["a", "b"], 200).astype(object)
    few = y.copy()
    few[10:200], few[210:] = None, None
    order = rng.permutation(400)
    return X[order], y[order], few[order]


# --- with every label present, nothing is different -------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_all_labels_present_is_the_supervised_path(two, kind, monkeypatch):
    X, y, _ = two

    def refuse(*arguments):
        raise AssertionError("EM ran")

    monkeypatch.setattr(fit, "join_unlabelled", refuse)
    first, second = (MODELS[kind]() for _ in range(2))
    expected = first.fit(X, y).predict_joint_log_proba(X)
    nullable = pd.Series(pd.array(y.tolist(), dtype="string"))
    np.testing.assert_array_equal(second.fit(X, nullable).predict_joint_log_proba(X), expected)
    assert not any("joined" in str(note) for note in second.notes_)
    if not isinstance(second, MixtureDiscriminant):
        assert not hasattr(second, "n_iter_")


# --- with some missing ------------------------------------------------------------------------------------------------


def test_unlabelled_rows_help(two, model):
    X, y, few = two
    known = pd.notna(few)
    base = clone(model).fit(X[known], few[known])
    model.fit(X, few)
    assert model.classes_.tolist() == ["a", "b"]
    if getattr(model, "covariance", "") != "spherical":  # the one model these classes do not obey
        assert model.score(X, y) >= base.score(X, y) - 0.005
    assert model.score(X, y) > 0.8
    assert model.score_samples(X).mean() > base.score_samples(X).mean()
    assert model.n_iter_ > 1
    assert model.statistics_.total == pytest.approx(400)
    assert model.statistics_.rows == 400
    assert str(model.notes_[0]).startswith("joined 380 rows without a label")


def test_numbers_with_nan_and_minus_one_is_a_label(two):
    X, _, few = two
    numbers = np.where(few == "a", -1.0, np.where(few == "b", 3.0, np.nan))
    numbers[pd.isna(few)] = np.nan
    model = GaussianDiscriminant().fit(X, numbers)
    assert model.classes_.tolist() == [-1, 3]
    named = GaussianDiscriminant().fit(X, few)
    np.testing.assert_array_equal(model.predict_proba(X), named.predict_proba(X))


def test_it_is_the_maximum_of_the_observed_likelihood(rng):
    """One column, two classes: an optimiser that knows nothing of EM arrives at the same likelihood."""
    x = np.concatenate([rng.normal(size=60), rng.normal(size=60) * 1.5 + 3])
    y = np.repeat(["a", "b"], 60).astype(object)
    y[8:60], y[68:] = None, None
    model = GaussianDiscriminant().fit(x[:, None], y)

    def loss(theta):
        share = 1 / (1 + np.exp(-theta[0]))
        a = np.log1p(-share) + norm.logpdf(x, theta[1], np.exp(theta[3]))
        b = np.log(share) + norm.logpdf(x, theta[2], np.exp(theta[4]))
        return -(a[y == "a"].sum() + b[y == "b"].sum() + np.logaddexp(a, b)[pd.isna(y)].sum())

    best = minimize(loss, [0.0, 0.0, 3.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-6})
    ours = model.means_.ravel().tolist() + np.log(model.covariances_.ravel()).tolist()
    logit = float(np.log(model.priors_[1] / model.priors_[0]))
    assert loss(np.array([logit, ours[0], ours[1], ours[2] / 2, ours[3] / 2])) == pytest.approx(best.fun, abs=1e-3)
    np.testing.assert_allclose(ours[:2], best.x[1:3], atol=0.02)


def trace_of(model, X, y, weight, monkeypatch):
    """Fit, and return the objective by step."""
    seen = []

    def watch(*arguments):
        joined = join_unlabelled(*arguments)
        seen.append(joined.trace)
        return joined

    with monkeypatch.context() as patch:
        patch.setattr(fit, "join_unlabelled", watch)
        model.fit(X, y, weight)
    return seen[0]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["full", "shared", "diagonal", "spherical", "unbiased", "naive bayes", "single components"]),
    missing=st.sampled_from([0.0, 0.2]),
    labelled=st.integers(4, 30),
)
def test_the_likelihood_never_falls(seed, kind, missing, labelled):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2)) + rng.normal(size=(3, 2))[rng.integers(3, size=80)] * 2
    X[labelled:] = np.where(rng.random((80 - labelled, 2)) < missing, np.nan, X[labelled:])
    y = np.array(["a", "b"] * 40, dtype=object)
    y[labelled:] = None
    model = MODELS[kind]()
    with pytest.MonkeyPatch.context() as patch:
        trace = trace_of(model, X, y, rng.integers(1, 3, size=80).astype(float), patch)
    assert len(trace) > 0
    assert (np.diff(trace) >= 0).all()


@pytest.mark.parametrize("shared", [False, True])
def test_a_class_near_singular_keeps_its_weak_prior(rng, shared, monkeypatch):
    """A column that others determine, and missing cells: without the prior the likelihood would rise without end."""
    X = rng.normal(size=(120, 3)) + np.repeat([[0.0], [2.0]], 60, axis=0)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    X[rng.random(X.shape) < 0.25] = np.nan
    y = np.repeat(["a", "b"], 60).astype(object)
    y[rng.random(120) < 0.5] = None
    model = GaussianDiscriminant(shared=shared)
    trace = trace_of(model, X, y, None, monkeypatch)
    assert 2 < model.n_iter_ < 300
    assert (np.diff(trace) >= 0).all()
    assert any(note.what == SECURED for note in model.notes_)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_mixed_columns_join_too(rng, smoothing, monkeypatch):
    n = 300
    truth = rng.integers(2, size=n)
    table = pd.DataFrame(
        {
            "colour": np.where(rng.random(n) < np.where(truth, 0.85, 0.15), "red", "blue").astype(object),
            "round": rng.random(n) < np.where(truth, 0.8, 0.1),
            "size": rng.normal(size=n) + 2 * truth,
        }
    )
    table.loc[rng.random(n) < 0.1, "colour"] = None
    table.loc[290, "colour"] = "green"  # a level only an unlabelled row shows
    y = np.where(truth, "yes", "no").astype(object)
    y[16:] = None
    model = NaiveBayes(smoothing=smoothing)
    trace = trace_of(model, table, y, None, monkeypatch)
    assert (np.diff(trace) >= 0).all()
    assert (model.predict(table) == np.where(truth, "yes", "no")).mean() > 0.85
    assert "green" in model.probabilities_["colour"]


def test_weights_are_copies_of_unlabelled_rows_too(two, rng):
    X, _, few = two
    weight = rng.integers(0, 3, size=len(few))
    weighted = GaussianDiscriminant().fit(X, few, weight)
    copies = GaussianDiscriminant().fit(np.repeat(X, weight, axis=0), np.repeat(few, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), copies.predict_proba(X), atol=1e-6)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_no_label_at_all(model):
    for y in ([None] * 4, [np.nan] * 4, pd.array([pd.NA] * 4, dtype="Int64")):
        with pytest.raises(DataError, match=r"no label in 4 of 4 rows"):
            model.fit(np.arange(8.0).reshape(4, 2), y)


def test_labels_of_weight_zero_only(two):
    X, _, few = two
    with pytest.raises(DataError, match="weight 0"):
        GaussianDiscriminant().fit(X, few, pd.isna(few).astype(float))


def test_smoothed_poisson_rates_never_lower_the_penalised_likelihood(rng, monkeypatch):
    """Log likelihood of all rows, plus the Gamma(1 + α m, α) densities that smoothing stands for, by SciPy."""
    y = np.repeat([0, 1, 2], 60)
    X = rng.poisson(np.array([[0.2, 3.0], [1.0, 1.0], [2.0, 0.1]])[y]).astype(float)
    few = np.where(np.arange(180) % 12 == 0, y, -1).astype(object)
    few[few == -1] = None
    alpha, known = 5.0, np.arange(180) % 12 == 0
    traces, log_joints = [], []
    original = fit._Rows.expect

    def recorded(rows, model):
        rate = model.density.blocks[0].rate
        joint = model.log_prior + stats.poisson.logpmf(X[:, None], rate).sum(axis=2)
        prior = stats.gamma.logpdf(rate, 1.0 + alpha * (X.sum(axis=0) + 0.5) / 180, scale=1.0 / alpha).sum()
        log_joints.append(joint[known, y[known]].sum() + logsumexp(joint[~known], axis=1).sum() + prior)
        objective, posterior = original(rows, model)
        traces.append(objective)
        return objective, posterior

    monkeypatch.setattr(fit._Rows, "expect", recorded)
    model = NaiveBayes("poisson", smoothing=alpha).fit(X, few)
    assert model.n_iter_ > 5
    assert (np.diff(log_joints)[1:] >= -1e-9).all()  # the first estimate knows the labelled rows only
    # what EM watches is the same up to a constant, so that it neither stops early nor goes on for nothing
    np.testing.assert_allclose(np.diff(traces)[1:], np.diff(log_joints)[1:], atol=1e-7)
    assert not [note for note in model.notes_ if "early" in str(note)]
