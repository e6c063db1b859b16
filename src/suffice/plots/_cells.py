"""Cells of a table as text, and some of its rows, of tables of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arrays import Codes
from ..schema import Kind
from ._view import View


def cells_as_text(view: View, X: object, positions: Sequence[int]) -> list[list[tuple[str, str]]]:
    """Return (column, cell as text) of some columns of every row; a missing cell is "unknown"."""
    table, order = view.aligned(X)
    columns = []
    for position in positions:
        column = view.schema.columns[position]
        if column.kind is Kind.NUMERIC:
            numbers = table.numeric([order[position]])[:, 0]
            text = ["unknown" if cell != cell else in_words(float(cell)) for cell in numbers]
        else:
            levels, codes = table.categories(order[position])
            text = ["unknown" if code < 0 else str(levels[code]) for code in codes]
        columns.append([(str(column.name), cell) for cell in text])
    return [list(row) for row in zip(*columns, strict=True)]


def take(X: Any, index: Codes) -> Any:
    """Return some rows of a table of any kind."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "take") and hasattr(X, "column_names"):  # pyarrow
        return X.take(index)
    return [X[int(i)] for i in index] if isinstance(X, list | tuple) else X[index]


def in_words(value: float) -> str:
    """Return a number with four digits, as a person would write it."""
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def percent(p: float) -> str:
    """Return a probability in percent, never rounded to certainty."""
    if 0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1:
        return "> 99.9 %"
    return f"{100 * p:.{0 if 0.01 <= p <= 0.99 or p in (0.0, 1.0) else 1}f} %"
