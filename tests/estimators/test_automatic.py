"""The automatic classifier: the same model however its rows came, and answers that hang together."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from suffice import GaussianDiscriminant, GenerativeClassifier
from suffice.datasets import penguins_path
from suffice.errors import DataError, SettingError
from suffice.notes import Kind

SAME = 1e-9  # the same rows, summed in another order


@pytest.fixture(scope="module")
def penguins():
    table = pd.read_csv(penguins_path())
    return table.drop(columns=["species", "year"]), table["species"].to_numpy()


@pytest.fixture(scope="module")
def fitted(penguins):
    return GenerativeClassifier().fit(*penguins)


def made(n=900, seed=0):
    """Numbers, one of them skewed, and a category; three classes; some cells missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + rng.normal(size=(3, 3))[y]
    X[:, 1] = np.exp(X[:, 1])
    X[rng.random((n, 3)) < 0.05] = np.nan
    colour = np.array(["blue", "green", "red"])[(y + (rng.random(n) < 0.5)) % 3]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "colour": colour}), np.array(list("xyz"))[y]


def assert_same(a, b, X, tolerance=SAME):
    assert a.classes_.tolist() == b.classes_.tolist()
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=tolerance)
    assert_allclose(a.score_samples(X), b.score_samples(X), atol=1e-6)


def test_posteriors_are_good_without_any_preparation(fitted, penguins):
    """Text is read as categories, and holes as holes; a pipeline that does so by hand is no better."""
    X, y = penguins
    texts, numbers = ["island", "sex"], [name for name in X if name not in ("island", "sex")]
    by_hand = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), texts),
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ),
        GaussianDiscriminant(shared=True),
    )
    P, prepared = (
        cross_val_predict(own, X, y, cv=3, method="predict_proba") for own in (GenerativeClassifier(), by_hand)
    )
    assert (fitted.classes_[P.argmax(axis=1)] == y).mean() > 0.98
    own = np.arange(len(y)), np.searchsorted(fitted.classes_, y)
    assert -np.log(P[own]).mean() < min(0.05, 0.01 - np.log(prepared[own]).mean())
    assert fitted.loss_ < 0.05
    assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize("read", [load_iris, load_wine])
def test_it_is_as_good_as_linear_discriminant_analysis_where_that_is_true(read):
    X, y = read(return_X_y=True)
    losses = []
    for model in (GenerativeClassifier(), LinearDiscriminantAnalysis()):
        P = np.clip(cross_val_predict(model, X, y, cv=3, method="predict_proba"), 1e-5, 1)
        losses.append(-np.log(P[np.arange(len(y)), y]).mean())
    assert losses[0] < losses[1] + 0.05


def test_members_say_what_was_chosen(fitted):
    members = fitted.members_
    assert {"linear splines", "categories", "averaged one-dependence"} < {member["name"] for member in members}
    assert all(member["weight"] >= 0 and member["loss"] > 0 for member in members)
    one_row = -np.log(0.1 / 344 / 3) / 344  # what a single row can add to the mean
    assert fitted.loss_ < min(member["loss"] for member in members) + one_row


def test_weights_that_are_all_alike_change_nothing(penguins):
    complete = np.flatnonzero(penguins[0].notna().all(axis=1))[::4]
    X, y = penguins[0].iloc[complete], penguins[1][complete]
    plain = GenerativeClassifier().fit(X, y)
    for weight in (0.01, 1e6):
        model = GenerativeClassifier().fit(X, y, sample_weight=np.full(len(y), weight))
        assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-7)
        assert_allclose(model.loss_, plain.loss_, rtol=1e-6)
        assert (model.predict_set(X) == plain.predict_set(X)).mean() > 0.999  # a score may be the threshold itself


