"""Numbers beside the installed scikit-learn's, and what the same classes can do beyond it."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from suffice import NaiveBayes
from suffice.drop_in import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)
from suffice.errors import DataError, SettingError

PEER = parse_version(sklearn.__version__)
needs_1_9_1 = pytest.mark.skipif(parse_version("1.9.1") > PEER, reason="earlier releases divide by n − K and n_k − 1")
DISCRETE = [BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB]
ALL = [*DISCRETE, GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
ANSWERS = ("predict_proba", "predict", "decision_function", "predict_joint_log_proba")

NEGATIVE = {"check_decision_proba_consistency": "the check passes negative numbers; theirs has no decision_function"}
HOLES = {"check_estimators_nan_inf": "cells that are missing at prediction are integrated out"}


def expected_failures(model):
    if isinstance(model, ComplementNB | MultinomialNB):
        return NEGATIVE
    return HOLES if getattr(model, "shrinkage", None) == "auto" else {}


@parametrize_with_checks(
    [
        *(kind() for kind in ALL),
        LinearDiscriminantAnalysis("eigen", shrinkage="auto"),
        LinearDiscriminantAnalysis("eigen", shrinkage=0.2),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def peer_of(model):
    """Return scikit-learn's classifier of the same name and parameters."""
    home = discriminant_analysis if "Analysis" in type(model).__name__ else naive_bayes
    return getattr(home, type(model).__name__)(**model.get_params(deep=False))


def table(name, classes=3):
    """Return standardised rows, unbalanced classes of text, and rows beyond those learned."""
    X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    keep = (y < classes) & ~((y == 1) & (np.arange(len(y)) % 3 == 0))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[keep], np.array(["c", "a", "b"])[y[keep]], np.concatenate([X, 3.0 * X[:20] + 1.0])


def same(model, peer, attributes=(), answers=ANSWERS, rows=None, rtol=1e-9):
    """Assert equality to rounding; the scale of each array sets what counts as zero."""
    for name in attributes:
        assert hasattr(model, name) == hasattr(peer, name), name
    for name in attributes:
        if hasattr(peer, name):
            ours, theirs = getattr(model, name), getattr(peer, name)
            for a, b in zip(ours, theirs, strict=True) if isinstance(theirs, list) else [(ours, theirs)]:
                scale = np.abs(np.asarray(b)[np.isfinite(b)]).max(initial=0)
                assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)
    for name in answers:
        if rows is not None and hasattr(peer, name):
            a, b = getattr(model, name)(rows), getattr(peer, name)(rows)
            if name == "predict":
                assert_array_equal(a, b)
            else:
                assert_allclose(a, b, rtol=10 * rtol, atol=rtol, err_msg=name)


# --- LDA and QDA ---

LDA_ATTRIBUTES = ("coef_", "intercept_", "means_", "priors_", "xbar_", "explained_variance_ratio_")
LDA_SETTINGS = [
    {},
    {"store_covariance": True},
    {"priors": [0.2, 0.5, 0.3]},
    {"n_components": 1},
    {"solver": "lsqr"},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.2, 0.5, 0.3]},
    {"solver": "lsqr", "priors": [0.6, 0.1, 0.3]},
    {"solver": "lsqr", "covariance_estimator": OAS()},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "priors": [0.6, 0.1, 0.3]},
]


@needs_1_9_1
@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("settings", LDA_SETTINGS, ids=str)
def test_lda_numbers(name, settings):
    X, y, rows = table(name)
    model = LinearDiscriminantAnalysis(**settings).fit(X, y)
    peer = peer_of(model).fit(X, y)
    same(model, peer, (*LDA_ATTRIBUTES, "covariance_"), ANSWERS, rows)
    if "solver" not in settings or settings["solver"] == "eigen":
        assert model.scalings_.shape == peer.scalings_.shape
        m = peer.transform(rows).shape[1]
        assert_allclose(np.abs(model.scalings_[:, :m]), np.abs(peer.scalings_[:, :m]), rtol=1e-7, atol=1e-9)
        assert_allclose(np.abs(model.transform(rows)), np.abs(peer.transform(rows)), rtol=1e-7, atol=1e-8)


@needs_1_9_1
@pytest.mark.parametrize("shrinkage", [0.3, "auto"])
def test_lda_with_more_columns_than_rows(rng, shrinkage):
    X, y = rng.normal(size=(60, 150)), np.arange(60) % 3
    X += y[:, None] * rng.normal(size=150) / 3
    model = LinearDiscriminantAnalysis("lsqr", shrinkage=shrinkage).fit(X, y)
    same(model, peer_of(model).fit(X, y), ("coef_", "intercept_", "covariance_"), ANSWERS, X, rtol=1e-8)


