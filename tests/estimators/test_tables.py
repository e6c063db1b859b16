"""Models from tables in parts: equal to `fit` on the whole, whatever the source; answers are written whole or not."""

import errno

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.densities import Product
from suffice.engines import files, sources
from suffice.errors import DataError, SettingError, SourceError
from suffice.estimate.families import GaussianFamily

NUMBERS = ["x0", "x1", "x2"]


@pytest.fixture
def table(rng):
    n = 700
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + y[:, None] + [0.0, 1e4, 0.0]
    X[rng.random(X.shape) < 0.05] = np.nan
    late = np.where(np.arange(n) == n - 1, "last", np.array(["red", "green"])[rng.integers(0, 2, n)])
    return pa.table(
        {name: pa.array(column, from_pandas=True) for name, column in zip(NUMBERS, X.T, strict=True)}
        | {"colour": late, "wet": rng.random(n) < 0.3, "kind": np.array(["ash", "elm", "oak"])[y]}
        | {"copies": rng.integers(0, 3, n)}
    )


@pytest.fixture
def path(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    return tmp_path / "t.parquet"


@pytest.fixture
def small(monkeypatch):
    """Batches of a hundred rows."""
    monkeypatch.setattr(sources, "FEWEST_ROWS", 100)
    monkeypatch.setattr(sources, "MOST_ROWS", 100)


def assert_same(model, other, rows, atol=1e-12):
    assert model.classes_.tolist() == other.classes_.tolist()
    assert model.statistics_.rows == other.statistics_.rows
    np.testing.assert_allclose(model.statistics_.weight, other.statistics_.weight, rtol=1e-13)
    np.testing.assert_allclose(model.predict_log_proba(rows), other.predict_log_proba(rows), atol=atol, rtol=1e-12)


def bits(model):
    """Everything that was learned, as bytes."""
    arrays = [stats.arrays()[0] for stats in model.statistics_.blocks] + [model.statistics_.sample.arrays()[0]]
    return [(name, np.asarray(values).tobytes()) for own in arrays for name, values in sorted(own.items())]


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (GaussianDiscriminant(), NUMBERS),
        (GaussianDiscriminant(shared=True, divisor="unbiased"), NUMBERS),
        (GaussianDiscriminant(covariance="diagonal"), [*NUMBERS, "wet"]),
        (NaiveBayes(), [*NUMBERS, "colour", "wet"]),
        (NaiveBayes(families={"x0": "laplace"}), [*NUMBERS, "colour"]),
        (GenerativeClassifier(keep_rows=200), [*NUMBERS, "colour", "wet"]),
        (GenerativeForest(), [*NUMBERS, "colour", "wet"]),
        (GenerativeForest(keep_rows=60), [*NUMBERS, "colour", "wet"]),
    ],
    ids=["full", "shared", "diagonal", "bayes", "families", "automatic", "forest", "frozen forest"],
)
def test_equals_fit_on_the_whole_table(model, columns, table, path, small):
    whole = table.filter(np.asarray(table["copies"]) > 0)
    weight = whole["copies"].to_numpy()
    fitted = type(model)(**model.get_params()).fit(whole.select(columns), whole["kind"], sample_weight=weight)
    model.fit_table(path, "kind", weight="copies", columns=columns)
    assert_same(model, fitted, table.select(columns), atol=1e-8 if len(columns) == 5 else 1e-12)
    assert model._fitted.schema == fitted._fitted.schema
    assert [str(note) for note in model.notes_] == [str(note) for note in fitted.notes_]


def all_sources(table, path):
    folder = path.parent / "folder"
    for name in ("ash", "elm", "oak"):
        (folder / f"kind={name}").mkdir(parents=True)
        own = table.filter(np.asarray(table["kind"]) == name).drop_columns(["kind"])
        pq.write_table(own, folder / f"kind={name}" / "0.parquet")
    arrow_csv.write_csv(table, path.with_suffix(".csv"))
    with pa.ipc.new_file(path.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=33)
    batches = table.to_batches(max_chunksize=33)
    yield "parquet", str(path)
    yield "hive", folder
    yield "csv", path.with_suffix(".csv")
    yield "arrow", path.with_suffix(".arrow")
    yield "dataset", ds.dataset(path)
    yield "filtered dataset", ds.dataset(path).filter(ds.field("copies") >= 0)
    yield "table", table
    yield "reader", pa.RecordBatchReader.from_batches(table.schema, batches)
    yield "iterator", iter(batches)
    yield "list", batches
    yield "pandas", table.to_pandas()
    yield "polars", pl.from_arrow(table)
    yield "lazy", pl.scan_parquet(path)


