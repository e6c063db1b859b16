"""Knots of each numeric column: of normal scores, of linear splines, and bin edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, ndtri, np, row_chunks, rows_within
from ..kernels.columns import count_splines

SCORE_KNOTS = 200
NOTHING = 1e-280  # numbers nearer to 0 are 0 here: slopes between knots closer than such leave the range of floats


@dataclass(frozen=True)
class Splines:
    """Knots of each column, ascending."""

    knots: tuple[Array, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the counts of each column begin, and the number of all."""
        return (0, *np.cumsum([len(own) for own in self.knots]).tolist())

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (k, B) of the splines over the rows of each class, all columns side by side."""
        total = np.zeros((k, self.starts[-1]))
        bounds = list(pairwise(self.starts))
        for part in row_chunks(len(rows), rows_within(16 * rows.shape[1], IN_MEMORY)):
            heavy = None if weight is None else weight[part]
            for j, (first, end) in enumerate(bounds):
                for side in self.sides(np.asarray(rows[part, j], dtype=np.float64), j, codes[part], k, heavy):
                    total[:, first:end] += side
        return total

    def sides(self, x: Array, j: int, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return the sums (2, k, knots) of the splines of column j whose knot is left, and right, of the cells (n,)."""
        if len(self.knots[j]) > 1:
            return count_splines(x, self.knots[j], codes, weight, k)
        seen = ~np.isnan(x)
        held = np.bincount(codes[seen], weights=None if weight is None else weight[seen], minlength=k)
        return np.stack([held, np.zeros(k)])[:, :, None]


class NumberKnots(NamedTuple):
    """What is frozen of one number: knots with their normal scores, and quantiles by intervals and by bins."""

    scores: tuple[Array, Array]
    splines: dict[int, Array]
    cuts: dict[int, Array]

    @classmethod
    def of(cls, x: Array, weight: Array, intervals: Sequence[int], bins: Sequence[int]) -> NumberKnots:
        """Return that of the observed values (n,) of these weights; of none, knots at 0."""
        x = np.where(np.abs(x) < NOTHING, 0.0, x)
        shares = [np.linspace(0, 1, m + 1) for m in intervals] + [np.linspace(0, 1, b + 1)[1:-1] for b in bins]
        ends = np.cumsum([len(own) for own in shares])[:-1]
        found = [np.unique(own) for own in np.split(_quantiles(x, weight, np.concatenate(shares)), ends)]
        splines, cuts = found[: len(intervals)], found[len(intervals) :]
        return cls(
            _normal_scores(x, weight), dict(zip(intervals, splines, strict=True)), dict(zip(bins, cuts, strict=True))
        )


def _normal_scores(x: Array, weight: Array) -> tuple[Array, Array]:
    values, group = np.unique(x, return_inverse=True)
    if not len(values):
        return np.zeros(1), np.zeros(1)
    held = np.bincount(group, weights=weight)
    z = ndtri((np.cumsum(held) - 0.5 * held) / held.sum())
    if len(values) > SCORE_KNOTS:
        kept = np.unique(np.linspace(0, len(values) - 1, SCORE_KNOTS).astype(np.int64))
        values, z = values[kept], z[kept]
    return values, np.asarray(z)


def _quantiles(x: Array, weight: Array, shares: Array) -> Array:
    if not len(x):
        return np.zeros(len(shares))
    return np.asarray(np.quantile(x, shares, weights=weight, method="inverted_cdf"))
