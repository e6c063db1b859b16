"""What a table holds twice: rows that are equal, and columns that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._arrays import Array, Codes, NDArray, np
from .seen import SeenColumn, SeenTable

ROWS = 2000  # by which columns are compared
FEWEST = 10  # rows that have both cells
COPY = 1.0 - 1e-9  # correlation from which on a column is another in other units
NEAR = 0.995
FEW_VALUES = 50  # of a number that may name groups, as levels do
MOST_CODED = 40  # columns that are compared for what follows from what
VARIED = 0.05  # share of rows that a column must have outside its most common level to follow from another
SPREAD = 1.618033988749895
MIX = np.uint64(0x9E3779B97F4A7C15)


def equal_rows(table: SeenTable) -> dict[str, Any] | None:
    """Return how many of the rows there are equal another one, with the same class and with another.

    `repeated` rows are equal to one before them in all cells and the class, `most` is how often the commonest occurs;
    `contradicting` is how many rows have the cells of another row of another class, `sets` how many such sets of rows
    there are. None where there are no rows, or no columns.
    """
    if not table.has_rows or any(column.facts.values is None for column in table.columns) or not table.columns:
        return None
    _, cells = np.unique(row_keys(table, table.columns), return_inverse=True)
    pairs = cells.astype(np.int64) * (table.k + 1) + table.codes
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    times = np.bincount(group, weights=table.copies)
    labelled = table.codes[first] < table.k
    classes = np.bincount(cells[first[labelled]], minlength=int(cells.max()) + 1)
    clash = (classes > 1)[cells] & (table.codes < table.k)
    return {
        "rows": table.held,
        "repeated": round(float(times.sum())) - len(times),
        "most": round(float(times.max())),
        "contradicting": round(float(table.copies[clash].sum())),
        "sets": int((classes > 1).sum()),
    }


def row_keys(table: SeenTable, columns: Sequence[SeenColumn]) -> NDArray[np.uint64]:
    """Return a hash of the cells in some columns of each row there is (m,)."""
    key = np.zeros(len(table.codes), dtype=np.uint64)
    for column in columns:
        key = _mixed(key, column.facts.values)
    return key


def _mixed(key: NDArray[np.uint64], values: Array | None) -> NDArray[np.uint64]:
    """Return a hash of rows with one more column (splitmix64), equal for equal cells; missing cells are equal."""
    assert values is not None
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):
        z = (key ^ bits) + MIX
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


class _Coded(NamedTuple):
    column: int
    codes: Codes  # numbers of values, the first to occur is 0
    values: int


def equal_columns(table: SeenTable) -> dict[str, list[dict[str, Any]]]:
    """Return which columns say the same, by their numbers in the table.

    `copies` are sets of columns of which each is a straight line of the first (or has one level for each of its
    levels); `near` are pairs of numbers with a correlation of 0.995 or more either way; `follows` are pairs in which
    the first column decides the level of the second. All by at most 2,000 of the rows there are.
    """
    none: dict[str, list[dict[str, Any]]] = {"copies": [], "near": [], "follows": []}
    if not table.has_rows:
        return none
    index = table.some(ROWS)
    copies, near = _straight_lines(table, index)
    coded = _coded(table.columns, index)
    groups = _one_to_one(coded)
    held = [set(own["columns"]) for own in copies]
    groups = [own for own in groups if not any(set(own["columns"]) <= more for more in held)]
    wider = [set(own["columns"]) for own in groups]
    copies = [own for own in copies if not any(set(own["columns"]) <= more for more in wider)] + groups
    return {"copies": copies, "near": near, "follows": _follows(coded, copies)}


def _straight_lines(table: SeenTable, index: Codes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return sets of columns of numbers that are straight lines of each other, and pairs that nearly are."""
    numbers = [
        j for j, column in enumerate(table.columns) if column.facts.is_number and column.facts.values is not None
    ]
    cells = np.column_stack([_values(table.columns[j])[index] for j in numbers]) if numbers else np.zeros((0, 0))
    varies = [i for i in range(cells.shape[1]) if _varies(cells[:, i])]
    if len(varies) < 2:
        return [], []
    cells, numbers = cells[:, varies], [numbers[i] for i in varies]
    r = correlations(cells)
    groups: list[dict[str, Any]] = []
    near: list[dict[str, Any]] = []
    twins: set[int] = set()  # of the first of their set
    for i in range(len(numbers)):
        own = [i, *(j for j in range(i + 1, len(numbers)) if j not in twins and abs(r[i, j]) >= COPY)]
        if i in twins or len(own) == 1:
            continue
        twins |= set(own[1:])
        lines = [_line(cells[:, i], cells[:, j]) for j in own[1:]]
        groups.append({"columns": [numbers[j] for j in own], "lines": lines})
    for i, j in np.argwhere(np.triu(np.abs(np.nan_to_num(r)) >= NEAR, 1)).tolist():
        if i not in twins and j not in twins:
            near.append({"columns": [numbers[i], numbers[j]], "correlation": float(r[i, j])})
    near.sort(key=lambda pair: -abs(float(pair["correlation"])))
    return groups, near


