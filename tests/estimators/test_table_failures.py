"""What can go wrong with tables in parts: the file is named, and nothing half-written is left."""

import contextlib
import signal

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.engines import sources
from suffice.errors import SourceError

COLUMNS = ["x", "word"]


@pytest.fixture
def folder(rng, tmp_path, monkeypatch):
    """Three files; a class and a word come in the last one only."""
    monkeypatch.setattr(sources, "FEWEST_ROWS", 50)
    monkeypatch.setattr(sources, "MOST_ROWS", 50)
    path = tmp_path / "data"
    path.mkdir()
    for number in range(3):
        kinds = np.array(["ash", "elm"] if number < 2 else ["ash", "oak"])[rng.integers(0, 2, 200)]
        words = np.array(["red", "green"] if number < 2 else ["red", "late"])[rng.integers(0, 2, 200)]
        table = pa.table({"x": rng.normal(size=200) + number, "word": words, "kind": kinds})
        pq.write_table(table, path / f"{number}.parquet", row_group_size=100)
    return path


def left(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def bits(model):
    return [np.asarray(v).tobytes() for s in model.statistics_.blocks for _, v in sorted(s.arrays()[0].items())]


def test_a_word_never_learned_is_answered(folder, tmp_path):
    first = [folder / "0.parquet", folder / "1.parquet"]
    model = NaiveBayes().fit_table(first, "kind")
    with pytest.warns(UserWarning, match=r"109 rows: word 'late', never seen by the model"):
        assert model.predict_table(folder, tmp_path / "o.parquet") == 600
    assert np.isfinite(pq.read_table(tmp_path / "o.parquet")["p_ash"].to_numpy()).all()


@pytest.mark.parametrize("who", [NaiveBayes, GenerativeClassifier, lambda: MixtureDiscriminant(2)])
def test_a_damaged_row_group_leaves_model_and_answers(who, folder, tmp_path):
    columns = ["x"]
    model = who().fit_table(folder, "kind", columns=columns)
    output = tmp_path / "o.parquet"
    output.write_text("as it was")
    before, files = bits(model), left(tmp_path)
    bad = folder / "1.parquet"
    data = bytearray(bad.read_bytes())
    start = pq.ParquetFile(bad).metadata.row_group(1).column(0).data_page_offset
    data[start : start + 300] = b"\xff" * 300
    bad.write_bytes(data)
    with pytest.raises(SourceError, match=r"1\.parquet', row group 1 cannot be read"):
        model.fit_table(folder, "kind", columns=columns)
    with pytest.raises(SourceError, match=r"1\.parquet', row group 1 cannot be read"):
        model.predict_table(folder, output)
    assert bits(model) == before
    assert left(tmp_path) == files
    assert output.read_text() == "as it was"


@contextlib.contextmanager
def small_disk(size):
    """No file may grow beyond so many bytes, which the system reports as it does a full disk."""
    resource = pytest.importorskip("resource", reason="limits of file sizes are POSIX's")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_disk_that_is_full(ending, folder, tmp_path):
    model = NaiveBayes().fit_table(folder, "kind")
    output = tmp_path / f"o.{ending}"
    output.write_text("as it was")
    files = left(tmp_path)
    with small_disk(4096), pytest.raises(SourceError, match=rf"o\.{ending}' cannot be written"):
        model.predict_table(folder, output, keep=COLUMNS)
    assert output.read_text() == "as it was"
    assert left(tmp_path) == files


@pytest.fixture
def keyboard():
    """Python's own answer to Ctrl-C, which a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(after):
    """Ctrl-C once so many rows are done."""

    def watch(progress):
        if progress.rows >= after:
            signal.raise_signal(signal.SIGINT)

    return watch


@pytest.mark.parametrize("who", [GaussianDiscriminant, lambda: MixtureDiscriminant(2)])
def test_ctrl_c_while_fitting(who, folder, tmp_path, keyboard):
    model = who().fit_table(folder, "kind", columns=["x"])
    before, files = bits(model), left(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.fit_table(folder, "kind", columns=["x"], progress=interrupt(300))
    assert bits(model) == before
    assert left(tmp_path) == files


# --- progress, sets and priors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_progress_of_a_csv(ending, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.engines.csv_text.BLOCK", 1024)
    path = tmp_path / f"t.{ending}"
    with pa.output_stream(str(path)) as file:
        arrow_csv.write_csv(pq.read_table(folder), file)
    seen = []
    model = NaiveBayes().fit_table(path, "kind", progress=seen.append)
    shares = [p.share for p in seen]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] == 1.0
    assert all(p.seconds_left >= 0 for p in seen)
    assert model.statistics_.rows == 600


def test_sets_and_adapted_priors(folder, tmp_path):
    table = pq.read_table(folder)
    model = NaiveBayes().fit_table(folder, "kind")
    shifted = table.filter(np.asarray(table["x"]) > 1.0)
    assert model.predict_table(shifted, tmp_path / "o.parquet", priors="adapt", alpha=0.2) == len(shifted)
    answers, rows = pq.read_table(tmp_path / "o.parquet"), shifted.select(COLUMNS)
    expected = model.predict_proba(rows, priors=model.adapt_priors(rows))
    np.testing.assert_allclose(answers["p_oak"].to_numpy(), expected[:, 2], rtol=1e-12)
    inside = model.predict_set(rows, 0.2)
    assert [answers[f"in_{label}"].to_pylist() for label in model.classes_] == inside.T.tolist()
    stream = pa.RecordBatchReader.from_batches(shifted.schema, shifted.to_batches())
    with pytest.raises(SourceError, match='priors="adapt" reads the rows twice'):
        model.predict_table(stream, tmp_path / "p.parquet", priors="adapt")
