"""Arrow and Parquet files that lie: refused by name, where believing them would end the process or fill the memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from suffice import NaiveBayes
from suffice.engines.files import checked
from suffice.engines.sealing import new_key, sealed, unsealed
from suffice.errors import SourceError


def rows(n=40):
    words = [f"word{i % 5}" for i in range(n)]
    return pa.table({"x": np.arange(n) / 7.0, "s": words, "y": ["ab"[i % 2] for i in range(n)]})


def in_a_process(code, *words):
    """Run lines that may end their process; return its status and what it said."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


FIT = """
import sys
from suffice import NaiveBayes
from suffice.errors import SufficeError
try:
    NaiveBayes().fit_table(sys.argv[1], "y")
    print("fitted")
except SufficeError as error:
    print("refused:", error)
"""


def wild_offsets(path, stream):
    """Write an Arrow file whose text begins a gigabyte behind its end."""
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, rows().schema) as writer:
        writer.write_table(rows())
    data = path.read_bytes()
    offsets = np.cumsum([0, *(len("word0") for _ in range(40))]).astype("<i4").tobytes()
    place = data.index(offsets)
    wild = np.full(41, 1 << 30, dtype="<i4").tobytes()
    path.write_bytes(data[:place] + wild + data[place + len(wild) :])


@pytest.mark.parametrize("stream", [False, True])
def test_offsets_beyond_the_end_are_refused(tmp_path, stream):
    path = tmp_path / "rows.arrow"
    wild_offsets(path, stream)
    status, said, err = in_a_process(FIT, path)
    assert status == 0, err
    assert said.startswith("refused:")
    assert "rows.arrow" in said


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "rows.arrow"
    batch = pa.table({"x": np.arange(200_000) / 7.0, "y": ["ab"[i % 2] for i in range(200_000)]})
    with pa.ipc.new_file(path, batch.schema) as writer:
        for _ in range(3):
            writer.write_table(batch)
    code = """
import os, sys
from suffice.engines import open_source
from suffice.errors import SourceError
source = open_source(sys.argv[1])
tables = source.files[0].tables(["x", "y"], 65536)
next(tables)
os.truncate(sys.argv[1], 4096)
try:
    for table in tables:
        table.column("x").to_numpy().sum()
    print("read")
except SourceError as error:
    print("refused:", error)
"""
    status, said, err = in_a_process(code, path)
    assert status == 0, err
    assert said.startswith("refused:")


def test_rows_that_take_no_room(tmp_path):
    """A column of nothing but missing cells is as long as it says, and takes no byte."""
    path = tmp_path / "nothing.arrow"
    batch = pa.record_batch([pa.nulls(3), pa.nulls(3)], names=["x", "y"])
    with pa.ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch)
    data, long = path.read_bytes(), (10**12).to_bytes(8, "little")
    path.write_bytes(data.replace((3).to_bytes(8, "little"), long))
    with pytest.raises(SourceError, match="rows"):
        NaiveBayes().fit_table(path, "y")


def test_repeated_text_that_would_fill_the_memory():
    bomb = pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), pa.array(["a" * (1 << 20)]))
    with pytest.raises(pa.ArrowInvalid, match="repeat"):
        checked(pa.record_batch([bomb], names=["s"]))
    small = pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), pa.array(["a"]))
    assert checked(pa.record_batch([small], names=["s"])).num_rows == 2000


# --- bytes between processes -----------------------------------------------------------------------------------------


def test_only_bytes_of_the_same_job_are_made_objects_again():
    key = new_key()
    assert unsealed(sealed({"rows": 3}, key), key) == {"rows": 3}
    data = sealed({"rows": 3}, key)
    for other in (data[:-1], data[:40] + b"x" + data[41:], b"", data[32:], sealed({"rows": 3}, new_key())):
        with pytest.raises(SourceError, match="not what this job wrote"):
            unsealed(other, key)
