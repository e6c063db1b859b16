"""Leave-one-out of Gaussian blocks against what it means: estimates from all other rows, one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.datasets import load_wine

from suffice import RDA, GaussianDiscriminant, NormalInverseWishart
from suffice.errors import SingularCovarianceError
from suffice.estimate import WholeRows
from suffice.leave_one_out import gaussian_leave_one_out
from suffice.leave_one_out.model import Refits

EXACT = 1e-9  # nats, relative to the log density: rows that hold nearly all of a direction leave 2e-10
CLIMBED = 1e-8  # where EM stops: the same optimum, reached by steps of other lengths
DIVISORS = st.sampled_from(["unbiased", "mle"])
SHRINKAGES = [None, 0.1, RDA(0.3), RDA(0.3, 0.2), RDA(0.0, 0.3, "identity"), RDA(0.4, 0.2, "identity"), "oas"]
STRUCTURES = [(covariance, shared) for covariance in ("full", "diagonal", "spherical") for shared in (False, True)]


def block(model, X, y, weight=None):
    """Return the arguments of `gaussian_leave_one_out` for a fitted model."""
    model.fit(X, y, sample_weight=weight)
    codes, (own,) = np.searchsorted(model.classes_, y), model._fitted.blocks
    rows, stats = model._fitted.rows(X)[0], model.statistics_.blocks[0]
    return rows, stats, codes, weight, own.family, model._fitted.block_settings(own)


def refits(rows, stats, codes, weight, family, told):
    """Return log densities (n, k) of each row under an estimate from statistics that were made without it."""
    k, w = len(stats.column_weight()), np.ones(len(rows)) if weight is None else weight
    out = np.empty((len(rows), k))
    for i in range(len(rows)):
        others = (np.arange(len(rows)) != i) & (w > 0)
        rest = family.summarize(rows[others], codes[others], k, w[others])
        left = told if told.kept is None else replace(told, kept=WholeRows(rows[others], codes[others], w[others]))
        out[i] = family.estimate(rest, left)[0].log_density(rows[i : i + 1])[0]
    return out


def gap(found, expected):
    """Return the largest difference relative to the row's largest log density: distances are differences of those."""
    return (np.abs(found - expected) / (1.0 + np.abs(expected).max(axis=-1, keepdims=True))).max()


def off_refits(model, X, y, weight=None):
    """Return how far rows left out of a model are from refits without them."""
    told = block(model, X, y, weight)
    return gap(gaussian_leave_one_out(*told), refits(*told))


def table(rng, n, d, k, least=1):
    """Return rows of correlated classes in different units, each class with at least so many of them."""
    y = np.concatenate([np.arange(k).repeat(least), rng.integers(0, k, max(n - least * k, 0))])
    X = rng.normal(size=(len(y), d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d))) + rng.normal(size=(k, d))[y]
    return X * 10.0 ** rng.integers(-3, 4, d), y


def drawn_weights(rng, X, y):
    """Return weights (n,), some of them 0; every class keeps a row, and every column a cell, which `X` is given."""
    weight = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], len(y))
    weight[np.unique(y, return_index=True)[1]] = 1.0
    X[weight > 0] = np.where(np.isnan(X[weight > 0]).all(axis=0), 0.0, X[weight > 0])
    return weight


def settings_of(covariance, shared):
    return [s for s in SHRINKAGES if not (shared and isinstance(s, RDA) and s.shared)]


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), divisor=DIVISORS, weighted=st.booleans())
def test_equals_refits(covariance, shared, data, seed, divisor, weighted):
    rng = np.random.default_rng(seed)
    n, d, k = data.draw(st.integers(6, 24)), data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    X, y = table(rng, n, d, k, least=data.draw(st.integers(1, 4)))
    if covariance != "full" and data.draw(st.booleans()):
        X[1:][rng.random(X[1:].shape) < 0.15] = np.nan
        X[0] = np.nan_to_num(X[0])
    weight = drawn_weights(rng, X, y) if weighted else None
    shrinkage = data.draw(st.sampled_from(settings_of(covariance, shared)))
    model = GaussianDiscriminant(covariance, shared=shared, shrinkage=shrinkage, divisor=divisor)
    assert off_refits(model, X, y, weight) < EXACT


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
def test_needs_no_refits_on_ordinary_rows(covariance, shared, blobs, monkeypatch):
    X, y = blobs[0][:45], blobs[1][:45]

    def fail(self, own):
        raise AssertionError(f"rows {own} were left out by a refit")

    monkeypatch.setattr(Refits, "limit", fail)
    for shrinkage in settings_of(covariance, shared):
        assert off_refits(GaussianDiscriminant(covariance, shared=shared, shrinkage=shrinkage), X, y) < EXACT


