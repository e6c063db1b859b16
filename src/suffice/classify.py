"""Which class does a row belong to: Bayes' rule on the joint density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arrays import Array, Codes, log_softmax, logsumexp, np
from ._arrays_api import device_log_softmax, device_logsumexp, is_device_array, like, namespace, put
from .densities import Rows
from .joint import JointModel


def log_posterior(model: JointModel, rows: Rows, log_prior: Array | None = None, leading: bool = False) -> Array:
    """Return log p(y = k | x), (n, k) in nats: log joint − log Σ joint.

    If `leading`, for what reads probabilities, these are right to rounding and their logarithms need not be: classes
    that cannot matter have more, together less than 1e-17.

    Where every class gives the row density zero (an unsmoothed category not seen in any class), the answer is the
    limit for vanishing smoothing; where even that leaves no class, it is the class prior.
    """
    prior = model.log_prior if log_prior is None else log_prior
    scores = model.log_joint(rows, prior, leading)
    if is_device_array(scores):  # Gaussians: only numbers beyond all bounds have density zero in every class
        return device_log_softmax(scores, put(prior, scores))
    return normalize(scores, prior, lambda chosen: model.limit_log_joint(rows, chosen, prior))


def normalize(scores: Array, log_prior: Array, limit: Callable[[Codes], tuple[Array, Array]]) -> Array:
    """Return log posteriors (n, k) from log joints, which they overwrite; `log_prior` is (k,) or (n, k).

    `limit` gives (order, log coefficient) of the joint density of rows, by their numbers, that every class gives
    density zero.
    """
    posterior = log_softmax(scores, out=scores)
    impossible = np.flatnonzero(np.isnan(posterior[:, 0]))
    if len(impossible):
        order, score = limit(impossible)
        prior = log_prior if log_prior.ndim == 1 else log_prior[impossible]
        order = np.where(np.isneginf(score), np.inf, order)
        scores = np.where(order == order.min(axis=1, keepdims=True), score, -np.inf)
        scores = np.where(np.isneginf(scores.max(axis=1, keepdims=True)), prior, scores)
        posterior[impossible] = log_softmax(scores)
    return posterior


def marginal_log_density(model: JointModel, rows: Rows) -> Array:
    """Return log p(x) = log Σ_k π_k p(x | k), (n,) in nats."""
    scores = model.log_joint(rows)
    return device_logsumexp(scores) if is_device_array(scores) else np.asarray(logsumexp(scores, axis=1))


def posterior_and_density(model: JointModel, rows: Rows, log_prior: Array | None) -> tuple[Array, Array]:
    """Return what `log_posterior` (n, k) and `marginal_log_density` (n,) do, of rows that are scored once.

    `log_prior` is for the posteriors.
    """
    scores = model.density.log_density(rows)
    own, prior = model.log_prior, model.log_prior if log_prior is None else log_prior
    density = np.asarray(logsumexp(scores + own, axis=1))
    return normalize(scores + prior, prior, lambda chosen: model.limit_log_joint(rows, chosen, prior)), density


def decide(log_posteriors: object, costs: Array | None = None, reject: float | None = None) -> Any:
    """Return the class number (n,) with the largest posterior, or with the smallest expected cost.

    `costs[i, j]` is the cost of answering j when the truth is i; without it a wrong answer costs 1. Where the least
    expected cost is above `reject` the number is −1: no answer (Chow 1970, doi:10.1109/TIT.1970.1054406).
    """
    xp = namespace(log_posteriors)
    if costs is None:
        choice = xp.argmax(log_posteriors, axis=1)
        return choice if reject is None else xp.where(-xp.expm1(xp.max(log_posteriors, axis=1)) > reject, -1, choice)
    expected = xp.matmul(xp.exp(log_posteriors), like(costs, log_posteriors))
    choice = xp.argmin(expected, axis=1)
    return choice if reject is None else xp.where(xp.min(expected, axis=1) > reject, -1, choice)
