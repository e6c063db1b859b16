"""What the automatic classifier says of itself, against rows that nobody has shown it: noise must not be believed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, GenerativeClassifier
from suffice.automatic import choose
from suffice.automatic.folds import _directions
from suffice.automatic.judge import CHANCE, HoldoutScorer

CHANCE_LOSS = np.log(2.0)  # of two classes as common, about which nothing is known
ALLOWED = 0.05  # nats above it, on fresh rows
NEW = 1000  # rows


def noise(seed, n, d, holes=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + NEW, d))
    X[rng.random(X.shape) < holes] = np.nan
    return X, np.arange(n + NEW) % 2, rng


def losses(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y]


def on_noise(seeds, n, d, holes=0.0, weights=(1.0,)):
    """Yield models of noise, with rows that they have not seen."""
    for seed in seeds:
        X, y, rng = noise(seed, n, d, holes)
        yield GenerativeClassifier().fit(X[:n], y[:n], sample_weight=rng.choice(weights, n)), X[n:], y[n:]


def said_and_true(model, X, y):
    """Return the loss that is told, that of new rows, and how many of these sets cover."""
    return model.loss_, losses(model, X, y).mean(), model.predict_set(X[:300])[np.arange(300), y[:300]].mean()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "holes", "weight"), [(100, 30, 0.3, 1.0), (60, 150, 0.0, 1.0), (100, 20, 0.1, 5.0)])
def test_noise_is_not_mistaken_for_knowledge(n, d, holes, weight):
    """Mean over three tables. Such losses were .418, .56 and .000 of .693, and sets covered .61 to .80."""
    told, lost, covered = np.mean([said_and_true(*own) for own in on_noise(range(3), n, d, holes, [weight])], axis=0)
    assert told > CHANCE_LOSS - 0.09  # three tables of 100 rows say no more
    assert lost < CHANCE_LOSS + 0.15
    assert covered > 0.8


@pytest.mark.slow
def test_eight_columns_of_noise_for_each_row():
    """120 × 1,000: .88 nats before rows of folds were seen as new rows are, and chance was told from temperatures.

    Of four tables the mean: one in twenty is by chance .08 above it, as its rows happen to agree.
    """
    told, lost = np.mean([(m.loss_, losses(m, X, y).mean()) for m, X, y in on_noise(range(1, 5), 120, 1000)], axis=0)
    assert told > CHANCE_LOSS - 0.02
    assert lost < CHANCE_LOSS + ALLOWED


@pytest.mark.slow
def test_noise_under_unequal_weights():
    """100 × 30, weights of .5, 1 and 3: rows that say as much as 66 equal ones. The mean of these was .75 nats.

    Another choice said that nothing was lost there, and its sets covered .61 to .80.
    """
    weighed = on_noise(range(2, 6), 100, 30, weights=[0.5, 1.0, 3.0])
    told, lost, covered = np.mean([said_and_true(*own) for own in weighed], axis=0)
    assert told > CHANCE_LOSS - 0.09
    assert lost < CHANCE_LOSS + ALLOWED
    assert covered > 0.8


def test_near_certainty_says_how_uncertain_it_is():
    """Two clumps far apart: a loss of nearly 0 of 40 rows, of which the next may still be wrong."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    model = GenerativeClassifier().fit(rng.normal(size=(40, 3)) + 8 * y[:, None], y)
    notes = [str(note) for note in model.notes_ if "uncertain" in str(note)]
    error = float(notes[0].split("standard error ")[1].split(" nats")[0])
    assert error > 0.1 > 10 * model.loss_


def heavy_tails(rng, n):
    y = rng.integers(0, 2, n)
    return rng.standard_t(1.5, size=(n, 4)) + y[:, None] * [2.0, 1.0, 0.0, 0.0], y


def plain_noise(rng, n):
    return rng.normal(size=(n, 5)), rng.integers(0, 2, n)


def rare_slips(rng, n):
    y = rng.integers(0, 2, n)
    return rng.normal(scale=0.5, size=(n, 4)) + 6 * y[:, None] * (np.arange(4) < 1), y ^ (rng.random(n) < 0.001)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "n"), [(heavy_tails, 60), (plain_noise, 100), (rare_slips, 600)])
def test_choosing_makes_no_loss_too_small_and_its_error_holds(make, n):
    """Said less fresh was −.029 ± .010 and −.017 ± .005 of 60 tables, where rows judged their own choice.

    Where no row or one was wrong, half of the intervals did not hold what new rows lose.
    """
    gap, error = [], []
    for seed in range(24):
        rng = np.random.default_rng([seed, n])
        (X, y), (new, truth) = make(rng, n), make(rng, 2000)
        model = GenerativeClassifier().fit(X, y)
        gap.append(model.loss_ - losses(model, new, truth).mean())
        error.append(model.loss_error_)
    assert np.mean(gap) > -0.01 - np.std(gap) / np.sqrt(len(gap))
    assert np.mean(np.abs(gap) <= 1.96 * np.array(error)) >= 0.85  # 95 % less what 24 tables may miss


def test_every_way_of_asking_says_the_same_loss_and_error(read_back):
    X, y = heavy_tails(np.random.default_rng(0), 80)
    model = GenerativeClassifier().fit(X, y)
    found = model.quality()
    assert_allclose([found.log_loss, found.log_loss_error], [model.loss_, model.loss_error_], rtol=1e-9)
    left_out = -model.leave_one_out(X, y)[np.arange(80), y]
    assert_allclose(left_out.mean(), model.loss_, rtol=1e-9)
    chance = min(1.0, 2.0 / (80 * max(found.gain, 1e-300)))
    expected = np.sqrt(left_out.var(ddof=1) / 80 * (1.0 + chance) + (2.0 / 80) ** 2)
    assert_allclose(model.loss_error_, expected, rtol=1e-9)
    for own in (model, model.release()):
        again = read_back(own)
        assert_allclose([again.loss_, again.loss_error_], [own.loss_, own.loss_error_], rtol=1e-9)


def test_choosing_by_other_folds_changes_no_answer(monkeypatch):
    X, y = heavy_tails(np.random.default_rng(1), 60)
    answers = GenerativeClassifier().fit(X, y).predict_log_proba(X)
    monkeypatch.setattr(choose, "MOST_IN_FOLDS", 0)
    assert (GenerativeClassifier().fit(X, y).predict_log_proba(X) == answers).all()


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


def test_constant_weights_leave_the_joint_model_as_it_is():
    """A row given once leaves with all its weight; it left 4 of 5 behind, by which strengths were judged."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8)), np.arange(30) % 2
    plain, *heavy = (
        GenerativeClassifier(members="generative").fit(X, y, sample_weight=np.full(30, weight)).joint_.density.blocks[0]
        for weight in (1.0, 5.0, 0.01)
    )
    for own in heavy:
        assert_allclose(own.covariance.dense(), plain.covariance.dense(), rtol=1e-9)


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
