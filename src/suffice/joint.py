"""The joint density of class and row, class prior × class densities, off which every answer is read; Bayes' rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._arrays import Array, Codes, log_softmax, logsumexp, np
from ._arrays_api import device_log_softmax, device_logsumexp, is_device_array, like, namespace, put
from .densities import Product, Rows
from .errors import quoted
from .schema import Level


@dataclass(frozen=True, slots=True)
class JointModel:
    """p(x, y = k) = π_k p(x | k): `classes` (k labels), `log_prior` (k,) in nats, and one density per class."""

    classes: tuple[Level, ...]
    log_prior: Array
    density: Product

    def __repr__(self) -> str:
        """Return one line: classes and kinds of densities; the numbers are in its attributes."""
        kinds = ", ".join(type(block).__name__ for block in self.density.blocks)
        return f"JointModel({len(self.classes)} classes: {quoted(self.classes)}; densities: {kinds})"

    def log_joint(self, rows: Rows, log_prior: Array | None = None, leading: bool = False) -> Array:
        """Return log π_k + log p(x | k), (n, k) in nats; if `leading`, more for classes that cannot matter.

        `rows` has one entry per block of columns, as the encoder made it. `log_prior` (k,) replaces the model's own.
        Rows on another device get their answer there. Classes that cannot matter to a row's posteriors share less than
        1e-17 of its probability, whether by these numbers or by their own.
        """
        prior = self.log_prior if log_prior is None else log_prior
        scores = self.density.leading_log_density(rows, prior) if leading else self.density.log_density(rows)
        scores += like(prior, scores)
        return scores

    def limit_log_joint(self, rows: Rows, chosen: Codes, log_prior: Array) -> tuple[Array, Array]:
        """Return (order, log coefficient) of π_k p(x | k) for the chosen rows as the smoothing vanishes."""
        order, score = self.density.limit(rows, chosen)
        return order, score + log_prior

    def condition(self, rows: Rows, posterior: Array) -> tuple[object, ...]:
        """Return the rows with each missing cell at its mean, or most probable category, given the observed ones.

        `posterior` (n, k) says how much each class counts in a row: p(k | row), or 1 for a class that is known.
        """
        return self.density.condition(rows, posterior)

    def sample(self, rows: Rows, codes: Codes, rng: np.random.RandomState) -> tuple[object, ...]:
        """Return the rows with each missing cell drawn from p(missing | observed, class), for class numbers (n,)."""
        return self.density.sample(rows, codes, rng)


# ── Which class does a row belong to: Bayes' rule ─────────────────────────────────────────────────────────────────────


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
