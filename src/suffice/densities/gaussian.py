"""One Gaussian per class over a block of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    Flags,
    np,
    parallel_each,
    pattern_groups,
    pattern_order,
    places_of,
    row_chunks,
    rows_within,
)
from .._arrays_api import DeviceArray, DeviceCache, answer_by_chunks, has_float64, namespace, place, put
from ..kernels.observed import ObservedDistances
from .covariance import FAR, Covariance, Diagonal, Full
from .density import NEAR, Density, Outcomes, Within, bells_within, gaussian_kernel, number_outcomes
from .leading import LEAST_CLASSES, Directions, is_worth_it, leading_distances

MANY = 128  # rows per pattern of missing cells below which patterns are computed together
NARROW_FAR = 1e3  # in the place of FAR where a device has no float64: squares cancel to four digits or so
LEADING = "leading"
LOG_2PI = float(np.log(2.0 * np.pi))

Spread = Callable[[Array, Sequence[int], Codes], Array]


@dataclass(frozen=True, slots=True)
class Gaussian(Density):
    """N(x; μ_k, Σ_k), or Σ for all: `means` (k, d) and a covariance structure over the `used` columns.

    Columns not in `used` never varied; they have no density and contribute nothing. `sent` holds the factors that other
    devices have been given, and the directions that tell which classes lead. `divisor` is what an estimate divided sums
    of squares and products by, (g,), or (g, used) where columns have their own; None unless the covariance is that
    quotient and nothing else.
    """

    means: Array
    covariance: Covariance
    used: tuple[int, ...]
    sent: DeviceCache = field(default_factory=DeviceCache, init=False, repr=False, compare=False)
    divisor: Array | None = field(default=None, repr=False, compare=False)

    def log_density(self, rows: Array) -> Array:
        """Return log N(x; μ_k, Σ_k), (n, k) in nats, of rows (n, d) with missing cells (NaN) integrated out.

        log N = −½ (d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)); with cells missing, the same formula with the
        rows and columns of μ and Σ that are observed. Rows that miss the same cells are computed together; where
        columns are independent given the class, a missing cell is a term less of a sum.
        """
        if isinstance(self.covariance, Diagonal):
            return self._sum_columns(rows, self.covariance)
        return self._integrated(rows, lambda cells: _scores(self.covariance, cells, self.means[:, self.used]))

    @property
    def has_leading(self) -> bool:
        return isinstance(self.covariance, Full) and self.covariance.g >= LEAST_CLASSES

    def leading_log_density(self, rows: Array, offset: Array) -> Array:
        """Return the same, or more for classes that cannot matter to posteriors, see `Density.leading_log_density`."""
        covariance, means = self.covariance, self.means[:, self.used]
        if not isinstance(covariance, Full) or not is_worth_it(covariance, len(rows)):
            return self.log_density(rows)
        if LEADING not in self.sent:
            self.sent[LEADING] = Directions.find(covariance, means)
        directions: Directions | None = self.sent[LEADING]
        if directions is None:
            return self.log_density(rows)
        constant = -0.5 * (covariance.log_det + means.shape[1] * LOG_2PI)

        def score(cells: Array) -> Array:
            scores = leading_distances(directions, covariance, cells, means, offset + constant)
            scores *= -0.5
            scores += constant
            return scores

        return self._integrated(rows, score)

    def _integrated(self, rows: Array, whole: Callable[[Array], Array]) -> Array:
        """Return log densities (n, k) of rows; `whole` gives those without missing cells, NaN for the others."""

        def score(cells: Array, columns: Sequence[int] | None) -> Array:
            if columns is None:
                return whole(cells)
            kept = [self.used[c] for c in columns]
            return _scores(self.covariance.marginal(columns), cells, self.means[:, kept])

        def together(cells: Array, alike: Flags) -> Array:
            assert isinstance(self.covariance, Full)
            squares, log_det = observed_distances(self.covariance, cells, alike, self.means[:, self.used])
            return np.asarray(-0.5 * (squares + log_det + (~np.isnan(cells)).sum(axis=1)[:, None] * LOG_2PI))

        return integrate_missing(rows, self.used, score, together if isinstance(self.covariance, Full) else None)

    def log_density_there(self, rows: DeviceArray) -> DeviceArray:
        """Return the same of complete rows on another device, there, if covariances are full."""
        if not isinstance(self.covariance, Full):
            return Density.log_density_there(self, rows)
        key = place(rows)
        if key not in self.sent:
            self.sent[key] = _scorer_on_device(self.covariance, self.means, self.used, rows)
        return answer_by_chunks(rows, len(self.means), self.sent[key], 2 * len(self.means))

    def _sum_columns(self, rows: Array, covariance: Diagonal) -> Array:
        rows, means = rows if len(self.used) == rows.shape[1] else rows[:, self.used], self.means[:, self.used]
        scores = _scores(self.covariance, rows, means)
        incomplete = np.flatnonzero(np.isnan(scores).any(axis=1))
        if len(incomplete):
            part = rows[incomplete]
            squares = covariance.observed_distances(part, means)
            scores[incomplete] = -0.5 * (squares + ~np.isnan(part) @ (np.log(covariance.variance) + LOG_2PI).T)
        return scores

    def marginal(self, columns: Sequence[int]) -> Gaussian:
        place = places_of(columns, self.used)
        inner, used = place[place >= 0].tolist(), tuple(np.flatnonzero(place >= 0).tolist())
        return Gaussian(self.means[:, list(columns)], self.covariance.marginal(inner), used)

    def center(self) -> Array:
        """Return the means (k, d)."""
        return self.means

    def covariances(self) -> Array:
        """Return the covariance matrices (g, d, d), zeros for columns that are not used."""
        inner, d = self.covariance.dense(), self.means.shape[1]
        outer = np.zeros((len(inner), d, d))
        outer[np.ix_(range(len(inner)), self.used, self.used)] = inner
        return outer

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its mean given the observed cells of the row.

        E[x_m | x_o] = Σ_k p_k (μ_km + Σ_k,mo Σ_k,oo⁻¹ (x_o − μ_ko)), with `posterior` p (n, k): within a class, least
        squares. A column that never varies has its constant.
        """
        out = self._with_constants(rows, posterior.argmax(axis=1))
        for index, seen, unseen, observed, missing in self._holes(out):
            block, share = out[np.ix_(index, seen)], posterior[index]
            if self.covariance.g == 1:  # one regression for all classes, about the expected class mean
                law = self.covariance.conditional(0, observed, missing)
                guess = law.mean(block - share @ self.means[:, seen]) + share @ self.means[:, unseen]
            else:
                guess = np.zeros((len(index), len(unseen)))
                for c in np.flatnonzero(share.any(axis=0)):
                    law, own = self.covariance.conditional(int(c), observed, missing), np.flatnonzero(share[:, c])
                    part = law.mean(block[own] - self.means[c, seen]) + self.means[c, unseen]
                    guess[own] += part * share[own, c][:, None]
            out[np.ix_(index, unseen)] = guess
        return out

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState, spread: Spread | None = None) -> Array:
        """Return rows (n, d) with each missing cell (NaN) drawn given the observed ones, in the row's class (n,).

        `spread(cells, columns, codes)`, if given, returns a factor (h,) of the noise of rows that miss the same cells.
        """
        out = self._with_constants(rows, codes)
        for index, seen, unseen, observed, missing in self._holes(out):
            own = codes[index]
            centered = out[np.ix_(index, seen)] - self.means[np.ix_(own, seen)]
            drawn = self.means[np.ix_(own, unseen)]
            covariance_of = own if self.covariance.g > 1 else np.zeros_like(own)
            for i in dict.fromkeys(covariance_of.tolist()):  # as rows come: names of classes do not matter
                law, mine = self.covariance.conditional(i, observed, missing), np.flatnonzero(covariance_of == i)
                noise = law.noise(len(mine), rng)
                if spread is not None:
                    noise *= spread(out[np.ix_(index[mine], seen)], observed, own[mine])[:, None]
                drawn[mine] += law.mean(centered[mine]) + noise
            out[np.ix_(index, unseen)] = drawn
        return out

    def within(self, rows: Array, low: Array, high: Array) -> Within | None:
        """Return what is known of numbers within ranges: truncated Gaussians, of one column where they correlate."""
        alone = isinstance(self.covariance, Diagonal)
        return bells_within(rows, low, high, *self.regressions(rows), np.array(np.inf), independent=alone)

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: by class a Gaussian about its regression on the others."""
        missing = np.isnan(rows)
        if isinstance(self.covariance, Diagonal):  # the same in all rows
            center, scale = self.regressions(np.full((1, rows.shape[1]), np.nan))
            for j in self.used:
                own = np.flatnonzero(missing[:, j])
                if len(own):
                    yield from number_outcomes(own, j, center[:, j], scale[:, j], NEAR, gaussian_kernel)
            return
        for part in row_chunks(len(rows), rows_within(32 * rows.shape[1] * len(self.means), IN_MEMORY)):
            center, scale = self.regressions(rows[part])
            for j in self.used:
                own = np.flatnonzero(missing[part, j])
                if len(own):
                    index = own + part.start
                    yield from number_outcomes(index, j, center[own, j], scale[own, j], NEAR, gaussian_kernel)

    def regressions(self, rows: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of each missing cell given the others by class, (n, d, k) each.

        They are NaN for observed cells and for columns that never vary.
        """
        center = np.full((*rows.shape, len(self.means)), np.nan)
        scale = center.copy()
        for index, seen, unseen, observed, missing in self._holes(rows):
            cells = rows[np.ix_(index, seen)]
            laws = [self.covariance.conditional(i, observed, missing) for i in range(self.covariance.g)]
            spread = [law.spread_of_each()[:, None] for law in laws]
            for c, mean in enumerate(self.means):
                own, place = min(c, len(laws) - 1), np.ix_(index, unseen, np.array([c]))
                center[place] = (laws[own].mean(cells - mean[seen]) + mean[unseen])[:, :, None]
                scale[place] = spread[own]
        return center, scale

    def _with_constants(self, rows: Array, codes: Codes) -> Array:
        """Return a copy of the rows in which columns that never vary have no missing cell."""
        out = np.array(rows, dtype=np.float64)
        for j in sorted(set(range(out.shape[1])) - set(self.used)):
            missing = np.isnan(out[:, j])
            out[missing, j] = self.means[codes[missing], j]
        return out

    def _holes(self, rows: Array) -> Iterator[tuple[Codes, Codes, Codes, list[int], list[int]]]:
        """Yield, by pattern of missing cells, the rows and which columns they have and miss.

        Columns come twice: numbered in the table, and among the used ones, as the covariance numbers them.
        """
        used = np.array(self.used, dtype=np.intp)
        present = ~np.isnan(rows if len(used) == rows.shape[1] else rows[:, used])
        incomplete = np.flatnonzero(~present.all(axis=1))
        if not len(incomplete):
            return
        for observed, index in pattern_groups(present[incomplete]):
            missing = np.setdiff1d(np.arange(len(used)), observed)
            yield incomplete[index], used[observed], used[missing], observed.tolist(), missing.tolist()


