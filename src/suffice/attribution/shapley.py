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
    invert_triangular,
    np,
    parallel_each,
    row_chunks,
    rows_within,
    single_blas_thread,
)
from .._foreign import given
from ..densities import Covariance, Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT
from ..densities.gaussian import LOG_2PI
from ..densities.mixture import sum_within
from ..densities.student import log_t_constant, t_decay
from ..kernels.observed import Laws

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
        step = _steps(correlation[None], every[part])[:, 0]
        by_column = np.swapaxes(step, 0, 1)
        matrix += np.swapaxes(by_column, 1, 2) @ by_column
        log_scale -= 2.0 * np.log(np.diagonal(step, axis1=1, axis2=2)).sum(axis=0)
    return Quadratics(matrix / len(every), log_scale / len(every))


def _steps(correlation: Array, orders: Codes) -> Array:
    """Return matrices (orders, g, d, d): row j times z is the standardised residual of j given those before it."""
    lower = np.linalg.cholesky(correlation[:, orders[:, :, None], orders[:, None, :]])
    steps = np.empty((len(orders), *correlation.shape))
    for i, order in enumerate(orders):
        for step, own in zip(steps[i], lower[:, i], strict=True):
            step[order[:, None], order] = invert_triangular(own)
    return steps


def subset_game(value: Callable[[Codes], Array], d: int) -> Array:
    """Return φ (k, n, d) of any v, given as a function from column numbers to v (n, k), by adding up all subsets."""
    every = subsets(d)
    shares = subset_shares(every)
    total: Array | float = 0.0
    for chosen, share in zip(every[1:], shares[1:], strict=True):  # v of no column is 0
        total = total + value(np.flatnonzero(chosen)).T[:, :, None] * share
    return np.asarray(total)


def independent_terms(density: Gaussian, covariance: Diagonal, rows: Array) -> Array:
    """Return the centred log density (k, n, d) of each column of Gaussians without correlations."""
    used = list(density.used)
    means = density.means
    k, d = means.shape
    variance = np.ones((k, d))
    variance[:, used] = covariance.variance
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
    every, deviation = _correlations(covariance)
    with single_blas_thread():
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
    """Densities of k classes by columns in order: m t whose centres and shapes `gaussian` has, normal where ν = ∞.

    Of each, `df` (m,) is ν and `inflation` (m,) the factor of its shape; `owner` and `log_share` (m,) tell of which
    class it is and how much of it.
    """

    gaussian: Gaussian
    k: int
    df: Array
    inflation: Array
    owner: Codes
    log_share: Array

    @classmethod
    def normal(cls, gaussian: Gaussian) -> Chain:
        """Return the chain of one Gaussian a class."""
        m = len(gaussian.means)
        return cls(gaussian, m, np.full(m, np.inf), np.ones(m), np.arange(m), np.zeros(m))

    @classmethod
    def of(cls, density: Any) -> Chain | None:
        """Return the chain of a density, None where it is made of something else."""
        density = given(density)
        if isinstance(density, Mixture):
            each = cls.normal(density.components)
            return replace(each, k=density.k, owner=density.owner, log_share=density.log_weight)
        if isinstance(density, MultivariateT):
            shape = Gaussian(density.location, density.scale, density.used)
            return replace(cls.normal(shape), df=density.df, inflation=density.inflation)
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

    def in_orders(self, rows: Array, orders: Codes, errors: bool) -> tuple[Array, Array | None, int]:
        """Return the sum over orders of what columns add to those before them, less its mean over classes (k, n, d).

        Each order (·, d) is followed by its reverse. Missing cells add 0, and so do columns that are not used. If
        `errors`, the second are the sums of squares of the mean of each pair; the third is the number of orders.
        """
        used = list(self.gaussian.used)
        cells = np.ascontiguousarray(rows[:, used], dtype=np.float64)
        index = np.lexsort(np.packbits(np.isnan(cells), axis=1).T) if len(cells) else np.zeros(0, dtype=np.int64)
        means = self.gaussian.means[:, used]
        (m, d), g = means.shape, self.gaussian.covariance.g
        total = np.zeros((1 + errors, len(cells), self.k, d))
        place = np.full(rows.shape[1], -1)
        place[used] = np.arange(d)
        orders = place[orders][place[orders] >= 0].reshape(len(orders), d)
        for part, factors in _factored(self.gaussian.covariance, orders):
            laws = self._laws(d, np.log(factors.scale, order="C") * 2.0)

            def fill(some: slice, part: Codes = part, factors: _Factors = factors, laws: Laws = laws) -> None:
                own = cells[index[some]]
                missing = np.isnan(own)
                z = np.subtract(own, means[:, None], order="C")
                z /= factors.scale[:, None]
                z[:, missing] = 0.0
                for at in range(0, len(part), 2):
                    white, matrix = z[None], factors.matrix[at : at + 2] if len(factors.matrix) > 1 else factors.matrix
                    if not factors.fixed:
                        white = (z.reshape(g, -1, d) @ np.swapaxes(matrix, 2, 3)).reshape(2, *z.shape)
                    laws.add(white, matrix, factors.fixed, part[at : at + 2], missing, *total[:, some])

            size = rows_within(24 * m * d, least=64)
            parallel_each(fill, row_chunks(len(cells), size), cost=4.0 * len(part) * m * cells.size * d)
        sums = np.zeros((len(total), self.k, *rows.shape))
        sums[:, :, index[:, None], used] = np.swapaxes(total, 1, 2)
        return sums[0], sums[1] if errors else None, len(orders)

    def _laws(self, d: int, log_scale: Array) -> Laws:
        count, starts = np.arange(d + 1), np.searchsorted(self.owner, np.arange(self.k + 1))
        constant = log_t_constant(self.df[:, None], count) - 0.5 * count * (np.log(self.inflation)[:, None] + LOG_2PI)
        df, inflation, share = (np.array(own, np.float64) for own in (self.df, self.inflation, self.log_share))
        return Laws(constant, df, inflation, share, starts, log_scale)  # df may be one number, broadcast

    def subsets(self, rows: Array, chosen: Flags) -> Array:
        """Return log p(the chosen columns | k), (subsets, k, n), of complete rows; `chosen` (·, d) says which."""
        m, d = self.gaussian.means.shape
        width = 32 * d * (m * len(rows) + d * self.gaussian.covariance.g)
        out, laws = np.empty((len(chosen), self.k, len(rows))), self._laws(d, np.zeros((1, d)))
        for part in row_chunks(len(chosen), rows_within(width, IN_MEMORY)):
            own = chosen[part]
            with single_blas_thread():
                squares, log_det = _subset_squares(self.gaussian, rows, own)
            squares /= self.inflation[:, None]
            count = own.sum(axis=1)
            constant = laws.constant[:, count].T - 0.5 * log_det + self.log_share
            decay = t_decay(squares, self.df[:, None], count[:, None, None])
            out[part] = sum_within(constant[:, :, None] - decay, self.owner)
        return out


