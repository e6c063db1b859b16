"""Conformal sets against brute-force leave-one-out refits, and their coverage of rows set aside."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.conformal import class_sets, threshold
from suffice.errors import DataError, SettingError


@pytest.mark.parametrize("make", [lambda: GaussianDiscriminant(shared=True), lambda: NaiveBayes()])
def test_thresholds_are_those_of_refits_without_each_row(make, blobs):
    X, y = blobs
    model = make().fit(X, y)
    left_out = np.stack(
        [make().fit(np.delete(X, i, 0), np.delete(y, i)).predict_log_proba(X[[i]])[0] for i in range(len(y))]
    )
    codes = np.searchsorted(model.classes_, y)
    for alpha in (0.05, 0.2, 0.4):
        limit = threshold(-left_out[np.arange(len(y)), codes], np.ones(len(y)), alpha)
        expected = class_sets(model.predict_log_proba(X), limit + 1e-9)  # the quantile is one of the scores
        near = np.abs(-model.predict_log_proba(X) - limit) < 1e-8
        assert (model.predict_set(X, alpha) == expected)[~near].all()


def test_sets_cover_and_grow_with_confidence(rng):
    X, y = load_wine(return_X_y=True)
    X = X[:, :3]
    hits, sizes = [], []
    for _ in range(10):
        order = rng.permutation(len(y))
        model = GaussianDiscriminant().fit(X[order[:120]], y[order[:120]])
        new = order[120:]
        found = [model.predict_set(X[new], alpha) for alpha in (0.05, 0.2)]
        assert (found[0] | ~found[1]).all()
        hits.append([part[np.arange(len(new)), y[new]].mean() for part in found])
        sizes.append([part.sum(axis=1).mean() for part in found])
    shares = np.mean(hits, axis=0)
    assert abs(shares[0] - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 580)
    assert abs(shares[1] - 0.80) < 3 * np.sqrt(0.20 * 0.80 / 580)
    assert np.mean(sizes, axis=0)[0] > np.mean(sizes, axis=0)[1]


def test_a_model_that_learns_more_is_judged_anew():
    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant(shared=True).fit(X[::2], y[::2])
    model.predict_set(X)
    model.partial_fit(X[1::2], y[1::2])
    assert (model.predict_set(X, 0.02) == GaussianDiscriminant(shared=True).fit(X, y).predict_set(X, 0.02)).all()


def test_what_cannot_work_is_refused(blobs):
    X, y = blobs
    with pytest.raises(SettingError, match="alpha"):
        GaussianDiscriminant().fit(X, y).predict_set(X, 1.0)
    with pytest.raises(DataError, match="keep_rows=2000"):
        GaussianDiscriminant(keep_rows=0).fit(X, y).predict_set(X)
