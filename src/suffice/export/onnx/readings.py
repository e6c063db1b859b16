"""From the inputs of an ONNX graph to the codes and readings of a program, many columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

from ..._arrays import Array, np
from ..._derived import once
from ...errors import ExportError, quoted, setting
from ...schema import Level
from ..program import Bin, Code, Column, Indicator, Interpolated, Number, Program, Projected, Scaled
from .graph import FLOATS, ML_DOMAIN, Graph, Value

MATRIX = "X"
OUTPUTS = ("label", "probabilities", "log_density")


class Input(NamedTuple):
    """One input: its name in the file, the columns it holds, and the text that stands for a missing cell (else NaN)."""

    name: str
    columns: tuple[int, ...]
    missing: str | None = None


def inputs_of(program: Program) -> list[Input]:
    """Return the inputs of a program: one matrix of unnamed numbers, or one input per column.

    An input has the name of its column; `column_3` stands for one that has no name, an empty one, or that of an output.
    """
    every = tuple(range(len(program.columns)))
    if not program.named and not any(is_text(column) for column in program.columns):
        return [Input(MATRIX, every)]
    taken = {str(column.name) for column in program.columns} | set(OUTPUTS)
    found = []
    for position, column in enumerate(program.columns):
        name = column.name if program.named else ""
        if not isinstance(name, str) or not name or name in OUTPUTS:
            name = f"column_{position}"
            while name in taken:
                name += "_"
        found.append(Input(name, (position,), missing_text(column) if is_text(column) else None))
    return found


def is_text(column: Column) -> bool:
    """Return whether cells of a column come as text: a category with any level of text, or without a level."""
    return column.kind == "category" and (not column.levels or any(isinstance(own, str) for own in column.levels))


def missing_text(column: Column) -> str:
    """Return the text of a missing cell: none at all, or where that is a level, a word that is not."""
    word = "" if "" not in column.levels else "<missing>"
    while word in column.levels:
        word = f"<{word}>"
    return word


def level_texts(column: Column, levels: Sequence[Level]) -> list[str]:
    """Return levels as text; ExportError where two of them would be the same."""
    texts = [str(level) for level in levels]
    _distinct(texts, levels, column)
    return texts


def _distinct(forms: Sequence[object], levels: Sequence[Level], column: Column) -> None:
    if len(set(forms)) < len(forms):
        twice = [level for level, form in zip(levels, forms, strict=True) if list(forms).count(form) > 1]
        raise ExportError(
            f"The levels {quoted(twice)} of column {column.name!r} cannot be told apart as ONNX reads them. "
            f"Next: rename them, or use {setting('dtype', 'float64')}."
        )


class Readings:
    """The codes and readings of a program as values in a graph, each made when first asked for."""

    def __init__(self, g: Graph, program: Program) -> None:
        self.g, self.program = g, program
        self.inputs = inputs_of(program)
        self._values = {own.name: Value(g, own.name) for own in self.inputs}

    def infos(self) -> list[onnx.ValueInfoProto]:
        """Return the declarations of the inputs."""
        found = []
        for own in self.inputs:
            kind = FLOATS[self.g.dtype] if own.missing is None else TensorProto.STRING
            found.append(helper.make_tensor_value_info(own.name, kind, ["n", len(own.columns)]))
        return found

    def first(self) -> Value:
        """Return one of the inputs, for the number of rows."""
        return self._values[self.inputs[0].name]

    def codes(self, numbers: Sequence[int]) -> Value:
        """Return codes side by side (n, c)."""
        return self.g.join([self.code(number) for number in numbers], 1)

    def code(self, number: int) -> Value:
        """Return one code (n, 1): −1 where missing, the number of levels where the cell is none of them."""
        own = self.program.codes[number]
        return once(self, number, lambda: self._level(own) if isinstance(own, Code) else self._bin(own))

    def _level(self, own: Code) -> Value:
        g, column, unknown = self.g, self.program.columns[own.column], -1 if own.empty else len(own.levels)
        if is_text(column):
            texts = level_texts(column, own.levels)
            source = next(i for i in self.inputs if i.columns == (own.column,))
            numbers = [*range(len(own.levels)), -1]
            return g.op(
                "LabelEncoder",
                self._values[source.name],
                domain=ML_DOMAIN,
                keys_strings=[*texts, source.missing],
                values_int64s=numbers,
                default_int64=unknown,
            )
        cells = self._numbers([own.column])
        levels = np.array([float(level) for level in own.levels]).astype(g.dtype)
        _distinct(levels.tolist(), own.levels, column)
        order = np.argsort(levels, kind="stable")
        place = self._place(cells, levels[order][None])
        found = g.op("Equal", g.take(levels[order], place), cells)
        code = g.where(found, g.take(order, place), unknown)
        return g.where(g.op("IsNaN", cells), -1, code)

    def _bin(self, own: Bin) -> Value:
        g, x = self.g, self.block((own.reading,))
        return g.where(g.op("IsNaN", x), -1, self._place(x, np.append(-np.inf, own.cuts)[None]))

    def block(self, numbers: Sequence[int]) -> Value:
        """Return readings side by side (n, d), NaN where missing."""
        kinds = groupby(numbers, key=lambda number: type(self.program.readings[number]))
        return once(self, tuple(numbers), lambda: self.g.join([self._run(kind, list(run)) for kind, run in kinds], 1))

    def _run(self, kind: type, numbers: list[int]) -> Value:
        """Return readings of one kind (n, d)."""
        run: list[Any] = [self.program.readings[number] for number in numbers]
        if kind is Number:
            cells, there = self._numbers([own.column for own in run]), np.where([own.empty for own in run], np.nan, 1.0)
            return cells if np.isfinite(there).all() else cells * there
        if kind is Scaled:
            inner = self.block([own.reading for own in run])
            return (inner - np.array([own.centre for own in run])) / np.array([own.scale for own in run])
        if kind is Interpolated:
            return self._interpolated(run)
        if kind is Indicator:
            return self._indicators(run)
        assert kind is Projected
        parts = [self._projected(list(own)) for _, own in groupby(run, key=lambda one: one.readings)]
        return self.g.join(parts, 1)

    def _numbers(self, columns: Sequence[int]) -> Value:
        """Return the numbers of some columns side by side (n, d)."""
        every = [position for own in self.inputs for position in own.columns]
        if len(self.inputs) == 1 and len(every) > 1:
            matrix = self._values[MATRIX]
            return matrix if list(columns) == every else self.g.take(matrix, np.array(columns), axis=1)
        names = {own.columns[0]: own.name for own in self.inputs}
        return self.g.join([self._values[names[column]] for column in columns], 1)

    def _place(self, x: Value, knots: Array) -> Value:
        """Return, for cells x (n, d), the number of the last knot (d, B) at most x, or 0 where all are above it.

        By bisection: as many comparisons per cell as the number of knots has digits.
        """
        g, (d, size) = self.g, knots.shape
        steps = max(1, int(size - 1).bit_length())
        width = 1 << steps
        padded = np.full((d, width), np.inf)
        padded[:, :size] = knots
        flat, start = padded.reshape(-1), np.arange(d) * width
        low = g.op("Mul", g.integers(g.op("IsNaN", x)), 0) + start
        for step in (1 << i for i in reversed(range(steps))):
            further = low + step
            low = g.where(g.op("GreaterOrEqual", x, g.take(flat, further)), further, low)
        return low - start

    def _interpolated(self, run: list[Interpolated]) -> Value:
        """Return numbers between knots; the ends get a knot more each, where the line beyond them has gone by 1."""
        g = self.g
        tables = [_with_ends(reading) for reading in run]
        size = max(len(knots) for knots, _ in tables)
        knots, values, slopes = np.full((3, len(run), size), np.inf)
        for j, (own, y) in enumerate(tables):
            knots[j, : len(own)], values[j], slopes[j] = own, y[-1], 0.0
            values[j, : len(y)] = y
            slopes[j, : len(own) - 1] = np.diff(y) / np.diff(own)
        x = self.block([own.reading for own in run])
        place = self._place(x, knots) + np.arange(len(run)) * size
        left = np.where(np.isfinite(knots), knots, 0.0).reshape(-1)
        along = g.op("Max", x - g.take(left, place), 0.0)
        inside = g.take(values.reshape(-1), place) + along * g.take(slopes.reshape(-1), place)
        return g.where(g.op("IsNaN", x), x, inside)

    def _indicators(self, run: list[Indicator]) -> Value:
        g, parts = self.g, []
        for (code, keeps), own in groupby(run, key=lambda one: (one.code, one.keeps_missing)):
            levels = self.code(code)
            hot = g.cast(g.op("Equal", levels, np.array([[one.level for one in own]])))
            parts.append(g.where(g.op("Less", levels, 0), np.float64(np.nan), hot) if keeps else hot)
        return g.join(parts, 1)

    def _projected(self, run: list[Projected]) -> Value:
        cells = self.block(run[0].readings)
        return self.g.known_or(cells, 0.0) @ np.column_stack([own.weight for own in run])


def _with_ends(own: Interpolated) -> tuple[Array, Array]:
    """Return knots and values with one more at each end, or only the value of a single knot."""
    knots, values = own.knots, own.values
    if len(knots) < 2:
        return knots[:1], values[:1]
    if own.low > 0:
        knots, values = np.append(knots[0] - 1.0 / own.low, knots), np.append(values[0] - 1.0, values)
    if own.high > 0:
        knots, values = np.append(knots, knots[-1] + 1.0 / own.high), np.append(values, values[-1] + 1.0)
    return knots, values
