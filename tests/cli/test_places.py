"""Files in each other's places, models merged twice, names that promise something else, p-values that do not fit."""

from __future__ import annotations

import shlex
import shutil

import numpy as np
import pandas as pd
import pytest

from suffice import load
from suffice.cli.output import broken
from suffice.datasets import penguins_path

TABLE = penguins_path()
SWAPPED = ["predict", "score", "explain", "outliers", "next", "impute", "update", "forget", "report"]


@pytest.mark.parametrize("command", SWAPPED)
def test_a_table_in_front_of_its_model_is_told_apart(cli, model, tmp_path, command) -> None:
    table = tmp_path / "new rows.csv"
    pd.read_csv(TABLE)[::8].to_csv(table, index=False)
    before = model.read_bytes()
    words = [table, model, *(["--target", "species"] if command in ("score", "update", "forget") else [])]
    done = cli(command, *words)
    assert done.status == (2 if command in ("update", "forget") else 1)  # the table would be replaced by a model
    right = done.complaint.partition("Next: ")[2]
    assert shlex.split(right)[:4] == ["suffice", command, str(model), str(table)]
    assert model.read_bytes() == before
    if command != "forget":  # of all rows, which leaves nothing
        output = ["-o", tmp_path / "o.html"] if command == "report" else []
        cli(*shlex.split(right)[1:], *output).ok()  # what is to be done next can be pasted


@pytest.mark.parametrize("command", ["fit", "compare", "labels", "cells"])
def test_a_model_where_a_table_belongs(refused, model, tmp_path, command) -> None:
    refused(
        command,
        model,
        "--target",
        "species",
        *(["-o", tmp_path / "m.suffice"] if command == "fit" else []),
        saying="is a model",
    )


def test_the_same_is_not_merged_twice_unless_told(cli, refused, model, tmp_path) -> None:
    copy, other, merged = (tmp_path / f"{name}.suffice" for name in ("copy", "other", "merged"))
    shutil.copy(model, copy)
    rows = load(model).statistics_.rows
    cli("fit", TABLE, "--target", "species", "--model", "nb", "-o", other).ok()  # by itself, of the same
    for second in (model, copy, other):
        refused("merge", model, second, "-o", merged, saying="--again", status=2)
        assert not merged.exists()
        cli("merge", model, second, "-o", merged, "--again").ok()
        assert load(merged).statistics_.rows == 2 * rows
        merged.unlink()


@pytest.mark.parametrize(
    ("words", "name", "promised"),
    [
        (["predict", "MODEL", TABLE], "o.suffice", "model"),
        (["outliers", "MODEL", TABLE], "o.html", "web page"),
        (["fit", TABLE, "--target", "species"], "o.csv", "table"),
        (["merge", "MODEL", "MODEL", "--again"], "o.parquet", "table"),
        (["report", "MODEL"], "o.csv", "table"),
        (["export", "MODEL", "--to", "sql"], "o.onnx", "ONNX file"),
        (["export", "MODEL", "--to", "onnx"], "o.sql", "query"),
        (["export", "MODEL", "--to", "sql"], "o.suffice", "model"),
    ],
)
def test_a_name_that_promises_something_else_is_questioned(refused, model, tmp_path, words, name, promised) -> None:
    refused(
        *(model if word == "MODEL" else word for word in words),
        "-o",
        tmp_path / name,
        saying=f"the ending of a {promised}",
        status=2,
    )
    assert not (tmp_path / name).exists()


def test_p_values_that_do_not_fit_the_table_are_pointed_out(cli, tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.standard_normal(600), "z": rng.standard_normal(600), "y": ["p", "q"] * 300})
    learned, same, odd = (tmp_path / name for name in ("learned.csv", "same.csv", "odd.csv"))
    table[:300].to_csv(learned, index=False)
    table[300:].to_csv(same, index=False)
    table[300:].assign(x=lambda t: 3 * t["x"]).to_csv(odd, index=False)
    model = tmp_path / "m.suffice"
    cli("fit", learned, "--target", "y", "--model", "nb", "-o", model).ok()
    assert "Note" not in cli("outliers", model, same, "-o", tmp_path / "o.csv").err
    found = cli("outliers", model, odd, "-o", tmp_path / "o.csv")
    share = (pd.read_csv(tmp_path / "o.csv")["p_value"] <= 0.05).mean()
    assert f"{share:.2g} of the rows have a p-value up to 0.05" in found.err
    assert "suffice drift" in found.err


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 120, None])
def test_lines_are_as_long_as_the_page_is_wide(cli, model, tmp_path, monkeypatch, width) -> None:
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
    small = tmp_path / "small.csv"
    pd.read_csv(TABLE)[::5].to_csv(small, index=False)
    for words in (["show", model], ["show", model, "--details"], ["compare", small, "--target", "species"]):
        out = cli(*words).out
        assert max(map(len, out.splitlines())) <= (width or 80), out
    score = cli("score", model, small, "--target", "species")
    assert max(map(len, score.out.splitlines())) <= (width or 80)
    if width is None:  # notes of a program's log are a line each
        assert len(score.err.splitlines()) == 1
    else:
        assert all(len(line) <= width or " " not in line.strip() for line in score.err.splitlines()), score.err


@pytest.mark.parametrize("width", [10, 30, 60])
def test_breaking_lines_keeps_every_word(width) -> None:
    text = "Next: suffice predict /a/very/long/path/that/is/longer.csv b-c"
    assert " ".join(" ".join(broken(text, width)).split()) == text
