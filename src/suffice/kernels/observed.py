"""Compiled distances of rows with missing cells from class means, over the cells that they have."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Flags, np
from .library import address, library


@dataclass(frozen=True, slots=True)
class ObservedDistances:
    """Covariances as rows with missing cells ask them, in units of the standard deviations `sd` (g, d).

    `matrices` (3, g, d, d) are correlations R, the transposes of lower triangular W with W R Wᵀ = I, and WᵀW.
    """

    matrices: Array
    sd: Array
    log_det: Array

    @classmethod
    def of(cls, covariance: Array, whitener: Array, log_det: Array) -> ObservedDistances:
        """Return those of covariances (g, d, d), whitened by `whitener` (g, d, d) and of such log determinants (g,)."""
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        white = whitener * sd[:, None]
        turned = white.transpose(0, 2, 1)
        matrices = np.stack([covariance / sd[:, :, None] / sd[:, None], turned, turned @ white])
        return cls(matrices, sd, log_det)

    def __call__(self, cells: Array, alike: Flags, means: Array) -> tuple[Array, Array]:
        """Return squared distances and log determinants (n, k) of rows (n, d), NaN where a cell is missing.

        `alike` (n,) says which rows miss the cells that the row before misses. Covariances are one for all classes of
        the `means` (k, d), or one each.
        """
        (_, g, d, _), (n, k) = self.matrices.shape, (len(cells), len(means))
        if not (cells.shape == (n, d) and means.shape == (k, d) and alike.shape == (n,) and g in (1, k)):
            raise ValueError(f"cells {cells.shape} and means {means.shape} beside {g} covariances of {d} columns")
        given = (self.sd, np.log(self.sd), self.log_det, self.matrices)
        kept = [np.ascontiguousarray(own, dtype=np.float64) for own in (cells, means, *given)]
        rows, centers, sd, logs, log_det, matrices = map(address, kept)
        like, room, at = np.ascontiguousarray(alike, dtype=np.uint8), np.empty((d + 2, d)), np.empty(d, np.int64)
        squares, dets = out = np.empty((2, n, k))
        about = sd, logs, log_det, g, matrices, address(room), address(at), address(squares), address(dets)
        library().suffice_observed(rows, address(like), n, d, centers, k, *about)
        return out[0], out[1]
