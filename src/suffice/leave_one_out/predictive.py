"""Leave-one-out of the posterior predictive under a conjugate prior.

Without row i its class has another weight, mean and scatter (see `leaving`), the scatter within classes loses
h δδᵀ, and the prior covariance B, which is made from the rows, changes in every entry of its diagonal: so each row
has a factor of its own for every class, but no refit. What is summed is what `estimate.predictive` sums, by its
formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arrays import IN_MEMORY, Array, Codes, Flags, np, row_chunks, rows_within, single_blas_thread
from ..densities import Diagonal, Full, MultivariateT, StudentT
from ..densities.covariance import FLOOR, ROUNDING, USABLE
from ..densities.gaussian import LOG_2PI
from ..densities.student import log_t_constant, t_decay
from ..estimate.families import GaussianFamily
from ..estimate.predictive import balance, posterior_weight, prior_target
from ..estimate.priors import NormalInverseWishart
from ..stats import GaussianStats
from ..stats.pooling import divisors
from .downdate import EMPTY, LEAST_KEPT, squares_under

ROOM = 4.0  # how far above the point where an estimate is repaired what a row leaves must be


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left without each of b rows, in the p columns that have a density; x̄_k and all below by row first.

    `weight`, `mean`, `squares` are (b, k, p); `within` and `total` (b, p) the variances within classes and of all rows,
    `free` (b, p) N − K; `location`, `kappa` and `pulled` (b, k, p) as in `bayes`; `change` (b,) is h and `delta` (b, p)
    δ, zero where a cell is missing; `kept` (b,) the least share of a sum of squares that is left.
    """

    weight: Array
    squares: Array
    within: Array
    total: Array
    free: Array
    location: Array
    kappa: Array
    pulled: Array
    change: Array
    delta: Array
    sure: Flags


def without_row(
    rows: Array,
    codes: Codes,
    weight: Array,
    stats: GaussianStats,
    density: MultivariateT | StudentT,
    family: GaussianFamily,
    prior: NormalInverseWishart,
) -> tuple[Array, Flags]:
    """Return log densities (n, k) in nats of each row under estimates without it, and which rows they are right for.

    They are not where a class loses its last value, or where removing the row might call for a repair.
    """
    scores, sure = np.zeros((len(rows), len(stats.mean))), np.zeros(len(rows), dtype=bool)
    used = list(density.used)
    if not is_regular(stats, used):
        return scores, sure
    job = _Job(rows[:, used], codes, weight, stats, used, family, prior)
    cells = len(scores[0]) * len(used) * (len(used) if family.structure is Full else 1)
    with single_blas_thread():
        for part in row_chunks(len(rows), rows_within(16 * cells, IN_MEMORY)):
            scores[part], sure[part] = job.scores(part)
    return scores, sure


def is_regular(stats: GaussianStats, used: list[int]) -> bool:
    """Return whether every class has values of every column in use, and the others do not vary at all."""
    weight = stats.column_weight()
    if not used or not (weight[:, used] > 0).all():
        return False
    other = np.setdiff1d(np.arange(weight.shape[1]), used)
    return not stats.scatter.diagonal(len(weight))[:, other].any() and not np.ptp(stats.mean[:, other], axis=0).any()


