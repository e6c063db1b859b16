"""The pool of members: its optimum against a general optimiser, its leave-one-out against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from suffice.automatic import stack as stacking
from suffice.automatic.judge import HoldoutScorer
from suffice.automatic.stack import Stack, centred, prior_shares


def problem(rng, n=80, k=3, m=4):
    y = rng.integers(0, k, n)
    scores = centred(rng.normal(size=(m, n, k)) + 2 * (np.arange(k) == y[:, None]) * rng.random((m, 1, 1)))
    weight = rng.integers(1, 4, n).astype(float)
    return scores, HoldoutScorer(y, np.log(rng.dirichlet(np.ones(k), n)), weight, weight)


def loss_of(theta, scores, judge):
    m = len(scores)
    eta = judge.offset + np.tensordot(theta[:m], scores, 1) + theta[m:]
    return -(judge.weight @ log_softmax(eta, axis=1)[np.arange(len(eta)), judge.codes])


def test_the_stack_is_the_optimum_of_its_objective(rng):
    scores, judge = problem(rng)
    scores[3] = -scores[3]  # a member that is wrong gets weight 0
    m, k = len(scores), 3
    penalty, start = np.array([3.0, 1.0, 2.0, 3.0]), np.full(m, 0.25)
    stack = Stack.fit(scores, judge, penalty, start, np.ones(m, dtype=bool))

    def objective(theta):
        return loss_of(theta, scores, judge) + 0.5 * penalty @ (theta[:m] - start) ** 2 + 0.5 * theta[m:] @ theta[m:]

    best = minimize(objective, np.r_[start, np.zeros(k)], bounds=[(0, None)] * m + [(None, None)] * k, tol=1e-12)
    assert_allclose(np.r_[stack.weight, stack.bias], best.x, atol=2e-4)  # what L-BFGS-B is good for
    assert objective(np.r_[stack.weight, stack.bias]) <= best.fun + 1e-6
    assert stack.weight[3] == 0.0


def test_leaving_a_row_out_of_the_weights_is_close_to_refitting(rng):
    scores, judge = problem(rng, n=60)
    judge = HoldoutScorer(judge.codes, judge.offset, np.ones(60), np.ones(60))
    how = np.full(4, 3.0), np.full(4, 0.25), np.ones(4, dtype=bool)
    stack = Stack.fit(scores, judge, *how)
    moved, error = 0.0, 0.0
    for i in range(60):
        kept = np.arange(60) != i
        rest = HoldoutScorer(judge.codes[kept], judge.offset[kept], judge.weight[kept], judge.single[kept])
        refit = Stack.fit(scores[:, kept], rest, *how).scores(scores[:, [i]], judge.offset[[i]])[0]
        error = max(error, np.abs(centred(refit) - centred(stack.left_out[i])).max())
        moved = max(moved, np.abs(centred(refit) - centred(stack.scores(scores[:, [i]], judge.offset[[i]])[0])).max())
    assert error < 0.1 * moved  # one Newton step leaves an error of second order


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_temperature_is_the_best_multiplier(rng, scale):
    scores, judge = problem(rng)
    own = scale * scores[0]
    best = minimize_scalar(lambda t: judge.loss(t * own), bounds=(1e-3, 50), method="bounded", options={"xatol": 1e-9})
    loss, t = judge.temperature(own)
    assert_allclose(loss, best.fun, atol=1e-6)
    assert_allclose(t, best.x, rtol=1e-2)
    assert_allclose(loss, judge.loss(t * own), rtol=1e-12)


def test_many_classes_have_no_biases(rng, monkeypatch):
    """Beyond a number of classes the pool has member weights alone: its optimum."""
    monkeypatch.setattr(stacking, "MOST_BIASES", 4)
    scores, judge = problem(rng, n=70, k=5, m=3)
    judge = HoldoutScorer(judge.codes, judge.offset, np.ones(70), np.ones(70))
    how = np.full(3, 3.0), np.full(3, 0.3), np.ones(3, dtype=bool)
    stack = Stack.fit(scores, judge, *how)
    assert not stack.bias.any()

    def objective(weight):
        return loss_of(np.r_[weight, np.zeros(5)], scores, judge) + 1.5 * ((weight - 0.3) ** 2).sum()

    best = minimize(objective, np.full(3, 0.3), bounds=[(0, None)] * 3, tol=1e-12)
    assert_allclose(stack.weight, best.x, atol=2e-4)


def test_of_several_penalties_the_most_evident_is_taken(rng):
    scores, judge = problem(rng)
    start, positive = np.full(4, 0.25), np.ones(4, dtype=bool)
    each = [np.full(4, own) for own in (1.0, 10.0, 1000.0)]
    alone = [Stack.fit(scores, judge, own, start, positive) for own in each]
    best = max(alone, key=lambda stack: stack.evidence)
    found = Stack.fit(scores, judge, np.array(each), start, positive)
    assert_allclose(found.weight, best.weight, atol=0)
    assert_allclose(found.left_out, best.left_out, atol=0)
    assert len({stack.evidence for stack in alone}) == 3


def test_half_the_likelihood_is_twice_the_penalty(rng):
    """Posteriors, and what leaving a row out does, depend on the ratio alone."""
    scores, judge = problem(rng)
    start, positive = np.full(4, 0.25), np.ones(4, dtype=bool)
    half = Stack.fit(scores, judge.tempered(0.5), np.full(4, 3.0), start, positive, 0.5)
    whole = Stack.fit(scores, judge, np.full(4, 6.0), start, positive, 1.0)
    assert_allclose(half.weight, whole.weight, atol=1e-5)
    assert_allclose(half.left_out, whole.left_out, atol=1e-4)


def test_members_are_trusted_by_how_sure_it_is_that_they_are_worse(rng):
    """exp(−z² / 4), with z by the textbook's paired comparison; equal members alike; the best alone in the end."""
    losses = np.stack([rng.exponential(size=50)] * 3)
    losses[1] += rng.normal(0.1, 0.5, 50)
    ones = HoldoutScorer(np.zeros(50, dtype=int), np.zeros((50, 2)), np.ones(50), np.ones(50))
    gap = losses[1] - losses[0]
    z = gap.mean() / (gap.std() / np.sqrt(50))
    worse = np.exp(-(z**2) / 4)
    expected = np.array([1, worse, 1]) / (2 + worse) if z > 0 else np.array([worse, 1, worse]) / (1 + 2 * worse)
    assert_allclose(prior_shares(losses, ones), expected, rtol=1e-10)
    often = HoldoutScorer(np.zeros(50, dtype=int), np.zeros((50, 2)), np.full(50, 400.0), np.ones(50))
    surely = prior_shares(losses, often)
    assert surely[1] < 0.01 or surely[0] < 0.01


