"""A query over columns whose types are the database's own choice: it answers as the model, or fails by name."""

from __future__ import annotations

import csv
import re
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from compare import check
from databases import run_sqlite

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, load
from suffice._dialect import Remark
from suffice.errors import ExportError

N = 120
CLASSES = np.array(["low", "high"])[np.arange(N) % 2]


def texts(*levels: str) -> pd.DataFrame:
    """Return a column of text that goes with the class, beside a number."""
    rng = np.random.default_rng(0)
    mine = rng.integers(0, len(levels), N)
    c = np.where(rng.random(N) < 0.4, np.arange(N) % 2 % len(levels), mine)
    return pd.DataFrame({"c": np.array(levels, dtype=object)[c], "x": rng.normal(size=N)})


def read_by_duckdb(rows: pd.DataFrame, path: Path, query: str, kind: str, how: str = "") -> Any:
    """Write a CSV, let DuckDB read it, where the first column has a type, and return what the query answers."""
    rows.to_csv(path, index=False)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_csv('{path}'{how})")
        assert connection.execute("SELECT any_value(typeof(c)) FROM rows").fetchone() == (kind,)
        return connection.execute(query).df()


@pytest.mark.parametrize("make", [NaiveBayes, lambda: GenerativeClassifier(members="generative")])
def test_yes_and_no_read_as_truth_values(make, tmp_path, read_back) -> None:
    """DuckDB reads them as BOOLEAN: every posterior was that of a row with a category never seen."""
    X = texts("no", "yes")
    model = make().fit(X, CLASSES)
    query = read_back(model).to_sql()
    check(model, X, read_by_duckdb(X, tmp_path / "rows.csv", query, "BOOLEAN"))
    check(model, X, read_by_duckdb(X, tmp_path / "rows.csv", query, "VARCHAR", ", all_varchar = true"))


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        (("True", "False"), "BOOLEAN"),
        (("T", "F"), "BOOLEAN"),
        (("1.50", "2.0", "3.25"), "DOUBLE"),
        (("1e3", "2", "3"), "DOUBLE"),
        (("1", "2", "-3"), "BIGINT"),
        (("9007199254740992", "9007199254740993"), "BIGINT"),
        (("2020-01-05", "2021-12-31"), "DATE"),
        (("2020-01-05T10:00:00", "2021-12-31T10:00:00"), "TIMESTAMP"),
        (("2020-01-05 10:00:00", "2021-12-31 10:00:00.250"), "TIMESTAMP"),
        (("10:00", "11:30"), "TIME"),
        (("01", "1", "2"), "VARCHAR"),
    ],
)
def test_text_that_duckdb_reads_as_something_else(levels, kind, tmp_path) -> None:
    """DuckDB shows 1.50 as 1.5 and 10:00 as 10:00:00; a level is what it can be alone."""
    X = texts(*levels)
    model = NaiveBayes("categorical").fit(X, CLASSES)  # texts of dates would be dates
    check(model, X, read_by_duckdb(X, tmp_path / "rows.csv", model.to_sql(), kind))


@pytest.mark.parametrize(
    ("learned", "rows", "kind"),
    [
        (("yes", "Yes", "no"), ("yes", "Yes", "no"), "BOOLEAN"),
        (("true", "yes", "no"), ("true", "yes", "no"), "BOOLEAN"),
        (("red", "green"), ("yes", "no"), "BOOLEAN"),
        (("1.5", "1.50", "2"), ("1.5", "1.50", "2"), "DOUBLE"),
        (("0x10", "2"), ("0x10", "2"), "BIGINT"),
        (("red", "green"), ("1", "2"), "BIGINT"),
        (("01/05/2020", "12/25/2020"), ("01/05/2020", "12/25/2020"), "DATE"),
        (("2020-01-05", "2020-1-5"), ("2020-01-05", "2020-1-5"), "DATE"),
        (("red", "green"), ("2020-01-05", "2021-01-05"), "DATE"),
    ],
)
def test_what_could_be_two_levels_or_none_is_refused_by_name(learned, rows, kind, tmp_path) -> None:
    model = NaiveBayes().fit(texts(*learned), CLASSES)
    with pytest.raises(duckdb.Error, match=f"Column 'c' was learned as text, such as .*not as {kind}"):
        read_by_duckdb(texts(*rows), tmp_path / "rows.csv", model.to_sql(), kind)


def test_blanks_that_were_a_level(tmp_path) -> None:
    """DuckDB reads a blank as NULL; where the model met NULL too it is a missing cell, else nobody knows."""
    X = texts("", "b", "d")
    model = NaiveBayes().fit(X, CLASSES)
    with pytest.raises(duckdb.Error, match="Column 'c' has a NULL, and the model learned ''"):
        read_by_duckdb(X, tmp_path / "rows.csv", model.to_sql(), "VARCHAR")
    holes = X.where(np.random.default_rng(1).random(X.shape) < 0.8, None)
    model = NaiveBayes().fit(holes, CLASSES)
    with duckdb.connect() as connection:
        connection.register("rows", holes)
        check(model, holes, connection.execute(model.to_sql()).df())


