"""GenerativeForest: the laws of its edits and answers, and what it says of rows it has not seen."""

import copy

import model_laws
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, kstest
from sklearn.base import clone

from suffice import GenerativeClassifier, GenerativeForest, testing
from suffice.automatic.forest_fitted import ForestRows, ForestStats
from suffice.errors import DataError, SettingError
from suffice.testing import ModelCase, check_laws

CLASSES = np.array(["ash", "birch", "cedar"])
KEPT = pytest.mark.parametrize("keep_rows", [None, 60], ids=["rows", "frozen"])


def make_table(n=300, seed=0, holes=0.1):
    """Return numbers, a repeated value, whole numbers and categories that hang together, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    size = rng.normal(size=n) + y
    colour = np.where(rng.random(n) < 0.6, y, rng.integers(0, 4, n))
    table = pd.DataFrame(
        {
            "size": size,
            "count": rng.poisson(1.0 + np.exp(0.3 * size)).astype(float),
            "share": np.where(rng.random(n) < 0.3, 0.0, rng.beta(2.0, 5.0 - y)),
            "colour": np.array(["red", "green", "blue", "grey"])[colour],
            "wet": np.array(["no", "yes"])[((colour % 2) ^ (rng.random(n) < 0.2)).astype(int)],
        }
    )
    return table.mask(rng.random(table.shape) < holes), CLASSES[y]


def rows(X, y, index, weight=None):
    """Return some rows as arguments of `fit`."""
    return (X.iloc[index], y[index]) if weight is None else (X.iloc[index], y[index], weight[index])


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module", params=[None, 60], ids=["rows", "frozen"])
def model(request, table):
    found = GenerativeForest(keep_rows=request.param).fit(*table)
    assert isinstance(found.statistics_.blocks[-1], ForestRows if request.param is None else ForestStats)
    return found


def assert_same(found, expected, X, atol=1e-9):
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert_allclose(found.statistics_.weight, expected.statistics_.weight, rtol=1e-12)
    assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), rtol=0, atol=atol)
    assert_allclose(found.score_samples(X), expected.score_samples(X), rtol=0, atol=10 * atol)


# --- edits -------------------------------------------------------------------------------------------------------


def test_parts_join_a_frozen_forest_in_any_order(table):
    """Trees frozen by one model read the rows of others that are few, or of saved copies of it that went on."""
    X, y = table
    base = GenerativeForest(keep_rows=60).fit(*rows(X, y, np.arange(150)))
    parts = np.array_split(np.arange(150, 300), 3)
    small = [GenerativeForest(keep_rows=60).fit(*rows(X, y, own)) for own in parts]
    grown = [copy.deepcopy(base).partial_fit(*rows(X, y, own)) for own in parts]
    one = copy.deepcopy(base)
    for own in parts:
        one.partial_fit(*rows(X, y, own))
    at_once = copy.deepcopy(base).partial_fit(*rows(X, y, np.arange(150, 300)))
    assert_same(one, at_once, X)
    assert_same(copy.deepcopy(base).merge(small[2]).merge(small[0]).merge(small[1]), one, X)
    first = rows(X, y, np.arange(150))
    assert_same(copy.deepcopy(grown[0]).merge(grown[1]).merge(grown[2]).forget(*first).forget(*first), one, X)


def test_forgetting_takes_rows_out_of_frozen_leaves(table):
    """The trees stay, so what is left is what they would hold had the rows come later and never been."""
    X, y = table
    base = GenerativeForest(keep_rows=60).fit(X, y)
    new, labels = make_table(80, seed=1)
    model = copy.deepcopy(base).partial_fit(new, labels)
    assert np.abs(model.score_samples(X) - base.score_samples(X)).max() > 0.01
    assert_same(model.forget(new, labels), base, X)


def test_a_weight_of_two_is_the_row_twice(table):
    """In frozen trees; before, trees count weights that are alike as rows of weight one."""
    X, y = table
    base = GenerativeForest(keep_rows=60).fit(X, y)
    new, labels = make_table(80, seed=1)
    copies = np.arange(80) % 3 + 1
    heavy = copy.deepcopy(base).partial_fit(new, labels, sample_weight=copies.astype(float))
    twice = copy.deepcopy(base).partial_fit(*rows(new, labels, np.repeat(np.arange(80), copies)))
    assert_same(heavy, twice, X)


@KEPT
def test_weights_of_zero_are_rows_left_out(table, keep_rows):
    X, y = table
    weight = (np.arange(300) % 3 > 0).astype(float)
    some = np.flatnonzero(weight)
    found = GenerativeForest(keep_rows=keep_rows).fit(X, y, weight)
    assert_same(found, GenerativeForest(keep_rows=keep_rows).fit(*rows(X, y, some)), X)


def test_a_class_is_dropped_from_frozen_trees(table):
    X, y = table
    found = GenerativeForest(keep_rows=60).fit(X, y).drop_class("birch")
    assert found.classes_.tolist() == ["ash", "cedar"]
    assert found.statistics_.rows == (y != "birch").sum()


def test_saved_models_answer_with_every_bit(model, table, read_back):
    X, y = table
    again = read_back(model)
    for answer in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
        assert_array_equal(getattr(again, answer)(X), getattr(model, answer)(X))
    assert_array_equal(again.leave_one_out(X[:20], y[:20]), model.leave_one_out(X[:20], y[:20]))
    pd.testing.assert_frame_equal(again.sample(30, random_state=3)[0], model.sample(30, random_state=3)[0])
    new, labels = make_table(40, seed=2)
    assert_array_equal(
        again.partial_fit(new, labels).score_samples(X), copy.deepcopy(model).partial_fit(new, labels).score_samples(X)
    )


# --- what does not matter ----------------------------------------------------------------------------------------


def test_the_order_of_columns_does_not_matter_where_rows_are_others_with_cells_exchanged():
    """Of two columns with the same values there are rows (a, b) and (b, a), in different classes."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 6, (300, 3)).astype(float)
    y = CLASSES[(X[:, 0] > X[:, 1]).astype(int) + (rng.random(300) < 0.2)]
    model, again = GenerativeForest().fit(X, y), GenerativeForest().fit(X[:, ::-1], y)
    assert_allclose(again.predict_log_proba(X[:, ::-1]), model.predict_log_proba(X), rtol=0, atol=1e-9)


