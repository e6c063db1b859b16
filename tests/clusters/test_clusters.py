"""Dask and Spark give the bits of the local engine for the same row groups, and its model for their own tables."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mortal import MortalGaussian

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SourceError
from suffice.stats import CompletedStats

pytestmark = pytest.mark.filterwarnings("default")  # clusters warn of ports, sockets and versions
COLUMNS = ["x0", "x1", "colour"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty row groups in two files; a class and a category come in the last one only."""
    path = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(11)
    n = 1000
    y = rng.integers(0, 2, n)
    kind = np.array(["ash", "elm", "oak"])[np.where(np.arange(n) > 980, 2, y)]
    colour = np.where(np.arange(n) == n - 1, "last", np.array(["red", "green"])[rng.integers(0, 2, n)])
    x = rng.normal(size=(n, 2)) + y[:, None]
    x[(rng.random(x.shape) < 0.05) | (np.arange(n) % 50 == 0)[:, None]] = np.nan  # in every row group
    table = pa.table({"x0": pa.array(x[:, 0], from_pandas=True), "x1": x[:, 1], "colour": colour, "kind": kind})
    for number in range(2):
        pq.write_table(table.slice(500 * number, 500), path / f"{number}.parquet", row_group_size=50)
    return path


@pytest.fixture(scope="module")
def client(worker_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as own,
    ):
        yield own


@pytest.fixture(scope="module")
def session(worker_path):
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2, 3]")  # a task may fail twice
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    own = builder.getOrCreate()
    yield own
    own.stop()


def bits(model):
    arrays = [stats.arrays()[0] for stats in model.statistics_.blocks]
    arrays += [model.statistics_.sample.arrays()[0]] if model.statistics_.sample is not None else []
    return [(name, np.asarray(values).tobytes()) for own in arrays for name, values in sorted(own.items())]


MODELS = [NaiveBayes(), GenerativeClassifier(keep_rows=200)]


def assert_same_bits(model, folder, engine):
    local = type(model)(**model.get_params()).fit_table(folder, "kind")
    seen = []
    other = type(model)(**model.get_params()).fit_table(folder, "kind", engine=engine, progress=seen.append)
    assert bits(other) == bits(local)
    assert other.classes_.tolist() == ["ash", "elm", "oak"]
    assert (seen[-1].rows, seen[-1].total) == (1000, 1000)


def assert_same_model(frame, folder, engine="auto"):
    local = NaiveBayes().fit_table(folder, "kind")
    other = NaiveBayes().fit_table(frame, "kind", engine=engine)
    rows = pq.read_table(folder).select(COLUMNS)
    np.testing.assert_allclose(other.predict_log_proba(rows), local.predict_log_proba(rows), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_dask_gives_the_same_bits(model, folder, needs, request):
    needs("distributed")
    assert_same_bits(model, folder, request.getfixturevalue("client"))


@pytest.mark.parametrize("model", [GaussianDiscriminant(), NaiveBayes()], ids=lambda model: type(model).__name__)
def test_dask_takes_the_groups_of_rows(model, tmp_path, needs, request):
    """As the local engine for the same row groups, and as one fit to the whole table, whose groups lie across them."""
    needs("distributed")
    rng = np.random.default_rng(3)
    who = rng.permutation(np.arange(300) % 40)
    x = rng.normal(size=(40, 2))[who] + 0.3 * rng.normal(size=(300, 2))
    names = pa.array([f"p{i}" for i in who], mask=np.arange(300) < 3)  # three rows of no group
    table = pa.table({"x0": x[:, 0], "x1": x[:, 1], "kind": np.where(who % 2, "ash", "elm"), "who": names})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=25)
    told = {"target": "kind", "groups": "who"}
    local = type(model)().fit_table(tmp_path / "t.parquet", **told)
    other = type(model)().fit_table(tmp_path / "t.parquet", engine=request.getfixturevalue("client"), **told)
    assert bits(other) == bits(local)
    assert other.feature_names_in_.tolist() == ["x0", "x1"]
    rows, labels = table.select(["x0", "x1"]), table["kind"]
    whole = type(model)().fit(rows, labels, groups=names)
    left_out = other.leave_one_out(rows, labels)
    np.testing.assert_allclose(left_out, whole.leave_one_out(rows, labels, groups=names), atol=1e-9)
    assert np.abs(left_out - type(model)().fit(rows, labels).leave_one_out(rows, labels)).max() > 0.1


