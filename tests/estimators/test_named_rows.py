"""A row as people have it in hand: a dictionary, a list of them, a series whose index names the columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import GenerativeForest, NaiveBayes
from suffice.errors import DataError, SchemaError

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table.from_pylist}


@pytest.fixture
def table(rng) -> tuple[pd.DataFrame, np.ndarray]:
    y = np.arange(80) % 2
    columns = {"size": rng.normal(size=80) + y, "color": rng.choice(["red", "blue"], 80), "new": rng.random(80) < 0.5}
    X = pd.DataFrame({**columns, "count": rng.poisson(3, 80)})
    X.loc[3, "size"], X.loc[4, "color"] = np.nan, None
    return X, y


def as_records(X: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(name): None if pd.isna(cell) else cell for name, cell in row.items()} for row in X.to_dict("records")]


@pytest.mark.parametrize("library", FRAMES)
def test_rows_of_names_and_cells_are_a_table(table, library):
    X, y = table
    model = NaiveBayes().fit(FRAMES[library](as_records(X)), y)
    rows, expected = as_records(X), NaiveBayes().fit(X, y).predict_proba(X)
    backwards = [dict(reversed(row.items())) for row in rows]
    for asked in (rows, tuple(backwards), pl.DataFrame(rows).rows(named=True), pa.Table.from_pylist(rows).to_pylist()):
        np.testing.assert_allclose(model.predict_proba(asked), expected, atol=1e-12)
    for i in (0, 3, 4):
        for asked in (rows[i], backwards[i], X.iloc[i], X.to_dict("records")[i]):
            np.testing.assert_allclose(model.predict_proba(asked), expected[[i]], atol=1e-12)
    filled = model.impute(rows[3])
    assert type(filled).__module__.partition(".")[0] == library
    told = model.explain(rows[0], as_frame="pandas")
    assert told["column"].tolist() == list(X.columns)


def test_what_is_learned_of_dictionaries_is_that_of_the_table(table):
    X, y = table
    model, rows = GenerativeForest(), as_records(X)
    expected = GenerativeForest().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(rows, y).predict_proba(X), expected)
    model.partial_fit(rows[:5], y[:5]).forget(rows[:5], y[:5])
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)


def test_a_row_of_pandas_keeps_its_label(table):
    X, y = table
    X.index = [f"row {i}" for i in range(80)]
    model = NaiveBayes().fit(X, y)
    assert set(model.explain(X.iloc[7], as_frame=True)["row"]) == {"row 7"}
    assert model.impute(X.iloc[3]).index.tolist() == ["row 3"]


def test_what_is_no_row_is_refused_with_what_to_do(table):
    X, y = table
    model, row = NaiveBayes().fit(X, y), as_records(X)[0]
    with pytest.raises(SchemaError, match=r"it lacks 'color'; NaiveBayes does not know 'colour'"):
        model.predict({**{name: row[name] for name in row if name != "color"}, "colour": "red"})
    with pytest.warns(UserWarning, match="'color' is not in the table"):
        model.predict_proba({"size": 1.0, "new": True, "count": 2}, missing_columns="missing")
    for odd, next_step in (
        ({"size": [1.0, 2.0], "color": ["red", "blue"]}, "make a data frame of it"),
        ([row, 3], "Row 1 is a int"),
        (X["size"], r"X\.iloc\[\[0\]\]"),
        ({}, "Next: pass rows and columns"),
    ):
        with pytest.raises(DataError, match=next_step):
            model.predict(odd)
    with pytest.raises(DataError, match=r"X\.iloc\[\[0\]\]"):  # the index names no column that was learned
        NaiveBayes().fit(X.to_numpy(), y).predict(X.iloc[0])
