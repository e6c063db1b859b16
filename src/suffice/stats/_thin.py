"""Subtracting rows from a scatter that keeps its rows: each must be found among them."""

from __future__ import annotations

from .._arrays import Array, Codes, np
from ..errors import NotLearnedError
from ._downdate import DUST, subtract_weights
from .scatter import Scatter, ThinScatter

CLOSE = 1e-9  # rows are one row where their values agree to this, relative to the largest of the column
FIRST_COLUMNS = 16  # compared before the others are


def subtract_rows(
    whole: ThinScatter, part: Scatter, weight: Array, mean: Array, part_mean: Array
) -> tuple[Array, Array, ThinScatter]:
    """Return weight (k,), mean (k, d) and the rows left; NotLearnedError if a row of `part` is not among the whole."""
    if not isinstance(part, ThinScatter):
        raise NotLearnedError("there are more of them than were learned")
    k = len(weight)
    rows = whole.values / whole.root_weight[:, None] + mean[whole.owner]
    sought = part.values / part.root_weight[:, None] + part_mean[part.owner]
    left = whole.root_weight**2
    tolerance = CLOSE * np.abs(rows).max(axis=0, initial=0.0)
    own = np.bincount(part.owner, weights=part.root_weight**2, minlength=k).astype(np.float64)
    total = subtract_weights(weight, own, "weight")
    for row, code, amount in zip(sought, part.owner.tolist(), part.root_weight**2, strict=True):
        _take(left, whole.root_weight**2, _equal_rows(rows, whole.owner, row, code, tolerance), amount, code)
    kept = np.flatnonzero(left)
    owner, root = whole.owner[kept], np.sqrt(left[kept])
    about = (rows - mean[whole.owner])[kept]
    step = np.zeros_like(mean)
    np.add.at(step, owner, left[kept][:, None] * about)
    step /= np.where(total > 0, total, 1.0)[:, None]
    moved = ThinScatter(root[:, None] * (about - step[owner]), owner, root)
    return total, np.where(total[:, None] > 0, mean + step, 0.0), moved


def _equal_rows(rows: Array, owner: Codes, row: Array, code: int, tolerance: Array) -> Codes:
    """Return the numbers of the rows of a class that hold these values."""
    first = slice(0, FIRST_COLUMNS)
    alike = np.flatnonzero((owner == code) & (np.abs(rows[:, first] - row[first]) <= tolerance[first]).all(axis=1))
    return alike[(np.abs(rows[alike] - row) <= tolerance).all(axis=1)]


def _take(left: Array, before: Array, alike: Codes, amount: float, code: int) -> None:
    """Subtract a weight from that of rows that are equal, in place."""
    there = float(left[alike].sum())
    if there < amount * (1.0 - DUST):
        raise NotLearnedError("one of them is not among the rows learned, or not that often", code)
    for i in alike.tolist():
        taken = min(float(left[i]), amount)
        amount -= taken
        left[i] -= taken
        if left[i] <= DUST * before[i]:
            left[i] = 0.0
