"""Bad input: an exit status, one readable line, and nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from suffice.datasets import penguins_path

TABLES = {
    # name of the file: (contents, words the message must hold)
    "ragged.csv": ("x,y\n1,a\n2,b\n3,a,4\n5,b\n", ["ragged.csv", "line 4", "3 cells", "has 2"]),
    "short.csv": ('x,z,y\n"1\n1",2,a\n2,b\n', ["short.csv", "line 4", "2 cells", "has 3"]),
    "open-quote.csv": ('x,y\n1,"a\n2,b\n', ["double quote", "line 2"]),
    "nothing.csv": ("", ["nothing.csv", "empty"]),
    "blank.csv": ("\n\n", ["blank.csv", "first line"]),
    "header.csv": ("x,y\n", ["header.csv", "no rows"]),
    "twice.csv": ("x,x,y\n1,2,a\n3,4,b\n", ["several columns named 'x'"]),
    "no-text.csv": (b"x,y\n\x81,a\n\x8d,b\n", ["UTF-8", "'x'"]),
    "no-text-names.csv": (b"\x81,y\n1,a\n2,b\n", ["UTF-8", "column names"]),
    "nul.csv": (b"x\0,y\n1,a\n2,b\n", ["UTF-8", "NUL"]),
    "nul.jsonl": ('{"\\u0000x":1,"y":"a"}\n{"\\u0000x":2,"y":"b"}\n', ["nul.jsonl", "NUL", "rename"]),
    "one-class.csv": ("x,y\n1,a\n2,a\n3,\n", ["'y'", "one class", "'a'", "--target"]),
    "no-label.csv": ("x,y\n1,\n2,\n", ["'y'", "no label"]),
    "date-target.csv": ("x,y\n1,2020-01-02\n2,2020-02-03\n", ["'y'", "dates", "--target"]),
    "measured.csv": ("x,y\n1,0.5\n2,0.25\n3,0.125\n", ["'y'", "3 different numbers", "--target"]),
    "infinite.csv": ("x,y\ninf,a\n2,b\n", ["infinity", "'x'"]),
    "alone.csv": ("y\na\nb\n", ["no column left", "'y'"]),
    "text.parquet": ("x,y\n1,a\n", ["Parquet"]),
    "text.arrow": ("x,y\n1,a\n", ["Arrow"]),
    "table.xlsx": ("x,y\n1,a\n", ["table.xlsx", "should end in .csv", "rename it"]),
    "table.foo": ("x,y\n1,a\n", ["table.foo", ".csv", ".parquet"]),
    "table.json": ("[]", ["table.json", "jq -c"]),
}


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("name", TABLES)
def test_bad_table(refused, write, tmp_path, name, command) -> None:
    content, words = TABLES[name]
    out = ["-o", tmp_path / "m.suffice"] if command == "fit" else []
    refused(command, write(name, content), "--target", "y", *out, saying=[*words, "Next: "])
    assert not (tmp_path / "m.suffice").exists()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"y": ["a", "b"], "x": [[1], [2]]}, ["'x'", "list", "--drop x"]),
        ({"y": ["a", "b"], "x": [b"1", b"2"]}, ["'x'", "binary", "--drop x"]),
        ({"y": [["a"], ["b"]], "x": [1, 2]}, ["'y'", "list", "--target"]),
        ({"y": ["a", "b"], "x": pa.array([None, None], pa.float64())}, ["'x'", "no value"]),
        ({"y": ["a", "b"], "x": [float("nan")] * 2}, ["'x'", "no value"]),
        ({"y": pa.array([], pa.string()), "x": pa.array([], pa.int64())}, ["no rows"]),
    ],
)
def test_bad_columns_of_typed_tables(refused, write, tmp_path, table, words) -> None:
    refused("fit", write("t.parquet", pa.table(table)), "--target", "y", "-o", tmp_path / "m", saying=words)


@pytest.mark.parametrize("option", ["--target", "--drop", "--weight"])
def test_absent_column_names_the_closest(refused, tmp_path, option) -> None:
    words = [] if option == "--target" else ["--target", "species"]
    refused(
        "fit", penguins_path(), *words, option, "Specis", "-o", tmp_path / "m", saying=["'Specis'", "'species'", option]
    )


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["1", "-2"], ["1 of 2", "negative"]),
        (["1", ""], ["1 of 2", "missing"]),
        (["0", "0"], ["nothing but 0"]),
        (["u", "v"], ["string"]),
    ],
)
def test_bad_weights(refused, write, tmp_path, weights, words) -> None:
    data = write("t.csv", f"x,w,y\n1,{weights[0]},a\n2,{weights[1]},b\n")
    refused("fit", data, "--target", "y", "--weight", "w", "-o", tmp_path / "m", saying=["'w'", *words])


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("fit", "--target", "y", "-o", "m"), ("compare", "--target", "y")])
def test_no_file_or_a_folder(cli, tmp_path, command) -> None:
    (tmp_path / "folder.csv").mkdir()
    absent = cli(*command, tmp_path / "absent.csv")
    assert (absent.status, "There is no file" in absent.complaint) == (1, True)
    folder = cli(*command, tmp_path / "folder.csv")
    assert (folder.status, "is a folder" in folder.complaint) == (1, True)


def test_table_without_the_columns_of_the_model(refused, write, model, penguins) -> None:
    data = write("t.csv", penguins.rename_columns({"body_mass_g": "body_mass", "sex": "zzz"}))
    refused("predict", model, data, saying=["'body_mass_g', 'sex'", "the closest is 'body_mass'"])


def test_column_of_another_kind(refused, write, model, penguins) -> None:
    place = penguins.schema.get_field_index("body_mass_g")
    data = write("t.csv", penguins.set_column(place, "body_mass_g", pa.array(["heavy"] * 344)))
    refused("predict", model, data, saying=["'body_mass_g'", "numeric"])


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_output_that_cannot_be_written(cli, tmp_path, model, command) -> None:
    for place, word in ((tmp_path / "none" / "out.csv", "no folder"), (tmp_path, "")):
        if command == "fit":
            done = cli("fit", penguins_path(), "--target", "species", "-o", place)
        else:
            done = cli("predict", model, penguins_path(), "-o", place)
        assert done.status == 1
        assert word in done.complaint


def test_permission_is_asked_for_before_the_work(refused, tmp_path, model, monkeypatch) -> None:
    """The same for administrators, to whom the system denies nothing."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused("predict", model, penguins_path(), "-o", tmp_path / "out.csv", saying="permission")


