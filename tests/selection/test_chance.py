"""What chance says must not be believed: noise in wide tables and under unequal weights; rows of a fold are as new."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, GenerativeClassifier
from suffice.automatic.folds import _directions
from suffice.automatic.judge import CHANCE, HoldoutScorer

CHANCE_LOSS = np.log(2.0)  # of two classes as common, about which nothing is known
ALLOWED = 0.05  # nats above it, on fresh rows


def noise(seed, n, d, fresh=1000):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n + fresh, d)), np.arange(n + fresh) % 2, rng


def lost(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.mark.slow
def test_eight_columns_of_noise_for_each_row():
    """120 × 1,000: .88 nats before rows of folds were seen as new rows are, and chance was told from temperatures.

    Of eight tables the mean: one in twenty is by chance .08 above it, as its rows happen to agree.
    """
    told, fresh = [], []
    for seed in range(1, 9):
        X, y, _ = noise(seed, 120, 1000)
        model = GenerativeClassifier().fit(X[:120], y[:120])
        told.append(model.loss_)
        fresh.append(lost(model, X[120:], y[120:]))
    assert np.mean(told) > CHANCE_LOSS - 0.02
    assert np.mean(fresh) < CHANCE_LOSS + ALLOWED


@pytest.mark.slow
def test_noise_under_unequal_weights():
    """100 × 30, weights of .5, 1 and 3: rows that say as much as 66 equal ones. The mean of these was .75 nats."""
    found = []
    for seed in range(2, 6):
        X, y, rng = noise(seed, 100, 30)
        rng.random(X.shape)
        model = GenerativeClassifier().fit(X[:100], y[:100], sample_weight=rng.choice([0.5, 1, 3], 100))
        found.append(lost(model, X[100:], y[100:]))
    assert np.mean(found) < CHANCE_LOSS + ALLOWED


def test_directions_are_those_of_differences(rng):
    """Wherever the cells are counted from: the projector is that of the centred rows, which are one direction less."""
    rows = rng.normal(size=(12, 30))
    found = _directions(rows)
    centred = rows - rows.mean(axis=0)
    assert found.shape == (30, 11)
    assert_allclose(found @ found.T, np.linalg.pinv(centred) @ centred, atol=1e-10)
    assert_allclose(_directions(rows + 3.0) @ _directions(rows + 3.0).T, found @ found.T, atol=1e-10)


def test_how_much_of_a_temperature_is_not_chance(rng):
    """Against the ratio of the likelihoods of 60 rows, weighted, written out."""
    codes, offset, weight = np.arange(60) % 2, np.full((60, 2), np.log(0.5)), rng.uniform(0.5, 2.0, 60)
    judge = HoldoutScorer(codes, offset, weight, weight)
    scores = rng.normal(size=(60, 2)) + 0.8 * np.eye(2)[codes]
    loss, t = judge.temperature(scores)
    p = np.exp(t * scores) / np.exp(t * scores).sum(axis=1, keepdims=True)
    ratio = 2.0 * weight @ (np.log(p[np.arange(60), codes]) - np.log(0.5))
    assert ratio > CHANCE
    assert_allclose(judge.beyond_chance(loss), 1.0 - CHANCE / ratio, rtol=1e-10)
    for won in (-1.0, 0.0, 0.5 * CHANCE):
        assert judge.beyond_chance(np.log(2.0) - won / (2.0 * weight.sum())) == 0.0


@pytest.mark.parametrize("weight", [5.0, 0.01])
def test_constant_weights_leave_the_joint_model_as_it_is(weight):
    """A row given once leaves with all its weight; it left 4 of 5 behind, by which strengths were judged."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8)), np.arange(30) % 2
    plain = GenerativeClassifier().fit(X, y).joint_.density.blocks[0]
    heavy = GenerativeClassifier().fit(X, y, sample_weight=np.full(30, weight)).joint_.density.blocks[0]
    assert_allclose(heavy.covariance.dense(), plain.covariance.dense(), rtol=1e-9)


def repeated(seed, times):
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 6)) + 0.7 * y[:, None]
    return np.repeat(X, times, axis=0), np.repeat(y, times)


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_a_row_choose_the_shrinkage_that_it_does_once(seed):
    X, y = repeated(seed, 3)
    chosen = GaussianDiscriminant(shrinkage="loo").fit(X, y).shrinkage_
    once = GaussianDiscriminant(shrinkage="loo").fit(X[::3], y[::3]).shrinkage_
    assert_allclose([chosen.shared, chosen.amount], [once.shared, once.amount], rtol=1e-9)
    heavy = GaussianDiscriminant(shrinkage="loo").fit(X[::3], y[::3], sample_weight=np.full(40, 3.0)).shrinkage_
    assert_allclose([heavy.shared, heavy.amount], [once.shared, once.amount], rtol=1e-9)
