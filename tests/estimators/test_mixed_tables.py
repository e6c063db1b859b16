"""Mixed tables end to end: the same table through every library gives the same model and the same answers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, SchemaError

NAN = float("nan")
N = 90


@pytest.fixture
def cells(rng):
    """Columns as lists of Python values, None where missing, and labels."""
    y = [["adelie", "gentoo", "chinstrap"][i] for i in rng.integers(0, 3, N)]
    shift = np.array([{"adelie": 0.0, "gentoo": 2.0, "chinstrap": 1.0}[label] for label in y])

    def holes(values, share=0.1):
        return [None if hole else value for hole, value in zip(rng.random(N) < share, values, strict=True)]

    columns = {
        "length": holes((rng.normal(size=N) + shift).tolist()),
        "mass": holes(rng.integers(3000, 6000, N).tolist()),
        "island": holes([["Dream", "Biscoe", ""][i] for i in rng.integers(0, 3, N)]),
        "sex": holes([["female", "male"][i] for i in rng.integers(0, 2, N)], 0.3),
        "tagged": holes((rng.random(N) < 0.5).tolist()),
        "clutch": rng.integers(0, 3, N).tolist(),
    }
    return columns, y


def as_pandas(columns):
    kinds = {
        "length": "Float64",
        "mass": "Int64",
        "island": "str",
        "sex": "category",
        "tagged": "boolean",
        "clutch": "int64",
    }
    return pd.DataFrame({name: pd.Series(values, dtype=kinds[name]) for name, values in columns.items()})


def as_polars(columns):
    kinds = {"sex": pl.Categorical}
    return pl.DataFrame({name: pl.Series(values, dtype=kinds.get(name)) for name, values in columns.items()})


def as_arrow(columns):
    """Two chunks of unequal length; the dictionary column has other codes in each."""
    parts = [{name: values[part] for name, values in columns.items()} for part in (slice(0, 37), slice(37, None))]
    tables = [
        pa.table(
            {n: pa.array(v, pa.string()).dictionary_encode() if n == "sex" else pa.array(v) for n, v in part.items()}
        )
        for part in parts
    ]
    return pa.concat_tables(tables)


def as_objects(columns):
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def masked(values):
    """Hide the missing cells under a mask, with a value beneath it that no column may see."""
    hidden = np.equal(values, None)
    return np.ma.masked_array(np.where(hidden, "hidden", values), mask=hidden)


FRAMES = {"pandas": as_pandas, "polars": as_polars, "pyarrow": as_arrow, "pandas objects": as_objects}
ARRAYS = {
    "object array": lambda columns: np.array(list(zip(*columns.values(), strict=True)), dtype=object),
    "rows": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "masked": lambda columns: masked(np.array(list(zip(*columns.values(), strict=True)), dtype=object)),
}
FAMILIES = {"clutch": "categorical"}
PLACES = {5: "categorical"}


@pytest.mark.parametrize("library", [*FRAMES, *ARRAYS])
def test_one_model_whatever_the_library(cells, library):
    columns, y = cells
    expected = NaiveBayes(FAMILIES).fit(as_pandas(columns), y)
    make = FRAMES.get(library) or ARRAYS[library]
    table = make(columns)
    model = NaiveBayes(FAMILIES if library in FRAMES else PLACES).fit(table, y)
    assert_array_equal(model.predict_log_proba(table), expected.predict_log_proba(as_pandas(columns)))
    for mine, theirs in zip(model.statistics_.blocks, expected.statistics_.blocks, strict=True):
        (fields, plain), (other, others_plain) = mine.arrays(), theirs.arrays()
        assert plain == others_plain
        for name, values in fields.items():
            assert_array_equal(values, other[name])


@pytest.mark.parametrize("fitted", FRAMES)
@pytest.mark.parametrize("asked", FRAMES)
def test_fit_with_one_library_and_ask_with_another(cells, fitted, asked):
    columns, y = cells
    model = NaiveBayes(FAMILIES).fit(FRAMES[fitted](columns), y)
    shuffled = {name: columns[name] for name in ["tagged", "clutch", "sex", "length", "island", "mass"]}
    found = model.predict_log_proba(FRAMES[asked](shuffled))
    assert_array_equal(found, model.predict_log_proba(FRAMES[fitted](columns)))


@pytest.mark.parametrize("library", FRAMES)
def test_gaussians_read_numbers_and_truth_values_of_any_library(cells, library):
    columns, y = cells
    numbers = {name: columns[name] for name in ("length", "mass", "tagged", "clutch")}
    X = np.array([[NAN if v is None else float(v) for v in row] for row in zip(*numbers.values(), strict=True)])
    for setting in ({}, {"shared": True}, {"covariance": "diagonal"}):
        model = GaussianDiscriminant(**setting).fit(FRAMES[library](numbers), y)
        expected = GaussianDiscriminant(**setting).fit(X, y)
        assert_array_equal(model.predict_proba(FRAMES[library](numbers)), expected.predict_proba(X))
        assert model.feature_names_in_.tolist() == list(numbers)
    with pytest.raises(
        SchemaError,
        match=r"GaussianDiscriminant models numbers, and columns 'island', 'sex' hold categories.*NaiveBayes",
    ):
        GaussianDiscriminant().fit(FRAMES[library](columns), y)


@pytest.mark.parametrize("library", FRAMES)
def test_problems_name_the_column(cells, library):
    columns, y = cells
    make = FRAMES[library]
    model = NaiveBayes(FAMILIES).fit(make(columns), y)
    lengths = [1.0, np.inf, *columns["length"][2:]]
    with pytest.raises(DataError, match="infinity in column 'length'"):
        model.predict(make({**columns, "length": lengths}))
    fewer = {name: values for name, values in columns.items() if name != "mass"}
    with pytest.raises(SchemaError, match="it lacks 'mass'"):
        model.predict(make(fewer))
    before = model.predict_proba(make(columns))
    with pytest.raises(SchemaError, match="it lacks 'mass'"):
        model.partial_fit(make(fewer), y)
    assert_array_equal(model.predict_proba(make(columns)), before)
