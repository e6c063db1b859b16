"""The scikit-learn contract, and scikit-learn's own estimators where the definitions agree."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes

CHECKED = [
    GaussianDiscriminant(),
    GaussianDiscriminant(shared=True),
    GaussianDiscriminant("diagonal", divisor="unbiased", priors="uniform"),
    GaussianDiscriminant(shrinkage=0.1, missing="error"),
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