def _varies(cells: Array) -> bool:
    """Return whether numbers have more than two values, and ten of them other than the most common."""
    seen = cells[~np.isnan(cells)]
    times = np.unique(seen, return_counts=True)[1]
    return len(times) > 2 and len(seen) - int(times.max()) >= FEWEST


def correlations(cells: Array) -> Array:
    """Return correlations (d, d) of columns (n, d) over the rows that have both cells; NaN where these are too few."""
    seen = ~np.isnan(cells)
    count = np.maximum(seen.sum(axis=0), 1)
    centre = np.where(seen, cells, 0.0).sum(axis=0) / count
    x = np.where(seen, cells - centre, 0.0)
    scale = np.sqrt((x**2).sum(axis=0) / count)
    x /= np.where(scale > 0, scale, 1.0)
    there = seen.astype(np.float64)
    n, sums, squares, products = there.T @ there, x.T @ there, (x**2).T @ there, x.T @ x
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = products - sums * sums.T / n
        spread = squares - sums**2 / n
        r = covariance / np.sqrt(spread * spread.T)
        flat = spread <= 1e-9 * n
        few = (n < FEWEST) | flat | flat.T
    return np.where(few, np.nan, np.clip(r, -1.0, 1.0))


def _line(x: Array, y: Array) -> dict[str, float]:
    """Return slope and intercept of the line that numbers y (n,) are of x (n,)."""
    seen = ~np.isnan(x) & ~np.isnan(y)
    a, b = x[seen], y[seen]
    low, high = int(a.argmin()), int(a.argmax())
    slope = float((b[high] - b[low]) / (a[high] - a[low]))
    return {"slope": slope, "intercept": float(b[low] - slope * a[low])}


def _values(column: SeenColumn) -> Array:
    assert column.facts.values is not None
    return column.facts.values


def _coded(columns: Sequence[SeenColumn], index: Codes) -> list[_Coded]:
    """Return the columns of few values as numbers of them, in the order in which they first occur; missing is one."""
    found = []
    for j, column in enumerate(columns):
        if column.facts.values is None:
            continue
        cells = np.where(np.isnan(column.facts.values[index]), np.inf, column.facts.values[index])
        _, first, codes, times = np.unique(cells, return_index=True, return_inverse=True, return_counts=True)
        if len(cells) - int(times.max()) < FEWEST:  # words of one text go together by chance
            continue
        if column.facts.is_number and len(first) > FEW_VALUES:
            continue
        place = np.argsort(np.argsort(first))
        if 1 < len(first) < len(index):
            found.append(_Coded(j, place[codes].astype(np.int64), len(first)))
    return found


def _one_to_one(coded: Sequence[_Coded]) -> list[dict[str, Any]]:
    """Return sets of columns whose levels stand for each other, one for one."""
    sets: dict[bytes, list[int]] = {}
    for own in coded:
        sets.setdefault(own.codes.tobytes(), []).append(own.column)
    return [{"columns": columns, "lines": None} for columns in sets.values() if len(columns) > 1]


def _follows(coded: Sequence[_Coded], copies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs of columns of which the first decides the level of the second, and not the other way.

    Only where enough rows could have said otherwise: those that are not the first of their level.
    """
    again = {j for own in copies for j in own["columns"][1:]}
    some = [own for own in coded if own.column not in again][:MOST_CODED]
    found = []
    for a in some:
        n = len(a.codes)
        if n - a.values < max(20, 0.2 * n):
            continue
        for b in some:
            if not 1 < b.values < a.values or 1.0 - np.bincount(b.codes).max() / n < VARIED:
                continue
            if len(np.unique(a.codes * b.values + b.codes)) == a.values:
                found.append({"columns": [a.column, b.column]})
    return found
