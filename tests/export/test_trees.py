"""Sums over the leaves of trees as a term: the interpreter, databases and ONNX against the trees themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from databases import run_duckdb, run_sqlite, sqlite_lacks
from evaluate import _Run, evaluate
from made_trees import Made, alone, chain, made, none, with_trees
from test_onnx import session

from suffice.densities import Product
from suffice.errors import ExportError
from suffice.export.lower import Lowering
from suffice.export.onnx import graph
from suffice.export.onnx.file import TOLERANCE, build, check, feeds
from suffice.export.program import Program, TreeSums
from suffice.export.sql import terms as sql_trees
from suffice.export.sql.query import write_query
from suffice.export.sql.terms import MOST_VALUES
from suffice.forest import ForestDensity
from suffice.forest.density import LeafTables
from suffice.table import read_table

RUN = [pytest.param(run_duckdb, "duckdb", id="duckdb")]
if not sqlite_lacks():
    RUN.append(pytest.param(run_sqlite, "sqlite", id="sqlite"))


def odd() -> Made:
    """Return a program with a tree as deep as its column has cells, trees that ask for nothing, and none."""
    before = made()
    columns = before.trees[0][1]
    found = [(scores, columns) for scores in (chain(columns), alone(), none())]
    return Made(before.model, with_trees(before.model, found), found, before.rows)


CASES = [pytest.param(made, id="grown"), pytest.param(odd, id="odd")]


@pytest.mark.parametrize("make", CASES)
def test_interpreter_equals_the_trees(make: Any) -> None:
    model, program, trees, rows = make()
    read = model._fitted.rows(rows)[-1]
    run = _Run(program, read_table(rows))
    for term, (scores, columns) in zip(program.terms[-len(trees) :], trees, strict=True):
        assert isinstance(term, TreeSums)
        cells = columns.read(read.numbers, read.coded).cells
        np.testing.assert_allclose(run.term(term)[1], scores.scores(cells), rtol=1e-13, atol=1e-13)


def answers(program: Program, rows: pd.DataFrame) -> tuple[Any, Any]:
    posterior, density = evaluate(program, rows)
    return np.exp(posterior), density


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize(("run", "dialect"), RUN)
def test_databases_answer_as_the_interpreter(make: Any, run: Any, dialect: str, monkeypatch: Any) -> None:
    """However many trees have columns at once, and whether one CASE leads to their leaves or a stage for each depth."""
    _, program, _, rows = make()
    monkeypatch.setattr(sql_trees, "AT_ONCE", 25 if make is made else 100)  # of the 60 that were grown, the last of 10
    monkeypatch.setattr(sql_trees, "SHORT", 8)  # leaves, of which those that were grown have 2 to 12
    found = run(write_query(program, dialect, ["rows"]), rows).iloc[:, -5:]
    posterior, density = answers(program, rows)
    np.testing.assert_allclose(found.iloc[:, 1:4].to_numpy(dtype=float), posterior, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.iloc[:, 4].to_numpy(dtype=float), density, rtol=1e-9)
    assert (found.iloc[:, 0] == np.array(program.classes)[posterior.argmax(axis=1)]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "chunked"), [("float64", False), ("float64", True), ("float32", False)])
@pytest.mark.parametrize("make", CASES)
def test_onnx_answers_as_the_interpreter(make: Any, dtype: str, chunked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, program, _, rows = make()
    if chunked:
        monkeypatch.setattr(graph, "IN_MEMORY", 1)
    file, many = build(program, dtype), pd.concat([rows] * 5, ignore_index=True)
    onnx.checker.check_model(file, full_check=True)
    run, (posterior, density) = session(file), answers(program, many)
    labels = np.array(program.classes)[posterior.argmax(axis=1)]
    table = read_table(many)
    feed = feeds(program, table, model._fitted.align(table), dtype)
    apart, _ = check(file.SerializeToString(), feed, dtype, (labels, posterior, density))
    assert apart <= TOLERANCE[dtype] / 10
    for n in (0, 1, 3, 40):
        found = run.run(["probabilities"], {name: cells[:n] for name, cells in feed.items()})[0]
        np.testing.assert_allclose(found, posterior[:n], rtol=0, atol=TOLERANCE[dtype] / 10)


def test_deep_trees_are_nested_no_deeper_than_their_leaves_halve() -> None:
    """A tree whose leaves stand one below the other is one CASE; parsers limit how deep an expression may be."""
    _, program, trees, _ = odd()
    assert len(trees[0][0].trees.levels) > 3 * 10
    depth = deepest = 0
    for word in re.findall(r"\b(?:CASE|END)\b", write_query(program, "mysql", ["rows"])):
        depth += 1 if word == "CASE" else -1
        deepest = max(deepest, depth)
    assert deepest <= 10  # that of 200 cuts, of which there are fewer


@pytest.mark.parametrize(("dialect", "arrays"), [("duckdb", True), ("postgres", True), ("sqlite", False)])
def test_too_many_leaves_are_refused_by_their_number(
    dialect: str, arrays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = made().program
    terms = [term for term in program.terms if isinstance(term, TreeSums)]
    leaves = sum(len(term.values) for term in terms)
    trees = sum(len(term.roots) for term in terms)
    monkeypatch.setitem(MOST_VALUES, arrays, 3 * leaves - 1)
    with pytest.raises(
        ExportError, match=rf"{3 * leaves:,} values of {leaves:,} leaves in {trees} trees.*Next: .*ONNX"
    ):
        write_query(program, dialect, ["rows"])
    monkeypatch.setitem(MOST_VALUES, arrays, 3 * leaves)
    assert "SELECT" in write_query(program, dialect, ["rows"])


def test_the_density_of_a_forest_is_refused_with_its_size() -> None:
    model, _, trees, _ = made()
    scores, columns = trees[0]
    size = len(scores.trees.leaf_nodes)
    tables = LeafTables(np.zeros((size, 3)), np.zeros((size, 3, 0)), np.zeros((size, 0)), ())
    density = ForestDensity(columns, scores.trees, tables)
    job = Lowering(model._fitted.schema)
    with pytest.raises(ExportError, match=rf"60 trees of {size:,} leaves for 3 classes.*Next"):
        job.product(Product((density,)), [range(columns.d)])
