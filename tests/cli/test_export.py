"""`suffice export` writes SQL that a database runs, and ONNX files."""

from __future__ import annotations

import json

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


def test_no_escape_codes_of_a_terminal(cli, tmp_path):
    """Categories of a file can hold what a terminal obeys; the query writes it by its number, and answers as before."""
    red = "a\x1b[31mred"
    rows = [f"{red if i % 3 else 'b'},{i}.5,{'pq'[i % 2]}" for i in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["c,x,y", *rows]), encoding="utf-8")
    cli("fit", tmp_path / "rows.csv", "--target", "y", "--model", "nb", "-o", tmp_path / "m.suffice")
    done = cli("export", tmp_path / "m.suffice", "--to", "sql")
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_csv('{tmp_path / 'rows.csv'}')")
        answers = connection.execute(done.out).df()
    expected = load(tmp_path / "m.suffice").predict_proba(answers[["c", "x"]])
    np.testing.assert_allclose(answers[["p_p", "p_q"]], expected, rtol=0, atol=1e-9)


def test_json(cli, model):
    done = cli("export", model, "--to", "sql", "--json")
    assert json.loads(done.out)["query"].startswith("WITH")


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


def test_the_model_is_not_replaced(cli, model):
    before = model.read_bytes()
    assert cli("export", model, "--to", "sql", "-o", model).status == 2
    assert model.read_bytes() == before
