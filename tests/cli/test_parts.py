"""Tables in parts on the command line: the same models and answers as from one file in memory."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from suffice import load


@pytest.fixture
def trees(tmp_path):
    """A folder of three Parquet files, the whole in one CSV, and its rows."""
    rng = np.random.default_rng(5)
    n = 90
    kind = rng.integers(0, 2, n)
    table = pa.table(
        {"height": rng.normal(kind, 1.0), "leaf": np.array(["small", "big"])[rng.integers(0, 2, n)]}
        | {"kind": pa.array([None if i == 4 else ("ash", "elm")[k] for i, k in enumerate(kind)])}
    )
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pq.write_table(table.slice(30 * number, 30), tmp_path / "parts" / f"{number}.parquet", row_group_size=10)
    pq.write_table(table, tmp_path / "all.parquet")
    return table


def test_fit_and_predict_in_parts(cli, trees, tmp_path):
    told = ("--target", "kind", "--members", "generative", "--json")
    whole = cli("fit", tmp_path / "all.parquet", *told, "-o", tmp_path / "whole.suffice")
    many = cli("fit", tmp_path / "parts" / "*.parquet", *told, "-o", tmp_path / "many.suffice")
    local = cli("fit", tmp_path / "all.parquet", *told, "-o", tmp_path / "local.suffice", "--engine", "local")
    facts = [json.loads(run.out) for run in (whole, many, local)]
    for fact in facts:
        assert (fact["rows"], fact["rows_without_label"], fact["columns"]) == (89, 1, ["height", "leaf"])
    assert facts[1]["notes"][0].startswith("left out 1 row")
    rows = trees.select(["height", "leaf"])
    expected = load(tmp_path / "whole.suffice").predict_proba(rows)
    for name in ("many", "local"):
        np.testing.assert_allclose(load(tmp_path / f"{name}.suffice").predict_proba(rows), expected, atol=1e-12)
    cli("predict", tmp_path / "many.suffice", tmp_path / "parts", "-o", tmp_path / "o.parquet", "--keep").ok()
    answers = pq.read_table(tmp_path / "o.parquet")
    assert answers.column_names == ["height", "leaf", "kind", "label", "p_ash", "p_elm", "log_density"]
    np.testing.assert_allclose(answers["p_elm"].to_numpy(), expected[:, 1], atol=1e-12)


def test_refusals(cli, trees, tmp_path):
    fit = ("fit", tmp_path / "parts", "-o", tmp_path / "m")
    absent = cli(*fit, "--target", "kin")
    assert (absent.status, "has no column 'kin' for --target" in absent.complaint) == (1, True)
    usage = cli(*fit, "--target", "kind", "--scheduler", "tcp://127.0.0.1:1")
    assert (usage.status, "--scheduler is for --engine dask" in usage.complaint) == (2, True)
    pq.write_table(trees.drop_columns(["leaf"]), tmp_path / "parts" / "3.parquet")
    differs = cli(*fit, "--target", "kind")
    assert (differs.status, "3.parquet' has no column 'leaf'" in differs.complaint) == (1, True)
    assert not (tmp_path / "m").exists()


def test_sets_adapted_priors_and_mixtures_in_parts(cli, trees, tmp_path):
    """Answers from parts are those of the file in memory, which only a CSV is read into."""
    arrow_csv.write_csv(trees, tmp_path / "all.csv")
    cli("fit", tmp_path / "parts", "--target", "kind", "-o", tmp_path / "m.suffice", "--model", "nb").ok()
    for told in (("--set", "0.2"), ("--set", "0.2", "--by-class"), ("--priors", "adapt", "--reject", "0.3")):
        parts = cli("predict", tmp_path / "m.suffice", tmp_path / "parts", "-o", tmp_path / "p.parquet", *told)
        whole = cli("predict", tmp_path / "m.suffice", tmp_path / "all.csv", "-o", tmp_path / "w.parquet", *told)
        assert (parts.status, whole.status) == (0, 0)
        found, expected = pq.read_table(tmp_path / "p.parquet"), pq.read_table(tmp_path / "w.parquet")
        assert found.column_names == expected.column_names
        np.testing.assert_allclose(found["p_elm"].to_numpy(), expected["p_elm"].to_numpy(), rtol=1e-9)
        for name in ("label", "in_ash", "in_elm"):
            if name in expected.column_names:
                assert found[name].to_pylist() == expected[name].to_pylist()
    said = [run.err.split("estimated from")[1].split(":")[1].split(".\n")[0] for run in (parts, whole)]
    assert said[0] == said[1]
    told = ("--target", "kind", "--model", "mixture", "--components", "2", "-o", tmp_path / "x.suffice")
    cli("fit", tmp_path / "parts", *told).ok()
    assert load(tmp_path / "x.suffice").n_components_.tolist() == [2, 2]
