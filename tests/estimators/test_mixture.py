"""MixtureDiscriminant: several Gaussians per class, by EM."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import check_estimator

from suffice import RDA, GaussianDiscriminant, MixtureDiscriminant
from suffice.errors import MergeError, SettingError

STRUCTURES = ["full", "diagonal", "spherical"]
FORMS = [("full", False), ("full", "class"), ("full", True), ("diagonal", True), ("spherical", "class")]


def made_clusters():
    """Class "a" is three far clusters, "b" two, "c" one, in three columns: (X, y)."""
    rng = np.random.default_rng(20240607)
    places = {"a": [(0, 0, 0), (9, 0, 3), (0, 9, -3)], "b": [(9, 9, 0), (-9, -9, 5)], "c": [(20, 20, 20)]}
    X, y = [], []
    for label, centers in places.items():
        for i, center in enumerate(centers):
            X.append(rng.normal(size=(30 + 10 * i, 3)) @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3))) + center)
            y += [label] * len(X[-1])
    order = rng.permutation(len(y))
    return np.concatenate(X)[order], np.array(y)[order]


@pytest.fixture
def clusters():
    return made_clusters()


def punch(X, rng, share=0.15):
    X = np.where(rng.random(X.shape) < share, np.nan, X)
    X[3] = np.nan
    return X


@pytest.fixture(scope="module", params=FORMS, ids=str)
def formed(request):
    """A form of covariances, rows with missing cells, and models of these rows and of the complete ones."""
    (X, y), (covariance, shared) = made_clusters(), request.param
    holed = punch(X, np.random.default_rng(1))
    settings = {"covariance": covariance, "shared": shared, "random_state": 0, "n_init": 3}
    model, whole = (MixtureDiscriminant({"a": 3, "b": 2, "c": 1}, **settings).fit(rows, y) for rows in (holed, X))
    return shared, holed, y, model, whole


# --- one component is GaussianDiscriminant ----------------------------------------------------------------------------


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("covariance", STRUCTURES)
def test_one_component_is_one_gaussian_per_class(blobs, rng, covariance, shared, holes):
    X, y = blobs
    X = punch(X, rng) if holes else X
    weight = rng.integers(1, 4, size=len(y)).astype(float)
    settings = {"covariance": covariance, "shared": shared, "divisor": "unbiased", "priors": "uniform"}
    mixture = MixtureDiscriminant(1, **settings).fit(X, y, weight)
    single = GaussianDiscriminant(**settings).fit(X, y, weight)
    np.testing.assert_array_equal(mixture.predict_joint_log_proba(X), single.predict_joint_log_proba(X))
    np.testing.assert_array_equal(np.concatenate(mixture.means_), single.means_)
    assert mixture.n_components_.tolist() == [1, 1, 1]


@pytest.mark.parametrize("shrinkage", [0.3, "oas", RDA(0.4, 0.2), RDA(1.0)])
def test_several_components_shrink(clusters, read_back, shrinkage):
    X, y = clusters
    model = MixtureDiscriminant({"a": 3, "b": 2, "c": 1}, shrinkage=shrinkage, random_state=0).fit(X, y)
    assert model.n_components_.tolist() == [3, 2, 1]
    assert model.score(X, y) > 0.99
    if shrinkage == RDA(1.0):
        np.testing.assert_allclose(model.covariances_[0][0], model.covariances_[2][0], rtol=1e-9)
    np.testing.assert_array_equal(read_back(model).predict_proba(X), model.predict_proba(X))


# --- several components -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_bic_finds_the_number_of_far_clusters(clusters, covariance):
    X, y = clusters
    model = MixtureDiscriminant(covariance=covariance, random_state=0).fit(X, y)
    if covariance == "full":
        assert model.n_components_.tolist() == [3, 2, 1]
        assert model.notes_ == []
    assert (model.n_components_ >= [3, 2, 1]).all()
    assert model.score(X, y) > 0.99


def test_parameters_have_the_documented_shapes(formed):
    shared, *_, model = formed
    assert model.n_components_.tolist() == [3, 2, 1]
    assert [w.shape for w in model.weights_] == [(3,), (2,), (1,)]
    assert all(abs(w.sum() - 1) < 1e-12 and (np.diff(w) <= 0).all() for w in model.weights_)
    assert [m.shape for m in model.means_] == [(3, 3), (2, 3), (1, 3)]
    shapes = np.shape(model.covariances_) if shared is True else [np.shape(c) for c in model.covariances_]
    expected = {False: [(3, 3, 3), (2, 3, 3), (1, 3, 3)], "class": [(3, 3)] * 3, True: (3, 3)}
    assert shapes == expected[shared]
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_agrees_with_scikit_learn_where_em_has_arrived(clusters, covariance):
    """Started at our answer, scikit-learn's EM stays there and finds the same densities."""
    X, y = clusters
    model = MixtureDiscriminant({"a": 3, "b": 2, "c": 1}, covariance=covariance, random_state=0, tol=1e-12).fit(X, y)
    rows = X[y == "a"]
    precisions = np.linalg.inv(model.covariances_[0])
    if covariance != "full":
        precisions = np.diagonal(precisions, axis1=1, axis2=2)
    names = {"full": "full", "diagonal": "diag", "spherical": "spherical"}
    peer = GaussianMixture(
        3,
        covariance_type=names[covariance],
        weights_init=model.weights_[0],
        means_init=model.means_[0],
        precisions_init=precisions[:, 0] if covariance == "spherical" else precisions,
        reg_covar=0,
        tol=1e-10,
    ).fit(rows)
    ours = model.predict_joint_log_proba(X)[:, 0] - np.log(model.priors_[0])
    np.testing.assert_allclose(ours, peer.score_samples(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.weights_[0], peer.weights_, atol=1e-7)


def test_tied_components_agree_with_scikit_learn(clusters):
    X, y = clusters
    rows, one = X[y == "a"], np.repeat("a", (y == "a").sum())
    for shared in ("class", True):  # with one class the two are the same model
        model = MixtureDiscriminant(3, shared=shared, random_state=0, tol=1e-12).fit(rows, one)
        covariance = model.covariances_ if shared is True else model.covariances_[0]
        peer = GaussianMixture(
            3,
            covariance_type="tied",
            weights_init=model.weights_[0],
            means_init=model.means_[0],
            precisions_init=np.linalg.inv(covariance),
            reg_covar=0,
            tol=1e-10,
        ).fit(rows)
        np.testing.assert_allclose(model.score_samples(rows), peer.score_samples(rows), rtol=1e-6, atol=1e-6)


# --- rows: weights, order, missing cells ------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, "class", True])
def test_weights_are_copies_and_order_is_nothing(clusters, rng, shared):
    """Where cells are missing, too: `test_invariance_of_answers` has complete rows."""
    X, y = punch(clusters[0], rng), clusters[1]
    weight = rng.integers(0, 4, size=len(y))
    settings = {"shared": shared, "random_state": 1, "n_init": 1}
    weighted = MixtureDiscriminant(2, **settings).fit(X, y, weight)
    order = rng.permutation(int(weight.sum()))
    copies = MixtureDiscriminant(2, **settings).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    assert weighted.n_components_.tolist() == copies.n_components_.tolist()
    np.testing.assert_allclose(weighted.score_samples(X), copies.score_samples(X), rtol=1e-6, atol=1e-6)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    one, other = (MixtureDiscriminant(2, **settings).fit(X, own).score_samples(X) for own in (y, 2 - y))
    np.testing.assert_allclose(one, other, rtol=1e-6)  # whatever classes are called


def test_missing_cells_join_the_em(formed):
    _, holed, y, model, whole = formed
    for ours, theirs in zip(model.means_, whole.means_, strict=True):
        gaps = np.linalg.norm(ours[:, None] - theirs[None], axis=2).min(axis=1)
        assert (gaps < 1.0).all()
    assert model.score(holed, y) > 0.85
    assert np.isfinite(model.predict_log_proba(holed)).all()
    empty = np.full((1, 3), np.nan)
    np.testing.assert_allclose(model.predict_proba(empty)[0], model.priors_, atol=1e-12)


def test_a_column_a_class_never_shows_is_borrowed(clusters):
    X, y = clusters
    X = X.copy()
    X[y == "b", 2] = np.nan
    model = MixtureDiscriminant({"a": 2, "b": 2, "c": 1}, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.score(X, y) > 0.9


# --- what can go wrong ------------------------------------------------------------------------------------------------


def test_collapsed_components_are_left_out_and_noted():
    """Of three points every part but the whole lies on a line or a point."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [20, 20, 12], axis=0)
    y = np.repeat(["a"], 52)
    model = MixtureDiscriminant(2, random_state=0).fit(X, y)
    assert model.n_components_.tolist() == [1]
    assert any("left out components" in str(note) for note in model.notes_)
    assert np.isfinite(model.score_samples(X)).all()


def test_more_columns_than_rows(rng):
    X = np.concatenate([rng.normal(size=(20, 150)), rng.normal(size=(20, 150)) + 1])
    y = np.repeat([0, 1], 20)
    assert MixtureDiscriminant(random_state=0).fit(X, y).n_components_.tolist() == [1, 1]
    regular = MixtureDiscriminant(2, shrinkage=0.9, random_state=0).fit(X, y)
    assert regular.score(X, y) == 1.0


def test_constant_column_and_one_row_class(rng):
    X = np.column_stack([rng.normal(size=41), np.ones(41)])
    y = np.array(["a"] * 40 + ["b"])
    model = MixtureDiscriminant(random_state=0).fit(X, y)
    assert model.n_components_[1] == 1
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_class_in_which_only_rounding_varies():
    """Rounded means leave next to no spread, along which components start; none of them has a column that varies."""
    X = [[0.20950713904334958, 0.93149215359777], [np.nan, 0.93149215359777], [0.20950713904334958, 0.93149215359777]]
    weight = [5.0435342776586936, 7.338384464204547, 0.6911762755824785]
    X, y, weight = [*X, [0.0, 0.0], [1.0, 3.0], [2.0, 1.0]], ["flat"] * 3 + ["round"] * 3, [*weight, 1.0, 1.0, 1.0]
    found = MixtureDiscriminant(random_state=0).fit(X, y, weight).predict(X)
    assert found[[0, 2, 3, 4, 5]].tolist() == ["flat"] * 2 + ["round"] * 3


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"n_components": True}, "n_components"),
        ({"n_components": {"a": 2}}, "'b', 'c'"),
        ({"covariance": "tied"}, "covariance"),
        ({"shared": "yes"}, "shared"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_components": -1}, "max_components"),
        ({"tol": -1.0}, "tol"),
        ({"tol": float("nan")}, "tol"),
        ({"shrinkage": 2.0}, "shrinkage"),
        ({"shrinkage": "ledoit-wolf"}, "oas"),
        ({"shrinkage": RDA(0.5), "shared": "class"}, "both pool"),
        ({"divisor": "n"}, "divisor"),
    ],
)
def test_bad_settings_are_named(clusters, settings, word):
    with pytest.raises(SettingError, match=word):
        MixtureDiscriminant(**settings).fit(*clusters)


def test_mixtures_do_not_merge_and_say_what_to_do(clusters):
    X, y = clusters
    model = MixtureDiscriminant(2, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(MergeError, match="fit on all rows together"):
        model.partial_fit(X, y)
    with pytest.raises(MergeError, match="fit on all rows together"):
        model.merge(MixtureDiscriminant(2, random_state=0).fit(X, y))
    with pytest.raises(MergeError, match="fit on all rows together"):
        model.statistics_.merge(model.statistics_)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "forget")
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_stopping_early_is_noted(clusters):
    X, y = clusters
    model = MixtureDiscriminant(2, max_iter=1, random_state=0, tol=0.0).fit(X, y)
    assert any("stopped EM early" in str(note) for note in model.notes_)
    assert model.n_iter_ == 1


# --- files and the scikit-learn contract ------------------------------------------------------------------------------


def test_a_loaded_model_is_the_same(formed, read_back):
    _, X, _, model, _ = formed
    loaded = read_back(model)
    np.testing.assert_array_equal(loaded.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    assert loaded.get_params() == model.get_params()
    assert loaded.notes_ == model.notes_
    assert loaded.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_scikit_learn_contract():
    check_estimator(MixtureDiscriminant("bic", n_init=1, max_components=2, random_state=0), on_skip=None)


@pytest.mark.parametrize(("seed", "state"), [(1, 0), (5, 1)])
def test_parts_that_k_means_cannot_tell_apart_are_found(seed, state):
    """Lines through one point: the maximum is at least as likely as the truth, where k-means' optimum leads nowhere."""
    rng, parts = np.random.default_rng(seed), 3
    lines = rng.normal(size=(parts, 2))
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    sigmas = [0.05**2 * np.eye(2) + 9.0 * np.outer(line, line) for line in lines]
    part = rng.integers(parts, size=40 * parts)
    X = np.stack([rng.multivariate_normal(np.zeros(2), sigmas[k]) for k in part])
    truth = np.mean([multivariate_normal(np.zeros(2), sigma).pdf(X) for sigma in sigmas], axis=0)
    model = MixtureDiscriminant(parts, random_state=state).fit(X, np.zeros(len(X)))
    assert model.score_samples(X).sum() > np.log(truth).sum()
