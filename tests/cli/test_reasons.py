"""`suffice outliers` and `suffice explain` say what the library says."""

import json

import numpy as np
import pyarrow.csv as arrow_csv

from suffice import load
from suffice.datasets import penguins_path


def test_outliers(cli, model, penguins, tmp_path):
    out = tmp_path / "p.csv"
    done = cli("outliers", model, penguins_path(), "-o", out)
    assert done.status == 0, done.err
    found = arrow_csv.read_csv(out)
    assert found.column_names == ["row", "p_value", "log_density"]
    assert found["row"].to_pylist() == list(range(1, 345))
    expected = load(model).outlier_pvalues(penguins.drop_columns("species"))
    np.testing.assert_allclose(found["p_value"].to_numpy(), expected)
    few = cli("outliers", model, penguins_path(), "--below", 0.05, "--keep", "--json", "--quiet")
    document = json.loads(few.out)
    assert document["judged"] == 344
    assert document["rows"] == len(document["outliers"]) == int((expected <= 0.05).sum())
    assert document["columns"] == ["row", *penguins.column_names, "p_value", "log_density"]


def test_explain(cli, model, penguins):
    done = cli("explain", model, penguins_path(), "--top", 2)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == 344
    assert lines[0].startswith("1: Adelie, ")
    assert lines[0].count("=") == 2
    document = json.loads(cli("explain", model, penguins_path(), "--json", "--quiet").out)
    first = document["explanations"][0]
    by = [value for name, value in first.items() if name.startswith("by_")]
    np.testing.assert_allclose(sum(by) + first["prior"], first["log_odds"])


def test_sets(cli, model, penguins, tmp_path):
    out = tmp_path / "sets.csv"
    assert cli("predict", model, penguins_path(), "--set", 0.01, "-o", out).status == 0
    found, loaded = arrow_csv.read_csv(out), load(model)
    sets = loaded.predict_set(penguins.drop_columns("species"), 0.01)
    for c, label in enumerate(loaded.classes_):
        assert found[f"in_{label}"].to_pylist() == sets[:, c].tolist()
    document = json.loads(cli("predict", model, penguins_path(), "--set", 0.01, "--json", "--quiet").out)
    assert document["predictions"][0]["in_Adelie"] is True
    assert cli("predict", model, penguins_path(), "--set", 0.1, "--priors", "uniform").status == 2
    assert cli("predict", model, penguins_path(), "--set", 0).status == 2


def test_what_cannot_work_is_one_line(cli, model, tmp_path):
    assert "there is no file" in cli("explain", model, tmp_path / "no.csv").complaint.lower()
    assert cli("outliers", model, penguins_path(), "--below", 2).status == 2


def test_columns(cli, model):
    loaded = load(model)
    expected, few = loaded.importance(), loaded.smallest_columns(0.02)
    document = json.loads(cli("columns", model, "--within", 0.02, "--json").out)
    assert [own["column"] for own in document["columns"]] == expected.to_dict()["column"]
    np.testing.assert_allclose([own["mean"] for own in document["columns"]], expected.mean[expected.order])
    first = document["columns"][0]["by_class"]
    np.testing.assert_allclose([own["mean"] for own in first], expected.by_class[:, expected.order[0]])
    assert document["smallest_columns"] == few
    assert document["loss"] == expected.loss
    done = cli("columns", model, "--within", 0.02)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:8]] == expected.to_dict()["column"]
    assert lines[-1] == f"{len(few)} of 7 columns within 0.02 nats of all: {', '.join(few)}"
    assert "344 rows" in done.err
    assert cli("columns", model, "--within", -1).status == 2


def test_columns_of_a_released_model(cli, model, tmp_path):
    out = tmp_path / "released.suffice"
    assert cli("release", model, "-o", out).status == 0
    assert "released" in cli("columns", out).complaint


def test_show_says_which_columns_are_worth_most(cli, model):
    document = json.loads(cli("show", model, "--json").out)
    found = load(model).importance().to_dict()
    assert [own["column"] for own in document["worth"]] == found["column"]
    assert found["column"][0] in cli("show", model).out.split("Columns are worth")[1]
