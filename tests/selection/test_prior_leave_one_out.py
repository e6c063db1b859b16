"""Leave-one-out under a conjugate prior against what it means: the predictive of all other rows, one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, NormalInverseWishart
from suffice.errors import SingularCovarianceError
from suffice.leave_one_out import gaussian_leave_one_out
from suffice.leave_one_out.refit import Refits

EXACT = 1e-10  # nats, relative to the log density: what the least usable correlation matrix leaves of 16 digits
STRUCTURES = [(covariance, shared) for covariance in ("full", "diagonal", "spherical") for shared in (False, True)]
MATRIX = np.eye(3) + 0.5
PRIORS = [
    NormalInverseWishart(strength=10.0),
    NormalInverseWishart(strength=100.0, pooled=0.99),
    NormalInverseWishart(strength=3.0, pooled=0.0, target="within"),
    NormalInverseWishart(strength=5.0, pooled=1.0),
    NormalInverseWishart(strength=np.inf, pooled=0.7),
    NormalInverseWishart(strength=4.0, mean_strength=2.0),
    NormalInverseWishart(strength=4.0, mean_strength=0.5, mean=[0.3, -1.0, 2.0]),
    NormalInverseWishart(strength=4.0, scale=[1.0, 2.0, 3.0]),
    NormalInverseWishart(strength=4.0, scale=MATRIX, mean_strength=1.0),
    NormalInverseWishart(strength=np.inf, scale=MATRIX),
    NormalInverseWishart(strength="jeffreys"),
    NormalInverseWishart(strength=0.0),
]


def block(model, X, y, weight=None):
    """Return the arguments of `gaussian_leave_one_out` for a fitted model."""
    model.fit(X, y, sample_weight=weight)
    known = model.statistics_.classes
    told = replace(model._fitted.told, classes=known, columns=tuple(model._fitted.schema.names))
    codes = np.searchsorted(known, y)
    return model._fitted.rows(X)[0], model.statistics_.blocks[0], codes, weight, model._fitted.blocks[0].family, told


def refits(rows, stats, codes, weight, family, told):
    """Return log densities (n, k) of each row under an estimate from statistics that were made without it."""
    k, w = len(stats.column_weight()), np.ones(len(rows)) if weight is None else weight
    out = np.empty((len(rows), k))
    for i in range(len(rows)):
        others = (np.arange(len(rows)) != i) & (w > 0)
        rest = family.summarize(rows[others], codes[others], k, w[others])
        out[i] = family.estimate(rest, told)[0].log_density(rows[i : i + 1])[0]
    return out


def gap(found, expected):
    """Return the largest difference relative to the row's largest log density: distances are differences of those."""
    return (np.abs(found - expected) / (1.0 + np.abs(expected).max(axis=-1, keepdims=True))).max()


def table(rng, n, k=3):
    """Return rows of correlated classes in three columns of different units, five or more of each class."""
    y = np.concatenate([np.arange(k).repeat(5), rng.integers(0, k, n - 5 * k)])
    X = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.4 * rng.normal(size=(3, 3))) + rng.normal(size=(k, 3))[y]
    return X * [0.01, 1.0, 100.0], y


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
def test_ordinary_rows_are_left_out_by_formula(covariance, shared, rng, monkeypatch):
    """To 1e-12 on a table of ordinary rows, with weights and, but for joint columns, missing cells; no refit."""
    X, y = table(rng, 40)
    X /= [0.01, 1.0, 100.0]
    weight = rng.choice([0.5, 1.0, 3.0], len(y))
    if covariance != "full":
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)

    def fail(self, own):
        raise AssertionError(f"rows {own} were left out by a refit")

    monkeypatch.setattr(Refits, "limit", fail)
    for prior in PRIORS:
        for w in (None, weight):
            if prior.is_vague and covariance == "full" and w is not None:
                w = np.maximum(w, 1.0)
            told = block(GaussianDiscriminant(covariance, shared=shared, prior=prior), X, y, w)
            assert gap(gaussian_leave_one_out(*told), refits(*told)) < 1e-12


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_equals_refits(covariance, shared, data, seed, weighted):
    """On small tables in all units: classes of few rows, weights of 0, missing cells."""
    rng = np.random.default_rng(seed)
    X, y = table(rng, data.draw(st.integers(15, 24)))
    if data.draw(st.booleans()):
        X[1:][rng.random(X[1:].shape) < 0.15] = np.nan
    if data.draw(st.booleans()):
        y[y == 2] = rng.permutation(np.r_[2, np.zeros((y == 2).sum() - 1, dtype=int)])
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y)) if weighted else None
    if weight is not None:
        weight[np.unique(y, return_index=True)[1]] = 1.0
        X[weight > 0] = np.where(np.isnan(X[weight > 0]).all(axis=0), 0.0, X[weight > 0])
    prior = data.draw(st.sampled_from(PRIORS[:-2]))
    told = block(GaussianDiscriminant(covariance, shared=shared, prior=prior), X, y, weight)
    assert gap(gaussian_leave_one_out(*told), refits(*told)) < (EXACT if covariance != "full" else 1e-8)


@pytest.mark.parametrize("change", ["constant in a class", "constant", "collinear", "wide", "equal rows"])
@pytest.mark.parametrize("shared", [False, True])
def test_repairs_are_those_of_refits(change, shared, rng):
    X, y = table(rng, 24)
    hard = {
        "constant in a class": np.where((y == 1)[:, None] & (np.arange(3) == 1), 2.0, X),
        "constant": np.where(np.arange(3) == 1, 0.1, X),
        "collinear": np.column_stack([X, X[:, 0] + X[:, 2]]),
        "wide": rng.normal(size=(24, 40)),
        "equal rows": np.repeat(X[:6], 4, axis=0)[: len(y)],
    }[change]
    for prior in (NormalInverseWishart(10.0, pooled=0.9), NormalInverseWishart(1e-3, pooled=0.9)):
        told = block(GaussianDiscriminant(shared=shared, prior=prior), hard, y)
        assert gap(gaussian_leave_one_out(*told), refits(*told)) < 1e-8


def test_a_row_without_which_a_vague_prior_says_nothing_is_refused():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.repeat([0, 1, 2], 4)
    model = GaussianDiscriminant(prior=NormalInverseWishart(strength="jeffreys")).fit(X, y)
    with pytest.raises(SingularCovarianceError):
        model.leave_one_out(X, y)


def test_leave_one_out_of_a_fitted_model_is_a_fit_without_the_row(rng):
    X, y = table(rng, 30)
    prior = NormalInverseWishart(strength=20.0, pooled=0.95)
    found = GaussianDiscriminant(prior=prior).fit(X, y).leave_one_out(X, y)
    for i in (0, 11, 29):
        rest = np.arange(30) != i
        again = GaussianDiscriminant(prior=prior).fit(X[rest], y[rest])
        assert_allclose(found[i], again.predict_log_proba(X[i : i + 1])[0], rtol=1e-10)
