"""Leave-one-out of Gaussians by downdates: closed forms, and when they can be trusted.

They may where no single row can bring a variance or an eigenvalue near the point where an estimate is repaired; any
other row is left out by a refit, so that the answer is what the library says of the other rows.

Without a row x of weight w of class c, with δ = x − m_c and left = n_c − w:
n_c' = left, m_c' = m_c − (w / left) δ, S_c' = S_c − h δδᵀ with h = w n_c / left, and x − m_c' = (n_c / left) δ.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Codes, Flags, np, parallel_each, parallel_map, row_chunks, rows_within
from ..densities import Full, Gaussian, Spherical
from ..densities.covariance import FLOOR, ROUNDING, USABLE, far_apart
from ..densities.gaussian import LOG_2PI
from ..estimate import Settings
from ..estimate.families import GaussianFamily
from ..estimate.priors import Shrinkage, oas_amount
from ..stats import GaussianStats
from ..stats.pooling import Pool, divisors, mixed_divisors, total_variance

LEAST_KEPT = 1e-3  # share of a sum of squares that must remain without the row: below, a formula loses digits
ROOM = 1e4  # how far above the floors of an estimate variances must be, so that no single row brings them there
EMPTY = 1e-9  # of the weight of a class: what is left below this is rounding


@dataclass(frozen=True, slots=True)
class Leaving:
    """Rows (n, d) of the columns in use, one of which leaves at a time, and the statistics it leaves.

    `codes` (n,) are class numbers, `weight` (n,) row weights; `count` (k,), or (k, d) by column for independent
    columns, and `mean` (k, d) those of the statistics; `scatter` (k, d, d), (d, d) or (k, d).
    """

    rows: Array
    codes: Codes
    weight: Array
    count: Array
    mean: Array
    scatter: Array
    shrinkage: Shrinkage
    rule: str
    shared: bool

    @property
    def d(self) -> int:
        """The number of columns in use."""
        return int(self.rows.shape[1])

    @property
    def share(self) -> float:
        """How much of what leaves its own class's scatter also leaves those of others."""
        return 1.0 if self.shared else self.shrinkage.pooling

    def tasks(self, size: int) -> list[tuple[int, Codes, Codes]]:
        """Return a class, the classes whose densities its rows leave, and numbers of at most so many of these rows."""
        found, every = list[tuple[int, Codes, Codes]](), np.arange(len(self.mean))
        for c in range(len(every)):
            index = np.flatnonzero(self.codes == c)
            leaves = every if self.share > 0 else every[[c]]
            found += [(c, leaves, index[part]) for part in row_chunks(len(index), size)]
        return found

    def own(self, index: slice | Codes) -> tuple[Array, Array, Array]:
        """Return, for some rows (b,), what is left of the class's weight (not above 0: none), h, and n_c / left."""
        count, w = self.count[self.codes[index]], self.weight[index]
        left = count - w
        left = np.where(left > EMPTY * count, left, 0.0)
        safe = np.where(left > 0, left, 1.0)
        return left, np.where(left > 0, w * count / safe, 0.0), np.where(left > 0, count / safe, 1.0)

    def divisors(self, index: slice | Codes, c: int | Codes, less: bool = True) -> Array:
        """Return what the sums of squares of class `c`, one or (b,), are divided by without each row, or with all."""
        w = self.weight[index] if less else np.zeros(1)
        total, means = self.count.sum() - w, (self.count > 0).sum()
        if self.shared:
            return divisors(total, means, self.rule)
        left = np.where((self.codes[index] == c) & less, self.own(index)[0], self.count[c])
        return mixed_divisors(left, Pool(total, means, self.shrinkage.pooling), self.rule)


