"""Log densities of the first columns in an order, however many, from one factor of the order; for many orders at once.

Gaussians, Student t, and mixtures of either have them: all that a row says to these is squared distances, and the one
in the first j columns is the sum of the first j squares of the row whitened by the factor of the whole order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

from .._arrays import IN_MEMORY, Array, Codes, NDArray, np, row_chunks, rows_within, single_blas_thread
from .._foreign import given
from ..densities import Full, Gaussian, Mixture, MultivariateT
from ..densities.gaussian import LOG_2PI
from ..densities.mixture import sum_within
from ..densities.student import log_t_constant, t_decay
from .shapley import ordered_terms

Flags = NDArray[np.bool_]


@runtime_checkable
class PartsOfT(Protocol):
    """A density by class made of several Student t: of which class each is, and the log of its share of that."""

    parts: MultivariateT
    owner: Codes
    log_share: Array
    k: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Densities of k classes by columns in order: `gaussian` has the m centres and shapes, t where there is `df` (m,).

    `inflation` (m,) are the factors of t's shapes. Where a class has several, `owner` and `log_share` (m,) tell whose
    each is and how much of it.
    """

    gaussian: Gaussian
    k: int
    df: Array | None = None
    inflation: Array | None = None
    owner: Codes | None = None
    log_share: Array | None = None

    @classmethod
    def of(cls, density: Any) -> Chain | None:
        """Return the chain of a density, None where it is made of something else."""
        density = given(density)
        if isinstance(density, Mixture):
            return cls(density.components, density.k, owner=density.owner, log_share=density.log_weight)
        if isinstance(density, MultivariateT):
            shape = Gaussian(density.location, density.scale, density.used)
            return cls(shape, len(density.location), density.df, density.inflation)
        if isinstance(density, PartsOfT):
            inner = cls.of(density.parts)
            assert inner is not None
            return replace(inner, k=density.k, owner=density.owner, log_share=density.log_share)
        return None

    def marginal(self, places: Sequence[int]) -> Self:
        """Return the chain of some of the used columns."""
        inner, columns = self.gaussian, [self.gaussian.used[j] for j in places]
        whole = len(columns) == len(inner.used)
        covariance = inner.covariance if whole else inner.covariance.marginal(places)
        return replace(self, gaussian=Gaussian(inner.means[:, columns], covariance, tuple(range(len(columns)))))

    def terms(self, rows: Array, orders: Codes) -> Iterator[Array]:
        """Yield log p(x_j | the columns before j), (·, k, n, d), of complete rows, in an even number of orders each."""
        m, d = self.gaussian.means.shape
        width = 8 * d * (8 * m * len(rows) + 3 * d * self.gaussian.covariance.g)
        for part in row_chunks(len(orders), 2 * rows_within(2 * width, IN_MEMORY)):
            yield steps(np.swapaxes(self._prefixes(rows, orders[part]), 2, 3), orders[part])

    def subsets(self, rows: Array, chosen: Flags) -> Array:
        """Return log p(the chosen columns | k), (subsets, k, n), of complete rows; `chosen` (·, d) says which."""
        m, d = self.gaussian.means.shape
        width = 32 * d * (m * len(rows) + d * self.gaussian.covariance.g)
        out = np.empty((len(chosen), self.k, len(rows)))
        for part in row_chunks(len(chosen), rows_within(width, IN_MEMORY)):
            own = chosen[part]
            with single_blas_thread():
                squares, log_det = _subset_squares(self.gaussian, rows, own)
            count = own.sum(axis=1, keepdims=True)
            out[part] = self._log_densities(squares[:, :, None], log_det[..., None], count)[:, :, 0]
        return out

    def _prefixes(self, rows: Array, orders: Codes) -> Array:
        """Return log p(the first 1, 2, … columns | k), (orders, k, d, n)."""
        with single_blas_thread():
            squares, log_det = _ordered_squares(self.gaussian, rows, orders)
        return self._log_densities(squares, log_det, np.arange(1, rows.shape[1] + 1)[None])

    def _log_densities(self, squares: Array, log_det: Array, count: Codes) -> Array:
        """Return log densities (·, k, c, n) from squared distances (·, m, c, n) in `count` columns (·, c).

        `log_det` (·, m, c) are the log determinants of the covariances.
        """
        count = count[:, None]
        if self.df is None or self.inflation is None:
            found = -0.5 * (squares + (log_det + count * LOG_2PI)[..., None])
        else:
            squares /= self.inflation[:, None, None]
            spread = log_det + count * (np.log(self.inflation)[:, None] + LOG_2PI)
            constant = log_t_constant(self.df[:, None], count) - 0.5 * spread
            found = constant[..., None] - t_decay(squares, self.df[:, None, None], count[..., None])
        if self.owner is None or self.log_share is None:
            return found
        found += self.log_share[:, None, None]
        return sum_within(found, self.owner)


