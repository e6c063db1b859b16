"""The laws of a joint model that hold for the automatic classifier as well, whose posteriors are a pool of several."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from suffice import GenerativeClassifier
from suffice.testing import models
from suffice.testing.models import ModelCase


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model(iris):
    return GenerativeClassifier().fit(*iris)


@pytest.mark.parametrize("law", ["_one_by_one", "_learns_in_any_order"])
def test_law(model, iris, law):
    case = ModelCase(model, *iris, 1e-8)
    getattr(models, law)(case, np.random.default_rng(0))


def test_posteriors_of_rows_do_not_depend_on_company_or_order(model, iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(y))
    posterior = model.predict_proba(X)
    assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(model.predict_proba(X[order]), posterior[order], atol=1e-12)
    assert_allclose(model.predict_proba(X[7:8]), posterior[7:8], atol=1e-12)
    assert_allclose(GenerativeClassifier().fit(X[order], y[order]).predict_proba(X), posterior, atol=1e-8)


def test_a_row_of_which_nothing_is_known_gets_the_class_prior(iris):
    """Up to the half row added to each class, and the biases of the pool, which are small but not nothing."""
    X, y = iris
    some = np.concatenate([np.arange(50), np.arange(50, 130, 2), np.arange(100, 150, 5)])
    model = GenerativeClassifier().fit(X[some], y[some])
    assert_allclose(model.predict_proba(np.full((1, 4), np.nan))[0], model.priors_, atol=0.1)
