"""impute and sample by command: what the library answers, in the formats that predict knows."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from suffice import NaiveBayes, load
from suffice.cli.files import read_table
from suffice.datasets import penguins_path


def parse(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def filled(penguins) -> pa.Table:
    columns = penguins.drop_columns("species")
    return NaiveBayes().fit(columns, penguins["species"]).impute(columns)


def test_holes_are_filled_as_by_the_library(cli, model, penguins, filled) -> None:
    done = cli("impute", model, penguins_path()).ok()
    assert done.err == "Filled 19 cells in 5 columns.\n"
    rows = parse(done.out)
    assert list(rows[0]) == penguins.column_names
    assert [row["species"] for row in rows] == penguins["species"].to_pylist()
    assert [row["sex"] for row in rows] == filled["sex"].to_pylist()
    found = np.array([float(row["body_mass_g"]) for row in rows])
    np.testing.assert_allclose(found, filled["body_mass_g"].to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_draws_stand_below_each_other(cli, tmp_path, model, ending) -> None:
    out = tmp_path / f"t.{ending}"
    cli("impute", model, penguins_path(), "--draws", 3, "--seed", 5, "-o", out).ok()
    found = read_table(out)
    assert found.column_names[:2] == ["draw", "species"]
    assert found["draw"].to_pylist() == np.repeat([1, 2, 3], 344).tolist()
    assert sum(column.null_count for column in found.columns) == 0
    first, second = (found.filter(pc.equal(found["draw"], i))["bill_length_mm"].to_pylist() for i in (1, 2))
    differ = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    assert differ == [3, 271]  # the rows that miss a bill length


def test_a_column_of_draws_is_never_shadowed(cli, write, tmp_path) -> None:
    data = write("t.csv", "y,draw,x\n" + "a,1,0\nb,5,1\na,2,\nb,6,1\n" * 3)
    cli("fit", data, "--target", "y", "--model", "nb", "-o", tmp_path / "m").ok()
    done = cli("impute", tmp_path / "m", data, "--draws", 2)
    assert done.out.splitlines()[0] == "imputed_draw,y,draw,x"
    assert "'imputed_draw'" in done.err


def test_samples_are_those_of_the_library(cli, model, tmp_path) -> None:
    done = cli("sample", model, "-n", 50, "--seed", 3)
    assert (done.status, done.err) == (0, "")
    rows, labels = load(model).sample(50, random_state=3)
    found = parse(done.out)
    assert list(found[0]) == ["label", *rows.column_names]
    assert [row["label"] for row in found] == labels.tolist()
    np.testing.assert_allclose([float(row["year"]) for row in found], rows["year"].to_numpy(), rtol=1e-12)
    cli("sample", model, "--rows", 50, "--seed", 3, "-o", tmp_path / "t.parquet").ok()
    assert read_table(tmp_path / "t.parquet")["island"].to_pylist() == rows["island"].to_pylist()


def test_samples_within_ranges_and_sets(cli, model) -> None:
    words = ("sample", model, "-n", 40, "--given", "island=Dream, Biscoe", "--given", "body_mass_g=3500..4000")
    rows = parse(cli(*words, "--given", "year=..2008", "--seed", 1).out)
    assert {row["island"] for row in rows} == {"Dream", "Biscoe"}
    assert all(3500 <= int(row["body_mass_g"]) <= 4000 and int(row["year"]) < 2009 for row in rows)
    fixed = {"island": {"Dream", "Biscoe"}, "body_mass_g": (3500, 4000), "year": (None, 2008)}
    assert [row["label"] for row in rows] == load(model).sample(40, given=fixed, random_state=1)[1].tolist()


def test_numbers_are_as_recorded_unless_asked(cli, model, write, penguins) -> None:
    """The penguins were weighed to 25 g, in three whole years."""
    drawn = parse(cli("sample", model, "-n", 50, "--seed", 1).out)
    assert {row["year"] for row in drawn} == {"2007", "2008", "2009"}
    assert all(int(row["body_mass_g"]) % 25 == 0 for row in drawn)
    holed = penguins.set_column(penguins.column_names.index("year"), "year", pa.nulls(344, pa.int64()))
    for draws in ((), ("--draws", 1, "--seed", 1)):
        words = ("impute", model, write("holed.csv", holed), *draws)
        assert {float(row["year"]) for row in parse(cli(*words).out)} <= {2007.0, 2008.0, 2009.0}
        assert any(float(row["year"]) % 1.0 for row in parse(cli(*words, "--unrounded").out))


def test_models_of_arrays_and_truth_values(cli, write, tmp_path) -> None:
    X = np.array([[0.0, 1], [1, 0], [5, 6], [6, 5]])
    NaiveBayes().fit(X, [1, 1, 2, 2]).save(tmp_path / "m")
    assert len(parse(cli("sample", tmp_path / "m").out)) == 10
    rows = parse(cli("sample", tmp_path / "m", "-n", 3, "--label", 2, "--given", "1=7").out)
    assert [(row["label"], row["1"]) for row in rows] == [("2", "7")] * 3
    done = cli("impute", tmp_path / "m", write("t.csv", "u,y,v\n0,1,\n,2,6\n"), "--target", "y")
    assert done.out == "u,y,v\n0,1,0.5\n5.5,2,6\n"
    table = pa.table({"y": ["a", "b"] * 10, "t": [True, False] * 10})
    cli("fit", write("t.parquet", table), "--target", "y", "--model", "nb", "-o", tmp_path / "m").ok()
    assert {row["t"] for row in parse(cli("sample", tmp_path / "m", "-n", 9, "--given", "t=yes").out)} == {"true"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n", "0"), "-n"),
        (("-n", "5", "--label", "Emperor"), "'Emperor'"),
        (("-n", "5", "--given", "island"), "COLUMN=VALUE"),
        (("-n", "5", "--given", "isle=Dream"), "'isle'"),
        (("-n", "5", "--given", "island=Anvers"), "'Biscoe'"),
        (("-n", "5", "--given", "year=late"), "'late'"),
        (("-n", "5", "--given", "year=2007,2008"), "2..5"),
        (("-n", "5", "--given", "year=2009..2007"), "no range"),
        (("-n", "5", "--given", "year=2008", "--given", "year=2009"), "twice"),
    ],
)
def test_sample_refuses_what_it_cannot_use(refused, model, words, said) -> None:
    refused("sample", model, *words, saying=said, status=2)


def test_impute_refuses_what_it_cannot_use(cli, refused, model, write, penguins, tmp_path) -> None:
    refused("impute", model, penguins_path(), "--target", "specie", saying="'species'")
    other = penguins.set_column(0, "species", pa.array(["Emperor"] * 344))
    refused("impute", model, write("t.csv", other), "--target", "species", saying="'Emperor'")
    assert cli("impute", model, penguins_path(), "--draws", "0").status == 2
    done = cli("impute", model, penguins_path(), "-o", model)
    assert done.status == 2
