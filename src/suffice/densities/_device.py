"""Log densities of rows that live on another device: matrix products and sums of squares there, factors from here.

Factors are made on the CPU in float64 and sent once for each device; rows come in blocks. What the products cannot do
(rows with missing cells, tables wider than long, Student t densities) is fetched, answered on the CPU and sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._arrays import Array, np, row_chunks
from .._arrays_api import (
    DeviceArray,
    DeviceCache,
    answer_by_chunks,
    blocks,
    fetch,
    has_float64,
    namespace,
    place,
    put,
    take,
)
from .covariance import FAR, Diagonal, Full, Spherical

NARROW_FAR = 1e3  # in the place of FAR where there is no float64: squares cancel to four digits or so
Score = Callable[[DeviceArray], DeviceArray]


class Whitened(NamedTuple):
    """Gaussians whose factors can be sent: means (k, d), one covariance for all or for each, the columns in use."""

    means: Array
    covariance: Full | Diagonal | Spherical
    used: Sequence[int]


def score_there(
    gaussians: Whitened, sent: DeviceCache, log_density: Callable[[Array], Array], rows: DeviceArray
) -> DeviceArray:
    """Return log densities (n, k), in nats, of rows (n, d) on their device; missing cells (NaN) are integrated out.

    `sent` keeps the factors by device; `log_density` scores rows that miss cells, which come here.
    """
    key = place(rows)
    if key not in sent:
        sent[key] = _sent(gaussians, rows)
    score, inner = sent[key]
    scores = answer_by_chunks(rows, len(gaussians.means), score, inner)
    _fill_missing(log_density, rows, scores)
    return scores


def score_here(log_density: Callable[[Array], Array], rows: DeviceArray) -> DeviceArray:
    """Return log densities (n, k) of rows on another device, which are fetched block by block, sent back there."""
    parts = [log_density(fetch(rows[part, ...])) for part in blocks(rows)]
    return put(np.concatenate(parts), rows)


def _fill_missing(log_density: Callable[[Array], Array], rows: DeviceArray, scores: DeviceArray) -> None:
    """Score rows with missing cells, which have come out as NaN, by their observed ones."""
    xp = namespace(rows)
    missing = fetch(xp.isnan(scores[:, 0]))
    if missing.any():
        for part in row_chunks(len(missing), max(1, (1 << 24) // max(rows.shape[1], 1))):
            index = np.flatnonzero(missing[part]) + part.start
            if len(index):
                mask = np.zeros(len(missing), dtype=bool)
                mask[index] = True
                scores[put(mask, scores)] = put(log_density(fetch(take(rows, index))), scores)


def _sent(density: Whitened, rows: DeviceArray) -> tuple[Score, int]:
    """Return what scores a block of rows on their device, and how many numbers it holds for each row on the way."""
    used, d = list(density.used), density.means.shape[1]
    means, covariance = density.means[:, used], density.covariance
    constant = -0.5 * (np.broadcast_to(covariance.log_det, len(means)) + len(used) * np.log(2.0 * np.pi))
    columns = None if len(used) == d else put(np.array(used, dtype=np.int64), rows)
    ending = put(constant, rows)
    xp = namespace(rows)
    if not used:
        return lambda block: xp.zeros_like(block[:, :1]) + ending, 0
    distances = _distances(covariance, means, rows)

    def score(block: DeviceArray) -> DeviceArray:
        cells = block if columns is None else xp.take(block, columns, axis=1)
        return -0.5 * distances(cells) + ending

    return score, 2 * len(means)


def _distances(covariance: Full | Diagonal | Spherical, means: Array, rows: DeviceArray) -> Score:
    """Return a function from rows (r, d) to squared Mahalanobis distances (r, k)."""
    center = means.mean(axis=0)
    far = FAR if has_float64(rows) else NARROW_FAR
    if isinstance(covariance, Full) and covariance.g > 1:
        targets = np.einsum("igj,gj->gi", covariance.whitener, means - center)
        return _by_class(np.transpose(covariance.whitener, (1, 2, 0)), targets, center, rows)
    if isinstance(covariance, Diagonal) and covariance.g > 1:
        scale = 1.0 / np.sqrt(covariance.variance)
        targets = scale * (means - center)
        return _each(scale, targets, center, rows, bool((targets**2).sum(axis=1).max() > far))
    factor: Array
    ratio = np.ones(1)
    if isinstance(covariance, Full):
        factor = covariance.whitener[:, 0].T
    elif isinstance(covariance, Diagonal):
        factor = 1.0 / np.sqrt(covariance.variance[0])
    else:
        least = covariance.variance.min()
        factor, ratio = np.full(means.shape[1], 1.0 / np.sqrt(least)), least / covariance.variance
    white = (means - center) @ factor if factor.ndim == 2 else (means - center) * factor
    return _shared(factor, white, center, ratio, rows, bool((white**2).sum(axis=1).max() > far))


def _shared(factor: Array, targets: Array, center: Array, ratio: Array, rows: DeviceArray, far: bool) -> Score:
    """Whiten rows once, then |z|² − 2 z·m + |m|², or |z − m|² where classes are far apart."""
    xp = namespace(rows)
    whitener, origin, scale, white = put(factor, rows), put(center, rows), put(ratio, rows), put(targets, rows)
    lengths, across = put((targets**2).sum(axis=1), rows), put(np.ascontiguousarray(-2.0 * targets.T), rows)

    def distances(block: DeviceArray) -> DeviceArray:
        z = block - origin
        z = xp.matmul(z, whitener) if factor.ndim == 2 else z * whitener
        if far:
            return xp.stack([_squares(z - white[c, :]) for c in range(len(targets))], axis=1) * scale
        total = xp.matmul(z, across) + lengths + _squares(z)[:, None]
        return xp.where(total < 0.0, 0.0, total) * scale

    return distances


def _by_class(factors: Array, targets: Array, center: Array, rows: DeviceArray) -> Score:
    """Whiten rows by the factor (d, d) of each class, rows z ↦ z F."""
    xp = namespace(rows)
    whiteners, origin, white = put(factors, rows), put(center, rows), put(targets, rows)

    def distances(block: DeviceArray) -> DeviceArray:
        z = block - origin
        own = [_squares(xp.matmul(z, whiteners[c, ...]) - white[c, :]) for c in range(len(targets))]
        return xp.stack(own, axis=1)

    return distances


def _each(scale: Array, targets: Array, center: Array, rows: DeviceArray, far: bool) -> Score:
    """Distances under a variance for each class and column: two products, or one class after another if far apart."""
    xp = namespace(rows)
    origin, scales, white = put(center, rows), put(scale, rows), put(targets, rows)
    precision, linear = put(np.ascontiguousarray((scale**2).T), rows), put((-2.0 * scale * targets).T, rows)
    lengths = put((targets**2).sum(axis=1), rows)

    def distances(block: DeviceArray) -> DeviceArray:
        z = block - origin
        if far:
            own = [_squares(z * scales[c, :] - white[c, :]) for c in range(len(targets))]
            return xp.stack(own, axis=1)
        total = xp.matmul(z * z, precision) + xp.matmul(z, linear) + lengths
        return xp.where(total < 0.0, 0.0, total)

    return distances


def _squares(z: DeviceArray) -> DeviceArray:
    return namespace(z).sum(z * z, axis=1)
