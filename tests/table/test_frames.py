"""pandas, polars and pyarrow tables give the blocks and codes that the same table gives as an array."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from as_read import cells, kinds
from numpy.testing import assert_array_equal

from suffice import NaiveBayes
from suffice.errors import DataError, SchemaError
from suffice.table import label_values, read_table

NAN = float("nan")


def pandas(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def polars(values, dtype=None):
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype, strict=False)})


def arrow(values, dtype=None):
    return pa.table({"a": pa.array(values, type=dtype)})


def chunked(*chunks):
    return pa.table({"a": pa.chunked_array([pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks])})


NUMBERS = [1, None, 0, 3]
NUMERIC = {
    "pandas float": pandas([1.0, NAN, 0.0, 3.0]),
    "pandas Int64": pandas(NUMBERS, "Int64"),
    "pandas Int8": pandas(NUMBERS, "Int8"),
    "pandas UInt64": pandas(NUMBERS, "UInt64"),
    "pandas Float64": pandas(NUMBERS, "Float64"),
    "pandas object": pandas(NUMBERS, object),
    "pandas Decimal": pandas([Decimal(1), None, Decimal(0), Decimal(3)], object),
    "pandas int64[pyarrow]": pandas(NUMBERS, "int64[pyarrow]"),
    "polars int": polars(NUMBERS),
    "polars float": polars([1.0, None, 0.0, 3.0]),
    "polars NaN": polars([1.0, NAN, 0.0, 3.0]),
    "polars UInt8": polars(NUMBERS, pl.UInt8),
    "polars Decimal": polars([Decimal("1.0"), None, Decimal("0.0"), Decimal("3.0")]),
    "pyarrow int": arrow(NUMBERS),
    "pyarrow uint64": arrow(NUMBERS, pa.uint64()),
    "pyarrow float NaN": arrow([1.0, NAN, 0.0, 3.0]),
    "pyarrow half": arrow([np.float16(1), None, np.float16(0), np.float16(3)], pa.float16()),
    "pyarrow decimal": arrow([Decimal("1.0"), None, Decimal("0.0"), Decimal("3.0")]),
    "pyarrow chunks": pa.table({"a": pa.chunked_array([[1, None], [], [0, 3]], type=pa.int64())}),
    "pyarrow batch": pa.record_batch({"a": pa.array(NUMBERS)}),
    "pyarrow reader": arrow(NUMBERS).to_reader,
}


@pytest.mark.parametrize("container", NUMERIC)
def test_numbers(container):
    X = NUMERIC[container]
    fresh = X if callable(X) else lambda: X  # a reader can be read once
    table = read_table(fresh())
    assert table.schema.names == ("a",)
    assert table.schema.named
    assert table.rows == 4
    assert kinds(fresh()) == ["numeric"]
    assert_array_equal(table.numeric([0])[:, 0], [1, NAN, 0, 3])
    assert cells(fresh()) == NUMBERS


TRUTH = {
    "pandas boolean": pandas([True, None, False], "boolean"),
    "pandas object": pandas([True, None, False], object),
    "pandas bool[pyarrow]": pandas([True, None, False], "bool[pyarrow]"),
    "polars": polars([True, None, False]),
    "pyarrow": arrow([True, None, False]),
}


@pytest.mark.parametrize("container", TRUTH)
def test_truth_values(container):
    assert kinds(TRUTH[container]) == ["boolean"]
    assert cells(TRUTH[container]) == [True, None, False]
    assert_array_equal(read_table(TRUTH[container]).numeric([0])[:, 0], [1, NAN, 0])


WORDS = ["x", None, "", "é", "x"]
TEXT = {
    "pandas object": (pandas(WORDS, object), "string"),
    "pandas str": (pandas(WORDS, "str"), "string"),
    "pandas string": (pandas(WORDS, "string"), "string"),
    "pandas string[pyarrow]": (pandas(WORDS, "string[pyarrow]"), "string"),
    "pandas NA, NaN": (pandas(["x", pd.NA, "", "é", "x"], object), "string"),
    "pandas category": (pandas(WORDS, "category"), "categorical"),
    "pandas ordered": (pandas(pd.Categorical(WORDS, ordered=True)), "categorical"),
    "pandas dictionary": (chunked(WORDS[:2], WORDS[2:]).to_pandas(types_mapper=pd.ArrowDtype), "categorical"),
    "polars": (polars(WORDS), "string"),
    "polars Object": (polars(WORDS, pl.Object), "string"),
    "polars Categorical": (polars(WORDS, pl.Categorical), "categorical"),
    "polars Enum": (polars(WORDS, pl.Enum(["é", "x", ""])), "categorical"),
    "pyarrow": (arrow(WORDS), "string"),
    "pyarrow large": (arrow(WORDS, pa.large_string()), "string"),
    "pyarrow view": (arrow(WORDS, pa.string_view()), "string"),
    "pyarrow dictionary": (chunked(WORDS), "categorical"),
    "pyarrow chunked dictionary": (chunked(WORDS[:2], [], WORDS[2:4], WORDS[4:]), "categorical"),
}


@pytest.mark.parametrize("container", TEXT)
def test_text(container):
    X, kind = TEXT[container]
    assert kinds(X) == [kind]
    assert cells(X) == WORDS
    assert read_table(X).categories(0)[0] == ("", "x", "é")
    with pytest.raises(SchemaError, match="column 'a' holds categories"):
        read_table(X).numeric([0])


def test_nulls_of_a_chunked_dictionary_stay_missing():
    """`to_numpy` of a chunked pyarrow dictionary turns its nulls into a real category; ours must not."""
    column = chunked(["u", None], ["v", None, "u"])["a"]
    assert label_values(column).tolist() == ["u", None, "v", None, "u"]
    inside = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["u", None]))
    assert cells(pa.table({"a": inside})) == ["u", None, None]
    assert cells(chunked([None])) == [None]


@pytest.mark.parametrize("values", [[5, None, 7], [5.0, None, 7.5], [True, None, False]])
def test_categories_that_are_no_text_stay_what_they_are(values):
    coded = pa.table({"a": pa.array(values).dictionary_encode()})
    for X in (coded, coded.to_pandas(), pandas(pd.Categorical(values, ordered=True))):
        assert kinds(X) == ["categorical"]
        assert cells(X) == values


def test_declared_categories_are_levels_even_if_unseen():
    for X in (
        pandas(pd.Categorical(["b", None], categories=["c", "b", "a"])),
        polars(["b", None], pl.Enum(["c", "b", "a"])),
    ):
        assert read_table(X).categories(0)[0] == ("a", "b", "c")
        assert cells(X) == ["b", None]
    assert read_table(pandas(pd.Categorical([3], categories=[9, 3]))).categories(0)[0] == (3, 9)


def test_intervals_go_by_their_text():
    X = pandas(pd.cut([1.0, 2.0, 4.0], [0, 2, 5]))
    assert cells(X) == ["(0, 2]", "(0, 2]", "(2, 5]"]


@pytest.mark.parametrize("big", [2**53, -(2**53), 2**62])
def test_large_integers_are_exact_beside_a_null(big):
    for X in (pandas([big + 1, big, None], "Int64"), polars([big + 1, big, None]), arrow([big + 1, big, None])):
        assert cells(X) == [big + 1, big, None]
        assert_array_equal(read_table(X).numeric([0])[:, 0], [float(big + 1), float(big), NAN])


@pytest.mark.parametrize("X", [pandas([None, None], object), polars([None, None]), arrow([None, None])])
def test_a_column_of_nulls_is_of_no_kind(X):
    assert kinds(X) == ["empty"]
    assert cells(X) == [None, None]
    assert np.isnan(read_table(X).numeric([0])).all()


def test_a_text_column_of_nulls_reads_as_missing_numbers():
    for X in (pandas([None, None], "string"), polars([None, None], pl.String), arrow([None, None], pa.string())):
        assert np.isnan(read_table(X).numeric([0])).all()


# --- names ---


def test_names_that_are_no_text_are_positions():
    for columns in ([3, 4], ["3", 4], pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])):
        table = read_table(pd.DataFrame([[1, 2], [3, 5]], columns=columns))
        assert table.schema.names == (0, 1)
        assert not table.schema.named
        assert_array_equal(table.numeric([1, 0]), [[2, 1], [5, 3]])


@pytest.mark.parametrize(
    ("X", "named"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "'a'"),
        (pd.DataFrame([[1, 2, 3, 4]], columns=[1, "1", 1.0, 2]), "1\\."),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "'a'"),
    ],
)
def test_repeated_names_are_refused(X, named):
    with pytest.raises(SchemaError, match=f"several columns named {named}"):
        read_table(X)


# --- refused ---

DAY = dt.date(2020, 1, 1)


@pytest.mark.parametrize(
    "X",
    [
        pandas(pd.to_timedelta([1])),
        pandas(pd.Categorical(pd.to_datetime(["2020-01-01"]))),
        pandas(pd.Categorical([DAY])),
        polars([dt.timedelta(1)]),
        polars([dt.time(1)]),
        arrow([1], pa.time32("s")),
    ],
)
def test_times_durations_and_categories_of_dates_are_refused_with_advice(X):
    with pytest.raises(SchemaError, match=r"Column 'a' holds dates or times .*days since an event"):
        read_table(X).categories(0)


@pytest.mark.parametrize(
    "X",
    [
        pandas([1j]),
        pandas(pd.interval_range(0, 1)),
        pandas([{"a": 1}], object),
        polars([[1], [2]]),
        polars([b"1"]),
        polars([{"x": 1}]),
        arrow([[1]]),
        arrow([Decimal(1)], pa.decimal256(60)),
    ],
    ids=["complex", "interval", "dict", "list", "binary", "struct", "arrow list", "long decimal"],
)
def test_other_types_are_refused_by_name(X):
    with pytest.raises(SchemaError, match=r"Column 'a' has type (?!Unknown).*Next: convert"):
        read_table(X)


@pytest.mark.parametrize("values", [[1.5, None, 2.0], [True, False, None], ["x", None, "y"]])
def test_objects_that_begin_with_a_hundred_missing_cells_are_what_the_others_are(values):
    """narwhals takes the first hundred for the column."""
    late, early = read_table(pandas([*[None] * 150, *values], object)), read_table(pandas(values, object))
    assert late.schema.columns[0].kind is early.schema.columns[0].kind
    if isinstance(values[0], float):
        np.testing.assert_array_equal(late.numeric([0])[150:], early.numeric([0]))
    assert late.categories(0)[0] == early.categories(0)[0]


@pytest.mark.parametrize(
    "values", [[0, 0, 2, 0], [0.0, NAN, 1.5, 0.0], [False, True, False, False], ["u", "u", "v", "u"]]
)
def test_sparse_columns_are_read_as_dense_ones(values):
    dense = pd.DataFrame({"a": values, "b": list("wxyz")})
    X = dense.astype({"a": pd.SparseDtype(dense["a"].dtype)})
    assert kinds(X) == kinds(dense)
    assert cells(X) == cells(dense)


def test_long_doubles_are_read_as_doubles():
    assert_array_equal(read_table(pandas([1.5, NAN, 0.1], np.longdouble)).numeric([0])[:, 0], [1.5, NAN, 0.1])


def test_objects_of_mixed_types_are_refused_by_name():
    for X in (pandas(["1", 1], object), polars(["1", 1], pl.Object)):
        with pytest.raises(SchemaError, match=r"Column 'a' mixes values of the types int, str"):
            read_table(X)


def test_truth_values_have_both_levels_whatever_holds_them():
    """As objects, in lists or in typed columns; levels that do not occur count in smoothed shares."""
    tables = [
        pandas([False, None, False], object),
        pandas([False, None, False], "boolean"),
        polars([False, None, False]),
        polars([False, None, False], pl.Object),
        arrow([False, None, False]),
        [[False], [None], [False]],
        np.array([[False], [None], [False]], dtype=object),
    ]
    for X in tables:
        levels, codes = read_table(X).categories(0)
        assert (tuple(levels), codes.tolist()) == ((False, True), [0, -1, 0])
    assert tuple(read_table(np.zeros((2, 1), dtype=bool)).categories(0)[0]) == (False, True)


def test_integers_of_128_bits():
    X = pl.DataFrame({"a": pl.Series([2**100, None, -1], dtype=pl.Int128)})
    assert_array_equal(read_table(X).numeric([0])[:, 0], [2.0**100, np.nan, -1.0])
    assert cells(X) == [2**100, None, -1]
    assert label_values(pl.Series([2**100, 1], dtype=pl.Int128)).tolist() == [2**100, 1]


def test_a_signalling_nan_is_a_missing_cell():
    """pandas itself cannot ask whether one is missing."""
    X = pandas([Decimal("sNaN"), Decimal("1.5"), None], object)
    assert_array_equal(read_table(X).numeric([0])[:, 0], [np.nan, 1.5, np.nan])
    assert kinds(pandas([Decimal("sNaN"), None], object)) == ["empty"]


def test_columns_without_a_name():
    for names in ([np.nan, None], [None, None], [np.nan, np.nan], [pd.NA, 1, None]):
        X = pd.DataFrame(np.zeros((2, len(names))), columns=pd.Index(names, dtype=object))
        with pytest.raises(SchemaError, match=r"several columns (without a name|named)"):
            read_table(X)
    assert read_table(pd.DataFrame([[2.0, 3.0]], columns=[None, 1])).numeric([0, 1]).tolist() == [[2.0, 3.0]]


HALF = "half \ud83d"  # of a surrogate pair, which no encoding of Unicode holds


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python")])
def test_text_that_is_not_unicode_is_refused_by_name(dtype):
    column = pd.Series(["", None, HALF, "é"], dtype=dtype)
    with pytest.raises(SchemaError, match=r"Column 'a' has the text 'half \\ud83d'.*Next: read the table with"):
        read_table(pd.DataFrame({"a": column})).categories(0)
    with pytest.raises(SchemaError, match=r"Column 'y' has the text 'half \\ud83d'"):
        NaiveBayes().fit([[1.0], [2.0], [3.0], [4.0]], column.fillna(""))


def test_names_that_are_not_unicode_are_refused():
    with pytest.raises(SchemaError, match=r"A column has the name 'half \\ud83d', which is not valid Unicode"):
        read_table(pd.DataFrame([[1.0]], columns=pd.Index([HALF], dtype=object)))


@pytest.mark.parametrize("X", [pd.Series([1, 2]), pl.Series([1, 2]), pa.chunked_array([[1, 2]]), pa.array([1, 2])])
def test_a_single_column_is_no_table(X):
    with pytest.raises(DataError, match="Expected 2D array, got 1D array"):
        read_table(X)


def test_a_table_that_is_not_in_memory_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"LazyFrame.*collect it"):
        read_table(pl.LazyFrame({"a": [1]}))
