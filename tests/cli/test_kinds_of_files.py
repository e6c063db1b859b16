"""One table in every kind of file: workbooks, JSON lines, text under any name, and what comes on standard input."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import sys
import warnings
import zipfile

import openpyxl
import pyarrow as pa
import pytest

from suffice import load
from suffice.cli.files import read_file
from suffice.datasets import penguins_path
from suffice.engines import Reading, Remark, open_source
from suffice.errors import SourceError


def rows():
    with penguins_path().open(newline="") as file:
        return list(csv.reader(file))


def value(cell):
    """A cell as a program that knows types has it."""
    try:
        number = float(cell)
        return int(number) if number.is_integer() else number
    except ValueError:
        return cell or None


def workbook(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, content in sheets.items():
        sheet = book.create_sheet(name)
        for row in content:
            sheet.append(row)
    book.save(path)
    return path


def typed():
    header, *body = rows()
    return [header, *([value(cell) for cell in row] for row in body)]


def as_json(own=None):
    header, *body = own or typed()
    return "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in body).encode()


@pytest.fixture
def kinds(tmp_path):
    """The penguins in every kind of file that is read as text."""
    header, *body = rows()
    tabs = "".join("\t".join(row) + "\n" for row in [header, *body])
    (tmp_path / "p.csv").write_bytes(penguins_path().read_bytes())
    (tmp_path / "p.tsv").write_text(tabs)
    (tmp_path / "p.txt").write_text(tabs.replace("\t", ";"))
    (tmp_path / "p.txt.gz").write_bytes(gzip.compress(tabs.encode()))
    (tmp_path / "titled.csv").write_text("Penguins, of Palmer Station\n\n" + tabs.replace("\t", ","))
    (tmp_path / "declared.csv").write_text("sep=;\r\n" + tabs.replace("\t", ";"))
    (tmp_path / "p.jsonl").write_bytes(as_json())
    (tmp_path / "p.ndjson.gz").write_bytes(gzip.compress(as_json()))
    workbook(tmp_path / "p.xlsx", {"birds": typed()})
    workbook(tmp_path / "text.xlsx", {"birds": rows()})
    titled = [["Penguins of Palmer Station"], ["exported", dt.date(2024, 1, 31)], [], *typed(), [], []]
    workbook(tmp_path / "titled.xlsx", {"notes": [["nothing"]], "birds": titled})
    return sorted(path for path in tmp_path.iterdir())


def of_model(path):
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    return {key: document[key] for key in ("classes", "schema", "sha256", "dialect", "rows")}


def test_one_model_of_every_kind(cli, tmp_path, kinds) -> None:
    found, answers = {}, {}
    for path in kinds:
        sheet = ("--sheet", "birds") if path.name == "titled.xlsx" else ()
        for engine in ((), ("--engine", "local")) if path.name in ("p.txt.gz", "p.jsonl", "p.xlsx") else ((),):
            model = tmp_path / "m.suffice"
            cli("fit", path, "--target", "species", "--model", "nb", "-o", model, *sheet, *engine).ok()
            found[path.name, engine] = of_model(model)
            answers[path.name, engine] = cli("predict", model, path, *sheet).out
    assert len(kinds) == 11
    expected = found["p.csv", ()]
    assert expected["rows"] == 344
    for name, own in found.items():
        assert own == expected, name
    assert len(set(answers.values())) == 1


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.xlsx", "p.ndjson.gz", "p.txt.gz"])
def test_standard_input(cli, tmp_path, kinds, monkeypatch, name) -> None:
    model = tmp_path / "m.suffice"
    cli("fit", tmp_path / "p.csv", "--target", "species", "--model", "nb", "-o", model).ok()
    data = (tmp_path / name).read_bytes()
    if name == "p.ndjson.gz":  # text that was compressed is taken for a CSV
        data = gzip.decompress(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    sent = cli("predict", model, "-").ok()
    assert sent.out == cli("predict", model, tmp_path / "p.csv").out


def test_sheets(cli, tmp_path) -> None:
    one, two = [["x", "y"], [1, "a"], [2, "b"]], [["x", "y"], [3, "a"], [4, "b"]]
    path = workbook(tmp_path / "b.xlsx", {"2": one, "last year": two})
    with pytest.warns(Remark, match=r"b.xlsx has 2 sheets, and '2' was read.*'last year'"):
        assert read_file(path).columns["x"].to_pylist() == [1, 2]
    assert read_file(path, Reading(sheet="2")).columns["x"].to_pylist() == [1, 2]  # a name comes before a number
    assert read_file(path, Reading(sheet="last year")).columns["x"].to_pylist() == [3, 4]
    assert read_file(path, Reading(sheet="1")).columns["x"].to_pylist() == [1, 2]
    for wrong in ("3", "0", "Last", ""):
        with pytest.raises(SourceError, match="it has '2', 'last year'"):
            read_file(path, Reading(sheet=wrong))
    (tmp_path / "t.csv").write_text("x,y\n1,a\n")
    with pytest.raises(SourceError, match="is no workbook"):
        read_file(tmp_path / "t.csv", Reading(sheet="1"))
    empty = workbook(tmp_path / "e.xlsx", {"a": [], "b": one})
    with pytest.raises(SourceError, match="the sheet 'a' has no cells"):
        read_file(empty, Reading(sheet="a"))


def test_cells_of_workbooks_are_read_as_what_they_are(tmp_path) -> None:
    sheet = [
        ["", "n", "x", "truth", "day", "moment", "text", "price"],
        [1, 10**15, 9.125, True, dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 5), "a\nb", "1.234,50"],
        [2, -3, 0.1, False, dt.date(1999, 12, 31), dt.datetime(2024, 3, 1), "k", 9.125],
        [None, None, None, None, None, None, None, None],
        [3, None, 1e-7, None, None, None, None, 7],
    ]
    path = workbook(tmp_path / "t.xlsx", {"s": sheet})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        found = read_file(path, Reading(as_is=lambda name: name in ("day", "moment"))).columns
    assert found.num_rows == 3
    assert found[""].to_pylist() == [1, 2, 3]
    assert found["n"].to_pylist() == [10**15, -3, None]
    assert found["x"].to_pylist() == [9.125, 0.1, 1e-7]
    assert found["truth"].to_pylist() == [True, False, None]
    assert found["day"].to_pylist() == ["2024-02-29", "1999-12-31", ""]
    assert found["moment"].to_pylist()[0] == "2024-02-29 13:05:00"
    assert found["text"].to_pylist() == ["a\nb", "k", None]
    # 9.125 as a number beside text with a decimal comma is no nine thousand: they contradict each other.
    assert found["price"].type == pa.string()


@pytest.mark.parametrize("ending", ["xls", "xlsx", "xlsb", "ods"])
def test_damaged_workbooks_are_named(refused, write, tmp_path, ending) -> None:
    whole = workbook(tmp_path / "whole.xlsx", {"s": typed()}).read_bytes()
    for data in (b"x,y\n1,a\n", whole[: len(whole) // 2], whole[:-60], b"PK\x03\x04"):
        refused("fit", write(f"t.{ending}", data), "--target", "species", "-o", tmp_path / "m", saying="Next: ")


def test_json_lines_meet_keys_late_and_refuse_what_is_no_cell(write) -> None:
    path = write("t.jsonl", '\ufeff{"a": 1, "y": "u"}\n\n{"y": "v", "b": 2.50, "a": null}\n{"b": true}\n')
    found = read_file(path, Reading(text=("b",))).columns
    assert found.to_pydict() == {"a": [1, None, None], "y": ["u", "v", None], "b": [None, "2.50", "true"]}
    for line, words in (
        ('{"a": [1, 2]}', "line 2: 'a' holds a list"),
        ('{"a": {"b": 1}}', "line 2: 'a' holds an object"),
        ('{"a": 1', "line 2: Expecting"),
        ("[1]", "line 2 is no object"),
        ("7", "line 2 is no object"),
    ):
        with pytest.raises(SourceError, match=words):
            read_file(write("bad.jsonl", '{"a": 1}\n' + line + "\n"))
    with pytest.raises(SourceError, match="jq -c"):
        read_file(write("array.jsonl", "[\n{}]\n"))
    with pytest.raises(SourceError, match="is not UTF-8"):
        read_file(write("latin.jsonl", '{"a": "é"}\n'.encode("latin-1")))


TITLED = [
    ("Report\n\na,b\nx,1\n", ["a", "b"], 1),
    ("Report\na,b,c\n1,2,3\n4,5,6\n", ["a", "b", "c"], 2),
    ("Report,,\n,,\na,b,c\n1,2,3\n", ["a", "b", "c"], 1),
    ("Sales; by region\nprinted 2024\n\na;b;c;d\n1;2;x, y;3\n", ["a", "b", "c", "d"], 1),
    ("\n\na,b\n1,2\n", ["a", "b"], 1),
    (",a,b\n0,1,2\n1,3,4\n", ["", "a", "b"], 2),  # row numbers without a name
    ("2019,2020\n1,2\n", ["2019", "2020"], 1),
    ("a,b\n,\nx,y\n", ["a", "b"], 2),
    ("kind\nx\ny\n", ["kind"], 2),
]


@pytest.mark.parametrize(("text", "names", "rows"), TITLED)
def test_titles_above_the_names(write, text, names, rows) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read_file(write("t.csv", text)).columns
    assert (found.column_names, found.num_rows) == (names, rows)
    assert any("left out" in str(own.message) for own in told) == (text[0] in "RS")


@pytest.mark.parametrize("text", ["a\n1,5\n", "a,b\n1,2,3\n", "comment\nhello, you\nfoo, bar\n", "a,b\n1\n"])
def test_what_is_no_title_is_refused_as_before(write, text) -> None:
    with pytest.raises(SourceError, match="where the line of column names has"):
        read_file(write("t.csv", text))


def test_the_line_that_is_wrong_is_counted_from_the_top(write) -> None:
    with pytest.warns(Remark), pytest.raises(SourceError, match="line 6: 3 cells"):
        read_file(write("t.csv", "Title\n\na,b\n1,2\n3,4\n5,6,7\n"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("https://example.org/t.csv?x=1", "curl -LO 'https://example.org/t.csv?x=1'"),
        ("s3://bucket/t.parquet", "'s3://bucket/t.parquet' is an address"),
        ("t.sav", "pandas.read_spss"),
        ("t.zip", "unpack it"),
        ("t.sqlite", "write the result of a query"),
        ("t.weird", "no ending that says what it holds"),
        ("t", ".csv, .tsv"),
    ],
)
def test_what_is_not_read_says_how_to_go_on(refused, write, tmp_path, name, words) -> None:
    given = name if "://" in name else write(name, "x,y\n1,a\n")
    refused("fit", given, "--target", "y", "-o", tmp_path / "m", saying=words)
    with pytest.raises(SourceError) as error:
        open_source(str(given))
    assert words in str(error.value)


def test_results_are_not_written_as_workbooks(refused, tmp_path, kinds, model) -> None:
    refused("predict", model, tmp_path / "p.csv", "-o", tmp_path / "o.xlsx", saying="not as Excel")
    with pytest.raises(SourceError, match="not as JSON lines"):
        load(model).predict_table(tmp_path / "p.csv", tmp_path / "o.jsonl")


def test_what_is_kept_is_as_the_sheet_has_it(cli, tmp_path) -> None:
    sheet = [["code", "x", "y"], *([f"00{i}", i / 4, "ab"[i % 2]] for i in range(1, 30))]
    path, model = workbook(tmp_path / "t.xlsx", {"s": sheet}), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--drop", "code", "--model", "nb", "-o", model).ok()
    done = cli("predict", model, path, "--keep")
    kept = [row[:2] for row in csv.reader(io.StringIO(done.out))]
    assert kept[1:4] == [["001", "0.25"], ["002", "0.5"], ["003", "0.75"]]
