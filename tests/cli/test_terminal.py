"""Names of strangers on a terminal: what it would obey is shown as text; files keep it byte for byte."""

import json

import pytest

from suffice.errors import SchemaError, visible

ESCAPES = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202egnp", "\u2066x", "a\rb", "\x7f"]


@pytest.mark.parametrize("text", ESCAPES)
def test_what_a_terminal_obeys_is_written_out(text):
    assert visible(text).isprintable()
    assert text in {visible(text).encode("ascii").decode("unicode_escape"), text}


@pytest.mark.parametrize("text", ["größe 🦉", "👩‍⚕️", "می‌خواهم", "two\nlines", ""])
def test_what_people_write_stays(text):
    assert visible(text) == text


def test_errors_of_the_library_are_safe_to_print():
    assert "\x1b" not in str(SchemaError("column \x1b[2J"))


@pytest.fixture
def strange(write):
    rows = "".join(f"{i},{'ab'[i % 2]}\x1b[31m\u202e{i % 2},{'pq'[i % 3 % 2]}\x9b1m\n" for i in range(12))
    return write("strange.csv", f"x\x1b[2J,target\x1b]0;t\x07,w\u202e\n{rows}")


def printable(text):
    return [letter for letter in text if letter != "\n" and not letter.isprintable()] == []


def test_no_command_moves_the_cursor(cli, strange, tmp_path):
    model, target = tmp_path / "m.suffice", "target\x1b]0;t\x07"
    done = cli("fit", strange, "--target", target, "--model", "nb", "-o", model).ok()
    assert printable(done.err)
    for words in (["show", model], ["explain", model, strange], ["compare", strange, "--target", target]):
        done = cli(*words)
        assert printable(done.out), words
        assert printable(done.err), words
    assert "\\x1b[31m" in cli("show", model).out
    wrong = cli("fit", strange, "--target", "\x1b[2Jno", "-o", model)
    assert wrong.status == 1
    assert printable(wrong.err)
    assert "\\x1b[2Jno" in wrong.err
    absent = cli("show", tmp_path / "\x1b[2J.suffice")
    assert printable(absent.err)


def test_json_is_the_same_document(cli, strange, tmp_path):
    model = tmp_path / "m.suffice"
    cli("fit", strange, "--target", "target\x1b]0;t\x07", "--model", "nb", "-o", model)
    out = cli("show", model, "--json").out
    assert printable(out)
    assert [own["label"] for own in json.loads(out)["classes"]] == ["a\x1b[31m\u202e0", "b\x1b[31m\u202e1"]


def test_files_keep_the_bytes(cli, strange, tmp_path):
    model, out = tmp_path / "m.suffice", tmp_path / "out.csv"
    cli("fit", strange, "--target", "target\x1b]0;t\x07", "--model", "nb", "-o", model)
    cli("predict", model, strange, "-o", out, "--quiet").ok()
    assert "a\x1b[31m\u202e0".encode() in out.read_bytes()