def test_every_source_gives_the_same_model(table, path, small):
    columns = [*NUMBERS, "colour", "wet"]
    expected = NaiveBayes().fit(table.select(columns), table["kind"])
    for _, source in all_sources(table, path):
        model = NaiveBayes().fit_table(source, "kind", columns=columns)
        assert_same(model, expected, table.select(columns))


def test_duckdb_relations_and_queries(table, path):
    duckdb = pytest.importorskip("duckdb")
    columns = [*NUMBERS, "colour", "wet"]
    expected = NaiveBayes().fit(table.select(columns), table["kind"])
    connection = duckdb.connect()
    query = f'select *, 1 as "odd"" name" from read_parquet(\'{path}\')'
    for source in (connection.sql(query), (connection, query)):
        model = NaiveBayes().fit_table(source, "kind", columns=columns)
        assert_same(model, expected, table.select(columns))
        NaiveBayes().fit_table(source, "kind")


def test_the_bits_do_not_depend_on_threads_or_on_how_a_stream_is_cut(table, path, small, monkeypatch):
    first = bits(GaussianDiscriminant().fit_table(path, "kind", columns=NUMBERS))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert bits(GaussianDiscriminant().fit_table(path, "kind", columns=NUMBERS)) == first
    cut = [table.to_batches(max_chunksize=size) for size in (700, 33)]
    one, other = (bits(GaussianDiscriminant().fit_table(own, "kind", columns=NUMBERS)) for own in cut)
    assert one == other


@pytest.mark.parametrize(("model", "passes"), [(NaiveBayes(), 1), (GenerativeClassifier(keep_rows=100), 2)])
def test_passes_over_the_data(model, passes, path, monkeypatch):
    read = []
    plain = files.FilePart.tables

    def counted(self, columns, rows):
        for part in plain(self, columns, rows):
            read.append((self.group, part.num_rows, tuple(part.column_names)))
            yield part

    monkeypatch.setattr(files.FilePart, "tables", counted)
    model.fit_table(path, "kind", columns=["x0", "colour"])
    assert sum(rows for _, rows, _ in read) == passes * 700
    assert {names for *_, names in read} == {("x0", "colour", "kind")}  # no other column is read


def test_a_batch_without_a_value_or_a_label_is_no_trouble(table, tmp_path):
    n = 40
    x = pa.array([None] * n + [1.0, 2.0, 3.0, 5.0])
    word = pa.array([None] * n + ["a", "b", "a", "b"])
    kind = pa.array([None] * 20 + [0, 1] * 12)
    pq.write_table(pa.table({"x": x, "word": word, "kind": kind}), tmp_path / "t.parquet", row_group_size=10)
    model = NaiveBayes().fit_table(tmp_path / "t.parquet", "kind", unlabelled="skip")
    whole = pa.table({"x": x, "word": word}).slice(20)
    expected = NaiveBayes().fit(whole, kind.slice(20).cast(pa.int64()))
    assert_same(model, expected, whole)
    assert model.classes_.tolist() == [0, 1]
    assert "left out 20 rows without a label" in str(model.notes_[0])


def test_progress_knows_the_rows_and_the_time_left(path):
    seen = []
    GaussianDiscriminant().fit_table(path, "kind", columns=NUMBERS, progress=seen.append)
    assert [p.rows for p in seen] == [90, 180, 270, 360, 450, 540, 630, 700]
    assert {p.total for p in seen} == {700}
    assert seen[-1].seconds_left == 0
    assert all(p.seconds_left >= 0 for p in seen)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_refusals_name_file_and_row_group_and_leave_the_model(table, path):
    model = GaussianDiscriminant().fit_table(path, "kind", columns=NUMBERS)
    before = bits(model)
    bad = table.set_column(0, "x0", pa.array([0.0] * 500 + [np.inf] + [0.0] * 199))
    pq.write_table(bad, path, row_group_size=90)
    with pytest.raises(DataError, match=r"t\.parquet', row group 5: .*infinity in column 'x0'"):
        model.fit_table(path, "kind", columns=NUMBERS)
    assert bits(model) == before


@pytest.mark.parametrize(
    ("told", "error", "match"),
    [
        ({"target": "species"}, SourceError, "no column 'species' to be the target"),
        ({"weight": "heft"}, SourceError, "no column 'heft' to be the weight"),
        ({"columns": ["x9"]}, SourceError, "no column 'x9' to learn from"),
        ({"columns": ["x0", "kind"]}, DataError, "holds the target"),
        ({"weight": "x0"}, DataError, "cells are missing, infinite or negative"),
        ({"weight": "colour"}, DataError, "has the type string"),
        ({"unlabelled": "keep"}, SettingError, "unlabelled="),
        ({"engine": "hive"}, SettingError, "engine="),
        ({"engine": "duckdb"}, SettingError, "engine='duckdb'"),
    ],
)
def test_wrong_arguments(told, error, match, path):
    with pytest.raises(error, match=match):
        NaiveBayes().fit_table(path, **{"target": "kind", **told})


