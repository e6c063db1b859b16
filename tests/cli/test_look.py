"""`suffice look` says what is in a table, whatever the kind of file, and changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


def looked(cli, *words):
    return json.loads(cli("look", *words, "--json").ok().out)


@pytest.fixture
def shop(tmp_path, rng):
    """A table as people have it."""
    n = 200
    cells = {
        "order": np.arange(5001, 5001 + n),
        "paid": rng.choice(["yes", "no", "Yes"], n, p=[0.5, 0.4, 0.1]),
        "age": np.where(rng.random(n) < 0.05, 99, np.r_[73, rng.integers(18, 25, n - 1)]),
        "shop": "Aachen",
        "net": rng.normal(50, 9, n).round(2),
    }
    table = pd.DataFrame(cells).assign(gross=(cells["net"] * 1.19).round(9))
    table.loc[rng.random(n) < 0.3, ["net", "gross"]] = np.nan
    table.to_csv(path := tmp_path / "shop.csv", index=False)
    return path, table


def test_columns_and_alerts(cli, shop) -> None:
    path, table = shop
    found = looked(cli, path, "--target", "paid")
    assert [own["name"] for own in found["columns"]] == [name for name in table if name != "paid"]
    for own in found["columns"]:
        assert own["missing"] == pytest.approx(table[own["name"]].isna().mean())
        assert own["distinct"] == table[own["name"]].nunique()
    names = [own["name"] for own in found["columns"]]
    alerts = {own["kind"]: [names[j] for j in own["columns"]] for own in found["alerts"]}
    assert alerts == {
        "contradiction": [],
        "repeated rows": [],
        "levels alike": [],
        "constant": ["shop"],
        "identifier": ["order"],
        "placeholder": ["age"],
        "copy": ["net", "gross"],
    }
    text = cli("look", path, "--target", "paid").out
    assert found["repeated"]["repeated"] == table.drop(columns="order").duplicated().sum()
    assert "rows repeat another one, class included, but for order (one occurs " in " ".join(text.split())
    for own in found["alerts"]:
        assert own["text"].split(":")[0] in " ".join(text.split())
    assert f"- net, gross: {table['net'].isna().sum()} rows" in text
    assert "gross = 1.19 × net" in " ".join(text.split())
    counts = table["paid"].value_counts()
    assert f"paid: yes {counts['yes']}, no {counts['no']}, Yes {counts['Yes']}" in text
    done = cli("fit", path, "--target", "paid", "--model", "nb", "-o", path.with_name("m.suffice"), "--json")
    told = [own["text"] for own in found["alerts"] if own["kind"] == "placeholder"]
    assert json.loads(done.out)["alerts"] == told
    assert f"Note: {told[0]}\n" in done.err


def test_rows_without_a_label_are_counted(cli, tmp_path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\n4,\n5,a\n")
    done = cli("look", path, "--target", "y")
    assert "y: a 2, b 1, without a label 2" in done.out
    assert "Rows without a label: 2 (40 %)" in done.out


def test_a_column_that_names_subjects_is_pointed_out(cli, rng, tmp_path) -> None:
    who = np.arange(40).repeat(12)
    table = pd.DataFrame(rng.normal(size=(40, 4))[who] + 0.3 * rng.normal(size=(480, 4)), columns=[*"abcd"])
    table = table.assign(patient=[f"p{i:03}" for i in rng.permutation(900)[who]], sick=np.where(who % 2, "yes", "no"))
    table["shuffled"] = rng.permutation(table["patient"])
    table["seen"] = pd.date_range("2026-01-01", periods=480, freq="h")
    table.to_csv(path := tmp_path / "visits.csv", index=False)
    found = looked(cli, path, "--target", "sick")
    (alert,) = (own for own in found["alerts"] if own["kind"] == "subjects")
    assert [found["columns"][j]["name"] for j in alert["columns"]] == ["patient"]
    assert "--groups COLUMN" in alert["text"]
    assert "(92 % of neighbours, 50 % by chance)" in next(a["text"] for a in found["alerts"] if a["kind"] == "in time")
    done = cli("fit", path, "--target", "sick", "--model", "nb", "-o", tmp_path / "m.suffice")
    assert ("'patient'" in done.err, "seen (92 % of neighbours" in done.err) == (True, True)
    for text in (done.err, cli("look", path, "--target", "sick").out):
        assert "--groups COLUMN" in " ".join(text.split())
        assert "groups=" not in text
    pd.concat([table.drop(columns="patient")] * 3).to_csv(path, index=False)  # copies of rows
    assert not [own for own in looked(cli, path, "--target", "sick")["alerts"] if own["kind"] == "subjects"]


def test_what_is_not_named_is_counted(cli, rng, tmp_path) -> None:
    alike = rng.normal(size=(200, 1)) + 0.01 * rng.normal(size=(200, 5))
    pd.DataFrame(alike).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    assert "nearly the same: 4." in cli("look", tmp_path / "t.csv").out  # of the 5 × 4 / 2 pairs 6 are named


@pytest.mark.parametrize(("target", "told"), [("beds", 1), ("code", 0), ("street", 0)])
def test_a_target_that_counts_is_pointed_out(cli, rng, tmp_path, target, told) -> None:
    n, path = np.arange(60), tmp_path / "t.csv"
    table = pd.DataFrame({"x": rng.normal(size=60), "beds": n // 2, "code": n % 6, "street": [f"s{i // 2}" for i in n]})
    table.to_csv(path, index=False)
    done = cli("fit", path, "--target", target, "--model", "nb", "-o", tmp_path / "m.suffice")
    for text in (done.err, " ".join(cli("look", path, "--target", target).out.split())):
        assert text.count("cut them into ranges") == told


def test_a_wide_table_is_counted_whole_and_listed_in_part(cli, rng, tmp_path) -> None:
    path = tmp_path / "wide.csv"
    pd.DataFrame(rng.normal(size=(30, 520))).add_prefix("gene").to_csv(path, index=False)
    lines = cli("look", path).out.splitlines()
    assert lines[0] == "All 30 rows of wide.csv, 520 columns."
    assert sum(line.startswith("gene") for line in lines) == 60
    assert "… and 460 more columns; --json has up to 500" in lines
