"""Naive Bayes on numbers by density ratios: each column's density is a mixture of hat functions on quantile knots.

A cell x lies between two knots and counts for both, w_b(x) and 1 − w_b(x) (linear B-splines). With n_kb the counts of
class k, n_k their sum, π_b = (n_b + ½) / (n + B / 2) those of all classes, and t the strength of smoothing,

    F_k(x) = Σ_b w_b(x) log[(n_kb + t π_b) / ((n_k + t) π_b)],

a log density ratio that is 0 where the class is like the others. Missing cells contribute nothing. Leaving a row out
takes w_b(x) from n_kb of its class and from n_b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..._arrays import Array, Codes, np, row_chunks

STRENGTHS = (1.0, 4.0, 16.0)
CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class Hats:
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
        """Return the sums (k, B) of the hat functions over the rows of each class, all columns side by side."""
        starts = self.starts
        total = np.zeros((k, starts[-1] + 1))
        flat, width = total.reshape(-1), starts[-1] + 1
        for part in row_chunks(len(rows), max(CHUNK_CELLS // max(rows.shape[1], 1), 1)):
            heavy = 1.0 if weight is None else weight[part]
            base = codes[part].astype(np.int64) * width
            for j in range(rows.shape[1]):
                left, share, seen = self.weights(np.asarray(rows[part, j], dtype=np.float64), j)
                place = base + starts[j] + left
                flat += np.bincount(place, weights=(1.0 - share) * seen * heavy, minlength=len(flat))
                flat += np.bincount(place + 1, weights=share * seen * heavy, minlength=len(flat))
        return total[:, :-1]


@dataclass(frozen=True, slots=True)
class HatMember:
    """The hats, their counts (k, B) and the strength t."""

    hats: Hats
    counts: Array
    strength: float = 1.0

    def table(self, j: int) -> Array:
        """Return F at the knots of column j, (k, knots)."""
        start, stop = self.hats.starts[j : j + 2]
        own = self.counts[:, start:stop]
        base = (own.sum(axis=0) + 0.5) / (own.sum() + 0.5 * own.shape[1])
        table = np.log((own + self.strength * base) / (own.sum(axis=1, keepdims=True) + self.strength))
        return np.asarray(table - np.log(base))

    def columns(self, rows: Array, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield F (n, k) of each column for new rows, or of those `wanted`."""
        for j in range(rows.shape[1]) if wanted is None else wanted:
            table = self.table(j)
            left, share, seen = self.hats.weights(np.asarray(rows[:, j], dtype=np.float64), j)
            right = np.minimum(left + 1, table.shape[1] - 1)
            yield ((1.0 - share) * seen)[:, None] * table.T[left] + (share * seen)[:, None] * table.T[right]

    def scores(self, rows: Array) -> Array:
        """Return F (n, k) for new rows: log densities by class, relative to that of all classes."""
        return _total(self.columns(rows), len(rows), len(self.counts))

    def left_out(self, rows: Array, codes: Codes, removed: Array, strengths: Sequence[float]) -> Iterator[list[Array]]:
        """Yield, by column, F (n, k) at each strength, made without the weight `removed` (n,) of each row."""
        every, own = np.arange(len(rows)), np.zeros((len(rows), len(self.counts)))
        own[every, codes] = removed
        for j, (start, stop) in enumerate(self._bounds()):
            counts = self.counts[:, start:stop]
            left, share, seen = self.hats.weights(np.asarray(rows[:, j], dtype=np.float64), j)
            right = np.minimum(left + 1, stop - start - 1)
            total, size = counts.sum(axis=0), stop - start
            class_total = counts.sum(axis=1) - own * seen[:, None]
            grand = total.sum() - removed * seen + 0.5 * size
            scores = [np.zeros_like(own) for _ in strengths]
            for knot, part in ((left, (1.0 - share) * seen), (right, share * seen)):
                base = ((np.maximum(total[knot] - removed * part, 0.0) + 0.5) / grand)[:, None]
                level = np.maximum(counts.T[knot] - own * part[:, None], 0.0)
                for score, t in zip(scores, strengths, strict=True):
                    score += part[:, None] * (np.log((level / base + t) / (np.maximum(class_total, 0.0) + t)))
            yield scores

    def _bounds(self) -> list[tuple[int, int]]:
        starts = self.hats.starts
        return list(pairwise(starts))


def _total(parts: Iterator[Array], n: int, k: int) -> Array:
    total = np.zeros((n, k))
    for part in parts:
        total += part
    return total
