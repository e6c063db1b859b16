"""Files of a table: what names, patterns and folders mean, and every way in which a file can be wrong."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from suffice.engines import open_source
from suffice.errors import SchemaError, SourceError


def rows_of(source, columns=None):
    opened = open_source(source)
    names = list(opened.schema.names) if columns is None else columns
    tables = [table for part in opened.parts(names, 3) for table in part.tables(names, 3)]
    assert all(table.num_rows <= 3 for table in tables)
    return [row for table in tables for row in table.to_pylist()]


@pytest.fixture
def table():
    return pa.table({"x": [1.0, 2.0, None, 4.0, 5.0], "c": ["a", "b", None, "a", "d"], "n": [1, 2, 3, 4, 5]})


def test_parquet_by_name_pattern_folder_and_list(table, tmp_path):
    for number in (2, 1):
        pq.write_table(table.slice(number - 1, 2), tmp_path / f"{number}.parquet", row_group_size=1)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("no data")
    one, two = table.slice(0, 2).to_pylist(), table.slice(1, 2).to_pylist()
    assert rows_of(tmp_path / "1.parquet") == one
    assert rows_of(str(tmp_path / "*.parquet")) == rows_of(tmp_path) == one + two
    assert rows_of([tmp_path / "2.parquet", str(tmp_path / "1.parquet")]) == two + one
    assert rows_of(tmp_path, ["n"]) == [{"n": 1}, {"n": 2}, {"n": 2}, {"n": 3}]
    assert open_source(tmp_path).rows == 4


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_files(table, tmp_path, stream):
    path = tmp_path / "t.arrow"
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    assert rows_of(path) == table.to_pylist()
    assert open_source(path).rows == 5


def test_folders_of_partitions_give_columns(table, tmp_path):
    for place, part in (("year=2021/land=a%20b", 0), ("year=2022/land=__HIVE_DEFAULT_PARTITION__", 2)):
        (tmp_path / place).mkdir(parents=True)
        pq.write_table(table.slice(part, 2), tmp_path / place / "part.parquet")
    found = rows_of(tmp_path, ["land", "n", "year"])
    assert found == [
        {"land": "a b", "n": 1, "year": 2021},
        {"land": "a b", "n": 2, "year": 2021},
        {"land": None, "n": 3, "year": 2022},
        {"land": None, "n": 4, "year": 2022},
    ]


def test_types_are_those_of_all_files(tmp_path):
    pq.write_table(pa.table({"x": pa.nulls(2), "n": pa.array([1, 2], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [0.5], "x": ["t"]}), tmp_path / "b.parquet")
    assert rows_of(tmp_path) == [{"x": None, "n": 1.0}, {"x": None, "n": 2.0}, {"x": "t", "n": 0.5}]


def test_csv_settles_types_over_all_cells(tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.engines.csv_text.BLOCK", 64)
    lines = ["a,b,c,d", *["1,,7,NA"] * 40, "2.5,late,true,3"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert open_source(tmp_path / "t.csv").schema.types == [pa.float64(), pa.string(), pa.string(), pa.int64()]
    found = rows_of(tmp_path / "t.csv")
    assert found[0] == {"a": 1.0, "b": None, "c": "7", "d": None}
    assert found[-1] == {"a": 2.5, "b": "late", "c": "true", "d": 3}
    assert rows_of(tmp_path / "t.csv", ["d", "a"])[-1] == {"d": 3, "a": 2.5}


def test_csv_files_share_their_types(tmp_path):
    (tmp_path / "1.csv").write_text("a;b\n1;2\n")
    (tmp_path / "2.csv").write_text("b;a\nx;1.5\n")
    assert rows_of(tmp_path) == [{"a": 1.0, "b": "2"}, {"a": 1.5, "b": "x"}]


def test_compressed_csv(table, tmp_path):
    with pa.CompressedOutputStream(str(tmp_path / "t.csv.gz"), "gzip") as file:
        arrow_csv.write_csv(table, file)
    assert rows_of(tmp_path / "t.csv.gz") == table.to_pylist()


# --- what can be wrong -----------------------------------------------------------------------------------------------


def test_names_that_mean_nothing(tmp_path, monkeypatch):
    for source in (tmp_path / "no.parquet", str(tmp_path / "*.parquet")):
        with pytest.raises(SourceError, match="There is no file"):
            open_source(source)
    (tmp_path / "not.parquet").touch()
    with pytest.raises(SourceError, match=r"There is no file .*; did you mean .*not.parquet"):
        open_source(tmp_path / "no.parquet")
    (tmp_path / "not.parquet").unlink()
    (tmp_path / "t.foo").write_text("1")
    folder = (".", "is a folder that holds no file of a table")
    for name, why in (folder, ("t.foo", "no ending that says"), ("t.foo/1.csv", "There is no file .*, nor the folder")):
        with pytest.raises(SourceError, match=why):
            open_source(tmp_path / name)
    monkeypatch.setattr(Path, "iterdir", lambda folder: os.scandir("a folder that may not be listed"))
    with pytest.raises(SourceError, match="There is no file"):
        open_source(tmp_path / "no.parquet")


def test_damaged_files_are_named(table, tmp_path):
    pq.write_table(table, tmp_path / "1.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes(whole[:-20])
    with pytest.raises(SourceError, match=r"2\.parquet.*cannot be read"):
        open_source(tmp_path)
    (tmp_path / "2.parquet").write_bytes(b"")
    with pytest.raises(SourceError, match=r"2\.parquet' is empty"):
        open_source(tmp_path)


def test_a_damaged_row_group_is_named(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": rng.normal(size=4000)}), path, row_group_size=2000, compression="zstd")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start + 5 : start + 400] = bytes(395)
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"t\.parquet', row group 1 cannot be read"):
        rows_of(path)


def test_files_that_differ_are_named(table, tmp_path):
    pq.write_table(table, tmp_path / "1.parquet")
    pq.write_table(table.drop_columns(["c"]), tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet' has no column 'c' as the other files have"):
        open_source(tmp_path)
    pq.write_table(table.append_column("late", table["n"]), tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"1\.parquet' has no column 'late' as .*2\.parquet' has"):
        open_source(tmp_path)
    pq.write_table(table.set_column(0, "x", table["c"]), tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet': column 'x' is string, and double in the other files"):
        open_source(tmp_path)
    (tmp_path / "2.parquet").unlink()
    (tmp_path / "2.csv").write_text("x,c,n\n1,a,2\n")
    with pytest.raises(SourceError, match="several formats, CSV, Parquet"):
        open_source(tmp_path)


def test_a_file_without_rows_says_nothing_about_columns(table, tmp_path):
    pq.write_table(table, tmp_path / "1.parquet")
    pq.write_table(pa.table({"other": pa.array([], pa.string())}), tmp_path / "0.parquet")
    assert rows_of(tmp_path) == table.to_pylist()


def test_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match="several columns named 'a'"):
        open_source(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["\0", "\0a", "\0y"])
def test_a_name_that_would_ask_for_another_column_as_it_is_written(name, tmp_path):
    pq.write_table(pa.table([["1", "2"], ["u", "v"]], names=[name, "y"]), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({name: cell, "y": cell}) + "\n" for cell in "uv"))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(SourceError, match=rf"{path.name}' has a column whose name begins with .* NUL: '\\x00"):
            open_source(path)
