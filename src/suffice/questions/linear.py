"""Gaussian classes as parameters, and as linear scores where they share one covariance."""

from __future__ import annotations

from dataclasses import replace

from .._arrays import Array, np
from ..densities import Gaussian, MultivariateT, StudentT
from ..estimate import NormalInverseWishart
from ..estimate.families import GaussianFamily
from ..estimate.predictive import matrices, plug_in
from ..fitted import Fitted


def gaussian_of(fitted: Fitted, number: int = 0) -> Gaussian:
    """Return the class densities of a Gaussian block; under a prior, those of the posterior means of μ and Σ."""
    density = fitted.joint.density.blocks[number]
    if isinstance(density, Gaussian):
        return density
    assert isinstance(density, MultivariateT | StudentT)
    prior = fitted.told.prior
    assert prior is not None
    return plug_in(density, fitted.statistics.blocks[number].column_weight(), prior)


def prior_of(learned: Fitted | None) -> NormalInverseWishart:
    """Return the prior as used, its strength chosen by leave-one-out if it was left open; AttributeError without."""
    prior = None if learned is None else learned.told.prior
    if prior is None:
        raise AttributeError("prior_ exists once a model is fitted with prior=NormalInverseWishart(...).")
    return prior


def is_shared(fitted: Fitted) -> bool:
    """Return whether all classes have one covariance."""
    family = fitted.blocks[0].family
    return isinstance(family, GaussianFamily) and bool(family.shared)


def covariances(fitted: Fitted, shared: bool) -> Array:
    """Return class covariances (k, d, d), or if `shared` the one of all (d, d); zeros for what does not vary."""
    gaussian = gaussian_of(fitted)
    found = matrices(gaussian)
    return np.asarray(found[0]) if shared else np.repeat(found, len(gaussian.means) // len(found), axis=0)


def middle(fitted: Fitted) -> Array:
    """Return the mean of the class means (d,)."""
    return np.asarray(gaussian_of(fitted).means.mean(axis=0))


def linear(fitted: Fitted, origin: Array) -> tuple[Array, Array]:
    """Return w (k, d) and b (k,) of log p(x, k) − log N(x; origin, Σ) = x·w_k + b_k, with one Σ for all classes.

    Their softmax is the posterior. About a point amid the classes the scores are small, and lose no digits.
    """
    if fitted.told.prior is not None:
        raise AttributeError(
            "Under a prior the densities are Student t, whose log odds are not linear in x, so that there is no "
            "coef_ or intercept_. Next: fit with prior=None for linear discriminant analysis."
        )
    gaussian = gaussian_of(fitted)
    used = list(gaussian.used)
    shift, coefficients = (gaussian.means - origin)[:, used], np.zeros_like(gaussian.means)
    inner = coefficients[:, used] = gaussian.covariance.solve(shift)
    return coefficients, fitted.joint.log_prior - np.einsum("kd,kd->k", inner, origin[used] + shift / 2.0)


def linear_scores(fitted: Fitted, rows: Array, origin: Array) -> Array:
    """Return x·w_k + b_k (n, k) about a point; a row's missing cells are integrated out of both densities."""
    coefficients, intercepts = linear(fitted, origin)
    scores = np.asarray(rows @ coefficients.T)
    scores += intercepts
    holes = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(holes):
        common = replace(gaussian_of(fitted), means=origin[None]).log_density(rows[holes])
        scores[holes] = fitted.joint.log_joint((rows[holes],)) - common
    return scores
