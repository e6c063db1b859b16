"""fit, predict and show: what they answer, in every format."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes, load
from suffice.datasets import penguins_path

NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]
ESTIMATORS = {
    "nb": NaiveBayes(),
    "forest": GenerativeForest(),
    "full": GaussianDiscriminant(),
    "shared": GaussianDiscriminant(shared=True),
}


def posterior_of(table: pa.Table, classes) -> np.ndarray:
    return np.column_stack([table[f"p_{label}"].to_numpy() for label in classes])


def parse(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_predictions_are_those_of_the_library(cli, fitted_once, tmp_path, penguins, name) -> None:
    """Fitting and labelling by command gives what the library gives in memory."""
    out = tmp_path / "answers.parquet"
    cli("predict", fitted_once(name), penguins_path(), "-o", out).ok()
    columns = penguins.drop_columns("species") if name in ("nb", "forest") else penguins.select(NUMBERS)
    reference = ESTIMATORS[name].fit(columns, penguins["species"])
    answers = pq.read_table(out)
    assert answers.column_names == ["label", *(f"p_{label}" for label in reference.classes_), "log_density"]
    assert answers["label"].to_pylist() == reference.predict(columns).tolist()
    np.testing.assert_allclose(posterior_of(answers, reference.classes_), reference.predict_proba(columns), atol=1e-12)
    np.testing.assert_allclose(answers["log_density"].to_numpy(), reference.score_samples(columns), rtol=1e-12)


def test_every_format_gives_the_same_answers(cli, tmp_path, penguins_file, model) -> None:
    """Text read as a dictionary, numbers, missing cells: the same table whatever holds it."""
    file = tmp_path / "other.suffice"
    cli("fit", penguins_file, "--target", "species", "--model", "nb", "-o", file).ok()
    expected = cli("predict", model, penguins_path())
    answered = cli("predict", file, penguins_file).ok()
    for mine, theirs in zip(parse(answered.out), parse(expected.out), strict=True):
        assert mine["label"] == theirs["label"]
        assert float(mine["log_density"]) == pytest.approx(float(theirs["log_density"]), rel=1e-9)


@pytest.mark.parametrize("command", ["fit", "predict", "predict-file", "show"])
def test_json_is_one_document(cli, tmp_path, model, command) -> None:
    words = {
        "fit": ("fit", penguins_path(), "--target", "species", *NB, "-o", tmp_path / "x.suffice"),
        "predict": ("predict", model, penguins_path(), "--keep"),
        "predict-file": ("predict", model, penguins_path(), "-o", tmp_path / "x.csv"),
        "show": ("show", model),
    }[command]
    done = cli(*words, "--json").ok()
    assert isinstance(json.loads(done.out, parse_constant=pytest.fail), dict)


def test_settings_reach_the_estimator(cli, tmp_path, write, penguins) -> None:
    weights = pa.array(np.arange(len(penguins)) % 3, pa.int64())
    data = write("weighted.parquet", penguins.append_column("w", weights))
    words = ["--target", "species", "--weight", "w", "--drop", "year", "--drop", "sex", "--priors", "uniform"]
    words += ["--divisor", "unbiased"]
    for options, estimator in (
        (["--model", "nb", "--smoothing", "0.5"], NaiveBayes(smoothing=0.5, divisor="unbiased", priors="uniform")),
        (
            ["--model", "shared", "--shrinkage", "0.2"],
            GaussianDiscriminant(shared=True, shrinkage=0.2, divisor="unbiased", priors="uniform"),
        ),
    ):
        cli("fit", data, *words, *options, "-o", tmp_path / "m").ok()
        used = ["island", *NUMBERS[:-1]] if isinstance(estimator, NaiveBayes) else NUMBERS[:-1]
        estimator.fit(penguins.select(used), penguins["species"], sample_weight=weights.to_numpy())
        np.testing.assert_allclose(
            load(tmp_path / "m").predict_proba(penguins.select(used)),
            estimator.predict_proba(penguins.select(used)),
            atol=1e-12,
        )


NB = ["--model", "nb"]


@pytest.mark.slow
def test_families_and_components_reach_the_estimator(cli, tmp_path, write, penguins) -> None:
    penguins = penguins.take(np.arange(0, len(penguins), 2))
    data, numbers = write("half.csv", penguins), penguins.select(NUMBERS)
    for options, estimator, rows in (
        (
            ["--model", "nb", "--family", "laplace", "--family", "year=poisson"],
            NaiveBayes({**dict.fromkeys(NUMBERS[:-1], "laplace"), "year": "poisson"}),
            penguins.drop_columns(["species"]),
        ),
        (
            ["--model", "nb", "--family", "year=categorical"],
            NaiveBayes({"year": "categorical"}),
            penguins.drop_columns(["species"]),
        ),
        (["--model", "mixture", "--components", "2"], MixtureDiscriminant(2, random_state=0), numbers),
        (["--model", "mixture"], MixtureDiscriminant("bic", random_state=0), numbers),
    ):
        done = cli("fit", data, "--target", "species", *options, "-o", tmp_path / "m").ok()
        expected = estimator.fit(rows, penguins["species"]).predict_proba(rows)
        np.testing.assert_allclose(load(tmp_path / "m").predict_proba(rows), expected, atol=1e-12)
    assert "mixtures of Gaussians" in done.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"members": "all", "keep_rows": None}),
        (["--members", "generative", "--keep-rows", "60"], {"members": "generative", "keep_rows": 60}),
        (["--model", "forest", "--keep-rows", "60"], {"keep_rows": 60}),
        (NB, {"keep_rows": 2000}),
        ([*NB, "--keep-rows", "64KiB"], {"keep_rows": "64KiB"}),
        ([*NB, "--keep-rows", "all"], {"keep_rows": "all"}),
    ],
)
def test_rows_kept_and_members_reach_the_estimator(cli, tmp_path, options, expected) -> None:
    done = cli("fit", penguins_path(), "--target", "species", *options, "-o", tmp_path / "m").ok()
    found = load(tmp_path / "m").get_params()
    assert {name: found[name] for name in expected} == expected
    assert ("It holds 344 rows as they were" in done.err) == (expected["keep_rows"] != 60)
    assert ("`suffice release`" in done.err) == ("forest" not in options), "a forest cannot be released"


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--components", "2"], 2, "--components is for --model mixture"),
        ([*NB, "--members", "generative"], 2, "--members is for --model auto, not nb"),
        (["--model", "mixture", "--components", "0"], 2, "at least 1"),
        (["--model", "mixture", "--components", "400"], 1, "152 different rows"),
        (["--family", "laplace"], 2, "--family is for --model nb"),
        (["--divisor", "unbiased"], 2, "--divisor is for the other models"),
        (["--shrinkage", "0.5"], 2, "--shrinkage is for the Gaussian models"),
        (["--model", "forest", "--divisor", "unbiased"], 2, "--divisor is for the other models; --model forest"),
        (["--keep-rows", "10"], 2, "--keep-rows 10"),
        (["--keep-rows", "1GB"], 2, "--keep-rows 1GB must be a whole number of rows, a size such as 256MiB"),
        ([*NB, "--family", "year=poison"], 2, "'poison' is not one of gaussian"),
        ([*NB, "--family", "yeer=poisson"], 1, "no column 'yeer' for --family; the closest is 'year'"),
        ([*NB, "--family", "year=poisson", "--family", "year=laplace"], 2, "gives 'year' two families"),
        ([*NB, "--family", "island=laplace"], 1, "'island' holds categories"),
        ([*NB, "--family", "multinomial"], 1, "misses a count"),
    ],
)
def test_families_and_components_that_cannot_be(cli, tmp_path, options, status, words) -> None:
    done = cli("fit", penguins_path(), "--target", "species", *options, "-o", tmp_path / "m")
    assert done.status == status
    assert words in done.complaint
    assert not (tmp_path / "m").exists()


def test_gaussian_models_take_numbers_and_truth_values(cli, write, tmp_path) -> None:
    table = pa.table({"y": ["a", "b"] * 10, "n": range(20), "t": [True, False, False, True] * 5, "s": ["u", "v"] * 10})
    done = cli("fit", write("t.parquet", table), "--target", "y", "--model", "full", "-o", tmp_path / "m").ok()
    assert "'s'" in done.err
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["n", "t"]


def test_rows_without_label_are_left_out_and_counted(cli, write, tmp_path, penguins) -> None:
    labels = penguins["species"].to_pylist()
    labels[3] = labels[300] = None
    data = write("some.csv", penguins.set_column(0, "species", pa.array(labels)))
    done = cli("fit", data, "--target", "species", *NB, "-o", tmp_path / "m", "--json").ok()
    assert "2 of 344 rows have no 'species'" in done.err
    assert json.loads(done.out)["rows"] == 342


def test_extra_columns_and_their_order_do_not_matter(cli, write, model, penguins) -> None:
    shuffled = penguins.select(penguins.column_names[::-1]).append_column("remark", pa.array(["x"] * 344))
    assert cli("predict", model, write("t.csv", shuffled)).out == cli("predict", model, penguins_path()).out


def test_numeric_looking_categories_stay_categories(cli, write, tmp_path) -> None:
    """A later batch may hold only those categories that look like numbers."""
    fitted = write("fit.csv", "y,c\n" + "a,7\nb,x\na,7\nb,x\n" * 3)
    cli("fit", fitted, "--target", "y", *NB, "-o", tmp_path / "m").ok()
    done = cli("predict", tmp_path / "m", write("new.csv", "c\n7\n"))
    assert (done.status, parse(done.out)[0]["label"]) == (0, "a")


def test_a_batch_may_lack_every_cell_of_a_column(cli, write, model) -> None:
    names = "island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n"
    row = parse(cli("predict", model, write("new.csv", names + ",,,,,,\n")).out)[0]
    priors = load(model).priors_
    assert [float(row[f"p_{label}"]) for label in load(model).classes_] == pytest.approx(priors.tolist())
    assert float(row["log_density"]) == 0


def test_kept_columns_are_never_shadowed(cli, write, tmp_path) -> None:
    data = write("t.csv", "label,x,p_a\n" + "a,1,0\nb,5,1\na,2,0\nb,6,1\n" * 3)
    cli("fit", data, "--target", "label", *NB, "-o", tmp_path / "m").ok()
    done = cli("predict", tmp_path / "m", data, "--keep")
    assert done.out.splitlines()[0] == "label,x,p_a,predicted_label,predicted_p_a,p_b,log_density"
    assert "'predicted_label'" in done.err


def test_show_tells_classes_columns_and_rows(cli, model) -> None:
    text = cli("show", model).out
    facts = json.loads(cli("show", model, "--json").out)
    assert facts["rows"] == 344
    assert [c["label"] for c in facts["classes"]] == ["Adelie", "Chinstrap", "Gentoo"]
    assert {c["name"]: c["family"] for c in facts["columns"]} == dict.fromkeys(NUMBERS, "gaussian") | {
        "island": "categorical",
        "sex": "categorical",
    }
    for word in ["Adelie", "344", "Biscoe", "body_mass_g", "gaussian", "categorical"]:
        assert word in text


def test_the_automatic_classifier_is_what_fit_learns_and_show_lists_its_members(cli, fitted_once, penguins) -> None:
    file = fitted_once("auto")
    expected = GenerativeClassifier().fit(penguins.drop_columns(["species"]), penguins["species"])
    facts, text = json.loads(cli("show", file, "--json").out), cli("show", file).out
    assert facts["model"] == "GenerativeClassifier"
    assert facts["loss"] == pytest.approx(expected.loss_, rel=1e-9)
    for found, member in zip(facts["members"], sorted(expected.members_, key=lambda m: -m["share"]), strict=True):
        assert found["name"] == member["name"]
        assert [found[k] for k in ("weight", "loss", "temperature")] == pytest.approx(
            [member[k] for k in ("weight", "loss", "temperature")], rel=1e-6
        )
        assert member["name"] in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "forest"])
def test_show_gives_means_and_deviations_of_the_library(cli, fitted_once, name) -> None:
    file = fitted_once(name)
    estimator = load(file)
    columns = json.loads(cli("show", file, "--json").out)["columns"]
    covariances = np.broadcast_to(estimator.covariances_, (3, len(columns), len(columns)))
    for j, column in enumerate(columns):
        if "mean" in column:
            np.testing.assert_allclose(column["mean"], estimator.means_[:, j])
            np.testing.assert_allclose(column["sd"], np.sqrt(covariances[:, j, j]))
        else:
            for level in column["levels"]:
                p = estimator.probabilities_[column["name"]][level["level"]]
                np.testing.assert_allclose(level["probability"], p)
    missing = {column["name"]: column["missing"] for column in columns}
    assert missing["bill_length_mm"] == pytest.approx(2 / 344)
    assert missing["year"] == 0


@pytest.mark.parametrize("model", ["forest", "auto"])
def test_show_describes_columns_of_a_forest_as_drawn_rows_do(cli, fitted_once, penguins, model) -> None:
    """Means, deviations and shares are those of many rows drawn from the density, to five standard errors."""
    file, n = fitted_once(model), 1500
    columns = {column["name"]: column for column in json.loads(cli("show", file, "--json").out)["columns"]}
    assert list(columns) == [name for name in penguins.column_names if name != "species"]
    (density,) = load(file).model_.density.blocks
    order = sorted(columns, key=lambda name: "mean" not in columns[name])  # numbers come first in a forest
    for number in range(3):
        rows = density.sample(np.full((n, 7), np.nan), np.full(n, number), np.random.RandomState(0))
        for j, name in enumerate(order):
            column, drawn = columns[name], rows[:, j]
            assert column["family"] == "forest"
            if "mean" in column:
                mean, deviation = column["mean"][number], column["sd"][number]
                assert abs(drawn.mean() - mean) < 5 * deviation / np.sqrt(n)
                error = np.sqrt(((drawn - mean) ** 2).var() / n) / (2 * deviation)
                assert abs(drawn.std() - deviation) < 5 * error
                continue
            assert {level["level"] for level in column["levels"]} == set(penguins[name].drop_null().to_pylist())
            for level in column["levels"]:
                p, code = level["probability"][number], density.column_levels(j).index(level["level"])
                assert abs((drawn == code).mean() - p) < 5 * np.sqrt(max(p * (1 - p), 1 / n) / n)
    missing = {name: column["missing"] for name, column in columns.items()}
    assert missing["bill_length_mm"] == pytest.approx(2 / 344)
    assert missing["year"] == 0
    assert max(map(len, cli("show", file).out.splitlines())) <= 100


def test_models_of_unnamed_columns_go_by_position(cli, write, tmp_path) -> None:
    rows = np.array([[0.0, 1], [1, 0], [5, 6], [6, 5]])
    NaiveBayes().fit(rows, ["a", "a", "b", "b"]).save(tmp_path / "m")
    done = cli("predict", tmp_path / "m", write("t.csv", "u,v\n0,0\n6,6\n"))
    assert [row["label"] for row in parse(done.out)] == ["a", "b"]
    assert "position" in done.err
    cli("show", tmp_path / "m").ok()


def test_show_describes_a_mixture_by_class(cli, tmp_path, rng):
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9, rng.normal(size=(60, 2)) - 9])
    y = np.repeat(["a", "a", "b"], 60)
    for shared in (False, "class", True):
        path = tmp_path / "mixture.suffice"
        MixtureDiscriminant({"a": 2, "b": 1}, shared=shared, n_init=1, random_state=0).fit(X, y).save(path)
        done = cli("show", path, "--json")
        first = json.loads(done.out)["columns"][0]
        assert first["family"] == "mixture"
        np.testing.assert_allclose(first["mean"], [X[:120, 0].mean(), X[120:, 0].mean()], rtol=1e-6)
        if not shared:
            np.testing.assert_allclose(first["sd"], [X[:120, 0].std(), X[120:, 0].std()], rtol=1e-6)
        assert "mixture of Gaussians per class" in cli("show", path).out
