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
