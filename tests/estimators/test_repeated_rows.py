"""Rows that repeat, rows of weight 0, and rows forgotten: the automatic classifier and leave-one-out."""

import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.errors import DataError


@pytest.mark.parametrize(("distinct", "times", "keep_rows"), [(90, 30, 100), (400, 40, 50)])
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


FAMILIES = kinds("laplace, full, single components, automatic")


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


# --- copies of rows --------------------------------------------------------------------------------------------------


def logit(rng, n, columns=6):
    X = rng.normal(size=(n, columns))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ np.array([1.5, -1.0, 0.8, *[0.0] * (columns - 3)])))).astype(
        int
    )


def test_a_table_given_again_says_no_more_of_itself(rng):
    """Every row twice: 200 rows said .263 where fresh ones lost .884, and sets of 90 % held 71 %."""
    X, y = logit(rng, 120)
    again = np.tile(np.arange(120), 10)
    once, more = GenerativeClassifier().fit(X, y), GenerativeClassifier().fit(X[again], y[again])
    assert_allclose(more.loss_, once.loss_, rtol=1e-9)
    assert_allclose(more.predict_proba(X), once.predict_proba(X), atol=1e-9)
    assert (more.predict_set(X) == once.predict_set(X)).all()
    (note,) = [note for note in more.notes_ if note.kind == "copied"]
    assert "1,080 of 1,200 rows" in str(note)
    assert not [note for note in once.notes_ if note.kind == "copied"]


def test_a_class_drawn_again_to_balance_the_table_is_judged_by_its_rows(rng):
    """150 rows drawn again said .304, and fresh rows lost .793."""
    X, y = logit(rng, 300)
    rare = np.flatnonzero(y == 1)[:40]
    some = np.concatenate([np.flatnonzero(y == 0), rare])
    balanced = np.concatenate([some, rng.choice(rare, 110)])
    fresh, truth = logit(rng, 6000)
    keep = np.concatenate([np.flatnonzero(truth == 0)[:2500], np.flatnonzero(truth == 1)[:2500]])  # as balanced
    model = GenerativeClassifier().fit(X[balanced], y[balanced])
    lost = -model.predict_log_proba(fresh[keep])[np.arange(len(keep)), truth[keep]].mean()
    assert abs(model.loss_ - lost) < 0.15  # two standard errors of 190 rows; .49 apart before


@pytest.mark.parametrize(
    "make",
    [
        lambda: GaussianDiscriminant(),
        lambda: GaussianDiscriminant(shared=True, shrinkage="oas"),
        lambda: NaiveBayes(),
        lambda: NaiveBayes("laplace"),
        lambda: GenerativeForest(),
        lambda: GenerativeClassifier(),
    ],
)
def test_a_row_given_twice_leaves_as_one_of_weight_2_does(make, rng):
    X, y = logit(rng, 60, 3)
    again, two = np.tile(np.arange(60), 2), np.full(60, 2.0)
    twice, heavy = make().fit(X[again], y[again]), make().fit(X, y, sample_weight=two)
    expected = heavy.leave_one_out(X, y, sample_weight=two)
    assert_allclose(twice.leave_one_out(X, y), expected, atol=1e-9)
    assert_allclose(twice.leave_one_out(X[again], y[again])[60:], expected, atol=1e-9)


def test_equal_rows_of_few_values_stay_rows_of_their_own(rng):
    """As passengers of a ship by class, sex and age do: of 100 equal ones a single one leaves."""
    cells, y = rng.integers(0, 2, (1000, 3)), rng.integers(0, 2, 1000)
    X = pd.DataFrame(
        np.array(["no", "yes"])[np.where(rng.random((1000, 3)) < 0.6, y[:, None], cells)], columns=[*"abc"]
    )
    model = NaiveBayes(smoothing=0.5).fit(X, y)
    assert not [note for note in model.notes_ if note.kind == "copied"]
    counts = [[np.sum((X[j] == v) & (y == c)) for v in ("no", "yes")] for j in "abc" for c in (0, 1)]
    first, own = X.iloc[0], int(y[0])
    log_joint = np.log([np.sum(y == c) - (c == own) for c in (0, 1)])
    for j in range(3):
        for c in (0, 1):
            seen = np.array(counts[2 * j + c], dtype=float)
            level = int(first.iloc[j] == "yes")
            seen[level] -= c == own  # one row leaves, not all that are equal to it
            log_joint[c] += np.log((seen[level] + 0.5) / (seen.sum() + 1.0))
    expected = log_joint - np.logaddexp(*log_joint)
    assert_allclose(model.leave_one_out(X.iloc[:1], y[:1])[0], expected, atol=1e-12)


# --- levels that a single row has ------------------------------------------------------------------------------------


def named(rng, n, kind, fresh=False):
    """Return a table with a column of names, all different: by chance, or sorted as the classes are."""
    X, y = logit(rng, n, 4)
    place = rng.random(n) if kind == "random" else np.where(y == 1, rng.uniform(0, 1, n), rng.uniform(0.8, 1.8, n))
    names = [f"{'new' if fresh else 'id'}-{int(p * 1e12):014d}" for p in place]
    return pd.DataFrame(X, columns=[*"abcd"]).assign(name=names), y


@pytest.mark.parametrize(
    ("make", "kind"),
    [(GenerativeClassifier, "sorted"), (GenerativeForest, "sorted"), (NaiveBayes, "sorted"), (NaiveBayes, "random")],
)
def test_names_that_no_other_row_has_tell_nothing_of_new_rows(make, kind, rng):
    """2,000 rows with names that sort like their classes said .134, and lost 1.49 of fresh ones (.529 without)."""
    (X, y), (fresh, truth) = named(rng, 1300, kind), named(rng, 2000, kind, fresh=True)
    model, without = make().fit(X, y), make().fit(X.drop(columns="name"), y)
    lost, before = (
        -own.predict_log_proba(rows)[np.arange(len(truth)), truth].mean()
        for own, rows in ((model, fresh), (without, fresh.drop(columns="name")))
    )
    assert lost <= 1.02 * before
    left_out = -model.leave_one_out(X, y)[np.arange(len(y)), y] if make is NaiveBayes else None
    said = model.quality().log_loss if left_out is None else float(left_out.mean())
    assert abs(said - lost) < 0.06  # two standard errors of 1,300 rows; out-of-bag forests are judged by fewer trees


@pytest.mark.parametrize(
    ("make", "dtype"), [(NaiveBayes, object), (NaiveBayes, "category"), (GenerativeClassifier, "category")]
)
def test_levels_of_rows_of_weight_0_are_not_learned(make, dtype, rng):
    """A level that such rows alone have stayed known, so that smoothing counted one more once rows were forgotten."""
    y = np.arange(60) % 3
    X = pd.DataFrame({"c": rng.choice(list("pqr"), 60), "x": rng.normal(size=60) + y})
    X.loc[:2, "c"] = "none"
    X = X.astype({"c": dtype})
    weight = (np.arange(60) > 2).astype(float)
    model = make().partial_fit(X, y, sample_weight=weight).forget(X[3:8], y[3:8])
    again = make().partial_fit(X, y, sample_weight=weight).forget(X[:8], y[:8], sample_weight=weight[:8])
    wanted = make().fit(X[8:], y[8:]).predict_proba(X)
    assert_allclose(model.predict_proba(X), wanted, rtol=0, atol=1e-12)
    assert_allclose(again.predict_proba(X), wanted, rtol=0, atol=1e-12)