def steps(prefixes: Array, orders: Codes) -> Array:
    """Return what each column adds, (·, k, n, d), of log densities of the first columns in each order (·, d)."""
    out = np.empty_like(prefixes)
    for own, added, order in zip(out, np.diff(prefixes, axis=3, prepend=0.0), orders, strict=True):
        own[..., order] = added
    return out


def _ordered_squares(density: Gaussian, rows: Array, orders: Codes) -> tuple[Array, Array]:
    """Return squared distances (orders, m, d, n) in the first columns, and their log determinants (orders, m, d)."""
    covariance = density.covariance
    if not isinstance(covariance, Full):
        return _squares_one_by_one(density, rows, orders)
    correlation, z, deviation = _standardised(density, covariance, rows)
    lower = np.linalg.cholesky(correlation[:, orders[:, :, None], orders[:, None]])  # (g, orders, d, d)
    (m, n, d), g = z.shape, covariance.g
    cells = z.reshape(g, -1, d)
    if cells.shape[1] < d:
        white = np.linalg.solve(lower, np.moveaxis(cells[:, :, orders], 1, 3))
    else:  # the columns of inverses are put where the rows have them
        turn = np.empty(lower.shape)
        np.put_along_axis(turn, np.broadcast_to(orders[:, None], lower.shape), np.linalg.inv(lower), axis=3)
        white = turn.reshape(g, -1, d) @ np.swapaxes(cells, 1, 2)
    squares = np.cumsum(np.square(white, out=white).reshape(g, len(orders), d, -1), axis=2)
    squares = np.moveaxis(squares.reshape(g, len(orders), d, -1, n), (0, 3), (1, 2)).reshape(len(orders), m, d, n)
    log_variance = 2.0 * (np.log(np.diagonal(lower, axis1=2, axis2=3)) + np.log(deviation)[:, orders])
    log_det = np.moveaxis(np.cumsum(log_variance, axis=2), 0, 1)
    return squares, np.broadcast_to(log_det, (len(orders), m, d))


def _subset_squares(density: Gaussian, rows: Array, chosen: Flags) -> tuple[Array, Array]:
    """Return squared distances (subsets, m, n) in the chosen columns, and their log determinants (subsets, m).

    A column left out counts as one without correlation, at its mean.
    """
    covariance = density.covariance
    assert isinstance(covariance, Full)
    correlation, z, deviation = _standardised(density, covariance, rows)
    both = chosen[:, :, None] & chosen[:, None]
    lower = np.linalg.cholesky(np.where(both, correlation[:, None], np.eye(len(both[0]))))  # (g, subsets, d, d)
    m, n, d = z.shape
    apart = np.where(chosen[:, None], z.reshape(covariance.g, 1, -1, d), 0.0)  # (g, subsets, rows, d)
    white = np.linalg.solve(lower, np.swapaxes(apart, 2, 3))
    squares = np.einsum("gsdr,gsdr->sgr", white, white).reshape(len(chosen), m, n)
    log_det = 2.0 * (np.log(np.diagonal(lower, axis1=2, axis2=3)).sum(axis=2).T + chosen @ np.log(deviation).T)
    return squares, np.broadcast_to(log_det, (len(chosen), m))


def _standardised(density: Gaussian, covariance: Full, rows: Array) -> tuple[Array, Array, Array]:
    """Return correlations (g, d, d), rows less each centre in standard deviations (m, n, d), and these (g, d)."""
    matrices = covariance.dense()
    deviation = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    correlation = matrices / deviation[:, :, None] / deviation[:, None]
    return correlation, (rows - density.means[:, None]) / deviation[:, None], deviation


def _squares_one_by_one(density: Gaussian, rows: Array, orders: Codes) -> tuple[Array, Array]:
    """Return the same where columns are independent or a few directions make them up, each order by itself."""
    squares, log_det = np.empty((len(orders), len(density.means), *rows.T.shape)), []
    for own, order in zip(squares, orders, strict=True):
        center = np.einsum("kkd->kd", ordered_terms(density, density.means, order))  # what does not depend on the row
        apart = ordered_terms(density, rows, order) - center[:, None]
        own[...] = np.swapaxes(np.maximum(-2.0 * apart, 0.0)[:, :, order].cumsum(axis=2), 1, 2)
        log_det.append((-2.0 * center - LOG_2PI)[:, order].cumsum(axis=1))
    return squares, np.stack(log_det)
