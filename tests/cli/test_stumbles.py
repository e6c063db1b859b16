"""What newcomers stumbled over in files: cover sheets, lines below the table, an index of pandas, points for gaps."""

from __future__ import annotations

import json
import warnings
from shlex import quote

import pandas as pd
import pytest

from suffice import load
from suffice.cli.files import read_file
from suffice.datasets import penguins_path
from suffice.engines import Reading, Remark, open_source
from suffice.errors import SourceError, pip_install
from suffice.notes import Kind

from .test_kinds_of_files import workbook

TABLE = "name,size,kind\nana,1.5,a\nben,2.5,b\ncid,3.5,a\n"


def read(path, **how):
    """Return the rows of a file, and what was said of how it was read."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", Remark)
        found = read_file(path, Reading(**how)).columns
    return found.to_pylist(), " | ".join(str(own.message) for own in told)


def in_parts(path, **how):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", Remark)
        source = open_source(path, Reading(**how))
    names = source.schema.names
    return [row for part in source.parts(names, 2) for table in part.tables(names, 2) for row in table.to_pylist()]


@pytest.mark.parametrize(
    "footer",
    [
        "Source: the harbour office",
        "\nPublished in 2020",
        "Source: the harbour office,,",
        '"Note: sizes are in metres, rounded",,',
        "* provisional,,\nSource: the harbour office",
        "Source: the harbour office\ncontinued here\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf8", "cp1252"])
def test_lines_below_a_table_are_no_rows(write, footer, encoding) -> None:
    table = TABLE.replace("ana", "änne")
    path = write("t.csv", (table + footer).encode(encoding))
    plain, _ = read(write("u.csv", table))
    found, told = read(path)
    assert found == plain
    assert "below the table" in told
    assert in_parts(path) == plain


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (TABLE + "dan,,\n", 4),  # a name whose other cells are missing
        ("name,size\nana,1.5\nben,2.5\nnote: x,\n", 3),  # a table of two columns
        ("name\nana\nnote: x\n", 2),  # and one of one
        (TABLE + "Source: the harbour,4.5,b\n", 4),
        ('name,text,kind\nana,"lines\nSource: x",a\nben,"more\nSource: y",b\n', 2),
    ],
)
def test_rows_are_no_lines_below_a_table(write, text, rows) -> None:
    found, told = read(write("t.csv", text))
    assert (len(found), "below the table" in told) == (rows, False)


def test_a_line_cut_off_is_still_refused(write) -> None:
    with pytest.raises(SourceError, match="line 5: 1 cell where"):
        read(write("t.csv", TABLE + "da"))


COVER = [["Birds of the harbour"], ["made by", "Ana"], [], ["all rights reserved"]]
ROWS = [["name", "size", "kind"], ["ana", 1.5, "a"], ["ben", 2.5, "b"], ["Source: the harbour office"]]
OTHER = [["name", "size"], ["eva", 9.5]]


@pytest.mark.parametrize(
    ("sheets", "how", "names", "said"),
    [
        ({"cover": COVER, "birds": ROWS}, {}, ["ana", "ben"], "'birds' was read, as 'cover' holds no table"),
        ({"cover": [], "birds": ROWS}, {}, ["ana", "ben"], "'birds' was read, as 'cover' holds no table"),
        ({"old": OTHER, "birds": ROWS}, {"target": "kind"}, ["ana", "ben"], "as 'old' holds no column 'kind'"),
        ({"old": OTHER, "birds": ROWS}, {}, ["eva"], "'old' was read. For another"),
        ({"old": OTHER, "birds": ROWS}, {"target": "absent"}, ["eva"], "'old' was read. For another"),
        ({"cover": COVER, "birds": ROWS}, {"sheet": "cover"}, None, ""),
    ],
)
def test_the_sheet_that_holds_the_table_is_read(tmp_path, sheets, how, names, said) -> None:
    found, told = read(workbook(tmp_path / "t.xlsx", sheets), **how)
    assert said in told
    if names is not None:
        assert [row["name"] for row in found] == names


def test_the_index_of_pandas_is_left_out(cli, tmp_path) -> None:
    frame = pd.read_csv(penguins_path()).sample(frac=1.0, random_state=0)
    path, plain = tmp_path / "t.parquet", tmp_path / "plain.parquet"
    frame.to_parquet(path)
    frame.to_parquet(plain, index=False)
    found, told = read(path)
    assert found == read(plain)[0]
    assert "'__index_level_0__', the row index that pandas stores" in told
    assert in_parts(path) == in_parts(plain)
    assert "__index_level_0__" in read(path, numbers=("__index_level_0__",))[0][0]  # a model of before knows it


def test_a_point_for_missing_cells_is_said_once_for_all_columns(write) -> None:
    path = write("t.csv", "a,b,c\n1.5,.,x\n.,2.5,None\n3.5,.,.\n4.5,5.5,z\n")
    _, told = read(path)
    assert told.count("read as missing") == 2
    assert "'None' was read as missing in 'c' (1 cell)" in told
    assert "'.' (3 cells) in columns 'a', 'b', which hold numbers, was read as missing" in told


def test_what_to_install_is_what_there_is(tmp_path) -> None:
    """From a checkout on the path, from a folder of packages that pip filled from one, and from the index."""
    checkout = tmp_path / "a checkout"
    (checkout / "src" / "suffice").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    packages = tmp_path / "lib" / "packages"
    notes = packages / "suffice-1.0.dist-info"
    notes.mkdir(parents=True)
    assert pip_install("cli", checkout / "src" / "suffice") == f'pip install "{checkout}[cli]"'
    assert pip_install("cli", packages / "suffice") == 'pip install "suffice[cli]"'
    (notes / "direct_url.json").write_text(json.dumps({"url": checkout.as_uri(), "dir_info": {}}))
    assert pip_install("sql", packages / "suffice") == f'pip install "{checkout}[sql]"'
    (checkout / "pyproject.toml").unlink()
    assert pip_install("sql", packages / "suffice") == 'pip install "suffice[sql]"'


NAMES = {
    "case no": range(100, 140),
    "backwards": range(40, 0, -1),
    "tens": range(0, 400, 10),
    "shuffled": [(7 * i) % 40 for i in range(40)],
    "account_id": [8_000_000 + 977 * i**2 for i in range(40)],  # by its name
    "holed": [*range(38), "", ""],
    "code": [f"K{i:03}" for i in range(40)],
    "nearly": [f"K{i:03}" for i in [0, *range(199)]],
}
MEASURED = {
    "income": [20_000 + 977 * i**2 for i in range(40)],
    "fine": [i + 0.5 for i in range(40)],
    "age": [*range(38), 3, 4],
    "text": [f"the {i} cat sat on mat {i}" for i in range(40)],
    "seen": [f"{1 + i % 28}.{1 + i // 28}.2024" for i in range(40)],
    "some": [f"K{i // 2}" for i in range(40)],
}


@pytest.mark.parametrize("name", [*NAMES, *MEASURED])
def test_what_names_rows_is_left_out_unless_it_is_kept(cli, write, tmp_path, name) -> None:
    cells, model = [*(NAMES | MEASURED)[name]], tmp_path / "m.suffice"
    rows = "".join(f"{cell},{i % 7},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    words = ("fit", write("t.csv", f"{name},x,y\n{rows}"), "--target", "y", "--model", "nb", "-o", model, "--force")
    done = cli(*words)
    assert ((name in load(model).feature_names_in_), "Left out" not in done.err) == (name in MEASURED,) * 2
    if name in NAMES:
        assert f"--keep {quote(name)}" in done.err
        cli("predict", model, write("new.csv", f"{name},x\n5,1\n")).ok()
        for more in (("--keep", name), ("--family", f"{name}=categorical")):
            cli(*words, *more).ok()
            assert name in load(model).feature_names_in_
        note = next(note for note in load(model).notes_ if note.kind is Kind.IDENTIFIER)
        assert note.columns == (name,)


def test_one_column_that_names_rows_is_better_than_none(cli, write, tmp_path) -> None:
    path = write("t.csv", "n,y\n" + "".join(f"{i},{'ab'[i // 20]}\n" for i in range(40)))
    done = cli("fit", path, "--target", "y", "--model", "nb", "-o", tmp_path / "m.suffice")
    assert "Note: learned a value for each row for 'n'" in done.err
    done = cli("fit", path, "--target", "y", "--keep", "N", "-o", tmp_path / "m2.suffice")
    assert (done.status, "--keep" in done.err) == (1, True)
