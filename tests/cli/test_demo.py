"""The demonstration runs anywhere, leaves its files, and every command it shows works as shown."""

from __future__ import annotations

import shlex

import pytest

from suffice import load
from suffice.cli import demo


@pytest.fixture
def told(tmp_path, monkeypatch, capsys) -> list[str]:
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_it_can_be_read_on_one_page(told) -> None:
    assert len(told) <= 60
    # A command may begin with the path of this environment, however long that is.
    assert max(len(line) for line in told if not line.lstrip().startswith("$ ")) <= 100


def test_it_leaves_a_model_and_its_answers(told, tmp_path) -> None:
    assert load(tmp_path / "demo" / "penguins.suffice").predict_proba is not None
    assert (tmp_path / "demo" / "answers.csv").read_text().count("\n") == 6


def test_every_command_works_as_shown(told, cli) -> None:
    shown = [shlex.split(line.partition("$ ")[2]) for line in told if line.lstrip().startswith("$ ")]
    assert [words[1] for words in shown] == ["compare", "fit", "predict", "show", "--help"]
    for words in shown:
        assert cli(*words[1:]).status == 0


def test_a_step_that_fails_ends_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "NEW_PENGUINS", "island\nDream\n")
    assert demo.main() == 1
