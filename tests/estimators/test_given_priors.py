"""Class priors are a setting that is read when a question is asked: every answer, however they were given, by hand."""

import copy

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.drop_in import GaussianNB, LinearDiscriminantAnalysis, MultinomialNB, QuadraticDiscriminantAnalysis
from suffice.errors import SettingError

GIVEN = np.array([0.2, 0.5, 0.3])
MODELS = {
    "gaussian": lambda **told: GaussianDiscriminant(shrinkage=0.1, **told),
    "shared": lambda **told: GaussianDiscriminant(shared=True, **told),
    "naive Bayes": lambda **told: NaiveBayes("laplace", **told),
    "mixture": lambda **told: MixtureDiscriminant(1, **told),
    "automatic": lambda **told: GenerativeClassifier(**told),
    "LDA": lambda **told: LinearDiscriminantAnalysis(**told),
    "LDA by eigenvalues": lambda **told: LinearDiscriminantAnalysis(solver="eigen", **told),
    "QDA": lambda **told: QuadraticDiscriminantAnalysis(reg_param=0.1, **told),
    "GaussianNB": lambda **told: GaussianNB(**told),
}
FORMS = {"array": GIVEN, "dict": dict(zip("abc", GIVEN, strict=True)), "uniform": "uniform"}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    codes = rng.choice(3, size=150, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(150, 3)) + 0.8 * codes[:, None]
    return X, np.array(list("abc"))[codes], codes


@pytest.fixture(scope="module")
def bare_models(table):
    return {name: make().fit(*table[:2]) for name, make in MODELS.items()}


def asked(model):
    """Return the log priors (3,) that a model is set to."""
    return np.log(np.full(3, 1 / 3) if isinstance(model.priors, str) else GIVEN)


def holds(model, X, y, codes, bare):
    """Check all verbs of a model under GIVEN (or equal) priors against `bare`, which took the classes' shares."""
    wanted = asked(model)
    own = bare.model_ if isinstance(bare, GenerativeClassifier) else None  # whose posteriors are those of a pool
    fitted = bare._fitted.joint_value
    known = bare.predict_joint_log_proba(X) if own is None else own.log_joint(fitted.rows(X))
    joint = known - np.log(bare.priors_) + wanted  # log π'_k + log p(x | k)
    if own is not None:
        density = logsumexp(joint, axis=1, keepdims=True)
        joint = bare.predict_log_proba(X, priors=np.exp(wanted)) + density
    np.testing.assert_allclose(model.priors_, np.exp(wanted), rtol=1e-12)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), atol=1e-9)
    by_call = bare.predict_log_proba(X, priors=np.exp(wanted))
    np.testing.assert_allclose(model.predict_log_proba(X), by_call, atol=1e-9)
    if own is None:
        np.testing.assert_allclose(by_call, log_softmax(joint, axis=1), atol=1e-9)
    assert (model.predict(X) == model.classes_[by_call.argmax(axis=1)]).all()
    np.testing.assert_allclose(model.predict_proba(X), np.exp(by_call), atol=1e-9)
    odds = model.explain(X[:4]).sum(axis=1) + wanted
    np.testing.assert_allclose(log_softmax(odds, axis=1), by_call[:4], atol=1e-8)
    _, labels = model.sample(4000, random_state=0)
    shares = (labels[:, None] == model.classes_).mean(axis=0)
    np.testing.assert_allclose(shares, np.exp(wanted), atol=4 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_every_answer_is_bayes_rule_with_the_priors_as_they_are_set(name, form, table, bare_models):
    X, y, codes = table
    make, priors, bare = MODELS[name], FORMS[form], bare_models[name]
    later = copy.deepcopy(bare)
    later.predict(X), later.score_samples(X)  # what is kept of these must not last
    later.set_params(priors=priors)
    holds(later, X, y, codes, bare)
    if name != "LDA by eigenvalues":  # whose covariance is weighed by priors given before `fit`, as in scikit-learn
        before = make(priors=priors).fit(X, y)
        holds(before, X, y, codes, bare)
    later.set_params(priors=None)
    np.testing.assert_allclose(later.predict_log_proba(X), bare.predict_log_proba(X), atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "naive Bayes", "mixture", "automatic"])
