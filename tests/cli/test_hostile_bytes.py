"""CSV files of any bytes: a model or one line of complaint, never a traceback, an unexpected error or a warning.

`SUFFICE_TABLES=2000` tries that many files.
"""

from __future__ import annotations

import csv
import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

TRIES = int(os.environ.get("SUFFICE_TABLES", "0"))
LONGEST = 2000

MARKS = [
    *[b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"],  # byte order marks
    *[b'"', b'""', b"'", b"\\", b"#"],
    *[b",", b";", b"\t", b"|"],
    *[b"\r", b"\r\n", b"\n", b"\n\n"],
    *[b"\0", b"\x1a", b"\xff", b"\xc3", b"\xa0", b"\x85", b"\xf0\x9f\xa6\x89"],
    *[b"=1+1", b"1e999", b"-inf", b"nan", b"NA", b"1,5", b"1.234,5"],
]
CELLS = [
    *[
        "0",
        "1",
        "-2.5",
        "1e300",
        "1e-320",
        "1e999",
        "inf",
        "0x10",
        "1_000",
        "007",
        "1,5",
        "1 000",
        "$5",
        "50%",
        "9" * 400,
    ],
    *["", "NaN", "NA", "NULL", "-", "+"],
    *["true", "False", "2020-01-01", "12:30"],
    *["a", "b", "é", "a" * 5000, '"', '"a,b"', '"a\nb"', "\0"],
    *["=1+1", "@cmd", "<b>", "'; DROP TABLE t; --"],
]
NAMES = [
    *["x", "y", "", "y", "a b", "é", '"x\ny"', "a" * 3000, "0", "NA"],
    *["label", "p_a", "log_density"],
    *["=1+1", "<script>", "'; --"],
]


@st.composite
def grids(draw: st.DrawFn) -> bytes:
    """Lines of odd cells, some torn, with some bytes changed."""
    d = draw(st.integers(1, 4))
    names = [*draw(st.lists(st.sampled_from(NAMES), min_size=d, max_size=d)), "y"]
    mark = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
    lines = [mark.join(names)]
    pool = [*draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4)), "1", "2"]
    for _ in range(draw(st.integers(0, 12))):
        cells = [draw(st.sampled_from(pool)) for _ in range(d)]
        lines.append(mark.join([*cells, draw(st.sampled_from(["a", "b", "b", ""]))]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig", "utf-16-le"]))
    data = end.join(lines).encode(encoding, "replace")
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from(MARKS) | st.binary(max_size=3)) + data[at:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.sampled_from([False] * 5 + [True])) else data


FILES = (
    grids() | grids() | grids() | st.binary(max_size=200) | st.lists(st.sampled_from(MARKS), max_size=30).map(b"".join)
)


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


def question(cli, data: bytes, folder) -> None:
    """Fit on the bytes and, if there is a model, ask it about the same file."""
    table, model = folder / "t.csv", folder / "m.suffice"
    table.write_bytes(data)
    model.unlink(missing_ok=True)
    done = cli("fit", table, "--target", "y", "--model", "nb", "-o", model)
    acceptable(done)
    assert model.exists() == (done.status == 0)
    if not done.status:
        acceptable(cli("predict", model, table, "-o", folder / "o.csv"))
        acceptable(cli("show", model))
        acceptable(cli("impute", model, table, "-o", folder / "i.csv"))


def test_any_bytes(cli, tmp_path) -> None:
    @settings(
        max_examples=TRIES or 40,
        deadline=None,
        derandomize=not TRIES,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(FILES)
    def run(data: bytes) -> None:
        question(cli, data, tmp_path)

    run()


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
