"""Knots of piecewise linear densities: linear B-splines of each number, frozen with the columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .._arrays import IN_MEMORY, Array, Codes, np, row_chunks, rows_within
from ..loops.columns import count_splines


@dataclass(frozen=True, slots=True)
class Splines:
    """Knots of each column, ascending."""

    knots: tuple[Array, ...]

    @property
    def starts(self) -> list[int]:
        """Where the counts of each column begin, and the number of all."""
        return [0, *np.cumsum([len(own) for own in self.knots]).tolist()]

    def weights(self, x: Array, j: int) -> tuple[Codes, Array, Array]:
        """Return the left knot's number (n,), the weight of the right knot, and 1 where the cell is observed (n,)."""
        knots = self.knots[j]
        seen = (~np.isnan(x)).astype(np.float64)
        if len(knots) < 2:
            return np.zeros(len(x), dtype=np.int64), np.zeros(len(x)), seen
        inside = np.clip(np.where(seen > 0, x, knots[0]), knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        return left, (inside - knots[left]) / (knots[left + 1] - knots[left]), seen

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (k, B) of the splines over the rows of each class, all columns side by side."""
        total = np.zeros((k, self.starts[-1]))
        bounds = list(pairwise(self.starts))
        for part in row_chunks(len(rows), rows_within(16 * rows.shape[1], IN_MEMORY)):
            heavy = None if weight is None else weight[part]
            for j, (first, end) in enumerate(bounds):
                for side in self._sides(np.asarray(rows[part, j], dtype=np.float64), j, codes[part], k, heavy):
                    total[:, first:end] += side
        return total

    def _sides(self, x: Array, j: int, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (2, k, knots) of the splines of column j whose knot is left, and right, of the cells (n,)."""
        size = len(self.knots[j])
        found = count_splines(x, self.knots[j], codes, weight, k) if size > 1 else None
        if found is not None:
            return found
        left, share, seen = self.weights(x, j)
        heavy, place = seen if weight is None else seen * weight, codes.astype(np.int64) * size + left
        sides = (place, (1.0 - share) * heavy), (place + 1, share * heavy)
        flat = [np.bincount(at, weights=own, minlength=k * size + 1)[: k * size] for at, own in sides]
        return np.asarray(np.stack(flat), dtype=np.float64).reshape(2, k, size)
