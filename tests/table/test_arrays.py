"""Arrays and lists of rows: kinds, levels, codes, missing cells, and what is refused."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from as_read import cells, kinds
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from suffice.errors import DataError, SchemaError
from suffice.schema import Kind
from suffice.table import factorize, read_table, recode

NAN = float("nan")


# --- one table, many containers ---

NUMBERS = [[1.5, -2.0], [NAN, 0.0], [3.0, NAN]]
CONTAINERS = {
    "float64": np.array(NUMBERS),
    "float32": np.array(NUMBERS, dtype=np.float32),
    "float16": np.array(NUMBERS, dtype=np.float16),
    "object": np.array([[1.5, -2], [None, 0], [Decimal("3"), NAN]], dtype=object),
    "pandas.NA": np.array([[1.5, -2], [pd.NA, 0], [3, pd.NA]], dtype=object),
    "masked": np.ma.masked_array([[1.5, -2], [9, 0], [3, 9]], mask=[[0, 0], [1, 0], [0, 1]]),
    "list": NUMBERS,
    "list with None": [[1.5, -2], [None, 0], [3, None]],
    "tuple of lists": tuple(NUMBERS),
    "rows are arrays": [np.array(row) for row in NUMBERS],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_numbers_in_any_container(container):
    table = read_table(CONTAINERS[container])
    assert_array_equal(table.numeric([0, 1]), NUMBERS)
    assert_array_equal(table.numeric([1]), np.array(NUMBERS)[:, [1]])
    assert kinds(CONTAINERS[container]) == ["numeric", "numeric"]
    assert cells(CONTAINERS[container]) == [1.5, None, 3]
    assert not table.schema.named
    assert table.schema.names == (0, 1)
    assert table.rows == 3


TEXT = {
    "str": np.array([["x"], [""], ["é"]]),
    "bytes": np.array([[b"x"], [b""], ["é".encode()]]),
    "StringDType": np.array([["x"], [""], ["é"]], dtype=np.dtypes.StringDType()),
    "object": np.array([["x"], [""], ["é"]], dtype=object),
    "list": [["x"], [""], ["é"]],
}


@pytest.mark.parametrize("container", TEXT)
def test_text_in_any_container(container):
    assert kinds(TEXT[container]) == ["string"]
    assert cells(TEXT[container]) == ["x", "", "é"]
    assert read_table(TEXT[container]).categories(0)[0] == ("", "x", "é")


@pytest.mark.parametrize(
    "X",
    [
        np.array([["x"], [None], [NAN], [pd.NA], [pd.NaT]], dtype=object),
        [["x"], [None], [NAN], [None], [None]],
        np.ma.masked_array([["x"], ["y"], ["a"], [""], ["?"]], mask=[[0], [1], [1], [1], [1]]),
    ],
    ids=["object", "list", "masked"],
)
def test_missing_text(X):
    assert kinds(X) == ["string"]
    assert cells(X) == ["x", None, None, None, None]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[True], [False]]),
        np.array([[True], [False], [None]], dtype=object),
        np.ma.masked_array([[True], [False], [True]], mask=[[0], [0], [1]]),
        [["t", True], ["f", False]],
    ],
    ids=["bool", "object", "masked", "list"],
)
def test_truth_values(X):
    position = len(kinds(X)) - 1
    assert kinds(X)[position] == "boolean"
    assert cells(X, position)[:2] == [True, False]
    assert cells(X, position)[2:] in ([], [None])
    assert_array_equal(read_table(X).numeric([position])[:2], [[1.0], [0.0]])


def test_rows_that_mix_text_and_numbers_keep_both():
    """np.asarray would turn every cell into text, and NaN into the word "nan"."""
    X = [["red", 1.0, True], ["blue", 2, False], ["nan", NAN, None]]
    assert kinds(X) == ["string", "numeric", "boolean"]
    assert cells(X, 0) == ["red", "blue", "nan"]
    assert cells(X, 1) == [1, 2, None]
    assert kinds([tuple(row) for row in X]) == kinds(X)
    assert kinds(np.array(X, dtype=object)) == kinds(X)


def test_a_column_without_any_value_is_of_no_kind():
    X = np.array([[None, 1], [NAN, 2]], dtype=object)
    assert kinds(X) == ["empty", "numeric"]
    assert cells(X) == [None, None]
    assert np.isnan(read_table(X).numeric([0])).all()


# --- levels ---


def test_equal_numbers_are_one_level():
    assert cells(np.array([[1.0], [True], [1]], dtype=object)) == [1, 1, 1]
    levels = {tuple(read_table(np.array(X)).categories(0)[0]) for X in ([[0], [1]], [[0.0], [1.0]], [[False], [True]])}
    assert len(levels) == 1
    assert cells(np.array([[0.0], [-0.0]])) == [0, 0]


@pytest.mark.parametrize(
    "values",
    [
        np.array([-100, 100, 0, -100], dtype=np.int8),
        np.array([0, 255], dtype=np.uint8),
        np.array([-32768, 32767], dtype=np.int16),
        np.array([-5, -3, -5], dtype=np.int64),
        np.array([2**53, 2**53 + 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**63 + 5, 2**63 + 6, 2**64 - 1], dtype=np.uint64),
        np.array([0, 5000, 10**9]),
        np.array([7]),
        np.array([], dtype=np.int64),
    ],
    ids=lambda values: f"{values.dtype} {values.tolist()}",
)
def test_integers_of_any_size_are_exact(values):
    levels, codes = factorize(values, "column")
    assert [levels[code] for code in codes.tolist()] == values.tolist()
    assert levels == tuple(sorted(set(values.tolist())))
    assert all(type(level) is int for level in levels)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.integers(-5000, 5000) | st.just(NAN), min_size=1, max_size=20))
def test_objects_and_floats_give_the_same_levels(values):
    plain = [None if value is None or value != value else value for value in values]
    found = cells(np.array(values, dtype=object)[:, None])
    assert found == plain
    as_float = np.array([NAN if value is None else value for value in plain], dtype=float)
    assert cells(as_float[:, None]) == plain
    if None not in plain:
        assert cells(np.array(plain)[:, None]) == plain


def test_unreadable_bytes_stay_apart():
    assert len(set(cells(np.array([[b"\xff"], [b"\xfe"]])))) == 2


def test_recode_knows_unseen_levels():
    codes = np.array([0, 1, -1, 2])
    assert_array_equal(recode(("a", "b", "c"), codes, ("b", "c", "d")), [3, 0, -1, 1])
    assert recode(("a", "b"), codes, ("a", "b")) is codes
    assert_array_equal(recode((0, 1), np.array([0, 1]), (False, True)), [0, 1])
    assert_array_equal(recode((1,), np.array([0]), ("1",)), [1])  # a number is not its text


# --- refused ---


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_infinity_is_an_error_that_names_the_column(value, dtype):
    X = np.array([[1.0, 2.0, 3.0], [1.0, value, NAN]]).astype(dtype)
    with pytest.raises(DataError, match=r"infinity in column 1\..*missing"):
        read_table(X).numeric([0, 1, 2])
    with pytest.raises(DataError, match=r"column 1"):
        read_table(X).numeric([1])
    assert_array_equal(read_table(X).numeric([0]), [[1.0], [1.0]])
    if dtype is not object:
        with pytest.raises(DataError, match=r"column 1"):
            read_table(X).categories(1)


def test_numbers_that_only_sum_to_infinity_are_finite():
    X = np.full((3, 2), 1e150)
    assert_array_equal(read_table(X).numeric([0, 1]), X)
    with pytest.raises(DataError, match="squares overflow"):
        read_table(X * 1e50).numeric([0, 1])
    X32 = np.full((3, 2), 3e38, dtype=np.float32)
    assert_array_equal(read_table(X32).numeric([0, 1]), X32)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["1", 2]], dtype=object).T, r"Column 0 mixes values of the types int, str"),
        (np.array([[True], ["yes"]], dtype=object), r"Column 0 mixes"),
        (np.array([[dt.timedelta(1)]], dtype=object), r"dates or times"),
        (np.array([[1]], dtype="m8[s]"), r"dates or times"),
        (np.array([[{"a": 1}]], dtype=object), r"Column 0 has type dict"),
        (np.zeros((2, 2), dtype=[("a", float)]), r"Next"),
    ],
    ids=["text and number", "bool and text", "timedelta", "m8", "dict", "record"],
)
def test_cells_of_other_types_are_refused_by_name(X, message):
    with pytest.raises(SchemaError, match=message):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"Expected 2D array, got 1D array.*reshape"),
        (np.zeros((2, 2, 2)), r"Expected 2D array, got 3D array"),
        (np.array(5.0), r"scalar array"),
        (None, r"scalar array"),
        ([1.0, 2.0], r"Expected 2D array"),
        ([[1.0], [1.0, 2.0]], r"Row 1 has 2 cells and the first row has 1"),
        ([["a"], ["b", 1]], r"Row 1 has 2 cells"),
        (np.array([[1j]]), r"Complex data not supported"),
        (np.array([[10**400]], dtype=object), r"infinity in column 0"),
    ],
    ids=["1-D", "3-D", "scalar", "None", "flat list", "ragged", "ragged text", "complex", "huge integer"],
)
def test_shapes_and_numbers_that_cannot_be_read(X, message):
    with pytest.raises(DataError, match=message):
        read_table(X).numeric([0])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_tables_are_read_as_dense_ones(make):
    X = np.array([[0.0, 2.5, 1.0], [3.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    table = read_table(make(X))
    np.testing.assert_array_equal(table.numeric([2, 0]), X[:, [2, 0]])
    levels, codes = table.categories(1)
    assert (tuple(levels), codes.tolist()) == ((-1.0, 0.0, 2.5), [2, 1, 0])


def test_sparse_truth_values_have_both_levels():
    table = read_table(sparse.csr_array(np.array([[True, False], [True, False]])))
    assert [(tuple(levels), codes.tolist()) for levels, codes in map(table.categories, (0, 1))] == [
        ((False, True), [1, 1]),
        ((False, True), [0, 0]),
    ]


def test_other_objects_with_an_array_inside_are_arrays():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.ones((2, 3))

    assert read_table(Wrapped()).rows == 2
    assert {column.kind for column in read_table(Wrapped()).schema.columns} == {Kind.NUMERIC}
