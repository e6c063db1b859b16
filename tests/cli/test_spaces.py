"""Spaces around labels, levels and names: taken away and counted, or kept, in every way in."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import NaiveBayes, load
from suffice._dialect import trimmed_names
from suffice.cli.files import read_file
from suffice.engines import Remark
from suffice.files.saving import describe

AROUND = [" ", "\u00a0", "\t", "\u3000", "\u202f ", "\u200b"]
NAMES = ("age", "city", "class")


def rows(n: int = 240) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(3)
    return [
        (f"{rng.normal(i % 2):.3f}", ("Oslo", "Bergen", "NA")[rng.integers(3)], ("good", "bad")[i % 2])
        for i in range(n)
    ]


def spaced(text: str, i: int) -> str:
    """Every third text with spaces on one side or both."""
    around = AROUND[i % len(AROUND)]
    return text if i % 3 else (around + text, text + around, around + text + around)[(i // 3) % 3]


def text_of(table, names=NAMES, mark: str = ",") -> str:
    return "".join(mark.join(row) + "\n" for row in [names, *table])


@pytest.fixture(scope="module")
def clean():
    return rows()


@pytest.fixture(scope="module")
def messy(clean):
    table = [(a, spaced(b, i), spaced(c, i + 1)) for i, (a, b, c) in enumerate(clean)]
    return table, sum(b != own[1] for (_, b, _), own in zip(table, clean, strict=True))


def arrow(table, names=NAMES, coded: bool = False) -> pa.Table:
    columns = [pa.array([float(row[0]) for row in table]), *(pa.array([row[j] for row in table]) for j in (1, 2))]
    return pa.table(
        [own.dictionary_encode() if coded and j else own for j, own in enumerate(columns)], names=list(names)
    )


def written(tmp_path, kind: str, table, names):
    path = tmp_path / f"{'messy' if names != NAMES else 'clean'}{kind}"
    if kind in (".csv", ".csv.gz", ".tsv"):
        text = text_of(table, names, "\t" if kind == ".tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    elif kind == ".parquet":
        pq.write_table(arrow(table, names), path, row_group_size=50)
    else:
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, (own := arrow(table, names, True)).schema) as out,
        ):
            out.write_table(own)
    return path


WITH_SPACES = ("age ", "\u00a0city", "class")


def block_settings(model) -> str:
    """All that a model file says, but for the name of the table."""
    loaded = load(model)
    document = json.loads(describe(loaded._fitted, loaded.get_params(deep=False)))
    return json.dumps({name: value for name, value in document.items() if name != "source"}, sort_keys=True)


@pytest.mark.parametrize(
    ("kind", "model", "parts"),
    [
        *((kind, "nb", parts) for kind in (".csv", ".parquet") for parts in (False, True)),
        *((kind, "nb", False) for kind in (".csv.gz", ".tsv", ".arrow")),
        (".csv", "auto", False),
        (".parquet", "forest", True),
    ],
)
def test_a_trimmed_file_is_the_clean_file(cli, tmp_path, monkeypatch, clean, messy, kind, model, parts) -> None:
    if parts:
        monkeypatch.setattr("suffice.cli.models.LARGE", 100)
    if kind == ".tsv":  # where a tab parts cells
        messy = [tuple(cell.replace("\t", " ") for cell in row) for row in messy[0]], messy[1]
    one, other = written(tmp_path, kind, clean, NAMES), written(tmp_path, kind, messy[0], WITH_SPACES)
    told = ("--target", "class", "--model", model, "--quiet")
    cli("fit", one, *told, "-o", tmp_path / "clean.suffice").ok()
    done = cli("fit", other, *told[:-1], "-o", tmp_path / "messy.suffice").ok()
    assert f"'city' ({messy[1]} cells)" in done.err
    assert "in the names of 'age', 'city'" in done.err
    assert done.err.count("spaces around texts") == 1
    assert done.err.count("--keep-spaces") == 1
    assert block_settings(tmp_path / "clean.suffice") == block_settings(tmp_path / "messy.suffice")
    # and a model reads later files likewise, saying so, with no option to keep what it does not know
    answers = []
    for table, path in ((one, tmp_path / "a.csv"), (other, tmp_path / "b.csv")):
        done = cli("predict", tmp_path / "clean.suffice", table, "-o", path)
        assert ("spaces around texts" in done.err) == (table == other)
        assert "--keep-spaces" not in done.err
        answers.append(path.read_bytes())
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
@pytest.mark.parametrize("parts", [False, True])
def test_spaces_that_are_kept_are_part_of_labels_and_levels(cli, tmp_path, monkeypatch, messy, kind, parts) -> None:
    if parts:
        monkeypatch.setattr("suffice.cli.models.LARGE", 100)
    table = written(tmp_path, kind, messy[0], WITH_SPACES)
    model = tmp_path / "m.suffice"
    done = cli("fit", table, "--target", "class", "--model", "nb", "--keep-spaces", "-o", model).ok()
    assert "taken away" not in done.err
    loaded = load(model)
    assert set(loaded.classes_.tolist()) == {row[2] for row in messy[0]}
    assert loaded.feature_names_in_.tolist() == list(WITH_SPACES[:2])
    kept = set(loaded.statistics_.blocks[-1].levels[0]) | {"NA"}
    assert kept == {row[1] for row in messy[0]} | {"NA"} - {row[1] for row in messy[0]}
    done = cli("predict", model, table, "-o", tmp_path / "a.csv").ok()
    assert "taken away" not in done.err


def test_names_that_only_spaces_tell_apart_stay(write) -> None:
    assert trimmed_names(["a", "a ", " b"]) == ("a", "a ", "b")
    with pytest.warns(Remark, match="in the name of 'b'"):
        assert read_file(write("t.csv", "a,a , b\n1,2,3\n")).columns.column_names == ["a", "a ", "b"]


def test_a_label_of_spaces_is_none(cli, write, tmp_path) -> None:
    text = "x,y\n" + "".join(f"{i % 3},{'ab'[i % 2]}\n" for i in range(30)) + "1,  \n2,\u00a0\n"
    done = cli("fit", write("t.csv", text), "--target", "y", "--model", "nb", "-o", tmp_path / "m.suffice")
    assert "2 of 32 rows have no 'y' and were left out." in done.err


def test_fit_table_trims_files_and_leaves_tables(tmp_path, messy, clean) -> None:
    path = written(tmp_path, ".parquet", messy[0], WITH_SPACES)
    with pytest.warns(Remark, match=re.escape(f"'city' ({messy[1]} cells)")):
        trimmed_model = NaiveBayes().fit_table(path, "class")
    assert trimmed_model.classes_.tolist() == ["bad", "good"]
    assert len(NaiveBayes().fit_table(path, "class", keep_spaces=True).classes_) > 2
    assert len(NaiveBayes().fit_table(pq.read_table(path), "class").classes_) > 2


def test_a_model_of_python_reads_files_by_what_it_knows(cli, write, tmp_path) -> None:
    """One that knows no text with spaces around it has them taken away, one that does has not."""
    path = write("new.csv", "x,c\n1,u \n2,v\n")
    for levels, told in ((["u", "v"], True), (["u ", "v"], False)):
        frame = pa.table({"x": [1.0, 2.0, 1.5, 2.5], "c": levels * 2})
        NaiveBayes().fit(frame, ["a", "b", "a", "b"]).save(tmp_path / "m.suffice")
        done = cli("predict", tmp_path / "m.suffice", path)
        assert ("taken away" in done.err) is told
        tables = cli("predict", tmp_path / "m.suffice", write("same.csv", f"x,c\n1,{levels[0]}\n2,v\n"))
        assert done.out == tables.out


def test_update_and_forget_read_as_fit_did(cli, write, tmp_path) -> None:
    model, more = (
        tmp_path / "m.suffice",
        write("more.csv", text_of([("0.1", " Oslo", "bad "), ("2", "Oslo\t", "good")])),
    )
    first = write("t.csv", text_of(rows(40)))
    cli("fit", first, "--target", "class", "--model", "nb", "-o", model).ok()
    before = block_settings(model)
    cli("update", model, more, "--target", "class").ok()
    assert load(model).classes_.tolist() == ["bad", "good"]
    cli("forget", model, more, "--target", "class").ok()
    assert load(model).statistics_.blocks[-1].levels == (("Bergen", "Oslo"),)
    assert load(model).statistics_.rows == 40
    assert '"trimmed": true' in before
