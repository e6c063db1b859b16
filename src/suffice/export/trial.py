"""How far the answers of an export are from those of its model."""

from __future__ import annotations

from .._arrays import Array, NDArray, np


def differences(
    posterior: Array, density: Array | None, other: NDArray[np.bool_], expected: tuple[Array, Array], tolerance: float
) -> tuple[float, float, int]:
    """Return the largest difference of posteriors (n, k), that of log densities (n,) by their size, and wrong labels.

    `expected` are the model's posteriors and log densities, `other` (n,) says where labels differ: a label is wrong
    where no two posteriors are as near as the tolerance allows. An export without log densities has `density` None, and
    these differ by 0.
    """
    posteriors, densities = expected
    apart = float(np.abs(posterior - posteriors).max(initial=0.0))
    density = densities if density is None else density
    with np.errstate(invalid="ignore"):
        error = np.where(density == densities, 0.0, np.abs(density - densities) / (1.0 + np.abs(densities)))
    top = np.sort(posteriors, axis=1)[:, -2:]
    clear = top[:, -1] - top[:, 0] > 2.0 * tolerance if posteriors.shape[1] > 1 else np.zeros(len(top), dtype=bool)
    return apart, float(error.max(initial=0.0)), int((other & clear).sum())
