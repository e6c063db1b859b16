"""Naive Bayes: which family each column gets, and what the model then is."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, SchemaError, SettingError
from suffice.estimate.families import FAMILIES, GaussianFamily


@pytest.fixture
def table(rng):
    """Numbers, text, truth values and integer codes, all complete: (frame, y)."""
    n = 120
    y = np.array(["no", "yes"])[rng.integers(0, 2, n)]
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=n) + (y == "yes"),
            "width": rng.normal(size=n) * 3,
            "depth": rng.normal(size=n) + 5,
            "town": np.array(["ulm", "bonn", "kiel"])[rng.integers(0, 3, n)],
            "open": rng.random(n) < 0.4,
            "floors": rng.integers(1, 5, n),
        }
    )
    frame["width"] += frame["height"]
    return frame, y


def by_hand(frame, y, families, smoothing=1.0):
    """Return log π + Σ log p(column or block | class), from scipy and counting."""
    scores = []
    for label in np.unique(y):
        own = frame[y == label]
        total = np.full(len(frame), np.log(len(own) / len(frame)))
        for key, family in families.items():
            if isinstance(key, tuple):
                block, mine = frame[list(key)].to_numpy(), own[list(key)].to_numpy()
                total += multivariate_normal(mine.mean(axis=0), np.cov(mine.T, ddof=0)).logpdf(block)
            elif family == "gaussian":
                total += norm(own[key].mean(), own[key].std(ddof=0)).logpdf(frame[key])
            else:
                levels = [0, 1] if family == "bernoulli" else sorted(frame[key].unique())
                p = {v: ((own[key] == v).sum() + smoothing) / (len(own) + smoothing * len(levels)) for v in levels}
                total += np.log([p[v] for v in frame[key]])
        scores.append(total)
    return np.column_stack(scores)


OTHERS = {"town": "categorical", "open": "bernoulli"}
AUTO = dict.fromkeys(["height", "width", "depth", "floors"], "gaussian") | OTHERS


@pytest.mark.parametrize(
    ("families", "meaning"),
    [
        ("auto", AUTO),
        ({}, AUTO),
        ({"floors": "categorical"}, {**AUTO, "floors": "categorical"}),
        ({5: "categorical"}, {**AUTO, "floors": "categorical"}),
        ({"open": "categorical", "height": "gaussian"}, {**AUTO, "open": "categorical"}),
        ({"open": "gaussian"}, {**AUTO, "open": "gaussian"}),
        (
            {("height", "width"): "gaussian"},
            {("height", "width"): "gaussian", "depth": "gaussian", "floors": "gaussian", **OTHERS},
        ),
        (
            {("width", "floors", "height"): "gaussian"},
            {("width", "floors", "height"): "gaussian", "depth": "gaussian", **OTHERS},
        ),
        (
            {(1, 0): "gaussian", ("depth", "floors"): "gaussian"},
            {("width", "height"): "gaussian", ("depth", "floors"): "gaussian", **OTHERS},
        ),
        ({("height",): "gaussian"}, AUTO),
        ({"floors": FAMILIES["categorical"]}, {**AUTO, "floors": "categorical"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("smoothing", [1.0, 0.0, 2.5])
def test_families(table, families, meaning, smoothing):
    frame, y = table
    model = NaiveBayes(families, smoothing=smoothing).fit(frame, y)
    assert_allclose(model.predict_joint_log_proba(frame), by_hand(frame, y, meaning, smoothing), rtol=1e-9)


def test_gaussian_columns_are_the_diagonal_discriminant(blobs):
    X, y = blobs
    for divisor in ("mle", "unbiased"):
        a, b = NaiveBayes(divisor=divisor).fit(X, y), GaussianDiscriminant("diagonal", divisor=divisor).fit(X, y)
        assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-10, atol=1e-10)
        assert_allclose(a.means_, b.means_)
        assert_allclose(a.covariances_, b.covariances_)
    joint = NaiveBayes({(0, 1, 2, 3): "gaussian"}).fit(X, y)
    assert_allclose(
        joint.predict_log_proba(X), GaussianDiscriminant().fit(X, y).predict_log_proba(X), rtol=1e-10, atol=1e-10
    )


def test_a_family_object_of_ones_own(blobs):
    """Anything with the verbs of a family is accepted; here one that shares its variances."""
    X, y = blobs
    model = NaiveBayes(GaussianFamily(shared=True)).fit(X, y)
    expected = GaussianDiscriminant("diagonal", shared=True).fit(X, y)
    assert_allclose(model.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-10, atol=1e-10)


def test_missing_cells_contribute_nothing(table, rng):
    """At fit each column uses its own cells; at prediction the density of a missing cell is one."""
    frame, y = table
    holed = frame.astype(object)
    for name in frame:
        holed.loc[rng.random(len(frame)) < 0.2, name] = None
    holed = holed.astype(
        {"height": "Float64", "width": "Float64", "depth": "Float64", "floors": "Int64", "open": "boolean"}
    )
    model = NaiveBayes().fit(holed, y)
    alone = {name: NaiveBayes(priors="uniform").fit(holed[[name]], y) for name in frame}
    expected = np.log(model.priors_) + sum(
        m.predict_joint_log_proba(holed[[name]]) - np.log(0.5) for name, m in alone.items()
    )
    assert_allclose(model.predict_joint_log_proba(holed), expected, rtol=1e-10)
    for name, m in alone.items():
        seen = holed[name].notna().to_numpy()
        dropped = NaiveBayes(priors="uniform").fit(frame.loc[seen, [name]], y[seen])
        assert_allclose(
            m.predict_joint_log_proba(frame[[name]]), dropped.predict_joint_log_proba(frame[[name]]), rtol=1e-10
        )
        gone = holed[[name]].copy()
        gone.loc[:, name] = None
        assert_allclose(m.predict_proba(gone), 0.5)


# --- categories ---


def test_unseen_categories_are_an_answer_never_an_error():
    """A word no class has seen gets α / (n + α (L + 1)) in each class."""
    X, y = [["a"], ["a"], ["b"], ["b"], ["b"]], [0, 0, 0, 1, 1]
    model = NaiveBayes().fit(X, y)
    p = np.array([3 / 5 * 1 / (3 + 3), 2 / 5 * 1 / (2 + 3)])
    assert_allclose(model.predict_proba([["new"], ["newer"]]), np.tile(p / p.sum(), (2, 1)))
    codes = NaiveBayes("categorical").fit(np.array([[0], [1], [1]]), [0, 0, 1])
    assert np.isfinite(codes.predict_log_proba(np.array([[5], [-3], [10**12]]))).all()


def test_declared_levels_count_even_if_unseen():
    X = pd.DataFrame({"a": pd.Categorical(["x", "y", "y"], categories=["x", "y", "z"])})
    model = NaiveBayes().fit(X, [0, 0, 1])
    assert_allclose(model.probabilities_["a"]["z"], [1 / 5, 1 / 4])


def test_a_truth_value_seen_in_one_state_keeps_the_other():
    model = NaiveBayes().fit(np.array([[True], [True], [True]]), [0, 0, 1])
    assert_allclose(model.predict_joint_log_proba(np.array([[False]])), np.log([[2 / 3 * 1 / 4, 1 / 3 * 1 / 3]]))
    both = NaiveBayes("categorical").fit(np.array([[True], [False], [False]]), [0, 0, 1])
    assert both.forget(np.array([[True]]), [0]).columns_[0].levels == (False, True)


def test_learned_tables(table):
    frame, y = table
    model = NaiveBayes({("height", "depth"): "gaussian", "floors": "categorical"}).fit(frame, y)
    probabilities = model.probabilities_
    assert set(probabilities) == {"town", "open", "floors"}
    assert list(probabilities["floors"]) == [1, 2, 3, 4]
    for levels in probabilities.values():
        assert_allclose(sum(levels.values()), 1.0)
    own = frame[y == "no"]
    assert_allclose(probabilities["town"]["ulm"][0], ((own.town == "ulm").sum() + 1) / (len(own) + 3))
    assert_allclose(model.means_[0, [0, 1, 2]], own[["height", "width", "depth"]].mean())
    assert np.isnan(model.means_[:, 3:]).all()
    covariance = model.covariances_
    expected = np.cov(own[["height", "depth"]].T, ddof=0)
    assert_allclose(covariance[0][np.ix_([0, 2], [0, 2])], expected)
    assert_array_equal(covariance[:, 0, 1], 0.0)
    assert np.isnan(covariance[:, 3]).all()
    assert model.feature_names_in_.tolist() == list(frame)
    assert model.classes_.tolist() == ["no", "yes"]


# --- refused ---


@pytest.mark.parametrize(
    ("families", "error", "message"),
    [
        ("gauss", SettingError, "families='gauss' is not one of 'auto', 'gaussian'"),
        (None, SettingError, "families=None"),
        (["gaussian"], SettingError, "families="),
        ({"height": "normal"}, SettingError, "'normal'"),
        ({"height": 3}, SettingError, "3"),
        ({"nowhere": "gaussian"}, SchemaError, "no column 'nowhere'; the table has 'height', 'width'"),
        ({17: "gaussian"}, SchemaError, "no column 17"),
        ({-1: "gaussian"}, SchemaError, "no column -1"),
        ({("height", "nowhere"): "gaussian"}, SchemaError, "no column 'nowhere'"),
        ({"height": "gaussian", 0: "gaussian"}, SettingError, "column 'height' twice"),
        ({("height", "width"): "gaussian", "width": "gaussian"}, SettingError, "column 'width' twice"),
        ({("height", "height"): "gaussian"}, SettingError, "column 'height' twice"),
        ({("height", "width"): "categorical"}, SettingError, "joined as 'gaussian' or 'multinomial' only"),
        ({("height", "town"): "gaussian"}, SchemaError, "'town' holds categories"),
        ({"town": "gaussian"}, SchemaError, "'town' holds categories"),
        ("gaussian", SchemaError, "'town' holds categories"),
        ({"town": "bernoulli"}, SchemaError, "'town' holds string values; a Bernoulli column holds true and false"),
        ({"floors": "bernoulli"}, DataError, "'floors' has the value 4; a Bernoulli column"),
        ({"height": "bernoulli"}, DataError, "'height' has the value"),
    ],
    ids=str,
)
def test_families_that_cannot_work(table, families, error, message):
    frame, y = table
    with pytest.raises(error) as caught:
        NaiveBayes(families).fit(frame, y)
    assert message in str(caught.value)


def test_bernoulli_columns_of_a_later_table(table):
    frame, y = table
    model = NaiveBayes().fit(frame, y)
    as_numbers = frame.assign(open=frame["open"].astype(float))
    assert_allclose(model.predict_proba(as_numbers), model.predict_proba(frame))
    with pytest.raises(DataError, match="'open' has the value 2"):
        model.predict(frame.assign(open=2))
