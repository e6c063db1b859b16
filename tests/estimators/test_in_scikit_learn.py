"""What scikit-learn's tools ask of a classifier beyond its checks: class weights, importances, partial dependence."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import PartialDependenceDisplay, partial_dependence

from suffice import NaiveBayes, load
from suffice.errors import SettingError

MODELS = kinds("full, naive bayes, single components, automatic, forest")
WEIGHTS = {"ash": 3.0, "cedar": 0.5}


@pytest.mark.parametrize("name", MODELS)
def test_class_weights_multiply_the_odds(blobs, name, tmp_path):
    """By Bayes' rule, as p(x | class) stays: p ∝ w p where the classes' shares were the priors."""
    X, y = blobs
    plain = MODELS[name]().fit(X, y)
    model = MODELS[name]().set_params(class_weight=WEIGHTS).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    w = np.array([WEIGHTS.get(label, 1.0) for label in model.classes_])
    n = np.unique(y, return_counts=True)[1]
    np.testing.assert_allclose(model.priors_, n * w / (n @ w), rtol=1e-12)
    if name in ("full", "naive bayes", "single components"):
        odds = plain.predict_proba(X) * w
        np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-9)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(load(tmp_path / "m").priors_, model.priors_)
    np.testing.assert_allclose(
        model.predict_proba(X, priors="uniform"), plain.predict_proba(X, priors="uniform"), atol=1e-9
    )
    even = plain.set_params(class_weight="balanced").predict_proba(X)
    np.testing.assert_allclose(even, plain.set_params(class_weight=None, priors="uniform").predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"class_weight": "balanced", "priors": "uniform"}, "give one of them"),
        ({"class_weight": {"oak": 2.0}}, "names 'oak'; the classes are 'ash', 'birch', 'cedar'"),
        ({"class_weight": {"ash": -1.0}}, "at least 0"),
        ({"class_weight": {"ash": "much"}}, "at least 0"),
        ({"class_weight": "equal"}, "'balanced'"),
    ],
)
def test_class_weights_that_cannot_be_are_refused(blobs, how, said):
    X, y = blobs
    with pytest.raises(SettingError, match=said):
        NaiveBayes(**how).fit(X, y)
    model = NaiveBayes().fit(X, y).set_params(**how)
    with pytest.raises(SettingError, match=said):
        model.predict(X)


@pytest.fixture
def told(rng):
    """Two columns of four tell the classes."""
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 4))
    X[:, 1] += 2.0 * (y == 1)
    X[:, 3] += 2.0 * (y == 2)
    return pd.DataFrame(X, columns=["a", "b", "c", "d"]), y


@pytest.mark.parametrize("name", MODELS)
def test_columns_are_chosen_by_what_they_are_worth(told, name):
    X, y = told
    model = MODELS[name]()
    chosen = SelectFromModel(model).fit(X, y)
    assert chosen.get_feature_names_out().tolist() == ["b", "d"]
    fitted = chosen.estimator_
    np.testing.assert_array_equal(fitted.feature_importances_, np.maximum(fitted.importance().mean, 0.0))
    if name not in ("automatic", "forest"):  # which take long, and are asked for the same attribute
        assert RFE(model, n_features_to_select=2).fit(X, y).support_.tolist() == [False, True, False, True]


def test_what_has_no_importance_has_no_attribute(told):
    X, y = told
    assert not hasattr(NaiveBayes(), "feature_importances_")
    with pytest.raises(AttributeError, match=r"feature_importances_: .*rows"):
        _ = NaiveBayes(keep_rows=0).fit(X, y).feature_importances_


@pytest.mark.parametrize("name", ["naive bayes", "forest"])
def test_partial_dependence_is_a_mean_of_posteriors(told, rng, name):
    mpl.use("Agg")
    X, y = told
    X = X.assign(e=rng.choice(["x", "y"], len(X)))
    model = MODELS[name]().fit(X, y)
    found = partial_dependence(model, X, ["b"], grid_resolution=4, kind="average")
    for value, own in zip(found["grid_values"][0], found["average"].T, strict=True):
        np.testing.assert_allclose(own, model.predict_proba(X.assign(b=value)).mean(axis=0), atol=1e-12)
    features = ["a", "e", ("b", "d")]
    shown = PartialDependenceDisplay.from_estimator(
        model, X, features, target=1, categorical_features=["e"], grid_resolution=4
    )
    assert len(shown.axes_.ravel()) == 3
    mpl.pyplot.close("all")
