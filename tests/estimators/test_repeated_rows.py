"""Rows that repeat, rows of weight 0, and rows forgotten: the automatic classifier and leave-one-out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.automatic.table_rows import smallest_distinct
from suffice.errors import DataError, SettingError


@pytest.mark.parametrize(("distinct", "times", "keep_rows"), [(400, 15, 100), (90, 30, 100), (400, 40, 50)])
def test_rows_that_repeat_freeze_the_same_columns_in_fit_and_fit_table(distinct, times, keep_rows, rng):
    """Posteriors were 0.6 to 0.9 apart: `fit` took copies for rows, `fit_table` found too few distinct ones."""
    y = rng.integers(0, 2, distinct)
    X = pd.DataFrame(rng.normal(size=(distinct, 3)).round(1) + y[:, None], columns=list("abc"))
    X["d"] = rng.choice(list("xyz"), distinct)
    order = rng.permutation(np.repeat(np.arange(distinct), rng.integers(1, 2 * times, distinct)))
    table, labels = X.iloc[order].reset_index(drop=True), y[order]
    whole = GenerativeClassifier(keep_rows=keep_rows).fit(table, labels)
    parts = GenerativeClassifier(keep_rows=keep_rows).fit_table(table.assign(y=labels), "y")
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    if distinct <= keep_rows:  # the model is that of each distinct row once, with the weight of its copies
        count = np.bincount(order, minlength=distinct)
        assert type(parts.statistics_.blocks[-1]) is type(whole.statistics_.blocks[-1])
        rows = GenerativeClassifier(keep_rows=keep_rows).fit(X, y, sample_weight=count).statistics_.blocks[-1]
        assert_allclose(np.sort(parts.statistics_.blocks[-1].weight), np.sort(rows.weight))


def test_smallest_distinct_rows_by_sorting(rng):
    keys, codes = rng.integers(0, 60, 3000).astype(np.uint64), rng.integers(0, 2, 3000)
    weight = rng.random(3000)
    table = pd.DataFrame({"key": keys, "code": codes, "weight": weight}).groupby(["key", "code"])["weight"].sum()
    for bound in (5, 50, 119, 500):
        rows, total, beyond = smallest_distinct(keys, codes, weight, bound)
        assert list(zip(keys[rows], codes[rows], strict=True)) == list(table.index[:bound])
        assert_allclose(total, table.to_numpy()[:bound])
        assert beyond == (len(table) > bound)


FAMILIES = {
    "laplace": lambda: NaiveBayes("laplace"),
    "student_t": lambda: NaiveBayes("student_t"),
    "gaussian": GaussianDiscriminant,
    "mixture": lambda: MixtureDiscriminant(1),
    "automatic": GenerativeClassifier,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_weight_0_are_judged_as_new_ones(name, rng):
    """Laplace columns said that the row's value occurs too seldom."""
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) + y[:, None]
    weight = rng.integers(0, 3, 80).astype(float)
    labels = np.where(weight > 0, y, 7)  # a class that no row of any weight is of
    model = FAMILIES[name]().fit(X, labels, sample_weight=weight)
    found = model.leave_one_out(X, labels, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1]
    assert_allclose(found[weight == 0], model.predict_log_proba(X[weight == 0]), atol=1e-12)
    there = weight > 0
    assert_allclose(found[there], model.leave_one_out(X[there], y[there], weight[there]), atol=1e-12)
    with pytest.raises(DataError, match="7"):
        model.leave_one_out(X, labels)


def test_where_most_rows_are_forgotten_it_is_said_by_how_many_the_model_is_judged(rng):
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 3)) + y[:, None]
    model = GenerativeClassifier(keep_rows=200).fit(X, y)
    assert not any("still kept" in str(note) for note in model.notes_)
    model.forget(X[90:], y[90:])
    kept = len(model.statistics_.sample.codes)
    assert kept < 50
    said = f"the {kept} rows that are still kept of the 90 learned"
    assert any(said in str(note) for note in model.notes_)
    for ask in (lambda: model.loss_, lambda: model.predict_set(X)):
        with pytest.raises(DataError, match=f"{said}.*fit again"):
            ask()
    assert model.score(X, y) > 0.6  # 0.5 is chance, and it predicts as before
    assert not np.isnan(model.leave_one_out(X[:90], y[:90])).any()


def test_the_default_that_an_error_names_is_the_default():
    default = NormalInverseWishart(strength=10.0).pooled
    with pytest.raises(SettingError, match=rf"\b{default:g}\b"):
        NormalInverseWishart(strength=10.0, pooled=2.0)


@pytest.mark.parametrize("make", [NaiveBayes, GenerativeClassifier])
@pytest.mark.parametrize("dtype", [object, "category"])
def test_levels_of_rows_of_weight_0_are_not_learned(make, dtype, rng):
    """A level that such rows alone have stayed known, so that smoothing counted one more once rows were forgotten."""
    y = np.arange(60) % 3
    X = pd.DataFrame({"c": rng.choice(list("pqr"), 60), "x": rng.normal(size=60) + y})
    X.loc[:2, "c"] = "none"
    X = X.astype({"c": dtype})
    weight = (np.arange(60) > 2).astype(float)
    model = make().fit(X, y, sample_weight=weight).forget(X[3:8], y[3:8])
    again = make().fit(X, y, sample_weight=weight).forget(X[:8], y[:8], sample_weight=weight[:8])
    wanted = make().fit(X[8:], y[8:]).predict_proba(X)
    assert_allclose(model.predict_proba(X), wanted, rtol=0, atol=1e-12)
    assert_allclose(again.predict_proba(X), wanted, rtol=0, atol=1e-12)
