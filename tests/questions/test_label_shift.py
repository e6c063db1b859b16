"""Priors from rows without labels: against a direct optimiser, and the laws of a likelihood that EM climbs."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.questions import decide
from suffice.questions.decide import likeliest_priors


def likelihoods(rng, n, k, spread=1.0):
    """Random log densities (n, k), each row with a constant of its own."""
    return spread * rng.normal(size=(n, k)) + 30.0 * rng.normal(size=(n, 1))


def log_likelihood(scores, priors):
    highest = scores.max(axis=1)
    return float((np.log(np.exp(scores - highest[:, None]) @ priors) + highest).sum())


def plain_em(scores, priors, steps):
    """Saerens et al. (2002), equation 2.9, word for word."""
    for _ in range(steps):
        joint = np.exp(scores - scores.max(axis=1, keepdims=True)) * priors
        priors = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    return priors


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("n", [1, 5, 200])
@pytest.mark.parametrize("spread", [0.3, 2.0, 20.0])
def test_equals_a_constrained_optimiser(rng, n, k, spread):
    """SLSQP on the simplex, from the middle; both values of the likelihood agree to what SLSQP reaches."""
    scores = likelihoods(rng, n, k, spread)
    found = likeliest_priors(scores, np.full(k, 1.0 / k))
    direct = minimize(
        lambda p: -log_likelihood(scores, np.clip(p, 1e-300, None)) / n,
        np.full(k, 1.0 / k),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found.finished
    assert_allclose(found.priors.sum(), 1.0)
    best = direct.x / direct.x.sum()
    assert log_likelihood(scores, found.priors) >= log_likelihood(scores, best) - 1e-7 * n
    if n == 200 and spread > 1.0:  # enough rows for a sharp maximum: a gap of ε in the value is √ε in the place
        assert_allclose(found.priors, best, atol=1e-3)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), k=st.integers(1, 6), spread=st.floats(0.0, 100.0))
def test_the_likelihood_never_falls_and_a_maximum_is_reached(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    scores = likelihoods(rng, n, k, spread)
    start = rng.dirichlet(np.ones(k))
    found = likeliest_priors(scores, start)
    trace = np.array(found.trace)
    assert found.finished
    assert (np.diff(trace) >= -1e-13 * np.abs(trace[1:])).all()
    assert_allclose(trace[-1], log_likelihood(scores, found.priors), rtol=1e-12)
    # by concavity no mean ratio g_k above 1 + ε is left: the condition of Karush, Kuhn and Tucker
    ratio = np.exp(scores - scores.max(axis=1, keepdims=True))
    gain = (ratio / (ratio @ found.priors)[:, None]).mean(axis=0)
    assert gain.max() <= 1.0 + 1e-9
    assert trace[-1] >= log_likelihood(scores, plain_em(scores, start, 50)) - 1e-9 * n


def test_a_class_that_starts_at_zero_stays_there(rng):
    found = likeliest_priors(likelihoods(rng, 50, 3), np.array([0.5, 0.0, 0.5]))
    assert found.priors[1] == 0.0
    assert found.finished
    sure = np.array([[0.0, 1e4, -1.0], [0.0, 1e4, 1.0]])  # likely in that class alone
    assert_allclose(likeliest_priors(sure, np.array([0.5, 0.0, 0.5])).priors, [0.5, 0.0, 0.5])


@pytest.mark.parametrize("truth", [(0.8, 0.1, 0.1), (0.05, 0.9, 0.05), (1 / 3, 1 / 3, 1 / 3)])
def test_recovers_the_priors_of_simulated_rows(rng, truth):
    """Within 4.5 standard errors, from the information Σ (p_k − p_3)(p_l − p_3) / p(x)² of known densities."""
    centers = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
    X = np.concatenate([rng.normal(size=(4000, 2)) + c for c in centers])
    model = GaussianDiscriminant(shared=True).fit(X, np.repeat([0, 1, 2], 4000))
    codes = rng.choice(3, 3000, p=truth)
    rows = rng.normal(size=(3000, 2)) + centers[codes]
    priors = model.adapt_priors(rows)
    density = np.exp(model.predict_joint_log_proba(rows)) / model.priors_
    score = (density[:, :2] - density[:, 2:]) / (density @ truth)[:, None]
    error = np.sqrt(np.diagonal(np.linalg.inv(score.T @ score)))
    assert (np.abs(priors[:2] - truth[:2]) <= 4.5 * error).all()
    sure = np.log(model.predict_proba(rows, priors=priors)[np.arange(3000), codes]).mean()
    assert sure >= np.log(model.predict_proba(rows)[np.arange(3000), codes]).mean() - 1e-3


def test_it_says_so_when_em_does_not_converge(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(decide, "MOST_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="had not converged after 1 step"):
        GaussianDiscriminant().fit(X, y).adapt_priors(X)


def test_a_row_that_no_class_can_make_says_nothing(rng):
    """Unsmoothed categories: the limit for vanishing smoothing stands in for a ratio of zeros."""
    model = NaiveBayes(smoothing=0.0).fit([["p"], ["p"], ["q"]], ["a", "a", "b"])
    assert_allclose(model.adapt_priors([["p"], ["q"], ["q"], ["q"]]), [0.25, 0.75])
    assert np.isfinite(model.adapt_priors([["other"], ["p"]])).all()
