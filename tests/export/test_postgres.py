"""Exported queries in a real PostgreSQL: `make export` installs it and sets SUFFICE_POSTGRES, else they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from compare import check
from databases import Postgres
from evaluate import evaluate
from fitted_models import CASES, case
from made_trees import made
from test_sql import hostile_model, hostile_table
from test_sql_types import CLASSES, texts

from suffice import NaiveBayes
from suffice.export.sql.query import write_query

pytestmark = pytest.mark.skipif("SUFFICE_POSTGRES" not in os.environ, reason="needs PostgreSQL: make export")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A server that runs while these tests do."""
    server = Postgres()
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("name", CASES)
def test_postgres_answers_as_the_model(name: str, postgres: Postgres) -> None:
    model, rows = case(name)
    check(model, rows, postgres.run(model.to_sql("postgres", check=False), rows))


def test_sums_over_leaves(postgres: Postgres) -> None:
    _, program, _, rows = made()
    found = postgres.run(write_query(program, "postgres", ["rows"]), rows).iloc[:, -4:-1].to_numpy(dtype=float)
    np.testing.assert_allclose(found, np.exp(evaluate(program, rows)[0]), rtol=0, atol=1e-9)


def test_names_that_are_sql_are_inert(postgres: Postgres) -> None:
    X, model = hostile_table()[0], hostile_model()
    check(model, X, postgres.run(model.to_sql("postgres", check=False), X))


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        (("yes", "no"), "BOOLEAN"),
        (("1.50", "2.0", "3.25"), "NUMERIC(9, 4)"),
        (("9007199254740992", "9007199254740993"), "BIGINT"),
        (("2020-01-05", "2021-12-31"), "DATE"),
        (("2020-01-05T10:00:00", "2021-12-31 10:00:00.250"), "TIMESTAMP"),
        (("10:00", "11:30"), "TIME"),
        (("a", "b"), "CHAR(9)"),
        (("a", "b"), '"char"'),
    ],
)
def test_text_that_is_kept_as_something_else(levels, kind, postgres: Postgres) -> None:
    X = texts(*levels)
    model = NaiveBayes({"c": "categorical"}).fit(X, CLASSES)  # not as dates
    query = model.to_sql("postgres", check=False)
    check(model, X, postgres.run(query, X, {"c": kind}))


@pytest.mark.parametrize(
    ("rows", "kind"), [(("1", "2"), "INT"), (("yes", "no"), "BOOLEAN"), (("10:00", "11:00"), "INTERVAL")]
)
def test_what_is_no_level_is_refused_by_name(rows, kind, postgres: Postgres) -> None:
    model = NaiveBayes().fit(texts("red", "green"), CLASSES)
    with pytest.raises(RuntimeError, match="Column 'c' was learned as text, such as 'green', 'red'"):
        postgres.run(model.to_sql("postgres", check=False), texts(*rows), {"c": kind})


def test_names_that_differ_by_case(postgres: Postgres) -> None:
    X = texts("a", "b").rename(columns={"c": "X"})
    model = NaiveBayes().fit(X, CLASSES)
    check(model, X, postgres.run(model.to_sql("postgres"), X))


def test_numbers_that_are_text_and_truth_values_that_are_numbers(postgres: Postgres) -> None:
    X = texts("a", "b").assign(c=CLASSES == "low", x=np.arange(len(CLASSES)) % 7)
    model = NaiveBayes().fit(X, CLASSES)
    check(model, X, postgres.run(model.to_sql("postgres"), X, {"x": "TEXT", "c": "TEXT"}))
    check(model, X, postgres.run(model.to_sql("postgres"), X.astype({"c": float})))
