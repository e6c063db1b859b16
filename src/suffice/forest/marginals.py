"""Marginals of a forest, over the leaves that known cells allow, and the densities within a leaf.

Within a leaf a number is a truncated Gaussian in normal scores, and a category has shares of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._arrays import IN_MEMORY, Array, Codes, ndtr, np, row_chunks, rows_within
from ..densities.mixture import sum_within
from .columns import Cells, ForestColumns, ForestReading
from .trees import Trees

LogJoint = Callable[[ForestReading, Codes], Array]

PAIRS = 1 << 16  # rows and leaves looked at together
LEAST_SHARE = 1e-15  # of a cell within its leaf
NEAR = 256  # rows and leaves looked at together, whose numbers stay near the processor


def log_marginals(trees: Trees, reading: ForestReading, k: int, log_joint: LogJoint) -> Array:
    """Return log Σ over trees and leaves of p(leaf, x | k), (n, k), with what numbers add within their cells."""
    return np.asarray(log_cell_marginals(trees, reading, k, log_joint) + log_base(reading).sum(axis=1)[:, None])


def log_cell_marginals(trees: Trees, reading: ForestReading, k: int, log_joint: LogJoint) -> Array:
    """Return log Σ over trees and leaves of p(leaf, cells | k), (n, k).

    `log_joint` (reading, leaf) returns log p(leaf, x | k) of rows in one leaf each. Few rows ask many trees at a time.
    """
    total = np.full((len(reading), k), -np.inf)
    holed = reading.open.any(axis=1)
    for rows, find, leaves in (
        (np.flatnonzero(~holed), leaves_of_whole, 1),
        (np.flatnonzero(holed), pairs_of, max(len(trees.leaf_nodes) // max(len(trees), 1), 1)),
    ):
        together = min(-(-PAIRS // leaves), rows_within(8 * k * (3 * reading.columns.d + 2) * leaves, IN_MEMORY))
        for part in row_chunks(len(rows), together):
            place, own = rows[part], reading[rows[part]]
            for some in row_chunks(len(trees), max(1, PAIRS // (len(own) * leaves))):
                row, leaf = find(trees, own, np.arange(some.start, some.stop))
                one = len(row) == len(own)  # leaf of each row
                score = log_joint(own, leaf) if one else sum_within(log_joint(own[row], leaf)[None], row)[0]
                total[place] = np.logaddexp(total[place], score)
    return total


def log_base(reading: ForestReading) -> Array:
    """Return what leaves and classes have no part in (n, d): the log density of each number within its cell, and the
    log share of levels never seen, or of all others; 0 where a cell is missing.
    """
    out = np.zeros(reading.cells.shape)
    for j, own in enumerate(reading.columns.numbers):
        seen = np.flatnonzero(reading.cells[:, j] >= 0)
        out[seen, j] = own.log_within(reading.numbers[seen, j], reading.cells[seen, j], reading.columns.tail)
    for j, share in enumerate(reading.columns.shares, start=len(reading.columns.numbers)):
        with np.errstate(divide="ignore"):  # of no level at all
            never, known = np.log(share[-1]), np.log1p(-share[-1])
        cell = reading.cells[:, j]
        out[:, j] = np.where(cell < 0, 0.0, np.where(reading.open[:, j], never, known))
    return out


def leaves_of_whole(trees: Trees, reading: ForestReading, some: Codes) -> tuple[Codes, Codes]:
    """Return what `pairs_of` returns, of rows that miss no cell."""
    leaves = np.stack([trees.leaves_of(reading.cells, t) for t in some.tolist()], axis=1)
    return np.repeat(np.arange(len(leaves)), len(some)), leaves.ravel()


def pairs_of(trees: Trees, reading: ForestReading, some: Codes) -> tuple[Codes, Codes]:
    """Return all pairs of a row and a leaf of some trees that its known cells allow, (q,) each, rows in order."""
    everywhere, cells, roots = reading.open, reading.cells, trees.roots[some]
    row, node = np.repeat(np.arange(len(cells)), len(roots)), np.tile(roots, len(cells))
    done_rows, done_leaves = [], []
    while len(row):
        column = trees.column[node]
        ends = column < 0
        done_rows.append(row[ends])
        done_leaves.append(trees.leaf[node[ends]])
        row, node, column = row[~ends], node[~ends], column[~ends]
        below = cells[row, column] <= trees.threshold[node]
        free = everywhere[row, column]
        left, right = free | below, free | ~below
        row, node = (
            np.concatenate([row[left], row[right]]),
            np.concatenate([trees.left[node[left]], trees.right[node[right]]]),
        )
    rows, leaves = np.concatenate(done_rows), np.concatenate(done_leaves)
    order = np.argsort(rows, kind="stable")
    return rows[order], leaves[order]


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
        cell = reading.cells[:, j]
        total += log_share(reading, j, shares[np.arange(len(cell)), :, cell])
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


def log_share(reading: ForestReading, j: int, share: Array) -> Array:
    """Return log shares (q, k) of the cells of category j; 0 for a level never seen."""
    return np.where(reading.open[:, j, None], 0.0, np.log(np.maximum(share, LEAST_SHARE)))
