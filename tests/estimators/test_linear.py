"""Models with one covariance for all classes: linear coefficients and discriminant coordinates."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.datasets import load_wine

from suffice import GaussianDiscriminant

STRUCTURES = pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])


@STRUCTURES
@pytest.mark.parametrize("priors", [None, "uniform", [0.1, 0.3, 0.6]], ids=str)
def test_softmax_of_the_linear_scores(blobs, covariance, priors):
    X, y = blobs
    model = GaussianDiscriminant(covariance, shared=True, priors=priors).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    found = softmax(X @ model.coef_.T + model.intercept_, axis=1)
    assert_allclose(found, model.predict_proba(X), rtol=1e-9, atol=1e-12)


@STRUCTURES
def test_sigmoid_of_two_classes(blobs, covariance):
    X, y = blobs
    X, y = X[y != "birch"], y[y != "birch"]
    model = GaussianDiscriminant(covariance, shared=True).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    scores = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(expit(scores), model.predict_proba(X)[:, 1], rtol=1e-9, atol=1e-12)
    assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    matrix = model.covariances_
    assert_allclose(model.coef_[0], np.linalg.solve(matrix, model.means_[1] - model.means_[0]), rtol=1e-9)


@STRUCTURES
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_discriminant_coordinates(rng, covariance, k, d):
    """Within classes they are uncorrelated with variance 1 (under the model's covariance); min(k − 1, d) of them."""
    y = np.arange(120) % k
    X = rng.normal(size=(120, d)) @ (rng.normal(size=(d, d)) + np.eye(d)) + rng.normal(size=(k, d))[y] * 2
    model = GaussianDiscriminant(covariance, shared=True).fit(X, y)
    Z = model.transform(X)
    r = min(k - 1, d)
    assert Z.shape == (120, r)
    if covariance == "full" and r:
        within = (
            sum((Z[y == c] - Z[y == c].mean(axis=0)).T @ (Z[y == c] - Z[y == c].mean(axis=0)) for c in range(k)) / 120
        )
        assert_allclose(within, np.eye(r), atol=1e-9)
    axes = model.transform(np.eye(d)) - model.transform(np.zeros((1, d)))  # the map is affine
    assert_allclose(axes.T @ model.covariances_ @ axes, np.eye(r), atol=1e-9)
    centres = model.transform(model.means_)
    between = (centres * model.priors_[:, None]).T @ centres
    assert_allclose(model.priors_ @ centres, 0, atol=1e-9)
    assert_allclose(between, np.diag(np.diag(between)), atol=1e-9)
    assert (np.diff(np.diag(between)) <= 1e-9).all()


def test_each_axis_points_to_its_farthest_class_mean(blobs):
    X, y = blobs
    centres = (model := GaussianDiscriminant(shared=True).fit(X, y)).transform(model.means_)
    farthest = centres[np.abs(centres).argmax(axis=0), range(centres.shape[1])]
    assert (farthest > 0).all()


def test_coordinates_of_rows_with_missing_cells(blobs):
    X, y = blobs
    model = GaussianDiscriminant(shared=True).fit(X, y)
    Z = X[:5].copy()
    Z[2, 1] = np.nan
    found = model.transform(Z)
    assert np.isnan(found[2]).all()
    assert_allclose(found[[0, 1, 3, 4]], model.transform(X[:5])[[0, 1, 3, 4]])


def test_unused_columns_have_no_weight(blobs):
    X, y = blobs
    plain = GaussianDiscriminant(shared=True).fit(X, y)
    wide = GaussianDiscriminant(shared=True).fit(np.column_stack([X[:, :2], np.full(80, 3.0), X[:, 2:]]), y)
    assert_array_equal(wide.coef_[:, 2], np.zeros(3))
    assert_allclose(np.delete(wide.coef_, 2, axis=1), plain.coef_, rtol=1e-9)
    Z = np.column_stack([X[:, :2], np.full(80, 99.0), X[:, 2:]])
    assert_allclose(wide.transform(Z), plain.transform(X), atol=1e-10)
    assert_allclose(wide.covariances_[2], 0.0)


def test_names_and_containers_of_the_coordinates():
    bunch = load_wine(as_frame=True)
    model = GaussianDiscriminant(shared=True).set_output(transform="pandas")
    index = pd.Index([f"bottle {i}" for i in range(len(bunch.data))])
    found = model.fit(bunch.data, bunch.target).transform(bunch.data.set_index(index))
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == ["gaussiandiscriminant0", "gaussiandiscriminant1"]
    assert found.index.equals(index)
    assert model.get_feature_names_out().tolist() == found.columns.tolist()
    assert_allclose(found, GaussianDiscriminant(shared=True).fit_transform(bunch.data, bunch.target))
    pytest.importorskip("polars")
    assert type(model.set_output(transform="polars").transform(bunch.data)).__name__ == "DataFrame"


@STRUCTURES
def test_nothing_linear_without_a_shared_covariance(blobs, covariance):
    model = GaussianDiscriminant(covariance).fit(*blobs)
    for name in ("coef_", "intercept_", "transform", "fit_transform", "set_output", "get_feature_names_out"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"shared=True|{name}"):
            getattr(model, name)
    assert hasattr(GaussianDiscriminant(shared=True), "transform")
