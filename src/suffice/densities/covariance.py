"""The structures a covariance can have, each a class that factors once and measures many rows; singular ones repaired.

Every structure carries g covariances: one per class, or one (g = 1) that all classes share. Factors are made on the
correlation scale, so a change of units changes nothing but `log_det`.

The law of some columns given the others is x_m = μ_m + f(x_o − μ_o) + noise, f linear, the noise Gaussian and
independent of x_o (Mardia, Kent & Bibby, Multivariate Analysis, theorem 3.2.4): `mean` is f, `noise` draws the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from .._arrays import Array, invert_triangular, lower_factor, np, parallel_each, row_chunks, rows_within

USABLE = 1e-6  # least eigenvalue of a correlation matrix: rounding then moves a log density by about 1e-10
FLOOR = 1e-9  # least variance within a class, relative to the column's variance within all classes
SMALLEST = 1e-290  # of a variance: FLOOR times it is still a number of full precision
ROUNDING = 64.0 * np.finfo(np.float64).eps  # a standard deviation this small beside the mean is rounding


def smallest_eigenvalue_is_usable(correlation: Array) -> bool:
    """Return whether every eigenvalue is at least USABLE: whether R − USABLE · I has a Cholesky factor."""
    shifted = correlation.copy()
    shifted.flat[:: len(shifted) + 1] -= USABLE
    try:
        lower_factor(shifted, overwrite=True)
    except np.linalg.LinAlgError:
        return False
    return True


def least_amount(correlation: Array) -> float:
    """Return the smallest s for which (1 − s) R + s I has no eigenvalue below USABLE; 0 if R is usable as it is."""
    if smallest_eigenvalue_is_usable(correlation):
        return 0.0
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    return max(0.0, (USABLE - smallest) / (1.0 - smallest))


def rank_and_columns(correlation: Array) -> tuple[int, list[int]]:
    """Return the rank of a correlation matrix and the columns that take part in its null directions."""
    values, vectors = np.linalg.eigh(correlation)
    d = len(values)
    null = values <= d * np.finfo(np.float64).eps * 16 * max(values[-1], 1.0)
    involved = (np.abs(vectors[:, null]) > 1e-6 * np.sqrt(d)).any(axis=1)
    return int((~null).sum()), [int(j) for j in np.flatnonzero(involved)]


def correlations(covariance: Array, variance: Array) -> Array:
    """Return the correlation matrix of a covariance whose diagonal is taken to be `variance`."""
    length = 1.0 / np.sqrt(variance)
    correlation = covariance * length[:, None]
    correlation *= length
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def shrink(covariance: Array, variance: Array, amount: float, out: Array | None = None) -> Array:
    """Return ((1 − s) R + s I) in the columns' own units, where R is that of `correlations`; in `out` if given."""
    shrunk = np.multiply(covariance, 1.0 - amount, out=out)
    np.fill_diagonal(shrunk, variance)
    return shrunk


PANEL = 20  # rows of triangular factors multiplied at once: few leave out most of the zeros, fewer are slower
FAR = 1e6  # squared distance between class means above which distances are not expanded into products


class Conditional(Protocol):
    """What `Gaussian` asks of the law of missing columns given observed ones."""

    def mean(self, centered: Array) -> Array:
        """Return f of observed cells less their means: (n, observed) → (n, missing)."""

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        """Return `n` draws of the noise (n, missing)."""

    def spread_of_each(self) -> Array:
        """Return the standard deviation of the noise of each column (missing,)."""


