"""Sums inside DuckDB give the statistics of the rows themselves; what they cannot do is read as ever."""

import numpy as np
import pyarrow as pa
import pytest

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.engines import sources
from suffice.errors import DataError, SettingError

duckdb = pytest.importorskip("duckdb")

# Sums of 600 rows in another order: 600 roundings of 1e-16 on numbers of about the size of the sum.
CLOSE = 1e-12


@pytest.fixture
def table(rng):
    n = 600
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + y[:, None] + [0.0, 1e8, 5.0]
    words = np.array(["red", "green", "{blue}"])[rng.integers(0, 3, n)].astype(object)
    words[rng.random(n) < 0.1] = None
    return pa.table(
        {'x "0"': X[:, 0], "x{1}": X[:, 1], "x2": X[:, 2], "count": rng.integers(0, 9, n), "wet": rng.random(n) < 0.4}
        | {"word": pa.array(words), "copies": rng.integers(0, 3, n), "kind": np.array(["ash", "elm", "oak"])[y]}
    )


def relation(table):
    connection = duckdb.connect()
    connection.register("trees", table)
    return connection.sql("select * from trees")


@pytest.fixture
def read(monkeypatch):
    """The columns of every stream that was read."""
    seen = []
    plain = sources.Source.parts

    def parts(self, columns, rows):
        seen.append(list(columns))
        return plain(self, columns, rows)

    monkeypatch.setattr(sources.Source, "parts", parts)
    return seen


NUMBERS = ['x "0"', "x{1}", "x2", "count"]
MODELS = {
    "full": (GaussianDiscriminant, NUMBERS),
    "shared": (lambda **told: GaussianDiscriminant(shared=True, divisor="unbiased", **told), NUMBERS),
    "spherical": (lambda **told: GaussianDiscriminant(covariance="spherical", **told), NUMBERS),
    "naive Bayes": (NaiveBayes, [*NUMBERS, "wet", "word"]),
    "words alone": (NaiveBayes, ["word"]),
    "block": (lambda **told: NaiveBayes({("x2", "count"): "gaussian"}, **told), ["x2", "count", "word"]),
}


def assert_same(one, other):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.statistics_.rows == other.statistics_.rows
    np.testing.assert_allclose(one.statistics_.weight, other.statistics_.weight, rtol=CLOSE)
    for a, b in zip(one.statistics_.blocks, other.statistics_.blocks, strict=True):
        (fields, plain), (expected, told) = a.arrays(), b.arrays()
        assert plain == told
        assert sorted(fields) == sorted(expected)
        for name, values in expected.items():
            np.testing.assert_allclose(fields[name], values, rtol=CLOSE, atol=CLOSE * np.abs(values).max(initial=0.0))


@pytest.mark.parametrize("weight", [None, "copies"])
@pytest.mark.parametrize(("make", "columns"), MODELS.values(), ids=MODELS)
def test_sums_are_the_statistics_of_the_rows(make, columns, weight, table, read):
    """Also of a column whose mean is ten million times its spread."""
    model = make(keep_rows=0).fit_table(relation(table), "kind", columns=columns, weight=weight, engine="duckdb")
    assert not read  # no row has left the database
    assert_same(model, make(keep_rows=0).fit_table(table, "kind", columns=columns, weight=weight))


def test_rows_that_are_kept_are_those_of_any_engine(table, read):
    connection = duckdb.connect()
    connection.register("trees", table)
    source = (connection, "select * from trees where copies > 0")
    model = NaiveBayes(keep_rows=100).fit_table(source, "kind", columns=["x2", "word"], engine="duckdb")
    assert len(read) == 1
    kept = table.filter(np.asarray(table["copies"]) > 0)
    expected = NaiveBayes(keep_rows=100).fit_table(kept, "kind", columns=["x2", "word"])
    for name, values in expected.statistics_.sample.arrays()[0].items():
        np.testing.assert_array_equal(model.statistics_.sample.arrays()[0][name], values)
    assert_same(model, expected)
    assert connection.sql("select count(*) from duckdb_views() where not internal").fetchall() == [(1,)]


def test_cells_and_labels_that_are_missing(table, read, rng):
    gone = rng.random(600) < 0.2
    x2 = np.where(gone, np.nan, np.asarray(table["x2"]))
    kind = pa.array(np.asarray(table["kind"]), mask=rng.random(600) < 0.1)
    own = table.set_column(2, "x2", pa.array(x2, from_pandas=True)).set_column(7, "kind", kind)
    told = {"columns": ["x2", "count", "word"], "unlabelled": "skip"}
    model = NaiveBayes(keep_rows=0).fit_table(relation(own), "kind", engine="duckdb", **told)
    assert not read
    assert_same(model, NaiveBayes(keep_rows=0).fit_table(own, "kind", **told))
    assert "left out" in str(model.notes_[0])
    nan = own.set_column(2, "x2", pa.array(x2))  # NaN in place of null
    assert_same(NaiveBayes(keep_rows=0).fit_table(relation(nan), "kind", engine="duckdb", **told), model)


@pytest.mark.parametrize(
    ("model", "columns", "hole"),
    [
        (GaussianDiscriminant(), ["x2", "count"], True),  # cells missing in a full covariance
        (NaiveBayes("laplace"), ["x2", "count"], False),
        (MixtureDiscriminant(2, random_state=0), ["x2", "count"], False),
        (NaiveBayes({"count": "categorical"}), ["x2", "count"], False),  # levels that are numbers
    ],
)
def test_what_sums_do_not_do_is_read(model, columns, hole, table, read):
    if hole:
        table = table.set_column(2, "x2", pa.array([None, *np.asarray(table["x2"])[1:]], pa.float64()))
    found = type(model)(**model.get_params()).fit_table(relation(table), "kind", columns=columns, engine="duckdb")
    assert read
    expected = model.fit_table(table, "kind", columns=columns)
    np.testing.assert_allclose(
        found.predict_proba(table.select(columns)), expected.predict_proba(table.select(columns)), atol=1e-9
    )


def test_refusals_are_those_of_the_rows(table):
    bad = table.set_column(2, "x2", pa.array([np.inf, *np.asarray(table["x2"])[1:]]))
    with pytest.raises(DataError, match="infinity in column 'x2'"):
        NaiveBayes().fit_table(relation(bad), "kind", columns=["x2"], engine="duckdb")
    with pytest.raises(DataError, match="infinite or negative"):
        NaiveBayes().fit_table(relation(table), "kind", columns=["count"], weight='x "0"', engine="duckdb")
    with pytest.raises(SettingError, match="adds up inside DuckDB, and The table is no relation"):
        NaiveBayes().fit_table(table, "kind", engine="duckdb")