def test_what_is_no_table(table, tmp_path):
    with pytest.raises(DataError, match="is no table that can be read in parts"):
        NaiveBayes().fit_table(3, "kind")
    with pytest.raises(SourceError, match="holds no row"):
        NaiveBayes().fit_table(table.slice(0, 0), "kind")
    empty = pa.table({"x": pa.nulls(4), "y": [1, 2, 1, 2]})
    with pytest.raises(DataError, match="No column has a value"):
        NaiveBayes().fit_table(empty, "y")
    with pytest.raises(DataError, match=r"No row .* has a label"):
        NaiveBayes().fit_table(pa.table({"x": [1.0], "y": pa.nulls(1, pa.string())}), "y", unlabelled="skip")
    with pytest.raises(DataError, match=r"'y' has no label in 1 of 2 rows.*skip"):
        NaiveBayes().fit_table(pa.table({"x": [1.0, 2.0], "y": ["a", None]}), "y", unlabelled="error")


# --- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_predictions_are_those_of_the_rows_in_order(ending, table, path, tmp_path, small):
    columns = [*NUMBERS, "colour"]
    model = NaiveBayes().fit_table(path, "kind", columns=columns)
    output = tmp_path / f"answers{ending}"
    assert model.predict_table(path, output, keep=["copies", "kind"]) == 700
    answers = ds.dataset(output, format=ending[1:]).to_table()
    assert answers.column_names == ["copies", "kind", "label", "p_ash", "p_elm", "p_oak", "log_density"]
    assert answers["copies"].to_pylist() == table["copies"].to_pylist()
    rows = table.select(columns)
    assert answers["label"].to_pylist() == model.predict(rows).tolist()
    np.testing.assert_allclose(answers["p_elm"].to_numpy(), model.predict_proba(rows)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(answers["log_density"].to_numpy(), model.score_samples(rows), rtol=1e-12)
    assert {file.name for file in tmp_path.iterdir()} == {path.name, output.name}


@pytest.mark.parametrize(
    ("asked", "scored"),
    [({}, 1), ({"priors": "uniform", "reject": 0.1}, 1), ({"alpha": 0.1}, 1), ({"alpha": 0.1, "priors": "uniform"}, 2)],
    ids=["answers", "other priors", "sets", "sets, and answers under other priors"],
)
def test_each_batch_is_encoded_and_scored_once(asked, scored, path, tmp_path, small, monkeypatch):
    """Sets are those of the model's own priors: answers under others are another question."""
    model = GaussianDiscriminant(keep_rows=30).fit_table(path, "kind", columns=NUMBERS)
    _ = model._fitted.left_out_rows  # as the rows kept are scored once for all batches
    seen = {"encoded": [], "scored": []}
    encode, log_density = GaussianFamily.encode, Product.log_density

    def encoding(self, table, positions):
        seen["encoded"].append(table.rows)
        return encode(self, table, positions)

    def scoring(self, rows):
        seen["scored"].append(len(rows[0]))
        return log_density(self, rows)

    monkeypatch.setattr(GaussianFamily, "encode", encoding)
    monkeypatch.setattr(Product, "log_density", scoring)
    assert model.predict_table(path, tmp_path / "answers.parquet", **asked) == 700
    assert len(seen["encoded"]) == 8  # row groups of ninety rows
    assert sorted(seen["encoded"]) == [70] + [90] * 7
    assert sorted(seen["scored"]) == sorted(seen["encoded"] * scored)


def test_nothing_is_left_of_predictions_that_fail(table, path, tmp_path, monkeypatch, small):
    model = NaiveBayes().fit_table(path, "kind", columns=NUMBERS)
    output = tmp_path / "o.parquet"
    output.write_text("as it was")

    def full(self, table, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", full)
        with pytest.raises(SourceError, match=r"o\.parquet' cannot be written: No space left"):
            model.predict_table(path, output)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.predict_table(path, output, progress=stop)
    with pytest.raises(SourceError, match="no column 'x1' which the model needs"):
        model.predict_table(table.drop_columns(["x1"]), output)
    with pytest.raises(SourceError, match="not as Excel"):
        model.predict_table(path, tmp_path / "o.xlsx")
    with pytest.raises(SourceError, match="cannot be written"):
        model.predict_table(path, tmp_path / "nowhere" / "o.parquet")
    assert output.read_text() == "as it was"
    assert {file.name for file in tmp_path.iterdir()} == {path.name, output.name}