@dataclass(frozen=True, slots=True)
class Regression:
    """Least squares: `slopes` Σ_oo⁻¹ Σ_om (observed, missing), noise of covariance L Lᵀ, `lower` L."""

    slopes: Array
    lower: Array

    @classmethod
    def of(cls, scatter: Array, divisor: float, observed: Sequence[int], missing: Sequence[int]) -> Self:
        """Return the law under the covariance scatter / divisor (d, d).

        One Cholesky factor of the correlations, observed columns first, holds both: L_mo L_oo⁻¹ are the slopes, and
        L_mm L_mmᵀ is the covariance of the noise, positive definite without any subtraction.
        """
        own, o = np.array([*observed, *missing]), len(observed)
        matrix = scatter[np.ix_(own, own)]
        scale = np.sqrt(np.diagonal(matrix))
        lower = lower_factor(matrix / scale[:, None] / scale, overwrite=True)
        slopes = lower[o:, :o] @ invert_triangular(lower[:o, :o]) if o else np.zeros((len(missing), 0))
        slopes = (slopes * scale[o:, None] / scale[:o]).T
        return cls(slopes, lower[o:, o:] * (scale[o:, None] / np.sqrt(divisor)))

    def mean(self, centered: Array) -> Array:
        return np.asarray(centered @ self.slopes)

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        return np.asarray(rng.standard_normal((n, len(self.lower))) @ self.lower.T)

    def spread_of_each(self) -> Array:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.lower, self.lower)))


@dataclass(frozen=True, slots=True)
class Factors:
    """x = D^½ (F u + √s e), with few factors u and independent u, e ~ N(0, I): only the factors carry over.

    u given x_o is Gaussian with mean A⁻¹ F_oᵀ z_o and covariance s A⁻¹, where A = F_oᵀ F_o + s I (r, r) and
    z_o = D_o^(−½) (x_o − μ_o). `slopes` (observed, r) maps x_o − μ_o to that mean, `spread` (r, r) is a factor of the
    covariance, `loadings` (missing, r) = D_m^½ F_m and `scale` (missing,) = √s D_m^½.
    """

    slopes: Array
    spread: Array
    loadings: Array
    scale: Array

    @classmethod
    def none(cls, observed: int, scale: Array) -> Self:
        """Return the law of columns that so many others tell nothing about, with these standard deviations."""
        return cls(np.zeros((observed, 0)), np.zeros((0, 0)), np.zeros((len(scale), 0)), scale)

    @classmethod
    def of(cls, loadings: Array, sd: Array, floor: float, observed: Sequence[int], missing: Sequence[int]) -> Self:
        """Return the law for F = `loadings` (d, r), D^½ = `sd` (d,) and s = `floor`; never d × d."""
        seen, unseen = list(observed), list(missing)
        own = loadings[seen]
        inverse = invert_triangular(lower_factor(own.T @ own + floor * np.eye(loadings.shape[1])))
        slopes = (own / sd[seen][:, None]) @ (inverse.T @ inverse)
        spread = np.sqrt(floor) * inverse.T
        return cls(slopes, spread, loadings[unseen] * sd[unseen][:, None], np.sqrt(floor) * sd[unseen])

    def mean(self, centered: Array) -> Array:
        return np.asarray((centered @ self.slopes) @ self.loadings.T)

    def noise(self, n: int, rng: np.random.RandomState) -> Array:
        factors = rng.standard_normal((n, len(self.spread))) @ self.spread.T
        return np.asarray(factors @ self.loadings.T + rng.standard_normal((n, len(self.scale))) * self.scale)

    def spread_of_each(self) -> Array:
        by_factors = self.loadings @ self.spread
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", by_factors, by_factors) + self.scale**2))


class Covariance(Protocol):
    """What `Gaussian` asks of a structure."""

    @property
    def g(self) -> int:
        """How many covariances there are: one per class, or one."""

    @property
    def log_det(self) -> Array:
        """Logarithms of the determinants (g,)."""

    def distances(self, rows: Array, means: Array) -> Array:
        """Return squared Mahalanobis distances (n, k) of rows (n, d) from means (k, d)."""

    def marginal(self, columns: Sequence[int]) -> Covariance:
        """Return the covariance of some of the columns."""

    def conditional(self, i: int, observed: Sequence[int], missing: Sequence[int]) -> Conditional:
        """Return the law of some columns given others under the i-th covariance."""

    def dense(self) -> Array:
        """Return the covariances as matrices (g, d, d)."""

    def solve(self, vectors: Array) -> Array:
        """Return Σ⁻¹ v for each row of `vectors` (m, d), of the first covariance."""

    def whiten(self, rows: Array) -> Array:
        """Return rows (n, d) in coordinates where the first covariance is the identity."""


