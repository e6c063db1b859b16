"""How the families of counts read their columns: dense with NaN for missing, or sparse and never made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._arrays import is_sparse, np
from ...errors import DataError
from ...table import SparseTable, Table

NEGATIVE = "Negative values in data cannot be modelled: counts are at least 0"  # as scikit-learn words it


def encode_counts(table: Table, positions: Sequence[int]) -> Any:
    """Return the columns sparse (n, d), or as floats with NaN where missing; DataError names one with less than 0."""
    rows = table.sparse(positions) if isinstance(table, SparseTable) else table.numeric(positions)
    cells: Any = rows.data if is_sparse(rows) else rows
    if np.fmin.reduce(cells, axis=None, initial=0) < 0:
        _refuse(rows, cells < 0, table, positions, NEGATIVE)
    return rows


def check_whole(rows: Any, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds a fraction."""
    cells = rows.data if is_sparse(rows) else rows
    if cells.dtype.kind == "f":
        _refuse(rows, np.floor(cells) < cells, table, positions, "counts are whole numbers")


def check_binary(rows: Any, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds anything but 0, 1 and missing."""
    cells = rows.data if is_sparse(rows) else rows
    if (cells == 1).all():
        return
    wrong = (cells != 0) & (cells != 1)
    if cells.dtype.kind == "f":
        wrong &= ~np.isnan(cells)
    _refuse(rows, wrong, table, positions, "a Bernoulli column holds true and false, or 1 and 0")


def _refuse(rows: Any, wrong: Any, table: Table, positions: Sequence[int], rule: str) -> None:
    if not wrong.any():
        return
    if is_sparse(rows):
        first = int(np.argmax(wrong))
        column, value = int(rows.indices[first]), rows.data[first]
    else:
        row, column = (int(i[0]) for i in np.nonzero(wrong))
        value = rows[row, column]
    name = table.schema.names[positions[column]]
    raise DataError(
        f"Column {name!r} has the value {float(value):g}; {rule}. Next: correct it, or give it another family."
    )
