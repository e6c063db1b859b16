"""Exported queries in a real PostgreSQL: `make export` installs it and sets SUFFICE_POSTGRES, else they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from compare import check
from databases import Postgres
from fitted_models import CASES, case
from test_sql import hostile_model, hostile_table

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


def test_names_that_are_sql_are_inert(postgres: Postgres) -> None:
    X, model = hostile_table()[0], hostile_model()
    check(model, X, postgres.run(model.to_sql("postgres", check=False), X))