class _Job:
    """The statistics of the columns in use, and the rows that leave them."""

    def __init__(
        self,
        rows: Array,
        codes: Codes,
        weight: Array,
        stats: GaussianStats,
        used: list[int],
        family: GaussianFamily,
        prior: NormalInverseWishart,
    ) -> None:
        self.rows, self.codes, self.row_weight, self.family, self.prior = rows, codes, weight, family, prior
        self.count, self.mean = stats.column_weight()[:, used], stats.mean[:, used]
        self.squares = stats.scatter.diagonal(len(stats.mean))[:, used]
        self.center = (self.count * self.mean).sum(axis=0) / self.count.sum(axis=0)
        self.rounding = (ROUNDING * np.abs(self.mean).max(axis=0)) ** 2
        self.fixed_mean = None if prior.mean is None else np.asarray(prior.mean)[used]
        scale = None if prior.scale is None else np.asarray(prior.scale, dtype=np.float64)
        self.scale = None if scale is None else scale[used] if scale.ndim == 1 else scale[np.ix_(used, used)]
        if family.structure is Full:
            values = stats.scatter.values
            self.scatter = values[..., used, :][..., used]
            self.pooled = self.scatter if values.ndim == 2 else self.scatter.sum(axis=0)

    @property
    def one(self) -> bool:
        """Whether all classes have one covariance."""
        return self.family.shared or self.prior.strength == np.inf

    def scores(self, part: slice) -> tuple[Array, Flags]:
        """Return log densities (b, k) of some rows, each without itself, and which may be believed."""
        left = self._left(part)
        seen, cells = ~np.isnan(self.rows[part]), self.rows[part]
        apart = np.where(seen[:, None], cells[:, None] - left.location, 0.0)
        inflation = 1.0 + 1.0 / left.kappa
        if self.family.structure is Full:
            return self._joint(left, apart, inflation[:, :, 0], part)
        return self._separate(left, apart, inflation, seen)

    def _left(self, part: slice) -> _Left:
        rows, codes, w = self.rows[part], self.codes[part], self.row_weight[part]
        every, seen = np.arange(len(rows)), ~np.isnan(rows)
        delta = np.where(seen, rows - self.mean[codes], 0.0)
        own = self.count[codes]
        rest = own - w[:, None] * seen
        some = rest > EMPTY * own
        safe = np.where(some, rest, 1.0)
        change = w[:, None] * seen * own / safe  # h, by column
        weight = np.repeat(self.count[None], len(rows), axis=0)
        weight[every, codes] = np.where(some, rest, 0.0)
        mean = np.repeat((self.mean - self.center)[None], len(rows), axis=0)
        mean[every, codes] -= w[:, None] * delta / safe
        squares = np.repeat(self.squares[None], len(rows), axis=0)
        at = codes if squares.shape[1] > 1 else np.zeros_like(codes)
        before = squares[every, at]
        squares[every, at] = before - change * delta**2
        kept = np.where(before > 0, squares[every, at] / np.where(before > 0, before, 1.0), 1.0).min(axis=1)
        entire = weight.sum(axis=1)
        free = divisors(entire, (weight > 0).sum(axis=1), "unbiased")
        grand = (weight * mean).sum(axis=1) / entire
        total = (squares.sum(axis=1) + (weight * (mean - grand[:, None]) ** 2).sum(axis=1)) / entire
        within = squares.sum(axis=1) / free
        kappa, strength = posterior_weight(self.prior, weight), float(self.prior.mean_strength)
        about = grand[:, None] if self.fixed_mean is None else (self.fixed_mean - self.center)
        away = mean - about
        location = self.center + (about + weight / kappa * away if strength > 0 else mean)
        pulled = away * np.sqrt(strength * weight / kappa)
        varies = np.ones(len(rows), dtype=bool)
        if self.scale is None:
            varies = (within > ROOM * np.maximum(self.rounding, FLOOR * total)).all(axis=1)
        sure = some.all(axis=1) & (kept > LEAST_KEPT) & varies
        h = np.where(some.all(axis=1), w * own[:, 0] / safe[:, 0], 0.0)
        if self.scale is not None:
            variances = self.scale if self.scale.ndim == 1 else np.diagonal(self.scale)
            within = total = np.broadcast_to(variances, within.shape)
        return _Left(weight, squares, within, total, free, location, kappa, pulled, h, delta, sure)

    def _together(self, by_class: Array) -> Array:
        """Return sums by covariance (b, g, …): of all classes if they share one, else as they are."""
        return by_class.sum(axis=1, keepdims=True) if self.one else by_class

    # --- joint columns -----------------------------------------------------------------------------------------------

    def _joint(self, left: _Left, apart: Array, inflation: Array, part: slice) -> tuple[Array, Flags]:
        p, k, prior = apart.shape[2], apart.shape[1], self.prior
        rows_of = self._together(left.weight[:, :, 0])
        counted = self._together((left.weight[:, :, 0] > 0).astype(np.float64))
        found = balance(prior, rows_of, counted, left.free[:, :1], p)
        sure = left.sure & (found.df.min(axis=1) > 0)
        strength, own, divisor = (
            np.broadcast_to(values, rows_of.shape) for values in (found.strength, found.own, found.divisor)
        )
        base, least = self._base(left)
        lost = left.change[:, None, None] * left.delta[:, :, None] * left.delta[:, None, :]
        codes, scores = self.codes[part], np.empty(apart.shape[:2])
        for g in range(rows_of.shape[1]):
            matrix = strength[:, g, None, None] * base
            if own[:, g].any():
                scatter = self.pooled if self.one else self.scatter[g]
                mine = np.ones(len(codes)) if self.one else (codes == g).astype(np.float64)
                pulled = left.pulled if self.one else left.pulled[:, g : g + 1]
                matrix += own[:, g, None, None] * (
                    scatter - mine[:, None, None] * lost + pulled.transpose(0, 2, 1) @ pulled
                )
            matrix /= divisor[:, g, None, None]
            usable = _is_usable(matrix, least * strength[:, g, None] / divisor[:, g, None], left.within, left.total)
            matrix[~(usable & sure)] = np.eye(p)
            sure &= usable
            members = range(k) if self.one else (g,)
            df = np.broadcast_to(found.df, rows_of.shape)[:, g]
            for c, scored in zip(
                members, _scores(matrix, apart[:, list(members)], inflation, df, members), strict=True
            ):
                scores[:, c] = scored
        return scores, sure

    def _base(self, left: _Left) -> tuple[Array, Array]:
        """Return B (b, p, p), and a diagonal (b, p) that it exceeds by a positive semi-definite matrix."""
        if self.scale is not None:
            given = np.diag(self.scale) if self.scale.ndim == 1 else self.scale
            shape = (len(left.delta), *given.shape)
            diagonal = self.scale if self.scale.ndim == 1 else np.zeros(len(given))
            return np.broadcast_to(given, shape), np.broadcast_to(diagonal, shape[:2])
        target = (1.0 - self.prior.pooled) * prior_target(left.within, left.total, self.prior)
        lost = left.change[:, None, None] * left.delta[:, :, None] * left.delta[:, None, :]
        base = self.prior.pooled / left.free[:, :1, None] * (self.pooled - lost)
        index = np.arange(target.shape[1])
        base[:, index, index] += target
        return base, target

    # --- independent columns and spheres -----------------------------------------------------------------------------

    def _separate(self, left: _Left, apart: Array, inflation: Array, seen: Flags) -> tuple[Array, Flags]:
        p, prior, cells = apart.shape[2], self.prior, left.weight
        counted = (cells > 0).astype(np.float64)
        squares = (
            left.squares if left.squares.shape[1] > 1 and not self.one else left.squares.sum(axis=1, keepdims=True)
        )
        own = squares + self._together(left.pulled**2)
        if self.family.structure is Diagonal:
            found = balance(prior, self._together(cells), self._together(counted), left.free[:, None], 1)
            base, reference = left.within, left.total if self.scale is not None else left.within
            if self.scale is None:
                base = prior.pooled * base + (1.0 - prior.pooled) * prior_target(base, left.total, prior)
            variance = (found.strength * base[:, None] + found.own * own) / found.divisor
            sure = left.sure & (found.df > 0).all(axis=(1, 2))
            sure &= (variance > ROOM * FLOOR * reference[:, None]).all(axis=(1, 2))
            shape, df = variance * inflation, np.broadcast_to(found.df, own.shape)
            shape, df = np.where(sure[:, None, None], shape, 1.0), np.where(sure[:, None, None], df, 1.0)
            each = log_t_constant(df, 1) - 0.5 * (np.log(shape) + LOG_2PI) - t_decay(apart**2 / shape, df, 1)
            return np.asarray(np.where(seen[:, None], each, 0.0).sum(axis=2)), sure
        free = left.free.sum(axis=1)[:, None]
        rows_of, means = self._together(cells.sum(axis=2)), self._together(counted.sum(axis=2))
        found = balance(prior, rows_of, means, free, 1, p)
        base = (
            left.within.mean(axis=1) if self.scale is not None else (left.free * left.within).sum(axis=1) / free[:, 0]
        )
        variance = (found.strength * base[:, None] + found.own * own.sum(axis=2)) / found.divisor
        sure = left.sure & (found.df > 0).all(axis=1)
        sure &= (variance > ROOM * FLOOR * left.within.mean(axis=1)[:, None]).all(axis=1)
        shape = np.where(sure[:, None, None], variance[:, :, None] * inflation, 1.0)
        df = np.where(sure[:, None], np.broadcast_to(found.df, rows_of.shape), 1.0)
        log_det = np.where(seen[:, None], np.log(shape) + LOG_2PI, 0.0).sum(axis=2)
        number = seen.sum(axis=1)
        scores = np.empty(apart.shape[:2])
        for o in np.unique(number):
            at = number == o
            decay = t_decay((apart[at] ** 2 / shape[at]).sum(axis=2), df[at], int(o))
            scores[at] = log_t_constant(df[at], int(o)) - 0.5 * log_det[at] - decay
        return scores, sure


