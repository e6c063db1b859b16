"""What a released model answers, gives up, refuses and merges with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from model_file import File
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes, load
from suffice.automatic.members.dependence import PairCounts
from suffice.automatic.members.splines import SplineCounts
from suffice.datasets import penguins_path
from suffice.errors import DataError, MergeError, ModelFileError, SettingError
from suffice.files.saving import plain, unplain


@pytest.fixture(scope="module")
def penguins() -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(penguins_path()).sample(frac=1.0, random_state=0).reset_index(drop=True)
    y = table.pop("species")
    return table[["bill_length_mm", "flipper_length_mm", "island"]], y


@pytest.fixture
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X + np.random.default_rng(9).normal(0.0, 1e-3, X.shape), y.astype(int)  # no two rows alike


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_gaussians_of_enough_rows_answer_as_before(iris, shared, holes) -> None:
    X, y = iris
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X) if holes else X
    model = GaussianDiscriminant(shared=shared).fit(X, y)
    released = model.release()
    np.testing.assert_allclose(
        released.predict_proba(X), model.predict_proba(X), atol=1e-12
    )  # EM is done, not left out
    np.testing.assert_allclose(released.score_samples(X), model.score_samples(X), rtol=1e-10)
    assert released.statistics_.sample is None
    assert not released.statistics_.blocks[0].incomplete
    assert model.statistics_.sample is not None, "the model itself stays as it is"


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_one_class_of_binary_columns_is_released(rng, shared, holes) -> None:
    """Classes without weight leave first; the one that is left keeps its means."""
    X, y = (rng.random((60, 3)) < 0.5).astype(float), np.repeat(["a", "b", "c"], 20)
    X[rng.random(X.shape) < holes] = np.nan
    model = GaussianDiscriminant(shared=shared).fit(X, y, sample_weight=np.repeat([0.0, 0.0, 1.0], 20))
    np.testing.assert_array_equal(model.release(least=2).predict(X), "c")


def test_released_models_merge_to_the_model_of_all_rows(iris) -> None:
    X, y = iris
    make = lambda: GaussianDiscriminant(shared=True)  # noqa: E731
    one, two = (make().fit(X[own], y[own]).release() for own in (slice(0, 150, 2), slice(1, 150, 2)))
    merged, whole = one.merge(two), make().fit(X, y)
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    assert merged.rows_held_.least == 5
    assert make().partial_fit(X, y).merge(two).rows_held_.least is None, (
        "rows of a model that was not released are in it"
    )


@pytest.mark.parametrize("make", [lambda: NaiveBayes("laplace"), lambda: GenerativeClassifier()], ids=["nb", "auto"])
def test_sets_are_of_rows_held_out_of_models_that_choose_as_the_released_one(iris, make) -> None:
    X, y = (own[::2] for own in iris)
    model = make().fit(X, y)
    released, sample = model.release(), model.statistics_.sample
    rows, labels = sample.rows[0], model.classes_[sample.codes]
    fold = np.zeros(len(labels), dtype=int)
    for label in model.classes_:
        fold[labels == label] = np.arange((labels == label).sum()) % 5
    total = 0.0
    for number in range(5):
        there, out = fold != number, fold == number
        fitted = make().partial_fit(rows[there], labels[there], sample_weight=sample.weight[there])
        like = released if isinstance(model, GenerativeClassifier) else None
        found = fitted.release(like=like).predict_log_proba(rows[out])
        place = np.arange(out.sum()), np.searchsorted(model.classes_, labels[out])
        total -= sample.weight[out] @ found[place]
    means = released.released_.sets.means
    whole = (means.known == X.shape[1]) & ~means.hidden
    assert means.weight[whole] @ means.score[whole] == pytest.approx(total, rel=1e-9)


def test_a_class_of_few_rows_is_refused_by_name_and_can_be_joined(iris) -> None:
    X, y = iris
    labels = np.array(["x", "y", "z"])[y].astype(object)
    labels[:3] = "rare"
    model = NaiveBayes().fit(X, labels)
    with pytest.raises(DataError, match=r"'rare' \(at least 3\).*rename_classes.*drop_class"):
        model.release()
    assert model.release(least=3).classes_.tolist() == ["rare", "x", "y", "z"]
    assert model.rename_classes({"rare": "x"}).release().classes_.tolist() == ["x", "y", "z"]


def test_weights_do_not_make_one_row_several(iris, tmp_path) -> None:
    X, y = iris
    weight = np.ones(len(y))
    few = np.flatnonzero(y == 0)[3:]
    X, y, weight = np.delete(X, few, axis=0), np.delete(y, few), np.delete(weight, few)
    weight[:3] = 50.0  # three rows that weigh as 150
    model = GaussianDiscriminant("diagonal", keep_rows=0).fit(X, y, sample_weight=weight)
    with pytest.raises(DataError, match=r"0 \(at least 3\)"):
        model.release()
    model.save(tmp_path / "m.suffice")
    with pytest.raises(DataError, match="at least 3"):
        load(tmp_path / "m.suffice").decay(0.5).release()
    batches = (
        GaussianDiscriminant("diagonal", keep_rows=0)
        .partial_fit(X[3:], y[3:])
        .partial_fit(X[:3], y[:3], None, weight[:3])
    )
    assert batches.statistics_.heaviest == 50.0
    old = GaussianDiscriminant("diagonal", keep_rows=0).fit(X, y)
    old._learned = replace(
        old._learned, statistics=replace(old.statistics_, heaviest=None)
    )  # as files of older versions are read
    with pytest.raises(DataError, match="heaviest row"):
        old.release(least=2)


def test_released_models_refuse_what_needs_exact_sums(iris) -> None:
    X, y = iris
    for make in (GaussianDiscriminant(), GenerativeClassifier(members="generative")):
        released = make.fit(X, y).release()
        with pytest.raises(DataError, match="was released"):
            released.forget(X[:2], y[:2])
        with pytest.raises(DataError, match="was released"):
            released.leave_one_out(X, y)
        with pytest.raises(DataError, match="already"):
            released.release()
        assert released.predict_set(X).shape == (150, 3)
        assert released.partial_fit(X[:4], y[:4]).rows_held_.least is None, "rows of the batch are in its sums now"
        assert released.rows_held_.kept == 0
        with pytest.raises(DataError, match="its rows have changed since"):
            released.predict_set(X)


@pytest.mark.parametrize("least", [1, 0, 2.5, True, "5"])
def test_a_least_number_of_rows_that_is_none_is_refused(iris, least) -> None:
    with pytest.raises(SettingError, match="least="):
        NaiveBayes().fit(*iris).release(least=least)


def test_edits_that_keep_sums_large_keep_a_model_released(iris) -> None:
    released = NaiveBayes().fit(*iris).release()
    released.rename_classes({0: 7}).drop_class(1).decay(0.9)
    assert released.rows_held_.least == 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: GaussianDiscriminant(shrinkage="ledoit-wolf"),
        lambda: GaussianDiscriminant(shrinkage="ledoit-wolf", shared=True, divisor="unbiased"),
        lambda: GaussianDiscriminant(shrinkage="loo"),
        lambda: MixtureDiscriminant(n_components=2, n_init=1, random_state=0),
        lambda: MixtureDiscriminant(n_components=2, covariance="diagonal", shared=True, n_init=1, random_state=0),
    ],
    ids=["ledoit-wolf", "ledoit-wolf, shared", "loo", "mixture", "mixture, shared"],
)
def test_amounts_that_were_found_stay(make, read_back) -> None:
    place, rng = np.repeat(np.arange(6), 40), np.random.default_rng(2)
    X, y = rng.normal(size=(240, 2)) + 5.0 * np.stack([place, place % 3], axis=1), place // 2  # two clusters a class
    model = make().fit(X, y)
    released = model.release()
    np.testing.assert_allclose(released.predict_proba(X), model.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(read_back(released).predict_proba(X), released.predict_proba(X))


def test_components_of_few_rows_join_the_nearest() -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (60, 1)), rng.normal(30, 0.1, (3, 1)), rng.normal(5, 1, (40, 1))])
    y = np.repeat([0, 1], [63, 40])
    model = MixtureDiscriminant(n_components={0: 3, 1: 1}, random_state=0, n_init=2).fit(X, y)
    assert min(model.statistics_.blocks[0].weight) < 5
    stats = model.release().statistics_.blocks[0]
    assert stats.weight.min() >= 5
    assert stats.weight[stats.owner == 0].sum() == pytest.approx(63)
    total = (
        stats.weight * stats.inner.mean[:, 0]
        if hasattr(stats.inner, "mean")
        else stats.weight * stats.inner.complete.mean[:, 0]
    )
    assert total[stats.owner == 0].sum() == pytest.approx(X[:63].sum(), rel=1e-9)


def test_counts_are_none_or_enough_and_add_up() -> None:
    wards = ["n"] * 30 + ["s"] * 12 + ["w"] * 2 + ["u"] * 4 + [None] * 2
    X = pd.DataFrame({"ward": wards + ["s"] * 50})
    stats = NaiveBayes().fit(X, ["a"] * 50 + ["b"] * 50).release().statistics_.blocks[0]
    assert stats.levels == (("n", "s", "u"),)  # two rows are rounded to none, four to five
    assert stats.missing.tolist() == [[0.0], [0.0]]  # two missing and two lost, less one gained, are too few to tell
    assert stats.counts[0].tolist() == [[33.0, 12.0, 5.0], [0.0, 50.0, 0.0]]


def test_the_automatic_classifier_answers_without_rows(penguins, read_back) -> None:
    X, y = penguins
    model = GenerativeClassifier().fit(X[:230], y[:230])
    released = model.release()
    again = read_back(released)
    np.testing.assert_array_equal(again.predict_proba(X), released.predict_proba(X))
    assert log_loss(y[230:], released.predict_proba(X[230:])) < log_loss(y[230:], model.predict_proba(X[230:])) + 0.1
    assert [member["name"] for member in again.members_] == [member["name"] for member in released.members_]
    np.testing.assert_allclose(  # contributions and class priors add up to the log posterior odds
        again.explain(X[:3]).sum(axis=1)[:, 1]
        - again.explain(X[:3]).sum(axis=1)[:, 0]
        + np.log(again.priors_[1] / again.priors_[0]),
        again.predict_log_proba(X[:3])[:, 1] - again.predict_log_proba(X[:3])[:, 0],
        atol=1e-6,
    )
    filled, _ = again.sample(5, random_state=0)
    assert len(again.impute(X[:5])) == len(filled) == 5
    assert np.isfinite(again.score_samples(X)).all()
    with pytest.raises(DataError, match=r"was released.*rank rows by score_samples"):
        again.outlier_pvalues(X[:2])


def test_a_released_model_is_read_back_whatever_its_counts_leave_out(read_back) -> None:
    """No pairs of columns are counted, and a knot may have no rows on one side, so that two scores are equal."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 180)
    X = pd.DataFrame({f"x{j}": rng.normal(size=180) + 1.5 * y for j in range(3)})
    X.loc[rng.random(180) < 0.1, "x0"] = np.nan
    X, y = X[::3], y[::3]
    released = GenerativeClassifier().partial_fit(X, y).release()
    members = released.statistics_.blocks[-1]
    assert members.part(PairCounts).counts == {}
    assert any((np.diff(z) == 0).any() for _, z in members.columns.scores)
    np.testing.assert_array_equal(read_back(released).predict_proba(X), released.predict_proba(X))


