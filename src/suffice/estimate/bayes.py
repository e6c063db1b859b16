"""The conjugate posterior of Gaussians: how a prior and rows weigh, and what it comes to; `predictive` uses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .._arrays import Array, np
from ..densities import Covariance, Diagonal, Full, Gaussian, LowRank, MultivariateT, Spherical, StudentT
from ..em.cells import complete
from ..notes import Note
from ..stats import GaussianStats, PatternStats, PooledScatter
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
        covariance = Spherical(scale.variance * lift, scale.d)
    else:
        assert isinstance(scale, Diagonal)  # one variance whose inflation differs by column
        covariance = Diagonal(scale.variance * lift[:, None] / (1.0 + 1.0 / kappa))
    return Gaussian(density.location, covariance, density.used)


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
    return GaussianStats(weight, first.mean + apart, form(both.scatter.values - values - drift), form)


def matrices(covariance: Covariance) -> Array:
    """Return covariances (g, d, d) of `plug_in`, infinite where there is no posterior mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(covariance.dense(), nan=0.0, posinf=np.inf, neginf=-np.inf)
