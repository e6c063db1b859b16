"""Leave-one-out of spherical covariances."""

from __future__ import annotations

from .._arrays import Array, np, parallel_each, row_chunks, rows_within
from ..densities import Spherical
from ..densities.gaussian import LOG_2PI
from ..stats.pooling import Pool, divisors, mixed_divisors
from .downdate import LEAST_KEPT, Flags, Leaving


def without_row(job: Leaving, covariance: Spherical) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for."""
    lengths = covariance.distances(job.rows, job.mean)
    lengths *= covariance.variance
    seen = ~np.isnan(job.rows)
    if seen.all() and (job.count == job.count[:, :1]).all():
        own, w = lengths[np.arange(len(lengths)), job.codes], job.weight
        count = job.count[job.codes, 0]
        left = count - w
        factor = count / np.where(left > 0, left, 1.0)
        lengths[np.arange(len(lengths)), job.codes] = own * factor**2
        scores, right = _scores(job, lengths, w * factor * own, w * job.d, np.full(len(w), job.d))
        right &= left > 0
    else:
        scores, right = _by_cell(job, seen)
    return scores, right & _varies_without(job)


def _varies_without(job: Leaving) -> Flags:
    """Return for which rows every column still varies within classes without them: else it would be left out."""
    away = job.rows - job.mean[job.codes]
    away *= away
    count, w = job.count[job.codes], job.weight[:, None]
    left = count - w
    away *= w * count / np.where(left > 0, left, 1.0)
    return np.asarray((np.nan_to_num(away, copy=False) <= (1.0 - LEAST_KEPT) * job.scatter.sum(axis=0)).all(axis=1))


def _by_cell(job: Leaving, seen: Flags) -> tuple[Array, Flags]:
    """Return the same where cells are missing, so that columns have weights of their own."""
    n, k = len(job.rows), len(job.mean)
    lengths, lost, right = np.empty((n, k)), np.empty(n), np.empty(n, dtype=bool)

    def work(part: slice) -> None:
        rows, own, here = job.rows[part], job.codes[part], seen[part]
        count = job.count[own]
        w = np.where(here, job.weight[part, None], 0.0)
        left = count - w
        factor = count / np.where(left > 0, left, 1.0)
        right[part] = (left > 0).all(axis=1)
        lost[part] = (w * factor * np.where(here, rows - job.mean[own], 0.0) ** 2).sum(axis=1)
        for c in range(k):
            shift = np.where(here, rows - job.mean[c], 0.0)
            shift *= np.where((own == c)[:, None], factor, 1.0)
            lengths[part, c] = np.einsum("nd,nd->n", shift, shift)

    parallel_each(work, row_chunks(n, rows_within(32 * job.d, least=64)), cost=8.0 * job.rows.size * k)
    observed = seen.sum(axis=1)
    scores, usable = _scores(job, lengths, lost, job.weight * observed, observed)
    return scores, right & usable


def _scores(job: Leaving, lengths: Array, lost: Array, cells_lost: Array, observed: Array) -> tuple[Array, Flags]:
    """Return log densities from |x − m|² (n, k), and what leaves the sums of squares and of cells (n,)."""
    sums, cells, means = job.scatter.sum(axis=1), job.count.sum(axis=1), (job.count > 0).sum(axis=1)
    pool = Pool(cells.sum() - cells_lost, means.sum(), job.shrinkage.pooling)
    right = np.ones(len(lost), dtype=bool)
    for c in range(len(job.mean)):
        mine = job.codes == c
        if job.shared:
            total, leaves, divisor = sums.sum(), lost, divisors(pool.weight, pool.means, job.rule)
        else:
            total = (1.0 - pool.share) * sums[c] + pool.share * sums.sum()
            leaves = np.where(mine, 1.0, pool.share) * lost
            divisor = mixed_divisors(cells[c] - np.where(mine, cells_lost, 0.0), pool, job.rule, means[c])
        right &= leaves <= (1.0 - LEAST_KEPT) * total
        variance = np.where(leaves < total, total - leaves, total) / divisor
        lengths[:, c] = -0.5 * (lengths[:, c] / variance + observed * (LOG_2PI + np.log(variance)))
    return lengths, right
