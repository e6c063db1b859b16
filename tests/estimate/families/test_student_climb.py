"""The climb to Student t maxima: derivatives against finite differences of SciPy's density, maxima against its fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from suffice.estimate.families._student_climb import Columns, climb, slopes


def columns(rng, shapes):
    draws = [stats.t.rvs(df, loc, scale, size=n, random_state=rng) for df, loc, scale, n in shapes]
    cell = np.repeat(np.arange(len(draws)), [len(x) for x in draws])
    return Columns(np.concatenate(draws), rng.integers(1, 4, len(cell)).astype(float), cell, len(draws))


def log_likelihood(own, theta):
    mu, s, u = (theta[own.cell, i] for i in range(3))
    return own.sum(own.weight * stats.t.logpdf(own.y, np.exp(u), mu, np.exp(s)))


def test_derivatives_are_those_of_the_log_likelihood(rng):
    own = columns(rng, [(1.5, 2.0, 0.3, 50), (4.0, 0.0, 2.0, 30), (30.0, -5.0, 1.0, 40)])
    theta = np.array([[1.9, -1.0, 0.5], [0.4, 0.3, 2.0], [-5.2, 0.2, 3.0]])
    total = own.sum(own.weight)
    now = slopes(own, total, theta)
    assert_allclose(now.value, log_likelihood(own, theta), rtol=1e-12)
    unit = np.stack([np.exp(theta[:, 1]), *np.ones((2, 3))], axis=1)
    for i in range(3):
        step = np.zeros((3, 3))
        step[:, i] = 1e-5 * unit[:, i]
        ahead, behind = slopes(own, total, theta + step), slopes(own, total, theta - step)
        rise = log_likelihood(own, theta + step) - log_likelihood(own, theta - step)
        assert_allclose(now.gradient[:, i], rise / 2e-5, rtol=1e-6, atol=1e-5)
        for j in {0: (0,), 1: (1, 2), 2: (1, 2)}[i]:  # σ as the unit of μ changes with log σ
            bend = (ahead.gradient[:, j] - behind.gradient[:, j]) / 2e-5
            assert_allclose(now.hessian[:, i, j], bend, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("free_df", [True, False])
def test_reaches_a_maximum_no_lower_than_scipy(rng, free_df):
    own = columns(rng, [(1.5, 2.0, 0.3, 400), (4.0, 0.0, 2.0, 300), (2.5, -5.0, 1e3, 500)])
    own.weight[:] = 1.0
    fixed = np.full(3, np.log(4.0))
    low, high = (np.zeros(3), np.full(3, np.log(100.0))) if free_df else (fixed, fixed)
    start = np.array(
        [[np.median(own.y[own.cell == c]), np.log(own.y[own.cell == c].std()), fixed[c]] for c in range(3)]
    )
    endless = np.full((3, 2), np.inf)
    bounds = np.column_stack([-endless, low]), np.column_stack([endless, high])
    found = climb(own, start, *bounds)
    reached = log_likelihood(own, found)
    for c in range(3):
        x = own.y[own.cell == c]
        df, loc, scale = stats.t.fit(x) if free_df else stats.t.fit(x, fdf=4.0)
        assert reached[c] >= stats.t.logpdf(x, df, loc, scale).sum() - 1e-6
        assert_allclose(found[c, 0], loc, atol=1e-3 * scale)
    last = slopes(own, own.sum(own.weight), found)
    assert_allclose(last.gradient[:, : 3 if free_df else 2], 0.0, atol=1e-7)
    again = climb(own, found, *bounds)
    assert_allclose(again, found, rtol=1e-9, atol=1e-9)


def test_one_cell_does_not_depend_on_the_others(rng):
    own = columns(rng, [(1.5, 2.0, 0.3, 50), (4.0, 0.0, 2.0, 30), (30.0, -5.0, 1.0, 40)])
    start = np.array([[2.0, 0.0, 1.0], [0.0, 0.5, 1.0], [-5.0, 0.0, 1.0]])
    endless = np.full((3, 2), np.inf)
    low, high = np.column_stack([-endless, np.zeros(3)]), np.column_stack([endless, np.full(3, np.log(100.0))])
    together = climb(own, start, low, high)
    for c in range(3):
        alone = climb(own.take(np.array([c])), start[[c]], low[[c]], high[[c]])
        assert_allclose(alone, together[[c]], rtol=1e-9)