@needs_1_9_1
def test_ledoit_wolf_of_more_rows_than_models_keep(rng):
    """Every row is kept for it, also those of a later batch."""
    X, y = rng.normal(size=(5000, 4)) * rng.exponential(size=4), np.arange(5000) % 2
    model = LinearDiscriminantAnalysis("eigen", shrinkage="auto")
    peer = peer_of(model).fit(X, y)
    same(model.fit(X, y), peer, ("coef_", "intercept_"), ANSWERS, X[:100])
    batches = LinearDiscriminantAnalysis("eigen", shrinkage="auto").fit(X[:3000], y[:3000])
    same(batches.partial_fit(X[3000:], y[3000:]), peer, ("coef_", "intercept_"), ANSWERS, X[:100])


@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_missing_cells_do_not_shift_the_scale_of_decisions(name, solver, priors):
    """The decision of a row that lacks cells is that of a model of the other columns."""
    X, y, rows = table(name)
    model = LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y)
    holed = rows.copy()
    holed[:, [0, 2]] = np.nan
    kept = [j for j in range(X.shape[1]) if j not in (0, 2)]
    fewer = LinearDiscriminantAnalysis(solver, priors=priors).fit(X[:, kept], y)
    assert_allclose(model.decision_function(holed), fewer.decision_function(rows[:, kept]), rtol=1e-9, atol=1e-9)
    assert_allclose(model.predict_proba(holed), fewer.predict_proba(rows[:, kept]), atol=1e-12)
    assert np.isnan(model.transform(holed)).all()


QDA_SETTINGS = [
    {},
    {"store_covariance": True},
    {"priors": [0.2, 0.5, 0.3]},
    {"reg_param": 0.2, "store_covariance": True},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


@needs_1_9_1
@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("settings", QDA_SETTINGS, ids=str)
def test_qda_numbers(name, settings):
    X, y, rows = table(name)
    model = QuadraticDiscriminantAnalysis(**settings).fit(X, y)
    peer = peer_of(model).set_params(tol=1e-12).fit(X, y)
    same(model, peer, ("means_", "priors_", "covariance_", "scalings_"), ANSWERS, rows, rtol=1e-8)
    for a, b in zip(model.rotations_, peer.rotations_, strict=True):
        assert_allclose(np.abs(a), np.abs(b), atol=1e-7)


@needs_1_9_1
def test_qda_mends_what_theirs_refuses():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [7.0, 1.0], [5.0, 9.0], [6.0, 3.0], [20.0, 20.0]])
    y = np.array([0, 0, 0, 1, 1, 1, 2])
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert {note.label for note in model.notes_} == {0, 2}
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        peer_of(model).fit(X, y)


def test_leave_one_out_is_refused_where_no_closed_form_holds():
    X, y, _ = table("iris")
    for model in (
        LinearDiscriminantAnalysis("lsqr", priors=[0.2, 0.5, 0.3]),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
    ):
        with pytest.raises(SettingError, match="cross_val_predict"):
            model.fit(X, y).leave_one_out(X, y)
    with pytest.raises(SettingError, match="cross_val_predict"):
        GaussianNB().fit(X, y).leave_one_out(X, y)
    own = GaussianNB(var_smoothing=0).fit(X, y).leave_one_out(X, y)
    assert_allclose(own, NaiveBayes().fit(X, y).leave_one_out(X, y), atol=1e-12)


# --- naive Bayes ---


def counts(rng, levels=4):
    X, y = rng.integers(0, levels, (90, 6)), rng.integers(0, 3, 90)
    X[:, 1] = np.where(y == 1, 0, X[:, 1])
    return X, np.array(["x", "y", "z"])[y], rng.integers(0, levels, (40, 6))


NB_ATTRIBUTES = ("class_count_", "class_log_prior_", "feature_log_prob_", "feature_count_", "category_count_")
NB_SETTINGS = [
    {},
    {"alpha": 0.3},
    {"alpha": 1e-12, "force_alpha": False},
    {"fit_prior": False},
    {"class_prior": [0.2, 0.5, 0.3]},
]


@pytest.mark.parametrize("settings", NB_SETTINGS, ids=str)
@pytest.mark.parametrize("kind", DISCRETE)
@pytest.mark.filterwarnings("ignore:alpha too small")
def test_discrete_numbers(rng, kind, settings):
    X, y, rows = counts(rng)
    model = kind(**settings).fit(X, y)
    peer = peer_of(model).fit(X, y)
    extra = ("feature_all_",) if kind is ComplementNB else ("n_categories_",) if kind is CategoricalNB else ()
    same(model, peer, (*NB_ATTRIBUTES, *extra), ANSWERS, rows)
    weight = rng.integers(1, 4, len(y)) * 0.7
    same(
        clone(model).fit(X, y, sample_weight=weight), peer.fit(X, y, sample_weight=weight), NB_ATTRIBUTES, ANSWERS, rows
    )