def test_a_model_of_a_file_reads_text_as_the_file_is_read(tmp_path) -> None:
    """Spaces around texts, and words for a missing cell, mean in the database what they mean in the file."""
    X = texts("no", "yes ", "NA", "").assign(y=CLASSES)
    X["x"] = X["x"].round(3).astype(str).mask(np.arange(N) % 7 == 0, "NA")
    X.to_csv(tmp_path / "rows.csv", index=False, quoting=csv.QUOTE_ALL)
    with pytest.warns(Remark):
        model = NaiveBayes().fit_table(tmp_path / "rows.csv", target="y")
    model.save(tmp_path / "m.suffice")
    asked = pd.DataFrame(
        {"c": X["c"].str.strip().replace({"NA": None, "": None}), "x": pd.to_numeric(X["x"], errors="coerce")}
    )
    with duckdb.connect() as connection:
        connection.register("rows", X)
        check(model, asked, connection.execute(load(tmp_path / "m.suffice").to_sql()).df())
    check(model, asked, run_sqlite(model.to_sql("sqlite"), X))


@pytest.mark.parametrize(
    ("cell", "meant"),
    [("12", 12.0), (" .5", 0.5), ("+3e1", 30.0), ("", None), (7, 7.0), ("1,5", ""), ("2020-01-05", ""), ("abc", "")],
)
def test_sqlite_reads_no_text_as_the_number_that_it_begins_with(cell, meant) -> None:
    """SQLite casts 'abc' to 0 and '2020-01-05' to 2020."""
    X, y = pd.DataFrame({"x": np.r_[np.zeros(20), 9.0 + np.arange(20)]}), np.repeat(["a", "b"], 20)
    model = GaussianDiscriminant().fit(X, y)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE rows (x)")
        connection.execute("INSERT INTO rows VALUES (?)", [cell])
        if meant == "":
            with pytest.raises(sqlite3.OperationalError, match=r"Column ''x'' was learned as numbers.*not as text"):
                connection.execute(model.to_sql("sqlite")).fetchall()
            return
        found = connection.execute(model.to_sql("sqlite")).fetchall()
    expected = model.predict_proba(pd.DataFrame({"x": [np.nan if meant is None else meant]}))
    np.testing.assert_allclose([found[0][2:4]], expected, rtol=0, atol=1e-9)


def test_sqlite_columns_of_numbers_that_were_learned_as_text() -> None:
    X = texts("1.50", "2.0", "3.25")
    model = NaiveBayes().fit(X, CLASSES)
    check(model, X, run_sqlite(model.to_sql("sqlite"), X.astype({"c": float})))
    other = NaiveBayes().fit(texts("yes", "no"), CLASSES)
    with pytest.raises(sqlite3.OperationalError, match="Column ''c'' was learned as text, such as ''no'', ''yes''"):
        run_sqlite(other.to_sql("sqlite"), X.astype({"c": float}))


def test_truth_values_that_are_text_or_numbers_elsewhere() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"c": rng.random(N) < 0.3 + 0.3 * (np.arange(N) % 2), "x": rng.normal(size=N)})
    model = NaiveBayes().fit(X, CLASSES)
    for kind in (str, float):
        rows = X.astype({"c": kind})
        with duckdb.connect() as connection:
            connection.register("rows", rows)
            check(model, X, connection.execute(model.to_sql()).df())
        check(model, X, run_sqlite(model.to_sql("sqlite"), rows))


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "mysql", "bigquery"])
def test_names_that_differ_by_case_are_one_column_to_a_database(dialect) -> None:
    """DuckDB answered with one of the two columns for both."""
    X = pd.DataFrame({"A": [0.0, 1.0, 4.0, 5.0], "a": [1.0, 0.0, 2.0, 1.0], "b": [0.0, 1.0, 1.0, 0.0]})
    model = GaussianDiscriminant("diagonal").fit(X, ["p", "p", "q", "q"])
    with pytest.raises(ExportError, match=f"columns 'A', 'a' differ by case only, and are one column to {dialect}"):
        model.to_sql(dialect)
    assert '"A"' in model.to_sql("postgres")
    with pytest.raises(ExportError, match="'B', 'b'"):
        GaussianDiscriminant().fit(X[["b"]], ["p", "p", "q", "q"]).to_sql(dialect, keep=["B"])


def test_letters_beyond_ascii_differ_by_case() -> None:
    X = pd.DataFrame({"É": [0.0, 1.0, 4.0, 5.0], "é": [1.0, 0.0, 2.0, 1.0]})
    model = GaussianDiscriminant("diagonal").fit(X, ["p", "p", "q", "q"])
    with duckdb.connect() as connection:
        connection.register("rows", X)
        check(model, X, connection.execute(model.to_sql()).df())
    check(model, X, run_sqlite(model.to_sql("sqlite"), X))


def test_what_a_terminal_would_obey_is_written_by_its_number() -> None:
    """A category or a class that holds escape codes is told apart all the same; a column name cannot be."""
    X = texts("a\x1b[31mred", "b\x07", "a\x9b31mred", "\r", "tab\t")
    model = NaiveBayes().fit(X, np.where(CLASSES == "low", "p\x1b[0m", "q"))
    with duckdb.connect() as connection:
        connection.register("rows", X)
        answers = connection.execute(model.to_sql()).df()
    assert list(answers.columns[2:5]) == ["label", "p_1", "p_q"]
    check(model, X, answers)
    check(model, X, run_sqlite(model.to_sql("sqlite"), X))
    for dialect in ("duckdb", "sqlite", "postgres", "mysql", "bigquery"):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", model.to_sql(dialect, check=False))
    named = NaiveBayes().fit(X.rename(columns={"c": "c\x1b[31m"}), CLASSES)
    with pytest.raises(ExportError, match=r"no plain way to write the name 'c\\x1b\[31m'"):
        named.to_sql()
