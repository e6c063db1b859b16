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
