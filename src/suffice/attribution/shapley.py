"""Shapley values of log densities: what each column adds to those before it, averaged over orders of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    Flags,
    gammaln,
    np,
    parallel_each,
    row_chunks,
    rows_within,
    single_blas_thread,
)
from .._foreign import given
from ..densities import Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT, Spherical
from ..densities.gaussian import LOG_2PI
from ..densities.mixture import sum_within
from ..densities.student import log_t_constant, t_decay

EXACT = 12  # columns up to which all subsets of a Gaussian are added up: 4,096 matrices
EXACT_GAME = 8  # the same where every subset is one evaluation of all rows
ORDERS = 512  # orders sampled where each costs a factor, and all rows together one quadratic form


class Quadratics(NamedTuple):
    """φ_j of standardised cells z under correlations R: −½ (zᵀ matrix[j] z + log_scale[j]), less log √(2π) sd_j."""

    matrix: Array  # (d, d, d); they add up to R⁻¹
    log_scale: Array  # (d,); they add up to log |R|


def subsets(d: int) -> Flags:
    """Return all subsets of d columns as a truth table (2^d, d)."""
    return ((np.arange(1 << d)[:, None] >> np.arange(d)) & 1).astype(bool)


def subset_shares(chosen: Flags) -> Array:
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


def _exact_forms(correlation: Array) -> Quadratics:
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


def _sampled_forms(correlation: Array, orders: int) -> Quadratics:
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


def independent_terms(density: Gaussian, covariance: Diagonal | Spherical, rows: Array) -> Array:
    """Return the centred log density (k, n, d) of each column of Gaussians without correlations."""
    used = list(density.used)
    means = density.means
    k, d = means.shape
    variance = np.ones((k, d))
    variance[:, used] = covariance.diagonal().variance
    constant = -0.5 * np.log(variance)
    factor = np.zeros((k, d))
    factor[:, used] = -0.5 / variance[:, used]
    constant -= constant.mean(axis=0)
    out = np.empty((k, len(rows), d))

    def fill(part: slice) -> None:
        block = rows[part].astype(np.float64, copy=False)
        mean = np.zeros(block.shape)
        for c in range(k):
            own = out[c, part]
            np.subtract(block, means[c], out=own)
            own *= own
            own *= factor[c]
            mean += own
        mean /= k
        for c in range(k):
            own = out[c, part]
            own -= mean
            own += constant[c]
        missing = np.isnan(mean)
        if missing.any():
            out[:, part][:, missing] = 0.0

    parallel_each(fill, row_chunks(len(rows), rows_within(32 * d, least=64)), cost=10.0 * out.size)
    return out


def quadratic_terms(density: Gaussian, rows: Array, orders: int) -> Array:
    """Return the centred contributions (k, n, d) of complete rows as quadratic forms, exact or of so many orders."""
    covariance, means = density.covariance, density.means
    matrices = covariance.dense()
    deviation = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    with single_blas_thread():
        every = [m / np.outer(s, s) for m, s in zip(matrices, deviation, strict=True)]
        forms = [_exact_forms(own) if len(own) <= EXACT else _sampled_forms(own, orders) for own in every]
    if covariance.g == 1:
        return _linear_terms(rows, means, deviation[0], forms[0].matrix)
    out = np.empty((len(means), *rows.shape))
    d = rows.shape[1]
    tables = [_by_pair(form.matrix) for form in forms]

    def fill(part: slice) -> None:
        pairs = np.empty((d * (d + 1) // 2, part.stop - part.start))
        for c, form in enumerate(forms):
            z = np.ascontiguousarray(((rows[part] - means[c]) / deviation[c]).T)
            start = 0
            for a in range(d):
                np.multiply(z[a], z[a:], out=pairs[start : start + d - a])
                start += d - a
            own = (tables[c] @ pairs).T
            own += form.log_scale + 2.0 * np.log(deviation[c])
            np.multiply(own, -0.5, out=out[c, part])
        out[:, part] -= out[:, part].mean(axis=0)

    size = rows_within(16 * d * d, least=64)
    parallel_each(fill, row_chunks(len(rows), size), cost=2.0 * out.size * d * d)
    return out


def _by_pair(matrix: Array) -> Array:
    """Return quadratic forms Q_j (d, d, d) as coefficients (d, pairs) of z_a z_b for a ≤ b, by a and then b."""
    doubled = 2.0 * matrix
    np.einsum("jaa->ja", doubled)[...] *= 0.5
    a, b = np.triu_indices(matrix.shape[1])
    return np.ascontiguousarray(doubled[:, a, b])


def _linear_terms(rows: Array, means: Array, deviation: Array, matrix: Array) -> Array:
    """Return the contributions under one covariance, where what is quadratic in the row is the same for all classes."""
    center = means.mean(axis=0)
    shift = (means - center) / deviation
    slope = np.einsum("jab,kb->kaj", matrix, shift)  # zᵀ Q_j m_k, Q_j symmetric
    height = -0.5 * np.einsum("kaj,ka->kj", slope, shift)
    slope -= slope.mean(axis=0)
    height -= height.mean(axis=0)
    slope /= deviation[:, None]
    out = np.empty((len(means), *rows.shape))

    def fill(part: slice) -> None:
        block = rows[part] - center
        for c in range(len(means)):
            np.matmul(block, slope[c], out=out[c, part])
            out[c, part] += height[c]

    size = rows_within(32 * rows.shape[1], least=64)
    parallel_each(fill, row_chunks(len(rows), size), cost=2.0 * out.size * rows.shape[1])
    return out


def ordered_terms(density: Gaussian, rows: Array, order: Codes) -> Array:
    """Return log p(x_j | the columns before j in this order), (k, n, d), of Gaussians over complete rows."""
    covariance, means = density.covariance, density.means
    out = np.empty((len(means), *rows.shape))
    if isinstance(covariance, Diagonal | Spherical):
        variance = covariance.diagonal().variance
        out[...] = (rows - means[:, None]) ** 2 / variance[:, None] + np.log(variance)[:, None]
    elif isinstance(covariance, LowRank):
        for c in range(len(means)):
            i = min(c, covariance.g - 1)
            out[c] = _thin_terms(covariance, i, rows - means[c], order)
    else:
        in_order = covariance.marginal(order.tolist())
        assert isinstance(in_order, Full)
        sorted_factors = in_order.whitener  # W of the columns in this order
        for c in range(len(means)):
            whiten = sorted_factors[:, min(c, covariance.g - 1)]
            z = (rows[:, order] - means[c, order]) @ whiten.T
            out[c][:, order] = z * z - 2.0 * np.log(np.diagonal(whiten))
    out += LOG_2PI
    out *= -0.5
    return out


def _thin_terms(covariance: LowRank, i: int, rows: Array, order: Codes) -> Array:
    """Return (x_j − E)² / V + log V (n, d), E and V given the columns before j, for a few directions and a floor.

    The directions are latent numbers f ~ N(0, I), z_j = b_jᵀ f + noise: each column seen updates the mean and
    covariance of f, so that no d × d matrix is made.
    """
    floor, scale = covariance.floor[i], covariance.scale[i]
    loading = covariance.basis[i] * np.sqrt(np.maximum(covariance.values[i] - floor, 0.0))
    z = rows / scale
    mean, spread = np.zeros((len(rows), loading.shape[1])), np.eye(loading.shape[1])
    out = np.empty(rows.shape)
    for j in order:
        gain = spread @ loading[j]
        variance = float(loading[j] @ gain + floor)
        residual = z[:, j] - mean @ loading[j]
        out[:, j] = residual**2 / variance + np.log(variance)
        mean += np.outer(residual, gain / variance)
        spread -= np.outer(gain, gain / variance)
    out += 2.0 * np.log(scale)
    return out


# ── Log densities of the first columns in an order, however many, from one factor of the order ────────────────────────
#
# Gaussians, Student t, and mixtures of either have them: all that a row says to these is squared distances, and the one
# in the first j columns is the sum of the first j squares of the row whitened by the factor of the whole order.


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
            with single_blas_thread():
                squares, log_det = _ordered_squares(self.gaussian, rows, orders[part])
            prefixes = self._log_densities(squares, log_det, np.arange(1, d + 1)[None])
            yield added_in_orders(np.swapaxes(prefixes, 2, 3), orders[part])

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


def added_in_orders(prefixes: Array, orders: Codes) -> Array:
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
