"""Chains of columns against the log densities of their first columns, one at a time; and the work they take."""

import numpy as np
import pytest

from suffice.automatic.members.dependence import OneDependence, _ByColumn, count_pairs
from suffice.automatic.members.subclasses import Split
from suffice.densities import Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT
from suffice.tasks.chains import Chain, steps
from suffice.tasks.explain import explain_block
from suffice.tasks.shapley import sample_orders

D, K = 10, 3


def full(rng, g):
    factor = rng.normal(size=(g, D, D + 3))
    return Full.factor(factor @ np.swapaxes(factor, 1, 2))


def parts_of_t(rng):
    rows, codes = rng.normal(size=(400, D)) @ rng.normal(size=(D, D)), np.arange(400) % K
    return Split.of(rows + codes[:, None], codes, np.ones(400), K, 3).density(10.0, 0.1)


def mixture(rng, covariance):
    owner = np.array([0, 0, 1, 1, 1, 2])
    share = np.log([0.3, 0.7, 0.2, 0.5, 0.3, 1.0])
    return Mixture(Gaussian(rng.normal(size=(6, D)), covariance, tuple(range(D))), owner, share)


def low_rank(rng):
    basis = np.linalg.qr(rng.normal(size=(D, 2)))[0]
    return LowRank(np.exp(rng.normal(size=(1, D))), (basis,), (np.array([4.0, 2.5]),), np.array([0.7]))


DENSITIES = {
    "t": lambda rng: MultivariateT(
        rng.normal(size=(K, D)), full(rng, K), tuple(range(D)), np.array([3.0, np.inf, 50.0]), np.array([1.1, 1.2, 1.0])
    ),
    "tied t": lambda rng: MultivariateT(
        rng.normal(size=(K, D)), full(rng, 1), tuple(range(D)), np.full(K, 40.0), np.ones(K)
    ),
    "a column that never varies": lambda rng: MultivariateT(
        rng.normal(size=(K, D)),
        full(rng, K).marginal([j for j in range(D) if j != 4]),
        tuple(j for j in range(D) if j != 4),
        np.full(K, 9.0),
        np.ones(K),
    ),
    "mixture": lambda rng: mixture(rng, full(rng, 6)),
    "independent": lambda rng: mixture(rng, Diagonal(np.exp(rng.normal(size=(6, D))))),
    "few directions": lambda rng: mixture(rng, low_rank(rng)),
    "parts of t": parts_of_t,
}


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


@pytest.mark.parametrize("name", DENSITIES)
def test_contributions_are_means_over_orders_of_what_a_column_adds(name, rng):
    density = DENSITIES[name](rng)
    rows = rng.normal(size=(6, D))
    rows[2:4, [1, 7]] = np.nan
    rows[5] = np.nan
    expected = np.mean([one_by_one(density, rows, order) for order in sample_orders(D, 6)], axis=0)
    found = explain_block(density, rows, 6, False).score
    np.testing.assert_allclose(found, expected - expected.mean(axis=0), atol=1e-10)


def test_errors_are_those_of_pairs_of_orders(rng):
    density, rows = DENSITIES["mixture"](rng), rng.normal(size=(4, D))
    orders = sample_orders(D, 8)
    each = np.stack([one_by_one(density, rows, order) for order in orders])
    each -= each.mean(axis=1, keepdims=True)
    pairs = each.reshape(4, 2, *each.shape[1:]).mean(axis=1)
    found = explain_block(density, rows, 8, True)
    np.testing.assert_allclose(found.variance, pairs.var(axis=0, ddof=1) / 4, atol=1e-10)


def test_one_dependence_is_averaged_over_orders(rng):
    """A missing column is no parent and no child."""
    starts = tuple(range(0, 3 * D + 1, 3))
    levels = rng.integers(0, 3, (300, D)) + np.asarray(starts[:-1])
    model = OneDependence(count_pairs(levels, starts[-1], np.arange(300) % K, K, None), starts)
    rows = levels[:5].copy()
    rows[1:3, [0, 4]] = -1
    rows[4] = -1

    class Shown:
        @staticmethod
        def log_density(cells):
            return model.scores(np.where(np.isnan(cells), -1, cells).astype(int))

    numbers = np.where(rows < 0, np.nan, rows)
    expected = np.mean([one_by_one(Shown, numbers, order) for order in sample_orders(D, 6)], axis=0)
    found = explain_block(_ByColumn(model), tuple(rows.T), 6, False).score
    np.testing.assert_allclose(found, expected - expected.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("count", [2, 64])
def test_factors_are_made_of_all_orders_at_once(count, rng, monkeypatch):
    """However many orders: one call each to factor and to solve, and no log density of some columns."""
    density, rows, calls = parts_of_t(rng), rng.normal(size=(1, D)), []
    for name in ("cholesky", "solve"):
        work = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *a, work=work, name=name: calls.append(name) or work(*a))
    monkeypatch.setattr(MultivariateT, "log_density", lambda *_: pytest.fail("asked for a log density"))
    explain_block(density, rows, count, False)
    assert calls == ["cholesky", "solve"]


def test_rows_and_orders_are_taken_so_many_at_a_time(rng, monkeypatch):
    """What one chunk holds is bounded: its numbers by row, order, part and column, in a few arrays."""
    density, sizes = parts_of_t(rng), []
    monkeypatch.setattr("suffice.tasks.chains.steps", lambda p, o: sizes.append(p.nbytes) or steps(p, o))
    rows, orders = rng.normal(size=(3000, D)), sample_orders(D, 64)
    assert sum(1 for _ in Chain.of(density).terms(rows, orders)) == 64
    assert max(sizes) <= max(1 << 24, 8 * len(rows) * K * D)