HARD = {
    "constant in one class": lambda X, y: np.where((y == "ash")[:, None] & (np.arange(4) == 1), 2.0, X),
    "constant everywhere": lambda X, y: np.where(np.arange(4) == 1, 0.1, X),
    "varies in one row": lambda X, y: np.where(np.arange(4) == 1, (np.arange(len(X)) == 3)[:, None] * 1.0, X),
    "collinear": lambda X, y: np.column_stack([X, X[:, 0] + X[:, 1]]),
    "a copy in other units": lambda X, y: np.column_stack([X, 1e6 * X[:, 2]]),
    "more columns than rows of a class": lambda X, y: np.column_stack([X, X**2, X**3, np.sin(3 * X)]),
    "wide": lambda X, y: np.random.default_rng(0).normal(size=(len(X), 140)),
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("shrinkage", [None, 0.1, "oas", "ledoit-wolf"])
def test_repairs_are_those_of_refits(kind, shared, shrinkage, blobs):
    X, y = blobs
    pick = np.concatenate([np.flatnonzero(y == label)[:8] for label in ("ash", "birch", "cedar")])
    X, y = HARD[kind](X[pick], y[pick]), y[pick]
    assert off_refits(GaussianDiscriminant(shared=shared, shrinkage=shrinkage), X, y) < EXACT


@pytest.mark.parametrize(("covariance", "shared"), [s for s in STRUCTURES if s[0] != "full"])
@pytest.mark.parametrize("kind", [kind for kind in HARD if kind != "wide"])
@pytest.mark.parametrize("shrinkage", [None, RDA(0.0, 0.2, "identity")])
def test_repairs_of_columns_and_spheres(kind, covariance, shared, shrinkage, blobs):
    X, y = HARD[kind](*blobs)[::7], blobs[1][::7]
    X[0] += np.where(np.arange(X.shape[1]) == 1, 1.0, 0.0)  # a column may vary in this row alone
    assert off_refits(GaussianDiscriminant(covariance, shared=shared, shrinkage=shrinkage), X, y) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@settings(max_examples=12, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), divisor=DIVISORS, weighted=st.booleans())
def test_missing_cells_of_small_tables(shared, data, seed, divisor, weighted):
    """Classes and columns of a single row, rows that are far away, columns that follow from each other, and likelihoods
    of several maxima occur.
    """
    rng = np.random.default_rng(seed)
    n, d, k = data.draw(st.integers(6, 24)), data.draw(st.integers(1, 4)), data.draw(st.integers(2, 3))
    X, y = table(rng, n, d, k, least=data.draw(st.integers(1, 4)))
    if data.draw(st.booleans()):
        X[0] *= 1e4
    X[d:][rng.random(X[d:].shape) < data.draw(st.sampled_from([0.05, 0.2]))] = np.nan
    weight = np.where(rng.random(len(y)) < 0.7, rng.choice([0.5, 1.0, 2.0, 3.0], len(y)), 0.0) if weighted else None
    if weight is not None:
        weight[: max(d, 2)] = weight[np.unique(y, return_index=True)[1]] = 1.0
    assert off_refits(GaussianDiscriminant(shared=shared, divisor=divisor), X, y, weight) < CLIMBED


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_missing_cells_need_no_refits_of_ordinary_rows(shared, holed, monkeypatch):
    rows = np.flatnonzero(~np.isnan(holed[0]).all(axis=1))
    told = block(GaussianDiscriminant(shared=shared), holed[0][rows], holed[1][rows])
    expected = refits(*told)
    asked = []
    monkeypatch.setattr(Refits, "limit", lambda self, own: asked.append(own) or (None, expected[own]))
    assert gap(gaussian_leave_one_out(*told), expected) < EXACT
    assert len(asked) <= 2  # near a singular covariance


