"""How the families of counts read their columns: dense with NaN for missing, or sparse and never made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._arrays import Array, NDArray, np, sparse
from ...errors import DataError, NegativeError
from ...table import SparseTable, Table

Counts = Array | sparse.csr_array  # rows (n, d): dense with NaN for missing, or sparse, where nothing is missing

NEGATIVE = "Negative values cannot be modelled: counts are at least 0"


def encode_counts(table: Table, positions: Sequence[int]) -> Counts:
    """Return the columns sparse (n, d), or as floats with NaN where missing; DataError names one with less than 0."""
    rows = read_columns(table, positions)
    cells = stored(rows)
    if np.fmin.reduce(cells, axis=None, initial=0) < 0:
        _refuse(rows, cells < 0, table, positions, NEGATIVE)
    return rows


def read_columns(table: Table, positions: Sequence[int]) -> Counts:
    """Return the columns sparse (n, d), or as numbers with NaN where missing."""
    return table.sparse(positions) if isinstance(table, SparseTable) else table.numeric(positions)


def stored(rows: Counts) -> NDArray[Any]:
    """Return the cells, of a sparse matrix those that are stored."""
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.data)


def above(rows: Counts, threshold: float) -> Counts:
    """Return 1 where a cell is above the threshold, at least 0, else 0; missing cells stay missing."""
    if not isinstance(rows, np.ndarray):
        ones = rows.copy()
        ones.data = (rows.data > threshold).astype(np.float64)
        ones.eliminate_zeros()
        return ones
    dense = (rows > threshold).astype(np.float64)
    if rows.dtype.kind == "f":
        dense[np.isnan(rows)] = np.nan
    return dense


def check_whole(rows: Counts, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds a fraction."""
    cells = stored(rows)
    if cells.dtype.kind == "f":
        _refuse(rows, np.floor(cells) < cells, table, positions, "counts are whole numbers")


def check_binary(rows: Counts, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds anything but 0, 1 and missing."""
    cells = stored(rows)
    if (cells == 1).all():
        return
    wrong = (cells != 0) & (cells != 1)
    if cells.dtype.kind == "f":
        wrong &= ~np.isnan(cells)
    _refuse(rows, wrong, table, positions, "a Bernoulli column holds true and false, or 1 and 0")


def _refuse(rows: Counts, wrong: NDArray[np.bool_], table: Table, positions: Sequence[int], rule: str) -> None:
    if not wrong.any():
        return
    if not isinstance(rows, np.ndarray):
        first = int(np.argmax(wrong))
        column, value = int(rows.indices[first]), rows.data[first]
    else:
        row, column = (int(i[0]) for i in np.nonzero(wrong))
        value = rows[row, column]
    name = table.schema.names[positions[column]]
    kind = NegativeError if rule == NEGATIVE else DataError
    raise kind.in_column(name, f"{float(value):g}", rule)