def test_no_result_replaces_an_input(refused, write, model, penguins) -> None:
    data = write("t.csv", penguins)
    before = data.read_bytes(), model.read_bytes()
    copy = write("copy.csv", model.read_bytes())
    for words in (
        ("fit", data, "--target", "species", "-o", data),
        ("predict", model, data, "-o", data),
        ("predict", copy, data, "-o", copy),
    ):
        refused(*words, saying="would replace it")
    assert before == (data.read_bytes(), model.read_bytes())


# --- usage -------------------------------------------------------------------------------------------------------

USAGE = {
    "unknown option": (["show", "m", "--colour", "red"], "--colour"),
    "unknown command": (["fti"], '"fit"'),
    "missing argument": (["predict", "m"], "DATA"),
    "missing option": (["fit", "t.csv", "-o", "m"], "needs --target"),
    "misspelt option": (["fit", "t.csv", "--traget", "y", "-o", "m"], "--target"),
    "option without value": (["fit", "t.csv", "-o", "m", "--target"], "--target requires an argument"),
    "too many": (["show", "m", "n"], "'n'"),
    "no such model": (["fit", "t.csv", "--target", "y", "-o", "m", "--model", "svm"], "diagonal"),
    "no number": (["compare", "t.csv", "--target", "y", "--folds", "many"], "--folds"),
    "one fold": (["compare", "t.csv", "--target", "y", "--folds", "1"], "--folds"),
    "negative seed": (["compare", "t.csv", "--target", "y", "--seed", "-1"], "--seed"),
    "negative smoothing": (["fit", "t.csv", "--target", "y", "-o", "m", "--smoothing", "-1"], "--smoothing"),
    "too much shrinkage": (
        ["fit", "t.csv", "--target", "y", "-o", "m", "--model", "full", "--shrinkage", "2"],
        "--shr",
    ),
    "smoothing a Gaussian": (
        ["fit", "t.csv", "--target", "y", "-o", "m", "--model", "full", "--smoothing", "1"],
        "--smo",
    ),
    "shrinking naive Bayes": (["fit", "t.csv", "--target", "y", "-o", "m", "--shrinkage", "1"], "--shrinkage"),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage_errors(refused, name) -> None:
    words, hint = USAGE[name]
    refused(*words, saying=[hint, "--help"], status=2)


# --- as users run it -----------------------------------------------------------------------------------------------


def shell(*words: object, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "suffice", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def test_a_reader_that_has_seen_enough(model) -> None:
    """`suffice predict … | head` ends quietly."""
    command = [sys.executable, "-m", "suffice", "predict", str(model), str(penguins_path())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait(timeout=300)


def test_an_unexpected_error_is_one_line_too(cli, refused, model, monkeypatch) -> None:
    def broken(*words: object) -> None:
        raise RuntimeError("surprise\nin two lines")

    monkeypatch.setattr("suffice.cli.show.summarize", broken)
    refused("show", model, saying="surprise in two lines")
    monkeypatch.setenv("SUFFICE_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="surprise"):
        cli("show", model)


def test_an_interrupt_is_one_line_too(cli, model, monkeypatch) -> None:
    def stop(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.cli.show.summarize", stop)
    done = cli("show", model)
    assert (done.status, "stopped" in done.complaint) == (130, True)


def test_text_for_a_terminal_that_cannot_show_it(model) -> None:
    done = shell("show", model, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout
