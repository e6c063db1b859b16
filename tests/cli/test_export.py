"""`suffice export` writes SQL that a database runs, and ONNX files."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from suffice import load


def test_sql_on_stdout_runs(cli, model, penguins):
    done = cli("export", model, "--to", "sql", "--table", "penguins", "--key", "species")
    assert (done.status, done.err) == (0, "")
    with duckdb.connect() as connection:
        connection.register("penguins", penguins)
        answers = connection.execute(done.out).df()
    fitted = load(model)
    rows = penguins.select(list(fitted.feature_names_in_))
    assert answers["species"].tolist() == penguins["species"].to_pylist()
    assert answers["label"].tolist() == fitted.predict(rows).tolist()
    np.testing.assert_allclose(answers["p_Gentoo"], fitted.predict_proba(rows)[:, 2], atol=1e-9)


def test_sql_in_a_file(cli, model, tmp_path):
    done = cli(
        "export",
        model,
        "--to",
        "sql",
        "--dialect",
        "postgres",
        "--table",
        "lab.rows",
        "--check",
        "-o",
        tmp_path / "m.sql",
    )
    assert (done.status, done.out) == (0, "")
    assert '"lab"."rows"' in (tmp_path / "m.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize(("ending", "begin"), [("sql", b"WITH"), ("SQL", b"WITH"), ("onnx", b"\x08")])
def test_the_ending_of_the_output_says_what_to_write(cli, model, tmp_path, ending, begin):
    cli("export", model, "-o", tmp_path / f"m.{ending}").ok()
    assert (tmp_path / f"m.{ending}").read_bytes().startswith(begin)


def test_onnx_beside_the_model(cli, model):
    done = cli("export", model, "--to", "onnx", "--check")
    assert (done.status, done.out) == (0, ""), done.err
    assert model.with_suffix(".onnx").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["--to", "sql", "--dialect", "postgresql"], 2, "did you mean 'postgres'"),
        (["--to", "sql", "--dtype", "float32"], 2, "--dtype is for --to onnx"),
        (["--to", "onnx", "--dialect", "duckdb"], 2, "--dialect is for --to sql"),
        (["--to", "sql", "--key", "island"], 1, "'island'"),
        (["--to", "csv"], 2, "csv"),
        ([], 2, "Next: --to sql, --to onnx, or --output"),
        (["-o", "m.txt"], 2, "Next: --to sql, --to onnx, or --output"),
        (["-o", "m.html"], 2, "Next: suffice report MODEL -o m.html"),
    ],
)
def test_refusals(cli, model, words, status, text):
    done = cli("export", model, *words)
    assert done.status == status
    assert text in done.complaint
