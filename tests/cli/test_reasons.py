"""`suffice outliers` and `suffice explain` say what the library says."""

import json

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from suffice import load
from suffice.datasets import penguins_path


def test_outliers(cli, model, penguins, tmp_path):
    out = tmp_path / "p.csv"
    cli("outliers", model, penguins_path(), "-o", out).ok()
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


def test_outliers_by_class(cli, model, penguins, tmp_path):
    out, loaded = tmp_path / "p.csv", load(model)
    done = cli("outliers", model, penguins_path(), "--by-class", "--below", 0.2, "-o", out).ok()
    expected = loaded.outlier_pvalues(penguins.drop_columns("species"), by_class=True)
    few = np.flatnonzero(expected.max(axis=1) <= 0.2)  # far out from every class
    assert 0 < len(few) < (expected.min(axis=1) <= 0.2).sum()
    found = arrow_csv.read_csv(out)
    assert found.column_names == ["row", *(f"p_value_{label}" for label in loaded.classes_), "log_density"]
    assert found["row"].to_pylist() == (few + 1).tolist()
    for c, label in enumerate(loaded.classes_):
        np.testing.assert_allclose(found[f"p_value_{label}"].to_numpy(), expected[few, c])
    assert f"{len(few)} rows of 344 with a p-value up to 0.2 for every class" in done.err
    assert "learned these very rows" not in done.err  # fewer than 5 % of largest p-values are below 0.05


def test_explain(cli, model, penguins):
    done = cli("explain", model, penguins_path(), "--top", 2).ok()
    lines = done.out.splitlines()
    assert len(lines) == 344
    assert lines[0].startswith("1: Adelie, ")
    assert lines[0].count("=") == 2
    document = json.loads(cli("explain", model, penguins_path(), "--json", "--quiet").out)
    first = document["explanations"][0]
    by = [value for name, value in first.items() if name.startswith("by_")]
    np.testing.assert_allclose(sum(by) + first["prior"], first["log_odds"])


def test_explain_says_how_sure_a_probability_is(cli, write, model, penguins):
    rows, bayes = penguins.drop_columns("species").slice(0, 6), load(model)
    asked = ("explain", model, write("few.csv", penguins.slice(0, 6)), "--interval", 0.8)
    told, (low, high) = bayes.predict_proba(rows)[3], bayes.predict_proba_interval(rows, 0.8)[3, 0]
    first = json.loads(cli(*asked, "--json").out)["explanations"][3]
    np.testing.assert_allclose([first[name] for name in ("probability", "low", "high")], [told[0], low, high])
    assert cli(*asked).ok().out.splitlines()[3].startswith(f"4: Adelie ({told[0]:.3f}, {low:.3f} to {high:.3f}), ")


def test_sets(cli, model, penguins, tmp_path):
    out = tmp_path / "sets.csv"
    cli("predict", model, penguins_path(), "--set", 0.01, "-o", out).ok()
    found, loaded = arrow_csv.read_csv(out), load(model)
    sets = loaded.predict_set(penguins.drop_columns("species"), 0.01)
    for c, label in enumerate(loaded.classes_):
        assert found[f"in_{label}"].to_pylist() == sets[:, c].tolist()
    document = json.loads(cli("predict", model, penguins_path(), "--set", 0.01, "--json", "--quiet").out)
    assert document["predictions"][0]["in_Adelie"] is True
    assert cli("predict", model, penguins_path(), "--set", 0.1, "--priors", "uniform").status == 2
    assert cli("predict", model, penguins_path(), "--set", 0).status == 2
    assert "--set ALPHA" in cli("predict", model, penguins_path(), "--by-class").complaint


def test_intervals(cli, write, model, penguins, tmp_path):
    """In memory and in parts, under the priors told."""
    few = penguins.slice(0, 40)
    told = ("--interval", 0.9, "--priors", "uniform", "-o", tmp_path / "out.parquet")
    ends = load(model).predict_proba_interval(few.drop_columns("species"), 0.9, priors="uniform")
    for data in (write("rows.csv", few), write("rows.parquet", few)):
        cli("predict", model, data, *told).ok()
        found = arrow_parquet.read_table(tmp_path / "out.parquet")
        for c, label in enumerate(load(model).classes_):
            np.testing.assert_allclose(found[f"low_{label}"].to_numpy(), ends[:, c, 0], atol=1e-12)
            np.testing.assert_allclose(found[f"high_{label}"].to_numpy(), ends[:, c, 1], atol=1e-12)
    assert cli("predict", model, penguins_path(), "--interval", 1).status == 2


def half_measured(tmp_path):
    path = tmp_path / "half.csv"
    path.write_text(
        "island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n"
        "Biscoe,,,,,,2008\n,39.5,,181,,female,\nDream,46.1,17.9,193,3800,male,2009\n"
    )
    return path


def read_blank(path):
    """Read a CSV in which nothing between two commas is a missing cell, of text too."""
    return arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True))


def test_next(cli, model, tmp_path):
    path, out = half_measured(tmp_path), tmp_path / "next.csv"
    cli("next", model, path, "--top", 2, "-o", out).ok()
    found = arrow_csv.read_csv(out)
    assert found.column_names == ["row", "label", "entropy", "ask_1", "gain_1", "ask_2", "gain_2"]
    loaded = load(model)
    names = loaded.feature_names_in_.tolist()
    gain = loaded.information_gain(read_blank(path).select(names))
    rows = found.to_pylist()
    for row, own in zip(rows[:2], gain, strict=False):
        best = np.argsort(-own)
        assert [row["ask_1"], row["ask_2"]] == [names[best[0]], names[best[1]]]
        np.testing.assert_allclose([row["gain_1"], row["gain_2"]], own[best[:2]])
        assert row["gain_1"] <= row["entropy"]
    assert rows[2]["ask_1"] in (None, "")
    assert rows[2]["gain_1"] is None


def test_next_with_costs(cli, model, tmp_path):
    path, costs = half_measured(tmp_path), tmp_path / "costs.csv"
    loaded = load(model)
    names = loaded.feature_names_in_.tolist()
    gain = loaded.information_gain(read_blank(path).select(names))
    dear = names[int(np.argmax(gain[0]))]
    costs.write_text(f"column,cost\n{dear},1000\n")
    for words in ((f"{dear}=1000",), (costs,)):
        done = cli("next", model, path, "--json", "--quiet", *(w for word in words for w in ("--costs", word))).ok()
        document = json.loads(done.out)
        assert document["costs"] == {dear: 1000}
        assert document["next"][0]["ask_1"] != dear
    assert cli("next", model, path, "--costs", "sixpence").status == 2
    assert "girth" in cli("next", model, path, "--costs", "girth=2").complaint
    assert "positive" in cli("next", model, path, "--costs", f"{dear}=0").complaint
    assert cli("next", model, path, "--top", 0).status == 2


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
    done = cli("columns", model, "--within", 0.02).ok()
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[2:9]] == expected.to_dict()["column"]
    assert lines[-1] == f"{len(few)} of 7 columns within 0.02 nats of all: {', '.join(few)}"
    assert "344 rows" in done.out
    assert expected.judged_by in done.err
    assert cli("columns", model, "--within", -1).status == 2
