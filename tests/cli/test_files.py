"""Reading and writing tables: what a CSV may look like, and results whole or not at all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from suffice._dialect import Remark
from suffice._files import MISSING_TOKENS
from suffice.cli.files import read_table, write_table
from suffice.engines.files import CSV_CHUNK
from suffice.errors import SourceError


def test_missing_tokens(write) -> None:
    rows = "".join(f"{token},{token},1\n" for token in MISSING_TOKENS)
    with pytest.warns(Remark, match="'None' was read as missing in 's'"):  # which may be a value there
        table = read_table(write("t.csv", "x,s,y\n" + rows + "2.5,text,1\n"))
    assert table["x"].to_pylist() == [None] * len(MISSING_TOKENS) + [2.5]
    assert table["s"].to_pylist() == [None] * len(MISSING_TOKENS) + ["text"]


def test_types_found_late(write) -> None:
    """The first megabyte looks like integers, then there is a fraction, then text."""
    numbers = "".join(f"{i},{i}\n" for i in range(200_000))
    table = read_table(write("t.csv", "x,y\n" + numbers + "0.5,word\n0.5,text\n"))
    assert table["x"].type == pa.float64()
    assert table["y"].type == pa.string()
    assert table.num_rows == 200_002


def test_arrow_stream(write) -> None:
    table = pa.table({"x": [1, 2]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read_table(write("t.arrow", sink.getvalue().to_pybytes())).equals(table)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "ipc"])
def test_round_trip(tmp_path, ending) -> None:
    n = CSV_CHUNK + 10  # more than one piece
    table = pa.table(
        {
            "number": [0.1 * i for i in range(n)],
            "text": [None, 'a,"b"\n\tc', "", "plain"] * (n // 4) + [None] * (n % 4),
            "whole": range(n),
        }
    )
    path = tmp_path / f"t.{ending}"
    write_table(table, path)
    again = read_table(path)
    assert again["number"].equals(table["number"])
    assert again["whole"].equals(table["whole"])
    expected = [value or None for value in table["text"].to_pylist()]
    assert [value or None for value in again["text"].to_pylist()] == expected


def test_quotes_only_where_needed(tmp_path) -> None:
    path = tmp_path / "t.csv"
    write_table(pa.table({"x": ["plain", None]}), path)
    assert path.read_text() == "x\nplain\n\n"
    for cell in ("a,b", b"a,b"):
        write_table(pa.table({"x": [cell]}), path)
        assert '"a,b"' in path.read_text()


def test_what_csv_cannot_hold(tmp_path) -> None:
    with pytest.raises(SourceError, match="cannot be written"):
        write_table(pa.table({"x": [[1, 2]]}), tmp_path / "t.csv")
    with pytest.raises(SourceError, match="compressed"):
        write_table(pa.table({"x": [1]}), tmp_path / "t.csv.gz")
    assert list(tmp_path.iterdir()) == []
