"""Leave-one-out of full covariances by rank-one downdates.

With A the scatter of a covariance (own, shared, or partly pooled), A' = A − β δδᵀ,
rᵀA'⁻¹r = rᵀA⁻¹r + β (rᵀA⁻¹δ)² / (1 − β δᵀA⁻¹δ) and log|A'| = log|A| + log(1 − β δᵀA⁻¹δ),
(Sherman & Morrison 1950, doi:10.1214/aoms/1177729893): all it takes is the distances of the rows from the means.
"""

from __future__ import annotations

from .._arrays import Array, np
from ..densities import Full
from ..densities.gaussian import LOG_2PI
from ..densities.regularize import USABLE
from .downdate import LEAST_KEPT, Flags, Leaving


def without_row(job: Leaving, covariance: Full) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    They are not where removing the row might call for a repair: where what is left is nearly singular.
    """
    distances = covariance.distances(job.rows, job.mean)
    if job.everyone:
        kept, scores = _all_classes(job, covariance, distances)
        least = kept.min(axis=1)
        usable = (kept / covariance.trace).min(axis=1)
    else:
        kept, scores = _own_class(job, covariance, distances)
        least, usable = kept, kept / covariance.trace[job.codes]
    scores += covariance.log_det + job.d * LOG_2PI
    scores *= -0.5
    sure = (job.own(slice(None))[0] > 0) & (least > LEAST_KEPT) & (usable > USABLE)
    return scores, np.asarray(sure)


def _own_class(job: Leaving, covariance: Full, distances: Array) -> tuple[Array, Array]:
    """Return 1 − h δᵀS⁻¹δ (n,), and distances (n, k) in which those from the own class leave the row out."""
    every = np.arange(len(job.rows))
    _, h, factor = job.own(slice(None))
    before, after = job.divisors()[job.codes], job.divisors_without(slice(None))
    own = distances[every, job.codes] / before
    kept = 1.0 - h * own
    safe = np.where(kept > 0, kept, 1.0)
    ratio = np.where(after > 0, before / after, 1.0)
    distances[every, job.codes] = after * factor**2 * own / safe + np.log(safe) + job.d * np.log(ratio)
    return kept, distances


def _all_classes(job: Leaving, covariance: Full, distances: Array) -> tuple[Array, Array]:
    """Return 1 − β δᵀA⁻¹δ (n, k) and distances (n, k), for covariances to which every row adds."""
    n, k = distances.shape
    every, before = np.arange(n), job.divisors()
    _, h, factor = job.own(slice(None))
    beta = np.repeat(h[:, None], k, axis=1)
    if not job.shared:
        beta *= job.shrinkage.pooling
        beta[every, job.codes] = h
    cross, own = _products(job, covariance, distances)
    kept = 1.0 - beta * own / before
    safe = np.where(kept > 0, kept, 1.0)
    updated = (distances + beta / before * cross**2 / safe) / before
    updated[every, job.codes] = (factor**2) * distances[every, job.codes] / (before * safe)[every, job.codes]
    if job.shared:
        after = job.divisors_without(slice(None))[:, None]
    else:
        after = np.stack([job.divisors_without(slice(None), c) for c in range(k)], axis=1)
    updated *= after
    updated += np.log(safe) + job.d * np.log(before / after)
    return kept, updated


def _products(job: Leaving, covariance: Full, distances: Array) -> tuple[Array, Array]:
    """Return rᵀΣ_k⁻¹δ and δᵀΣ_k⁻¹δ (n, k), with r = x − m_k and δ = x − m_c = r + m_k − m_c."""
    n = len(distances)
    if job.shared:
        own = distances[np.arange(n), job.codes][:, None]
        apart = covariance.distances(job.mean, job.mean)
        return 0.5 * (distances + own - apart[job.codes]), own
    cross, own = np.empty_like(distances), np.empty_like(distances)
    factors = [covariance.whitener[:, k] for k in range(covariance.g)]
    for c, mean in enumerate(job.mean):
        index = np.flatnonzero(job.codes == c)
        if not len(index):
            continue
        white = np.stack([f @ shift for f, shift in zip(factors, job.mean - mean, strict=True)])
        direction = np.stack([v @ f for f, v in zip(factors, white, strict=True)])
        along = (job.rows[index] - mean) @ direction.T - (white**2).sum(axis=1)
        cross[index] = distances[index] + along
        own[index] = distances[index] + 2.0 * along + (white**2).sum(axis=1)
        own[index, c] = cross[index, c] = distances[index, c]
    return cross, own