def test_weights_of_next_to_no_use_are_left_out(rng):
    """The objective rises by no more than it may, and one more weight left out would make it rise by more."""
    scores, judge = problem(rng, n=3000, m=6)
    scores[2] = 0.999 * scores[1] + 1e-3 * scores[2]  # says what another says
    scores[4:] = centred(rng.normal(size=(2, 3000, 3)))  # noise
    m, start, penalty = 6, np.full(6, 0.01), np.full(6, 1.0)
    stack = Stack.fit(scores, judge, penalty, start, np.ones(m, dtype=bool))
    gone = stack.weight == 0.0
    assert gone[4:].all()
    assert gone[1:3].sum() == 1

    def least(gone):
        def objective(free):
            theta = np.zeros(m + 3)
            theta[~np.r_[gone, [False] * 3]] = free
            apart = 0.5 * penalty @ (theta[:m] - start) ** 2 + 0.5 * theta[m:] @ theta[m:]
            return loss_of(theta, scores, judge) + apart

        bounds = [(0, None)] * (~gone).sum() + [(None, None)] * 3
        return minimize(objective, np.full((~gone).sum() + 3, 0.1), bounds=bounds, tol=1e-12).fun

    whole, allowed = (
        least(np.zeros(m, dtype=bool)),
        stacking.NEGLIGIBLE * loss_of(np.r_[stack.weight, stack.bias], scores, judge),
    )
    assert least(gone) - whole <= 1.1 * allowed  # the rise is told by second derivatives
    for j in np.flatnonzero(~gone):
        assert least(gone | (np.arange(m) == j)) - whole > 0.9 * allowed


def test_few_rows_leave_out_no_weight_that_the_start_wants(rng):
    scores, judge = problem(rng)
    stack = Stack.fit(scores, judge, np.full(4, 100.0), np.full(4, 0.25), np.ones(4, dtype=bool))
    assert (stack.weight > 0.0).all()


@pytest.mark.parametrize("turns", [stacking.TURNS, 2])
def test_rows_of_many_classes_are_left_out_as_those_of_few(rng, monkeypatch, turns):
    """A series and k × k systems solve the same equations; so do systems alone where a series is cut short."""
    scores, judge = problem(rng, n=60, k=3, m=4)
    how = np.full(4, 3.0), np.full(4, 0.25), np.ones(4, dtype=bool)
    direct = Stack.fit(scores, judge, *how)
    monkeypatch.setattr(stacking, "FEW_CLASSES", 2)
    monkeypatch.setattr(stacking, "TURNS", turns)
    series = Stack.fit(scores, judge, *how)
    assert np.abs(direct.left_out - direct.scores(scores, judge.offset)).max() > 1e-3
    assert_allclose(series.left_out, direct.left_out, atol=1e-10)
