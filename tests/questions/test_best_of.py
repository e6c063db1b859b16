"""The best of several models: simultaneous intervals, and what choosing costs."""

import numpy as np

from suffice.questions.quality import best_of


def test_intervals_hold_the_differences_all_together_whichever_is_best():
    """Losses of six models with known means: 95 of 100 tables, within 3 errors of 300."""
    rng, means = np.random.default_rng(0), np.array([0.5, 0.5, 0.5, 0.52, 0.55, 0.6])
    held = 0
    for _ in range(300):
        common = rng.normal(size=(1, 80))
        found = best_of(means[:, None] + common + 0.2 * rng.normal(size=(6, 80)), np.arange(80) % 5)
        truth = means - means[found.best]
        held += bool(((found.low <= truth + 1e-12) & (truth <= found.high + 1e-12)).all())
    assert abs(held / 300 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300) + 0.01  # the quantile itself is of 4,000 draws


def test_cost_of_choosing_makes_up_for_the_least_of_equal_models():
    """The least of eight equal losses is too small; with the cost it is off by less than a third of that."""
    rng, least, cost = np.random.default_rng(1), [], []
    for _ in range(300):
        losses = 0.5 + 0.2 * rng.normal(size=(8, 100))
        found = best_of(losses, np.arange(100) % 5)
        least.append(losses[found.best].mean() - 0.5)
        cost.append(found.cost)
    assert np.mean(least) < -0.02
    assert abs(np.mean(least) + np.mean(cost)) < abs(np.mean(least)) / 3


def test_a_model_that_is_plainly_best_costs_nothing_and_equal_ones_have_no_width():
    losses = np.vstack([np.zeros(20), np.ones(20), np.ones(20)])
    found = best_of(losses, np.arange(20) % 4)
    assert (found.best, found.cost) == (0, 0.0)
    np.testing.assert_array_equal(found.above, [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(found.low, found.high)
