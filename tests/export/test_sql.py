"""Exported queries, run in DuckDB and SQLite beside the models they were made from."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sqlglot
from compare import check, difference
from databases import run_duckdb, run_sqlite, sqlite_lacks
from fitted_models import CASES, case, mixed, numbers, unseen

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.errors import ExportError, SettingError
from suffice.estimate import FAMILIES
from suffice.export.lower import lower
from suffice.export.program import Pairs
from suffice.export.sql import query

LONG = (
    "automatic: penguins",
    "automatic: parts",
    "automatic: trees",
    "automatic: independent",
    "automatic: mixed",
    "automatic: joint forest, priors",
)  # seconds; SQLite answers them all
TWO = MixtureDiscriminant(2, n_init=1, random_state=0)


@pytest.mark.parametrize("name", [own for own in CASES if own not in LONG])
def test_duckdb_answers_as_the_model(name: str) -> None:
    model, rows = case(name)
    check(model, rows, run_duckdb(model.to_sql("duckdb", check=False), rows))


@pytest.mark.skipif(bool(sqlite_lacks()), reason=sqlite_lacks() or "it has all")
@pytest.mark.parametrize("name", CASES)
def test_sqlite_answers_as_the_model(name: str) -> None:
    model, rows = case(name)
    check(model, rows, run_sqlite(model.to_sql("sqlite", check=False), rows))


def test_every_pattern_of_missing_cells() -> None:
    """All 2^5 patterns, under each way to hold a full covariance, of single models and of mixtures."""
    X, y = numbers(5, 200, holes=0.0)
    patterns = (np.arange(32)[:, None] >> np.arange(5)) & 1
    rows = X.iloc[:32].where(patterns.astype(bool))
    for model in (GaussianDiscriminant(), GaussianDiscriminant(shared=True), TWO):
        model.fit(X, y)
        check(model, rows, run_duckdb(model.to_sql(check=False), rows))


def test_columns_far_apart_in_scale() -> None:
    """Columns of units 1e-8 and 1e8 around offsets of a million spreads keep nine digits of the posterior."""
    X, y = numbers(3, 120)
    X = X * [1e-8, 1.0, 1e8] + [1e-2, 1e6, 1e14]
    model = GaussianDiscriminant().fit(X, y)
    rows = unseen(X)
    check(model, rows, run_duckdb(model.to_sql(check=False), rows))


@pytest.mark.parametrize("name", ["sum", "complement"])
def test_columns_that_add_up_to_others(name: str) -> None:
    """Both sides are right to rounding, which such columns make larger: a sum beside its parts, 1 − p beside p."""
    rng = np.random.default_rng(9 if name == "sum" else 0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"a": rng.normal(size=300) + y, "b": rng.normal(size=300)})
    p = (rng.random(300) < 0.3 + 0.4 * y).astype(int)
    model = GaussianDiscriminant() if name == "sum" else GenerativeClassifier()
    model.fit(X.assign(s=X.sum(axis=1)) if name == "sum" else X.assign(p=p, q=1 - p), y)
    assert model.to_sql(check=True)
    assert model.to_onnx(check=True)


# --- names and values ------------------------------------------------------------------------------------------------

HOSTILE = [
    "'; DROP TABLE rows; --",
    '"; DROP TABLE rows; --',
    "a' OR '1'='1",
    "back\\slash\\'",
    "new\nline",
    "{{braces}} %s ? :name $1",
    "größe 🐧 表",
    "`tick` [bracket]",
    "/* comment",
    "label",
    "log_density",
    "p_x",
    "s1",
    "r0",
    "SELECT",
]


def hostile_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table whose columns, categories and classes are all meant to break out of a query."""
    rng = np.random.default_rng(2)
    n = 6 * len(HOSTILE)
    X = pd.DataFrame({name: rng.normal(size=n) for name in HOSTILE[:-1]})
    X[HOSTILE[-1]] = np.array([*HOSTILE, ""], dtype=object)[rng.integers(0, len(HOSTILE) + 1, n)]
    y = np.array([*HOSTILE[:5], ""], dtype=object)[np.arange(n) % 6]
    X.iloc[:, 0] += pd.factorize(y)[0]
    return X, y


