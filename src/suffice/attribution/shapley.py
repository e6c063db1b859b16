"""Shapley values of log densities: what each column adds, averaged over the orders in which columns can be looked at.

With v(S) = log p(x_S), the marginal density of the columns S, column j adds

    φ_j = Σ_{S ∌ j} |S|! (d − |S| − 1)! / d! · (v(S ∪ j) − v(S)),

the mean over all orders of log p(x_j | the columns before j): the chain rule, so that Σ_j φ_j = log p(x) for the mean
as for every single order. Shapley (1953); Štrumbelj & Kononenko (2014), doi:10.1007/s10115-013-0679-x.

For a Gaussian v is quadratic in the row, and so is φ_j: the sum over subsets is over matrices, made once for all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, NDArray, gammaln, np, row_chunks, rows_within, single_blas_thread

EXACT = 12  # columns up to which all subsets of a Gaussian are added up: 4,096 matrices
EXACT_GAME = 8  # the same where every subset is one evaluation of all rows
ORDERS = 512  # orders sampled where each costs a factor, and all rows together one quadratic form


class Quadratics(NamedTuple):
    """φ_j of standardised cells z under correlations R: −½ (zᵀ matrix[j] z + log_scale[j]), less log √(2π) sd_j."""

    matrix: Array  # (d, d, d); they add up to R⁻¹
    log_scale: Array  # (d,); they add up to log |R|


def subsets(d: int) -> NDArray[np.bool_]:
    """Return all subsets of d columns as a truth table (2^d, d)."""
    return ((np.arange(1 << d)[:, None] >> np.arange(d)) & 1).astype(bool)


def subset_shares(chosen: NDArray[np.bool_]) -> Array:
    """Return how v(S) counts in φ_j, (2^d, d): (s − 1)! (d − s)! / d! where j is in S, else −s! (d − s − 1)! / d!."""
    d = chosen.shape[1]
    s = chosen.sum(axis=1, keepdims=True).astype(np.float64)
    within = gammaln(np.maximum(s, 1.0)) + gammaln(d - s + 1.0)
    outside = gammaln(s + 1.0) + gammaln(np.maximum(d - s, 1.0))
    total = gammaln(d + 1.0)
    return np.asarray(np.where(chosen, np.exp(within - total), -np.exp(outside - total)))


def sample_orders(d: int, count: int) -> Codes:
    """Return `count` orders of d columns, each followed by its reverse (count + count % 2, d); always the same ones."""
    rng = np.random.default_rng(d)
    forward = rng.permuted(np.tile(np.arange(d), ((count + 1) // 2, 1)), axis=1)
    return np.stack([forward, forward[:, ::-1]], axis=1).reshape(-1, d)


def quadratics(correlation: Array, orders: int = ORDERS) -> Quadratics:
    """Return the quadratic forms of all columns (d, d) of one Gaussian: exact up to `EXACT` columns, else sampled."""
    with single_blas_thread():
        return _exact(correlation) if len(correlation) <= EXACT else _sampled(correlation, orders)


def _exact(correlation: Array) -> Quadratics:
    d = len(correlation)
    every, eye = subsets(d), np.eye(d)
    shares = subset_shares(every)
    matrix, log_scale = np.zeros((d, d * d)), np.zeros(d)
    for part in row_chunks(len(every), rows_within(16 * d * d, IN_MEMORY)):
        both = every[part, :, None] & every[part, None, :]
        lower = np.linalg.cholesky(np.where(both, correlation, eye))
        inverse = np.linalg.inv(lower)
        precision = np.where(both, np.swapaxes(inverse, 1, 2) @ inverse, 0.0)
        matrix += shares[part].T @ precision.reshape(-1, d * d)
        log_scale += shares[part].T @ (2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1))
    return Quadratics(matrix.reshape(d, d, d), log_scale)


def _sampled(correlation: Array, orders: int) -> Quadratics:
    d = len(correlation)
    every = sample_orders(d, orders)
    matrix, log_scale = np.zeros((d, d, d)), np.zeros(d)
    for part in row_chunks(len(every), rows_within(16 * d * d, IN_MEMORY)):
        order = every[part]
        lower = np.linalg.cholesky(correlation[order[:, :, None], order[:, None, :]])
        step = np.empty(lower.shape)  # step[p, j] z is the standardised residual of column j given those before it
        step[np.arange(len(order))[:, None, None], order[:, :, None], order[:, None, :]] = np.linalg.inv(lower)
        by_column = np.swapaxes(step, 0, 1)
        matrix += np.swapaxes(by_column, 1, 2) @ by_column
        np.add.at(log_scale, order, 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)))
    return Quadratics(matrix / len(every), log_scale / len(every))


def subset_game(value: Callable[[Codes], Array], d: int) -> Array:
    """Return φ (k, n, d) of any v, given as a function from column numbers to v (n, k), by adding up all subsets."""
    every = subsets(d)
    shares = subset_shares(every)
    total: Array | float = 0.0
    for chosen, share in zip(every[1:], shares[1:], strict=True):  # v of no column is 0
        total = total + value(np.flatnonzero(chosen)).T[:, :, None] * share
    return np.asarray(total)


class OrderMean:
    """The mean over orders of what columns add (k, n, d), centred over classes, and its standard error if asked.

    Orders come in pairs, each the reverse of the other, whose errors tend to cancel: the error is that of pair means.
    """

    def __init__(self, shape: tuple[int, int, int], errors: bool) -> None:
        self.total, self.pair = np.zeros(shape), np.zeros(shape)
        self.squares = np.zeros(shape) if errors else None
        self.count = 0

    def add(self, terms: Array) -> None:
        """Count the terms (k, n, d) of one order."""
        self.pair += terms - terms.mean(axis=0)
        self.count += 1
        if self.count % 2 == 0:
            self.total += self.pair
            if self.squares is not None:
                self.squares += (0.5 * self.pair) ** 2
            self.pair[...] = 0.0

    def result(self) -> tuple[Array, Array | None]:
        """Return the mean and its variance."""
        mean, pairs = self.total / self.count, self.count // 2
        if self.squares is None:
            return mean, None
        spread = np.maximum(self.squares / pairs - mean**2, 0.0)
        return mean, spread / max(pairs - 1, 1)