def test_beyond_the_rows_kept_statistics_take_their_place():
    (X, y), rows = made(400), 160
    whole = GenerativeClassifier(keep_rows=rows).fit(X, y)
    again = GenerativeClassifier(keep_rows=rows).fit(X.iloc[::-1], y[::-1])
    assert_same(again, whole, X)
    grown = GenerativeClassifier(keep_rows=rows).partial_fit(X[:240], y[:240])
    grown.partial_fit(X[240:], y[240:])
    assert np.abs(grown.predict_proba(X) - whole.predict_proba(X)).mean() < 0.1  # other knots
    before = grown.predict_proba(X)
    more, labels = made(90, seed=1)
    grown.partial_fit(more, labels).forget(more, labels)
    assert np.abs(grown.predict_proba(X) - before).mean() < 0.02  # another sample of rows to judge on
    assert grown.statistics_.weight.sum() == 400


def told_of_samples(model):
    """Return the sentences that say of how many rows the members know a sample only."""
    return [str(note) for note in model.notes_ if "from a sample" in note.what]


def test_merges_of_models_frozen_apart_say_so(read_back):
    X, y = made(450)

    def fit(start, stop, keep_rows=60):
        return GenerativeClassifier(keep_rows=keep_rows, members="generative").partial_fit(X[start:stop], y[start:stop])

    model = fit(0, 150).merge(fit(150, 300))
    (said,) = told_of_samples(model)
    assert said == (
        "members know rows of weight 150 from a sample: they came with a merged model, which had chosen knots and bins "
        "of its own"
    )
    assert [note.kind for note in model.notes_ if str(note) == said] == [Kind.UNCERTAIN]
    assert told_of_samples(read_back(model)) == [said]
    (more,) = told_of_samples(read_back(model).merge(fit(300, 450)))
    assert "rows of weight 300 from" in more
    assert told_of_samples(fit(300, 340).merge(model)) == [said]  # the few rows join the many
    assert told_of_samples(copy.deepcopy(model).decay(0.5)) == [said]  # weights are relative: it counts rows
    assert told_of_samples(model.partial_fit(X[300:], y[300:])) == [said]
    assert told_of_samples(model.fit(X[:150], y[:150])) == []


def test_reasons_add_up(fitted, penguins):
    X, _ = penguins
    rows = X.iloc[:25].copy()
    rows.loc[3] = np.nan
    rows.loc[5, "island"] = "nowhere"
    reasons, error = fitted.explain(rows, return_error=True)
    assert reasons.shape == error.shape == (25, X.shape[1], 3)
    log_p, prior = fitted.predict_log_proba(rows), np.log(fitted.priors_)
    total = reasons.sum(axis=1) + prior
    for k in (1, 2):
        odds = log_p[:, k] - log_p[:, 0]
        told = ~rows.isna().all(axis=1).to_numpy()
        assert_allclose((total[:, k] - total[:, 0])[told], odds[told], atol=1e-9)
    assert not reasons[rows.isna().to_numpy()].any()
    assert (reasons[5, list(X.columns).index("island")] == 0).all()


def test_reasons_add_up_where_no_member_has_any():
    """What the pool itself adds, half a row of prior for each class, is then shared alike among the cells."""
    model = GenerativeClassifier().fit([[0.0, "u"]] * 5, ["a", "a", "b", "c", "b"])
    rows = [[0.0, "u"], [None, "u"], [0.0, None]]
    odds = model.predict_log_proba(rows) - np.log(model.priors_)
    assert np.abs(odds - odds[:, :1]).max() > 0.01
    found = model.explain(rows)
    assert_allclose(found.sum(axis=1) - found.sum(axis=1)[:, :1], odds - odds[:, :1], atol=1e-12)
    assert not found[1, 0].any()


def test_rows_left_out(fitted, penguins):
    X, y = penguins
    left = fitted.leave_one_out(X, y)
    assert left.shape == (344, 3)
    assert_allclose(np.exp(left).sum(axis=1), 1.0)
    own = np.arange(344), np.searchsorted(fitted.classes_, y)
    assert -left[own].mean() > -fitted.predict_log_proba(X)[own].mean()
    assert_allclose(-left[own].mean(), fitted.loss_, rtol=1e-9)  # one figure for one question
    order = np.random.default_rng(0).permutation(344)[:50]
    assert_allclose(fitted.leave_one_out(X.iloc[order], y[order]), left[order], rtol=1e-12)
    with pytest.raises(DataError, match="does not know"):
        fitted.leave_one_out(X[:1], ["Emperor"])


