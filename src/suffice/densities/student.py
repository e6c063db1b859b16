"""Student t: a Gaussian whose covariance is uncertain, for a block or by column; and Laplace columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    Flags,
    gammaln,
    np,
    parallel_each,
    pattern_groups,
    places_of,
    row_chunks,
    rows_within,
)
from .counts import fill_missing
from .covariance import Covariance, Full
from .density import FAR, Density, Outcomes, Within, bells_within, number_outcomes
from .gaussian import LOG_2PI, Gaussian, integrate_missing, observed_distances

STIRLING = 20.0  # from here on the series for log Γ below is exact to rounding


@dataclass(frozen=True, slots=True)
class MultivariateT(Density):
    """t_ν(x; m_k, c_k Σ_k) with `location` m (k, d), `df` ν (k,) and shape c_k Σ_k over the `used` columns.

    `scale` holds Σ, one per class or one for all, and `inflation` (k,) the factors c_k, such as 1 + 1 / n_k of a
    prediction from n_k rows. ν = ∞ is the Gaussian N(x; m_k, c_k Σ_k). Columns not in `used` never varied; they have
    no density and contribute nothing.

    Examples
    --------
    >>> from suffice.densities import MultivariateT, Spherical
    >>> from suffice._arrays import np
    >>> cauchy = MultivariateT(np.zeros((1, 1)), Spherical.of(np.ones(1), 1), (0,), np.ones(1), np.ones(1))
    >>> float(np.exp(-cauchy.log_density(np.zeros((1, 1))))[0, 0].round(12))  # π
    3.14159265359
    """

    location: Array
    scale: Covariance
    used: tuple[int, ...]
    df: Array
    inflation: Array

    def log_density(self, rows: Array) -> Array:
        """Return log t_ν(x; m_k, c_k Σ_k), (n, k) in nats, of rows (n, d) with missing cells (NaN) integrated out.

        log t = log Γ((ν + d) / 2) − log Γ(ν / 2) − (d / 2) log(ν π) − ½ log|c Σ| − ((ν + d) / 2) log(1 + q / ν), with
        q = (x − m)ᵀ (c Σ)⁻¹ (x − m). A marginal of a t is a t with the same ν, so with cells missing it is the same
        formula with the rows and columns that are observed. Source: Kotz & Nadarajah, Multivariate t Distributions
        and Their Applications (2004), equation 1.1 and section 1.6.
        """

        def score(cells: Array, columns: Sequence[int] | None) -> Array:
            if columns is None:
                return self._scores(self.scale, cells, list(self.used))
            return self._scores(self.scale.marginal(columns), cells, [self.used[c] for c in columns])

        return integrate_missing(rows, self.used, score, self._together if isinstance(self.scale, Full) else None)

    def _together(self, cells: Array, alike: Flags) -> Array:
        """Return log densities (n, k) of the used columns of rows with missing cells, for where patterns are many."""
        assert isinstance(self.scale, Full)
        squares, log_det = observed_distances(self.scale, cells, alike, self.location[:, self.used])
        squares /= self.inflation
        d, every = (~np.isnan(cells)).sum(axis=1)[:, None], np.arange(cells.shape[1] + 1)[:, None]
        constant = log_t_constant(self.df, every)[d[:, 0]] - 0.5 * (log_det + d * (np.log(self.inflation) + LOG_2PI))
        return np.asarray(constant - t_decay(squares, self.df, d))

    def _scores(self, scale: Covariance, rows: Array, columns: Sequence[int]) -> Array:
        d = len(columns)
        if not rows.size:
            return np.zeros((len(rows), len(self.location)))
        scores = scale.distances(rows, self.location[:, columns])
        scores /= self.inflation
        constant = log_t_constant(self.df, d) - 0.5 * (scale.log_det + d * (np.log(self.inflation) + LOG_2PI))

        def fill(part: slice) -> None:
            scores[part] = constant - t_decay(scores[part], self.df, d)

        size = rows_within(32 * len(self.location), least=64)
        parallel_each(fill, row_chunks(len(rows), size), cost=20.0 * scores.size)
        return scores

    def marginal(self, columns: Sequence[int]) -> MultivariateT:
        """Return the density of some of the columns: a t with the same degrees of freedom."""
        place = places_of(columns, self.used)
        inner, used = place[place >= 0].tolist(), tuple(np.flatnonzero(place >= 0).tolist())
        return MultivariateT(self.location[:, list(columns)], self.scale.marginal(inner), used, self.df, self.inflation)

    def center(self) -> Array:
        """Return the locations (k, d)."""
        return self.location

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by itself by class; one that never varies has a location only."""
        own = {"location": self.location[:, j]}
        if j not in self.used:
            return own
        variance = self.scale.marginal([self.used.index(j)]).dense()[:, 0, 0] * self.inflation
        return {**own, "scale": np.sqrt(variance), "df": self.df}

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its centre given the observed cells, as a Gaussian's.

        That is the conditional mean, where there is one: ν plus the number of observed cells above 1.
        """
        return Gaussian(self.location, self.scale, self.used).condition(rows, posterior)

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return rows (n, d) with each missing cell (NaN) drawn given the observed ones, in the row's class (n,).

        Given x_o of o cells, x_m is a t with ν + o degrees of freedom about the Gaussian's conditional mean, with the
        shape c Σ_m|o (ν + q_o) / (ν + o). Source: Ding (2016), doi:10.1080/00031305.2016.1164756.
        """

        def spread(cells: Array, columns: Sequence[int], own: Codes) -> Array:
            factor = self._conditional_scale(cells, columns)[np.arange(len(own)), own]
            return factor * t_spread(self.df[own] + len(columns), rng)

        return Gaussian(self.location, self.scale, self.used).sample(rows, codes, rng, spread)

    def _conditional_scale(self, cells: Array, columns: Sequence[int]) -> Array:
        """Return √(c (ν + q_o) / (ν + o)) (n, k), of rows with cells (n, o) in some of the used columns."""
        factor = np.ones((len(cells), len(self.df)))
        finite = np.isfinite(self.df)
        if len(columns):
            places = [self.used[c] for c in columns]
            squares = self.scale.marginal(columns).distances(cells, self.location[:, places]) / self.inflation
            factor[:, finite] = (self.df[finite] + squares[:, finite]) / (self.df[finite] + len(columns))
        return np.asarray(np.sqrt(factor * self.inflation))

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: a Student t in every class, see `sample`."""
        for part in row_chunks(len(rows), rows_within(32 * rows.shape[1] * len(self.df), IN_MEMORY)):
            cells = rows[part]
            center, scale, df = self._laws(cells)
            for j in self.used:
                own_rows = np.flatnonzero(np.isnan(cells[:, j]))

                def kernel(squares: Array, some: slice, df: Array = df[own_rows]) -> Array:
                    return -t_decay(squares, df[some][:, None], 1)  # log (1 + q / ν)^(−(ν + 1) / 2)

                if len(own_rows):
                    yield from number_outcomes(
                        own_rows + part.start, j, center[own_rows, j], scale[own_rows, j], FAR, kernel
                    )

    def _laws(self, cells: Array) -> tuple[Array, Array, Array]:
        """Return centre and scale of each missing cell given the others (n, d, k), and degrees of freedom (n, k)."""
        used = list(self.used)
        center, scale = Gaussian(self.location, self.scale, self.used).regressions(cells)
        present = ~np.isnan(cells[:, used])
        for observed, index in pattern_groups(present):
            own = [used[c] for c in observed]
            scale[index] *= self._conditional_scale(cells[np.ix_(index, own)], observed.tolist())[:, None]
        return center, scale, self.df + present.sum(axis=1)[:, None]

    def within(self, rows: Array, low: Array, high: Array) -> Within | None:
        """Return what is known of numbers within ranges: a truncated t of one column."""
        center, scale, df = self._laws(rows)
        return bells_within(rows, low, high, center, scale, df[:, None], independent=False)


def t_spread(df: Array, rng: np.random.RandomState) -> Array:
    """Return √(ν / χ²_ν) (n,): what a standard normal draw is multiplied by to be one of a t; 1 where ν = ∞."""
    finite = np.isfinite(df)
    out = np.ones(len(df))
    out[finite] = np.sqrt(df[finite] / rng.chisquare(df[finite]))
    return out


def log_t_constant(df: Array, d: int | Codes) -> Array:
    """Return log Γ((ν + d) / 2) − log Γ(ν / 2) − (d / 2) log(ν / 2), which goes to 0 as ν → ∞.

    The first two terms grow with ν and would cancel; for large ν their difference is taken term by term in Stirling's
    series (Abramowitz & Stegun 6.1.40).
    """
    z, h = 0.5 * np.asarray(df, dtype=np.float64), 0.5 * d
    large = np.where(np.isfinite(z), np.maximum(z, STIRLING), 1.0)
    series = (large + h - 0.5) * np.log1p(h / large) - h + _stirling(large + h) - _stirling(large)
    small = np.minimum(z, STIRLING)
    direct = gammaln(small + h) - gammaln(small) - h * np.log(small)
    return np.where(z < STIRLING, direct, np.where(np.isfinite(z), series, 0.0))


def _stirling(z: Array) -> Array:
    """Return log Γ(z) − ((z − ½) log z − z + ½ log 2π) for large z."""
    inverse = 1.0 / z
    square = inverse * inverse
    return np.asarray(
        inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    )


def t_decay(squares: Array, df: Array, d: int | Codes) -> Array:
    """Return ((ν + d) / 2) log(1 + q / ν) for squared distances q, or q / 2 where ν = ∞."""
    endless = np.isinf(df)
    if endless.all():
        return 0.5 * squares
    finite = np.where(endless, 1.0, df)
    decay = 0.5 * (finite + d) * np.log1p(squares / finite)
    return np.where(endless, 0.5 * squares, decay) if endless.any() else np.asarray(decay)


@dataclass(frozen=True, slots=True)
class LocationScale(Density):
    """Independent columns, density f((x − location) / scale) / scale: `location` and `scale` are (k, d).

    Columns not in `used` never varied; they have no density and contribute nothing.
    """

    location: Array
    scale: Array
    used: tuple[int, ...]

    def log_density(self, rows: Array) -> Array:
        """Return Σ_j log p(x_j | k) over the observed cells, (n, k) in nats; missing cells are NaN."""
        used = list(self.used)
        location, scale = self.location[:, used], self.scale[:, used]
        constant = self._log_constant()[:, used] - np.log(scale)
        out = np.zeros((len(rows), len(location)))

        def fill(part: slice) -> None:
            block = rows[part][:, used].astype(np.float64)
            missing = np.isnan(block)
            holes = bool(missing.any())
            for c in range(len(location)):
                z = np.abs(block - location[c])
                with np.errstate(over="ignore"):  # beside a scale below 1e-300; infinitely far is impossible
                    z /= scale[c]
                terms = self._log_kernel(z, c, used)
                if holes:
                    terms += constant[c]
                    terms[missing] = 0.0
                    out[part, c] = terms.sum(axis=1)
                else:
                    out[part, c] = terms.sum(axis=1) + constant[c].sum()

        size = rows_within(32 * len(used), least=64)
        parallel_each(fill, row_chunks(len(rows), size), cost=20.0 * out.size)
        return out

    def terms(self, rows: Array) -> Array:
        """Return log p(x_j | k) of every column by itself, (k, n, d) in nats; 0 where the cell is missing."""
        used = list(self.used)
        constant = self._log_constant()[:, used] - np.log(self.scale[:, used])
        out = np.zeros((len(self.location), *rows.shape))
        block = rows[:, used].astype(np.float64)
        for c in range(len(out)):
            z = np.abs(block - self.location[c, used]) / self.scale[c, used]
            out[c][:, used] = self._log_kernel(z, c, used) + constant[c]
        out[:, np.isnan(rows)] = 0.0
        return out

    @abstractmethod
    def _log_kernel(self, z: Array, c: int, used: Sequence[int]) -> Array:
        """Return log f(|z|) up to its constant, of standardised cells (n, used) of class c."""

    @abstractmethod
    def _log_constant(self) -> Array:
        """Return the logarithm of the constant of f, (k, d)."""

    def center(self) -> Array:
        """Return the locations (k, d)."""
        return self.location

    def marginal(self, columns: Sequence[int]) -> Self:
        kept = list(columns)
        used = tuple(np.flatnonzero(np.isin(kept, self.used)).tolist())
        return replace(self, location=self.location[:, kept], scale=self.scale[:, kept], used=used)

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its expected location Σ_k p_k m_kj.

        `posterior` p is (n, k). That is the mean, where there is one: a Student t with df ≤ 1 has a centre only.
        """
        center = posterior @ self.location
        constant = np.setdiff1d(np.arange(center.shape[1]), self.used)
        center[:, constant] = self.location[posterior.argmax(axis=1)][:, constant]
        return fill_missing(rows, lambda row, j: center[row, j])

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return rows (n, d) with each missing cell (NaN) drawn from the density of the row's class (n,)."""
        varies = np.isin(np.arange(self.location.shape[1]), self.used)

        def draw(row: Codes, j: Codes) -> Array:
            c = codes[row]
            spread = np.where(varies[j], self.scale[c, j], 0.0)
            return np.asarray(self.location[c, j] + spread * self._standard_draws(c, j, rng))

        return fill_missing(rows, draw)

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: the law of its column by class, the same in all rows."""
        for j in self.used:
            own = np.flatnonzero(np.isnan(rows[:, j]))
            if len(own):

                def kernel(squares: Array, some: slice, j: int = j) -> Array:
                    z = np.sqrt(squares)
                    each = [self._log_kernel(z[:, :, c], c, [j]) for c in range(z.shape[2])]
                    return np.stack(each, axis=2)

                yield from number_outcomes(own, j, self.location[None, :, j], self.scale[None, :, j], FAR, kernel)

    @abstractmethod
    def _standard_draws(self, c: Codes, j: Codes, rng: np.random.RandomState) -> Array:
        """Return one draw of (x − location) / scale for each pair of a class and a column."""

    def parameters(self, j: int) -> dict[str, Array]:
        own = {"location": self.location[:, j]}
        return {**own, "scale": self.scale[:, j]} if j in self.used else own


@dataclass(frozen=True, slots=True)
class Laplace(LocationScale):
    """p(x) = exp(−|x − m| / b) / 2b, with location m and scale b."""

    def _log_kernel(self, z: Array, c: int, used: Sequence[int]) -> Array:
        return -z

    def _log_constant(self) -> Array:
        return np.full(self.scale.shape, -np.log(2.0))

    def _standard_draws(self, c: Codes, j: Codes, rng: np.random.RandomState) -> Array:
        return np.asarray(rng.laplace(size=len(j)))


@dataclass(frozen=True, slots=True)
class StudentT(LocationScale):
    """p(x) ∝ (1 + z²/ν)^(−(ν + 1)/2) with z = (x − m) / s and ν = `df` (k, d) degrees of freedom; ∞ is a Gaussian."""

    df: Array

    def _log_kernel(self, z: Array, c: int, used: Sequence[int]) -> Array:
        df = self.df[c, list(used)]
        endless = np.isinf(df)
        if endless.any():
            return np.where(endless, -0.5 * z**2, self._log_finite(z, np.where(endless, 1.0, df)))
        return self._log_finite(z, df)

    @staticmethod
    def _log_finite(z: Array, df: Array) -> Array:
        z /= np.sqrt(df)
        power = 0.5 * (df + 1.0)
        far = z > 1e150  # whose square would overflow
        kernel = -power * np.log1p(np.where(far, 0.0, z) ** 2)
        return np.where(far, -2.0 * power * np.log(np.where(far, z, 1.0)), kernel) if far.any() else kernel

    def _log_constant(self) -> Array:
        return log_t_constant(self.df, 1) - 0.5 * LOG_2PI

    def _standard_draws(self, c: Codes, j: Codes, rng: np.random.RandomState) -> Array:
        df = self.df[c, j]
        return np.asarray(rng.standard_normal(len(df)) * t_spread(df, rng))

    def within(self, rows: Array, low: Array, high: Array) -> Within | None:
        """Return what is known of numbers within ranges: a truncated t of each column."""
        scale = np.full(self.scale.shape, np.nan)
        scale[:, self.used] = self.scale[:, self.used]
        return bells_within(rows, low, high, self.location.T, scale.T, self.df.T, independent=True)

    def marginal(self, columns: Sequence[int]) -> Self:
        smaller = replace(self, df=self.df[:, list(columns)])
        return LocationScale.marginal(smaller, columns)

    def parameters(self, j: int) -> dict[str, Array]:
        return {**LocationScale.parameters(self, j), "df": self.df[:, j]}