def test_dask_by_address_its_frames_and_refusals(folder, needs, request):
    needs("distributed", "dask.dataframe")
    client = request.getfixturevalue("client")
    import dask.dataframe as dd

    frame = dd.from_pandas(pq.read_table(folder).to_pandas(), npartitions=7)
    assert_same_model(frame, folder, client)
    model = NaiveBayes().fit_table(folder, "kind", engine=client.scheduler.address)
    assert bits(model) == bits(NaiveBayes().fit_table(folder, "kind"))
    with pytest.raises(SourceError, match="a cluster needs files"):
        NaiveBayes().fit_table(pq.read_table(folder), "kind", engine=client)
    with pytest.raises(DataError, match=r"row group \d+: 'x0' has no label"):
        NaiveBayes().fit_table(folder, "x0", columns=["x1"], engine=client, unlabelled="error")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_spark_gives_the_same_bits(model, folder, needs, request):
    needs("pyspark", "pandas")
    assert_same_bits(model, folder, request.getfixturevalue("session"))


def test_spark_frames(folder, needs, request):
    needs("pyspark", "pandas")
    session = request.getfixturevalue("session")
    assert_same_model(session.read.parquet(str(folder)), folder)
    with pytest.raises(DataError, match=r"row group \d+: 'x0' has no label"):
        NaiveBayes().fit_table(folder, "x0", columns=["x1"], engine=session, unlabelled="error")


# --- all rows together, and workers that die -------------------------------------------------------------------------

TOGETHER = {
    "mixture": (lambda: MixtureDiscriminant(2, shared=True, max_iter=4, random_state=0), None),
    "patterns": (GaussianDiscriminant, "patterns"),
    "unlabelled": (NaiveBayes, "unlabelled"),
}


def assert_same_rows(kind, folder, tmp_path, engine, monkeypatch):
    make, special = TOGETHER[kind]
    if special == "unlabelled":
        table = pq.read_table(folder)
        some = pa.array(np.asarray(table["kind"]), mask=np.arange(len(table)) % 3 == 0)
        folder = tmp_path / "some"
        folder.mkdir()
        for number in range(2):
            part = table.set_column(3, "kind", some).slice(500 * number, 500)
            pq.write_table(part, folder / f"{number}.parquet", row_group_size=50)
    told = {"target": "kind", "columns": ["x0", "x1"]}
    if special == "patterns":
        monkeypatch.setattr("suffice.stats.patterns.MAX_CELLS", 1)  # here; workers meet it when states are merged
    local = make().fit_table(folder, **told)
    assert bits(make().fit_table(folder, engine=engine, **told)) == bits(local)
    assert special != "patterns" or isinstance(local.statistics_.blocks[0], CompletedStats)


@pytest.mark.parametrize("kind", [kind for kind in TOGETHER if kind != "patterns"])
def test_rows_gathered_by_dask(kind, folder, tmp_path, needs, request, monkeypatch):
    needs("distributed")
    assert_same_rows(kind, folder, tmp_path, request.getfixturevalue("client"), monkeypatch)


@pytest.mark.parametrize("kind", TOGETHER)
def test_rows_gathered_by_spark(kind, folder, tmp_path, needs, request, monkeypatch):
    needs("pyspark", "pandas")
    assert_same_rows(kind, folder, tmp_path, request.getfixturevalue("session"), monkeypatch)


@pytest.mark.parametrize("engine", ["client", "session"])
def test_a_worker_that_is_killed_changes_nothing(engine, folder, tmp_path, needs, request):
    needs("distributed" if engine == "client" else "pyspark")
    marker = tmp_path / "killed"
    told = {"target": "kind", "columns": ["x0", "x1"]}
    model = MortalGaussian(marker=str(marker)).fit_table(folder, engine=request.getfixturevalue(engine), **told)
    assert int(marker.read_text()) != os.getpid()  # a worker died
    assert bits(model) == bits(GaussianDiscriminant().fit_table(folder, **told))


def test_rows_that_memory_does_not_hold(folder, needs, request, monkeypatch):
    needs("distributed", "pyspark")
    monkeypatch.setattr("suffice._arrays.SMALL_MEMORY", 0)
    monkeypatch.setattr("suffice._arrays.memory", lambda: 4000)  # here alone: workers hold more
    for engine in ("client", "session"):
        with pytest.raises(DataError, match=r"rows, which EM needs in memory together, would take .* Next: give"):
            MixtureDiscriminant(2).fit_table(
                folder, "kind", columns=["x0", "x1"], engine=request.getfixturevalue(engine)
            )


def test_errors_of_workers_name_the_place(folder, tmp_path, needs, request):
    needs("distributed", "pyspark")
    table = pq.read_table(folder)
    path = tmp_path / "t.parquet"
    pq.write_table(table.set_column(1, "x1", pa.array([*np.zeros(990), *np.full(10, np.inf)])), path, row_group_size=50)
    for engine in ("client", "session"):
        with pytest.raises(DataError, match=r"t\.parquet', row group 19: .*infinity in column 'x1'"):
            NaiveBayes().fit_table(path, "kind", engine=request.getfixturevalue(engine))
        assert Path(path).exists()
