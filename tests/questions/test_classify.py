"""Bayes' rule on log joints: scale, impossible rows, decisions."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from suffice.densities import Diagonal, Gaussian, Product
from suffice.estimate import estimate_categorical
from suffice.joint import JointModel, log_posterior, marginal_log_density
from suffice.stats import CategoricalStats


def counts(*tables):
    levels = tuple(tuple(range(len(table[0]))) for table in tables)
    arrays = tuple(np.array(table, dtype=float) for table in tables)
    return CategoricalStats(levels, arrays, np.zeros((len(tables[0]), len(tables))))


def words(*tables, smoothing=0.0, prior=(0.5, 0.5)):
    density = estimate_categorical(counts(*tables), smoothing)
    with np.errstate(divide="ignore"):
        return JointModel(tuple(range(len(prior))), np.log(prior), Product((density,)))


def ask(model, *codes):
    return np.exp(log_posterior(model, (tuple(np.array([c]) for c in codes),)))[0]


def test_log_posteriors_keep_their_scale():
    """A standard deviation of 1 and a mean 1e3 away is a log posterior of −5e5, where exp would saturate at −745."""
    means = np.array([[0.0], [1e3]])
    model = JointModel((0, 1), np.log([0.5, 0.5]), Product((Gaussian(means, Diagonal(np.ones((1, 1))), (0,)),)))
    found = log_posterior(model, (np.array([[0.0], [1e3], [500.0]]),))
    assert_allclose(found, [[0, -5e5], [-5e5, 0], [np.log(0.5)] * 2], rtol=1e-12)
    assert_allclose(marginal_log_density(model, (np.zeros((1, 1)),)), np.log(0.5) - 0.5 * np.log(2 * np.pi))


def test_priors_and_missing_cells():
    model = words([[2, 0], [1, 1]], prior=(0.9, 0.1))
    assert_allclose(ask(model, -1), [0.9, 0.1])
    sure = words([[2, 0], [1, 1]], prior=(1.0, 0.0))
    assert_array_equal(ask(sure, 1), [1, 0])  # impossible in the only class there can be: what is left is the prior
    model = words([[2, 0], [1, 1]])
    found = log_posterior(model, ((np.array([0]),),), np.log([0.2, 0.8]))
    assert_allclose(np.exp(found), [[0.2 / 0.6, 0.4 / 0.6]])


def test_a_class_of_prior_zero_does_not_set_the_limit():
    """It alone could have made the row, and it cannot be: the others share by their own coefficients, 1/4 and 1/2."""
    model = words([[1, 1], [4, 0], [2, 0]], prior=(0.0, 0.5, 0.5))
    assert_allclose(ask(model, 1), [0, 1 / 3, 2 / 3])


def test_a_row_no_class_and_no_limit_allows_gets_the_prior():
    class Nowhere:
        def log_density(self, rows):
            return np.full((len(rows), 2), -np.inf)

    model = JointModel((0, 1), np.log([0.3, 0.7]), Product((Nowhere(),)))
    assert_allclose(np.exp(log_posterior(model, (np.zeros((2, 1)),))), [[0.3, 0.7]] * 2)
