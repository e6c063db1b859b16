"""The log-linear stack: pool held-out log densities with non-negative weights.

Everything here works on F (n, k): log densities of rows under each class, made without the row itself (exact
leave-one-out), and on `offset` (n, k): log class priors made without it too. Pooling log densities with weights is a
product of experts raised to powers (Genest & Zidek 1986, doi:10.1214/ss/1177013825); the weights are found by penalised
maximum likelihood of the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Codes, np
from .judge import HoldoutScorer
from .sample import Sample
from .weights import AT_ZERO, Optimum, Problem, blocks_of


def centred(scores: Array) -> Array:
    """Return log densities (…, n, k) less their mean over the classes, which posteriors do not depend on."""
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))


def summed(start: Array, weights: Sequence[float | Array] | Array, members: Iterable[Array | None]) -> Array:
    """Return start + Σ_m weight_m F_m, (n, k), the scores centred; weights are numbers, or for each row (n, 1)."""
    for weight, part in zip(weights, members, strict=True):
        if part is not None and np.any(weight):
            start += weight * centred(part)
    return start


def prior_shares(losses: Array, judge: HoldoutScorer) -> Array:
    """Return how far each member is trusted before weights are fitted, ∝ exp(−z² / 4), in all 1.

    `losses` (m, n) are of rows that the members have not seen; z is by how many standard errors of the difference a
    member's mean loss is above the least. So of few rows members start alike, of many the best does, in no units. The
    error is that of as many rows of equal weight as would say as much: (Σ w)² / Σ w² (Kish 1965).
    """
    share = judge.weight / judge.weight.sum()
    gap = losses - losses[int(np.argmin(losses @ share))]
    mean = gap @ share
    variance = ((gap - mean[:, None]) ** 2) @ share * float(share @ judge.single) / float(judge.weight.sum())
    z2 = mean**2 / np.maximum(variance, 1e-300)
    trust = np.exp(-0.25 * np.where(mean > 0, z2, 0.0))
    return np.asarray(trust / trust.sum())


def refitted(scores: Array, judge: HoldoutScorer, penalty: float, start: Array) -> Array:
    """Return weights (m,), none negative, that minimise Σ log-loss + ½ penalty |weight − start|²; without biases.

    `scores` (m, n, k) are log densities; what the judge's `offset` holds counts as it is.
    """
    m, k = len(scores), judge.offset.shape[1]
    blocks = blocks_of(scores, judge)
    found = Problem(blocks, k, np.full(m, penalty), start, np.ones(m, dtype=bool), np.inf).solve().theta
    return np.where(found <= AT_ZERO, 0.0, found)


@dataclass(frozen=True, slots=True)
class Stack:
    """log posterior = offset + bias_k + Σ_m weight_m F_m,k + const: `weight` (m,), `bias` (k,).

    `evidence` is Laplace's approximation of the log marginal likelihood, up to a constant; it compares penalties.
    `left_out` (n, k) are the scores of the rows judged on, offsets included, under the weights that all other rows
    would give: one Newton step from the optimum (approximate leave-one-out, Pregibon 1981, doi:10.1214/aos/1176345513).
    """

    weight: Array
    bias: Array
    evidence: float
    left_out: Array

    @classmethod
    def fit(
        cls,
        scores: Sequence[Array] | Array,
        judge: HoldoutScorer,
        penalty: Array,
        start: Array,
        positive: Array,
        bias_penalty: float = 1.0,
    ) -> Self:
        """Minimise Σ log-loss + ½ Σ penalty_m (weight_m − start_m)² + ½ bias_penalty |bias|², by projected Newton.

        `scores` are log densities (n, k), one for each weight; `positive` (m,) marks weights that may not be negative.
        The objective is convex. Of several penalties (p, m), the one with the most evidence.
        """
        blocks, m, k = blocks_of(scores, judge), len(scores), judge.offset.shape[1]
        best: tuple[Problem, Optimum] | None = None
        theta: Array | None = None
        for each in np.atleast_2d(penalty):
            problem = Problem(blocks, k, each, start, positive, bias_penalty)
            optimum = problem.solve(theta)
            theta = optimum.theta  # where the next one begins, whose optimum is near
            if best is None or optimum.evidence > best[1].evidence:
                best = problem, optimum
        assert best is not None
        problem, optimum = best[0], best[0].pruned(best[1])
        bias = optimum.theta[m:] if problem.biases else np.zeros(k)
        weight = np.where(np.abs(optimum.theta[:m]) <= AT_ZERO, 0.0, optimum.theta[:m])  # of 0, members are not asked
        return cls(weight, bias, optimum.evidence, problem.left_out(optimum))

    def scores(self, members: Iterable[Array | None], offset: Array) -> Array:
        """Return offset + bias + Σ_m weight_m F_m, (n, k), whose softmax is the posterior; None at weight 0."""
        return summed(offset + self.bias, self.weight, members)


def without_each(weight: Array, codes: Codes, removed: Array, pseudo: float = 0.5) -> Array:
    """Return log class priors (n, k) made without each row: (n_k − [k = c] w + α) / (N − w + α K)."""
    k = len(weight)
    log_prior = np.tile(np.log(weight + pseudo), (len(codes), 1))
    own = np.maximum(weight[codes] - removed + pseudo, 1e-9)
    log_prior[np.arange(len(codes)), codes] = np.log(own)
    total = np.log(np.maximum(weight.sum() - removed + pseudo * k, 1e-9))
    return np.asarray(log_prior - total[:, None])


def priors_without(weight: Array, sample: Sample, pseudo: float = 0.5) -> Array:
    """Return log class priors (n, k) made without each row of a sample, or without the group of each."""
    if sample.folds is None:
        return without_each(weight, sample.codes, sample.removed, pseudo)
    leaving = sample.of_group(len(weight))
    total = np.log(np.maximum(weight.sum() - leaving.sum(axis=1) + pseudo * len(weight), 1e-9))
    return np.asarray(np.log(np.maximum(weight - leaving + pseudo, 1e-9)) - total[:, None])
