"""Checkpoints of a long fit that were damaged, or made to harm: refused by name, and no memory is spent on them."""

import json
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import NaiveBayes
from suffice.errors import DataError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"x": np.arange(40) / 7.0, "y": ["ab"[i % 2] for i in range(40)]})
    pq.write_table(rows, path, row_group_size=10)
    return path


@pytest.fixture
def checkpoint(table, tmp_path):
    """What an interrupted fit leaves."""
    kept = tmp_path / "kept"

    def stop(done):
        if done.rows >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        NaiveBayes().fit_table(table, "y", checkpoint=kept, progress=stop)
    return kept


def repacked(path, change=lambda parts: None, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    change(parts)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def refused(table, checkpoint):
    with pytest.raises(DataError, match="cannot be read") as caught:
        NaiveBayes().fit_table(table, "y", checkpoint=checkpoint)
    assert "Next: remove it" in str(caught.value)


def test_a_checkpoint_packed_again_resumes(table, checkpoint):
    repacked(checkpoint)
    resumed = NaiveBayes().fit_table(table, "y", checkpoint=checkpoint)
    whole = NaiveBayes().fit_table(table, "y")
    assert resumed.statistics_.rows == 40
    np.testing.assert_array_equal(resumed.statistics_.weight, whole.statistics_.weight)


def test_a_checkpoint_that_is_a_bomb(table, checkpoint):
    """Deflated, a hundred megabytes of blanks before the document take a hundred kilobytes."""

    def inflate(parts):
        parts["checkpoint.json"] = b" " * 100_000_000 + parts["checkpoint.json"]

    repacked(checkpoint, inflate, zipfile.ZIP_DEFLATED)
    assert checkpoint.stat().st_size < 1_000_000
    tracemalloc.start()
    try:
        refused(table, checkpoint)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"parts": -1},
        {"parts": "2"},
        {"levels": None},
        {"levels": [{"count": 10**9, "state": False, "statistics": False}]},
        {"levels": [[]]},
        {"format": "other"},
    ],
    ids=str,
)
def test_a_document_that_is_none(table, checkpoint, change):
    def spoil(parts):
        parts["checkpoint.json"] = json.dumps(json.loads(parts["checkpoint.json"]) | change).encode()

    repacked(checkpoint, spoil)
    refused(table, checkpoint)


@pytest.mark.parametrize("data", [b"", b"PK", b"\xff" * 100])
def test_a_file_that_is_no_archive(table, checkpoint, data):
    checkpoint.write_bytes(data)
    refused(table, checkpoint)
