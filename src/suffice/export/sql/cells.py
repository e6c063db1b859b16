"""What is read off a row, in SQL: numbers, codes of categories, normal scores, indicators."""

from __future__ import annotations

from collections.abc import Sequence

from ..._arrays import np
from ...schema import Level
from ..program import Bin, Code, Indicator, Interpolated, Number, Program, Projected, Scaled
from .language import case, number, piecewise, total, where_known
from .sources import EXACT, Sources
from .stages import Stages

LARGEST = number(1e150)  # beyond it, Python refuses a cell: its square overflows


class Cells:
    """The columns `r…` of readings and `k…` of codes, made in as few stages as they need."""

    def __init__(self, program: Program, stages: Stages, sources: Sequence[str]) -> None:
        self.program, self.stages, self.sources = program, stages, sources
        self._first()
        self._second()
        self._third()

    def reading(self, i: int) -> str:
        """Return the column of a reading."""
        return f"r{i}"

    def code(self, i: int) -> str:
        """Return the column of a code."""
        return f"k{i}"

    def _first(self) -> None:
        """Add the cells as clean numbers or as text: a NaN or infinite cell is missing."""
        sources, cells, clean = Sources(self.program, self.stages.language), dict[str, str](), dict[str, str]()
        for j, (column, source) in enumerate(zip(self.program.columns, self.sources, strict=True)):
            name = f"c{j}"
            if column.kind == "category" and _as_text(column.levels):
                cells[name] = sources.text(j, source)
            else:
                cells[name] = sources.number(j, source)
                clean[name] = f"CASE WHEN {name} BETWEEN -{LARGEST} AND {LARGEST} THEN {name} END"
        self.stages.add(cells)
        if clean:
            self.stages.add(clean)

    def _second(self) -> None:
        """Add numbers and codes of categories, and forget the cells."""
        new = {}
        for i, reading in enumerate(self.program.readings):
            if isinstance(reading, Number):
                new[f"r{i}"] = f"c{reading.column}"
        for i, code in enumerate(self.program.codes):
            if isinstance(code, Code):
                new[f"k{i}"] = self._level(code)
        self.stages.add(new, [f"c{j}" for j in range(len(self.program.columns))])

    def _level(self, code: Code) -> str:
        cell, text = f"c{code.column}", _as_text(self.program.columns[code.column].levels)
        branches = [(f"{cell} IS NULL", "-1")]
        for i, level in enumerate(code.levels):
            literal = self.stages.language.text(str(level)) if text else number(float(level))
            branches.append((f"{cell} = {literal}", str(i)))
        return case(branches, str(len(code.levels)))

    def _third(self) -> None:
        """Add what is made of numbers and codes, layer by layer."""
        new: dict[str, str] = {}
        for i, code in enumerate(self.program.codes):
            if isinstance(code, Bin):
                x = self.reading(code.reading)
                counts = [str(b) for b in range(len(code.cuts) + 1)]
                new[f"k{i}"] = where_known(x, piecewise(x, code.cuts, counts), "-1")
        for kinds in ((Interpolated, Indicator), (Scaled,), (Projected,)):
            for i, reading in enumerate(self.program.readings):
                if isinstance(reading, kinds):
                    new[f"r{i}"] = self._made(reading)
            if new:
                self.stages.add(new)
            new = {}

    def _made(self, reading: object) -> str:
        if isinstance(reading, Indicator):
            k = self.code(reading.code)
            known = f"CASE WHEN {k} = {reading.level} THEN 1.0e0 ELSE 0.0e0 END"
            return self.stages.language.double(
                f"CASE WHEN {k} < 0 THEN NULL WHEN {k} = {reading.level} THEN 1.0e0 ELSE 0.0e0 END"
                if reading.keeps_missing
                else known
            )
        if isinstance(reading, Scaled):
            return f"({self.reading(reading.reading)} - {number(reading.centre)}) / {number(reading.scale)}"
        if isinstance(reading, Projected):
            pairs = zip(reading.readings, reading.weight, strict=True)
            return total([f"COALESCE({self.reading(i)}, 0.0e0) * {number(w)}" for i, w in pairs])
        assert isinstance(reading, Interpolated)
        return self._interpolated(reading)

    def _interpolated(self, own: Interpolated) -> str:
        x, knots, values = self.reading(own.reading), own.knots, own.values
        if len(knots) == 1:
            return where_known(x, self.stages.language.double(number(values[0])), "NULL")
        slopes = np.diff(values) / np.diff(knots)
        language = self.stages.language
        below = [_line(x, knots[0], values[0], own.low), number(values[0] - 1.0)]
        above = [_line(x, knots[-1], values[-1], own.high), number(values[-1] + 1.0)]
        inner = [_line(x, *each) for each in zip(knots[:-1], values[:-1], slopes, strict=True)]
        pieces = [language.greatest(below), *inner, language.least(above)]
        return where_known(x, piecewise(x, knots, pieces), "NULL")


def _line(x: str, knot: float, value: float, slope: float) -> str:
    return f"({number(value)} + {number(slope)} * ({x} - {number(knot)}))"


def _as_text(levels: Sequence[Level]) -> bool:
    """Return whether cells are compared as text: text, and whole numbers that are not exact as doubles."""
    return not levels or any(
        isinstance(level, str) or (isinstance(level, int) and abs(level) >= EXACT) for level in levels
    )
