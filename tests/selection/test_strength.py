"""A prior that chooses its own strength: close to the best fixed one on fresh rows, and lawful."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant, NaiveBayes, NormalInverseWishart

OPEN = NormalInverseWishart()


def drawn(rng, n, factors, apart=1.0):
    """Return rows of Gaussian classes with these square roots of covariances (k, d, d), and their classes."""
    y = rng.integers(len(factors), size=n)
    means = apart * np.eye(len(factors), factors.shape[2])
    return np.einsum("nd,nde->ne", rng.normal(size=(n, factors.shape[1])), factors[y]) + means[y], y


@pytest.mark.parametrize("kind", ["alike", "apart"])
def test_it_is_nearly_the_best_fixed_strength(kind, rng):
    """Where classes share a covariance a strong prior is right, where theirs differ a weak one.

    The fixed (10, 0.9) costs many times as much as the choice in the first case.
    """
    factors = rng.normal(size=(3, 8, 8))
    factors = np.repeat(factors[:1], 3, axis=0) if kind == "alike" else factors
    (X, y), (fresh, truth) = drawn(rng, 90, factors, 3.0), drawn(rng, 4000, factors, 3.0)
    fixed = {
        (a, share): log_loss(
            truth, GaussianDiscriminant(prior=NormalInverseWishart(a, share)).fit(X, y).predict_proba(fresh)
        )
        for a in (1.0, 10.0, 100.0, 1000.0, np.inf)
        for share in (0.5, 0.9, 0.99, 0.999)
    }
    model = GaussianDiscriminant(prior=OPEN).fit(X, y)
    chosen, best = log_loss(truth, model.predict_proba(fresh)), min(fixed.values())
    assert chosen < best + 0.1 * (fixed[10.0, 0.9] - best) + 0.02
    assert (model.prior_.strength >= 100.0) == (kind == "alike")


@pytest.mark.parametrize("model", [GaussianDiscriminant("diagonal"), GaussianDiscriminant("spherical"), NaiveBayes()])
def test_independent_columns_choose_by_the_exact_leave_one_out(model, rng):
    """Of five settings none that is not stronger has a lower leave-one-out loss by half an error, with class shares."""
    X, y = drawn(rng, 60, np.stack([np.diag([1.0, 2.0, 3.0, 1.0])] * 2))
    found = model.set_params(prior=OPEN).fit(X, y)

    def own(prior):
        return -type(model)(**{**model.get_params(), "prior": prior}).fit(X, y).leave_one_out(X, y)[np.arange(60), y]

    mine = own(found.prior_)
    again = type(model)(**{**model.get_params(), "prior": found.prior_}).fit(X, y)
    assert_allclose(log_loss(y, found.predict_proba(X)), log_loss(y, again.predict_proba(X)))
    for strength in (1.0, 10.0, 100.0, 1000.0):
        better = mine - own(NormalInverseWishart(strength, 0.9))
        assert better.mean() < 0.01 + better.std() / np.sqrt(60)


def test_a_choice_is_made_anew_and_forgets_the_last_fit(rng):
    alike, differ = np.repeat(rng.normal(size=(1, 5, 5)), 2, axis=0), rng.normal(size=(2, 5, 5))
    model = GaussianDiscriminant(prior=OPEN).fit(*drawn(rng, 80, alike))
    first = model.prior_
    model.fit(*drawn(rng, 80, differ))
    assert model.prior_.strength < first.strength
    assert any("chose a prior" in str(note) for note in model.notes_)


@pytest.mark.parametrize("shape", ["no rows kept", "few rows", "wide", "holes everywhere"])
def test_where_nothing_can_be_told_it_says_so(shape, rng):
    n, d = {"few rows": (12, 3), "wide": (30, 140)}.get(shape, (60, 3))
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    if shape == "holes everywhere":
        X[np.arange(n), np.arange(n) % d] = np.nan
    model = GaussianDiscriminant(prior=OPEN, keep_rows=0 if shape == "no rows kept" else 2000).fit(X, y)
    assert (model.prior_.strength, model.prior_.pooled) == (100.0, 0.99)
    assert any("took a prior of 100 rows" in str(note) for note in model.notes_)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_given_numbers_stay():
    assert NormalInverseWishart(5.0).pooled == 0.9
    X, y = load_wine(return_X_y=True)
    model = GaussianDiscriminant(prior=NormalInverseWishart(pooled=0.5)).fit(X[:, :4], y)
    assert model.prior_.pooled == 0.5
    assert GaussianDiscriminant(prior=NormalInverseWishart(7.0)).fit(X, y).prior_.strength == 7.0
    shared = GaussianDiscriminant(shared=True, prior=OPEN).fit(X, y)
    assert shared.prior_.strength == np.inf
    given = GaussianDiscriminant(prior=NormalInverseWishart(scale=np.eye(2))).fit(X[:, :2], y)
    assert given.prior_.strength in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, np.inf)