def without_row(
    rows: Array,
    codes: Codes,
    weight: Array,
    stats: GaussianStats,
    density: Gaussian,
    family: GaussianFamily,
    settings: Settings,
) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for."""
    keep, values, count = list(density.used), stats.scatter.values, stats.weight
    if len(keep) < rows.shape[1]:
        values = values[..., keep, :][..., keep] if count.ndim == 1 else values[:, keep]
        count = count if count.ndim == 1 else count[:, keep]
    own = rows if len(keep) == rows.shape[1] else rows[:, keep]
    about = stats.mean[:, keep], values, settings.shrinkage, settings.divisor, family.shared
    job = Leaving(own, codes, weight, count, *about)
    if family.structure is not Full:
        return _without_row_of_columns(job, family.structure is Spherical, density.log_density(rows))
    if settings.shrinkage.amount or settings.shrinkage.rule:
        return _without_row_of_shrunk(job, density.log_density(rows))
    assert isinstance(density.covariance, Full)
    return _without_row_of_full(job, density.covariance)


def comfortable(stats: GaussianStats, density: Gaussian, settings: Settings, shared: bool) -> bool:
    """Return whether no variance is near a floor of the estimate, with all rows or without any one of them.

    A row of which at most the share 1 − LEAST_KEPT of any sum of squares leaves cannot bring it there either.
    """
    weight = stats.column_weight()
    squares, used = stats.scatter.diagonal(len(weight)), list(density.used)
    rounding = (ROUNDING * np.abs(stats.mean).max(axis=0, initial=0.0)) ** 2
    total = total_variance(stats.mean, weight, squares)
    pooled = squares.sum(axis=0) / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    share = settings.shrinkage.pooling
    if not used or np.delete(total > rounding / 16.0, used).any():
        return False
    if not (weight > 0).all():
        return False
    squares, weight, pooled, rounding = (part[..., used] for part in (squares, weight, pooled, rounding))
    sums, counts = squares, weight
    if isinstance(density.covariance, Spherical):
        if (pooled <= rounding / FLOOR).any():
            return False
        pooled = pooled.mean(keepdims=True)
        sums, counts, rounding = squares.sum(axis=1)[:, None], weight.sum(axis=1)[:, None], np.zeros(1)
    if shared:
        sums, counts = sums.sum(axis=0), counts.sum(axis=0)
    sums, counts = ((1.0 - share) * part + share * part.sum(axis=0) for part in (sums, counts))
    return bool((sums > counts * np.maximum(ROOM * FLOOR * pooled, rounding / FLOOR)).all())


# --- independent columns and spheres ---------------------------------------------------------------------------------


def _without_row_of_columns(job: Leaving, sphere: bool, scores: Array) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    Columns are independent, and with a `sphere` have one variance. `scores` (n, k) are those of the estimate with all
    rows, kept where the row is in no way part of the density.
    """
    sure = np.ones(len(job.rows), dtype=bool)

    def work(task: tuple[int, Codes, Codes]) -> None:
        _, classes, index = task
        scores[np.ix_(index, classes)], sure[index] = _columns(job, sphere, *task)

    parallel_each(work, job.tasks(rows_within(48 * job.d, least=64)), cost=20.0 * job.rows.size)
    return scores, sure


