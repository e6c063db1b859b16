"""CSV files of very long cells and very many columns: a model or one line of complaint."""

from __future__ import annotations

import csv

import pytest

LONGEST = 2000


def acceptable(done, wanted=(0, 1, 2)) -> None:
    assert done.status in wanted, done.err
    assert "Traceback" not in done.err
    assert "unexpected error" not in done.err, done.err
    assert "RuntimeWarning" not in done.err
    assert "encountered in" not in done.err, done.err  # NumPy's warnings of overflow and the like
    if done.status:
        assert done.out == ""
        said = [line for line in done.err.splitlines() if line.startswith("suffice: ")]
        assert len(said) == 1, done.err
        assert said[0] == done.err.splitlines()[-1]
        assert len(said[0]) < LONGEST, len(said[0])
        assert "Next: " in said[0], said[0]


@pytest.mark.slow
def test_thousands_of_columns(cli, tmp_path) -> None:
    """The time grows with the number of columns, not with its square: 10,000 take some seconds, as 2,000 one."""
    columns = 2000
    names = ",".join(f"c{j}" for j in range(columns))
    rows = "\n".join(",".join([str((i * 7 + 3) % 5)] * columns) + "," + "ab"[i % 2] for i in range(4))
    table, model = tmp_path / "wide.csv", tmp_path / "m.suffice"
    table.write_text(f"{names},y\n{rows}\n")
    acceptable(cli("fit", table, "--target", "y", "--model", "diagonal", "-o", model), [0])
    acceptable(cli("predict", model, table, "-o", tmp_path / "o.csv"), [0])
    acceptable(cli("impute", model, table, "-o", tmp_path / "i.csv"), [0])
    table.write_text(f"{names},y\n{rows.replace('0', 'u')}\n")
    acceptable(cli("fit", table, "--target", "z", "-o", tmp_path / "n.suffice"), [1])


def test_a_cell_of_ten_million_characters(cli, tmp_path) -> None:
    table = tmp_path / "long.csv"
    table.write_text("x,y\n" + "a" * 10_000_000 + ",a\nb,b\n")
    acceptable(cli("fit", table, "--target", "y", "--model", "nb", "-o", tmp_path / "m.suffice"))
    table.write_text("a" * 10_000_000 + ",y\n1,a\n2,b\n")
    acceptable(cli("fit", table, "--target", "z", "--model", "nb", "-o", tmp_path / "m.suffice"), [1])


NAMES_OF_CLASSES = ["=1+1", 'say "x, y"', "two\nlines", "@cmd|' /C calc'!A0", " -2", "é;\t🦉"]


def test_names_and_cells_come_out_of_csv_as_they_went_in(cli, tmp_path) -> None:
    """Formulas too: a sign put before them would be other data. Quotes, commas and line breaks are quoted instead."""
    header = ["size", "=SUM(A1:A9)", 'a "b", c', "y"]
    rows = [
        [str(i + i % 6 * 50), NAMES_OF_CLASSES[i % 6], "+x" if i % 2 else "", NAMES_OF_CLASSES[i % 6]]
        for i in range(36)
    ]
    table, model, out = tmp_path / "t.csv", tmp_path / "m.suffice", tmp_path / "o.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    acceptable(cli("fit", table, "--target", "y", "--model", "nb", "--keep-spaces", "-o", model), [0])
    acceptable(cli("predict", model, table, "--keep", "-o", out), [0])
    with out.open(newline="", encoding="utf-8") as file:
        names, *found = csv.reader(file)
    label = names.index("label")
    assert names[:4] == header
    assert [row[:4] for row in found] == rows
    assert [row[label] for row in found] == [row[3] for row in rows]  # the second column is the class
    assert [name for name in names if name.startswith("p_")] == [f"p_{name}" for name in sorted(NAMES_OF_CLASSES)]
