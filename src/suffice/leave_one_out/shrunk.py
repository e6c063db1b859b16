"""Leave-one-out of shrunk full covariances, each row factored anew.

A row changes the diagonal that its covariance is drawn to (and, for a rule, the amount), which is no change of low
rank. Scatters without the row are made, shrunk and factored for a block of rows at a time, O(d³) for each row.
"""

from __future__ import annotations

from .._arrays import Array, Codes, np, parallel_map, row_chunks, rows_within
from ..densities.gaussian import LOG_2PI
from ..densities.regularize import USABLE
from ..estimate.shrinkage import oas_amount
from .downdate import LEAST_KEPT, Flags, Leaving


def without_row(job: Leaving, scores: Array) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    `scores` (n, k) are those of the estimate with all rows, kept where the row is in no way part of the density.
    """
    sure = job.own(slice(None))[0] > 0
    k, share = len(job.count), job.shrinkage.pooling
    pooled = job.scatter if job.shared else job.scatter.sum(axis=0) if share > 0 else None
    tasks: list[tuple[int, Codes]] = []
    size = rows_within(8 * job.d**2)
    for c in [0] if job.shared else range(k):
        index: Codes = np.arange(len(job.rows)) if job.everyone else np.flatnonzero(job.codes == c)
        tasks += [(c, index[part]) for part in row_chunks(len(index), size)]

    def work(task: tuple[int, Codes]) -> tuple[Array, Flags]:
        c, index = task
        if job.shared:
            assert pooled is not None
            return _block(job, pooled, index, None)
        scatter = job.scatter[c] if pooled is None else (1.0 - share) * job.scatter[c] + share * pooled
        return _block(job, scatter, index, c)

    results = parallel_map(work, tasks, cost=float(len(tasks)) * size * job.d**3)
    for (c, index), (found, right) in zip(tasks, results, strict=True):
        if job.shared:
            scores[index] = found
        else:
            scores[index, c] = found[:, 0]
        sure[index] &= right
    return scores, sure


def _block(job: Leaving, scatter: Array, index: Codes, c: int | None) -> tuple[Array, Flags]:
    """Return log densities (b, 1) of class `c` (None, for a shared covariance: of all classes, (b, k))."""
    rows, codes, d = job.rows[index], job.codes[index], job.d
    _, h, factor = job.own(index)
    away = rows - job.mean[codes]
    beta = h if c is None else np.where(codes == c, h, job.shrinkage.pooling * h)
    outer = away[:, :, None] * (beta[:, None] * away)[:, None, :]
    covariance = scatter - outer
    kept = np.diagonal(covariance, axis1=1, axis2=2) / np.diagonal(scatter)
    right = kept.min(axis=1) > LEAST_KEPT
    covariance[~right] = scatter
    covariance /= job.divisors_without(index, c)[:, None, None]
    right &= _shrink(job, covariance, _row_weight(job, index, c))
    variance = np.diagonal(covariance, axis1=1, axis2=2).copy()
    sd = np.sqrt(variance)
    covariance /= sd[:, :, None]
    covariance /= sd[:, None, :]
    lower, positive = _factors(covariance)
    right &= positive
    means = job.mean if c is None else job.mean[c : c + 1]
    own = np.arange(len(job.mean))[None] == codes[:, None] if c is None else (codes == c)[:, None]
    residual = rows[:, None, :] - means
    residual *= np.where(own, factor[:, None], 1.0)[:, :, None]
    residual /= sd[:, None, :]
    squares = _squares(lower, residual)
    log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) + np.log(variance).sum(axis=1)
    return -0.5 * (squares + log_det[:, None] + d * LOG_2PI), right


def _row_weight(job: Leaving, index: Codes, c: int | None) -> Array:
    """Return the weight behind the covariance without each row (b,)."""
    if c is None:
        return np.asarray(job.count.sum() - job.weight[index])
    return np.where(job.codes[index] == c, job.own(index)[0], job.count[c])


def _shrink(job: Leaving, covariance: Array, weight: Array) -> Flags:
    """Shrink covariances (b, d, d) in place as the settings ask; return where that needs no further repair."""
    rule = job.shrinkage
    variance = np.diagonal(covariance, axis1=1, axis2=2).copy()
    diagonal = np.arange(job.d)
    if rule.spherical_target:
        amount = rule.amount or 0.0
        mean = variance.mean(axis=1, keepdims=True)
        covariance *= 1.0 - amount
        covariance[:, diagonal, diagonal] += amount * mean
        drawn = covariance[:, diagonal, diagonal]
        return np.asarray(amount * mean[:, 0] > 2.0 * USABLE * drawn.max(axis=1))
    if rule.rule == "oas":
        amounts = _oas_amounts(covariance, variance, weight)
    else:
        amounts = np.full(len(covariance), rule.amount or 0.0)
    covariance *= (1.0 - amounts)[:, None, None]
    covariance[:, diagonal, diagonal] = variance
    return np.asarray(amounts > USABLE)


def _oas_amounts(covariance: Array, variance: Array, weight: Array) -> Array:
    scaled = covariance / np.sqrt(variance)[:, :, None]
    scaled /= np.sqrt(variance)[:, None, :]
    squares = np.einsum("bij,bij->b", scaled, scaled)
    d = covariance.shape[1]
    return np.array([oas_amount(d, float(s), float(w)) for s, w in zip(squares, weight, strict=True)])


def _factors(matrices: Array) -> tuple[Array, Flags]:
    """Return lower Cholesky factors (b, d, d), and which matrices are positive definite; the others give I."""
    positive: Flags = np.ones(len(matrices), dtype=bool)
    try:
        return np.asarray(np.linalg.cholesky(matrices)), positive
    except np.linalg.LinAlgError:
        factors = np.empty_like(matrices)
        for i, matrix in enumerate(matrices):
            try:
                factors[i] = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                factors[i], positive[i] = np.eye(len(matrix)), False
        return factors, positive


def _squares(lower: Array, residual: Array) -> Array:
    """Return |L⁻¹ r|² (b, m) of residuals (b, m, d), by forward substitution in all blocks at once."""
    solved = np.empty_like(residual)
    for j in range(lower.shape[1]):
        known = np.matmul(solved[:, :, :j], lower[:, j, :j, None])[:, :, 0]
        solved[:, :, j] = (residual[:, :, j] - known) / lower[:, j, j, None]
    return np.asarray(np.einsum("bmd,bmd->bm", solved, solved))