@pytest.mark.parametrize(
    "model",
    [
        BernoulliNB(binarize=1.5),
        MultinomialNB(alpha=[0.1, 1, 2, 3, 4, 5]),
        ComplementNB(norm=True),
        ComplementNB(alpha=[0.1, 1, 2, 3, 4, 5]),
        CategoricalNB(min_categories=7),
        CategoricalNB(min_categories=[4, 5, 6, 7, 8, 9]),
    ],
    ids=str,
)
def test_discrete_numbers_of_one_kind(rng, model):
    X, y, rows = counts(rng)
    model.fit(X, y)
    peer = peer_of(model).fit(X, y)
    same(model, peer, NB_ATTRIBUTES, ANSWERS, rows)
    if not isinstance(model, CategoricalNB):
        sparse = clone(model).fit(csr_array(X), y)
        same(sparse, peer, NB_ATTRIBUTES, ())
        same(sparse, peer_of(model).fit(csr_array(X), y), (), ANSWERS, csr_array(rows))


@pytest.mark.parametrize("settings", [{}, {"var_smoothing": 0.1}, {"priors": [0.2, 0.5, 0.3]}], ids=str)
def test_gaussian_numbers(settings):
    X, y, rows = table("wine")
    X[y == "b", 3] = 0.5  # constant within a class
    X = np.column_stack([X, np.full(len(X), 2.0)])
    rows = np.column_stack([rows, np.full(len(rows), 2.0)])
    model = GaussianNB(**settings).fit(X, y)
    attributes = ("theta_", "var_", "epsilon_", "class_prior_", "class_count_")
    same(model, peer_of(model).fit(X, y), attributes, ANSWERS, rows, rtol=1e-8)


@pytest.mark.parametrize("kind", [*DISCRETE, GaussianNB])
def test_streams_of_any_batches(rng, kind):
    """Batches of one row, a class and a category that come late: the same model as one fit."""
    X, y, rows = counts(rng)
    order = np.argsort(y, kind="stable")
    streamed = kind()
    for i in order:
        streamed.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_allclose(streamed.predict_proba(rows), kind().fit(X, y).predict_proba(rows), atol=1e-12)


def test_missing_cells_of_naive_bayes(rng):
    X, y, rows = counts(rng)
    for model in (BernoulliNB(), CategoricalNB(), GaussianNB(var_smoothing=0)):
        holed = rows.astype(float)
        holed[:, 2:] = np.nan
        fewer = clone(model).fit(X[:, :2], y).predict_proba(rows[:, :2])
        assert_allclose(model.fit(X, y).predict_proba(holed), fewer, rtol=1e-9)
        learned = clone(model).fit(np.where(rng.random(X.shape) < 0.1, np.nan, X), y)
        assert np.isfinite(learned.predict_proba(holed)).all()
    with pytest.raises(DataError, match="misses a count"):
        MultinomialNB().fit(X, y).predict(rows + np.nan)


def test_codes_are_whole_numbers(rng):
    X, y, rows = counts(rng)
    model = CategoricalNB().fit(X + 0.9, y)
    assert_allclose(model.predict_proba(rows), CategoricalNB().fit(X, y).predict_proba(rows))
    text = np.array(["red", "blue", "grey", "green"], dtype=object)
    assert_allclose(
        CategoricalNB().fit(text[X], y).predict_proba(text[rows]),
        NaiveBayes().fit(text[X], y).predict_proba(text[rows]),
    )
    with pytest.raises(DataError, match="passed to CategoricalNB"):
        model.predict(rows - 1)


@pytest.mark.parametrize("name", ["sample", "score_samples", "impute", "explain", "outlier_pvalues", "leave_one_out"])
def test_complement_weights_are_no_density(rng, name):
    X, y, _ = counts(rng)
    with pytest.raises(AttributeError, match="MultinomialNB"):
        getattr(ComplementNB().fit(X, y), name)


# --- files and tools ---


@pytest.mark.parametrize(
    "model",
    [
        *(kind() for kind in ALL),
        LinearDiscriminantAnalysis("eigen", shrinkage=0.3, priors=[0.2, 0.5, 0.3]),
        BernoulliNB(binarize=1.5, alpha=[0.1, 1, 2, 3, 4, 5]),
        CategoricalNB(min_categories=[4, 5, 6, 7, 8, 9]),
        ComplementNB(norm=True),
    ],
    ids=str,
)
def test_files(rng, read_back, model):
    X, y, rows = counts(rng)
    model.fit(X, y)
    for back in (read_back(model), pickle.loads(pickle.dumps(model))):
        assert type(back) is type(model)
        assert_array_equal(back.predict_proba(rows), model.predict_proba(rows))
        assert_array_equal(
            clone(back).fit(X, y).partial_fit(X, y).predict(rows),
            clone(model).fit(X, y).partial_fit(X, y).predict(rows),
        )


@pytest.mark.parametrize("kind", ALL)
def test_same_signature(kind):
    """Same parameters in the same order of the same kind with the same defaults."""
    import inspect

    home = discriminant_analysis if "Analysis" in kind.__name__ else naive_bayes
    theirs = inspect.signature(getattr(home, kind.__name__))
    if parse_version("1.9") <= PEER:
        assert [str(p.replace(annotation=p.empty)) for p in inspect.signature(kind).parameters.values()] == [
            str(p) for p in theirs.parameters.values()
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(clone(kind())) == f"{kind.__name__}()"
