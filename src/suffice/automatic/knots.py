"""Knots of piecewise linear densities: linear B-splines of each number, frozen with the columns."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import IN_MEMORY, Array, Codes, np, row_chunks, rows_within


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
        starts = self.starts
        total = np.zeros((k, starts[-1] + 1))
        flat, width = total.reshape(-1), starts[-1] + 1
        for part in row_chunks(len(rows), rows_within(16 * rows.shape[1], IN_MEMORY)):
            heavy = 1.0 if weight is None else weight[part]
            base = codes[part].astype(np.int64) * width
            for j in range(rows.shape[1]):
                left, share, seen = self.weights(np.asarray(rows[part, j], dtype=np.float64), j)
                place = base + starts[j] + left
                flat += np.bincount(place, weights=(1.0 - share) * seen * heavy, minlength=len(flat))
                flat += np.bincount(place + 1, weights=share * seen * heavy, minlength=len(flat))
        return total[:, :-1]
