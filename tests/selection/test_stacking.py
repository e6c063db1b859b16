"""The pool of members: its optimum against a general optimiser, its leave-one-out against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from suffice.selection import stacking
from suffice.selection.stacking import Judge, Stack, centred, without_each


def problem(rng, n=80, k=3, m=4):
    y = rng.integers(0, k, n)
    scores = centred(rng.normal(size=(m, n, k)) + 2 * (np.arange(k) == y[:, None]) * rng.random((m, 1, 1)))
    weight = rng.integers(1, 4, n).astype(float)
    return scores, Judge(y, np.log(rng.dirichlet(np.ones(k), n)), weight, weight)


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
    judge = Judge(judge.codes, judge.offset, np.ones(60), np.ones(60))
    how = np.full(4, 3.0), np.full(4, 0.25), np.ones(4, dtype=bool)
    stack = Stack.fit(scores, judge, *how)
    moved, error = 0.0, 0.0
    for i in range(60):
        kept = np.arange(60) != i
        rest = Judge(judge.codes[kept], judge.offset[kept], judge.weight[kept], judge.single[kept])
        refit = Stack.fit(scores[:, kept], rest, *how).scores(scores[:, [i]], judge.offset[[i]])[0]
        error = max(error, np.abs(centred(refit) - centred(stack.left_out[i])).max())
        moved = max(moved, np.abs(centred(refit) - centred(stack.scores(scores[:, [i]], judge.offset[[i]])[0])).max())
    assert error < 0.1 * moved  # one Newton step leaves an error of second order


def test_of_many_equal_rows_one_is_left_out(rng):
    """A row that stands for ten is moved by a tenth of its weight, as ten equal rows are."""
    scores, judge = problem(rng, n=40)
    ones = Judge(judge.codes, judge.offset, np.full(40, 10.0), np.ones(40))
    many = Judge(np.repeat(judge.codes, 10), np.repeat(judge.offset, 10, axis=0), np.ones(400), np.ones(400))
    how = np.full(4, 3.0), np.full(4, 0.25), np.ones(4, dtype=bool)
    a, b = Stack.fit(scores, ones, *how), Stack.fit(np.repeat(scores, 10, axis=1), many, *how)
    assert_allclose(a.weight, b.weight, atol=1e-8)
    assert_allclose(np.repeat(a.left_out, 10, axis=0), b.left_out, atol=1e-7)


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_temperature_is_the_best_multiplier(rng, scale):
    scores, judge = problem(rng)
    own = scale * scores[0]
    best = minimize_scalar(lambda t: judge.loss(t * own), bounds=(1e-3, 50), method="bounded", options={"xatol": 1e-9})
    loss, t = judge.temperature(own)
    assert_allclose(loss, best.fun, atol=1e-6)
    assert_allclose(t, best.x, rtol=1e-2)
    assert_allclose(loss, judge.loss(t * own), rtol=1e-12)


def test_priors_without_each_row():
    log_prior = without_each(np.array([3.0, 2.0]), np.array([0, 1]), np.array([1.0, 2.0]))
    assert_allclose(np.exp(log_prior), [[2.5 / 5, 2.5 / 5], [3.5 / 4, 0.5 / 4]])


def test_many_classes_have_no_biases(rng, monkeypatch):
    """Beyond a number of classes the pool has member weights alone: its optimum, and its leave-one-out by refits."""
    monkeypatch.setattr(stacking, "MOST_BIASES", 4)
    scores, judge = problem(rng, n=70, k=5, m=3)
    judge = Judge(judge.codes, judge.offset, np.ones(70), np.ones(70))
    how = np.full(3, 3.0), np.full(3, 0.3), np.ones(3, dtype=bool)
    stack = Stack.fit(scores, judge, *how)
    assert not stack.bias.any()

    def objective(weight):
        return loss_of(np.r_[weight, np.zeros(5)], scores, judge) + 1.5 * ((weight - 0.3) ** 2).sum()

    best = minimize(objective, np.full(3, 0.3), bounds=[(0, None)] * 3, tol=1e-12)
    assert_allclose(stack.weight, best.x, atol=2e-4)
    moved, error = 0.0, 0.0
    for i in range(70):
        kept = np.arange(70) != i
        rest = Judge(judge.codes[kept], judge.offset[kept], judge.weight[kept], judge.single[kept])
        refit = Stack.fit(scores[:, kept], rest, *how).scores(scores[:, [i]], judge.offset[[i]])[0]
        error = max(error, np.abs(centred(refit) - centred(stack.left_out[i])).max())
        moved = max(moved, np.abs(centred(refit) - centred(stack.scores(scores[:, [i]], judge.offset[[i]])[0])).max())
    assert error < 0.1 * moved
