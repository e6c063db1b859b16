"""`suffice release`, what `fit` and `show` say of rows, and the commands of three sites in docs/editing.md."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from suffice import load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "editing.md"


@pytest.fixture
def sites(tmp_path, monkeypatch) -> pd.DataFrame:
    """Three tables in the folder where commands run, and all their rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 180)
    table = pd.DataFrame({f"x{j}": rng.normal(size=180) + 1.5 * y for j in range(3)})
    table.loc[rng.random(180) < 0.1, "x0"] = np.nan
    table["ward"] = np.array(["north", "south", "west"])[rng.integers(0, 3, 180)]
    table["outcome"] = np.where(y == 1, "well", "ill")
    for start, name in enumerate("abc"):
        table[start::3].to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return table


@pytest.mark.parametrize("model", ["auto", "mixture"])
def test_the_commands_of_three_sites_work_as_printed(cli, sites, model) -> None:
    block = next(b for b in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S) if "center$" in b)
    commands = [line.partition("$ suffice ")[2] for line in block.splitlines() if "$ suffice " in line]
    assert len(commands) == 7
    more = ["--model", model, *(["--components", "1"] if model == "mixture" else [])]
    for command in commands:
        words = shlex.split(command)
        cli(*words, *(more if words[0] == "fit" else [])).ok()
    merged = load("all.suffice")
    assert merged.statistics_.rows == 180
    assert str(merged.rows_held_) == "holds no rows, and no sums of fewer than 5 rows (released)"
    assert (
        merged.predict(sites.drop(columns="outcome")[list(merged.feature_names_in_)]) == sites["outcome"]
    ).mean() > 0.8


def test_release_says_what_was_given_up(cli, sites) -> None:
    fitted = cli("fit", "a.csv", "--target", "outcome", "--model", "nb", "-o", "m.suffice", "--json")
    assert json.loads(fitted.out)["rows_held"] == 60
    assert "It holds 60 rows as they were. For none: --keep-rows 0; `suffice release`" in fitted.err
    found = cli("release", "m.suffice", "-o", "r.suffice", "--least", "7", "--json").ok()
    told = json.loads(found.out)
    assert told["rows_held"] == 0
    assert told["least_rows_of_a_sum"] == told["released"]["least"] == 7
    assert all(f"Given up: {note['what']}" in found.err for note in told["released"]["given_up"])
    assert told["released"]["given_up"]
    shown = json.loads(cli("show", "r.suffice", "--json").out)
    assert shown["rows_held"] == 0
    assert shown["released"]["given_up"] == told["released"]["given_up"]
    assert "(released)" in cli("show", "r.suffice").out
    assert "holds 60 rows as they were" in cli("show", "m.suffice").out


REFUSED = {
    "a class of few rows": (["release", "m.suffice", "-o", "r.suffice", "--least", "40"], 1, "rename-class"),
    "one row": (["release", "m.suffice", "-o", "r.suffice", "--least", "1"], 2, "--least"),
    "over itself": (["release", "m.suffice", "-o", "m.suffice"], 1, "model"),
    "like one that was not released": (["release", "m.suffice", "-o", "r.suffice", "--like", "m.suffice"], 2, "like"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_released_is_refused(cli, sites, case) -> None:
    cli("fit", "a.csv", "--target", "outcome", "--model", "shared", "-o", "m.suffice").ok()
    before = Path("m.suffice").read_bytes()
    words, status, text = REFUSED[case]
    found = cli(*words)
    assert (found.status, text in found.err) == (status, True), found.err
    assert not Path("r.suffice").exists()
    assert Path("m.suffice").read_bytes() == before


def test_edits_say_what_the_file_holds_now(cli, sites) -> None:
    cli("fit", "a.csv", "--target", "outcome", "--model", "nb", "-o", "m.suffice").ok()
    cli("release", "m.suffice", "-o", "r.suffice").ok()
    updated = cli("update", "r.suffice", "b.csv", "--target", "outcome", "-o", "u.suffice")
    assert "It holds no rows as they were, but sums that may be of single rows." in updated.err
    more = cli("update", "m.suffice", "b.csv", "--target", "outcome", "-o", "u.suffice", "--json")
    assert json.loads(more.out)["rows_held"] == 120
    renamed = cli("rename-class", "r.suffice", "ill=sick")
    assert "It holds no rows, and no sums of fewer than 5 rows (released)." in renamed.err
