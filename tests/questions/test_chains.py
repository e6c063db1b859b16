"""Chains of columns against the log densities of their first columns, one at a time; and the work they take."""

from itertools import permutations

import numpy as np
import pytest
from memory import memory_below

from suffice.attribution.explain import explain_block
from suffice.attribution.shapley import sample_orders
from suffice.automatic.members.dependence import OneDependence, _ByColumn, count_pairs
from suffice.automatic.members.subclasses import Split
from suffice.densities import Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT

K = 3
FEW, MANY = 4, 10  # columns: all orders are looked at, or some


def full(rng, d, g):
    factor = rng.normal(size=(g, d, d + 3))
    return Full.factor(factor @ np.swapaxes(factor, 1, 2))


def parts_of_t(rng, d):
    rows, codes = rng.normal(size=(400, d)) @ rng.normal(size=(d, d)), np.arange(400) % K
    return Split.of(rows + codes[:, None], codes, np.ones(400), K, 3).density(10.0, 0.1)


def student(rng, d, g, df):
    return MultivariateT(rng.normal(size=(K, d)), full(rng, d, g), tuple(range(d)), df, np.array([1.1, 1.2, 1.0]))


def with_a_constant_column(rng, d):
    used = tuple(j for j in range(d) if j != 2)
    return MultivariateT(rng.normal(size=(K, d)), full(rng, d - 1, K), used, np.full(K, 9.0), np.ones(K))


def mixture(rng, d, covariance):
    owner, share = np.array([0, 0, 1, 1, 1, 2]), np.log([0.3, 0.7, 0.2, 0.5, 0.3, 1.0])
    return Mixture(Gaussian(rng.normal(size=(6, d)), covariance, tuple(range(d))), owner, share)


def low_rank(rng, d):
    basis = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    return LowRank(np.exp(rng.normal(size=(1, d))), (basis,), (np.array([4.0, 2.5]),), np.array([0.7]))


DENSITIES = {
    "t": lambda rng, d: student(rng, d, K, np.array([3.0, np.inf, 50.0])),
    "tied t": lambda rng, d: student(rng, d, 1, np.broadcast_to(40.0, K)),
    "a column that never varies": with_a_constant_column,
    "mixture": lambda rng, d: mixture(rng, d, full(rng, d, 6)),
    "independent": lambda rng, d: mixture(rng, d, Diagonal(np.exp(rng.normal(size=(6, d))))),
    "few directions": lambda rng, d: mixture(rng, d, low_rank(rng, d)),
    "parts of t": parts_of_t,
}


def orders_of(d, count):
    """Return the orders that are looked at."""
    return list(permutations(range(d))) if d == FEW else sample_orders(d, count)


def one_by_one(density, rows, order):
    """Return what each column adds in one order, (k, n, d), from a log density for each of its first columns."""
    shown = np.full(rows.shape, np.nan)
    before, found = np.zeros((len(rows), K)), np.zeros((K, *rows.shape))
    for j in order:
        shown[:, j] = rows[:, j]
        now = density.log_density(shown)
        found[:, :, j] = (now - before).T
        before = now
    return found


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("name", DENSITIES)
def test_contributions_are_means_over_orders_of_what_a_column_adds(name, d, rng):
    density = DENSITIES[name](rng, d)
    rows = rng.normal(size=(6, d))
    rows[2:4, [1, 3]] = np.nan
    rows[5] = np.nan
    expected = np.mean([one_by_one(density, rows, order) for order in orders_of(d, 6)], axis=0)
    found = explain_block(density, rows, 6, False).score
    np.testing.assert_allclose(found, expected - expected.mean(axis=0), atol=1e-10)


def test_errors_are_those_of_pairs_of_orders(rng):
    density, rows = DENSITIES["mixture"](rng, MANY), rng.normal(size=(4, MANY))
    each = np.stack([one_by_one(density, rows, order) for order in sample_orders(MANY, 8)])
    each -= each.mean(axis=1, keepdims=True)
    pairs = each.reshape(4, 2, *each.shape[1:]).mean(axis=1)
    found = explain_block(density, rows, 8, True)
    np.testing.assert_allclose(found.variance, pairs.var(axis=0, ddof=1) / 4, atol=1e-10)


@pytest.mark.parametrize("d", [FEW, MANY])
def test_one_dependence_is_averaged_over_orders(d, rng):
    """A missing column is no parent and no child."""
    starts = tuple(range(0, 3 * d + 1, 3))
    levels = rng.integers(0, 3, (300, d)) + np.asarray(starts[:-1])
    model = OneDependence(count_pairs(levels, starts[-1], np.arange(300) % K, K, None), starts)
    rows = levels[:5].copy()
    rows[1:3, [0, 3]] = -1
    rows[4] = -1

    class Shown:
        @staticmethod
        def log_density(cells):
            return model.scores(np.where(np.isnan(cells), -1, cells).astype(int))

    numbers = np.where(rows < 0, np.nan, rows)
    expected = np.mean([one_by_one(Shown, numbers, order) for order in orders_of(d, 6)], axis=0)
    found = explain_block(_ByColumn(model), tuple(rows.T), 6, False).score
    np.testing.assert_allclose(found, expected - expected.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize(("d", "count"), [(FEW, 2), (8, 2), (MANY, 2), (MANY, 64)])
def test_factors_are_made_of_all_orders_at_once(d, count, rng, monkeypatch):
    """However many orders: one call to factor, one to solve for subsets, and no log density of some columns."""
    density, rows, calls = parts_of_t(rng, d), rng.normal(size=(1, d)), []
    for name in ("cholesky", "solve"):
        work = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *a, work=work, name=name: calls.append(name) or work(*a))
    monkeypatch.setattr(MultivariateT, "log_density", lambda *_: pytest.fail("asked for a log density"))
    explain_block(density, rows, count, False)
    assert calls == ["cholesky", "solve"][: 1 if d == MANY else 2]


@pytest.mark.parametrize("d", [8, MANY])
def test_memory_is_bounded(d, rng):
    """By what is asked for, whatever the number of orders or subsets."""
    density, rows = parts_of_t(rng, d), rng.normal(size=(2000, d))
    explain_block(density, rows[:5], 64, False)
    with memory_below(96 << 20):
        explain_block(density, rows, 64, False)
