"""Progress and remarks: on stderr, for people at a terminal who want them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def terminal(monkeypatch) -> Callable[[], None]:
    """Make stderr a terminal; called in the test, since pytest puts its own stderr in place after the fixtures."""

    def pretend() -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)

    return pretend


@pytest.mark.parametrize(
    ("is_terminal", "no_color", "more", "shown"),
    [(True, False, [], True), (True, False, ["--quiet"], False), (True, True, [], False), (False, False, [], False)],
)
def test_a_bar_is_for_a_terminal(terminal, cli, write, monkeypatch, is_terminal, no_color, more, shown) -> None:
    data = write("t.csv", "x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(20)))
    if is_terminal:
        terminal()
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    done = cli("compare", data, "--target", "y", "--folds", "2", *more).ok()
    assert ("Comparing" in done.err) == shown
    assert "Comparing" not in done.out


def test_columns_that_only_name_the_rows_are_remarked(cli, write, tmp_path) -> None:
    rows = "".join(f"{i},bird {i},{'ab'[i % 2]},{i % 2}\n" for i in range(30))
    data = write("t.csv", ",the name,y,x\n" + rows)
    told = ("fit", data, "--target", "y", "--model", "nb", "-o", tmp_path / "m")
    done = cli(*told).ok()
    assert "--keep '' --keep 'the name'" in done.err
    done = cli(*told, "--keep", "", "--keep", "the name", "--force").ok()
    assert '--drop ""' in done.err
    assert "--drop 'the name'" in done.err
    done = cli(*told, "--drop", "", "--drop", "the name").ok()
    assert "--drop" not in done.err