def _scores(matrix: Array, apart: Array, inflation: Array, df: Array, members: Sequence[int]) -> list[Array]:
    """Return log t (b,) of each of some classes: scale matrices (b, p, p), distances (b, m, p), ν (b,)."""
    p, safe = matrix.shape[1], np.where(df > 0, df, 1.0)
    squares, log_det, _ = squares_under(matrix, apart)
    found = []
    for i, c in enumerate(members):
        wide = inflation[:, c]
        constant = log_t_constant(safe, p) - 0.5 * (log_det + p * (np.log(wide) + LOG_2PI))
        found.append(np.asarray(constant - t_decay(squares[:, i] / wide, safe, p)))
    return found


def _is_usable(matrix: Array, floor: Array, within: Array, total: Array) -> Flags:
    """Return which scale matrices (b, p, p) need no repair: no variance vanishes, and none is nearly singular.

    They exceed diag(floor) (b, p), which bounds the eigenvalues of their correlations from below. Where that does not
    settle it they are computed.
    """
    variance = np.diagonal(matrix, axis1=1, axis2=2)
    usable = np.asarray((variance > ROOM * FLOOR * within).all(axis=1))
    usable &= np.isfinite(matrix).all(axis=(1, 2))  # rows that were never learned may leave anything
    safe = np.where(variance > 0, variance, 1.0)
    doubtful = np.flatnonzero(usable & ((floor / safe).min(axis=1) < ROOM * USABLE))
    if len(doubtful):
        sd = np.sqrt(safe[doubtful])
        lowest = np.linalg.eigvalsh(matrix[doubtful] / sd[:, :, None] / sd[:, None, :])[:, 0]
        usable[doubtful] = lowest > ROOM * USABLE
    return usable
