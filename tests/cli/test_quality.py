"""How good a model is: the same figures, to the same digits, wherever they are told; notes that ask for something."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from suffice import load
from suffice.notes import Kind, count_details
from suffice.report import collect_facts, render_page


def tables():
    rng = np.random.default_rng(7)
    n = 160
    y = rng.choice(["no", "yes", "may be <b>"], n, p=[0.6, 0.3, 0.1])
    x = rng.normal(size=(n, 3)) + 1.1 * (y == "yes")[:, None]
    mixed = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "color": rng.choice(["red", "blue"], n), "y": y})
    holes = pd.DataFrame(np.where(rng.random(x.shape) < 0.1, np.nan, x), columns=list("abc")).assign(y=y)
    noise = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).assign(y=rng.integers(0, 2, n))
    return {"mixed": mixed, "holes": holes, "noise": noise}


TABLES = tables()
COMPARED = ("auto", "full", "shared", "nb")


def flat(text):
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("model", [*COMPARED, "forest", "mixture"])
def test_fit_show_page_and_python_say_one_sentence(cli, write, tmp_path, table, model) -> None:
    data, path = write("t.csv", TABLES[table].to_csv(index=False)), tmp_path / "m.suffice"
    done = cli("fit", data, "--target", "y", "--model", model, "-o", path).ok()
    last = done.err.splitlines()[-1]
    found = load(path).quality()
    assert last == str(found)
    assert f"{100 * found.accuracy:.1f} % right" in last or found.accuracy in (0.0, 1.0)
    assert flat(last) in flat(cli("show", path).out)
    assert json.loads(cli("show", path, "--json").out)["quality"] == json.loads(json.dumps(found.to_dict()))
    facts = collect_facts(load(path))
    assert facts["quality"]["sentence"] == last
    page = render_page(load(path))
    for shown in (found.figures()["accuracy"], found.figures()["log_loss"]):
        assert f'<div class="figure">{shown}</div>' in page or shown in page


@pytest.mark.slow
@pytest.mark.parametrize("table", ["mixed", "noise"])
def test_compare_says_what_fit_says(cli, write, tmp_path, table) -> None:
    data = write("t.csv", TABLES[table].to_csv(index=False))
    models = {own["model"]: own for own in json.loads(cli("compare", data, "--target", "y", "--json").out)["models"]}
    shown = cli("compare", data, "--target", "y").out
    for name in COMPARED:
        done = cli("fit", data, "--target", "y", "--model", name, "-o", tmp_path / f"{name}.suffice", "--json")
        quality = json.loads(done.out)["quality"]
        assert models[name]["quality"] == quality
        assert models[name]["loo_log_loss"] == quality["log_loss"]
        assert models[name]["loo_accuracy"] == quality["accuracy"]
        figures = load(tmp_path / f"{name}.suffice").quality().figures()
        line = re.findall(rf"^{name} .*$", shown, re.MULTILINE)[0]  # what it is may stand in a line of its own below
        assert f"{figures['accuracy']}  " in line
        assert f" {figures['log_loss']} " in line
    assert models["auto"]["judged_by"] == "folds"  # whose other figures repeat every choice


def test_a_model_that_cannot_judge_itself_says_why(cli, write, tmp_path) -> None:
    data, path = write("t.csv", TABLES["mixed"].to_csv(index=False)), tmp_path / "m.suffice"
    done = cli("fit", data, "--target", "y", "--model", "nb", "--keep-rows", "0", "-o", path, "--json")
    assert "keeps no rows" in json.loads(done.out)["quality"]["why_not"]
    assert "it cannot say: This model keeps no rows" in done.err.splitlines()[-1]
    assert "it cannot say" in flat(cli("show", path).out)
    assert "It cannot say" in render_page(load(path))


def test_what_asks_for_nothing_is_a_detail(cli, write, tmp_path) -> None:
    data, path = write("t.csv", TABLES["mixed"].to_csv(index=False)), tmp_path / "m.suffice"
    done = cli("fit", data, "--target", "y", "-o", path)
    told = [str(note) for note in load(path).notes_ if note.kind.is_detail]
    assert told
    assert "Note" not in done.err
    plain, whole = (flat(cli("show", path, *more).out) for more in ((), ("--details",)))
    for note in told:
        assert flat(note) not in plain
        assert f"Detail: {flat(note)}." in whole
    assert "`suffice show --details`" in plain
    assert [count_details(n).split()[3] for n in (1, 2)] == ["asks", "ask"]
    assert "temperature" in whole
    assert "temperature" not in plain
    assert json.loads(cli("show", path, "--json").out)["notes"] == [str(note) for note in load(path).notes_]


def test_every_kind_of_note_is_decided() -> None:
    """What asks for something, or says that something in the table counts otherwise than it stands there."""
    assert {kind for kind in Kind if not kind.is_detail} >= {
        *(Kind.LEFT_OUT, Kind.JOINED, Kind.SHRUNK, Kind.FLOORED, Kind.BORROWED, Kind.STOPPED_EARLY),
        *(Kind.UNCERTAIN, Kind.GIVEN_UP, Kind.OTHER),
    }
    assert {Kind.CHOSEN, Kind.IMPRECISE, Kind.FILLED, Kind.POOLED} <= {kind for kind in Kind if kind.is_detail}
