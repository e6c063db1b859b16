"""Counts by class: Poisson, Bernoulli and multinomial columns, of dense rows or of sparse ones, never made dense.

Where an unsmoothed estimate is zero, the log density is −∞, and `limit` gives the order and coefficient of its approach
to zero as the smoothing vanishes, as for `discrete.Categorical`. The fields `limit_*` hold the estimates with each zero
replaced by that coefficient.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._arrays import Array, gammaln, is_sparse, np, parallel_map, row_chunks

CHUNK_CELLS = 1 << 18

Part = tuple[Array, Array]  # order and log coefficient, (rows, k) each


class Linear(NamedTuple):
    """What a log density linear in the counts x adds up: Σ_j per_count[j]·x_j + Σ_j per_cell[j], by class.

    `per_count` is (d, k), `per_cell` (k, d) over the observed cells or None. The `zero_*` pair adds up, likewise,
    how often a row has what a class gives probability zero; None where there is no such thing.
    """

    per_count: Array
    per_cell: Array | None = None
    zero_per_count: Array | None = None
    zero_per_cell: Array | None = None


@dataclass(frozen=True, slots=True)
class CountDensity:
    """What the densities of counts share; a subclass gives `_linear()`."""

    _cache: dict[str, Linear] = field(default_factory=dict, init=False, compare=False, repr=False)

    def log_density(self, rows: Any) -> Array:
        """Return log p(x | k), (n, k) in nats, of sparse rows, or dense ones with missing cells as NaN."""
        order, score = self.limit(rows)
        score[order > 0] = -np.inf
        return score

    def limit(self, rows: Any) -> Part:
        """Return (order, log coefficient) of the density as the smoothing vanishes, (n, k) each."""
        if is_sparse(rows):
            return self._part(rows, None)

        def fill(chunk: slice) -> Part:
            block = rows[chunk]
            missing = np.isnan(block)
            if missing.any():
                return self._part(np.where(missing, 0.0, block), (~missing).astype(np.float64))
            return self._part(block.astype(np.float64, copy=False), None)

        chunks = list(row_chunks(len(rows), max(64, CHUNK_CELLS // max(rows.shape[1], 1)))) or [slice(0)]
        parts = list(parallel_map(fill, chunks, cost=10.0 * rows.size))
        return np.concatenate([order for order, _ in parts]), np.concatenate([score for _, score in parts])

    def _part(self, x: Any, observed: Array | None) -> Part:
        if "linear" not in self._cache:
            self._cache["linear"] = self._linear()
        table = self._cache["linear"]
        score = np.asarray(x @ table.per_count)
        if table.per_cell is not None:
            score += _over_cells(observed, table.per_cell)
        order = np.zeros((1, 1)) if table.zero_per_count is None else np.asarray(x @ table.zero_per_count)
        if table.zero_per_cell is not None:
            order = order + _over_cells(observed, table.zero_per_cell)
        return np.broadcast_to(order, score.shape), score

    @abstractmethod
    def _linear(self) -> Linear:
        """Return the tables of the log density."""


@dataclass(frozen=True, slots=True)
class Multinomial(CountDensity):
    """Shares of a total: `p` (k, d), each row summing to one.

    log p(x | k) = Σ_j x_j log p_kj, without the coefficient log (N! / Π x_j!), which is the same for every class and
    cancels in each posterior. It is the log probability of the words of a text in their order.
    """

    p: Array
    limit_p: Array

    def marginal(self, columns: Sequence[int]) -> Multinomial:
        """Return the density of the counts of some of the columns, given their sum."""
        kept = list(columns)
        total = self.p[:, kept].sum(axis=1, keepdims=True)
        return Multinomial(self.p[:, kept] / total, self.limit_p[:, kept] / total)

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by class."""
        return {"share": self.p[:, j]}

    def log_prior(self, smoothing: float) -> float:
        """Return α Σ log p, the log Dirichlet(α + 1) density of which p is the mode, up to a constant."""
        return smoothing * float(np.log(self.p).sum()) if smoothing > 0 else 0.0

    def _linear(self) -> Linear:
        return Linear(_by_column(np.log(self.limit_p)), zero_per_count=_zeros(self.p))