def test_answers_of_the_joint_model(fitted, penguins):
    X, y = penguins
    holes = X.iloc[:30].copy()
    holes["bill_length_mm"] = np.nan
    filled = fitted.impute(holes, y[:30])
    error = np.abs(filled["bill_length_mm"] - X["bill_length_mm"][:30])
    assert error.mean() < 0.75 * np.abs(X["bill_length_mm"][:30] - X["bill_length_mm"].mean()).mean()
    rows, labels = fitted.sample(50, random_state=0)
    assert (fitted.predict(rows) == labels).mean() > 0.8
    far = X.iloc[:1].assign(body_mass_g=90_000.0)
    assert fitted.outlier_pvalues(far)[0] < 0.001 < fitted.outlier_pvalues(X.iloc[:1])[0]
    assert fitted.score_samples(far)[0] < fitted.score_samples(X.iloc[:1])[0]
    assert fitted.predict_set(X.iloc[:4], alpha=0.1).shape == (4, 3)


def test_outliers_where_classes_share_their_covariance(rng):
    """The joint model is then linear discriminant analysis: ranks among all rows, or those of a class, to 4 errors."""
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 8)) + y[:, None]
    model, linear = GenerativeClassifier().fit(X, y), GaussianDiscriminant(shared=True, divisor="unbiased").fit(X, y)
    assert model._fitted.joint.density.blocks[0].covariance.g == 1
    for labels, rows in ((None, 400), (y, 133)):
        found, expected = (m.outlier_pvalues(X, labels) for m in (model, linear))
        np.testing.assert_allclose(found, expected, atol=4 * 0.5 / np.sqrt(rows))


AWKWARD = {
    "one class": lambda rng: (rng.normal(size=(30, 2)), np.zeros(30, int)),
    "a row": lambda rng: (np.ones((1, 1)), ["a"]),
    "constant columns": lambda rng: (pd.DataFrame({"a": np.ones(40), "b": ["x"] * 40}), rng.integers(0, 2, 40)),
    "classes of few rows": lambda rng: (rng.normal(size=(63, 3)), np.r_[np.repeat([0, 1], 30), 2, 2, 3]),
    "truth values": lambda rng: (pd.DataFrame({"a": rng.random(60) < 0.5}), rng.integers(0, 2, 60)),
    "wide": lambda rng: (rng.normal(size=(40, 200)), rng.integers(0, 2, 40)),
    "wide categories": lambda rng: (
        pd.DataFrame({f"c{j}": rng.choice(list("acgt"), 60) for j in range(30)}),
        rng.integers(0, 2, 60),
    ),
    "many patterns": lambda rng: (
        np.where(rng.random((500, 9)) < 0.4, np.nan, rng.normal(size=(500, 9))),
        rng.integers(0, 2, 500),
    ),
    "far from zero": lambda rng: (1e8 + 1e-3 * rng.normal(size=(80, 3)), rng.integers(0, 2, 80)),
    "categories missing often": lambda rng: (
        pd.DataFrame({f"c{j}": rng.choice(np.array(["u", "v", None], dtype=object), 120) for j in range(6)}),
        rng.integers(0, 3, 120),
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables(rng, name):
    X, y = AWKWARD[name](rng)
    model = GenerativeClassifier().fit(X, y)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert model.loss_ < np.log(len(model.classes_)) + 0.35  # no signal, no disaster
    assert np.isfinite(model.score_samples(X)).all()


def test_refusals(penguins, fitted):
    X, y = penguins
    with pytest.raises(SettingError, match="keep_rows"):
        GenerativeClassifier(keep_rows=10).fit(X, y)
    with pytest.raises(DataError, match="no label in 344 of 344 rows"):
        GenerativeClassifier().fit(X, [None] * len(y))
    model = copy.deepcopy(fitted)
    before = model.predict_proba(X)
    with pytest.raises(DataError):
        model.forget(X[:1], ["Gentoo"])
    assert_allclose(model.predict_proba(X), before, rtol=0)