class _Factors(NamedTuple):
    """What makes of cells, each over its `scale` (g, d), residuals given the columns before: see `Laws.add`."""

    matrix: Array
    scale: Array
    fixed: bool


def _factored(covariance: Covariance, orders: Codes) -> Iterator[tuple[Codes, _Factors]]:
    """Yield pairs of orders with the factors of covariances in these, as many as are held at once."""
    if isinstance(covariance, Full):
        correlation, deviation = _correlations(covariance)
        size = rows_within(16 * correlation.size, IN_MEMORY)
        for part in row_chunks(len(orders), 2 * size):
            with single_blas_thread():
                steps = _steps(correlation, orders[part])
            yield orders[part], _Factors(steps, deviation, False)
    elif isinstance(covariance, LowRank):  # z_j = b_jᵀ f + noise, f ~ N(0, I): so that no d × d matrix is made
        loadings = np.zeros((1, *covariance.scale.shape, max(map(len, covariance.values))))
        for own, basis, values, floor in zip(
            loadings[0], covariance.basis, covariance.values, covariance.floor, strict=True
        ):
            own[:, : len(values)] = -basis * np.sqrt(np.maximum(values / floor - 1.0, 0.0))
        yield orders, _Factors(loadings, covariance.scale * np.sqrt(covariance.floor)[:, None], True)
    else:
        assert isinstance(covariance, Diagonal)
        deviation = np.sqrt(covariance.variance)
        yield orders, _Factors(np.zeros((1, *deviation.shape, 0)), deviation, True)


def _subset_squares(density: Gaussian, rows: Array, chosen: Flags) -> tuple[Array, Array]:
    """Return squared distances (subsets, m, n) in the chosen columns, and their log determinants (subsets, m).

    A column left out counts as one without correlation, at its mean.
    """
    covariance = density.covariance
    assert isinstance(covariance, Full)
    correlation, deviation = _correlations(covariance)
    z = (rows - density.means[:, None]) / deviation[:, None]
    both = chosen[:, :, None] & chosen[:, None]
    lower = np.linalg.cholesky(np.where(both, correlation[:, None], np.eye(len(both[0]))))  # (g, subsets, d, d)
    m, n, d = z.shape
    apart = np.where(chosen[:, None], z.reshape(covariance.g, 1, -1, d), 0.0)  # (g, subsets, rows, d)
    white = np.linalg.solve(lower, np.swapaxes(apart, 2, 3))
    squares = np.einsum("gsdr,gsdr->sgr", white, white).reshape(len(chosen), m, n)
    log_det = 2.0 * (np.log(np.diagonal(lower, axis1=2, axis2=3)).sum(axis=2).T + chosen @ np.log(deviation).T)
    return squares, np.broadcast_to(log_det, (len(chosen), m))


def _correlations(covariance: Covariance) -> tuple[Array, Array]:
    """Return correlations (g, d, d) and standard deviations (g, d)."""
    matrices = covariance.dense()
    deviation = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    return matrices / deviation[:, :, None] / deviation[:, None], deviation
