"""Gaussian statistics under a conjugate prior → the posterior predictive density of each class, a Student t.

So no class is scored by a covariance that it hardly knows. The prior covariance B is drawn from the pooled scatter
towards the variances of all rows, so that neither depends on units. EM with missing cells takes the prior as rows at
the class means, and takes them out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from .._arrays import Array, Codes, np, single_blas_thread
from ..densities import Covariance, Diagonal, Full, Gaussian, LowRank, MultivariateT, Spherical, StudentT
from ..densities.covariance import FLOOR, correlations, least_amount, rank_and_columns, shrink
from ..densities.student import t_spread
from ..em.cells import complete
from ..em.step import without_rounding
from ..errors import SettingError, SingularCovarianceError
from ..notes import Kind, Note
from ..schema import Level, Name
from ..stats import CompletedStats, GaussianStats, LowRankScatter, PatternStats, PooledScatter
from ..stats.pooling import overall_mean, total_variance
from .likelihood import MEAN, SPREAD, GaussianEstimate, fill_means, part_of
from .priors import NormalInverseWishart

Predictive = MultivariateT | StudentT


def prior_target(within: Array, total: Array, prior: NormalInverseWishart) -> Array:
    """Return the diagonal of T (…, d), towards which B is drawn.

    `within` (…, d) is diag W / (N − K) and `total` (…, d) the variances of all rows, up to a factor: T = τ · total with
    τ = mean(within / total), or `within` itself.
    """
    if prior.target == "within":
        return within
    share = np.where(total > 0, within / np.where(total > 0, total, 1.0), 0.0)  # a column may vary by one row alone
    return np.asarray(total * np.mean(share, axis=-1, keepdims=True))


def prior_covariance(within: Array, total: Array, prior: NormalInverseWishart) -> Array:
    """Return B = pooled · W / (N − K) + (1 − pooled) T, (d, d); `within` (d, d) is W / (N − K), `total` as for T."""
    covariance = prior.pooled * within
    covariance.flat[:: len(within) + 1] += (1.0 - prior.pooled) * prior_target(np.diagonal(within), total, prior)
    return np.asarray(covariance)


@dataclass(frozen=True, slots=True)
class Balance:
    """How a posterior scale matrix A weighs prior and rows: A = `strength` · B + `own` · scatter, over df = ν.

    `divisor` is ν, or what turns A into B where ν = ∞. One entry per covariance, or (g, d) where columns differ.
    """

    strength: Array
    own: Array
    df: Array

    @property
    def divisor(self) -> Array:
        """What A is divided by for the scale matrix of the predictive."""
        return np.where(np.isinf(self.df), self.strength, np.where(self.df > 0, self.df, 1.0))


def balance(
    prior: NormalInverseWishart, weight: Array, means: Array, free: Array | float, d: int, cells: int = 1
) -> Balance:
    """Return the weights of prior and rows, and ν, for covariances of d columns that `weight` rows speak of.

    ν = a + n − c + 2 for a prior of strength a, with c the number of `means` (classes) that a flat prior leaves to be
    estimated (0 for a proper one), and n − c − d + 1 for Jeffreys' prior. With a = ∞, ν = N − K + 1 and A = (N − K) B;
    `free` is N − K. So are classes without rows treated where the prior says nothing. A spherical covariance has one
    variance (d = 1) of several `cells` a row; its `weight`, `means` and `free` count cells.
    """
    vague, jeffreys = prior.is_vague, prior.strength == "jeffreys"
    flat = means if prior.mean_strength == 0 else np.zeros_like(means)
    shared = np.full(weight.shape, prior.strength == np.inf) | (vague & (weight == 0))
    strength = 0.0 if vague or prior.strength == np.inf else float(prior.strength) * cells
    df = weight - flat + (1.0 - d if jeffreys else strength + 2.0)
    endless = np.inf if prior.scale is not None else free + 1.0
    return Balance(
        np.where(shared, free, strength), np.where(shared, 0.0, 1.0), np.asarray(np.where(shared, endless, df))
    )


def posterior_weight(prior: NormalInverseWishart, weight: Array) -> Array:
    """Return κ_k = κ + n_k, or 1 for a class without rows under a flat prior on its mean."""
    kappa = weight + float(prior.mean_strength)
    return np.where(kappa > 0, kappa, 1.0)


def plug_in(density: Predictive, weight: Array, prior: NormalInverseWishart) -> Gaussian:
    """Return the Gaussian with the posterior means of μ_k and Σ_k: E[Σ_k] = A_k / (ν_k − 2), ∞ where ν_k ≤ 2.

    `weight` (k, d) is that of the observed cells by class and column.
    """
    df = density.df[:, list(density.used)] if isinstance(density, StudentT) else density.df
    lift = np.where(df > 2.0, 1.0 / (1.0 - 2.0 / np.where(df > 2.0, df, 4.0)), np.inf)  # ν / (ν − 2)
    kappa = posterior_weight(prior, weight[:, density.used])
    if isinstance(density, StudentT):
        variance = density.scale[:, list(density.used)] ** 2 * lift / (1.0 + 1.0 / kappa)
        return Gaussian(density.location, Diagonal(variance), density.used)
    scale, lift = density.scale, lift[: density.scale.g]
    covariance: Covariance
    if isinstance(scale, Full):
        log_det = scale.log_det + scale.scatter.shape[1] * np.log(lift)
        whitener = scale.whitener / np.sqrt(lift)[:, None]
        covariance = replace(scale, divisor=scale.divisor / lift, whitener=whitener, log_det=log_det)
    elif isinstance(scale, LowRank):
        covariance = replace(scale, scale=scale.scale * np.sqrt(lift)[:, None])
    elif isinstance(scale, Spherical):
        covariance = Spherical(scale.variance * lift[:, None])
    else:
        assert isinstance(scale, Diagonal)  # one variance whose inflation differs by column
        covariance = Diagonal(scale.variance * lift[:, None] / (1.0 + 1.0 / kappa))
    return Gaussian(density.location, covariance, density.used)


def draw(
    density: Predictive, weight: Array, prior: NormalInverseWishart, shared: bool, rng: np.random.RandomState
) -> Gaussian:
    """Return Gaussians whose parameters are drawn from the posterior of which `density` is the predictive.

    Σ_k ~ IW(A_k, ν_k + d − 1) and μ_k | Σ_k ~ N(m_k, Σ_k / κ_k) give t_ν(m_k, A_k (1 + 1 / κ_k) / ν_k) for a new row.
    `weight` (k, d) is that of the observed cells by class and column; joint Gaussians that miss some are taken to know
    as much as so many rows, κ and ν being those of each column and of the mean over columns. `shared`: one Σ for all.
    """
    used = list(density.used)
    kappa = posterior_weight(prior, weight[:, used])
    noise, means = rng.standard_normal(kappa.shape) / np.sqrt(kappa), density.location.copy()
    first = slice(0, 1 if shared else None)
    if isinstance(density, MultivariateT) and isinstance(density.scale, Full):
        # of more than 1 / eps rows the inflation rounds to 1
        known, rows = kappa.mean(axis=1), 1.0 / np.maximum(density.inflation - 1.0, np.finfo(np.float64).eps)
        df = density.df * (known.sum() / rows.sum() if shared else known / rows)
        covariance, root = _draw_full(density.scale, df[first], rng)
        means[:, used] += np.einsum("kij,kj->ki", np.broadcast_to(root, (len(means), *root.shape[1:])), noise)
        return Gaussian(means, covariance, density.used)
    if isinstance(density, StudentT):
        df, variance = density.df[:, used], density.scale[:, used] ** 2 / (1.0 + 1.0 / kappa)
    else:
        assert isinstance(density.scale, Diagonal)
        df, variance = density.df[:, None], density.scale.variance
        variance = variance if isinstance(density.scale, Spherical) else variance / (1.0 + 1.0 / kappa)
    variance = variance * t_spread(df[first].ravel(), rng).reshape(df[first].shape) ** 2
    means[:, used] += noise * np.sqrt(variance)
    return Gaussian(means, Diagonal(np.array(np.broadcast_to(variance, kappa.shape))), density.used)


def fewer_degrees(density: MultivariateT, fewer: int) -> MultivariateT:
    """Return the predictive of the same scale matrices A = ν Σ with so many degrees of freedom less, at least one."""
    assert isinstance(density.scale, Full)
    df = np.maximum(density.df - fewer, 1.0)
    lift = (density.df / df)[: density.scale.g]
    return replace(
        density, scale=Full.factor(density.scale.scatter * lift[:, None, None], density.scale.divisor), df=df
    )


def _draw_full(scale: Full, df: Array, rng: np.random.RandomState) -> tuple[Full, Array]:
    """Return Σ ~ IW(ν · scale, ν + d − 1), ν = `df` (g,), and its lower triangular roots (g, d, d).

    Σ⁻¹ = (V W)ᵀ V W / ν with the whitener W of the scale and a lower triangular V, V_ii² ~ χ² of ν + i degrees of
    freedom for i = 0, 1, …: Bartlett's decomposition from the last column to the first. ν = ∞ is the scale itself.
    """
    (d, g, _), endless = scale.whitener.shape, np.isinf(df)
    nu = np.where(endless, 1.0, df)[:, None]
    factor = np.tril(rng.standard_normal((g, d, d)), -1)
    factor[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(nu + np.arange(d)))
    factor = np.where(endless[:, None, None], np.eye(d), factor / np.sqrt(nu)[:, :, None])
    whitener = factor @ scale.whitener.transpose(1, 0, 2)
    root: Array = np.linalg.inv(whitener).astype(np.float64)
    scatter = root @ root.transpose(0, 2, 1)
    diagonal = np.diagonal(scatter, axis1=1, axis2=2)
    log_det = -2.0 * np.log(np.diagonal(whitener, axis1=1, axis2=2)).sum(axis=1)
    trace = (whitener**2 * diagonal[:, None]).sum(axis=(1, 2))
    return Full(scatter, np.ones(g), np.ascontiguousarray(whitener.transpose(1, 0, 2)), log_det, trace), root


def complete_under(
    stats: PatternStats,
    first: GaussianStats,
    base: Array,
    strength: float,
    report: Callable[[Note], None] | None = None,
    most_steps: int | None = None,
) -> GaussianStats:
    """Return statistics as EM completes them where covariances are (S_k + a B) / (n_k + a).

    The prior goes in as a rows per class (shared: in all) at the class means that EM finds without it, `first`, with
    the covariance B, `base` (d, d); EM treats them as any complete rows, and they are taken out again.
    """
    form, weight = stats.complete.form, first.weight
    pooled = form is PooledScatter
    rows = strength * (weight / weight.sum() if pooled else (weight > 0).astype(np.float64))
    values = strength * base if pooled else rows[:, None, None] * base
    believed = GaussianStats(rows, first.mean, form(values), form)
    every = replace(stats, complete=stats.complete.merge(believed))
    both = complete(every, report=report, most_steps=most_steps, spreads_known=True)
    safe = np.where(weight > 0, weight, 1.0)
    apart = (both.mean - first.mean) * ((weight + rows) / safe)[:, None]
    pulled = apart * np.sqrt(weight * rows / np.where(weight > 0, weight + rows, 1.0))[:, None]
    drift = pulled.T @ pulled if pooled else pulled[:, :, None] * pulled[:, None, :]
    return GaussianStats(weight, first.mean + apart, form(without_rounding(both.scatter.values - values - drift)), form)


def matrices(gaussian: Gaussian) -> Array:
    """Return the covariances (g, d, d) of `plug_in`, infinite where there is no posterior mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(gaussian.covariances(), nan=0.0, posinf=np.inf, neginf=-np.inf)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the statistics say of the p columns that have a density, and the posterior of the means over these."""

    stats: GaussianStats
    keep: Codes  # (p,)
    names: tuple[Name, ...]
    weight: Array  # (k, p)
    within: Array  # (p,) variances within classes
    total: Array  # (p,) variances of all rows
    reference: Array  # (p,) the one of these beside which a variance is judged to vanish
    location: Array  # (k, p) posterior means
    kappa: Array  # (k, p) their weight in rows
    pulled: Array  # (k, p) (x̄_k − m) √(κ n_k / (κ + n_k)): its squares and products add to the scatter

    @property
    def counted(self) -> Array:
        """1 where a class has values (k, p)."""
        return np.asarray((self.weight > 0).astype(np.float64))


@dataclass(slots=True)
class BayesEstimate(GaussianEstimate):
    """From Gaussian statistics to posterior predictives under a `NormalInverseWishart`; `notes` records repairs.

    Missing cells are exact in a diagonal or spherical structure. Joint Gaussians first complete their scatters by EM
    at (S_k + a B) / (n_k + a), and the expected squares of missing cells are then taken for observed ones.
    """

    prior: NormalInverseWishart = field(default_factory=NormalInverseWishart)

    def predictive(self) -> Predictive:
        """Return the density of a new row by class; SingularCovarianceError where a vague prior leaves it singular."""
        self.prior.check_columns(len(self.columns))
        stats = self._without_holes()
        facts = self._facts(stats)
        location = fill_means(stats.mean, stats.column_weight())
        location[:, facts.keep] = facts.location
        used, k = tuple(int(j) for j in facts.keep), len(location)
        inflation = 1.0 + 1.0 / facts.kappa
        if not used:
            return MultivariateT(location, Spherical.of(np.ones(1), 0), (), np.ones(k), np.ones(k))
        if self.structure is Diagonal:
            variance, freedom = self._variances_of(facts)
            spread, df = np.ones_like(location), np.ones_like(location)
            spread[:, facts.keep], df[:, facts.keep] = np.sqrt(variance * inflation), freedom
            return StudentT(location, spread, used, df)
        scale: Covariance
        if self.structure is Full:
            scale, df = self._matrices_of(facts)
        else:
            variance, df = self._spheres_of(facts)
            if (inflation != inflation[:, :1]).any():  # columns that miss different cells
                each = np.broadcast_to(variance[:, None] * inflation, inflation.shape)
                return MultivariateT(location, Diagonal(each), used, np.broadcast_to(df, (k,)), np.ones(k))
            scale = Spherical.of(variance, len(used))
        return MultivariateT(location, scale, used, np.broadcast_to(df, (k,)), inflation[:, 0])

    def _without_holes(self) -> GaussianStats:
        """Return statistics without missing cells: of joint Gaussians, those EM completes."""
        stats = self.stats
        if isinstance(stats, CompletedStats):
            self._note_sweeps(stats)
            return stats.complete
        if not isinstance(stats, PatternStats):
            return stats
        if not stats.incomplete:
            return stats.complete
        self._note_unseen(stats)
        strength = self.prior.strength
        if self.prior.is_vague or strength == np.inf:
            completed = complete(stats, report=self.notes.append)
        else:
            first, said = complete(stats), len(self.notes)
            facts = self._facts(first)
            del self.notes[said:]  # they are made again from the statistics that this prior completes
            base = np.zeros((len(self.columns), len(self.columns)))
            if len(facts.keep):
                base[np.ix_(facts.keep, facts.keep)] = self._prior_covariance(facts)
            completed = complete_under(stats, first, base, float(strength), self.notes.append)
        why = "under a prior, filled cells count as if they were observed: answers are exact for complete tables only"
        self.notes.append(Note("completed missing cells by EM", why, kind=Kind.FILLED))
        return completed

    def _facts(self, stats: GaussianStats) -> _Facts:
        weight = stats.column_weight()
        squares = stats.scatter.diagonal(len(weight))
        if self.prior.scale is None:
            _, reference, used = self._scales(stats, weight)
            within = squares.sum(axis=0) / self._divide(weight.sum(axis=0), (weight > 0).sum(axis=0))
            total = total_variance(stats.mean, weight, squares)
        else:  # columns that never vary have a density as well
            within = reference = total = np.asarray(self.prior.scale, dtype=np.float64)
            within = reference = total = within if within.ndim == 1 else np.diagonal(within)
            used = np.ones(len(within), dtype=bool)
        keep = np.flatnonzero(used)
        names = tuple(self.columns[int(j)] for j in keep)
        location, kappa, pulled = self._means_of(stats.mean[:, keep], weight[:, keep], keep, names)
        kept = within[keep], total[keep], reference[keep]
        return _Facts(stats, keep, names, weight[:, keep], *kept, location, kappa, pulled)

    def _means_of(self, mean: Array, weight: Array, keep: Codes, names: Sequence[Name]) -> tuple[Array, Array, Array]:
        """Return posterior means, their weights, and the roots of what they add to the scatter, (k, p) each."""
        strength, seen = float(self.prior.mean_strength), weight > 0
        kappa = posterior_weight(self.prior, weight)
        center = np.asarray(self.prior.mean)[keep] if self.prior.mean is not None else overall_mean(mean, weight)
        apart = np.where(seen, mean - center, 0.0)
        if strength > 0:
            return center + weight / kappa * apart, kappa, apart * np.sqrt(strength * weight / kappa)
        for c in np.flatnonzero(~seen.all(axis=1)):
            columns = tuple(names[int(j)] for j in np.flatnonzero(~seen[c])) if seen[c].any() else ()
            why = "no value in the class, and mean_strength=0 says nothing of its mean; give more than 0"
            what, label = f"{MEAN}, counted as one row", self.classes[int(c)]
            self.notes.append(Note(what, why, label, columns, kind=Kind.BORROWED))
        return np.where(seen, mean, center), kappa, np.zeros_like(apart)

    # --- the posterior of the covariance, by structure ---------------------------------------------------------------

    @property
    def _one(self) -> bool:
        """Whether all classes have one covariance."""
        return self.shared or self.prior.strength == np.inf

    def _together(self, by_class: Array) -> Array:
        """Return sums by covariance: of all classes if they share one, else as they are."""
        return by_class.sum(axis=0, keepdims=True) if self._one else by_class

    def _free(self, facts: _Facts) -> Array:
        """Return N − K of each column (p,), or N where every row is a class of its own."""
        return self._divide(facts.weight.sum(axis=0), facts.counted.sum(axis=0))

    def _balance(self, weight: Array, counted: Array, free: Array | float, d: int, cells: int = 1) -> Balance:
        rows = self._together(weight)
        found = balance(self.prior, rows, self._together(counted), free, d, cells)
        for i, df in enumerate(found.df.reshape(len(rows), -1).min(axis=1)):
            if df <= 0:
                raise SingularCovarianceError.too_few_rows(self._label(i), float(rows[i].min()) / cells, d)
        for c in np.flatnonzero(~weight.reshape(len(weight), -1).any(axis=1)) if self.prior.is_vague else ():
            if not self._one:
                why = "no value in the class, and the prior says nothing of it"
                self.notes.append(Note(SPREAD, why, self.classes[int(c)], kind=Kind.BORROWED))
        return found

    def _variances_of(self, facts: _Facts) -> tuple[Array, Array]:
        """Return A / ν and ν (g, p), each column with a prior of its own."""
        found = self._balance(facts.weight, facts.counted, self._free(facts), 1)
        base = facts.within
        if self.prior.scale is None:
            target = prior_target(base, facts.total, self.prior)
            base = self.prior.pooled * base + (1.0 - self.prior.pooled) * target
        return self._usable_variances(self._diagonals(facts, found, base), facts), found.df

    def _diagonals(self, facts: _Facts, found: Balance, base: Array) -> Array:
        """Return the variances (g, p) of scale matrices A / ν, given those of B (p,)."""
        squares = facts.stats.scatter.diagonal(len(facts.weight))[:, facts.keep]
        own = self._together(squares) + self._together(facts.pulled**2)
        return np.asarray((found.strength * base + found.own * own) / found.divisor)

    def _spheres_of(self, facts: _Facts) -> tuple[Array, Array]:
        """Return A / ν and ν (g,) of one variance for all columns."""
        d, free = len(facts.keep), self._free(facts)
        base = facts.within.mean() if self.prior.scale is not None else (free @ facts.within) / free.sum()
        found = self._balance(facts.weight.sum(axis=1), facts.counted.sum(axis=1), free.sum(), 1, d)
        squares = facts.stats.scatter.diagonal(len(facts.weight))[:, facts.keep].sum(axis=1)
        own = self._together(squares) + self._together((facts.pulled**2).sum(axis=1))
        variance = (found.strength * base + found.own * own) / found.divisor
        low = variance < FLOOR * facts.reference.mean()
        for i in np.flatnonzero(low):
            self._flat(int(i), facts.names, 0, d)
        return np.where(low, FLOOR * facts.reference.mean(), variance), found.df

    def _matrices_of(self, facts: _Facts) -> tuple[Full | LowRank, Array]:
        """Return A / ν and ν (g,)."""
        weight, free = facts.weight[:, 0], float(self._free(facts)[0])
        found = self._balance(weight, facts.counted[:, 0], free, len(facts.keep))
        if isinstance(facts.stats.scatter, LowRankScatter):
            return self._low_rank_of(facts.stats.scatter, facts, found, free), found.df
        base, scatter = self._prior_covariance(facts), facts.stats.scatter.values
        scale = np.empty((len(found.df), *base.shape))
        for i, members in enumerate(self._members(len(weight))):
            scale[i] = found.strength[i] * base
            if found.own[i]:
                scale[i] += part_of(scatter if scatter.ndim == 2 else scatter[members].sum(axis=0), facts.keep)
                scale[i] += facts.pulled[members].T @ facts.pulled[members]
            scale[i] /= found.divisor[i]
        variance = self._usable_variances(np.diagonal(scale, axis1=1, axis2=2), facts)
        with single_blas_thread():  # matrices of this size are slower on several threads
            for i, row in enumerate(variance):
                scale[i] = self._usable_scale(i, scale[i], row, facts.names)
            return Full.factor(scale), found.df

    def _members(self, k: int) -> list[Codes]:
        """Return the classes of each covariance."""
        return [np.arange(k)] if self._one else [np.array([c]) for c in range(k)]

    def _prior_covariance(self, facts: _Facts) -> Array:
        """Return B (p, p)."""
        if self.prior.scale is not None:
            given = np.asarray(self.prior.scale, dtype=np.float64)
            return np.diag(given) if given.ndim == 1 else given
        scatter = facts.stats.scatter.values
        pooled = part_of(scatter if scatter.ndim == 2 else scatter.sum(axis=0), facts.keep)
        return prior_covariance(pooled / self._free(facts)[0], facts.total, self.prior)

    def _low_rank_of(self, scatter: LowRankScatter, facts: _Facts, found: Balance, free: float) -> LowRank:
        """Return A / ν of a table wider than long: a diagonal from the prior, and rows."""
        prior = self.prior
        floor, share = (1.0 - prior.pooled) * prior_target(facts.within, facts.total, prior), prior.pooled
        if prior.scale is not None:
            floor, share = np.asarray(prior.scale, dtype=np.float64), 0.0
        if floor.ndim > 1 or not (found.strength > 0).all() or not (floor > 0).all():
            raise SettingError(
                f"The table has {len(facts.names)} columns and fewer rows, so that the prior must add a diagonal. "
                "Next: NormalInverseWishart with a strength above 0 and pooled below 1, or with a diagonal scale."
            )
        stacks, everyone = [], np.sqrt(share / free) * scatter.values[:, facts.keep]
        for i, members in enumerate(self._members(len(facts.weight))):
            own = scatter.values[np.isin(scatter.owner, members)][:, facts.keep]
            rows = [found.own[i] * own, found.own[i] * facts.pulled[members], np.sqrt(found.strength[i]) * everyone]
            stacks.append(np.concatenate(rows) / np.sqrt(found.strength[i] * floor))
        weight = found.strength / found.divisor
        half = np.full(len(stacks), 0.5)  # ½ zᵀz + ½ I, and twice that
        return LowRank.factor(stacks, np.sqrt(2.0 * weight[:, None] * floor), half)

    def _label(self, i: int) -> Level | None:
        return None if self._one else self.classes[i]

    def _flat(self, i: int, columns: Sequence[Name], rank: int, need: int) -> None:
        """Record that columns do not vary, or refuse to go on where the prior is vague."""
        if self.prior.is_vague:
            raise SingularCovarianceError.vague_prior(self._label(i), columns, rank, need)
        self._note_raised(self._label(i), tuple(columns))

    def _usable_variances(self, variance: Array, facts: _Facts) -> Array:
        """Return variances (g, p), those that vanish beside the reference raised."""
        low = np.asarray(variance < FLOOR * facts.reference)
        for i in np.flatnonzero(low.any(axis=1)):
            columns = [facts.names[int(j)] for j in np.flatnonzero(low[i])]
            self._flat(int(i), columns, int((~low[i]).sum()), len(facts.names))
        return np.where(low, FLOOR * facts.reference, variance)

    def _usable_scale(self, i: int, scale: Array, variance: Array, names: Sequence[Name]) -> Array:
        """Return a scale matrix with the least shrinkage of its correlations that makes it usable."""
        correlation = correlations(scale, variance)
        amount = least_amount(correlation)
        if amount == 0.0:
            return scale if (np.diagonal(scale) == variance).all() else shrink(scale, variance, 0.0)
        rank, involved = rank_and_columns(correlation)
        if self.prior.is_vague:
            columns = [names[j] for j in involved] or list(names)
            raise SingularCovarianceError.vague_prior(self._label(i), columns, rank, len(names))
        self._note_shrunk(self._label(i), amount, rank, involved, names)
        return shrink(scale, variance, amount)
