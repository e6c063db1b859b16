"""`suffice labels` says of a file what the library says of its rows."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier

SLIPS = {10: "Gentoo", 50: "Gentoo", 170: "Adelie", 200: "Chinstrap", 300: "Gentoo"}  # row numbers from 1
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]


@pytest.fixture
def slipped(penguins, tmp_path):
    """Return the penguins with wrong labels and one that is missing, and the file they are in."""
    label = penguins["species"].to_pylist()
    for row, other in SLIPS.items():
        label[row - 1] = other
    label[19] = None
    place = penguins.schema.get_field_index("species")
    table = penguins.set_column(place, "species", pa.array(label))
    file = tmp_path / "slipped.csv"
    pacsv.write_csv(table, file)
    return table, file


def test_suspects_are_those_of_the_library_by_their_rows_in_the_file(cli, slipped, tmp_path) -> None:
    table, file = slipped
    out = tmp_path / "suspects.parquet"
    done = cli("labels", file, "--target", "species", "--fdr", 0.1, "-o", out).ok()
    assert "1 of 344 rows has no 'species'" in done.err
    found = pq.read_table(out)
    assert found.column_names == ["row", "given", "p_wrong", "likeliest_other", "because"]
    there = table.filter(table["species"].is_valid())
    columns, labels = there.drop_columns("species"), there["species"]
    model = GenerativeClassifier().fit(columns, labels)
    p = model.suspect_labels(columns, labels, fdr=0.1)
    numbers = np.delete(np.arange(1, 345), 19)
    order = np.argsort(-p, kind="stable")[: (p > 0).sum()]
    assert found["row"].to_pylist() == numbers[order].tolist()
    np.testing.assert_allclose(found["p_wrong"].to_numpy(), p[order], rtol=1e-9)
    assert set(SLIPS) <= set(found["row"].to_pylist())
    truth = dict(zip(found["row"].to_pylist(), found["likeliest_other"].to_pylist(), strict=True))
    assert {row: truth[row] for row in SLIPS} == {
        10: "Adelie",
        50: "Adelie",
        170: "Gentoo",
        200: "Gentoo",
        300: "Chinstrap",
    }


def test_reasons_are_the_contributions_against_the_label_given(cli, slipped) -> None:
    table, file = slipped
    document = json.loads(
        cli("labels", file, "--target", "species", "--model", "shared", "--top", 2, "--json", "--quiet").out
    )
    there = table.filter(table["species"].is_valid())
    model = GaussianDiscriminant(shared=True).fit(there.select(NUMBERS), there["species"])
    p = model.suspect_labels(there.select(NUMBERS), there["species"])
    assert document["judged"] == 343
    assert document["expected_wrong"] == pytest.approx(p.sum())
    assert document["rows"] == len(document["suspects"])
    classes = model.classes_.tolist()
    for own in document["suspects"]:
        cells = table.select(NUMBERS).slice(own["row"] - 1, 1)
        odds = model.explain(cells)[0]
        speaks = odds[:, classes.index(own["likeliest_other"])] - odds[:, classes.index(own["given"])]
        best = NUMBERS[int(speaks.argmax())]
        assert own["because"].startswith(f"{best}={cells[best][0].as_py():g} {speaks.max():+.2f}")
        assert own["because"].count(", ") <= 1


def test_labels_that_are_numbers_and_weights(cli, tmp_path) -> None:
    """A spreadsheet's semicolons and decimal commas; labels 0 and 1; rows of weight 0 have no part."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    x = (8.0 * y + rng.standard_normal(80)).round(2)
    y[[3, 60]] = [1, 0]
    file = tmp_path / "sheet.csv"
    lines = [f"{str(a).replace('.', ',')};{b};{c}" for a, b, c in zip(x, y, np.r_[0, np.ones(79)], strict=True)]
    file.write_text("x;y;w\n" + "\n".join(lines) + "\n")
    done = cli("labels", file, "--target", "y", "--labels", "numbers", "--weight", "w", "--fdr", 0.3, "--json")
    suspects = json.loads(done.out)["suspects"]
    assert [
        (own["row"], own["given"], own["likeliest_other"]) for own in sorted(suspects, key=lambda own: own["row"])
    ] == [(4, 1, 0), (61, 0, 1)]


def test_what_is_refused(cli, slipped, tmp_path) -> None:
    _, file = slipped
    assert cli("labels", file, "--target", "species", "--fdr", 0).status == 2
    assert cli("labels", file, "--target", "nothing").status != 0
    done = cli("labels", file, "--target", "species", "--model", "mixture")
    assert done.status == 2
    assert "--model auto" in done.err
    done = cli("labels", file, "--target", "species", "-o", file)
    assert done.status != 0
    one = tmp_path / "one.csv"
    one.write_text("x,y\n1,a\n2,a\n")
    assert "one" in cli("labels", one, "--target", "y").err
