"""Edits of what was learned: each equals a fit on the rows that would be there had the edit come first."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from kinds import kinds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from statistic_laws import assert_same_statistics

from suffice import RDA, GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, MergeError, NotLearnedError, SettingError
from suffice.estimate.families import LaplaceFamily

NAN = float("nan")
CLASSES = ["ash", "birch", "cedar"]

NUMBERS = kinds(
    "full, shared, diagonal, diagonal shared, spherical, unbiased, oas, gaussian, laplace, single components"
) | {
    "rda": lambda: GaussianDiscriminant(shrinkage=RDA(0.3, 0.1)),
    "joint block": lambda: NaiveBayes({(0, 2): "gaussian"}),
    "single components, shared": lambda: MixtureDiscriminant(1, shared=True),
}
OTHERS = kinds("ledoit-wolf, naive bayes, forest, poisson, bernoulli, multinomial, categorical")
ALL = NUMBERS | OTHERS


def numbers(rng, holes=0.0):
    X = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)) + 5.0
    y = rng.choice(CLASSES, 90, p=[0.5, 0.3, 0.2])
    X += np.searchsorted(CLASSES, y)[:, None]
    return np.where(rng.random(X.shape) < holes, NAN, X), y


def counts(rng, name):
    y = rng.choice(CLASSES, 80)
    rate = 1.0 + 2.0 * np.searchsorted(CLASSES, y)[:, None]
    if name == "bernoulli":
        return (rng.random((80, 4)) < rate / 6).astype(float), y
    if name == "categorical":
        return np.where(rng.random((80, 3)) < 0.1, None, rng.choice(list("pqrs"), (80, 3))), y
    return rng.poisson(rate, (80, 4)).astype(float), y


def table(rng):
    """A mixed table with missing cells."""
    X, y = numbers(rng, 0.15)
    frame = pd.DataFrame(X, columns=["height", "girth", "age"])
    frame["bark"] = rng.choice(["smooth", "rough", "scaly"], len(y))
    frame.loc[rng.random(len(y)) < 0.1, "bark"] = None
    frame["evergreen"] = rng.random(len(y)) < 0.3
    return frame, y


def made(rng, name, holes=0.0):
    """A table that a model can learn from, and labels."""
    if name in NUMBERS or name == "ledoit-wolf":
        return numbers(rng, holes * (name in NUMBERS))
    return table(rng) if name in ("naive bayes", "forest") else counts(rng, name)


def rows(X, index):
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def assert_same_model(model, other, X, tolerance=1e-10):
    assert model.classes_.tolist() == other.classes_.tolist()
    assert_allclose(model.statistics_.weight, other.statistics_.weight, rtol=1e-12)
    a, b = model.predict_joint_log_proba(X), other.predict_joint_log_proba(X)
    assert_array_equal(np.isneginf(a), np.isneginf(b))
    with np.errstate(invalid="ignore"):
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=tolerance)


def snapshot(model, X):
    """Everything an edit might change, to be compared bit by bit."""
    arrays = [{name: v.copy() for name, v in block.arrays()[0].items()} for block in model.statistics_.blocks]
    plain = [block.arrays()[1] for block in model.statistics_.blocks]
    state = (model.statistics_.classes, model.statistics_.rows, plain, sorted(vars(model)))
    return copy.deepcopy(state), model.statistics_.weight.copy(), arrays, model.predict_joint_log_proba(X)


def assert_untouched(model, before, X):
    state, weight, arrays, scores = snapshot(model, X)
    assert state == before[0]
    assert_array_equal(weight, before[1])
    for mine, theirs in zip(arrays, before[2], strict=True):
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert_array_equal(mine[name], theirs[name])
    assert_array_equal(scores, before[3])


# --- forget ------------------------------------------------------------------------------------------------------


HOLED = ("full", "shared", "diagonal", "oas", "laplace", "joint block", "single components")  # of each way to sum up


@pytest.mark.parametrize(("name", "holes"), [*((name, 0.0) for name in ALL), *((name, 0.2) for name in HOLED)])
def test_forget_equals_a_fit_without_the_rows(rng, name, holes):
    """Some rows; a whole class; all but two rows of each class; weighted, and in pieces."""
    make, (X, y), tolerance = ALL[name], made(rng, name, holes), 1e-9 if holes else 1e-10
    n = len(y)
    weight = rng.integers(1, 9, n) / 4
    last = [i for c in CLASSES for i in np.flatnonzero(y == c)[:6]]
    for out, w in (
        (rng.permutation(n)[: n // 3], None),
        (np.flatnonzero(y == "birch"), weight),
        (np.setdiff1d(np.arange(n), last), None),
        (rng.permutation(n)[: n // 2], weight),
    ):
        kept = np.setdiff1d(np.arange(n), out)

        def own(index, w=w):
            return None if w is None else w[index]

        model = make().fit(X, y, sample_weight=w)
        for piece in np.array_split(out, 3):
            if len(piece):
                model.forget(rows(X, piece), y[piece], sample_weight=own(piece))
        assert_same_model(model, make().fit(rows(X, kept), y[kept], sample_weight=own(kept)), X, tolerance)
        assert model.statistics_.rows == len(kept)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n", [60, 150])
def test_forget_in_a_table_wider_than_long(rng, shared, n):
    """With 150 rows of 130 columns the whole is a matrix, and what is left would have been kept as rows.

    Covariances of fewer rows than columns are shrunk until their least eigenvalue is 1e-6: rounding counts a million
    times in those directions of the matrix.
    """
    X = rng.normal(size=(n, 130)) + 3.0
    y = np.array(CLASSES)[np.arange(n) % 3]
    out = np.arange(n // 4)
    model = GaussianDiscriminant(shared=shared).fit(X, y).forget(X[out], y[out])
    again = GaussianDiscriminant(shared=shared).fit(X[n // 4 :], y[n // 4 :])
    assert_same_model(model, again, X, 1e-9 if n == 60 else 1e-7)


@pytest.mark.parametrize(("name", "cycles"), [("full", 400), ("laplace", 40)])
def test_many_cycles_of_adding_and_forgetting(rng, name, cycles):
    """Each cycle leaves rounding of 1e-16 of the sums, 400 at most 4e-14 times the growth of the sums."""
    X, y = numbers(rng)
    more, labels = numbers(rng)
    model = NUMBERS[name]().set_params(keep_rows=0 if name == "full" else 2000).fit(X, y)
    weight = rng.integers(1, 9, 90) / 8
    for step in range(cycles):
        own = slice(step % 80, step % 80 + 10)
        model.partial_fit(more[own] + 50.0, labels[own], sample_weight=weight[own])
        model.forget(more[own] + 50.0, labels[own], sample_weight=weight[own])
    assert_same_model(model, NUMBERS[name]().fit(X, y), X, 1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(["full", "shared", "diagonal", "laplace", "joint block"]),
    data=st.data(),
)
def test_any_rows_can_be_forgotten(seed, name, data):
    """Rows of small whole numbers in any classes: what is left may be one row, one value, or collinear."""
    n = data.draw(st.integers(2, 14))
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 3)).astype(float)
    y = rng.choice(CLASSES, n)
    weight = rng.integers(1, 5, n) / 2
    out = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    if not out.any() or out.all() or not (X[~out].max(axis=0) > X[~out].min(axis=0)).all():
        return
    model = NUMBERS[name]().fit(X, y, sample_weight=weight)
    model.forget(X[out], y[out], sample_weight=weight[out])
    again = NUMBERS[name]().fit(X[~out], y[~out], sample_weight=weight[~out])
    for mine, theirs in zip(model.statistics_.blocks, again.statistics_.blocks, strict=True):
        assert_same_statistics(mine, theirs, 1e-12)
    # the least eigenvalue of a mended covariance, 1e-6, magnifies the rounding of statistics (1e-12 above) as much
    assert_same_model(model, again, X[~out], 1e-6)


def test_a_typing_error_is_taken_back(rng):
    """A cell of 1e5 among numbers near 5 takes 2 × 4 of 16 digits with it when its row is forgotten."""
    X, y = numbers(rng)
    wrong = X.copy()
    wrong[0, 1] = 1e5
    for name in ("full", "shared", "diagonal"):
        model = NUMBERS[name]().fit(wrong, y).forget(wrong[:1], y[:1])
        assert_same_model(model, NUMBERS[name]().fit(X[1:], y[1:]), X, 1e-5)


@pytest.mark.parametrize("model", [NaiveBayes(), GaussianDiscriminant(), GaussianDiscriminant(shared=True)])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_a_column_that_varies_no_more_is_left_out_again(model, value, rng):
    """Means of a constant that came by subtracting differ by rounding, which is no variation."""
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    X[6:, 2] = value
    left = clone(model).fit(X, y).forget(X[:6], y[:6])
    fresh = clone(model).fit(X[6:], y[6:])
    assert ("left out", (2,)) in [(note.what, note.columns) for note in left.notes_]
    np.testing.assert_allclose(left.predict_joint_log_proba(X), fresh.predict_joint_log_proba(X), rtol=1e-9)


def test_categories_that_no_row_shows_are_unknown_again():
    X, y = [["red"], ["blue"], ["red"], ["green"]], ["a", "a", "b", "b"]
    model = NaiveBayes().fit(X, y).forget([["green"]], ["b"])
    assert list(model.probabilities_[0]) == ["blue", "red"]
    assert_same_model(model, NaiveBayes().fit(X[:3], y[:3]), [*X, ["other"]])


def test_rounded_values_stay_on_their_grid(rng):
    """Beyond `distinct` values the grid coarsens; what is left is the rest on that grid, known to half its width."""
    X, y = rng.normal(size=(400, 1)), np.array(["a", "b"])[np.arange(400) % 2]
    family = LaplaceFamily(distinct=32)
    model = NaiveBayes(family).fit(X, y).forget(X[:300], y[:300])
    exact = NaiveBayes("laplace").fit(X[300:], y[300:])
    stats = model.statistics_.blocks[0]
    assert_array_equal(stats.column_weight(), exact.statistics_.blocks[0].column_weight())
    assert stats.width.max() > 0
    for mine, theirs in zip(*(m.parameters_[0]["location"] for m in (model, exact)), strict=True):
        assert abs(mine - theirs) <= stats.width.max()
    assert model.forget(X[300::2], y[300::2]).statistics_.classes == ("b",)


# --- refusals: nothing changes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["full", "diagonal", "shared"])
def test_a_row_is_refused_where_no_scatter_is_left(rng, form):
    """The bound: with n rows a row may lie at most √((n − 1) S) / √n from the mean, in any direction."""
    X = rng.normal(size=(50, 3))
    y = np.array(["a", "b"])[np.arange(50) % 2]
    own = X[y == "a"]
    mean, scatter, n = own.mean(axis=0), (own - own.mean(axis=0)).T @ (own - own.mean(axis=0)), 25
    u = np.eye(3)[1] if form == "diagonal" else rng.normal(size=3)
    limit = 1 / scatter[1, 1] if form == "diagonal" else u @ np.linalg.solve(scatter, u)
    reach = np.sqrt((n - 1) / n / limit)  # where shared, too: class parts are kept, and are stricter than their sum
    inside, outside = (mean + factor * reach * u for factor in (1 - 1e-6, 1 + 1e-6))
    estimator = NUMBERS[form]().set_params(keep_rows=0)  # else rows are looked up
    clone(estimator).fit(X, y).forget([inside], ["a"])
    model = clone(estimator).fit(X, y)
    before = snapshot(model, X)
    with pytest.raises(NotLearnedError, match="class 'a'"):
        model.forget([outside], ["a"])
    assert_untouched(model, before, X)


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "laplace", "gaussian", "categorical"])
def test_forget_refuses_values_never_there(family):
    X = np.array([[1, 0], [1, 1], [1, 0], [0, 1], [1, 1], [0, 0]], dtype=object if family == "categorical" else float)
    y = list("aaabbb")
    model = NaiveBayes(family, keep_rows=0).fit(X, y)
    before = snapshot(model, X)
    for row in ([[0, 0]], [[7, 0]]):
        if family == "poisson" and row == [[0, 0]]:
            continue  # a sum of three ones over two rows is as possible as any other
        if family == "bernoulli" and row == [[7, 0]]:
            continue  # no truth value, so not even read
        with pytest.raises(NotLearnedError, match="class 'a'"):
            model.forget(np.array(row, dtype=X.dtype), ["a"])
        assert_untouched(model, before, X)


@pytest.mark.parametrize("name", ["full", "shared", "laplace"])
def test_rows_of_a_class_that_is_kept_whole_are_looked_up(rng, name):
    """A row like the others would leave possible sums, and yet was never learned; nor was one twice."""
    X, y = numbers(rng)
    model = NUMBERS[name]().fit(X, y).rename_classes({"ash": "oak"})
    before = snapshot(model, X)
    row = X[y == "ash"].mean(axis=0, keepdims=True)
    for cells in (row, np.repeat(X[y == "ash"][:1], 2, axis=0)):
        with pytest.raises(NotLearnedError, match="class 'oak' cannot be forgotten"):
            model.forget(cells, ["oak"] * len(cells))
        assert_untouched(model, before, X)
    labels = np.where(y == "ash", "oak", y)
    again = NUMBERS[name]().fit(X[30:], labels[30:]).statistics_.sample
    held = model.forget(X[:30], labels[:30]).statistics_.sample
    assert sorted(held.identity) == sorted(again.identity)


def test_wide_rows_must_be_there_value_by_value(rng):
    X, y = rng.normal(size=(12, 150)), list("ab" * 6)
    model = GaussianDiscriminant().fit(X, y)
    before = snapshot(model, X)
    near = X[:1].copy()
    near[0, 77] += 1e-6
    for row, label in ((near, "a"), (X[:1], "b")):
        with pytest.raises(NotLearnedError, match=f"class '{label}'.*not among the rows learned"):
            model.forget(row, [label])
        assert_untouched(model, before, X)


def test_priors_by_class_must_fit_the_classes_left(rng):
    X, y = numbers(rng)
    model = GaussianDiscriminant(priors={"ash": 0.5, "birch": 0.2, "cedar": 0.3}).fit(X, y)
    before = snapshot(model, X)
    birch = y == "birch"
    for edit in (
        lambda: model.drop_class("birch"),
        lambda: model.rename_classes({"birch": "beech"}),
        lambda: model.forget(X[birch], y[birch]),
    ):
        with pytest.raises(SettingError, match="priors names"):
            edit()
        assert_untouched(model, before, X)
    model.set_params(priors={"ash": 0.6, "cedar": 0.4}).drop_class("birch")
    assert_allclose(model.priors_, [0.6, 0.4])


# --- classes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_drop_class_equals_a_fit_without_it(rng, name):
    X, y = made(rng, name, 0.2)
    kept = np.flatnonzero(y != "birch")
    model = ALL[name]().fit(X, y).drop_class("birch")
    assert_same_model(model, ALL[name]().fit(rows(X, kept), y[kept]), X)
    assert model.statistics_.rows == len(kept)


@pytest.mark.parametrize("name", ALL)
def test_renaming_equals_a_fit_on_renamed_labels(rng, name):
    X, y = made(rng, name, 0.2)
    for names in (
        {"ash": "zebra"},
        {"ash": "birch", "birch": "ash"},
        {"ash": "cedar"},
        {"ash": "tree", "cedar": "tree"},
    ):
        model = ALL[name]().fit(X, y).rename_classes(names)
        labels = np.array([names.get(label, label) for label in y.tolist()])
        assert_same_model(model, ALL[name]().fit(X, labels), X)


@pytest.mark.parametrize("shared", [False, True])
def test_classes_of_a_table_wider_than_long(rng, shared):
    X = rng.normal(size=(60, 140)) + 3.0
    y = np.array(CLASSES)[np.arange(60) % 3]
    model = GaussianDiscriminant(shared=shared).fit(X, y)
    kept = y != "ash"
    again = GaussianDiscriminant(shared=shared).fit(X[kept], y[kept])
    assert_same_model(copy.deepcopy(model).drop_class("ash"), again, X, 1e-9)
    again = GaussianDiscriminant(shared=shared).fit(X, np.where(y == "ash", "birch", y))
    assert_same_model(model.rename_classes({"ash": "birch"}), again, X, 1e-9)


def test_numbers_and_truth_values_as_labels(rng):
    X = rng.normal(size=(40, 2))
    model = NaiveBayes().fit(X, np.arange(40) % 3)
    assert model.rename_classes({0: 10, np.int64(2): 5}).classes_.tolist() == [1, 5, 10]
    assert model.drop_class(np.int64(5)).classes_.tolist() == [1, 10]
    assert model.rename_classes({1: "no", 10: "yes"}).classes_.tolist() == ["no", "yes"]
    model = NaiveBayes().fit(X, np.arange(40) % 2 == 0).rename_classes({True: "even", False: "odd"})
    assert model.predict(X[:1]).tolist()[0] in ("even", "odd")


def test_the_last_class_stays(rng):
    X, y = numbers(rng)
    model = GaussianDiscriminant().fit(X, y).drop_class("ash").drop_class("birch")
    before = snapshot(model, X)
    with pytest.raises(DataError, match="'cedar' is the last one"):
        model.drop_class("cedar")
    assert_untouched(model, before, X)


def test_a_sum_over_too_many_classes_keeps_them(rng, monkeypatch):
    """Beyond the bound only the sum of the scatters is kept: classes can merge, and rows leave, but no class can."""
    monkeypatch.setattr("suffice.stats.scatter.OWN_CELLS", 10)
    X, y = numbers(rng)
    model = GaussianDiscriminant(shared=True).fit(X, y)
    before = snapshot(model, X)
    with pytest.raises(MergeError, match=r"summed over 3 classes.*Next: fit again without the class"):
        model.drop_class("ash")
    assert_untouched(model, before, X)
    again = GaussianDiscriminant(shared=True).fit(X, np.where(y == "ash", "birch", y))
    assert_same_model(copy.deepcopy(model).rename_classes({"ash": "birch"}), again, X)
    for out in (np.arange(30), np.flatnonzero(y == "ash")):
        kept = np.setdiff1d(np.arange(90), out)
        edited = copy.deepcopy(model).forget(X[out], y[out])
        assert_same_model(edited, GaussianDiscriminant(shared=True).fit(X[kept], y[kept]), X)


# --- mixtures and rows without a label ---------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, "class", True])
def test_mixtures_drop_and_rename_classes(rng, shared):
    """Classes are fitted one by one unless components share one covariance, so a dropped class changes no other."""
    X, y = numbers(rng)
    X[::2] += 6.0
    model = MixtureDiscriminant(2, shared=shared, n_init=1, random_state=0).fit(X, y)
    scores = model.predict_joint_log_proba(X) - np.log(model.priors_)
    renamed = copy.deepcopy(model).rename_classes({"ash": "zebra"})
    assert renamed.classes_.tolist() == ["birch", "cedar", "zebra"]
    assert_allclose(renamed.predict_joint_log_proba(X)[:, [2, 0, 1]] - np.log(model.priors_), scores, atol=1e-9)
    both = copy.deepcopy(model).rename_classes({"ash": "birch"})
    one, two, three = model.n_components_.tolist()
    assert both.n_components_.tolist() == [one + two, three]
    if shared is not False:
        return
    dropped = copy.deepcopy(model).drop_class("ash")
    found = dropped.predict_joint_log_proba(X) - np.log(dropped.priors_)
    assert_allclose(found, scores[:, 1:], atol=1e-9)
    mixed = np.logaddexp(*(scores[:, c] + np.log(model.priors_[c]) for c in (0, 1)))
    assert_allclose(both.predict_joint_log_proba(X)[:, 0], mixed, atol=1e-9)


def test_mixtures_of_several_components_do_not_forget(rng):
    X, y = numbers(rng)
    model = MixtureDiscriminant(2, n_init=1, random_state=0).fit(X, y)
    assert not hasattr(model, "forget")
    with pytest.raises(MergeError, match="cannot forget rows exactly"):
        model.forget(X[:1], y[:1])
    assert_allclose(
        model.decay(0.5).predict_joint_log_proba(X),
        MixtureDiscriminant(2, n_init=1, random_state=0).fit(X, y).predict_joint_log_proba(X),
        atol=1e-9,
    )


# --- decay -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_decay_equals_a_fit_on_decayed_weights(rng, name):
    """After three batches with decay λ the rows of the first weigh λ², those of the second λ, the last 1."""
    make, (X, y) = ALL[name], made(rng, name)
    parts = np.array_split(np.arange(len(y)), 3)
    model = make()
    for part in parts:
        model.partial_fit(rows(X, part), y[part], decay=0.7)
    weight = np.concatenate([np.full(len(part), 0.7**age) for part, age in zip(parts, (2, 1, 0), strict=True)])
    assert_same_model(model, make().fit(X, y, sample_weight=weight), X)
    assert model.statistics_.rows == len(y)
    part = parts[0]
    model.forget(rows(X, part), y[part], sample_weight=weight[part])
    kept = np.concatenate(parts[1:])
    assert_same_model(model, make().fit(rows(X, kept), y[kept], sample_weight=weight[kept]), X)
