"""Filled and new tables are of the kind that came in, and what was observed stays as it was."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice.schema import Kind
from suffice.table import NewColumn, make_table, read_table


def objects(*values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def fill(X, holes):
    return read_table(X).fill({j: (np.array(rows), cells) for j, (rows, cells) in holes.items()})


# --- pandas: type that comes in, filled value, type that goes out -----------------------------------------------------

TEXT = str(pd.Series(["a"]).dtype)  # "str" from pandas 3 on, "object" before
PANDAS = {
    "float": (pd.Series([1.5, None]), np.array([0.1]), "float64"),
    "float32": (pd.Series([1.5, None], dtype="float32"), np.array([0.1]), "float32"),
    "Int64 whole": (pd.Series([2**60 + 1, None], dtype="Int64"), np.array([3.0]), "Int64"),
    "Int64 fraction": (pd.Series([1, None], dtype="Int64"), np.array([2.5]), "Float64"),
    "Int8 too large": (pd.Series([1, None], dtype="Int8"), np.array([300.0]), "Float64"),
    "Float64": (pd.Series([1.5, None], dtype="Float64"), np.array([2.5]), "Float64"),
    "boolean": (pd.Series([True, None], dtype="boolean"), np.array([False]), "boolean"),
    "objects of truth": (pd.Series([True, None], dtype=object), np.array([False]), "object"),
    "objects of text": (pd.Series(["a", None], dtype=object), objects("b"), "object"),
    "str": (pd.Series(["a", None], dtype="str"), objects("b"), TEXT),
    "string": (pd.Series(["a", None], dtype="string"), objects("b"), "string"),
    "arrow int": (pd.Series([1, None], dtype="int64[pyarrow]"), np.array([2.0]), "int64[pyarrow]"),
    "arrow int fraction": (pd.Series([1, None], dtype="int64[pyarrow]"), np.array([2.5]), "double[pyarrow]"),
    "arrow text": (pd.Series(["a", None], dtype="string[pyarrow]"), objects("b"), "string"),
    "numbers of levels": (pd.Series([2007.0, None]), np.array([2008]), "float64"),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_types_are_kept_where_they_hold_the_values(name) -> None:
    series, cells, dtype = PANDAS[name]
    X = pd.DataFrame({"a": series})
    X.index = ["u", "v"]
    before = X.copy()
    found = fill(X, {0: ([1], cells)})
    assert str(found["a"].dtype) == dtype
    assert found.index.tolist() == ["u", "v"]
    assert found["a"].iloc[0] == series.iloc[0]
    assert found["a"].iloc[1] == (pytest.approx(cells[0], rel=1e-7) if cells.dtype.kind == "f" else cells[0])
    pd.testing.assert_frame_equal(X, before)


def test_pandas_categories_stay_and_lacking_ones_are_added() -> None:
    X = pd.DataFrame({"a": pd.Categorical(["y", None, None], categories=["z", "y"], ordered=True)})
    found = fill(X, {0: ([1, 2], objects("z", "new"))})["a"]
    assert found.tolist() == ["y", "z", "new"]
    assert found.cat.categories.tolist() == ["z", "y", "new"]
    assert found.cat.ordered
    numbers = pd.DataFrame({"a": pd.Categorical([2007, None], categories=[2007, 2008])})
    assert fill(numbers, {0: ([1], np.array([2008]))})["a"].cat.categories.tolist() == [2007, 2008]


def test_pandas_column_labels_of_any_kind() -> None:
    X = pd.DataFrame({0: [1.0, None], ("x", 1): [None, 2.0]})
    found = fill(X, {0: ([1], np.array([5.0])), 1: ([0], np.array([6.0]))})
    assert found.columns.tolist() == X.columns.tolist()
    assert found.to_numpy().tolist() == [[1.0, 6.0], [5.0, 2.0]]


@pytest.mark.parametrize(
    ("empty", "cells", "values"),
    [
        (pd.Series([None, None], dtype=object), np.array([1.5, 2.5]), [1.5, 2.5]),
        (pd.Series([None, None], dtype="str"), np.array([1.5, 2.5]), [1.5, 2.5]),
        (pd.Series([np.nan, np.nan]), objects("a", "b"), ["a", "b"]),
        (pd.Series([None, None], dtype="boolean"), np.array([True, False]), [True, False]),
        (pl.Series([None, None]), objects("a", "b"), ["a", "b"]),
        (pl.Series([None, None], dtype=pl.Float64), objects("a", "b"), ["a", "b"]),
        (pl.Series([None, None], dtype=pl.String), np.array([1.5, 2.5]), [1.5, 2.5]),
        (pa.chunked_array([pa.nulls(2)]), np.array([True, False]), [True, False]),
    ],
)
def test_columns_without_any_value_take_a_type_that_fits(empty, cells, values) -> None:
    frame = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(empty), pa.table)({"a": empty})
    found = fill(frame, {0: ([0, 1], cells)})["a"]
    assert (found.to_pylist() if isinstance(found, pa.ChunkedArray) else found.to_list()) == values


# --- polars and pyarrow -----------------------------------------------------------------------------------------------

POLARS = {
    "Int64 whole": (pl.Series([2**60 + 1, None]), np.array([3.0]), pl.Int64),
    "Int64 fraction": (pl.Series([1, None]), np.array([2.5]), pl.Float64),
    "UInt8 negative": (pl.Series([1, None], dtype=pl.UInt8), np.array([-1.0]), pl.Float64),
    "Float32": (pl.Series([1.5, None], dtype=pl.Float32), np.array([0.5]), pl.Float32),
    "NaN": (pl.Series([1.5, float("nan")]), np.array([0.5]), pl.Float64),
    "Boolean": (pl.Series([True, None]), np.array([False]), pl.Boolean),
    "String": (pl.Series(["a", None]), objects("b"), pl.String),
    "Categorical": (pl.Series(["a", None], dtype=pl.Categorical), objects("b"), pl.Categorical),
    "Enum": (pl.Series(["a", None], dtype=pl.Enum(["b", "a"])), objects("b"), pl.Enum(["b", "a"])),
    "Enum grows": (pl.Series(["a", None], dtype=pl.Enum(["b", "a"])), objects("c"), pl.Enum(["b", "a", "c"])),
    "Decimal": (pl.Series([decimal.Decimal("1.5"), None]), np.array([0.25]), pl.Float64),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars_types(name) -> None:
    series, cells, dtype = POLARS[name]
    found = fill(pl.DataFrame({"a": series, "b": [1, 2]}), {0: ([1], cells)})
    assert found.columns == ["a", "b"]
    assert found["a"].dtype == dtype
    assert found["a"].to_list() == [series[0], cells[0]]


ARROW = {
    "int": (pa.array([2**60 + 1, None]), np.array([3.0]), pa.int64()),
    "int fraction": (pa.array([1, None]), np.array([2.5]), pa.float64()),
    "int8": (pa.array([1, None], pa.int8()), np.array([2.0]), pa.int8()),
    "float32": (pa.array([1.5, None], pa.float32()), np.array([0.5]), pa.float32()),
    "bool": (pa.array([True, None]), np.array([False]), pa.bool_()),
    "string": (pa.array(["a", None]), objects("b"), pa.string()),
    "large string": (pa.array(["a", None], pa.large_string()), objects("b"), pa.large_string()),
    "dictionary": (pa.array(["a", None]).dictionary_encode(), objects("b"), pa.dictionary(pa.int32(), pa.string())),
    "small dictionary": (
        pa.array(["a", None]).cast(pa.dictionary(pa.int8(), pa.string())),
        objects("b"),
        pa.dictionary(pa.int8(), pa.string()),
    ),
}


@pytest.mark.parametrize("name", ARROW)
def test_pyarrow_types(name) -> None:
    column, cells, dtype = ARROW[name]
    found = fill(pa.table({"a": pa.chunked_array([column, column]), "b": [1, 2, 3, 4]}), {0: ([3, 1], cells.repeat(2))})
    assert found.column_names == ["a", "b"]
    assert found["a"].type == dtype
    assert found["a"].to_pylist() == [column[0].as_py(), cells[0]] * 2


# --- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_of_floats(dtype) -> None:
    X = np.array([[0.1, np.nan], [0.2, 0.3]], dtype=dtype)
    found = fill(X, {1: ([0], np.array([7.5]))})
    assert found.dtype == dtype
    assert found.tolist() == [[X[0, 0], 7.5], X[1].tolist()]
    assert np.isnan(X[0, 1])


def test_arrays_of_objects_take_python_values() -> None:
    X = np.array([["a", 1.0, True], [None, None, None]], dtype=object)
    found = fill(X, {0: ([1], objects("b")), 1: ([1], np.array([2.5])), 2: ([1], np.array([False]))})
    assert found.tolist() == [["a", 1.0, True], ["b", 2.5, False]]
    assert [type(cell) for cell in found[1]] == [str, float, bool]


# --- new tables -------------------------------------------------------------------------------------------------------

COLUMNS = [
    NewColumn("x", Kind.NUMERIC, np.array([0.5, 1.5])),
    NewColumn("n", Kind.NUMERIC, np.array([1, 2])),
    NewColumn("t", Kind.BOOLEAN, np.array([True, False])),
    NewColumn("c", Kind.CATEGORICAL, objects("u", "v"), ("u", "v", "w")),
    NewColumn("s", Kind.STRING, objects("p", None), ("p",)),
]
ROWS = [[0.5, 1, True, "u", "p"], [1.5, 2, False, "v", None]]


def test_new_data_frames() -> None:
    made = make_table("pandas", True, COLUMNS)
    assert [str(kind) for kind in made.dtypes] == ["float64", "int64", "bool", "category", TEXT]
    assert made["c"].cat.categories.tolist() == ["u", "v", "w"]
    assert made["s"].isna().tolist() == [False, True]
    made = make_table("polars", True, COLUMNS)
    assert made.dtypes == [pl.Float64, pl.Int64, pl.Boolean, pl.Categorical, pl.String]
    assert [list(row) for row in made.rows()] == ROWS
    made = make_table("pyarrow", True, COLUMNS)
    kinds = [pa.float64(), pa.int64(), pa.bool_(), pa.dictionary(pa.int32(), pa.string()), pa.string()]
    assert made.schema.types == kinds
    assert [list(row.values()) for row in made.to_pylist()] == ROWS


def test_new_arrays() -> None:
    assert make_table("numpy", False, COLUMNS).tolist() == ROWS
    assert make_table("numpy", False, COLUMNS[:2]).dtype == np.float64
    assert make_table("numpy", False, COLUMNS[1:2]).dtype == np.int64
    positions = [column._replace(name=j) for j, column in enumerate(COLUMNS)]
    assert make_table("pandas", False, positions).columns.tolist() == [0, 1, 2, 3, 4]


def test_a_missing_library_gives_way_to_another(monkeypatch) -> None:
    monkeypatch.setattr("suffice.table.writing.find_spec", lambda name: None if name == "pandas" else name)
    assert isinstance(make_table("pandas", True, COLUMNS), pl.DataFrame)
    monkeypatch.setattr("suffice.table.writing.find_spec", lambda name: None)
    assert make_table("pandas", True, COLUMNS).tolist() == ROWS
