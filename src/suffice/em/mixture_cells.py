"""Rows with missing cells inside EM for mixtures: their densities, and their expected statistics by component."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .._arrays import Array, Codes, np, row_chunks
from ..densities import Full, Gaussian
from ..densities.gaussian import LOG_2PI
from ..stats import GaussianStats, PooledScatter
from ..stats.scatter import Scatter

CHUNK_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class _Alike:
    """Rows that have equally many observed cells: r rows, e patterns of o observed columns."""

    rows: Codes  # (r,)
    pattern: Codes  # (r,) number of the row's pattern
    observed: Codes  # (e, o)
    missing: Codes  # (e, d − o)


@dataclass(frozen=True, slots=True)
class Holes:
    """Which rows are complete, which miss some cells, and which miss all."""

    complete: Codes
    some: Codes

    @classmethod
    def find(cls, values: Array) -> Holes:
        """Sort out the rows."""
        absent = np.isnan(values).sum(axis=1)
        return cls(np.flatnonzero(absent == 0), np.flatnonzero((absent > 0) & (absent < values.shape[1])))

    @property
    def any_filled(self) -> bool:
        """Whether any row misses some of its cells."""
        return len(self.some) > 0

    def log_density(self, gaussian: Gaussian, values: Array) -> Array:
        """Return what `Gaussian.log_density` does, all patterns with equally many observed cells at once."""
        covariance = gaussian.covariance
        if not self.any_filled or not isinstance(covariance, Full) or not gaussian.used:
            return gaussian.log_density(values)
        scores = np.zeros((len(values), len(gaussian.means)))
        scores[self.complete] = gaussian.log_density(values[self.complete])
        used = list(gaussian.used)
        cells = values[:, used]
        for alike in self._groups(cells):
            x = _observed_cells(cells, alike)
            for i, mean in enumerate(gaussian.means[:, used]):
                sigma = covariance.matrix(i if covariance.g > 1 else 0)
                within = sigma[alike.observed[:, :, None], alike.observed[:, None, :]]
                half_log_det = np.log(np.diagonal(np.linalg.cholesky(within), axis1=1, axis2=2)).sum(axis=1)
                shift = x - mean[alike.observed][alike.pattern]
                precision = np.linalg.inv(within)[alike.pattern]
                squares = np.einsum("ri,rij,rj->r", shift, precision, shift, optimize=True)
                scores[alike.rows, i] = -0.5 * (squares + x.shape[1] * LOG_2PI) - half_log_det[alike.pattern]
        return scores

    def summarize(self, values: Array, weight: Array, gaussian: Gaussian, form: type[Scatter]) -> GaussianStats:
        """Return the expected statistics of the rows that miss some cells, weighted by component (n, m).

        Missing cells are regressed on the row's observed ones under each component, x̂ = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),
        and the scatter gains what regression leaves over, Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om.
        """
        used = list(gaussian.used)
        means, sigmas = gaussian.means[:, used], gaussian.covariance.dense()
        m, d = means.shape
        first, second = np.zeros((m, d)), np.zeros((m, d, d))
        cells = values[:, used]
        for alike in self._groups(cells):
            x = _observed_cells(cells, alike)
            for i, mean in enumerate(means):
                pull, square = _expected(alike, x, weight[alike.rows, i], mean, sigmas[i if len(sigmas) > 1 else 0])
                first[i] += pull
                second[i] += square
        total = weight[self.some].sum(axis=0)
        step = first / np.where(total > 0, total, 1.0)[:, None]
        second -= total[:, None, None] * step[:, :, None] * step[:, None, :]
        mean, scatter = gaussian.means.copy(), np.zeros((m, *2 * gaussian.means.shape[1:]))
        mean[:, used] += step
        scatter[np.ix_(range(m), used, used)] = second
        return GaussianStats(total, mean, form(scatter.sum(axis=0) if form is PooledScatter else scatter), form)

    def _groups(self, cells: Array) -> Iterator[_Alike]:
        """Yield the incomplete rows by their number of observed cells, a bounded number at a time."""
        present = ~np.isnan(cells[self.some])
        sizes = present.sum(axis=1)
        d = cells.shape[1]
        for o in np.unique(sizes).tolist():
            own = np.flatnonzero(sizes == o)
            for part in row_chunks(len(own), max(1, CHUNK_CELLS // max(1, o * d))):
                patterns, pattern = np.unique(present[own[part]], axis=0, return_inverse=True)
                order = np.argsort(~patterns, axis=1, kind="stable")
                yield _Alike(self.some[own[part]], pattern.reshape(-1), order[:, :o], order[:, o:])


def _observed_cells(cells: Array, alike: _Alike) -> Array:
    return np.take_along_axis(cells[alike.rows], alike.observed[alike.pattern], axis=1)


def _expected(alike: _Alike, x: Array, weight: Array, mean: Array, sigma: Array) -> tuple[Array, Array]:
    """Return Σ w (x̂ − μ) (d,) and Σ w ((x̂ − μ)(x̂ − μ)ᵀ + what is left over) (d, d) under one component."""
    observed, missing = alike.observed, alike.missing
    across = sigma[missing[:, :, None], observed[:, None, :]]
    slope = across @ np.linalg.inv(sigma[observed[:, :, None], observed[:, None, :]])
    rest = sigma[missing[:, :, None], missing[:, None, :]] - slope @ across.transpose(0, 2, 1)
    shift = x - mean[observed][alike.pattern]
    delta = np.empty((len(x), len(mean)))
    np.put_along_axis(delta, observed[alike.pattern], shift, axis=1)
    filled = np.einsum("rmo,ro->rm", slope[alike.pattern], shift)
    np.put_along_axis(delta, missing[alike.pattern], filled, axis=1)
    square = (delta * weight[:, None]).T @ delta
    by_pattern = np.bincount(alike.pattern, weights=weight, minlength=len(observed))
    np.add.at(square, (missing[:, :, None], missing[:, None, :]), by_pattern[:, None, None] * rest)
    return weight @ delta, square
