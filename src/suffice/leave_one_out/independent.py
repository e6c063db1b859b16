"""Leave-one-out of independent Gaussian columns."""

from __future__ import annotations

from .._arrays import Array, Codes, np, parallel_each, row_chunks, rows_within
from ..densities.covariance import FAR
from ..densities.gaussian import LOG_2PI
from ..stats.pooling import Pool, divisors, mixed_divisors
from .downdate import LEAST_KEPT, Flags, Leaving

LOGS = 64  # columns whose factors, all above LEAST_KEPT, are multiplied before a logarithm is taken


def without_row(job: Leaving, scores: Array) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    `scores` (n, k) are those of the estimate with all rows, kept where the row is in no way part of the density.
    """
    sure = np.ones(len(job.rows), dtype=bool)
    every: Codes = np.arange(len(job.rows))
    size = rows_within(32 * job.d, least=64)
    drawn = job.shrinkage.spherical_target and bool(job.shrinkage.amount)
    near = job.shared and not drawn and _near(job)
    if (job.everyone or drawn) and not near:
        parts = [(0, every[part]) for part in row_chunks(len(every), size)]
    else:
        own = ((c, np.flatnonzero(job.codes == c)) for c in range(len(job.mean)))
        parts = [(c, index[part]) for c, index in own for part in row_chunks(len(index), size)]

    def work(task: tuple[int, Codes]) -> None:
        c, index = task
        if near:
            scores[index], sure[index] = _shared_variance(job, index, c)
        elif job.everyone or drawn:
            scores[index], sure[index] = _all_classes(job, index)
        else:
            scores[index, c], sure[index] = _own_class(job, index, c)

    parallel_each(work, parts, cost=20.0 * job.rows.size)
    return scores, sure


def _own_class(job: Leaving, index: Codes, c: int) -> tuple[Array, Flags]:
    """Return log densities (b,) of rows of class `c` under it: S' = S − h δ² and x − m' = δ n / left, by column."""
    away = job.rows[index]
    away -= job.mean[c]
    missing = np.isnan(away) if np.isnan(away).any() else None
    count, w = job.count[c], job.weight[index, None]
    if len(w) and (w == w[0]).all():
        w = w[:1]  # the same factors for all rows
    left = np.maximum(count - w, 0.0)
    safe = np.where(left > 0, left, 1.0)
    after = mixed_divisors(safe, Pool(0.0, 0.0, 0.0), job.rule)
    before = mixed_divisors(count, Pool(0.0, 0.0, 0.0), job.rule)
    away *= away
    if missing is not None:
        away[missing] = 0.0
    shares = away * (1.0 / job.scatter[c])
    kept = shares * -(w * count / safe)
    kept += 1.0
    right = np.asarray((kept > LEAST_KEPT).all(axis=1) & (left > 0).all(axis=1))
    np.maximum(kept, LEAST_KEPT, out=kept)
    shares *= after * (count / safe) ** 2
    shares /= kept
    variance = np.log(job.scatter[c] / before) + LOG_2PI + np.log(before / after)
    if missing is None:
        constant = variance.sum(axis=1)
    else:
        constant = np.where(missing, 0.0, variance).sum(axis=1)
        kept[missing] = 1.0
    return -0.5 * (shares.sum(axis=1) + constant + _log_products(kept)), right


def _near(job: Leaving) -> bool:
    """Return whether the class means are so near each other that distances may be expanded into products."""
    variance = job.scatter.sum(axis=0) / job.count.sum(axis=0)
    return bool((((job.mean - job.mean.mean(axis=0)) ** 2) / variance).sum(axis=1).max() < FAR)


def _shared_variance(job: Leaving, index: Codes, c: int) -> tuple[Array, Flags]:
    """Return log densities (b, k) of rows of class `c` under variances that all classes share.

    With v = P − h δ² and e = m_k − m_c, Σ (x − m_k)² / v = Σ δ²/v − 2 Σ δ e / v + Σ e²/v, two products of matrices.
    """
    away = job.rows[index]
    away -= job.mean[c]
    missing = np.isnan(away) if np.isnan(away).any() else None
    w: Array = job.weight[index, None]
    if missing is not None:
        away[missing] = 0.0
        w = np.where(missing, 0.0, w)
    elif len(w) and (w == w[0]).all():
        w = w[:1]
    count, pooled = job.count[c], job.scatter.sum(axis=0)
    left = count - w
    factor = count / np.where(left > 0, left, 1.0)
    divisor = divisors(job.count.sum(axis=0) - w, (job.count > 0).sum(axis=0), job.rule)
    square = away * away
    kept = square * (-(w * factor) / pooled)
    kept += 1.0
    right = np.asarray((kept > LEAST_KEPT).all(axis=1) & (left > 0).all(axis=1))
    np.maximum(kept, LEAST_KEPT, out=kept)
    scale = divisor / pooled
    precision = scale / kept
    constant = LOG_2PI - np.log(scale)
    if missing is None:
        logs = constant.sum(axis=1) + _log_products(kept)
    else:
        kept[missing], precision[missing] = 1.0, 0.0
        logs = np.where(missing, 0.0, constant).sum(axis=1) + _log_products(kept)
    shift = job.mean - job.mean[c]
    scores = precision @ (shift * shift).T
    square *= precision
    precision *= away
    scores -= 2.0 * (precision @ shift.T)
    scores += square.sum(axis=1, keepdims=True)
    scores[:, c] = (square * factor**2).sum(axis=1)
    scores += logs[:, None]
    return -0.5 * scores, right


def _log_products(factors: Array) -> Array:
    """Return Σ log of the factors of each row (b,), all between LEAST_KEPT and 1."""
    starts = range(0, factors.shape[1], LOGS)
    return np.asarray(sum(np.log(np.multiply.reduce(factors[:, a : a + LOGS], axis=1)) for a in starts))


def _all_classes(job: Leaving, index: Codes) -> tuple[Array, Flags]:
    """Return log densities (b, k): sums of squares without each cell, and divided, for every class."""
    rows, codes, k = job.rows[index], job.codes[index], len(job.mean)
    seen = ~np.isnan(rows)
    w = np.where(seen, job.weight[index, None], 0.0)
    count = job.count[codes]
    left = np.where(seen, count - w, count)
    right = (left > 0).all(axis=1)
    safe = np.where(left > 0, left, 1.0)
    away = np.where(seen, rows - job.mean[codes], 0.0)
    out = w * count / safe * away**2
    pool = Pool(job.count.sum(axis=0) - w, (job.count > 0).sum(axis=0), job.shrinkage.pooling)
    scores = np.empty((len(rows), k))
    common: tuple[Array, Flags] = (w, np.asarray(right))
    if job.shared:
        common = _variances(job, out, job.scatter.sum(axis=0), divisors(pool.weight, pool.means, job.rule))
    for c in range(k):
        mine = (codes == c)[:, None]
        if job.shared:
            variance, usable = common
        else:
            sums = (1.0 - pool.share) * job.scatter[c] + pool.share * job.scatter.sum(axis=0)
            leaves = np.where(mine, 1.0, pool.share) * out
            divisor = mixed_divisors(np.where(mine, left, job.count[c]), pool, job.rule)
            variance, usable = _variances(job, leaves, sums, divisor)
        right &= usable
        shift = np.where(seen, rows - job.mean[c], 0.0)
        shift *= np.where(mine, count / safe, 1.0)
        logs = np.where(seen, np.log(variance) + LOG_2PI, 0.0).sum(axis=1)
        scores[:, c] = -0.5 * (logs + np.einsum("nd,nd->n", shift, shift / variance))
    return scores, np.asarray(right)


def _variances(job: Leaving, leaves: Array, sums: Array, divisor: Array) -> tuple[Array, Flags]:
    """Return variances (b, d) without what leaves each sum of squares, and the rows of which enough remains."""
    right = (leaves <= (1.0 - LEAST_KEPT) * sums).all(axis=1)
    variance = np.where(leaves < sums, sums - leaves, sums) / divisor
    return _toward_sphere(job, variance), np.asarray(right)


def _toward_sphere(job: Leaving, variance: Array) -> Array:
    amount = job.shrinkage.amount
    if not job.shrinkage.spherical_target or not amount:
        return variance
    return np.asarray((1.0 - amount) * variance + amount * variance.mean(axis=1, keepdims=True))
