"""Covariances of tables with more columns than rows: a few directions and a floor, never a matrix of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, np, row_chunks
from .covariance import Conditional, Factors, chunk_rows


@dataclass(frozen=True, slots=True)
class LowRank:
    """A few directions and a floor: D^½ (V diag(λ − s) Vᵀ + s I) D^½, for more columns than rows; never d × d.

    `scale` (g, d) are standard deviations D^½; per covariance, `basis` (d, r) has orthonormal columns V, `values` (r,)
    are the correlation scale's eigenvalues λ along them, and `floor` (g,) is the eigenvalue s everywhere else.
    """

    scale: Array
    basis: tuple[Array, ...]
    values: tuple[Array, ...]
    floor: Array

    @classmethod
    def factor(cls, rows: Sequence[Array], scale: Array, shrinkage: Array) -> Self:
        """Factor (1 − s) zᵀz + s I by one thin singular value decomposition per covariance.

        `rows[i]` (r, d) holds rows z already divided by `scale[i]` (d,) and by √divisor.
        """
        basis, values = [], []
        for z, s in zip(rows, shrinkage, strict=True):
            vectors, eigenvalues = _thin_spectrum(z)
            basis.append(vectors)
            values.append((1.0 - s) * eigenvalues + s)
        return cls(scale, tuple(basis), tuple(values), np.asarray(shrinkage))

    @property
    def g(self) -> int:
        return len(self.scale)

    @property
    def log_det(self) -> Array:
        d = self.scale.shape[1]
        inner = [np.log(v).sum() + (d - len(v)) * np.log(s) for v, s in zip(self.values, self.floor, strict=True)]
        return np.asarray(np.asarray(inner) + 2.0 * np.log(self.scale).sum(axis=1))

    def distances(self, rows: Array, means: Array) -> Array:
        out = np.empty((len(rows), len(means)))
        for c, mean in enumerate(means):
            i = min(c, self.g - 1)
            for part in row_chunks(len(rows), chunk_rows(rows.shape[1])):
                z = (rows[part] - mean) / self.scale[i]
                inside = z @ self.basis[i]
                z -= inside @ self.basis[i].T  # the remainder itself, not |z|² − |inside|², which would cancel
                out[part, c] = np.einsum("nd,nd->n", z, z) / self.floor[i] + (inside**2 / self.values[i]).sum(axis=1)
        return out

    def marginal(self, columns: Sequence[int]) -> LowRank:
        kept = []
        for vectors, eigenvalues, s in zip(self.basis, self.values, self.floor, strict=True):
            kept.append((vectors[list(columns)] * np.sqrt(np.maximum(eigenvalues - s, 0.0))).T)
        basis, values = zip(*(_thin_spectrum(z) for z in kept), strict=True)
        lifted = tuple(v + s for v, s in zip(values, self.floor, strict=True))
        return LowRank(self.scale[:, columns], basis, lifted, self.floor)

    def conditional(self, i: int, observed: Sequence[int], missing: Sequence[int]) -> Conditional:
        loadings = self.basis[i] * np.sqrt(np.maximum(self.values[i] - self.floor[i], 0.0))
        return Factors.of(loadings, self.scale[i], float(self.floor[i]), observed, missing)

    def dense(self) -> Array:
        matrices = []
        for sd, vectors, eigenvalues, s in zip(self.scale, self.basis, self.values, self.floor, strict=True):
            correlation = (vectors * (eigenvalues - s)) @ vectors.T + s * np.eye(len(sd))
            matrices.append(correlation * sd[:, None] * sd)
        return np.stack(matrices)

    def solve(self, vectors: Array) -> Array:
        inside, outside = self._parted(vectors)
        return np.asarray((outside / self.floor[0] + (inside / self.values[0]) @ self.basis[0].T) / self.scale[0])

    def whiten(self, rows: Array) -> Array:
        inside, outside = self._parted(rows)
        return np.asarray(outside / np.sqrt(self.floor[0]) + (inside / np.sqrt(self.values[0])) @ self.basis[0].T)

    def _parted(self, rows: Array) -> tuple[Array, Array]:
        """Return rows, in units of the first covariance's scale, along its directions, and what is left of them."""
        z = rows / self.scale[0]
        inside = z @ self.basis[0]
        return inside, z - inside @ self.basis[0].T


def _thin_spectrum(rows: Array) -> tuple[Array, Array]:
    """Return orthonormal columns (d, r) and eigenvalues (r,) of rowsᵀ rows, those at rounding level left out."""
    if not rows.size:
        return np.zeros((rows.shape[1], 0)), np.zeros(0)
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    kept = singular > singular.max(initial=0.0) * max(rows.shape) * np.finfo(np.float64).eps
    return np.ascontiguousarray(vectors[kept].T), singular[kept] ** 2