def _columns(job: Leaving, sphere: bool, own: int, classes: Codes, index: Codes) -> tuple[Array, Flags]:
    """Return log densities (b, len(classes)) of rows of the class `own`: sums of squares without each, and divided."""
    rows, w = job.rows[index], job.weight[index, None]
    missing = np.isnan(rows)
    holes = bool(missing.any())
    if holes:
        rows, w = np.where(missing, 0.0, rows), np.where(missing, 0.0, w)
    elif (w == w[:1]).all():  # the same factors for all rows
        w = w[:1]
    count = job.count[own]
    left = np.maximum(count - w, 0.0)
    factor = count / np.where(left > 0, left, 1.0)

    def of_cells(values: Array) -> Array:
        return values.sum(axis=-1, keepdims=True) if sphere else values

    away = rows - job.mean[own]
    lost = away * away
    lost *= w * factor
    scatter, means = job.scatter, (job.count > 0).astype(np.float64)
    pool = Pool(of_cells(job.count.sum(axis=0) - w), of_cells(means.sum(axis=0)), job.shrinkage.pooling)
    sure = np.repeat((left > 0).all(axis=1), len(rows) // len(left))
    if sphere:  # a column that does not vary is left out
        sure &= (lost <= (1.0 - LEAST_KEPT) * scatter.sum(axis=0)).all(axis=1)

    def precisions(c: int) -> tuple[Array, Array]:
        sums = of_cells((1.0 - job.share) * scatter[c] + job.share * scatter.sum(axis=0))
        leaves = of_cells(lost if c == own or job.shared else job.share * lost)
        if job.shared:
            divisor = divisors(pool.weight, pool.means, job.rule)
        else:
            divisor = mixed_divisors(of_cells(left if c == own else job.count[c]), pool, job.rule, of_cells(means)[c])
        np.logical_and(sure, (leaves <= (1.0 - LEAST_KEPT) * sums).all(axis=1), out=sure)
        variance = np.where(leaves < sums, sums - leaves, sums) / divisor
        if job.shrinkage.spherical_target and job.shrinkage.amount:
            amount = job.shrinkage.amount
            variance = (1.0 - amount) * variance + amount * variance.mean(axis=1, keepdims=True)
        logs = np.log(variance) + LOG_2PI
        if holes:
            return np.where(missing, 0.0, 1.0 / variance), np.where(missing, 0.0, logs).sum(axis=1)
        return 1.0 / variance, logs.sum(axis=1) * (job.d if sphere else 1)

    scores = np.empty((len(rows), len(classes)))
    for part in [slice(None)] if job.shared else [slice(i, i + 1) for i in range(len(classes))]:  # of one variance
        some = classes[part]
        precision, logs = precisions(int(some[0]))
        scores[:, part] = _squared_lengths(rows, job.mean[some], job.mean[own], precision)
        if own in some:
            left_out = away * factor
            scores[:, own - classes[0]] = np.einsum("nd,nd->n", left_out, left_out * precision)
        scores[:, part] += logs[:, None]
    scores *= -0.5
    return scores, np.asarray(sure)


def _squared_lengths(rows: Array, means: Array, own: Array, precision: Array) -> Array:
    """Return Σ (x − m)² p (b, m) from rows (b, d), means (m, d) and precisions (b, d or 1) of each row.

    Several means are moved to `own` (d,), that of the rows' class, and squares are expanded, unless they are too far.
    """
    shift = means - own
    if len(means) == 1 or far_apart(shift * np.sqrt(precision.max(axis=0))):
        away = (rows - mean for mean in means)
        return np.stack([np.einsum("nd,nd->n", part, part * precision) for part in away], axis=1)
    centered = rows - own
    weighted = centered * precision
    lengths = np.einsum("nd,nd->n", centered, weighted)[:, None] - 2.0 * weighted @ shift.T
    return np.asarray(lengths + np.broadcast_to(precision, rows.shape) @ (shift * shift).T)


# --- full covariances as they are ------------------------------------------------------------------------------------


def _without_row_of_full(job: Leaving, covariance: Full) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    With A the scatter of a covariance (own, shared, or partly pooled), A' = A − β δδᵀ,
    rᵀA'⁻¹r = rᵀA⁻¹r + β (rᵀA⁻¹δ)² / (1 − β δᵀA⁻¹δ) and log|A'| = log|A| + log(1 − β δᵀA⁻¹δ),
    (Sherman & Morrison 1950, doi:10.1214/aoms/1177729893): all it takes is the distances of the rows from the means.
    They are not right where what is left is nearly singular, so that removing the row might call for a repair.
    """
    scores = covariance.distances(job.rows, job.mean)
    n, k = scores.shape
    every = np.arange(n)
    own = every, job.codes
    left, h, factor = job.own(slice(None))
    before = np.concatenate([job.divisors(slice(1), c, less=False) for c in range(k)])
    if job.share > 0:
        beta = np.repeat(job.share * h[:, None], k, axis=1)
        beta[own] = h
        cross, length = _products(job, covariance, scores)
        kept = 1.0 - beta * length / before
        safe = np.where(kept > 0, kept, 1.0)
        updated = (scores + beta / before * cross**2 / safe) / before
        updated[own] = factor**2 * scores[own] / (before * safe)[own]
        of_each = [job.divisors(every, c)[:, None] for c in range(1 if job.shared else k)]
        after = np.concatenate(of_each, axis=1)
        scores = updated * after + np.log(safe) + job.d * np.log(before / after)
        least, usable = kept.min(axis=1), (kept / covariance.trace).min(axis=1)
    else:  # the classes of other rows stay as they are
        before, after, length = before[job.codes], job.divisors(every, job.codes), scores[own]
        least = 1.0 - h * length / before
        safe = np.where(least > 0, least, 1.0)
        scores[own] = after * factor**2 * length / (before * safe) + np.log(safe) + job.d * np.log(before / after)
        usable = least / covariance.trace[job.codes]
    scores += covariance.log_det + job.d * LOG_2PI
    scores *= -0.5
    return scores, np.asarray((left > 0) & (least > LEAST_KEPT) & (usable > USABLE))


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


# --- full covariances, shrunk ----------------------------------------------------------------------------------------


def _without_row_of_shrunk(job: Leaving, scores: Array) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    A row changes the diagonal that its covariance is drawn to (and, for a rule, the amount), which is no change of low
    rank. Scatters without the row are made, shrunk and factored for a block of rows at a time, O(d³) for each row.
    `scores` (n, k) are those of the estimate with all rows, kept where the row is in no way part of the density.
    """
    sure, size = job.own(slice(None))[0] > 0, rows_within(8 * job.d**2)
    tasks = job.tasks(size)
    if not job.shared:  # each has a covariance of its own
        tasks = [(own, classes[[i]], index) for own, classes, index in tasks for i in range(len(classes))]
    found = parallel_map(lambda task: _shrunk(job, *task), tasks, cost=float(len(tasks)) * size * job.d**3)
    for (_, classes, index), (part, right) in zip(tasks, found, strict=True):
        scores[np.ix_(index, classes)] = part
        sure[index] &= right
    return scores, sure


def _shrunk(job: Leaving, own: int, classes: Codes, index: Codes) -> tuple[Array, Flags]:
    """Return log densities (b, len(classes)) of rows of the class `own` under classes of one covariance."""
    rows, c = job.rows[index], int(classes[0])
    left, h, factor = job.own(index)
    pooled = job.scatter if job.shared else job.scatter.sum(axis=0)
    scatter = pooled if job.shared else (1.0 - job.share) * job.scatter[c] + job.share * pooled
    away = rows - job.mean[own]
    beta = h if job.shared or c == own else job.share * h
    covariance = scatter - away[:, :, None] * (beta[:, None] * away)[:, None, :]
    sure = (np.diagonal(covariance, axis1=1, axis2=2) / np.diagonal(scatter)).min(axis=1) > LEAST_KEPT
    covariance[~sure] = scatter
    covariance /= job.divisors(index, c)[:, None, None]
    other = np.broadcast_to(job.count[c], left.shape)
    weight = job.count.sum() - job.weight[index] if job.shared else left if c == own else other
    sure &= _shrink(job, covariance, weight)
    residual = rows[:, None, :] - job.mean[classes]
    residual[:, classes == own] *= factor[:, None, None]
    squares, log_det, positive = squares_under(covariance, residual)
    return -0.5 * (squares + log_det[:, None] + job.d * LOG_2PI), np.asarray(sure & positive)


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
    amounts = np.full(len(covariance), rule.amount or 0.0)
    if rule.rule == "oas":
        scaled = covariance / np.sqrt(variance)[:, :, None] / np.sqrt(variance)[:, None, :]
        squares = np.einsum("bij,bij->b", scaled, scaled)
        amounts = np.array([oas_amount(job.d, float(s), float(w)) for s, w in zip(squares, weight, strict=True)])
    covariance *= (1.0 - amounts)[:, None, None]
    covariance[:, diagonal, diagonal] = variance
    return np.asarray(amounts > USABLE)


def squares_under(matrices: Array, residual: Array) -> tuple[Array, Array, Flags]:
    """Return rᵀA⁻¹r (b, m) of residuals (b, m, d), log|A| (b,), and which A (b, d, d) are positive definite.

    Those that are not count as I, in units of the roots of their diagonals; forward substitution is for all blocks.
    """
    variance = np.diagonal(matrices, axis1=1, axis2=2)
    sd, positive = np.sqrt(variance), np.ones(len(matrices), dtype=bool)
    scaled = matrices / sd[:, :, None] / sd[:, None, :]
    try:
        lower = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        lower = np.tile(np.eye(matrices.shape[1]), (len(matrices), 1, 1))
        for i, matrix in enumerate(scaled):
            try:
                lower[i] = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                positive[i] = False
    residual, solved = residual / sd[:, None, :], np.empty_like(residual)
    for j in range(lower.shape[1]):
        known = np.matmul(solved[:, :, :j], lower[:, j, :j, None])[:, :, 0]
        solved[:, :, j] = (residual[:, :, j] - known) / lower[:, j, j, None]
    log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) + np.log(variance).sum(axis=1)
    return np.asarray(np.einsum("bmd,bmd->bm", solved, solved)), log_det, positive
