"""Readings in ONNX against NumPy: lines between knots, bins, levels, and the functions that ONNX lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from scipy.special import gammaln

from suffice.export.onnx.graph import FLOATS, Graph, Value
from suffice.export.onnx.readings import Readings
from suffice.export.onnx.terms import _log_factorial, hats
from suffice.export.program import (
    Bin,
    Code,
    Column,
    Indicator,
    Interpolated,
    Number,
    PiecewiseLinear,
    Program,
    Projected,
    Scaled,
)


def run(make: Callable[[Graph], Value], x: Any, dtype: str = "float64") -> Any:
    """Return what a graph makes of the matrix X (n, d)."""
    g = Graph(dtype)
    g.reserve(["X", "y"])
    output = g.output("y", make(g), 0, [])
    output.type.Clear()
    info = helper.make_tensor_value_info("X", FLOATS[dtype], ["n", x.shape[1]])
    return onnxruntime.InferenceSession(g.model([info], [output]).SerializeToString()).run(None, {"X": x})[0]


def program(d: int, codes: Any, readings: Any, kind: str = "number", levels: Any = ()) -> Program:
    columns = tuple(Column(j, kind, levels) for j in range(d))
    return Program("Test", ("a", "b"), columns, False, tuple(codes), tuple(readings), (), np.zeros(2), ())


def block(found: Program, x: Any, numbers: Any) -> Any:
    return run(lambda g: Readings(g, found).block(numbers), x)


@pytest.fixture
def cells(rng: Any) -> Any:
    x = rng.normal(size=(200, 2)) * 3.0
    x[:4] = [[np.nan, 0.0], [0.0, np.nan], [-1e9, 1e9], [1.0, -1.0]]
    return x


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 200])
def test_lines_between_knots(size: int, cells: Any, rng: Any) -> None:
    """As np.interp between the knots, and beyond them linear by at most 1; at the knots exactly their values."""
    knots = np.unique(rng.normal(size=size))
    values = np.sort(rng.normal(size=size))
    cells[4 : 4 + size, 0] = knots[:196]
    found = program(2, (), (Number(0), Interpolated(0, knots, values, 0.7, 2.0)))
    x = cells[:, 0]
    line = np.interp(x, knots, values)
    if size > 1:
        line = np.where(x < knots[0], np.maximum(values[0] + 0.7 * (x - knots[0]), values[0] - 1.0), line)
        line = np.where(x > knots[-1], np.minimum(values[-1] + 2.0 * (x - knots[-1]), values[-1] + 1.0), line)
    np.testing.assert_allclose(block(found, cells, (1,))[:, 0], np.where(np.isnan(x), np.nan, line), atol=1e-13)


@pytest.mark.parametrize("cuts", [[], [0.0], [-1.0, 0.0, 1.0, 4.0]])
def test_bins(cuts: list[float], cells: Any) -> None:
    """A number equal to a cut lies above it, as in np.searchsorted with side="right"."""
    found = program(2, (Bin(0, np.array(cuts)),), (Number(0),))
    codes = run(lambda g: Readings(g, found).code(0), cells)[:, 0]
    x = cells[:, 0]
    assert codes.tolist() == np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right")).tolist()


def test_levels_that_are_numbers() -> None:
    levels = (7, -2, 0.5, True)
    found = program(1, (Code(0, levels),), (Indicator(0, 2, True), Indicator(0, -1, False)), "category", levels)
    x = np.array([[7.0], [-2.0], [0.5], [1.0], [3.0], [1e300], [np.nan]])
    assert run(lambda g: Readings(g, found).code(0), x)[:, 0].tolist() == [0, 1, 2, 3, 4, 4, -1]
    np.testing.assert_array_equal(block(found, x, (0,))[:, 0], [0, 0, 1, 0, 0, 0, np.nan])
    np.testing.assert_array_equal(block(found, x, (1,))[:, 0], [0, 0, 0, 0, 0, 0, 1])


def test_mixed_blocks_keep_their_order(cells: Any) -> None:
    """Readings of several kinds side by side; what is projected counts missing cells as 0."""
    readings = (
        Number(1),
        Scaled(0, 2.0, 4.0),
        Number(0),
        Projected((0, 2), np.array([1.0, -3.0])),
        Scaled(3, 1.0, 2.0),
    )
    found = program(2, (), readings)
    x, y = cells.T
    weighted = np.nan_to_num(y) - 3.0 * np.nan_to_num(x)
    wanted = np.column_stack([(weighted - 1.0) / 2.0, x, weighted, (y - 2.0) / 4.0, y])
    np.testing.assert_allclose(block(found, cells, (4, 2, 3, 1, 0)), wanted, rtol=1e-14, atol=1e-14)


def test_hats_of_several_columns(cells: Any, rng: Any) -> None:
    knots = [np.array([-2.0, 0.0, 0.5, 3.0]), np.array([1.0])]
    values = [rng.normal(size=(3, 4)), rng.normal(size=(3, 1))]
    terms = [PiecewiseLinear(j, *pair) for j, pair in enumerate(zip(knots, values, strict=True))]
    found = program(2, (), (Number(0), Number(1)))
    score = run(lambda g: hats(g, Readings(g, found), terms, [1.0, 2.0]), cells)
    wanted = np.zeros((len(cells), 3))
    for j, weight in enumerate((1.0, 2.0)):
        x = cells[:, j]
        for c in range(3):
            inside = np.interp(np.nan_to_num(x), knots[j], values[j][c])
            wanted[:, c] += weight * np.where(np.isnan(x), 0.0, inside)
    np.testing.assert_allclose(score, wanted, atol=1e-13)


def test_log_factorial() -> None:
    x = np.array([[0.0, 1.0, 2.0, 31.0, 32.0, 33.0, 1e3, 1e9]])
    np.testing.assert_allclose(run(lambda g: _log_factorial(g, Value(g, "X")), x), gammaln(x + 1.0), rtol=4e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_log1p(dtype: str) -> None:
    x = np.concatenate([[0.0], np.logspace(-30, 30, 200)])[None].astype(dtype)
    eps = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(run(lambda g: g.log1p(Value(g, "X")), x, dtype), np.log1p(x), rtol=eps)
