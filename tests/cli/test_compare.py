"""compare: its numbers against an independent computation with scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from refits import refits
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.datasets import penguins_path

NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]
ORDER = ["auto", "full", "shared", "diagonal", "spherical", "nb", "logistic"]


@pytest.fixture(scope="module")
def frame():
    return __import__("pandas").read_csv(penguins_path())


@pytest.fixture
def few(write, frame):
    """Every sixth row of them."""
    return write("few.csv", frame.iloc[::6].to_csv(index=False))


def logistic(numbers: list[str], categories: list[str]):
    numeric = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer((numeric, numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


@pytest.mark.slow
def test_scores_are_those_of_scikit_learns_cross_validation(cli, frame) -> None:
    told = ("--folds", 3, "--seed", 7, "--json", "--drop", "year")
    done = cli("compare", penguins_path(), "--target", "species", *told)
    found = {model["model"]: model for model in json.loads(done.out)["models"]}
    assert list(found) == ORDER
    y, mixed, numbers = frame["species"], frame.drop(columns=["species", "year"]), frame[NUMBERS[:-1]]
    models = {
        "auto": (GenerativeClassifier(), mixed),
        "full": (GaussianDiscriminant(), numbers),
        "shared": (GaussianDiscriminant(shared=True), numbers),
        "diagonal": (GaussianDiscriminant("diagonal"), numbers),
        "spherical": (GaussianDiscriminant("spherical"), numbers),
        "nb": (NaiveBayes(), mixed),
        "logistic": (logistic(NUMBERS[:-1], ["island", "sex"]), mixed),
    }
    parts = StratifiedKFold(3, shuffle=True, random_state=7)
    classes = np.unique(y)
    for name, (estimator, rows) in models.items():
        posterior = cross_val_predict(estimator, rows, y, cv=parts, method="predict_proba")
        own = posterior[np.arange(len(y)), np.searchsorted(classes, y)]
        assert found[name]["accuracy"] == accuracy_score(y, classes[posterior.argmax(axis=1)])
        assert found[name]["log_loss"] == pytest.approx(-np.log(np.maximum(own, 1e-15)).mean(), rel=1e-6), name
        assert found[name]["calibration_error"] == pytest.approx(
            binned_gap(posterior.max(axis=1), classes[posterior.argmax(axis=1)] == y), abs=1e-6
        )
        assert found[name]["fit_seconds"] > 0


@pytest.mark.slow
def test_leave_one_out_scores_are_those_of_refits(cli, write, frame) -> None:
    """Every row judged by a model fitted to all other rows, with missing cells and text columns."""
    part = frame.iloc[::8].reset_index(drop=True)
    data = write("part.csv", part.to_csv(index=False))
    done = cli("compare", data, "--target", "species", "--json", "--drop", "year")
    document = json.loads(done.out)
    found = {model["model"]: model for model in document["models"]}
    assert document["by"] == "loo"
    assert all(m["loo_log_loss"] == m["log_loss"] for m in found.values() if m["judged_by"] == "loo")
    auto = GenerativeClassifier().fit(part.drop(columns=["species", "year"]), part["species"])
    assert found["auto"]["loo_log_loss"] == pytest.approx(auto.loss_, rel=1e-12)
    assert found["logistic"]["loo_log_loss"] is None
    assert {name: model["judged_by"] for name, model in found.items()} == dict.fromkeys(ORDER, "loo") | {
        "auto": "folds",
        "logistic": "folds",
    }
    y, mixed, numbers = part["species"], part.drop(columns=["species", "year"]), part[NUMBERS[:-1]]
    classes = np.unique(y)
    for name, estimator, rows in (
        ("full", GaussianDiscriminant(), numbers),
        ("shared", GaussianDiscriminant(shared=True), numbers),
        ("spherical", GaussianDiscriminant("spherical"), numbers),
        ("nb", NaiveBayes(), mixed),
    ):
        posterior = np.exp(refits(lambda own=estimator: own, rows, y))
        own = posterior[np.arange(len(y)), np.searchsorted(classes, y)]
        right = classes[posterior.argmax(axis=1)] == y
        assert found[name]["accuracy"] == right.mean()
        assert found[name]["log_loss"] == pytest.approx(-np.log(np.maximum(own, 1e-15)).mean(), rel=1e-8), name
        assert found[name]["calibration_error"] == pytest.approx(binned_gap(posterior.max(axis=1), right), abs=1e-9)


def test_folds_given_judge_every_model_and_the_same_seed_gives_the_same_numbers(cli, few) -> None:
    words = ("compare", few, "--target", "species", "--json")
    told = (["--folds", "2", "--seed", "3"], ["--by", "folds", "--folds", "2", "--seed", "3"], ["--folds", "2"])
    found = [json.loads(cli(*words, *options).out) for options in told]
    for document in found:
        assert document["by"] == "folds"
        assert {model["judged_by"] for model in document["models"]} == {"folds"}
    one, same, other = ([(m["accuracy"], m["log_loss"]) for m in document["models"]] for document in found)
    assert one == same != other
    assert cli(*words, "--by", "guess").status == 2


def binned_gap(confidence, right) -> float:
    """Expected calibration error with 15 equally wide bins, written as it is defined."""
    place = np.minimum(np.floor(15 * confidence), 14)
    inside = [place == b for b in np.unique(place)]
    return sum(own.mean() * abs(confidence[own].mean() - right[own].mean()) for own in inside)


@pytest.mark.slow
def test_notes_say_which_columns_a_model_cannot_use(cli, few) -> None:
    done = cli("compare", few, "--target", "species", "--folds", "2").ok()
    notes = ("Note" + text for text in done.out.partition("\nNote")[2].split("\nNote"))
    (note,) = [note for note in notes if ": left out '" in note]
    assert all(word in note for word in ["full", "shared", "diagonal", "spherical", "'island'", "'sex'"])
    assert "nb" not in note.partition(":")[0]
    lines = done.out.splitlines()
    named = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in ORDER]
    assert list(dict.fromkeys(named)) == ORDER  # in the table, and again where what they are called stands below it
    assert max(map(len, lines)) <= 80


def test_peers_are_those_of_scikit_learn(cli, write) -> None:
    """Gradient boosting takes missing cells and categories as they are, the forest what logistic regression takes."""
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=60), rng.integers(0, 3, 60)
    y = (x + (c == 1) + rng.normal(size=60) > 0.3).astype(int)
    holes, gaps = rng.random(60) < 0.2, rng.random(60) < 0.2
    texts = pa.array(np.array(["u", "v", "w"])[c], mask=gaps)
    data = write(
        "t.parquet", pa.table({"y": y, "x": pa.array(np.where(holes, np.nan, x), from_pandas=True), "c": texts})
    )
    done = cli("compare", data, "--target", "y", "--folds", "3", "--peers", "--json")
    found = {model["model"]: model for model in json.loads(done.out)["models"]}
    assert list(found) == [*ORDER, "forest", "boosting"]
    numbers = np.column_stack([np.where(holes, np.nan, x), np.where(gaps, np.nan, c)])
    codes = np.column_stack([numbers[:, 0], np.where(gaps, -1, c)])
    forest = logistic([0], [1])
    forest.steps[-1] = ("forest", RandomForestClassifier(300, random_state=0))
    boosting = HistGradientBoostingClassifier(categorical_features=[1], random_state=0)
    parts = StratifiedKFold(3, shuffle=True, random_state=0)
    for name, model, rows in (("forest", forest, codes), ("boosting", boosting, numbers)):
        p = np.maximum(cross_val_predict(model, rows, y, cv=parts, method="predict_proba"), 1e-15)
        assert found[name]["log_loss"] == pytest.approx(-np.log(p[np.arange(60), y]).mean(), rel=1e-9)
        assert found[name]["loo_log_loss"] is None


def test_copies_of_a_row_are_held_out_together(cli, write) -> None:
    """Of noise nothing can be learned."""
    noise = np.random.default_rng(0).normal(size=60)
    rows = "".join(f"{'ab'[i % 2]},{x}\n" for i, x in enumerate(noise)) * 3
    found = json.loads(cli("compare", write("t.csv", "y,x\n" + rows), "--target", "y", "--peers", "--json").ok().out)
    assert min(model["log_loss"] or 1.0 for model in found["models"]) > 0.6


def test_table_of_text_has_no_gaussian(cli, write) -> None:
    data = write("t.csv", "y,c\n" + "a,u\na,v\nb,v\nb,w\n" * 6 + "c,w\n")
    done = cli("compare", data, "--target", "y", "--json").ok()
    models = {model["model"]: model for model in json.loads(done.out)["models"]}
    assert models["full"]["accuracy"] is None
    assert "'c'" in models["full"]["notes"][0]
    assert models["nb"]["accuracy"] is not None
    text = cli("compare", data, "--target", "y").out
    assert text.count(" - ") >= 4
    assert "smallest class" in text


def test_class_too_small_for_the_folds(cli, write) -> None:
    """A class with a single row is judged by models that never saw it: probability 0, log-loss of the clip."""
    rows = "".join(f"{'ab'[i % 2]},{i % 2 + i / 40}\n" for i in range(20))
    done = cli("compare", write("t.csv", "y,x\n" + rows + "c,9\n"), "--target", "y", "--folds", "2", "--json").ok()
    document = json.loads(done.out)
    assert document["smallest_class_rows"] == 1
    for model in document["models"]:
        assert model["log_loss"] >= -np.log(1e-15) / 21


def test_too_many_folds(refused) -> None:
    refused("compare", penguins_path(), "--target", "species", "--folds", "153", saying="152 rows")


@pytest.mark.slow
def test_curves_are_those_of_the_library(cli, write, frame, tmp_path) -> None:
    frame = frame.iloc[::3]
    few, out = write("few.csv", frame.to_csv(index=False)), tmp_path / "curves.csv"
    options = ("--target", "species", "--curve", "--draws", 1, "--seed", 4, "--drop", "year")
    document = json.loads(cli("compare", few, *options, "--json", "-o", out).out)
    found = {own["model"]: own for own in document["curves"]}
    assert list(found) == ORDER
    given = frame.drop(columns=["species", "year"]), frame["species"]
    curve = NaiveBayes().learning_curve(*given, draws=1, random_state=4)
    own = found["nb"]  # rows are dealt by all columns, alike for all models
    measured = [point for point in own["points"] if point["measured"]]
    for name in ("rows", "loss", "error"):
        assert [point[name] for point in measured] == pytest.approx(getattr(curve, name), rel=1e-6)
    assert own["says"] == str(curve)
    assert own["gain"][0] == pytest.approx({"times": 2.0, **curve.gain()._asdict()}, rel=1e-6)
    table = __import__("pandas").read_csv(out)
    assert len(table) == sum(len(own["points"]) for own in document["curves"])
    text = cli("compare", few, *options).out
    assert f"nb: {curve}" in " ".join(text.split())
    assert "230 rows (projected)" in text


def test_curves_refuse_what_does_not_fit(cli, refused, few) -> None:
    done = cli("compare", few, "--target", "species", "--curve", "--draws", 1)
    assert "There are 58 rows with a label" in " ".join(done.out.split())
    for options in (("--curve", "--folds", 3), ("--curve", "--by", "loo"), ("--draws", 2), ("-o", "x.csv")):
        refused("compare", penguins_path(), "--target", "species", *options, saying="--curve", status=2)