def test_columns_whose_squares_vanish_are_released_without_a_warning(rng) -> None:
    y = rng.integers(0, 2, 200)
    X = np.column_stack([rng.normal(size=200), rng.normal(size=200) + y]) * [1e-310, 1e-160]
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    released = GenerativeClassifier(members="generative").fit(X, y).release()
    np.testing.assert_allclose(released.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_automatic_classifiers_released_alike_merge_and_others_say_what_to_do(penguins) -> None:
    X, y = penguins
    parts = [slice(start, 230, 3) for start in range(3)]
    sites = [GenerativeClassifier().partial_fit(X[own], y[own]) for own in parts]
    first = sites[0].release()
    with pytest.raises(MergeError, match="--like"):
        sites[0].release().merge(sites[1].release())
    alone = log_loss(y[230:], first.predict_proba(X[230:]))
    second, third = (site.release(like=first) for site in sites[1:])
    seen = [model.statistics_.blocks[-1].part(SplineCounts).counts[16].copy() for model in (first, second, third)]
    merged = first.merge(second).merge(third)
    np.testing.assert_allclose(merged.statistics_.blocks[-1].part(SplineCounts).counts[16], sum(seen), rtol=1e-12)
    assert merged.statistics_.rows == 230
    assert merged.rows_held_.least == 5
    assert log_loss(y[230:], merged.predict_proba(X[230:])) < alone + 0.02
    fresh = GenerativeClassifier().partial_fit(X[:60], y[:60]).merge(merged)  # rows that are held are read on its knots
    assert fresh.statistics_.rows == 290
    assert fresh.rows_held_.least is None


def test_a_class_that_only_one_site_knows_is_in_the_merged_model(penguins) -> None:
    X, y = penguins
    two = GenerativeClassifier().partial_fit(X[y != "Gentoo"], y[y != "Gentoo"]).release()
    three = GenerativeClassifier().partial_fit(X, y).release(like=two)
    assert (two.merge(three).predict(X[y == "Gentoo"]) == "Gentoo").mean() > 0.9


def test_like_takes_a_released_model_of_the_same_kind(iris) -> None:
    model = GenerativeClassifier(members="generative").fit(*iris)
    for other in (model, NaiveBayes().fit(*iris).release()):
        with pytest.raises(SettingError, match="like"):
            model.release(like=other)


def test_what_a_released_file_says_of_itself_is_checked(iris, tmp_path) -> None:
    path = tmp_path / "r.suffice"
    released = NaiveBayes().fit(*iris).release()
    released.save(path)
    assert load(path).released_ == released.released_
    assert str(load(path).rows_held_) == "holds no rows, and no sums of fewer than 5 rows (released)"
    saved = path.read_bytes()
    for key, value in (("released", {"least": 0, "given_up": [], "joined": False}), ("heaviest", -1.0)):
        file = File(saved)
        file.document[key] = value
        path.write_bytes(file.packed())
        with pytest.raises(ModelFileError, match=key):
            load(path)


def test_the_weight_of_the_heaviest_row_is_not_told(iris, tmp_path) -> None:
    weight = np.ones(150)
    weight[7] = 3.14159
    for make in (lambda: NaiveBayes(), lambda: GenerativeClassifier()):
        released = make().partial_fit(*iris, sample_weight=weight).release()
        assert released.statistics_.heaviest == 4.0


GOLDEN = Path(__file__).parents[1] / "store" / "golden" / "v2" / "automatic_released.suffice"
FORGED = [
    lambda choice: choice["members"][0]["setting"].pop("strength"),
    lambda choice: choice["members"][0]["setting"].update(strength=0.0),
    lambda choice: choice["members"][0]["setting"].update(more=1.0),
    lambda choice: choice["members"][0].update(name="gaussian, other"),
    lambda choice: choice["members"][0].update(temperature=-1.0),
    lambda choice: next(own for own in choice["members"] if own["name"] == "hats")["setting"].update(intervals=5),
    lambda choice: choice.update(columns=(("hat", 99), *choice["columns"][1:])),
    lambda choice: choice.update(joint=(-1.0, 0.5)),
]


@pytest.mark.parametrize("forge", FORGED, ids=range(len(FORGED)))
def test_a_choice_that_cannot_be_used_is_refused_when_it_is_loaded(tmp_path, forge) -> None:
    """Not by the first question, and not by a foreign error."""
    file = File(GOLDEN.read_bytes())
    choice = unplain(file.document["chosen"]["choice"])
    forge(choice)
    file.document["chosen"]["choice"] = plain(choice)
    path = tmp_path / "forged.suffice"
    path.write_bytes(file.packed())
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(path)


@pytest.mark.parametrize("make", [NaiveBayes, lambda: GenerativeClassifier(members="generative")])
def test_a_column_of_names_is_of_no_level_any_more(make, tmp_path, read_back) -> None:
    """Every level is rare, so none is passed on: the column is missing in new rows, and every answer is without it."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = pd.DataFrame({"id": [f"name {i}" for i in range(90)], "x": rng.normal(size=90) + y})
    model = read_back(make().fit(X, y).release())
    rows, _ = model.sample(20, random_state=0)
    assert rows["id"].isna().all()
    assert rows["x"].notna().all()
    assert model.to_sql()
    model.to_onnx(tmp_path / "m.onnx")
    model.to_html(tmp_path / "m.html")
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(X.assign(id=None)), rtol=0, atol=1e-12)