def test_laws_of_a_joint_model():
    X, y = make_table(120)
    X = X.astype(object).where(X.notna(), None).to_numpy()
    case = ModelCase(GenerativeForest().fit(X, y), X, y, 1e-8)
    laws = (testing._bayes, testing._nothing_known, testing._reasons, testing._one_by_one)
    check_laws((*laws, model_laws._observed_cells_stay, model_laws._sets), case, 0)


# --- answers -----------------------------------------------------------------------------------------------------


def test_drawn_levels_are_those_of_the_table():
    """In these tables codes were taken for numbers in steps of 2, and moved beyond the last level."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"a": rng.choice(list("abcd"), 60, p=[0.45, 0.05, 0.45, 0.05]), "b": rng.normal(size=60)})
    drawn = GenerativeForest().fit(X, np.arange(60) % 2).sample(2000, random_state=0)[0]
    assert set(drawn["a"]) <= set("abcd")


def test_drawn_and_filled_numbers_are_those_of_the_table(model, table):
    X, _ = table
    drawn, labels = model.sample(1500, random_state=0)
    filled = model.impute(X, draws=1, random_state=0)[0]
    assert set(labels) == set(CLASSES)
    for found in (drawn, filled):
        assert (found["count"] == found["count"].round()).all()
        assert set(found["colour"]) <= {"red", "green", "blue", "grey"}
        for name in ("size", "count", "share"):
            assert X[name].min() <= found[name].min()
            assert found[name].max() <= X[name].max()
    assert filled.notna().all().all()
    # three in ten are exactly 0: five standard errors, of the draws and of the rows learned
    seen = (X["share"] == 0.0).sum() / X["share"].notna().sum()
    error = np.sqrt(0.3 * 0.7 * (1 / 1500 + 1 / 270))
    assert abs((drawn["share"] == 0.0).mean() - seen) < 5 * error


def test_sets_of_classes_hold_the_true_one_as_often_as_promised():
    """Coverage of one threshold varies as a Beta of the rows ranked; then fresh rows are counted. One in 10,000."""
    X, y = make_table(400, holes=0.05)
    new, labels = make_table(3000, seed=9, holes=0.05)
    model = GenerativeForest().fit(X, y)
    for alpha in (0.1, 0.3):
        held = model.predict_set(new, alpha)[np.arange(3000), np.searchsorted(CLASSES, labels)].mean()
        spread = np.sqrt(alpha * (1 - alpha) * (1 / 400 + 1 / 3000))
        assert abs(held - (1 - alpha)) < 3.9 * spread


def test_outlier_pvalues_of_fresh_rows_are_uniform():
    """Against ranks among 400 rows: the bound of Kolmogorov and Smirnov for two samples, one in 10,000."""
    X, y = make_table(400, holes=0.0)
    new, _ = make_table(1500, seed=8, holes=0.0)
    found = GenerativeForest().fit(X, y).outlier_pvalues(new)
    assert kstest(found, "uniform").statistic < np.sqrt(-0.5 * np.log(0.5e-4) * (1 / 400 + 1 / 1500))
    rare = (found <= 0.05).sum()
    assert rare <= binom.ppf(1 - 1e-4, 1500, 0.05 + 3.9 * np.sqrt(0.05 * 0.95 / 400))


def test_outlier_pvalues_of_learned_rows_that_are_not_kept_are_uniform():
    """600 rows, of which 300 are kept: the others leave the leaves they are in. Bounds as of fresh rows."""
    X, y = make_table(600, holes=0.0)
    X["product"] = np.exp(X.select_dtypes("number").sum(axis=1))
    model = GenerativeClassifier(keep_rows=300).fit(X, y)
    assert any("a forest of" in str(note) for note in model.notes_)
    assert kstest(model.outlier_pvalues(X, y), "uniform").statistic < np.sqrt(-0.5 * np.log(0.5e-4) * 2 / 300)


def test_what_cannot_be_is_refused(table):
    X, y = table
    model = GenerativeForest().fit(X, y)
    before = model.predict_log_proba(X)
    unlabelled = np.where(np.arange(300) % 5, y, None)
    for learn in (clone(model).fit, model.partial_fit):
        with pytest.raises(DataError, match=r"cannot join a generative forest|no label in 60 of 300 rows"):
            learn(X, unlabelled)
    with pytest.raises(DataError, match="nothing to release"):
        model.release()
    assert_array_equal(model.predict_log_proba(X), before)
    for keep_rows in (0, 49, -1, 2.5, "many", "1GB", "-1MiB"):
        with pytest.raises((SettingError, ValueError, TypeError), match="keep_rows"):
            GenerativeForest(keep_rows=keep_rows).fit(X, y)


@pytest.mark.parametrize("heaviest", [1e6, 1e12])
def test_one_row_that_outweighs_all_others(heaviest, read_back):
    """Trees whose bag it is not in are grown on it, for the others weigh nothing beside it; their ranks round to 1."""
    X, y = (rng := np.random.default_rng(0)).normal(size=(120, 3)), rng.integers(0, 2, 120)
    model = GenerativeForest().fit(X, y, sample_weight=np.append(heaviest, np.ones(119)))
    assert_allclose(model.priors_.sum(), 1.0)
    pooled = read_back(GenerativeClassifier().fit(X, y, sample_weight=np.append(heaviest**2, np.ones(119))))
    assert model.predict(X[:1]) == pooled.predict(X[:1]) == y[:1]
    assert np.isfinite(model.score_samples(X)).all()
    assert np.argmax(model.score_samples(X)) == 0
