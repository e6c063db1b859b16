"""`suffice cells` says of a file what the library says of its rows."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from suffice import NaiveBayes


@pytest.fixture
def slipped(penguins, tmp_path):
    """Return the penguins with a point lost in the tenth row and a sign in the third, and the file they are in."""
    table = penguins
    for name, row, factor in (("body_mass_g", 10, 10), ("flipper_length_mm", 3, -1)):
        cells = table[name].to_pylist()
        cells[row - 1] *= factor
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(cells))
    pacsv.write_csv(table, tmp_path / "slipped.csv")
    return table, tmp_path / "slipped.csv"


def test_suspects_are_those_of_the_library_by_their_rows_in_the_file(cli, slipped) -> None:
    table, file = slipped
    done = cli("cells", file, "--target", "species", "--model", "nb", "--fdr", 0.05).ok()
    told = list(csv.DictReader(io.StringIO(done.out)))
    columns, labels = table.drop_columns("species"), table["species"]
    found = NaiveBayes().fit(columns, labels).suspect_cells(columns, labels, fdr=0.05)
    assert [(int(row["row"]), row["column"]) for row in told] == [(cell.row + 1, cell.column) for cell in found.cells]
    np.testing.assert_allclose([float(row["p_value"]) for row in told], [cell.p_value for cell in found.cells])
    slips = {(row["row"], row["column"]): (row["slip"], row["meant"]) for row in told}
    assert slips["10", "body_mass_g"] == ("decimal point", "4250")
    assert slips["3", "flipper_length_mm"] == ("sign", "195")
    assert f"Judged 2,389 cells: {len(told)} suspects (some 5 % of suspects may be right)" in done.err


def test_without_a_target_rows_are_of_one_class(cli, slipped) -> None:
    done = cli("cells", slipped[1], "--model", "nb", "--json").ok()
    assert {(cell["row"], cell["column"]) for cell in json.loads(done.out)["suspects"]} >= {(10, "body_mass_g")}
    refused = cli("cells", slipped[1], "--groups", "island")
    assert (refused.status, "need --target" in refused.complaint) == (2, True)


def test_a_mixture_is_refused(cli, slipped) -> None:
    assert "leaves no row out" in cli("cells", slipped[1], "--target", "species", "--model", "mixture").complaint