@dataclass(frozen=True, slots=True)
class Bernoulli(CountDensity):
    """Independent columns of 0 and 1: `p` (k, d) the probability of 1 and `q` (k, d) that of 0.

    log p(x | k) = Σ_j x_j log p_kj + (1 − x_j) log q_kj.
    """

    p: Array
    q: Array
    limit_p: Array
    limit_q: Array

    def marginal(self, columns: Sequence[int]) -> Bernoulli:
        """Return the density of some of the columns."""
        kept = list(columns)
        return Bernoulli(self.p[:, kept], self.q[:, kept], self.limit_p[:, kept], self.limit_q[:, kept])

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by class."""
        return {"probability": self.p[:, j]}

    def log_prior(self, smoothing: float) -> float:
        """Return α Σ (log p + log q), the log Beta(α + 1, α + 1) density of which p is the mode, up to a constant."""
        return smoothing * float(np.log(self.p).sum() + np.log(self.q).sum()) if smoothing > 0 else 0.0

    def _linear(self) -> Linear:
        zeros = np.log(self.limit_q)
        per_count = _by_column(np.log(self.limit_p) - zeros)
        if (self.p > 0).all() and (self.q > 0).all():
            return Linear(per_count, zeros)
        never, always = (self.p == 0).astype(np.float64), (self.q == 0).astype(np.float64)
        return Linear(per_count, zeros, _by_column(never - always), always)


@dataclass(frozen=True, slots=True)
class Poisson(CountDensity):
    """Independent columns of counts with mean `rate` (k, d).

    log p(x | k) = Σ_j x_j log rate_kj − rate_kj − log x_j!. `overall` (d,) is the rate that smoothing draws them to,
    None where nothing was smoothed.
    """

    rate: Array
    limit_rate: Array
    overall: Array | None = None

    def marginal(self, columns: Sequence[int]) -> Poisson:
        """Return the density of some of the columns."""
        kept = list(columns)
        overall = None if self.overall is None else self.overall[kept]
        return Poisson(self.rate[:, kept], self.limit_rate[:, kept], overall)

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by class."""
        return {"rate": self.rate[:, j]}

    def log_prior(self, smoothing: float) -> float:
        """Return α Σ (m log rate − rate), the log Gamma(1 + α m, α) density of which the rate is the mode.

        Up to a constant, and with m = `overall`: α rows of m counts each, as many as smoothing adds.
        """
        if self.overall is None or smoothing == 0:
            return 0.0
        return smoothing * float((self.overall * np.log(self.rate) - self.rate).sum())

    def _linear(self) -> Linear:
        return Linear(_by_column(np.log(self.limit_rate)), -self.rate, _zeros(self.rate))

    def _part(self, x: Any, observed: Array | None) -> Part:
        order, score = CountDensity._part(self, x, observed)
        score -= _log_factorials(x)[:, None]
        return order, score


def _by_column(table: Array) -> Array:
    """Return a table (k, d) as (d, k), each column's numbers side by side."""
    return np.ascontiguousarray(table.T)


def _zeros(p: Array) -> Array | None:
    """Return where a class gives no probability (d, k), or None."""
    zero = p == 0
    return _by_column(zero.astype(np.float64)) if zero.any() else None


def _over_cells(observed: Array | None, table: Array) -> Array:
    """Return the sum of a table (k, d) over the observed columns of each row, (n, k); None: over all, (k,)."""
    return np.asarray(table.sum(axis=1) if observed is None else observed @ table.T)


def _log_factorials(x: Any) -> Array:
    """Return Σ_j log x_j!, (n,)."""
    if not is_sparse(x):
        return np.asarray(gammaln(x + 1.0).sum(axis=1))
    terms = x.data.astype(np.float64)
    terms += 1.0
    gammaln(terms, out=terms)
    sums = np.zeros(x.shape[0])
    filled = np.flatnonzero(np.diff(x.indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(terms, x.indptr[filled])
    return sums