def test_what_judges_a_model_judges_it_under_its_priors(name, table, bare_models, read_back):
    X, y, codes = table
    make, priors = MODELS[name], GIVEN
    own, rows = np.arange(len(y)), codes
    models = make(priors=priors).fit(X, y), copy.deepcopy(bare_models[name]).set_params(priors=priors)
    exchanged = bare_models[name].leave_one_out(X, y)
    n = np.bincount(codes).astype(float)
    half = 0.5 if name == "automatic" else 0.0  # a half row in each class
    left = (n - np.eye(3)[codes] + half) / (len(y) - 1 + 3 * half)
    exchanged = log_softmax(exchanged - np.log(left) + asked(models[0]), axis=1)
    alone = 1e-2 if name == "automatic" else 1e-9  # the floor of a tenth of a row under the pool is not in the rule
    found = [model.leave_one_out(X, y) for model in models]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    np.testing.assert_allclose(np.exp(found[0]), np.exp(exchanged), atol=alone)
    for model in models:
        if name == "automatic":
            sample = model.statistics_.sample
            kept = -model._fitted.left_out_rows[own, sample.codes]
            assert model.loss_ == pytest.approx(kept.mean(), rel=1e-12)
            assert model.loss_ == pytest.approx(-found[0][own, rows].mean(), rel=0.1)
        else:
            scores = np.sort(-found[0][own, rows])
            limit = scores[int(np.ceil(0.8 * 151)) - 1]
            np.testing.assert_array_equal(model.predict_set(X, 0.2), -model.predict_log_proba(X) <= limit)
        assert 0.7 <= model.predict_set(X, 0.2)[own, rows].mean() <= 0.95
    np.testing.assert_allclose(models[0].outlier_pvalues(X), models[1].outlier_pvalues(X), atol=1e-12)
    again = read_back(models[1])
    for verb in ("predict_log_proba", "score_samples", "outlier_pvalues", "predict_set"):
        np.testing.assert_allclose(getattr(again, verb)(X), getattr(models[0], verb)(X), atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "naive Bayes", "automatic"])
def test_sets_cover_under_equal_priors_of_unequal_classes(name):
    """0.676 of new rows were covered at 0.9; their share has a standard error of about 0.02, for 500 judging rows."""
    rng = np.random.default_rng(1)

    def draw(n):
        y = (rng.random(n) < 0.1).astype(int)
        return rng.normal(size=(n, 3)) + y[:, None], y

    (X, y), (new, truth) = draw(500), draw(4000)
    for model in (MODELS[name](priors="uniform").fit(X, y), MODELS[name]().fit(X, y).set_params(priors="uniform")):
        covered = model.predict_set(new, 0.1)[np.arange(4000), truth].mean()
        assert 0.84 <= covered <= 0.96
        said = model.loss_ if name == "automatic" else -model.leave_one_out(X, y)[np.arange(500), y].mean()
        fresh = -model.predict_log_proba(new)[np.arange(4000), truth].mean()
        assert said == pytest.approx(fresh, abs=0.08)  # 3 standard errors of 500 losses


def test_an_array_changed_in_place_counts_and_wrong_priors_are_refused_when_asked(table):
    X, y, _ = table
    priors = GIVEN.copy()
    model = GaussianDiscriminant(priors=priors).fit(X, y)
    model.predict(X)
    priors[:] = [0.5, 0.2, 0.3]
    np.testing.assert_allclose(model.priors_, priors)
    model.set_params(priors=[0.5, 0.6])
    with pytest.raises(SettingError, match="3 classes"):
        model.predict(X)
    model.set_params(priors={"a": 0.5, "b": 0.3, "x": 0.2})
    with pytest.raises(SettingError, match="'x'"):
        model.score_samples(X)
    counts = MultinomialNB(fit_prior=False).fit([[1, 2], [3, 0], [4, 1]], ["a", "a", "b"])
    np.testing.assert_allclose(counts.priors_, 0.5)
    counts.set_params(fit_prior=True)
    np.testing.assert_allclose(counts.priors_, [2 / 3, 1 / 3])
