"""What the page's form is given: parameters to the last bit, in JSON that is safe inside a page."""

from __future__ import annotations

import json
import re
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest
from fitted_models import case
from made_trees import made
from sklearn.datasets import load_iris

from suffice import NaiveBayes
from suffice.export.lower import lower
from suffice.questions.sets import set_limits
from suffice.report.explorer import collect_explorer, page_cells, write_json


@pytest.mark.parametrize("name", ["gaussian: full, own", "naive: all families", "automatic: mixed"])
def test_parameters_are_read_back_to_the_last_bit(name):
    model, _ = case(name)
    explorer = collect_explorer(model)
    read = json.loads(write_json(explorer))["program"]
    program = lower(model._fitted)
    np.testing.assert_array_equal(read["log_prior"], program.log_prior)
    for term, own in zip(program.terms, read["terms"], strict=True):
        assert own["kind"] == type(term).__name__
        for field in ("location", "log_p", "per_count", "values", "constant"):
            if hasattr(term, field) and own["kind"] != "TreeSums":  # whose numbers are packed, and read in the browser
                np.testing.assert_array_equal(own[field], getattr(term, field))
        if own["kind"] == "Normal" and own["spread"]["kind"] == "Dense":
            for rows, matrix in zip(own["spread"]["lower"], term.spread.covariance, strict=True):
                for j, row in enumerate(rows):
                    assert row == matrix[j, : j + 1].tolist()


def written_down(term):
    """Return the nodes of a term's trees, a node, all of its left, all of its right: what each asks for or holds."""
    leaf, found = np.cumsum(term.column < 0) - 1, []

    def visit(node):
        if term.column[node] < 0:
            found.append((-1, *term.values[leaf[node]], term.cover[leaf[node]]))
            return
        found.append((term.column[node], term.threshold[node], term.missing_right[node]))
        visit(term.left[node])
        visit(term.right[node])

    for root in term.roots:
        visit(root)
    return found


def test_trees_are_read_back_to_the_last_bit(monkeypatch):
    model, program, trees, _ = made()
    monkeypatch.setattr("suffice.report.explorer.lower", lambda fitted: program)
    terms = json.loads(write_json(collect_explorer(model)))["program"]["terms"][-len(trees) :]
    kinds = {"column": "<i2", "threshold": "<i2", "missing_right": "u1", "values": "<f8", "cover": "<f8"}
    for own, term in zip(terms, program.terms[-len(trees) :], strict=True):
        column, threshold, away, values, cover = (np.frombuffer(b64decode(own[name]), kinds[name]) for name in kinds)
        leaves = zip(*values.reshape(-1, 3).T, cover, strict=True)
        nodes = zip(column, threshold, away, strict=True)
        assert [(-1, *next(leaves)) if node[0] < 0 else node for node in nodes] == written_down(term)
        assert own["base"] == term.base.tolist()


def test_parameters_too_large_for_a_page_say_how_large(monkeypatch):
    model, program, _, _ = made()
    monkeypatch.setattr("suffice.report.explorer.lower", lambda fitted: program)
    monkeypatch.setattr("suffice.report.explorer.MOST_LETTERS", 5_000)
    monkeypatch.setattr("suffice.report.explorer._sets", None)  # not asked for what is not shown
    assert re.search(r"would take 0\.\d MB, above", collect_explorer(model)["why_not"])


def test_json_of_odd_values():
    text = write_json({"<a & b>": [np.inf, -np.inf, -0.0, 0.1, 3.0, 1e300, None, True, "\u2028</script>"], "none": {}})
    assert not set("<>&\u2028") & set(text)
    read = json.loads(text)
    assert list(read) == ["<a & b>", "none"]
    assert read["<a & b>"] == [np.inf, -np.inf, 0.0, 0.1, 3, 1e300, None, True, "\u2028</script>"]
    assert np.signbit(read["<a & b>"][2])
    rng = np.random.default_rng(0)
    some = np.exp(rng.normal(size=1000) * 100)
    np.testing.assert_array_equal(json.loads(write_json(some)), some)


def test_cells_are_levels_by_number():
    model, rows = case("naive: all families")
    program = lower(model._fitted)
    cells = page_cells(program, rows)
    j = [column.name for column in program.columns].index("town")
    levels = program.columns[j].levels
    for own, town in zip(cells, rows["town"], strict=True):
        expected = None if pd.isna(town) else levels.index(town) if town in levels else len(levels)
        assert own[j] == expected


def test_fields_ask_for_what_a_column_holds():
    model, _ = case("naive: all families")
    fields = {field["name"]: field for field in collect_explorer(model)["fields"]}
    size = fields["size 0"]
    assert (size["levels"], size["count"], size["step"]) == (None, False, None)
    assert size["seen"][0] < size["seen"][1]
    assert (fields["visits"]["step"], fields["visits"]["low"], fields["visits"]["decimals"]) == (1.0, 0.0, 0)
    assert fields["visits"]["count"] is True
    assert (fields["smoker"]["levels"], fields["smoker"]["open"]) == (["false", "true"], False)
    assert fields["wing"]["levels"] == ["0", "10", "20"]
    assert fields["wing"]["open"] is True


def test_of_many_columns_the_twenty_that_tell_most_are_asked(rng):
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 130))
    telling = [3, 77, 101]
    X[:, telling] += 3 * y[:, None]
    explorer = collect_explorer(NaiveBayes().fit(pd.DataFrame(X).add_prefix("x"), y))
    assert explorer["left_out"] == 110
    assert {own["name"] for own in explorer["fields"][:3]} == {f"x{j}" for j in telling}
    assert [explorer["program"]["columns"][own["cell"]] for own in explorer["fields"]] == [
        own["name"] for own in explorer["fields"]
    ]
    asked = {own["cell"] for own in explorer["fields"]}
    assert len(asked) == 20
    for row in explorer["program"]["drawn"]:
        assert {j for j, cell in enumerate(row) if cell is not None} == asked


def test_thresholds_of_sets_are_those_of_python():
    X, y = load_iris(return_X_y=True)
    model = NaiveBayes().fit(X, y)
    sets = collect_explorer(model)["program"]["sets"]
    (limits,) = set_limits(model._fitted, 0.1, by_class=False)
    np.testing.assert_array_equal(limits.at(sets["known"]), sets["score"])
    assert sets["known"][[0, -1]].tolist() == [0, 4]
    assert collect_explorer(NaiveBayes(keep_rows=0).fit(X, y))["program"]["sets"] is None
