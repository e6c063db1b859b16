"""Columns with a location and a scale, each by itself: Laplace, and the Student t of Gaussians under a prior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from .._arrays import Array, Codes, np, parallel_each, row_chunks, rows_within
from .density import Density
from .discrete import fill_missing
from .gaussian import LOG_2PI
from .outcomes import FAR, Outcomes, number_outcomes
from .student import log_t_constant, t_spread


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
        used = tuple(i for i, c in enumerate(kept) if c in set(self.used))
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

    def marginal(self, columns: Sequence[int]) -> Self:
        smaller = replace(self, df=self.df[:, list(columns)])
        return LocationScale.marginal(smaller, columns)

    def parameters(self, j: int) -> dict[str, Array]:
        return {**LocationScale.parameters(self, j), "df": self.df[:, j]}
