"""Densities within a leaf: truncated Gaussians of normal scores, and shares of levels."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, ndtr, np, row_chunks
from .columns import Cells, ForestColumns, ForestReading

LEAST_SHARE = 1e-15  # of a cell within its leaf
NEAR = 256  # rows and leaves looked at together, whose numbers stay near the processor


def log_mass(columns: ForestColumns, low: Cells, high: Cells, mean: Array, spread: Array) -> Array:
    """Return how much of Gaussians (q, k, numbers) in normal scores lies in boxes of cells (q, d), log."""
    edges, begin = columns.edges
    numbers, share = len(begin), np.ones(mean.shape)
    end = np.maximum(high, low)[:, :numbers].astype(np.int64) + 1
    row, j = np.nonzero(end < np.asarray(columns.sizes[:numbers]))  # all lies within what is not cut
    share[row, :, j] = ndtr((edges[begin[j] + end[row, j], None] - mean[row, :, j]) / spread[row, j, None])
    row, j = np.nonzero(low[:, :numbers] > 0)
    share[row, :, j] -= ndtr((edges[begin[j] + low[row, j], None] - mean[row, :, j]) / spread[row, j, None])
    np.maximum(share, LEAST_SHARE, out=share)
    return np.log(share, out=share)


def _log_between(low: Array, high: Array, mean: Array, spread: Array) -> Array:
    """Return log Φ((high − mean) / spread) − Φ((low − mean) / spread), at least that of `LEAST_SHARE`."""
    return np.asarray(np.log(np.maximum(ndtr((high - mean) / spread) - ndtr((low - mean) / spread), LEAST_SHARE)))


def log_within(reading: ForestReading, mean: Array, spread: Array, mass: Array, levels: Sequence[Array]) -> Array:
    """Return log Π_j p(cell_j | leaf, k), (q, k), of rows in one leaf each; missing cells add nothing."""
    numbers = len(reading.columns.numbers)
    total = np.zeros(mean.shape[:2])
    if numbers:
        for part in row_chunks(len(mean), NEAR):
            total[part] = _log_numbers(reading[part], mean[part], spread[part], mass[part])
    for j, shares in enumerate(levels, start=numbers):
        total += log_level(reading, j, shares)
    return total


def _log_numbers(reading: ForestReading, mean: Array, spread: Array, mass: Array) -> Array:
    """Return the sum of what `log_number` returns of all numbers (q, k)."""
    edges, begin = reading.columns.edges
    cells = reading.cells[:, : len(begin)]
    seen = cells >= 0
    place = begin + np.where(seen, cells, 0)
    there = _log_between(edges[place][:, None], edges[place + 1][:, None], mean, spread[:, None])
    there = np.minimum(there - mass, 0.0)
    if not seen.all():
        there *= seen[:, None]
    return np.asarray(there.sum(axis=2))


def log_number(reading: ForestReading, j: int, mean: Array, spread: Array, mass: Array) -> Array:
    """Return log p(cell of number j | leaf, k), (q, k), by Gaussians (q, k) of which so much lies in the box."""
    edges, cell = reading.columns.numbers[j].edges, reading.cells[:, j]
    there = _log_between(edges[cell][:, None], edges[cell + 1][:, None], mean, spread[:, None])
    return np.where((cell >= 0)[:, None], np.minimum(there - mass, 0.0), 0.0)


def log_level(reading: ForestReading, j: int, shares: Array) -> Array:
    """Return log p(cell of category j | leaf, k), (q, k), of shares (q, k, cells); 0 for a level never seen."""
    cell = reading.cells[:, j]
    return log_share(reading, j, shares[np.arange(len(cell)), :, cell])


def log_share(reading: ForestReading, j: int, share: Array) -> Array:
    """Return log shares (q, k) of the cells of category j; 0 for a level never seen."""
    return np.where(reading.open[:, j, None], 0.0, np.log(np.maximum(share, LEAST_SHARE)))
