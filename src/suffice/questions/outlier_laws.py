"""How far out a row is from each class, and the exact laws of it where a class of Gaussian rows was estimated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from .._arrays import Array, Codes, Flags, betainc, gammaincc, is_sparse, log_softmax, np, pattern_groups
from ..densities import Diagonal, Full, Gaussian, LowRank, MultivariateT, Rows, Spherical
from ..densities.density import missing_cells
from ..fitted import Fitted
from ..joint import JointModel
from ..notes import Kind
from ..stats import GaussianStats, PatternStats

TAIL = 0.05  # share of drawn rows by which the law goes on beyond the last
ROWS = 20_000  # rows drawn for a law that has no formula
CELLS = 4_000_000  # of these rows at most
ENDLESS = 1e4  # degrees of freedom from which a t is taken for a Gaussian


@dataclass(frozen=True, slots=True)
class HotellingLaw:
    """The law of squared distances to a class whose mean and covariance were estimated from Gaussian rows.

    The mean is that of `rows` (k,) rows; the covariance is a scatter with `freedom` ν (k,) degrees of freedom over
    `divisor` (k,). `joint`: it is a whole matrix, else one variance for all columns. With D² the squared distance of a
    new row in d columns,

        D² / divisor · n / (n + 1) · (ν − d + 1) / d ~ F(d, ν − d + 1),    or with ν in place of ν − d + 1 unless joint,

    and with D² that of one of the rows themselves, D² / divisor · n / (n − 1) ~ Beta(d / 2, (ν − d) / 2). Anderson, An
    Introduction to Multivariate Statistical Analysis (3rd ed., 2003), theorem 5.2.2; Gnanadesikan & Kettenring (1972),
    doi:10.2307/2528963.
    """

    name: ClassVar[str] = "Hotelling's T²"
    rows: Array
    freedom: Array
    divisor: Array
    joint: bool
    used: Flags

    def new_row(self, distance: Array, observed: Flags) -> Array:
        """Return the p-values (n, k) of new rows, half of whose squared distances are `distance` (n, k)."""
        d = int((observed & self.used).sum())
        second = self.freedom - (d - 1 if self.joint else 0)
        ratio = np.maximum(2.0 * distance, 0.0) / self.divisor  # of sums of squares
        ratio *= self.rows / (self.rows + 1.0)  # × second / d is the F statistic
        return np.asarray(betainc(0.5 * second, 0.5 * d, 1.0 / (1.0 + ratio)))

    def own_row(self, distance: Array, codes: Codes, observed: Flags) -> Array:
        """Return the p-values of rows that the class learned from, from distances (n,) to their class."""
        d = int((observed & self.used).sum())
        n, second = self.rows[codes], self.freedom[codes] - d
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(2.0 * distance / self.divisor[codes] * (n / (n - 1.0)), 0.0, 1.0)
            found = betainc(0.5 * second, 0.5 * d, 1.0 - share)
        return np.where((n > 1.0) & (second > 0.0), found, 1.0)  # a row that fits itself says nothing


@dataclass(frozen=True, slots=True)
class PredictiveLaw:
    """The law of distances to the centre of a predictive Student t, with `df` ν (k,) degrees of freedom.

    q / d ~ F(d, ν) for the squared distance q of a row of the t in d columns, and the distance in log density is
    (ν + d) / 2 · log(1 + q / ν). With ν = ∞ the t is a Gaussian, and q ~ χ²(d). Kotz & Nadarajah, Multivariate t
    Distributions and Their Applications (2004), section 1.4.
    """

    name: ClassVar[str] = "F of the predictive t"
    df: Array
    used: Flags

    def new_row(self, distance: Array, observed: Flags) -> Array:
        """Return the p-values (n, k) of rows of the predictive density."""
        d = int((observed & self.used).sum())
        distance = np.maximum(distance, 0.0)
        finite = np.where(np.isinf(self.df), 1.0, self.df)
        found = betainc(0.5 * finite, 0.5 * d, np.exp(-2.0 * distance / (finite + d)))  # at ν / (ν + q)
        return np.where(np.isinf(self.df), gammaincc(0.5 * d, distance), found)


@dataclass(frozen=True, slots=True)
class IndependentLaw:
    """The law of squared distances to a class without correlations, each column's variance estimated by itself.

    The mean of a column is that of `rows` (k, d) cells, its variance a sum of squares with `freedom` ν (k, d) over
    `divisor` (k, d). The squared distance of a new row is Σ_j divisor_j (n_j + 1) / (n_j ν_j) t_j², t_j independent
    Student t variables with ν_j degrees of freedom: the same law whatever the class is like. One column has a formula,
    a t test. Sums have none; they are compared with `ROWS` draws (error of a p-value of 0.05: 0.0015), and far out
    with Σ_j P(t_j² > s), which sums of so heavy tails tend to.
    """

    name: ClassVar[str] = "sums of squared t variables"
    rows: Array
    freedom: Array
    divisor: Array
    used: Flags
    draws: Array  # (k, m, d) terms of the sum

    def new_row(self, distance: Array, observed: Flags) -> Array:
        """Return the p-values (n, k) of new rows, half of whose squared distances are `distance` (n, k)."""
        seen = np.flatnonzero(observed & self.used)
        squares = np.maximum(2.0 * distance, 0.0)
        scale = self.divisor[:, seen] * (1.0 + 1.0 / self.rows[:, seen]) / self.freedom[:, seen]
        if self.draws.shape[1] == 0 and len(seen) > 1:  # all so nearly Gaussian that their factors hardly differ
            return np.asarray(gammaincc(0.5 * len(seen), 0.5 * squares / scale.mean(axis=1)))
        out = np.empty(distance.shape)
        for c in range(distance.shape[1]):
            far = np.zeros(len(distance))
            for j, factor in zip(seen, scale[c], strict=True):
                freedom = self.freedom[c, j]
                far += betainc(0.5 * freedom, 0.5, 1.0 / (1.0 + squares[:, c] / (factor * freedom)))
            if len(seen) > 1:
                share, last = _share_beyond(np.sort(self.draws[c][:, seen].sum(axis=1)), squares[:, c])
                far = np.where(last, np.clip(far, share, 1.0 / (1.0 + self.draws.shape[1])), share)
            out[:, c] = far
        return out


def _share_beyond(own: Array, distance: Array) -> tuple[Array, Flags]:
    """Return the share of drawn rows, at distances `own` ascending, as far out as others (n,), and which exceed all."""
    share = (1.0 + len(own) - np.searchsorted(own, distance)) / (1.0 + len(own))
    far = distance > own[-1]
    if far.any():
        start = own[int((1.0 - TAIL) * len(own))]
        scale = max(float((own[own >= start] - start).mean()), 1e-12)  # tails are about exponential in the distance
        share[far] *= np.exp(-(distance[far] - own[-1]) / scale)
    return np.asarray(share), far


Law = HotellingLaw | PredictiveLaw | IndependentLaw


def exact_law(fitted: Fitted) -> Law | None:
    """Return the exact law of distances within classes, if the model is one block of Gaussians that has one.

    That is so for estimates without any repair, and under a prior that says nothing, whose predictive density is the t
    of new rows. Under any other the density is what is believed of new rows, which need not obey it. Nor do the sums of
    a released model whose cells were filled, or covariances taken from elsewhere.
    """
    model, released = fitted.joint, fitted.past.released
    changed = () if released is None else [note for note in released.notes if note.kind is not Kind.POOLED]
    if len(model.density.blocks) != 1 or changed:
        return None
    density = model.density.blocks[0]
    if isinstance(density, MultivariateT):
        prior = fitted.told.prior
        silent = prior is not None and prior.strength == "jeffreys" and prior.mean_strength == 0
        silent = silent and len(model.classes) == 1  # distances keep to the law of maximum likelihood
        return PredictiveLaw(density.df, _used_columns(density)) if density.used and silent else None
    stats: object = fitted.statistics.blocks[0]
    if isinstance(stats, PatternStats):
        stats = None if stats.incomplete else stats.complete
    if not isinstance(density, Gaussian) or not isinstance(stats, GaussianStats) or not density.used:
        return None
    covariance = density.covariance
    if isinstance(covariance, Diagonal) and not isinstance(covariance, Spherical):
        return _independent_law(density, stats)
    return None if isinstance(covariance, LowRank) else _hotelling_law(density, stats)


def _used_columns(density: Gaussian | MultivariateT) -> Flags:
    """Return which columns have a density (d,)."""
    location = density.means if isinstance(density, Gaussian) else density.location
    return np.isin(np.arange(location.shape[1]), density.used)


def _hotelling_law(density: Gaussian, stats: GaussianStats) -> HotellingLaw | None:
    covariance, used, divisor = density.covariance, list(density.used), density.divisor
    weight = stats.weight if stats.weight.ndim == 1 else stats.weight[:, 0]
    if (stats.weight.ndim == 2 and (stats.weight != weight[:, None]).any()) or (weight <= 1).any() or divisor is None:
        return None
    k, joint = len(weight), isinstance(covariance, Full)
    freedom = np.array([weight.sum() - k]) if covariance.g == 1 else weight - 1.0
    freedom = freedom if joint else freedom * len(used)
    if (freedom - (len(used) if joint else 0) < 1).any():
        return None
    return HotellingLaw(weight, np.broadcast_to(freedom, k), np.broadcast_to(divisor, k), joint, _used_columns(density))


def _independent_law(density: Gaussian, stats: GaussianStats) -> IndependentLaw | None:
    """Return the law of classes without correlations, if their variances are sums of squares over a divisor."""
    shape, used = density.means.shape, list(density.used)
    weight = np.broadcast_to(stats.weight if stats.weight.ndim == 2 else stats.weight[:, None], shape)
    freedom = weight - 1.0
    if density.covariance.g == 1:
        freedom = np.broadcast_to(weight.sum(axis=0) - len(weight), shape)
    if (weight[:, used] <= 1).any() or (freedom[:, used] < 1).any() or density.divisor is None:
        return None
    divisor = np.ones(shape)
    divisor[:, used] = density.divisor
    m, rng = min(ROWS, CELLS // weight.size), np.random.RandomState(0)
    if (freedom[:, used] >= ENDLESS).all():
        m = 0
    elif m < ROWS // 10:  # too few draws to tell
        return None
    draws = np.zeros((len(weight), m, shape[1]))
    for c, own in enumerate(freedom[:, used]):
        t = rng.standard_normal((m, len(own))) / np.sqrt(rng.chisquare(own, (m, len(own))))
        draws[c][:, used] = t * t * divisor[c, used] * (1.0 + 1.0 / weight[c, used])
    return IndependentLaw(weight, freedom, divisor, _used_columns(density), draws)


# ── How far out a row is from each class: how much less dense it is than the class at its centre ──────────────────────
#
# For a Gaussian that is half the squared Mahalanobis distance. Rows that miss the same cells are measured together.


NEGLIGIBLE = -30.0  # log posterior of a class whose p-value does not count
CHUNK_ROWS = 1 << 14  # measured at a time


def measure(model: JointModel, rows: Rows) -> tuple[Array, Array]:
    """Return distances log p(centre | k) − log p(x | k) and log posteriors, (n, k) each, in the cells that rows have.

    A row that every class makes impossible is infinitely far from all.
    """
    return distances_from(model.density.log_density(rows), model.log_prior, peaks(model, rows))


def distances_from(density: Array, log_prior: Array, center: Array | float = 0.0) -> tuple[Array, Array]:
    """Return what `measure` does from log densities (n, k), which become the distances, and those at centres."""
    posterior = density + log_prior
    impossible = np.isneginf(posterior).all(axis=1)
    posterior[impossible] = log_prior
    np.subtract(center, density, out=density)
    return density, log_softmax(posterior, out=posterior)


def peaks(model: JointModel, rows: Rows) -> Array:
    """Return the log density of each class at its centre in the cells that rows have, (n, k), of blocks with a centre.

    Without it, an estimate of the spread that is too small would make every row look likelier. It is (1, k) zeros where
    no block has one.
    """
    total = np.zeros((1, len(model.log_prior)))
    for block, part in zip(model.density.blocks, rows, strict=True):
        center = block.center()
        if center is not None:
            groups = list(pattern_groups(~np.isnan(part)))
            ways = np.full((len(groups), *center.shape), np.nan)
            for way, (seen, _) in zip(ways, groups, strict=True):
                way[:, seen] = center[:, seen]
            found = block.log_density(ways.reshape(-1, center.shape[1])).reshape(len(groups), len(center), -1)
            own = np.empty((len(part), len(center)))
            for peak, (_, index) in zip(np.diagonal(found, axis1=1, axis2=2), groups, strict=True):
                own[index] = peak
            total = total + own
    return total


def _width(part: Any) -> int:
    return len(part) if isinstance(part, tuple) else int(part.shape[1])


def observed_cells(rows: Rows) -> Flags:
    """Return which cells of rows are observed (n, d)."""
    masks = [(part, missing_cells(part)) for part in rows]
    return np.concatenate([np.ones(p.shape, dtype=bool) if mask is None else ~mask for p, mask in masks], axis=1)


def patterns(rows: Rows) -> Iterator[tuple[Flags, Codes]]:
    """Yield (observed columns (d,), row numbers) for each pattern of observed cells."""
    if all(is_sparse(part) for part in rows):
        yield np.ones(sum(_width(part) for part in rows), dtype=bool), np.arange(rows[0].shape[0])
        return
    seen = observed_cells(rows)
    if seen.all():
        yield seen[0], np.arange(len(seen))
        return
    for columns, index in pattern_groups(seen):
        yield np.isin(np.arange(seen.shape[1]), columns), index


def hide(rows: Rows, observed: Flags) -> list[object]:
    """Return the rows without the cells that are not observed, (d,) or (n, d); sparse counts are 0 there."""
    if observed.all():
        return list(rows)
    hidden, ends = list[object](), np.cumsum([_width(part) for part in rows])
    for part, own in zip(rows, np.split(observed, ends[:-1], axis=-1), strict=True):
        if isinstance(part, tuple):
            hidden.append(tuple(np.where(kept, codes, -1) for codes, kept in zip(part, own.T, strict=True)))
        else:
            hidden.append(part.multiply(own).tocsr() if is_sparse(part) else np.where(own, part, np.nan))
    return hidden