def chunk_rows(d: int, least: int = 64) -> int:
    """Return how many rows are centred, whitened and squared while they are in cache."""
    return rows_within(16 * d, least=least)


def far_apart(whitened_means: Array) -> bool:
    """Return whether means (k, d) are so far from the origin that squares of differences may not be expanded."""
    return bool((whitened_means**2).sum(axis=-1).max(initial=0.0) > FAR)


def rows_at_once(whitener: Array) -> int:
    """Return how many rows are whitened by g triangular factors (d, g, d) while they are in cache."""
    d, g, _ = whitener.shape
    return rows_within(16 * max(_height(d) * g, d), least=256)


def _height(d: int) -> int:
    """Return how many rows of triangular factors are multiplied at once."""
    return PANEL if d > 32 else d


def squared_lengths(whitener: Array, targets: Array, rows: Array, out: Array) -> None:
    """Put in `out` (n, g) squared lengths of rows (n, d) whitened by triangular factors (d, g, d), less targets (d, g).

    Rows are no more than `rows_at_once`.
    """
    d, g, _ = whitener.shape
    height = _height(d)
    z = np.empty((height * g, len(rows)))
    squares, total = np.empty((g, len(rows))), np.zeros((g, len(rows)))
    for top in range(0, d, height):
        stop = min(top + height, d)
        panel = whitener[top:stop].reshape(-1, d)[:, :stop]  # right of it, these rows are zero
        white = np.matmul(panel, rows[:, :stop].T, out=z[: len(panel)])
        white -= targets[top:stop].reshape(-1, 1)
        cube = white.reshape(-1, *squares.shape)
        total += np.einsum("bgn,bgn->gn", cube, cube, out=squares)
    out[...] = total.T


def _shared_distances(rows: Array, means: Array, whiten: Callable[[Array], Array]) -> Array:
    """Return distances under one covariance: whiten the rows once, then |z|² − 2 z·m + |m|²."""
    center = means.mean(axis=0)
    targets = whiten(means - center)
    lengths = np.einsum("kd,kd->k", targets, targets)
    far = far_apart(targets)
    out = np.empty((len(rows), len(means)))

    def fill(part: slice) -> None:
        z = whiten(rows[part] - center)
        if far:
            for c, target in enumerate(targets):
                shifted = z - target
                out[part, c] = np.einsum("nd,nd->n", shifted, shifted)
            return
        block = z @ targets.T
        block *= -2.0
        block += lengths
        block += np.einsum("nd,nd->n", z, z)[:, None]
        np.maximum(block, 0.0, out=out[part])

    d = rows.shape[1]
    parallel_each(fill, row_chunks(len(rows), chunk_rows(d)), cost=2.0 * rows.size * (len(means) + d))
    return out


