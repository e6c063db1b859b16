"""Estimators with a prior on their parameters: merging, weights, units, few rows, none, files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from refits import refits

from suffice import Dirichlet, GaussianDiscriminant, NaiveBayes, NormalInverseWishart

COVARIANCES = ("full", "diagonal", "spherical")
PRIORS = {
    "flat": NormalInverseWishart(3.0),
    "within": NormalInverseWishart(3.0, 0.5, target="within"),
    "proper": NormalInverseWishart(3.0, mean_strength=0.5),
    "shared": NormalInverseWishart(np.inf, mean_strength=0.1),
    "jeffreys": NormalInverseWishart("jeffreys"),
    "given": NormalInverseWishart(2.0, mean_strength=1.0, mean=np.zeros(4), scale=np.eye(4) + 0.2),
}


def model(name: str, **settings: Any) -> GaussianDiscriminant:
    return GaussianDiscriminant(prior=PRIORS[name], **settings)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_class_declared_without_rows_has_a_density(blobs: Any, name: str, shared: bool, covariance: str) -> None:
    X, y = blobs
    found = model(name, covariance=covariance, shared=shared, priors=Dirichlet(1.0))
    found.partial_fit(X, y, classes=["ash", "birch", "cedar", "yew"])
    joint, posterior = found.predict_joint_log_proba(X), found.predict_proba(X)
    assert np.isfinite(joint).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
    assert found.priors_[3] == pytest.approx(1 / 84)
    proper = PRIORS[name].mean_strength > 0
    assert any(note.label == "yew" for note in found.notes_) == (not proper)  # a proper prior needs no repair
    assert np.isfinite(found.means_).all()
    # the three classes with rows are as they would be without it
    alone = model(name, covariance=covariance, shared=shared, priors=[40 / 80, 25 / 80, 15 / 80]).fit(X, y)
    rows = found.priors_[:3] * 80 / np.array([40, 25, 15])
    np.testing.assert_allclose(joint[:, :3], alone.predict_joint_log_proba(X) + np.log(rows), rtol=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_missing_cells_where_no_column_varies(shared: bool) -> None:
    """There is nothing to tell the classes apart by but their shares, and no density to speak of."""
    X = np.zeros((6, 2))
    X[5, 0] = np.nan
    found = GaussianDiscriminant(prior=NormalInverseWishart(), shared=shared).fit(X, list("aabbbb"))
    np.testing.assert_allclose(found.predict_proba(X), [[1 / 3, 2 / 3]] * 6, rtol=1e-12)
    assert any("never varies" in str(note) for note in found.notes_)


def test_no_rows_at_all_under_a_proper_prior_is_the_prior_predictive(blobs: Any) -> None:
    from scipy import stats

    X, y = blobs
    found = model("given", priors="uniform").partial_fit(X, y, classes=["ash", "birch", "cedar", "yew"])
    # ν = a + 2 degrees of freedom, scale a B (1 + 1 / κ) / ν
    t = stats.multivariate_t(np.zeros(4), 2.0 * (np.eye(4) + 0.2) * 2.0 / 4.0, df=4.0)
    np.testing.assert_allclose(found.predict_joint_log_proba(X)[:, 3], t.logpdf(X) - np.log(4), rtol=1e-11)


def test_model_files_of_naive_bayes(read_back) -> None:
    table = pd.DataFrame({"x": [1.0, 2.0, 4.0, None], "c": ["u", "v", "u", "u"]})
    smoothing = {"c": Dirichlet(2.0, base="pooled")}
    found = NaiveBayes(smoothing=smoothing, prior=NormalInverseWishart(2.0)).fit(table, [0, 0, 1, 1])
    again = read_back(found)
    assert again.smoothing == smoothing
    np.testing.assert_array_equal(again.predict_joint_log_proba(table), found.predict_joint_log_proba(table))


def test_blocks_of_naive_bayes(blobs: Any) -> None:
    """A tuple of columns is a multivariate t, and the rest one t each; the prior speaks of each block by itself."""
    X, y = blobs
    table = pd.DataFrame(X, columns=list("abcd"))
    prior = NormalInverseWishart(5.0)
    found = NaiveBayes({("a", "c"): "gaussian"}, prior=prior, priors="uniform").fit(table, y)
    joint = GaussianDiscriminant(prior=prior, priors="uniform").fit(table[["a", "c"]], y)
    alone = NaiveBayes(prior=prior, priors="uniform").fit(table[["b", "d"]], y)
    total = joint.predict_joint_log_proba(table[["a", "c"]]) + alone.predict_joint_log_proba(table[["b", "d"]])
    np.testing.assert_allclose(found.predict_joint_log_proba(table), total + np.log(3), rtol=1e-12)
    np.testing.assert_allclose(found.means_[:, [0, 2]], joint.means_, rtol=1e-13)
    np.testing.assert_allclose(found.covariances_[:, [0, 2]][:, :, [0, 2]], joint.covariances_, rtol=1e-13)
    np.testing.assert_array_equal(found.covariances_[:, 0, 1], 0.0)


def test_linear_attributes_under_a_prior(blobs: Any) -> None:
    X, y = blobs
    found = model("flat", shared=True).fit(X, y)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=r"not linear in x.*Next"):
            getattr(found, name)
    # discriminant coordinates: the posterior mean of Σ becomes the identity
    W, a = np.linalg.inv(found.covariances_), found.transform(X)
    apart = found.means_[0] - found.means_[1]
    steps = found.transform(found.means_)
    assert a.shape == (len(X), 2)
    assert ((steps[0] - steps[1]) ** 2).sum() == pytest.approx(apart @ W @ apart, rel=1e-10)
    with pytest.raises(AttributeError):
        _ = model("flat").fit(X, y).transform


def test_leave_one_out_under_any_smoothing() -> None:
    table = pd.DataFrame({"c": list("uvuuvvuv"), "t": [True, False, True, True, False, True, False, False]})
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    for smoothing in (Dirichlet(2.0, base="pooled"), {"c": 0.5}, Dirichlet(0.7), 0.7):
        found = NaiveBayes(smoothing=smoothing).fit(table, labels).leave_one_out(table, labels)
        expected = refits(lambda own=smoothing: NaiveBayes(smoothing=own), table, labels)
        np.testing.assert_allclose(found, expected, rtol=1e-10)
