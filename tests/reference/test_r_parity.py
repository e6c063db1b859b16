"""Agreement with R: MASS lda and qda, normal densities by mvtnorm, e1071 naive Bayes; and definitions peers got wrong.

The golden numbers in `golden/` come from R (versions and settings are stated in each file), never from this library.
scikit-learn is no oracle here: its 1.9.1 changed the posteriors of LDA and QDA from the unbiased divisor to the
maximum-likelihood one, so a test against "scikit-learn" passes or fails with its patch version.
"""

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from suffice import GaussianDiscriminant, NaiveBayes

TOLERANCE = 1e-8
SOURCES = {"iris": load_iris, "wine": load_wine}
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
STRUCTURES = [(covariance, shared) for covariance in ("full", "diagonal", "spherical") for shared in (False, True)]


def golden(name):
    found = json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text())
    return {**found, "values": {key: np.array(rows) for key, rows in found["values"].items()}}


GOLDEN = {name: golden(f"gaussian_{name}") for name in SOURCES}
PENGUINS = golden("naive_bayes_penguins")


def labelled(name):
    """Return (X, y, golden rows) of a table, y as R's class names."""
    X, y = SOURCES[name](return_X_y=True)
    return X, np.array(GOLDEN[name]["classes"])[y], GOLDEN[name]["rows"]


# --- MASS: posteriors ---

POSTERIORS = {
    "lda_moment": {"shared": True, "divisor": "unbiased"},
    "lda_moment_uniform": {"shared": True, "divisor": "unbiased", "priors": "uniform"},
    "lda_mle": {"shared": True},
    "qda_moment": {"divisor": "unbiased"},
    "qda_moment_uniform": {"divisor": "unbiased", "priors": "uniform"},
    "qda_mle": {},
}


