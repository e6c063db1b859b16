"""Which cells are missing together: the commonest sets of missing columns, with how many rows of each class."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array, NDArray, np
from .bars import Palette
from .seen import SeenTable

MOST_PATTERNS = 8
MOST_COLUMNS = 16  # of the matrix


def missing_together(table: SeenTable, palette: Palette) -> dict[str, Any] | None:
    """Return the commonest sets of missing columns of the rows there are; None where no cell is missing, or no row is.

    `columns` are numbers of columns in the table, those that miss most cells in the patterns shown; `patterns` have
    `missing` (which of these), `others` (how many columns beside them), `rows`, `share` of all rows there are, and
    `by_class`, their shares of them by entry of the palette. `complete` is the share of rows that miss no cell, `rest`
    how many more patterns there are, and `rest_share` the share of rows that have them.
    """
    if not table.has_rows:
        return None
    none = np.zeros(len(table.codes), dtype=np.bool_)
    missing = [none if column.facts.values is None else ~column.present for column in table.columns]
    holes: NDArray[np.bool_] = np.column_stack(missing or [none])
    if not holes.any():
        return None
    packed = np.packbits(holes, axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    weight = np.bincount(group, weights=table.weight).astype(np.float64)
    total = float(weight.sum())
    empty = np.asarray(~holes[first].any(axis=1))
    order = np.array([g for g in np.argsort(-weight, kind="stable") if not empty[g]], dtype=np.int64)
    shown, rest = order[:MOST_PATTERNS], order[MOST_PATTERNS:]
    columns = _columns_shown(holes[first[shown]], weight[shown])
    return {
        "columns": columns,
        "patterns": [_pattern(table, palette, holes[first[g]], group == g, columns, total) for g in shown],
        "complete": float(weight[empty].sum()) / total,
        "rest": len(rest),
        "rest_share": float(weight[rest].sum()) / total,
        "columns_with_holes": int(holes.any(axis=0).sum()),
    }


def _columns_shown(patterns: NDArray[np.bool_], weight: Array) -> list[int]:
    """Return the columns that miss most cells in these patterns, in the order of the table."""
    cells = weight @ patterns
    order = np.argsort(-cells, kind="stable")[:MOST_COLUMNS]
    return sorted(int(j) for j in order if cells[j] > 0)


def _pattern(
    table: SeenTable,
    palette: Palette,
    missing: NDArray[np.bool_],
    rows: NDArray[np.bool_],
    columns: list[int],
    total: float,
) -> dict[str, Any]:
    weight = np.bincount(table.codes[rows], weights=table.weight[rows], minlength=table.k + 1).astype(np.float64)
    by_class = palette.fold(weight[:, None])[:, 0]
    return {
        "missing": [bool(missing[j]) for j in columns],
        "others": int(missing.sum()) - int(missing[columns].sum()),
        "rows": round(float(table.copies[rows].sum())),
        "share": float(weight.sum()) / total,
        "by_class": (by_class / max(float(by_class.sum()), 1e-300)).round(4).tolist(),
    }
