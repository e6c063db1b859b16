"""Settings changed after a fit, and arguments that are no models: what is saved, released and refused."""

import numpy as np
import pytest

from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    load,
)
from suffice.drop_in import ComplementNB, GaussianNB, MultinomialNB
from suffice.errors import DataError, MergeError, SettingError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), np.array(list("abc") * 20)
X[Y == "a"] += 1.0
CHANGES = {
    "a prior for another": (GaussianDiscriminant(prior=NormalInverseWishart()), {"prior": NormalInverseWishart(3.0)}),
    "loo to none": (GaussianDiscriminant(shrinkage="loo"), {"shrinkage": None}),
    "smoothing": (NaiveBayes(), {"divisor": "unbiased"}),
    "mixture": (MixtureDiscriminant(1), {"shrinkage": 0.2}),
    "automatic": (GenerativeClassifier(), {"keep_rows": 100}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_files_and_releases_hold_the_model_of_the_settings_as_they_are(name, tmp_path, read_back):
    """They give what a fit with the new settings gives: these statistics do not depend on them."""
    model, changes = CHANGES[name]
    model.fit(X, Y).set_params(**changes).save(tmp_path / "m.suffice")
    anew = type(model)(**model.get_params()).fit(X, Y)
    pairs = [(load(tmp_path / "m.suffice"), anew)]
    if name != "automatic":
        released, wanted = model.release(), anew.release()
        pairs += [(released, wanted), (read_back(released), wanted)]
    for found, expected in pairs:
        np.testing.assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def test_settings_that_cannot_be_are_neither_saved_nor_released(tmp_path):
    model = GenerativeClassifier().fit(X, Y).set_params(keep_rows=0)
    with pytest.raises(SettingError, match="keep_rows=0"):
        model.save(tmp_path / "m.suffice")
    with pytest.raises(SettingError, match="keep_rows=0"):
        model.release(least=2)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (GaussianDiscriminant(), {"covariance": "diagonal"}),
        (NaiveBayes({0: "poisson"}), {"families": {1: "poisson"}}),
        (GaussianDiscriminant(), {"shrinkage": 2.0}),
    ],
)
def test_edits_refuse_settings_that_the_statistics_are_not_of(model, changes):
    counts, given = np.abs(X).round(), model.get_params()
    before = model.fit(counts, Y).predict_proba(counts)
    for edit in (model.partial_fit, model.forget):
        with pytest.raises(SettingError, match=r"fit anew|from 0"):
            model.set_params(**changes) and edit(counts[:6], Y[:6])
        model.set_params(**given) and edit(counts[:6], Y[:6])
    np.testing.assert_allclose(model.predict_proba(counts), before, rtol=1e-9)


@pytest.mark.parametrize("other", [None, 3, NaiveBayes])
def test_what_is_no_model_does_not_merge(other):
    with pytest.raises(TypeError, match=r"not an estimator instance|not an instance"):
        GaussianDiscriminant().fit(X, Y).merge(other)


def test_what_is_a_model_of_others_does_not_merge():
    from sklearn.naive_bayes import GaussianNB as Theirs

    with pytest.raises(MergeError, match="cannot take in a GaussianNB"):
        GaussianDiscriminant().fit(X, Y).merge(Theirs().fit(X, Y))


@pytest.mark.parametrize("like", [True, 3, NaiveBayes()])
def test_release_like_what_is_no_model(like):
    with pytest.raises(SettingError, match="like must be a GaussianDiscriminant that was released"):
        GaussianDiscriminant().fit(X, Y).release(like=like)


def test_writing_into_an_attribute_changes_no_answer():
    model = GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
    classes = model.classes_
    classes[:] = classes[::-1].copy()
    assert model.predict([[0.0]]).tolist() == ["low"]


def test_priors_of_text_are_refused_by_name():
    model = GaussianDiscriminant().fit(X, Y).set_params(priors={"z": "x"})
    with pytest.raises(SettingError, match="priors names 'z'"):
        model.predict(X)


def test_stated_priors_count_for_complement_naive_bayes():
    """Those of the fit play no part where there are several classes, as theirs; those of a question do."""
    counts, labels = RNG.poisson(3, (30, 3)).astype(float), np.array(list("aab") * 10)
    model = ComplementNB().fit(counts, labels)
    equal = model.predict_log_proba(counts, priors=[0.5, 0.5])
    stated = model.predict_log_proba(counts, priors=[0.2, 0.8])
    odds = np.log(0.2 / 0.8)
    np.testing.assert_allclose(stated[:, 0] - stated[:, 1], equal[:, 0] - equal[:, 1] + odds, atol=1e-12)
    with pytest.raises(SettingError, match="Number of priors must match"):
        model.predict(counts, priors=[1.0])
    with pytest.raises(SettingError, match="priors names"):
        ComplementNB(class_prior={0: 1.0}).fit(counts, labels)
    assert MultinomialNB().fit(counts, labels).predict(counts, priors=[0.5, 0.5]).shape == (30,)


def test_variances_that_are_hardly_raised_keep_the_law_of_distances():
    """Without rows only a law gives p-values: that of `var_smoothing=0` to five digits, or none."""
    model, exact = GaussianNB().fit(X, Y), GaussianNB(var_smoothing=0.0).fit(X, Y)
    np.testing.assert_allclose(model.outlier_pvalues(X[:9] + 2.0), exact.outlier_pvalues(X[:9] + 2.0), atol=1e-5)
    with pytest.raises(DataError, match="keeps no rows"):
        GaussianNB(var_smoothing=0.1).fit(X, Y).outlier_pvalues(X[:9])
