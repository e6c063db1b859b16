"""One CSV, one reading: whichever way a file comes in, its cells are the same, and what nobody counts with is kept."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import random
import warnings

import pyarrow as pa
import pytest
from csv_ways import ways_agree
from fuzz_csv import grid
from hypothesis import HealthCheck, given, settings, strategies as st

from suffice import NaiveBayes, load
from suffice.cli.files import read_file
from suffice.engines import Reading, Remark, as_written, open_source
from suffice.errors import SourceError

from .test_kinds_of_files import of_model

TRIES = int(os.environ.get("SUFFICE_TABLES", "0"))
LOOSE = settings(
    max_examples=TRIES or 40,
    deadline=None,
    derandomize=not TRIES,
    database=None,
    suppress_health_check=list(HealthCheck),
)

# --- every dialect ---------------------------------------------------------------------------------------------------

IDS = [
    "00001",
    "+491123",
    "12345678901234567890",
    "NA",
    " 7 ",
    "1e5",
    "",
    "null",
    "été",
    'a "b"',
    "x,y;z|w",
    "two\nlines",
]
CLASSES = ["001", "01", "1", "5E1", "50", "true", "0", "None", "NA", "ja"]


@st.composite
def dialects(draw):
    """A table of numbers, whole numbers, text, identifiers and classes; how it is written; and its bytes."""
    decimal = draw(st.sampled_from(".,"))
    separator = draw(st.sampled_from(";\t|" if decimal == "," else ",;\t|"))
    thousands = draw(st.sampled_from(["", " ", "\u00a0", "\u202f", "'", "\u2019", "." if decimal == "," else ","]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    minus = draw(st.sampled_from("-\u2212"))
    if encoding == "cp1252" and (thousands == "\u202f" or minus == "\u2212"):
        encoding = "utf-8"
    end, quoting = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    n = draw(st.integers(2, 30))
    hundredths = st.integers(-(10**9), 10**9)
    numbers = [0.25, *(value / 100 for value in draw(st.lists(hundredths, min_size=n - 1, max_size=n - 1)))]
    numbers = [None if draw(st.integers(0, 9)) == 0 and i else value for i, value in enumerate(numbers)]
    whole = draw(st.lists(st.integers(-5000, 5000), min_size=n, max_size=n))
    ids = [draw(st.sampled_from(IDS)) for _ in range(n)]
    classes = [draw(st.sampled_from(CLASSES)) for _ in range(n)]

    def number(value, places):
        if value is None:
            return ""
        text = f"{abs(value):,.{places}f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)
        return (minus if value < 0 else "") + text

    written = [number(value, 2) for value in numbers], [number(value, 0) for value in whole]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(["größe", "n", "id", "y"])
    writer.writerows(zip(*written, ids, classes, strict=True))
    return (numbers, whole, ids, classes), written, file.getvalue().encode(encoding)


def every_way(data, folder, reading):
    """Yield the typed cells and the text of every column, by every way in."""
    folder.mkdir(exist_ok=True)
    plain, zipped, bzipped = folder / "t.csv", folder.parent / "u.csv.gz", folder.parent / "v.csv.bz2"
    plain.write_bytes(data)
    zipped.write_bytes(gzip.compress(data))
    bzipped.write_bytes(bz2.compress(data))
    for path in (plain, zipped):
        found = read_file(path, reading)
        yield found.columns, found.written(found.columns.column_names)
    for source in (plain, folder, str(folder / "*.csv"), [plain], zipped, bzipped):
        opened = open_source(source, reading)
        names = opened.schema.names
        batches = list(opened.batches([*names, *map(as_written, names)]))
        table = pa.Table.from_batches(batches)
        yield table.select(names), table.select(list(map(as_written, names))).rename_columns(names)


def test_every_dialect_is_read_alike_by_every_way(tmp_path) -> None:
    @LOOSE
    @given(dialects())
    def run(drawn) -> None:
        (numbers, whole, ids, classes), written, data = drawn
        reading = Reading(target="y", labels="text", as_is=lambda name: name == "id")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Remark)
            for typed, text in every_way(data, tmp_path / "folder", reading):
                assert typed["größe"].to_pylist() == numbers
                assert typed["n"].to_pylist() == whole
                assert typed["y"].to_pylist() == classes
                assert text.to_pydict() == {"größe": written[0], "n": written[1], "id": ids, "y": classes}

    run()


def test_odd_bytes_are_read_alike_by_every_way(tmp_path) -> None:
    for seed in range(TRIES or 12):
        ways_agree(grid(random.Random(seed)), tmp_path)
        ways_agree(random.Random(seed).randbytes(5 * seed), tmp_path)


@pytest.mark.parametrize("cells", ["1.5,NaN,2", "nan,-nan,+NaN", "1,NaN,2"])
def test_missing_numbers_are_one_thing_whatever_the_way(tmp_path, cells) -> None:
    """NaN is a number to Arrow, and a null is none: a table would differ by how it was read."""
    rows = "".join(f"{i}.25,{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells.split(",")))
    data = ("u,x,y\n" + rows).encode()
    assert ways_agree(data, tmp_path, (Reading(target="y"), Reading(target="y", numbers=("x",))))
    found = read_file(tmp_path / "many" / "t.csv", Reading(target="y", numbers=("x",))).columns["x"].to_pylist()
    assert found == [None if "n" in cell.lower() else float(cell) for cell in cells.split(",")]


def test_every_block_size_gives_the_same_cells(tmp_path, monkeypatch) -> None:
    """A file of many blocks is what a file of one is: late cells decide as early ones do."""
    rows = "".join(f"{i % 9},{i % 7}.5,{i},{'ab'[i % 2]}\n" for i in range(300))
    data = "a,b,c,y\n" + rows + '"1,5",k.A.,12345678901234567890,NA\n'
    path = tmp_path / "t.csv"
    path.write_text(data)
    found = []
    for block in (1 << 24, 256):
        monkeypatch.setattr("suffice.engines.csv_text.BLOCK", block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Remark)
            opened = open_source(path, Reading(target="y"))
            found.append((opened.schema, pa.Table.from_batches(list(opened.batches(opened.schema.names))).to_pydict()))
    assert found[0] == found[1]
    assert found[0][0].types == [pa.float64(), pa.float64(), pa.float64(), pa.string()]
    assert (found[0][1]["a"][-1], found[0][1]["b"][-1], found[0][1]["y"][-1]) == (1.5, None, "NA")


# --- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "model"), [("utf-8", "full"), ("cp1252", "nb"), ("utf-16", "nb")])
def test_one_model_by_every_way(cli, write, tmp_path, monkeypatch, encoding, model) -> None:
    colours, classes = ("rouge", "bleu", "été"), ("né", "non", "NA")
    rows = "".join(
        f"{i:05d};{i % 7},5;{'9.100,00' if i % 3 else '1.250,75'};{colours[i % 5 % 3]};{classes[i % 3]}\n"
        for i in range(60)
    )
    data = ("id;größe;preis;farbe;klasse\n" + rows).encode(encoding)
    path = write("t.csv", data)
    (tmp_path / "folder").mkdir()
    write("folder/t.csv", data)
    write("u.csv.gz", gzip.compress(data))
    ways = {
        "plain": (path,),
        "local": (path, "--engine", "local"),
        "folder": (tmp_path / "folder",),
        "pattern": (tmp_path / "folder" / "*.csv",),
        "zipped": (tmp_path / "u.csv.gz",),
    }
    told = ("--target", "klasse", "--drop", "id", "--model", model)
    found = {}
    for name, words in ways.items():
        done = cli("fit", *words, *told, "-o", tmp_path / f"{name}.suffice").ok()
        assert "commas in 'größe', 'preis' were read as decimal points" in done.err
        found[name] = of_model(tmp_path / f"{name}.suffice")
    monkeypatch.setattr("suffice.cli.models.LARGE", 100)
    for name, source in (("large", path), ("large zipped", tmp_path / "u.csv.gz")):
        cli("fit", source, *told, "-o", tmp_path / "l.suffice").ok()
        found[name] = of_model(tmp_path / "l.suffice")
    for name, own in found.items():
        assert own == found["plain"], name
    assert found["plain"]["classes"] == ["NA", "non", "né"]


def test_compressed_size_is_not_size(tmp_path, monkeypatch) -> None:
    from suffice.cli.models import is_large

    monkeypatch.setattr("suffice.cli.models.LARGE", 10_000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,a\n" * 5000))
    assert path.stat().st_size < 1000
    assert is_large(path)
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,a\n" * 2000))
    assert not is_large(path)


# --- what is not used ------------------------------------------------------------------------------------------------

KEPT = ["00001", "+491123", "12345678901234567890", "NA", "null", " ", "1e5", "007.50", "TRUE", "2020-01-02", "", "−1"]


@pytest.fixture
def kept(cli, write, tmp_path):
    """A model of two columns, a table with others beside them, and its cells as text."""
    header = ["id", "x", "note", "c", "y", "flag"]
    rows = []
    for i in range(48):
        used = f"{i % 5}.50" if i % 9 else "", "uv"[i % 2] if i % 7 else "NA"
        rows.append([KEPT[i % 12], used[0], KEPT[(i + 3) % 12], used[1], "ab"[i % 2], "YES" if i % 4 else "True"])
    table = tmp_path / "t.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    model = tmp_path / "m.suffice"
    told = ("--target", "y", "--drop", "id", "--drop", "note", "--drop", "flag", "--model", "nb")
    cli("fit", table, *told, "-o", model).ok()
    return model, table, header, rows


def cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("large", [False, True])
def test_predict_keeps_every_cell(cli, tmp_path, monkeypatch, kept, large) -> None:
    model, table, header, rows = kept
    if large:
        monkeypatch.setattr("suffice.cli.models.LARGE", 100)
    cli("predict", model, table, "--keep", "-o", tmp_path / "o.csv").ok()
    names, *found = cells(tmp_path / "o.csv")
    assert names[:6] == header
    assert [row[:6] for row in found] == rows
    cli("predict", model, table, "--keep", "-o", tmp_path / "o.parquet").ok()
    answers = read_file(tmp_path / "o.parquet", Reading(trim=False)).columns
    assert answers["id"].to_pylist() == [row[0] for row in rows]
    assert answers["x"].to_pylist() == [float(row[1]) if row[1] else None for row in rows]  # a column of the model


def test_predict_and_outliers_keep_on_stdout(cli, kept) -> None:
    model, table, header, rows = kept
    for command, skip in (("predict", 0), ("outliers", 1)):
        done = cli(command, model, table, "--keep")
        found = list(csv.reader(io.StringIO(done.out, newline="")))
        assert [row[skip : skip + 6] for row in found] == [header, *rows]
    document = json.loads(cli("predict", model, table, "--keep", "--json").out)
    assert [row["id"] for row in document["predictions"]] == [row[0] for row in rows]


def test_impute_changes_holes_alone(cli, tmp_path, kept) -> None:
    model, table, header, rows = kept
    cli("impute", model, table, "-o", tmp_path / "o.csv").ok()
    names, *found = cells(tmp_path / "o.csv")
    assert names == header
    for got, was in zip(found, rows, strict=True):
        for name, one, other in zip(header, got, was, strict=True):
            hole = (name == "x" and other == "") or (name == "c" and other == "NA")
            assert (one != other and one != "") if hole else one == other
    cli("impute", model, table, "--draws", "2", "--seed", "1", "-o", tmp_path / "d.csv").ok()
    drawn = cells(tmp_path / "d.csv")[1:]
    assert [row[1] for row in drawn] == 2 * [row[0] for row in rows]


def test_filled_cells_are_written_as_their_column_is(cli, write, tmp_path) -> None:
    rows = [f"{i % 7},25;{'WAHR' if i % 2 else 'x'};{('true', 'FALSE')[i % 2]};{'ab'[i % 2]}" for i in range(40)]
    path, model = write("t.csv", "\n".join(["x;t;b;y", *rows, ";x;;a", ""])), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--model", "nb", "-o", model).ok()
    done = cli("impute", model, path)
    *observed, filled = list(csv.reader(io.StringIO(done.out)))
    assert observed[1:] == [row.split(";") for row in rows]
    assert "," in filled[0]
    assert "." not in filled[0]
    assert filled[2] == "true"


# --- labels ----------------------------------------------------------------------------------------------------------

WRITTEN = ["001", "01", "1", "5E1", "50", "0", "true", "None", "NA", "null", "?", "1.0", "-"]


@pytest.mark.parametrize("way", [(), ("--engine", "local")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_labels_are_what_is_written(cli, write, tmp_path, way, quote) -> None:
    rows = "".join(f"{i}.5,{quote}{label}{quote}\n" for i in range(8) for label in (*WRITTEN, ""))
    path, model = write("t.csv", "x,y\n" + rows), tmp_path / "m.suffice"
    done = cli("fit", path, "--target", "y", "--model", "nb", "-o", model, *way).ok()
    assert load(model).classes_.tolist() == sorted(WRITTEN)
    assert load(model).statistics_.rows == 8 * len(WRITTEN)
    said = next(line for line in done.err.splitlines() if "classes like any other" in line)
    assert all(f"'{text}' (8 rows)" in said for text in ("?", "NA", "None", "null"))
    assert "--missing-text NA" in said
    answers = json.loads(cli("predict", model, path, "--json").out)
    assert answers["classes"] == sorted(WRITTEN)
    told = ("--missing-text", "NA", "--missing-text", "?", "--missing-text", "None", "--missing-text", "null")
    done = cli("fit", path, "--target", "y", "--model", "nb", "-o", model, *told, *way)
    assert load(model).classes_.tolist() == sorted(set(WRITTEN) - {"NA", "?", "None", "null"})
    assert "looks" not in done.err
    cli("update", model, path, "--target", "y").ok()  # the model remembers
    assert load(model).classes_.tolist() == sorted(set(WRITTEN) - {"NA", "?", "None", "null"})
    cli("forget", model, path, "--target", "y").ok()


@pytest.mark.parametrize("way", [(), ("--engine", "local")])
def test_labels_declared_to_be_numbers(cli, refused, write, tmp_path, way) -> None:
    path = write("t.csv", "x,y\n" + "".join(f"{i},{label}\n" for i in range(9) for label in ("01", "1", "2.0", "+3")))
    model = tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--labels", "numbers", "-o", model, "--model", "nb", *way).ok()
    assert load(model).classes_.tolist() == [1, 2, 3]
    odd = write("odd.csv", "x,y\n1,1\n2,two\n")
    refused(
        "fit",
        odd,
        "--target",
        "y",
        "--labels",
        "numbers",
        "-o",
        tmp_path / "n",
        *way,
        saying="'two' is no whole number",
    )
    measured = write("d.csv", "x,y\n" + "".join(f"{i},{i % 3}.5\n" for i in range(9)))
    refused = cli("fit", measured, "--target", "y", "-o", tmp_path / "n", *way)
    assert (refused.status, "--labels text" in refused.complaint) == (1, True)
    cli("fit", measured, "--target", "y", "--labels", "text", "-o", tmp_path / "n", *way).ok()
    assert load(tmp_path / "n").classes_.tolist() == ["0.5", "1.5", "2.5"]


@pytest.mark.parametrize(
    ("labels", "written", "new"),
    [([0, 1], ["0", "1"], "2"), ([False, True], ["false", "TRUE"], None), (["0", "1"], ["0", "1"], "01")],
)
def test_labels_meet_those_of_the_model(cli, write, tmp_path, labels, written, new) -> None:
    """Models fitted in Python, with numbers and truth values for classes, go on with CSV files."""
    model, rows = tmp_path / "m.suffice", [[float(i)] for i in range(10)]
    table = pa.table({"x": [row[0] for row in rows]})
    NaiveBayes().fit(table, [labels[i % 2] for i in range(10)]).save(model)
    path = write("t.csv", "x,y\n" + "".join(f"{i},{written[i % 2]}\n" for i in range(10)))
    cli("update", model, path, "--target", "y").ok()
    assert load(model).classes_.tolist() == labels
    cli("forget", model, path, "--target", "y").ok()
    assert load(model).statistics_.weight.tolist() == [5.0, 5.0]
    cli("impute", model, path, "--target", "y").ok()
    cli("report", model, path, "--target", "y", "--json").ok()
    odd = write("odd.csv", f"x,y\n1,{written[0]}\n2,{new or 'maybe'}\n")
    done = cli("update", model, odd, "--target", "y", "-o", tmp_path / "n")
    if new is None:
        assert (done.status, "true or false" in done.complaint) == (1, True)
    else:
        assert load(tmp_path / "n").classes_.tolist() == sorted([*labels, type(labels[0])(new)])


@pytest.mark.parametrize("kind", [pa.int32(), pa.float64(), pa.dictionary(pa.int8(), pa.string())])
def test_labels_of_other_formats_meet_classes_of_text(cli, write, tmp_path, kind) -> None:
    path, model = write("t.csv", "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(10))), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--model", "nb", "-o", model).ok()
    labels = pa.array(["1", "0", None]) if pa.types.is_dictionary(kind) else pa.array([1, 0, None])
    more = write("more.parquet", pa.table({"x": [1, 2, 3], "y": labels.cast(kind)}))
    cli("update", model, more, "--target", "y").ok()
    assert (load(model).classes_.tolist(), load(model).statistics_.rows) == (["0", "1"], 12)


# --- what a model remembers ------------------------------------------------------------------------------------------


def priced(cli, write, tmp_path, cells, *way):
    rows = "".join(f"{cells[i % len(cells)]};{i % 3};{'ab'[i % 2]}\n" for i in range(40))
    path, model = write("fit.csv", "price;n;y\n" + rows), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--model", "full", "-o", model, *way).ok()
    return model


@pytest.mark.parametrize("way", [(), ("--engine", "local")])
def test_thousands_stay_thousands(cli, write, tmp_path, monkeypatch, way) -> None:
    model = priced(cli, write, tmp_path, ["9.100,00", "8.250,50", "7.000,25", "9.912,75"], *way)
    answers = {}
    for text in ("9.100", "9100", "9.100,00", "9 100", "9'100", "\u202f9\u00a0100,0"):
        path = write("new.csv", f"price;n\n{text};1\n")
        answers[text] = cli("predict", model, path).out
        monkeypatch.setattr("suffice.cli.models.LARGE", 1)
        cli("predict", model, path, "-o", tmp_path / "o.csv").ok()
        monkeypatch.undo()
        assert [row[0] for row in cells(tmp_path / "o.csv")] == [r.split(",")[0] for r in answers[text].splitlines()]
    assert len(set(answers.values())) == 1, answers
    told = cli("predict", model, write("new.csv", "price;n\n9.100;1\n"))
    assert "points in 'price' were read as thousands separators" in told.err
    other = cli("predict", model, write("new.csv", "price;n\n9100.25;1\n"))
    assert "has decimal points, and the table that the model learned from decimal commas" in other.err


def test_two_readings_are_refused(cli, refused, write, tmp_path) -> None:
    rows = "".join(f"{1 + i % 7}.100,00;{i % 3},5;{'ab'[i % 2]}\n" for i in range(1, 40))
    model = tmp_path / "m.suffice"
    cli("fit", write("f.csv", "p;q;y\n" + rows), "--target", "y", "--model", "full", "-o", model).ok()
    refused("predict", model, write("new.csv", "p;q\n9.100;2.5\n"), saying="'9.100' is one number with decimal commas")


def test_what_nothing_decides_is_named(cli, write, tmp_path) -> None:
    rows = "".join(f"{1 + i % 7}.{100 + i};{i % 3};{'ab'[i % 2]}\n" for i in range(40))
    done = cli("fit", write("f.csv", "p;q;y\n" + rows), "--target", "y", "--model", "full", "-o", tmp_path / "m")
    assert "points in 'p' were read as decimal points: '1.100' is 1.100, not 1100" in done.err
    mixed = rows.replace(";0;", ";0,5;")  # another column says it
    done = cli("fit", write("g.csv", "p;q;y\n" + mixed), "--target", "y", "--model", "full", "-o", tmp_path / "n")
    assert "points in 'p' were read as thousands separators" in done.err
    assert load(tmp_path / "n").means_.min(axis=0)[0] > 1000


# --- what cannot be read ---------------------------------------------------------------------------------------------


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path) -> None:
    """What a column holds is settled by a first reading; a cell that the second finds is not made missing."""
    path = tmp_path / "t.csv"
    for cells, late in ((["1.5", "2"], "word"), (["1,5", "2"], "word"), (["true", "false"], "maybe"), (["", ""], "7")):
        path.write_text("x;y\n" + "".join(f"{cell};a\n" for cell in cells))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Remark)
            opened = open_source(path)
        path.write_text("x;y\n" + "".join(f"{cell};a\n" for cell in [*cells, late]))
        with pytest.raises(SourceError, match=f"'{late}' was not there"):
            list(opened.batches(["x"]))


def test_holes_of_a_column_without_a_value(cli, write, tmp_path, kept) -> None:
    model = kept[0]
    done = cli("impute", model, write("new.csv", "id,x,c\n007,,\n008,,NA\n"))
    found = list(csv.reader(io.StringIO(done.out)))
    assert [row[0] for row in found] == ["id", "007", "008"]
    assert all(float(row[1]) > 0 and row[2] in ("u", "v") for row in found[1:])


def test_damaged_archives_and_pipes_are_named(refused, write, tmp_path) -> None:
    whole = gzip.compress(b"x,y\n" + b"".join(b"%d,a\n%d,b\n" % (i, i * 7919) for i in range(5000)))
    for data in (whole[: len(whole) // 2], whole[:2000] + bytes(60) + whole[2060:], b"x,y\n1,a\n"):
        refused("fit", write("t.csv.gz", data), "--target", "y", "-o", tmp_path / "m", saying="damaged or cut off")
        with pytest.raises(SourceError, match="damaged or cut off"):
            NaiveBayes().fit_table(tmp_path / "t.csv.gz", "y")
    if not hasattr(os, "mkfifo"):
        return  # Windows has no pipes with names of files
    os.mkfifo(tmp_path / "pipe.csv")
    for words in (
        ("fit", tmp_path / "pipe.csv", "--target", "y", "-o", tmp_path / "m"),
        ("show", tmp_path / "pipe.csv"),
    ):
        refused(*words, saying="is a pipe or a device")
    with pytest.raises(SourceError, match="is a pipe or a device"):
        open_source(tmp_path / "pipe.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_table_of_names_alone_is_refused_alike(tmp_path, encoding) -> None:
    assert not ways_agree("u,x,y\n".encode(encoding), tmp_path)