@cache
def hostile_model() -> NaiveBayes:
    """Return a model of that table."""
    return NaiveBayes().fit(*hostile_table())


@pytest.mark.parametrize("run", [("duckdb", run_duckdb), ("sqlite", run_sqlite)], ids=["duckdb", "sqlite"])
def test_names_that_are_sql_are_inert(run) -> None:
    dialect, run_in = run
    X, model = hostile_table()[0], hostile_model()
    check(model, X, run_in(model.to_sql(dialect), X))


DIALECTS = [
    "bigquery",
    "clickhouse",
    "databricks",
    "mysql",
    "oracle",
    "postgres",
    "snowflake",
    "sqlite",
    "trino",
    "tsql",
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_names_stay_names_in_every_dialect(dialect: str) -> None:
    """Read back by the dialect's own grammar it is one SELECT with the identifiers and texts given."""
    statements = sqlglot.parse(hostile_model().to_sql(dialect, check=False), read=dialect)
    assert len(statements) == 1
    assert isinstance(statements[0], sqlglot.exp.Select)
    names = {found.name for found in statements[0].find_all(sqlglot.exp.Identifier)}
    assert set(HOSTILE) <= names
    texts = {found.name for found in statements[0].find_all(sqlglot.exp.Literal) if found.is_string}
    assert {*HOSTILE[:5], ""} <= texts
    own = {text for text in texts - {*HOSTILE, ""} if not re.fullmatch(r"[\w %{}]+|[ \t\xa0\r\n]+", text)}
    assert all(text.startswith("Column ") for text in own)  # the rest are messages, names of types and spaces


def test_columns_of_the_answer() -> None:
    X, y = mixed()
    rows = X.assign(id=range(len(X)))
    model = NaiveBayes().fit(X, y)
    answers = run_duckdb(model.to_sql(keep=["id"], table=("lab", "a table")), rows, ("lab", "a table"))
    assert list(answers.columns) == ["id", *X.columns, "label", "p_high", "p_low", "p_mid", "log_density"]
    assert answers["id"].tolist() == list(range(len(X)))
    np.testing.assert_array_equal(answers["size 1"].to_numpy(), X["size 1"].to_numpy())


def test_names_that_are_taken() -> None:
    X = pd.DataFrame({"label": [0.0, 1.0, 4.0, 5.0], "P_A": [1.0, 0.0, 2.0, 1.0], "log_density": [0.0, 1.0, 1.0, 0.0]})
    model = GaussianDiscriminant("diagonal").fit(X, ["a", "a", "b", "x" * 200])
    answers = run_duckdb(model.to_sql(), X)
    assert list(answers.columns[:3]) == ["label", "P_A", "log_density"]
    assert list(answers.columns[3:]) == ["predicted_label", "predicted_p_a", "p_b", "p_3", "predicted_log_density"]


def test_arrays_without_names() -> None:
    X, y = numbers(3)
    model = GaussianDiscriminant().fit(X.to_numpy(), y)
    rows = X.set_axis(["x0", "x1", "x2"], axis=1)
    answers = run_duckdb(model.to_sql(), rows)
    assert difference(model, X.to_numpy(), answers).posterior <= 1e-9


def test_nan_and_numbers_that_python_refuses_are_missing() -> None:
    X, y = numbers(3)
    model = GaussianDiscriminant().fit(X, y)
    rows = X.iloc[:6].astype(object)
    strange = ["'NaN'::DOUBLE", "'Infinity'::DOUBLE", "-1e200", "NULL"]
    import duckdb

    with duckdb.connect() as connection:
        values = ", ".join(f"({cell}, 1.0, 2.0)" for cell in strange)
        connection.execute(f'CREATE TABLE rows AS SELECT * FROM (VALUES {values}) t("size 0", "size 1", "size 2")')
        answers = connection.execute(model.to_sql(check=False)).df()
    missing = pd.DataFrame([[np.nan, 1.0, 2.0]] * 4, columns=rows.columns)
    check(model, missing, answers)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_unknown_dialect_has_suggestions() -> None:
    model, _ = case("gaussian: full, own")
    with pytest.raises(SettingError, match="did you mean 'postgres'"):
        model.to_sql("postgresql")


def test_no_column_without_a_name() -> None:
    X = pd.DataFrame({"": [0.0, 1.0, 4.0, 5.0]})
    with pytest.raises(ExportError, match="no plain way to write the name ''"):
        GaussianDiscriminant().fit(X, [0, 0, 1, 1]).to_sql()


def test_kept_columns_are_not_the_models() -> None:
    model, _ = case("gaussian: full, own")
    with pytest.raises(ExportError, match="size 0"):
        model.to_sql(keep=["size 0"])


def test_a_family_of_ones_own_is_refused() -> None:
    class Strange:
        """A density that exports know nothing of."""

        def __init__(self, inner) -> None:
            self.inner = inner

        def log_density(self, rows):
            return self.inner.log_density(rows)

    class StrangeFamily(type(FAMILIES["gaussian"])):
        def estimate(self, stats, settings):
            density, notes = super().estimate(stats, settings)
            return Strange(density), notes

    X, y = numbers(2)
    model = NaiveBayes({"size 0": StrangeFamily()}).fit(X, y)
    with pytest.raises(ExportError, match="Strange of the columns 'size 0'"):
        model.to_sql()


def test_too_many_columns_for_any_pattern() -> None:
    X, y = numbers(80, 170, holes=0.0)
    with pytest.raises(ExportError, match='missing="null"'):
        GaussianDiscriminant().fit(X, y).to_sql()


def test_rows_without_an_answer() -> None:
    """With missing="null", rows that miss a cell of a full covariance have none; the others are as they were."""
    X, y = numbers(4, 120, holes=0.0)
    block = tuple(X.columns[:2])
    rows = unseen(X)
    models = [GaussianDiscriminant(), GaussianDiscriminant(shared=True), TWO]
    for model in [*models, NaiveBayes({block: "gaussian"})]:
        model.fit(X, y)
        answers = run_duckdb(model.to_sql(missing="null", check=rows), rows)
        gaps = rows[list(block) if isinstance(model, NaiveBayes) else list(X.columns)].isna().any(axis=1).to_numpy()
        assert answers["label"].isna().tolist() == gaps.tolist()
        assert answers.loc[gaps].iloc[:, 4:].isna().all(axis=None)
        check(model, rows[~gaps], answers[~gaps])


def test_the_check_finds_a_query_that_is_off(monkeypatch) -> None:
    """A log prior that is wrong in the ninth digit is found when the query is written."""
    import dataclasses

    import suffice.questions.exports as module

    model, _ = case("naive: prior")
    lower = module.lower

    def wrong(fitted):
        program = lower(fitted)
        return dataclasses.replace(program, log_prior=program.log_prior + np.array([2e-8, 0.0, 0.0]))

    monkeypatch.setattr(module, "lower", wrong)
    with pytest.raises(ExportError, match="does not answer as the model does"):
        model.to_sql()
    assert model.to_sql(check=False)


def test_too_many_pairs_of_levels_are_refused_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of ids have a level for each row: pairs of these would be a query of hundreds of megabytes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame({"id": [f"i{i}" for i in range(200)], "x": rng.normal(size=200) + y, "z": rng.normal(size=200)})
    program = lower(GenerativeClassifier(members="generative").fit(X, y)._fitted)
    (term,) = (own for own in program.terms if isinstance(own, Pairs))
    parent, child = np.indices((len(term.sizes), len(term.sizes)))
    looked_up = 2 * int(np.outer(term.sizes, term.sizes)[parent != child].sum())
    assert looked_up > 2 * 200
    monkeypatch.setattr(query, "MOST_PAIRS", looked_up - 1)
    with pytest.raises(ExportError, match=rf"{looked_up:,} values of two levels.*Next: leave out columns of names"):
        query.write_query(program, "duckdb", ["rows"], exact=False)
    monkeypatch.setattr(query, "MOST_PAIRS", looked_up)
    assert "SELECT" in query.write_query(program, "duckdb", ["rows"], exact=False)
