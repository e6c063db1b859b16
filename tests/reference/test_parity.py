"""Which setting of ours is which peer: the rows of docs/parity.md that test_r_parity.py does not have already.

Golden numbers come from the peers themselves (versions and settings are stated in each file); the installed
scikit-learn is asked live. Tolerance 1e-10: rounding of two ways to compute a posterior is some 1e-14 on these tables,
and a wrong divisor moves it by 1e-3.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn import discriminant_analysis, naive_bayes
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.fixes import parse_version

from suffice import GaussianDiscriminant, NaiveBayes, drop_in

TOLERANCE = 1e-10
TABLES = {"iris": load_iris, "wine": load_wine}
PEER = parse_version(sklearn.__version__)
NEW = parse_version("1.9.1") <= PEER


def golden(name):
    return json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text())


MCLUST, OLD = golden("mclust_edda"), golden("scikit_learn_1_8_0")


def standardised(name):
    """Return the table with columns of unit variance: scikit-learn judges ranks in the columns' own units."""
    X, y = TABLES[name](return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("structure", "covariance", "shared"),
    [
        ("EEE", "full", True),
        ("VVV", "full", False),
        ("EEI", "diagonal", True),
        ("VVI", "diagonal", False),
        ("EII", "spherical", True),
        ("VII", "spherical", False),
    ],
)
def test_mclust_edda(table, structure, covariance, shared):
    X, y = TABLES[table](return_X_y=True)
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    found = model.predict_proba(X[MCLUST["rows"][table]])
    assert_allclose(found, MCLUST["values"][f"{table}_{structure}"], rtol=0, atol=TOLERANCE)


UNBIASED = {"divisor": "unbiased"}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("peer", "model"),
    [
        ("lda_svd", GaussianDiscriminant(shared=True, **UNBIASED)),
        ("lda_lsqr", GaussianDiscriminant(shared=True)),
        ("lda_eigen", GaussianDiscriminant(shared=True)),
        ("lda_lsqr_auto", drop_in.LinearDiscriminantAnalysis("lsqr", shrinkage="auto")),
        ("qda", GaussianDiscriminant(**UNBIASED)),
        ("gaussian_nb", NaiveBayes()),
    ],
    ids=str,
)
def test_scikit_learn_1_8_0(table, peer, model):
    X, y = standardised(table)
    found = model.fit(X, y).predict_proba(X[OLD["rows"][table]])
    assert_allclose(found, OLD["values"][f"{table}_{peer}"], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("settings", "peer"),
    [
        ({"shared": True}, discriminant_analysis.LinearDiscriminantAnalysis(tol=1e-12)),
        ({}, discriminant_analysis.QuadraticDiscriminantAnalysis(tol=1e-12)),
    ],
    ids=str,
)
def test_installed_scikit_learn_on_either_side_of_its_change_of_divisor(table, settings, peer):
    """From 1.9.1 on solver "svd" and QDA divide by n and n_k as well; before by n − K and n_k − 1."""
    X, y = standardised(table)
    expected = peer.fit(X, y).predict_proba(X)
    found = GaussianDiscriminant(**settings, divisor="mle" if NEW else "unbiased").fit(X, y).predict_proba(X)
    assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    other = GaussianDiscriminant(**settings, divisor="unbiased" if NEW else "mle").fit(X, y).predict_proba(X)
    assert np.abs(other - expected).max() > 1e-4


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_installed_scikit_learn_lda(table, solver):
    X, y = standardised(table)
    expected = discriminant_analysis.LinearDiscriminantAnalysis(solver).fit(X, y).predict_proba(X)
    assert_allclose(GaussianDiscriminant(shared=True).fit(X, y).predict_proba(X), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_installed_scikit_learn_of_counts(rng, alpha):
    X, y, rows = rng.poisson(2.0, (80, 7)), rng.integers(0, 3, 80), rng.poisson(2.0, (30, 7))
    expected = naive_bayes.MultinomialNB(alpha=alpha).fit(X, y).predict_proba(rows)
    model = NaiveBayes("multinomial", smoothing=alpha).fit(X, y)
    assert_allclose(model.predict_proba(rows), expected, rtol=0, atol=TOLERANCE)
    expected = naive_bayes.BernoulliNB(alpha=alpha).fit(X, y).predict_proba(rows)
    model = NaiveBayes("bernoulli", smoothing=alpha).fit(X > 0, y)
    assert_allclose(model.predict_proba(rows > 0), expected, rtol=0, atol=TOLERANCE)
