"""SECURITY.md is a list of promises, each with the test that holds it."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from suffice.__main__ import main
from suffice.datasets import penguins_path

ROOT = Path(__file__).resolve().parents[1]
PROMISED = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What is promised")[2].partition("\n## ")[0]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PROMISED)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_of_a_promise_is_there(path: str, name: str) -> None:
    found = re.findall(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)
    assert len(found) == 1, f"{path} has no test {name}"


def test_every_promise_names_a_test() -> None:
    promises = re.split(r"\n(?=- )", PROMISED)[1:]
    assert [own.split("\n")[0] for own in promises if "Held by `tests/" not in own] == []
    assert len(NAMED) > 15


def test_nothing_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole round of fitting, asking, saving and reporting with no way out of the machine."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    table, model = str(penguins_path()), str(tmp_path / "m.suffice")
    assert main(["fit", table, "--target", "species", "--model", "nb", "-o", model, "--quiet"]) == 0
    assert main(["predict", model, table, "-o", str(tmp_path / "out.csv"), "--quiet"]) == 0
    assert main(["report", model, "-o", str(tmp_path / "page.html"), "--quiet"]) == 0
