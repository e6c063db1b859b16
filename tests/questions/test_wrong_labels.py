"""The channel from true classes to given labels, against definitions, brute force and simulations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from suffice.questions import suspect_labels
from suffice.questions.suspect_labels import Channel, find_channel, flag, sharpened, true_posterior


def three_classes(n: int, channel: np.ndarray, seed: int, distance: float = 3.0):
    """Return log posteriors (n, 3) of the true class, true classes and given labels of three Gaussians in a plane."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(3) / 3
    means = distance / np.sqrt(3.0) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    true = rng.integers(0, 3, n)
    rows = means[true] + rng.standard_normal((n, 2))
    log_p = log_softmax(-0.5 * ((rows[:, None] - means) ** 2).sum(axis=2), axis=1)
    label = (rng.random(n)[:, None] > np.cumsum(channel, axis=0)[:, true].T).sum(axis=1)
    return log_p, true, label


UNIFORM = 0.1 / 2 + (0.9 - 0.1 / 2) * np.eye(3)
CONFUSABLE = np.array([[0.8, 0.0, 0.1], [0.2, 1.0, 0.0], [0.0, 0.0, 0.9]])


def exactly(log_p: np.ndarray, channel: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return p(wrong) (n,) by Bayes' rule, one row after the other."""
    found = []
    for row, j in zip(log_p, label, strict=True):
        both = [channel[j, m] * np.exp(row[m]) for m in range(len(row))]
        found.append(1.0 - both[j] / sum(both))
    return np.array(found)


@pytest.mark.parametrize("channel", [np.eye(3), UNIFORM, CONFUSABLE], ids=["none", "uniform", "confusable"])
def test_the_channel_is_found_where_posteriors_are_those_of_the_true_class(channel) -> None:
    """20,000 rows, about 6,700 a class: the standard error of a rate of 0.1 is 0.004 for rows whose class is sure, and
    overlap and the temperature make it a few times as large."""
    log_p, true, label = three_classes(20_000, channel, 1)
    found = find_channel(log_p, label, np.ones(len(label)))
    assert_allclose(found.confusion, channel, atol=0.02)
    wrong = 1.0 - true_posterior(found, log_p, label)[np.arange(len(label)), label]
    expected = exactly(log_p, channel, label)
    assert np.abs(wrong - expected).mean() < 0.01
    flips = (true != label).sum()
    assert abs(wrong.sum() - flips) < 4.0 * np.sqrt(expected @ (1.0 - expected)) + 0.005 * len(label)


@pytest.mark.parametrize("temperature", [0.25, 4.0])
def test_doubts_and_certainty_that_are_all_too_great_are_undone(temperature) -> None:
    """Posteriors to a power on the grid: the channel is that of the posteriors themselves, for the grid has both."""
    log_p, _, label = three_classes(5_000, UNIFORM, 2)
    plain = find_channel(log_p, label, np.ones(5_000))
    moved = find_channel(log_softmax(log_p / temperature, axis=1), label, np.ones(5_000))
    assert_allclose(moved.temperature @ moved.share / (plain.temperature @ plain.share), temperature, rtol=0.15)
    assert_allclose(moved.confusion, plain.confusion, atol=0.005)


def test_em_ends_where_no_other_channel_is_likelier(monkeypatch) -> None:
    """Against a general optimiser over all channels of two classes, at one temperature and without shrinking."""
    exact = {
        "TEMPERATURES": np.ones(1),
        "ALIKE": 0.0,
        "RIGHT": 0.0,
        "ANY": 1e-12,
        "STILL": 1e12,
        "ENOUGH": 1e-10,
        "STEPS": 5000,
    }
    for name, value in exact.items():
        monkeypatch.setattr(suspect_labels, name, value)
    rng = np.random.default_rng(3)
    score = 3.0 * rng.standard_normal(400)
    log_p = log_softmax(np.stack([score, -score], axis=1), axis=1)
    p = np.exp(log_p)
    channel = np.array([[0.85, 0.3], [0.15, 0.7]])
    label = (rng.random(400) < p @ channel[1]).astype(int)

    def loss(rates: np.ndarray) -> float:
        q = np.array([[1 - rates[0], rates[1]], [rates[0], 1 - rates[1]]])
        return -float(np.log((q[label] * p).sum(axis=1)).sum())

    best = minimize(loss, [0.1, 0.1], bounds=[(1e-9, 1 - 1e-9)] * 2)
    found = find_channel(log_p, label, np.ones(400)).confusion
    assert loss(np.array([found[1, 0], found[0, 1]])) == pytest.approx(best.fun, abs=1e-5)


def test_the_posterior_of_the_true_class_is_bayes_rule() -> None:
    rng = np.random.default_rng(4)
    log_p, label = log_softmax(rng.standard_normal((50, 3)), axis=1), rng.integers(0, 3, 50)
    channels = rng.dirichlet(np.ones(3), (2, 3)).transpose(0, 2, 1)  # columns add up to 1
    biases = rng.standard_normal((2, 3))
    channel = Channel(np.array([0.5, 2.0]), np.array([0.3, 0.7]), biases, channels)
    found = true_posterior(channel, log_p, label)
    for i, j in enumerate(label):
        mean = np.zeros(3)
        for t, share, bias, given_true in zip(*channel, strict=True):
            p = softmax(t * log_p[i] + bias)
            both = np.array([given_true[j, m] * p[m] for m in range(3)])
            mean += share * both / both.sum()
        assert_allclose(found[i], mean, rtol=1e-12)
    assert_allclose(channel.confusion.sum(axis=0), 1.0)


def test_rows_as_weights_are_rows_as_often() -> None:
    log_p, _, label = three_classes(300, UNIFORM, 5)
    weight = np.random.default_rng(5).integers(1, 4, 300)
    whole = find_channel(*(own.repeat(weight, axis=0) for own in (log_p, label, np.ones(300))))
    for own, other in zip(find_channel(log_p, label, weight.astype(float)), whole, strict=True):
        assert_allclose(own, other, atol=1e-7)
    heaviest = 1e20 * np.eye(300)[log_p[np.arange(300), label].argmin()]  # the least probable label
    assert_allclose(find_channel(log_p, label, 1.0 + heaviest).confusion.sum(axis=0), 1.0)


def test_the_order_of_classes_does_not_matter() -> None:
    log_p, _, label = three_classes(500, CONFUSABLE, 6)
    order = np.array([2, 0, 1])  # new class c is the old class order[c]
    place = np.argsort(order)
    plain = find_channel(log_p, label, np.ones(500))
    moved = find_channel(log_p[:, order], place[label], np.ones(500))
    assert_allclose(moved.confusion, plain.confusion[np.ix_(order, order)], atol=1e-9)
    both = true_posterior(plain, log_p, label), true_posterior(moved, log_p[:, order], place[label])
    assert_allclose(both[0][:, order], both[1], atol=1e-9)


def test_of_many_rows_some_stand_for_all(monkeypatch) -> None:
    """5,000 rows of 30,000: three standard errors of a rate of 0.05 among 1,667 rows of a class are 0.016."""
    log_p, _, label = three_classes(30_000, UNIFORM, 7)
    whole = find_channel(log_p, label, np.ones(30_000))
    monkeypatch.setattr(suspect_labels, "MOST_ROWS", 5_000)
    thinned = find_channel(log_p, label, np.ones(30_000))
    assert_allclose(thinned.confusion, whole.confusion, atol=0.016)
    order = np.random.default_rng(7).permutation(30_000)
    moved = find_channel(log_p[order], label[order], np.ones(30_000))
    assert_allclose(moved.confusion, thinned.confusion, atol=1e-9)


def test_one_class_and_no_row() -> None:
    assert_array_equal(find_channel(np.zeros((4, 1)), np.zeros(4, dtype=int), np.ones(4)).confusion, [[1.0]])
    nothing = find_channel(np.zeros((0, 3)), np.zeros(0, dtype=int), np.zeros(0))
    assert_allclose(nothing.confusion.sum(axis=0), 1.0)
    assert true_posterior(nothing, np.zeros((0, 3)), np.zeros(0, dtype=int)).shape == (0, 3)


def test_impossible_classes_stay_impossible() -> None:
    """−∞ for a class, and labels that no class could have had: nothing is NaN."""
    with np.errstate(divide="ignore"):
        log_p = np.log(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]))
    label = np.array([0, 1, 0, 1])
    found = true_posterior(find_channel(log_p, label, np.ones(4)), log_p, label)
    assert_allclose(found.sum(axis=1), 1.0)
    assert_allclose(found[3, 0], 1.0)
    none_wrong = Channel(np.ones(1), np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    assert_array_equal(true_posterior(none_wrong, log_p, label)[3], [0.0, 1.0])
    assert_allclose(sharpened(log_p, 16.0)[:, 0], [1.0, 0.0, 0.5, 1.0])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.8, 0.9, 0.95, 1.0]), max_size=7), st.sampled_from([0.05, 0.1, 0.3]))
def test_flagged_rows_are_the_largest_set_that_keeps_the_rate(wrong, fdr) -> None:
    """All sets that a threshold can make, tried one by one, in fractions: a mean of the rate itself keeps it."""
    p, exact = np.array(wrong), [Fraction(str(own)) for own in wrong]
    sets = [p >= limit for limit in np.unique(p[p > 0])]
    fits = [own for own in sets if sum(1 - exact[i] for i in np.flatnonzero(own)) <= Fraction(str(fdr)) * own.sum()]
    expected = max(fits, key=lambda own: own.sum(), default=np.zeros(len(p), dtype=bool))
    assert_array_equal(flag(p, fdr), expected)