def integrate_missing(
    rows: Array,
    used: Sequence[int],
    score: Callable[[Array, Sequence[int] | None], Array],
    together: Callable[[Array, Flags], Array] | None = None,
) -> Array:
    """Return log densities (n, k) of rows (n, d), those that miss the same cells (NaN) computed together.

    `score(cells, columns)` gives those of complete cells of the `used` columns, or of some of them by position among
    these. `together(cells, alike)`, if given, those of incomplete rows, for where patterns are many; `alike` (n,) says
    which miss the cells that the row before misses. A row with no cell observed has the log density 0.
    """
    rows = rows if len(used) == rows.shape[1] else rows[:, used]
    holed = np.isnan(rows).any(axis=1)
    if not holed.any():
        return score(rows, None)
    incomplete, whole = np.flatnonzero(holed), score(rows[~holed], None)
    part, scores = rows[incomplete], np.empty((len(rows), whole.shape[1]))
    scores[~holed] = whole
    order, starts = pattern_order(np.isnan(part))
    if together is not None and len(starts) * MANY > len(part):
        scores[incomplete[order]] = together(part[order], ~np.isin(np.arange(len(part)), starts))
        return scores
    for index in np.split(order, starts[1:]):
        columns = np.flatnonzero(~np.isnan(part[index[0]])).tolist()
        scores[incomplete[index]] = score(part[index][:, columns], columns) if columns else 0.0
    return scores


