"""The demonstration runs anywhere, leaves its files, and every command it shows works as shown."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.cli import demo
from suffice.cli.app import COMMANDS, command, examples
from suffice.datasets import penguins_path


@contextlib.contextmanager
def few_rows(folder: Path, step: int) -> Iterator[None]:
    """Every so manieth penguin for all of them, which `make demo` takes."""
    few = folder / "few.csv"
    few.write_text("".join(penguins_path().read_text().splitlines(keepends=True)[::step]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "penguins_path", lambda: few)
        yield


@pytest.fixture(scope="module")
def run_once(tmp_path_factory) -> tuple[Path, list[str]]:
    """The folder it ran in, and what it said."""
    place, out, err = tmp_path_factory.mktemp("demo"), io.StringIO(), io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), few_rows(place, 2):
        assert demo.main() == 0
    assert err.getvalue() == ""
    return place, out.getvalue().splitlines()


@pytest.fixture
def told(run_once) -> list[str]:
    return run_once[1]


def test_it_can_be_read_on_one_page(told) -> None:
    assert len(told) <= 95
    # A command may begin with the path of this environment, however long that is.
    assert max(len(line) for line in told if not line.lstrip().startswith("$ ")) <= 100


def test_every_command_works_as_shown(run_once, told, cli, monkeypatch) -> None:
    monkeypatch.chdir(run_once[0])
    shown = [shlex.split(line.partition("$ ")[2]) for line in told if line.lstrip().startswith("$ ")]
    assert [words[1] for words in shown] == ["compare", "fit", "predict", "explain", "outliers", "show", "--help"]
    for words in shown[5:]:  # the tour itself has run the others by these very words
        cli(*words[1:]).ok()


@pytest.mark.slow
def test_the_examples_of_all_help_texts_run_in_its_folder(run_once, cli, tmp_path, monkeypatch) -> None:
    """In a folder like the one it leaves, with a model that answers at once; test_words asks one of every kind."""
    shutil.copytree(run_once[0] / "demo", tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    told = ("--target", "species", "--model", "nb", "-o", "penguins.suffice", "--force")
    cli("fit", "penguins.csv", *told).ok()
    for name in sorted(COMMANDS, key=lambda name: name == "fit"):  # whose examples put another in its place
        for line in examples(command(name)) if name not in ("compare", "demo") else ():  # the tour runs these
            done = cli(*shlex.split(line.partition(" > ")[0])[1:]).ok()
            assert done.out or done.err, line


def test_a_step_that_fails_ends_it(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "NEW_PENGUINS", "island\nDream\n")
    with few_rows(tmp_path, 16):
        assert demo.main() == 1


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_told_to_be_silent(cli, tmp_path, monkeypatch, option) -> None:
    monkeypatch.setattr(demo, "_tour", lambda files: print("Which species is this penguin?"))
    done = cli("demo", "-o", tmp_path / "here", option)
    assert (done.status, done.err) == (0, "")
    if option == "--quiet":
        assert done.out == ""
    else:
        document = json.loads(done.out)
        assert document["folder"] == str(tmp_path / "here")
        assert set(map(str, (tmp_path / "here").iterdir())) < set(document["files"])


@pytest.mark.parametrize("place", ["file", "no/such"])
def test_a_folder_that_cannot_be(refused, tmp_path, place) -> None:
    (tmp_path / "file").write_text("")
    refused("demo", "-o", tmp_path / place, saying="Next: ")
