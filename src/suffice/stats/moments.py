"""Weight and sum of each column by class: the sufficient statistics of counts (Poisson, Bernoulli, multinomial)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import IN_MEMORY, Array, Codes, np, parallel_map, row_chunks, rows_within, sparse
from ..errors import NotLearnedError
from ._checks import amounts, at_most
from ._downdate import SLACK, faded, subtract_weights
from .scatter import gather, spread
from .statistic import Fields, Plain, Statistic

MOST = 2.0**62  # of a mean in a file: what random numbers can be drawn about


@dataclass(frozen=True, slots=True)
class SumStats(Statistic):
    """`weight` (k, d) of the observed cells and their weighted sum `total` (k, d)."""

    weight: Array
    total: Array

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((k, d)), np.zeros((k, d)))

    @classmethod
    def summarize(
        cls, rows: Array | sparse.csr_array, codes: Codes | None = None, k: int = 1, weight: Array | None = None
    ) -> Self:
        """Return the sums of a batch (n, d): dense with NaN where missing, or sparse, which is never made dense.

        `codes` (n,) are class numbers below `k`, `weight` (n,) row weights (None: ones).
        """
        n, d = rows.shape
        codes = np.zeros(n, dtype=np.int64) if codes is None else codes
        if not isinstance(rows, np.ndarray):
            seen = np.bincount(codes, weights=weight, minlength=k).astype(np.float64)
            return cls(np.repeat(seen[:, None], d, axis=1), _sparse_sums(rows, codes, k, weight))

        def add_up(part: slice) -> tuple[Array, Array]:
            block, own = rows[part], codes[part]
            one = _indicator(own, k, None if weight is None else weight[part])
            missing = np.isnan(block)
            if missing.any():
                return one @ (~missing).astype(np.float64), one @ np.where(missing, 0.0, block).astype(np.float64)
            return np.repeat(one.sum(axis=1)[:, None], d, axis=1), one @ block.astype(np.float64, copy=False)

        result = cls.zero(k, d)
        chunks = row_chunks(n, rows_within(16 * d, IN_MEMORY))
        for seen, total in parallel_map(add_up, chunks, cost=4.0 * rows.size):
            result = cls(result.weight + seen, result.total + total)
        return result

    def merge(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total)

    def subtract(self, other: Self) -> Self:
        """Return the sums over the rows left without those of `other`.

        NotLearnedError where less than no weight or sum is left, or a sum of no rows.
        """
        weight = subtract_weights(self.weight, other.weight, "weight")
        total = subtract_weights(self.total, other.total, "sum")
        strange = (weight == 0) & (total > SLACK * self.total)
        if strange.any():
            code = int(np.argwhere(strange)[0][0])
            raise NotLearnedError("they leave a sum without a row", code, np.flatnonzero(strange[code]).tolist())
        return type(self)(weight, np.where(weight > 0, total, 0.0))

    def scale(self, factor: float) -> Self:
        weight = faded(self.weight, factor)
        return type(self)(weight, np.where(weight > 0, self.total * factor, 0.0))

    def regroup(self, index: Codes, k: int) -> Self:
        return type(self)(gather(self.weight, index, k), gather(self.total, index, k))

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(spread(self.weight, index, k), spread(self.total, index, k))

    def column_weight(self) -> Array:
        return self.weight

    def arrays(self) -> tuple[Fields, Plain]:
        return {"weight": self.weight, "total": self.total}, {}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        weight = amounts(fields["weight"], None, None)
        total = amounts(fields["total"], *weight.shape)
        if not at_most(total, weight * MOST):
            raise ValueError("sums of counts")
        return cls(weight, total)


def _sparse_sums(rows: sparse.csr_array, codes: Codes, k: int, weight: Array | None) -> Array:
    """Return the sums (k, d) of the stored cells by class, a few of them at a time."""
    n, d = rows.shape
    total = np.zeros(k * d)
    for part in row_chunks(n, max(1, n // (1 + rows.nnz // max(IN_MEMORY // 16, k * d)))):
        bounds = rows.indptr[part.start : part.stop + 1]
        stored, lengths = slice(bounds[0], bounds[-1]), np.diff(bounds)
        place = np.repeat(codes[part].astype(np.int64) * d, lengths)
        place += rows.indices[stored]
        amounts = rows.data[stored] if weight is None else rows.data[stored] * np.repeat(weight[part], lengths)
        total += np.bincount(place, weights=amounts, minlength=k * d)
    return total.reshape(k, d)


def _indicator(codes: Codes, k: int, weight: Array | None) -> sparse.csr_array:
    """Return the sparse (k, n) matrix whose row c holds the weights of the rows of class c."""
    n = len(codes)
    ones = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return sparse.csc_array((ones, codes, np.arange(n + 1)), shape=(k, n)).tocsr()
