"""Progress and remarks: on stderr, for people at a terminal who want them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from suffice.datasets import penguins_path


@pytest.fixture
def terminal(monkeypatch) -> Callable[[], None]:
    """Make stderr a terminal; called in the test, since pytest puts its own stderr in place after the fixtures."""

    def pretend() -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)

    return pretend


def test_a_bar_at_a_terminal(terminal, cli) -> None:
    terminal()
    done = cli("compare", penguins_path(), "--target", "species", "--folds", "2").ok()
    assert "Comparing" in done.err
    assert "Comparing" not in done.out


def test_no_bar_when_quiet(terminal, cli) -> None:
    terminal()
    assert cli("compare", penguins_path(), "--target", "species", "--folds", "2", "--quiet").err == ""


def test_no_bar_under_no_color(terminal, cli, monkeypatch) -> None:
    terminal()
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli("compare", penguins_path(), "--target", "species", "--folds", "2").err == ""


def test_no_bar_away_from_a_terminal(cli) -> None:
    assert cli("compare", penguins_path(), "--target", "species", "--folds", "2").err == ""


def test_columns_that_only_name_the_rows_are_remarked(cli, write, tmp_path) -> None:
    rows = "".join(f"{i},bird {i},{'ab'[i % 2]},{i % 2}\n" for i in range(30))
    data = write("t.csv", ",the name,y,x\n" + rows)
    done = cli("fit", data, "--target", "y", "-o", tmp_path / "m").ok()
    assert "--keep '' --keep 'the name'" in done.err
    done = cli("fit", data, "--target", "y", "-o", tmp_path / "m", "--keep", "", "--keep", "the name", "--force").ok()
    assert '--drop ""' in done.err
    assert "--drop 'the name'" in done.err
    done = cli("fit", data, "--target", "y", "-o", tmp_path / "m", "--drop", "", "--drop", "the name").ok()
    assert "--drop" not in done.err