@pytest.mark.parametrize("shrinkage", [None, "ledoit-wolf"])
@pytest.mark.parametrize("shared", [False, True])
def test_some_rows_of_more(shared, shrinkage, blobs):
    """The statistics may hold rows that are not given; a row is then subtracted where a refit is called for."""
    X, y = np.column_stack([blobs[0], blobs[0] @ [1.0, 1e-2, 0.0, 0.0]]), blobs[1]
    rows, stats, codes, _, family, told = block(GaussianDiscriminant(shared=shared, shrinkage=shrinkage), X, y)
    expected = refits(rows, stats, codes, None, family, told)
    index = np.arange(0, len(rows), 4)
    found = gaussian_leave_one_out(rows[index], stats, codes[index], None, family, told)
    assert gap(found, expected[index]) < 1e-9  # subtracting leaves the digits of the larger sum


def test_wine():
    """Published leave-one-out accuracies of LDA and QDA (Aeberhard, Coomans & de Vel 1992): 98.9 % and 99.4 %."""
    X, y = load_wine(return_X_y=True)
    models = GaussianDiscriminant(shared=True), GaussianDiscriminant(), GaussianDiscriminant(shrinkage="loo")
    linear, quadratic, chosen = ((m.fit(X, y).leave_one_out(X, y).argmax(axis=1) == y).mean() for m in models)
    assert (round(linear, 3), round(quadratic, 3)) == (0.989, 0.994)
    assert chosen >= quadratic


# --- under a conjugate prior, whose covariance is made of the rows too

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


@pytest.mark.slow
@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_a_conjugate_prior_equals_refits(covariance, shared, data, seed, weighted):
    """On small tables in all units: classes of few rows, weights of 0, missing cells."""
    rng = np.random.default_rng(seed)
    X, y = table(rng, data.draw(st.integers(15, 24)), 3, 3, least=5)
    if data.draw(st.booleans()):
        X[1:][rng.random(X[1:].shape) < 0.15] = np.nan
    if data.draw(st.booleans()):
        y[y == 2] = rng.permutation(np.r_[2, np.zeros((y == 2).sum() - 1, dtype=int)])
    weight = drawn_weights(rng, X, y) if weighted else None
    prior = data.draw(st.sampled_from(PRIORS[:-2]))
    model = GaussianDiscriminant(covariance, shared=shared, prior=prior)
    assert off_refits(model, X, y, weight) < (EXACT if covariance != "full" else 1e-8)


@pytest.mark.parametrize("change", ["constant in a class", "constant", "collinear", "wide", "equal rows"])
@pytest.mark.parametrize("shared", [False, True])
def test_repairs_under_a_conjugate_prior_are_those_of_refits(change, shared, rng):
    X, y = table(rng, 24, 3, 3, least=5)
    hard = {
        "constant in a class": np.where((y == 1)[:, None] & (np.arange(3) == 1), 2.0, X),
        "constant": np.where(np.arange(3) == 1, 0.1, X),
        "collinear": np.column_stack([X, X[:, 0] + X[:, 2]]),
        "wide": rng.normal(size=(24, 40)),
        "equal rows": np.repeat(X[:6], 4, axis=0)[: len(y)],
    }[change]
    for prior in (NormalInverseWishart(10.0, pooled=0.9), NormalInverseWishart(1e-3, pooled=0.9)):
        assert off_refits(GaussianDiscriminant(shared=shared, prior=prior), hard, y) < 1e-8


def test_a_row_without_which_a_vague_prior_says_nothing_is_refused():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.repeat([0, 1, 2], 4)
    model = GaussianDiscriminant(prior=NormalInverseWishart(strength="jeffreys")).fit(X, y)
    with pytest.raises(SingularCovarianceError):
        model.leave_one_out(X, y)
