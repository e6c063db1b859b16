"""CSV files as spreadsheets of many countries write them."""

from __future__ import annotations

import pytest

from suffice.cli.files import read_table
from suffice.engines import Remark


def test_a_long_file_whose_odd_byte_comes_late(write) -> None:
    text = "x,y\n" + "1,abc\n" * 400_000 + "2,Zoë\n"
    with pytest.warns(Remark, match="Windows-1252"):
        table = read_table(write("t.csv", text.encode("cp1252")))
    assert table["y"][-1].as_py() == "Zoë"
    assert read_table(write("u.csv", text.encode()))["y"][-1].as_py() == "Zoë"


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a;b, kg;c\n1;2;3\n", ["a", "b, kg", "c"]),
        ("a,b;c\n1,x\n", ["a", "b;c"]),
        ("a|b\n1|2\n", ["a", "b"]),
        ('"a;b",c\n1,2\n', ["a;b", "c"]),
        ("a\n1,5\n", None),
        ("a;b\n1;x, y\n", ["a", "b"]),
    ],
)
def test_the_separator_is_what_parts_both_lines(write, content, names) -> None:
    if names is None:
        with pytest.raises(Exception, match="2 cells"):
            read_table(write("t.csv", content))
    else:
        assert read_table(write("t.csv", content)).column_names == names


@pytest.mark.parametrize("cells", [["1,5", "a", "b"], ["1.23,5", "2"], ["1,2,3", "4"], ["x,5", "1,5"], ["1", "5+"]])
def test_what_is_no_decimal_comma_stays_text(write, cells) -> None:
    path = write("t.csv", "v;w\n" + "".join(f"{cell};1\n" for cell in cells))
    assert read_table(path)["v"].to_pylist() == cells


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ([*map(str, range(12)), "k.A.", "k.A."], [*range(12), None, None]),
        (["1,5", "2", "-"], [1.5, 2.0, None]),
        (["1", "2", "other"], None),  # codes of categories
        ([*map(str, range(12)), "-", "k.A."], None),  # two texts are categories
        ([*map(str, range(12)), "12+"], None),  # a number of a kind
    ],
)
def test_a_text_for_missing_cells_among_numbers(write, cells, numbers) -> None:
    path = write("t.csv", "v;w\n" + "".join(f"{cell};x\n" for cell in cells))
    if numbers is None:
        assert read_table(path)["v"].to_pylist() == cells
        return
    with pytest.warns(Remark) as told:
        assert read_table(path)["v"].to_pylist() == numbers
    assert "was read as missing" in str(told[0].message)
    assert read_table(path, target="v", labels="text")["v"].to_pylist() == cells


def test_the_target_is_never_taken_for_numbers(cli, write, tmp_path) -> None:
    rows = "".join(f"{i % 12};{'k.A.' if i % 12 == 11 else i % 12}\n" for i in range(60))
    path, model = write("t.csv", "x;y\n" + rows), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--model", "full", "-o", model).ok()
    assert "12 classes" in cli("update", model, path, "--target", "y").err


def test_notes_are_printed_unless_quiet(cli, write, tmp_path) -> None:
    rows = "".join(f"{i % 7},5;{'ab'[i % 2]}\n" for i in range(40))
    path = write("t.csv", "x;y\n" + rows)
    loud = cli("fit", path, "--target", "y", "--model", "full", "-o", tmp_path / "m.suffice")
    assert "Note: t.csv: commas in 'x' were read as decimal points." in loud.err.splitlines()
    quiet = cli("fit", path, "--target", "y", "--model", "full", "-o", tmp_path / "m.suffice", "--quiet")
    assert quiet == (0, "", "")
    assert "commas" in cli("predict", tmp_path / "m.suffice", path).err


@pytest.mark.parametrize("model", ["auto", "nb", "full"])
def test_a_column_without_values_is_left_out(cli, write, tmp_path, model) -> None:
    rows = "".join(f"{i % 7},,{'ab'[i % 2]}\n" for i in range(40))
    path = write("t.csv", "x,e,y\n" + rows)
    done = cli("fit", path, "--target", "y", "--model", model, "-o", tmp_path / "m.suffice").ok()
    assert "Note: 'e' has no value in any row and cannot be used." in done.err.splitlines()
    later = write("later.csv", "x,e,y\n1,5,a\n")
    cli("predict", tmp_path / "m.suffice", later).ok()
    cli("update", tmp_path / "m.suffice", later, "--target", "y").ok()