@dataclass(frozen=True, slots=True)
class Full:
    """Any symmetric positive definite matrix: `scatter` / `divisor`, (g, d, d) and (g,), with log determinants (g,).

    The quotient is taken when asked for: a scatter may be that of the statistics, and need not be held twice.
    `whitener` (d, g, d) holds the lower triangular W = L⁻¹ D^(−½) of each, L Lᵀ being the correlation matrix R and D
    the variances: W (x − μ) has covariance I. Rows come first, so that the same rows of all g of them are one matrix.
    `trace` (g,) are those of R⁻¹: no eigenvalue of R is below 1 / trace.
    """

    scatter: Array
    divisor: Array
    whitener: Array
    log_det: Array
    trace: Array

    @classmethod
    def factor(cls, scatter: Array, divisor: Array | None = None) -> Self:
        """Factor positive definite matrices scatter / divisor (g, d, d); LinAlgError if one is not."""
        g, d, _ = scatter.shape
        divisor = np.ones(g) if divisor is None else divisor
        whitener, log_det, trace = np.empty((d, g, d)), np.zeros(g), np.zeros(g)
        if not d:  # the marginal of columns without a density
            return cls(scatter, divisor, whitener, log_det, trace)

        def work(part: slice) -> None:
            correlation = np.empty((d, d))  # once for many: new memory is slow to touch
            inverse = whitener[:, 0] if g == 1 else np.empty((d, d))
            for i in range(part.start, part.stop):
                length = 1.0 / np.sqrt(np.diagonal(scatter[i]))  # correlations do not depend on the divisor
                np.multiply(scatter[i], length[:, None], out=correlation)
                correlation *= length
                lower = lower_factor(correlation, overwrite=True)
                scale = np.sqrt(np.diagonal(scatter[i]) / divisor[i])
                log_det[i] = 2.0 * (np.log(np.diagonal(lower)).sum() + np.log(scale).sum())
                trace[i] = np.vdot(invert_triangular(lower, out=inverse), inverse)
                np.divide(inverse, scale, out=whitener[:, i])

        parallel_each(work, row_chunks(g, g // 16 + 1), cost=float(g) * d**3)
        return cls(scatter, divisor, whitener, log_det, trace)

    @property
    def g(self) -> int:
        return len(self.scatter)

    @property
    def variance(self) -> Array:
        """The diagonals (g, d)."""
        return np.asarray(np.diagonal(self.scatter, axis1=1, axis2=2) / self.divisor[:, None])

    def matrix(self, i: int) -> Array:
        """Return the i-th covariance (d, d)."""
        return np.asarray(self.scatter[i] / self.divisor[i])

    def distances(self, rows: Array, means: Array) -> Array:
        if self.g == 1:
            return _shared_distances(rows, means, self.whiten)
        n, d = rows.shape
        center = means.mean(axis=0)
        targets = np.einsum("igj,gj->ig", self.whitener, means - center)
        if far_apart(targets.T):
            return self._direct_distances(rows, means)
        out = np.empty((n, self.g))

        def fill(part: slice) -> None:
            squared_lengths(self.whitener, targets, rows[part] - center, out[part])

        parallel_each(fill, row_chunks(n, rows_at_once(self.whitener)), cost=float(rows.size) * d * self.g)
        return out

    def _direct_distances(self, rows: Array, means: Array) -> Array:
        """Like `distances`, rows less each mean, for class means too far apart to be moved to one origin."""
        out = np.empty((len(rows), self.g))

        def fill(part: slice) -> None:
            for c, mean in enumerate(means):
                z = (rows[part] - mean) @ self.whitener[:, c].T
                out[part, c] = np.einsum("nd,nd->n", z, z)

        size = chunk_rows(rows.shape[1], least=256)
        parallel_each(fill, row_chunks(len(rows), size), cost=float(rows.size) * rows.shape[1] * self.g)
        return out

    def marginal(self, columns: Sequence[int]) -> Full:
        return Full.factor(self.scatter[:, columns][:, :, columns], self.divisor)

    def conditional(self, i: int, observed: Sequence[int], missing: Sequence[int]) -> Conditional:
        return Regression.of(self.scatter[i], float(self.divisor[i]), observed, missing)

    def dense(self) -> Array:
        return np.asarray(self.scatter / self.divisor[:, None, None])

    def solve(self, vectors: Array) -> Array:
        return np.asarray(self.whiten(vectors) @ self.whitener[:, 0])

    def whiten(self, rows: Array) -> Array:
        out = np.empty(rows.shape)
        d = rows.shape[1]
        height = max(d // 8, 32)
        for top in range(0, d, height):
            stop = min(top + height, d)
            np.matmul(rows[:, :stop], self.whitener[top:stop, 0, :stop].T, out=out[:, top:stop])
        return out


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Independent columns: `variance` (g, d)."""

    variance: Array

    @property
    def g(self) -> int:
        return len(self.variance)

    @property
    def log_det(self) -> Array:
        return np.asarray(np.log(self.variance).sum(axis=1))

    def distances(self, rows: Array, means: Array) -> Array:
        return _shared_distances(rows, means, self.whiten) if self.g == 1 else self._expanded(rows, means, holes=False)

    def observed_distances(self, rows: Array, means: Array) -> Array:
        """Return squared distances (n, k) over the cells that rows have; missing ones (NaN) add nothing."""
        return self._expanded(rows, means, holes=True)

    def _expanded(self, rows: Array, means: Array, *, holes: bool) -> Array:
        n, d = rows.shape
        center = means.mean(axis=0)
        shifted, precision = means - center, 1.0 / self.variance
        if far_apart(shifted * np.sqrt(precision)):
            return self._direct_distances(rows, means, 0.0 if holes else np.nan)
        linear, by_cell = -2.0 * (precision * shifted).T, (precision * shifted**2).T
        constant = np.einsum("kd,kd,kd->k", *np.broadcast_arrays(precision, shifted, shifted))
        out = np.empty((n, len(means)))

        def fill(part: slice) -> None:
            block = rows[part] - center
            missing = np.isnan(block) if holes else None
            if missing is not None:
                block[missing] = 0.0
            total = block @ linear
            block *= block
            total += block @ precision.T
            total += constant if missing is None else ~missing @ by_cell
            np.maximum(total, 0.0, out=out[part])

        parallel_each(fill, row_chunks(n, chunk_rows(d)), cost=(6.0 if holes else 4.0) * rows.size * len(means))
        return out

    def _direct_distances(self, rows: Array, means: Array, missing: float) -> Array:
        """Like `distances`, without expanding the square, for class means very far apart in some column."""
        scale = np.broadcast_to(1.0 / np.sqrt(self.variance), means.shape)
        out = np.empty((len(rows), len(means)))

        def fill(part: slice) -> None:
            block = rows[part]
            for c, mean in enumerate(means):
                z = (block - mean) * scale[c]
                z[np.isnan(z)] = missing
                out[part, c] = np.einsum("nd,nd->n", z, z)

        parallel_each(fill, row_chunks(len(rows), chunk_rows(rows.shape[1])), cost=4.0 * rows.size * len(means))
        return out

    def marginal(self, columns: Sequence[int]) -> Self:
        return type(self)(self.variance[:, columns])

    def conditional(self, i: int, observed: Sequence[int], missing: Sequence[int]) -> Conditional:
        return Factors.none(len(observed), np.sqrt(self.variance[i, list(missing)]))

    def dense(self) -> Array:
        return np.stack([np.diag(row) for row in self.variance])

    def solve(self, vectors: Array) -> Array:
        return np.asarray(vectors / self.variance[0])

    def whiten(self, rows: Array) -> Array:
        return np.asarray(rows / np.sqrt(self.variance[0]))


@dataclass(frozen=True, slots=True)
class Spherical(Diagonal):
    """One variance for all columns: `variance` (g, d) has equal ones in each row."""

    @classmethod
    def of(cls, variance: Array, d: int) -> Self:
        """Return the covariances of d columns with these variances (g,)."""
        return cls(np.repeat(variance[:, None], d, axis=1))

    def distances(self, rows: Array, means: Array) -> Array:
        if not self.variance.size:
            return np.zeros((len(rows), len(means)))
        each = self.variance[:, 0]
        least = each.min()  # distances are compared in standard deviations of the smallest sphere
        unit = _shared_distances(rows, means, lambda centered: centered / np.sqrt(least))
        return np.asarray(unit * (least / each))
