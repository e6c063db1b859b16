"""`suffice drift` says what the library says, and its exit status whether something has moved."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from suffice import load
from suffice.datasets import penguins_path


@pytest.fixture
def halves(learned_half):
    """A model of one half of the penguins, and the other half in a file."""
    return learned_half(pd.read_csv(penguins_path()).sample(frac=1, random_state=0))


def test_nothing_has_moved_between_halves(cli, halves) -> None:
    model, second = halves
    done = cli("drift", model, second, "--target", "species").ok()
    assert "joint p-value" in done.out
    assert (
        str(load(model).drift(pd.read_csv(second).drop(columns="species"), pd.read_csv(second)["species"])) in done.out
    )


def test_what_has_moved_ends_with_status_3(cli, halves, tmp_path) -> None:
    model, second = halves
    table = pd.read_csv(second)
    table["body_mass_g"] += 700
    moved = tmp_path / "moved.csv"
    table.to_csv(moved, index=False, sep=";", decimal=",")
    done = cli("drift", model, moved, "--json")
    assert done.status == 3
    found = json.loads(done.out)
    assert found["moved"] == ["body_mass_g"]
    assert found["class_shares"]["labelled"] is False
    named = cli("drift", model, moved, "--target", "species", "--json", "--level", 0.001)
    assert named.status == 3
    assert json.loads(named.out)["class_shares"]["labelled"] is True


def test_another_model(cli, halves, tmp_path) -> None:
    model, second = halves
    other = tmp_path / "second.suffice"
    cli("fit", second, "--target", "species", "--model", "nb", "-o", other).ok()
    of_model, of_rows = (cli("drift", model, *rest, "--json") for rest in ((other,), (second, "--target", "species")))
    assert of_model.status == of_rows.status == 0
    for one, two in zip(json.loads(of_model.out)["columns"], json.loads(of_rows.out)["columns"], strict=True):
        assert one["p_value"] == pytest.approx(two["p_value"], rel=1e-6)
    for told in (("--target", "species"), ("--sheet", "2"), ("--missing-columns", "missing")):
        assert cli("drift", model, other, *told).status == 2
