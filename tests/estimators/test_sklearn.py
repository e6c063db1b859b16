"""The scikit-learn contract, and scikit-learn's own estimators where the definitions agree."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes

CHECKED = [
    GaussianDiscriminant(),
    GaussianDiscriminant(shared=True),
    GaussianDiscriminant("diagonal", divisor="unbiased"),
    GaussianDiscriminant("spherical", shared=True, priors="uniform"),
    GaussianDiscriminant(shrinkage=0.1, missing="error"),
    GaussianDiscriminant(shrinkage="loo"),
    NaiveBayes(),
    NaiveBayes("categorical", smoothing=0.0),
    GenerativeClassifier(),
    GenerativeForest(),
]


def expected_to_fail(estimator):
    """A model may be asked about rows of any library, whatever it was fitted on; a check wants that refused."""
    found = {}
    if estimator.__sklearn_tags__().array_api_support:
        found["check_array_api_same_namespace"] = "statistics live on the CPU, so rows may come from any library"
    if estimator.priors is not None:
        found["check_class_weight_classifiers"] = "class weights are another way to say priors, and both are refused"
    return found


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_to_fail)
def test_scikit_learn_checks(estimator, check):
    """No other check is expected to fail, and these must; `make arrays` runs those for arrays of other libraries."""
    check(estimator)


# --- peers ---

TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
PEER = parse_version(sklearn.__version__)
# scikit-learn 1.9.1 divides by n (LDA) and n_k (QDA); earlier releases by n − K and n_k − 1
DIVISOR = "mle" if parse_version("1.9.1") <= PEER else "unbiased"


@pytest.mark.parametrize("table", TABLES)
def test_gaussian_nb(table):
    X, y = TABLES[table](return_X_y=True)
    peer = GaussianNB(var_smoothing=0).fit(X, y)
    for model in (NaiveBayes().fit(X, y), GaussianDiscriminant("diagonal").fit(X, y)):
        assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-9)
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_lda(table):
    X, y = TABLES[table](return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # their rank is judged on the columns' own scale
    peer = LinearDiscriminantAnalysis(solver="svd", tol=1e-12).fit(X, y)
    model = GaussianDiscriminant(shared=True, divisor=DIVISOR).fit(X, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert_allclose(np.abs(model.transform(X)), np.abs(peer.transform(X)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("table", ["iris", "wine"])
def test_qda(table):
    X, y = TABLES[table](return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = QuadraticDiscriminantAnalysis(tol=1e-12).fit(X, y)
    model = GaussianDiscriminant(divisor=DIVISOR).fit(X, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 1e-6])
def test_categorical_nb(rng, alpha):
    """Their levels are 0 to the given number, seen or not; ours are declared by a pandas category."""
    pd = pytest.importorskip("pandas")
    codes, y = rng.integers(0, 4, (80, 3)), rng.integers(0, 3, 80)
    peer = CategoricalNB(alpha=alpha, min_categories=6).fit(codes, y)
    frame = pd.DataFrame({f"c{j}": pd.Categorical(codes[:, j], categories=range(6)) for j in range(3)})
    model = NaiveBayes(smoothing=alpha).fit(frame, y)
    assert_allclose(model.predict_joint_log_proba(frame), peer.predict_joint_log_proba(codes), rtol=1e-10)
    other = rng.integers(0, 6, (30, 3))
    later = pd.DataFrame({f"c{j}": pd.Categorical(other[:, j], categories=range(6)) for j in range(3)})
    assert_allclose(model.predict_proba(later), peer.predict_proba(other), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 1e-6])
def test_bernoulli_nb(rng, alpha):
    X, y = rng.random((80, 5)) < 0.3, rng.integers(0, 3, 80)
    peer = BernoulliNB(alpha=alpha).fit(X, y)
    model = NaiveBayes(smoothing=alpha).fit(X, y)
    assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-10)
    assert_allclose(
        NaiveBayes("bernoulli", smoothing=alpha).fit(X.astype(int), y).predict_proba(X), peer.predict_proba(X)
    )


# --- tools ---


def test_cross_validation_and_search(blobs):
    X, y = blobs
    search = GridSearchCV(
        GaussianDiscriminant(),
        {"covariance": ["full", "diagonal"], "shared": [False, True], "shrinkage": [None, 0.5]},
        scoring="neg_log_loss",
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > -1.1
    assert len(search.cv_results_["params"]) == 8
    assert search.predict_proba(X).shape == (len(y), 3)
    assert cross_val_score(NaiveBayes(), X, y, cv=4, error_score="raise").mean() > 0.4
    assert cross_val_predict(NaiveBayes(), X, y, cv=4, method="predict_log_proba").shape == (len(y), 3)


def test_nested_settings_survive_a_search(rng):
    words = np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, 60)][:, None]
    X, y = np.concatenate([words, rng.normal(size=(60, 2)).astype(object)], axis=1), np.arange(60) % 2
    grid = {"families": ["auto", {(1, 2): "gaussian"}, {0: "categorical"}], "smoothing": [0.0, 1.0]}
    search = GridSearchCV(NaiveBayes(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6


def test_weights_are_routed(blobs, rng):
    """cross_validate hands each fold its own weights: half of them are zero, as if those rows were absent."""
    X, y = blobs
    weight = (np.arange(len(y)) % 2).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            GaussianDiscriminant("diagonal").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        found = cross_validate(
            model,
            X,
            y,
            cv=3,
            params={"sample_weight": weight},
            return_estimator=True,
            return_indices=True,
            error_score="raise",
        )
    for fitted, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        kept = train[weight[train] > 0]
        assert fitted.statistics_.total == len(kept)
        expected = GaussianDiscriminant("diagonal").fit(X[kept], y[kept])
        assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-12)


def test_priors_and_costs_can_be_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = GaussianDiscriminant().set_predict_request(costs=True)
        assert model.get_metadata_routing().predict.requests["costs"] is True
        assert "sample_weight" in model.get_metadata_routing().partial_fit.requests


def test_tags():
    from sklearn.utils import get_tags

    for model in (GaussianDiscriminant(), NaiveBayes()):
        tags = get_tags(model)
        assert tags.input_tags.allow_nan
        assert tags.input_tags.sparse
        assert tags.estimator_type == "classifier"
    assert not get_tags(GaussianDiscriminant(missing="error")).input_tags.allow_nan
    assert get_tags(NaiveBayes()).input_tags.string
    for model in (GaussianDiscriminant(), GaussianDiscriminant(shared=True)):
        assert get_tags(model).array_api_support
    for model in (NaiveBayes(), NaiveBayes("poisson"), GenerativeClassifier()):  # answer in NumPy
        assert not get_tags(model).array_api_support
    assert get_tags(GaussianDiscriminant(shared=True)).transformer_tags is not None
    assert get_tags(GaussianDiscriminant()).transformer_tags is None


def test_settings_are_keyword_only_and_shown():
    assert (
        repr(GaussianDiscriminant("diagonal", shared=True))
        == "GaussianDiscriminant(covariance='diagonal', shared=True)"
    )
    assert repr(NaiveBayes(smoothing=0.5)) == "NaiveBayes(smoothing=0.5)"
    with pytest.raises(TypeError):
        GaussianDiscriminant("full", True)
