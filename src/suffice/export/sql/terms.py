"""Terms over independent readings and codes, in SQL: one expression per class, without stages of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ..._arrays import Array, gammaln, np
from ..program import Counts, Hats, LocationScale, Table
from .cells import Cells
from .language import Language, number, piecewise, switch, total, where_known

STIRLING = 20  # from this count on the series for log x! is exact to rounding


def table(term: Table, c: int, cells: Cells) -> str:
    """Return the log probability of a code in class c."""
    return _by_code(cells.code(term.code), term.log_p[c], cells)


def table_order(term: Table, c: int, cells: Cells) -> str:
    """Return how many zero probabilities the code has in class c: 0 or 1."""
    return "0.0e0" if term.order is None else _by_code(cells.code(term.code), term.order[c], cells)


def _by_code(code: str, values: Array, cells: Cells) -> str:
    return switch(code, [(i, number(value)) for i, value in enumerate(values)], "0.0e0")


def counts(term: Counts, c: int, cells: Cells) -> str:
    """Return what counts add in class c, but for log x!."""
    return _linear(term.readings, term.per_count[c], term.per_cell[c], cells)


def counts_order(term: Counts, c: int, cells: Cells) -> str:
    """Return how many times a row has what class c gives probability zero."""
    zero = np.zeros(len(term.readings))
    per_count = zero if term.order_per_count is None else term.order_per_count[c]
    per_cell = zero if term.order_per_cell is None else term.order_per_cell[c]
    return _linear(term.readings, per_count, per_cell, cells)


def _linear(readings: Sequence[int], per_count: Array, per_cell: Array, cells: Cells) -> str:
    parts = []
    for i, slope, level in zip(readings, per_count, per_cell, strict=True):
        if slope or level:
            x = cells.reading(i)
            parts.append(where_known(x, f"{number(slope)} * {x} + {number(level)}"))
    return total(parts)


def log_factorials(term: Counts, cells: Cells, language: Language) -> str:
    """Return Σ log x_j! of whole counts: a table of small ones, Stirling's series for the others."""
    small = [(x, number(gammaln(x + 1.0))) for x in range(2, STIRLING)]
    parts = []
    for i in term.readings:
        x = cells.reading(i)
        z = f"({x} + 1.0e0)"
        series = (
            f"({x} + 0.5e0) * {language.ln(z)} - {z} + {number(0.5 * np.log(2.0 * np.pi))} + 1.0e0 / (12.0e0 * {z})"
            f" - 1.0e0 / (360.0e0 * {z} * {z} * {z}) + 1.0e0 / (1260.0e0 * {z} * {z} * {z} * {z} * {z})"
            f" - 1.0e0 / (1680.0e0 * {z} * {z} * {z} * {z} * {z} * {z} * {z})"
        )
        table = switch(x, small, "0.0e0")
        parts.append(f"CASE WHEN {x} IS NULL THEN 0.0e0 WHEN {x} >= {number(STIRLING)} THEN {series} ELSE {table} END")
    return total(parts)


def location_scale(term: LocationScale, c: int, cells: Cells, language: Language) -> str:
    """Return the log density of independent Laplace or Student t readings in class c."""
    parts = []
    for j, i in enumerate(term.readings):
        x, df = cells.reading(i), float(term.df[c, j])
        z = f"(({x} - {number(term.location[c, j])}) / {number(term.scale[c, j])})"
        if term.shape == "laplace":
            kernel = f"ABS{z}"
        elif np.isinf(df):
            kernel = f"0.5e0 * {z} * {z}"
        else:
            kernel = f"{number(0.5 * (df + 1.0))} * {language.ln(f'1.0e0 + {z} * {z} / {number(df)}')}"
        parts.append(where_known(x, f"{number(term.constant[c, j])} - {kernel}"))
    return total(parts)


def hats(term: Hats, c: int, cells: Cells) -> str:
    """Return a piecewise linear function of one reading in class c."""
    x, knots, values = cells.reading(term.reading), term.knots, term.values[c]
    if len(knots) == 1:
        return where_known(x, number(values[0]))
    slopes = np.diff(values) / np.diff(knots)
    inner = [
        f"({number(value)} + {number(slope)} * ({x} - {number(knot)}))"
        for knot, value, slope in zip(knots[:-1], values[:-1], slopes, strict=True)
    ]
    return where_known(x, piecewise(x, knots, [number(values[0]), *inner, number(values[-1])]))