@pytest.mark.parametrize("table", SOURCES)
@pytest.mark.parametrize("method", POSTERIORS)
def test_mass_posteriors(table, method):
    X, y, rows = labelled(table)
    model = GaussianDiscriminant(**POSTERIORS[method]).fit(X, y)
    assert_array_equal(model.classes_, GOLDEN[table]["classes"])
    posterior = model.predict_proba(X[rows])
    assert_allclose(posterior, GOLDEN[table]["values"][method], rtol=0, atol=TOLERANCE)
    assert_allclose(posterior.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("method", ["lda_moment", "lda_mle", "qda_moment", "qda_mle"])
def test_mass_leave_one_out(method):
    """MASS leaves the row out of means and covariances and keeps the class shares of all rows as prior."""
    found = golden("leave_one_out_iris")
    priors = dict.fromkeys(range(3), 1 / 3)
    model = GaussianDiscriminant(**POSTERIORS[method], priors=priors).fit(IRIS_X, IRIS_Y)
    posterior = np.exp(model.leave_one_out(IRIS_X, IRIS_Y))[found["rows"]]
    assert_allclose(posterior, found["values"][method], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("table", SOURCES)
@pytest.mark.parametrize("method", ["lda_moment", "qda_moment"])
def test_mass_uniform_prior_given_when_predicting(table, method):
    X, y, rows = labelled(table)
    model = GaussianDiscriminant(**POSTERIORS[method]).fit(X, y)
    expected = GOLDEN[table]["values"][f"{method}_uniform"]
    assert_allclose(model.predict_proba(X[rows], priors="uniform"), expected, rtol=0, atol=TOLERANCE)


def test_mass_divisors_are_told_apart():
    """The golden numbers of the two divisors differ by far more than the tolerance, so the tests above can fail."""
    for found in GOLDEN.values():
        for rule in ("lda", "qda"):
            gap = np.abs(found["values"][f"{rule}_moment"] - found["values"][f"{rule}_mle"]).max()
            assert gap > 1000 * TOLERANCE


# --- Normal log densities of every covariance structure ---

LOG_JOINTS = {
    "lda_mle_logjoint": ("full", True),
    "qda_mle_logjoint": ("full", False),
    "diagonal_mle_logjoint": ("diagonal", False),
    "diagonal_shared_mle_logjoint": ("diagonal", True),
    "spherical_mle_logjoint": ("spherical", False),
    "spherical_shared_mle_logjoint": ("spherical", True),
}


@pytest.mark.parametrize("table", SOURCES)
@pytest.mark.parametrize("method", LOG_JOINTS)
def test_normal_log_joints(table, method):
    X, y, rows = labelled(table)
    covariance, shared = LOG_JOINTS[method]
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    assert_allclose(model.predict_joint_log_proba(X[rows]), GOLDEN[table]["values"][method], rtol=1e-9)


# --- e1071: naive Bayes ---


@pytest.mark.parametrize("table", SOURCES)
@pytest.mark.parametrize(
    "model", [NaiveBayes("gaussian", divisor="unbiased"), GaussianDiscriminant("diagonal", divisor="unbiased")]
)
def test_e1071_gaussian_columns(table, model):
    X, y, rows = labelled(table)
    expected = GOLDEN[table]["values"]["naive_bayes"]
    assert_allclose(model.fit(X, y).predict_proba(X[rows]), expected, rtol=0, atol=TOLERANCE)


@pytest.fixture(scope="module")
def penguins():
    """Return the shipped table; its text columns as categories with R's levels."""
    with resources.files("suffice.datasets").joinpath("penguins.csv").open() as file:
        table = pd.read_csv(file, na_values=["NA", ""], keep_default_na=True)
    for name, levels in PENGUINS["levels"].items():
        table[name] = pd.Categorical(table[name], categories=levels)
    return table


def test_penguins_have_the_rows_of_the_golden_file(penguins):
    columns = PENGUINS["columns"]
    assert len(penguins) == 344
    assert set(columns) <= set(penguins.columns)
    holes = np.flatnonzero(penguins[columns].isna().any(axis=1))
    assert_array_equal(holes, PENGUINS["rows_with_missing_cells"])
    assert (penguins["species"].value_counts()[PENGUINS["classes"]] == [152, 68, 124]).all()


@pytest.mark.parametrize("smoothing", [0, 0.5, 1])
def test_e1071_mixed_columns_with_missing_cells(penguins, smoothing):
    X, rows = penguins[PENGUINS["columns"]], PENGUINS["rows"]
    assert X.iloc[rows].isna().any(axis=1).sum() == 11
    model = NaiveBayes(smoothing=smoothing, divisor="unbiased").fit(X, penguins["species"].astype(str))
    assert_array_equal(model.classes_, PENGUINS["classes"])
    found = model.predict_proba(X.iloc[rows])
    assert_allclose(found, PENGUINS["values"][f"laplace_{smoothing}"], rtol=0, atol=TOLERANCE)


def test_e1071_laplace_table(penguins):
    """p(island | species) with laplace = 1, from e1071's own table, is (count + 1) / (n + 3)."""
    model = NaiveBayes(smoothing=1).fit(penguins[PENGUINS["columns"]], penguins["species"].astype(str))
    found = [model.probabilities_["island"][island] for island in PENGUINS["levels"]["island"]]
    table = [
        [0.290322580645161, 0.367741935483871, 0.341935483870968],
        [0.0140845070422535, 0.971830985915493, 0.0140845070422535],
        [0.984251968503937, 0.0078740157480315, 0.0078740157480315],
    ]
    assert_allclose(np.array(found).T, table, rtol=1e-12)


# --- Incomplete rows ---


def test_em_reaches_the_closed_form_of_a_monotone_pattern():
    """Anderson (1957), doi:10.1080/01621459.1957.10501379: one column complete, the other observed in some rows only.

    Mean and variance of the first column from all rows, the regression of the second on it from the complete rows.
    """
    X = IRIS_X[:, [0, 2]].copy()
    X[::3, 1] = np.nan
    model = GaussianDiscriminant().fit(X, IRIS_Y)
    for k in range(3):
        rows = X[k == IRIS_Y]
        full = rows[~np.isnan(rows[:, 1])]
        slope, level = np.polyfit(full[:, 0], full[:, 1], 1)
        rest = np.mean((full[:, 1] - level - slope * full[:, 0]) ** 2)
        mean, variance = rows[:, 0].mean(), rows[:, 0].var()
        covariance = [[variance, slope * variance], [slope * variance, rest + slope**2 * variance]]
        assert_allclose(model.means_[k], [mean, level + slope * mean], rtol=1e-7)
        assert_allclose(model.covariances_[k], covariance, rtol=1e-7)


# --- Definitions that peers got wrong ---


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_priors_never_alter_a_covariance(covariance, shared, divisor):
    """In scikit-learn's LDA (lsqr, eigen) the pooled covariance is weighted by the priors; in MASS it never is."""
    settings = {"shared": shared, "divisor": divisor}
    skewed = GaussianDiscriminant(covariance, priors=[0.98, 0.01, 0.01], **settings).fit(IRIS_X, IRIS_Y)
    plain = GaussianDiscriminant(covariance, **settings).fit(IRIS_X, IRIS_Y)
    assert_array_equal(skewed.covariances_, plain.covariances_)
    assert_array_equal(skewed.means_, plain.means_)
    odds = skewed.predict_log_proba(IRIS_X) - plain.predict_log_proba(IRIS_X)
    expected = np.log([0.98 / (1 / 3), 0.01 / (1 / 3), 0.01 / (1 / 3)])
    assert_allclose(odds - odds[:, :1], np.broadcast_to(expected - expected[0], odds.shape), atol=1e-9)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_pooled_covariance_weighs_classes_by_their_rows(divisor):
    """With unequal classes and equal priors: within-class scatter over n or n - K, nothing else."""
    X, y = load_wine(return_X_y=True)
    residual = X - np.stack([X[y == k].mean(axis=0) for k in range(3)])[y]
    expected = residual.T @ residual / (178 if divisor == "mle" else 175)
    model = GaussianDiscriminant(shared=True, priors="uniform", divisor=divisor).fit(X, y)
    assert_allclose(np.squeeze(model.covariances_), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("priors", [[0.5, 0.5, 0.5], [0.2, 0.2], [1.2, -0.1, -0.1], [0.5, 0.5, np.nan]])
def test_priors_that_are_no_distribution_are_refused(priors):
    """Peers renormalise, accept or refuse such priors by class; here one rule holds at fit and at prediction."""
    with pytest.raises(ValueError, match="priors"):
        GaussianDiscriminant(priors=priors).fit(IRIS_X, IRIS_Y)
    with pytest.raises(ValueError, match="priors"):
        GaussianDiscriminant().fit(IRIS_X, IRIS_Y).predict_proba(IRIS_X, priors=priors)


@pytest.mark.parametrize(("covariance", "shared"), STRUCTURES)
@pytest.mark.parametrize("classes", [(0, 1, 2), (1, 2)])
def test_every_answer_ranks_the_classes_alike(covariance, shared, classes):
    """Label = largest posterior = largest joint = largest decision, which is 1-D and signed for two classes."""
    keep = np.isin(IRIS_Y, classes)
    X, y = IRIS_X[keep], IRIS_Y[keep]
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    decision = model.decision_function(X)
    if len(classes) == 2:
        assert decision.shape == (len(X),)
        decision = np.column_stack([np.zeros(len(X)), decision])
    answers = [model.predict_proba(X), model.predict_log_proba(X), model.predict_joint_log_proba(X), decision]
    for scores in answers:
        assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("weights", [(0.9, 0.05, 0.05), (0.05, 0.05, 0.9)])
def test_a_larger_prior_never_lowers_its_class(weights):
    """The lecture's code multiplies a negative score by the prior, which ranks a class lower as its prior grows."""
    model = GaussianDiscriminant().fit(IRIS_X[:, :2], IRIS_Y)
    raised = int(np.argmax(weights))
    before = model.predict_proba(IRIS_X[:, :2], priors="uniform")[:, raised]
    after = model.predict_proba(IRIS_X[:, :2], priors=weights)[:, raised]
    inside = (before > 1e-12) & (before < 1 - 1e-12)
    assert inside.sum() > 50
    assert (after[inside] > before[inside]).all()


def test_nearly_collinear_columns_are_left_alone():
    """scikit-learn's QDA refuses its own breast cancer table, whose correlations have full rank (least value 2e-4)."""
    X, y = load_breast_cancer(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = []
    for k in (0, 1):
        shift, cov = Z - Z[y == k].mean(axis=0), np.cov(Z[y == k].T, bias=True)
        distance = np.einsum("ij,ji->i", shift, np.linalg.solve(cov, shift.T))
        scores.append(np.log(np.mean(y == k)) - 0.5 * (np.linalg.slogdet(cov)[1] + distance))
    model = GaussianDiscriminant().fit(X, y)
    assert model.notes_ == []
    assert_allclose(model.decision_function(X), scores[1] - scores[0], rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("shared", [False, True])
def test_a_far_origin_does_not_matter(shared):
    """scikit-learn's LDA (lsqr) falls to 68 % on iris + 1e8. In tenths the cells are whole, so no digit is lost."""
    tenths = np.round(IRIS_X * 10)
    plain = GaussianDiscriminant(shared=shared).fit(tenths, IRIS_Y).predict_proba(tenths)
    found = GaussianDiscriminant(shared=shared).fit(tenths + 1e8, IRIS_Y).predict_proba(tenths + 1e8)
    assert_allclose(found, plain, rtol=0, atol=1e-6)