def _scores(covariance: Covariance, rows: Array, means: Array) -> Array:
    if not rows.size:
        return np.zeros((len(rows), len(means)))
    scores = covariance.distances(rows, means)
    scores += covariance.log_det + means.shape[1] * LOG_2PI
    scores *= -0.5
    return scores


def _scorer_on_device(
    covariance: Full, means: Array, used: Sequence[int], rows: DeviceArray
) -> Callable[[DeviceArray], Array]:
    """Return a function from a block of rows to their log densities (r, k), there; factors are sent once.

    Rows are whitened once where classes share a covariance, and |z − m|² is then |z|² − 2 z·m + |m|² unless classes are
    so far apart that this would cancel.
    """
    xp, shared, means, center = namespace(rows), covariance.g == 1, means[:, used], means[:, used].mean(axis=0)
    white = np.einsum("igj,kj->ki" if shared else "igj,gj->gi", covariance.whitener, means - center)
    far = not shared or bool((white**2).sum(axis=1).max() > (FAR if has_float64(rows) else NARROW_FAR))
    ending = put(-0.5 * (np.broadcast_to(covariance.log_det, len(means)) + len(used) * LOG_2PI), rows)
    factors = put(np.transpose(covariance.whitener, (1, 2, 0)), rows)
    origin, targets, lengths = put(center, rows), put(white, rows), put((white**2).sum(axis=1), rows)
    columns = put(np.array(used, dtype=np.int64), rows)

    def score(block: DeviceArray) -> Array:
        z: Any = (block if len(used) == block.shape[1] else xp.take(block, columns, axis=1)) - origin
        if shared:
            z = xp.matmul(z, factors[0, ...])
        if far:
            each = (z if shared else xp.matmul(z, factors[c, ...]) for c in range(len(white)))
            apart = [own - targets[c, :] for c, own in enumerate(each)]
            distances = xp.stack([xp.sum(own * own, axis=1) for own in apart], axis=1)
        else:
            distances = xp.sum(z * z, axis=1)[:, None] - 2.0 * xp.matmul(z, xp.matrix_transpose(targets)) + lengths
            distances = xp.where(distances < 0.0, 0.0, distances)
        found: Array = ending - 0.5 * distances
        return found

    return score


def observed_distances(covariance: Full, rows: Array, alike: Flags, means: Array) -> tuple[Array, Array]:
    """Return squared distances and log determinants (n, k) over the cells that rows have: see `ObservedDistances`."""
    seen = np.flatnonzero(~np.isnan(rows).all(axis=0))
    if 0 < len(seen) < rows.shape[1]:  # of what no row has, a marginal knows nothing, made once
        covariance, rows, means = covariance.marginal(seen.tolist()), rows[:, seen], means[:, seen]
    (n, d), k = rows.shape, len(means)
    given = ObservedDistances.of(covariance.dense(), covariance.whitener.transpose(1, 0, 2), covariance.log_det)
    squares, log_det = out = np.empty((2, n, k))

    def fill(part: slice) -> None:
        out[:, part] = given(rows[part], alike[part], means)

    parallel_each(fill, row_chunks(n, rows_within(24 * d * k, least=64)), cost=2.0 * rows.size * d * k)
    return squares, log_det
