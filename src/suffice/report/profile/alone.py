"""How well one column by itself names the class."""

from __future__ import annotations

from ..._arrays import Array, Codes, np
from .seen import SeenColumn, SeenTable

ROWS = 4000
FEWEST = 5  # rows of a class that is judged


def recall_alone(column: SeenColumn, table: SeenTable) -> float | None:
    """Return how probably a row's class is named right by the rows with the nearest cell, averaged over classes.

    Each row is judged by the others: by the classes of those with an equal cell, or where there are none by those with
    the next lower and the next higher value of a number, the nearer one; missing cells are equal. It is 1 where the
    column gives the class away, and about 1 / k where it tells nothing. None where fewer than two classes have five of
    the rows there are.
    """
    if column.facts.values is None:
        return None
    index = table.some(ROWS)
    index = index[table.codes[index] < table.k]
    codes, copies = table.codes[index], table.copies[index]
    size = np.bincount(codes, weights=copies, minlength=table.k)
    judged = np.flatnonzero(size >= FEWEST)
    if len(judged) < 2:
        return None
    cells = column.facts.values[index]
    right = _named(cells, codes, copies, table.k, column.facts.is_number)
    recall = np.bincount(codes, weights=copies * right, minlength=table.k)[judged] / size[judged]
    return float(recall.mean())


def _named(cells: Array, codes: Codes, copies: Array, k: int, ordered: bool) -> Array:
    """Return how probable its own class is for each row (n,), by the shares of classes among rows like it."""
    values, place = np.unique(np.where(np.isnan(cells), np.inf, cells), return_inverse=True)
    counts = np.zeros((len(values), k))
    np.add.at(counts, (place, codes), copies)
    total = counts.sum(axis=1)
    others = total[place] - 1.0  # one copy of the row itself is out
    prior = (np.bincount(codes, weights=copies, minlength=k)[codes] - 1.0) / max(float(copies.sum()) - 1.0, 1.0)
    equal = (counts[place, codes] - 1.0) / np.maximum(others, 1.0)
    alone = others <= 0
    if not ordered or not alone.any():
        return np.where(alone, prior, equal)
    near = _nearest(values)[place]
    beside = np.where(near >= 0, counts[near, codes] / np.maximum(total[near], 1.0), prior)
    return np.where(alone, beside, equal)


def _nearest(values: Array) -> Codes:
    """Return for each of these ascending numbers the number of the nearest other one that is finite; −1 for none."""
    n = int(np.isfinite(values).sum())
    found = np.full(len(values), -1, dtype=np.int64)
    if n < 2:
        return found
    gap = np.diff(values[:n])
    left, right = np.append(np.inf, gap), np.append(gap, np.inf)
    found[:n] = np.arange(n) + np.where(left <= right, -1, 1)
    return found
