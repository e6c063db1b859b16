"""Judge left-out log densities and pool them: temperature, and a log-linear stack with non-negative weights.

Everything here works on F (n, k): log densities of rows under each class, made without the row itself (exact
leave-one-out), and on `offset` (n, k): log class priors made without it too. Pooling log densities with weights is a
product of experts raised to powers (Genest & Zidek 1986, doi:10.1214/ss/1177013825); the weights are found by penalised
maximum likelihood of the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from .._arrays import IN_MEMORY, Array, Codes, NDArray, log_softmax, np, row_chunks, rows_within
from .budget import ENOUGH_ROWS
from .mixed_rows import Index

NEWTON_STEPS = 60
TEMPERATURE_STEPS = 12
AT_ZERO = 1e-12  # a weight up to which is none
NEGLIGIBLE = 2e-4  # of the loss: by so much it may rise when weights are left out
CHANCE = 4.0  # twice the log-likelihood that the best of a member's settings wins by chance: the largest of some χ²₁
MOST_BIASES = 256  # classes; of more, none has a bias: a step takes k³ operations, and each has few rows to tell it


@dataclass(frozen=True, slots=True)
class Judge:
    """Rows of known class: `codes` (n,), `offset` (n, k) log priors without the row, `weight` (n,) row weights.

    `single` (n,) is the weight that leaves when one row is left out, less than `weight` where several are equal, and
    `best` (n, k) the scores of the best of the members judged before, after its temperature, if there was any.
    """

    codes: Codes
    offset: Array
    weight: Array
    single: Array
    best: Array | None = None

    def __getitem__(self, rows: Index) -> Judge:
        return Judge(
            self.codes[rows],
            self.offset[rows],
            self.weight[rows],
            self.single[rows],
            None if self.best is None else self.best[rows],
        )

    def thinned(self) -> tuple[Judge, slice]:
        """Return the judge of every so many rows, which tell settings apart, and which rows they are."""
        some = slice(None, None, max(1, len(self.codes) // ENOUGH_ROWS))
        return self[some], some

    def mean(self, values: Array) -> tuple[float, float]:
        """Return the mean of values (n,) by the weights of the rows, and its standard error: equal rows are as many."""
        share = self.weight / self.weight.sum()
        mean = float(share @ values)
        spread = (share**2 * self.single / np.maximum(self.weight, 1e-300)) @ (values - mean) ** 2
        return mean, float(np.sqrt(spread))

    def loss(self, scores: Array) -> float:
        """Return the mean log-loss, in nats, of softmax(offset + scores)."""
        eta = self.offset + scores
        eta -= eta.max(axis=1, keepdims=True)
        own = eta[np.arange(len(eta)), self.codes] - np.log(np.exp(eta).sum(axis=1))
        return float(-(self.weight @ own) / self.weight.sum())

    def tempered(self, power: float) -> Judge:
        """Return a judge to whom each row says less: its likelihood is raised to a power."""
        return Judge(self.codes, self.offset, power * self.weight, power * self.single)

    def beyond_chance(self, loss: float) -> float:
        """Return the share of a temperature found to lose `loss` that is not chance: max(0, 1 − 4 / χ²).

        χ² = 2 Σ w (loss of the offsets alone − loss). A coefficient is drawn to 0 as by the positive part of James &
        Stein (1961); the best of many settings wins more by chance than one would.
        """
        won = 2.0 * float(self.weight.sum()) * (self.loss(np.zeros_like(self.offset)) - loss)
        return max(0.0, 1.0 - CHANCE / won) if won > CHANCE else 0.0

    def losses(self, scores: Array) -> Array:
        """Return the log-loss (n,) of each row under softmax(offset + scores)."""
        return -log_softmax(self.offset + scores)[np.arange(len(self.codes)), self.codes]

    def temperature(self, scores: Array) -> tuple[float, float]:
        """Return the least mean log-loss of softmax(offset + t · scores) over t ≥ 0, and t, by Newton's method."""
        scores = scores - scores.max(axis=1, keepdims=True)
        own = scores[np.arange(len(scores)), self.codes]
        w = self.weight / self.weight.sum()

        def at(t: float) -> tuple[float, float, float]:
            p = self.offset + t * scores
            p -= p.max(axis=1, keepdims=True)
            right = p[np.arange(len(p)), self.codes].copy()
            np.exp(p, out=p)
            total = p.sum(axis=1)
            first = np.einsum("ij,ij->i", p, scores) / total
            second = np.einsum("ij,ij,ij->i", p, scores, scores) / total
            return float(-w @ (right - np.log(total))), float(w @ (first - own)), float(w @ (second - first * first))

        t = 1.0
        loss, slope, curvature = at(t)
        for _ in range(TEMPERATURE_STEPS):
            step = float(np.clip(slope / max(curvature, 1e-12), -t, 4.0 * t)) if t > 1e-6 else 0.0
            new = min(max(t - step, 0.02 * t), 5.0 * t)
            there = at(new)
            while there[0] > loss + 1e-12 and abs(new - t) > 1e-4 * t:
                new = 0.5 * (new + t)
                there = at(new)
            done = abs(new - t) < 1e-3 * t
            t, (loss, slope, curvature) = new, there
            if done:
                break
        return loss, t


def centred(scores: Array) -> Array:
    """Return log densities (…, n, k) less their mean over the classes, which posteriors do not depend on."""
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))


def summed(start: Array, weights: Sequence[float | Array] | Array, members: Iterable[Array | None]) -> Array:
    """Return start + Σ_m weight_m F_m, (n, k), the scores centred; weights are numbers, or for each row (n, 1)."""
    for weight, part in zip(weights, members, strict=True):
        if part is not None and np.any(weight):
            start += weight * centred(part)
    return start


def prior_shares(losses: Array, judge: Judge) -> Array:
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


def refitted(scores: Array, judge: Judge, penalty: float, start: Array) -> Array:
    """Return weights (m,), none negative, that minimise Σ log-loss + ½ penalty |weight − start|²; without biases.

    `scores` (m, n, k) are centred log densities; what the judge's `offset` holds counts as it is.
    """
    m = len(scores)
    found = _Problem(scores, judge, np.full(m, penalty), start, np.ones(m, dtype=bool)).solve().theta
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
        judge: Judge,
        penalty: Array,
        start: Array,
        positive: Array,
        bias_penalty: float = 1.0,
    ) -> Self:
        """Minimise Σ log-loss + ½ Σ penalty_m (weight_m − start_m)² + ½ bias_penalty |bias|², by projected Newton.

        `scores` (m, n, k) are centred log densities; `positive` (m,) marks weights that may not be negative. The
        objective is convex. Of several penalties (p, m), the one with the most evidence.
        """
        scores = np.asarray(scores, dtype=np.float64)
        best: tuple[_Problem, _Optimum] | None = None
        for each in np.atleast_2d(penalty):
            problem = _Problem(scores, judge, each, start, positive, bias_penalty)
            optimum = problem.solve()
            if best is None or optimum.evidence > best[1].evidence:
                best = problem, optimum
        assert best is not None
        problem, optimum = best[0], best[0].pruned(best[1])
        m, _, k = problem.scores.shape
        bias = optimum.theta[m:] if problem.biases else np.zeros(k)
        weight = np.where(np.abs(optimum.theta[:m]) <= AT_ZERO, 0.0, optimum.theta[:m])  # of 0, members are not asked
        return cls(weight, bias, optimum.evidence, problem.left_out(optimum))

    def scores(self, members: Iterable[Array | None], offset: Array) -> Array:
        """Return offset + bias + Σ_m weight_m F_m, (n, k), whose softmax is the posterior; None at weight 0."""
        return summed(offset + self.bias, self.weight, members)


class _Optimum(NamedTuple):
    """The least of a problem: its value and parameters, posteriors (n, k), curvature, which may move, the evidence."""

    value: float
    theta: Array
    posterior: Array
    hessian: Array
    free: NDArray[np.bool_]
    evidence: float


class _Problem:
    """The penalised log-loss of a stack with its derivatives."""

    def __init__(
        self, scores: Array, judge: Judge, penalty: Array, start: Array, positive: Array, bias_penalty: float = np.inf
    ) -> None:
        m, n, k = scores.shape
        self.scores, self.judge, self.rows = scores, judge, np.arange(n)
        self.biases = k if k <= MOST_BIASES and bias_penalty < np.inf else 0
        self.origin = np.concatenate([start, np.zeros(self.biases)])
        self.penalty = np.concatenate([penalty, np.full(self.biases, bias_penalty)])
        self.positive = np.concatenate([positive, np.zeros(self.biases, dtype=bool)])
        self.own = np.einsum("mi,i->m", scores[:, self.rows, judge.codes], judge.weight)
        self.count = np.bincount(judge.codes, weights=judge.weight, minlength=k)
        self.flat = scores.reshape(m, -1)
        self.dropped = np.zeros(len(self.origin), dtype=bool)

    def solve(self, theta: Array | None = None) -> _Optimum:
        """Return the optimum, by Newton's method with halving, an active set of weights at 0."""
        theta = self.origin.copy() if theta is None else theta
        value, posterior = self.value(theta)
        gradient, hessian = self.derivatives(theta, posterior)
        for _ in range(NEWTON_STEPS):
            free = self.free(theta, gradient)
            step = np.zeros_like(theta)
            step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            length = 1.0
            while True:
                new = theta - length * step
                new[self.positive] = np.maximum(new[self.positive], 0.0)
                there, after = self.value(new)
                if there <= value + 1e-10 * abs(value) or length < 1e-4:
                    break
                length *= 0.5
            done = abs(value - there) < 1e-7 * (1.0 + abs(value))
            if there <= value:
                theta, value, posterior = new, there, after
            gradient, hessian = self.derivatives(theta, posterior)
            if done:
                break
        free = self.free(theta, gradient)
        _, curvature = np.linalg.slogdet(hessian[np.ix_(free, free)])
        evidence = -value + 0.5 * float(np.log(self.penalty[free]).sum()) - 0.5 * float(curvature)
        return _Optimum(value, theta, posterior, hessian, free, evidence)

    def pruned(self, optimum: _Optimum) -> _Optimum:
        """Return the optimum without the weights that are of next to no use, one by one, the least first.

        Without weight j, when the others move as they then should, the objective rises by ½ θ_j² / (H⁻¹)_jj (Hassibi &
        Stork 1993, Optimal brain surgeon, NeurIPS 5). In all it may rise by `NEGLIGIBLE` of the loss.
        """
        theta, places = optimum.theta.copy(), np.flatnonzero(optimum.free)
        inverse = np.linalg.inv(optimum.hessian[np.ix_(places, places)])
        apart = theta - self.origin
        left = NEGLIGIBLE * (optimum.value - 0.5 * float(self.penalty @ apart**2))
        weights = np.flatnonzero(places < len(self.scores))
        while len(weights):
            own = places[weights]
            rise = 0.5 * theta[own] ** 2 / inverse[weights, weights]
            least = int(np.argmin(rise))
            left -= float(rise[least])
            if left < 0.0:
                break
            j = weights[least]
            step = inverse[:, j] / inverse[j, j]
            theta[places] -= theta[places[j]] * step
            inverse -= np.outer(step, inverse[j])
            self.dropped[places[j]] = True
            weights = np.delete(weights, least)
        if not self.dropped.any():
            return optimum
        theta[self.positive] = np.maximum(theta[self.positive], 0.0)
        theta[self.dropped] = 0.0
        return self.solve(theta)

    def value(self, theta: Array) -> tuple[float, Array]:
        """Return the objective, and posteriors (n, k)."""
        eta = self._scores(theta)
        eta -= eta.max(axis=1, keepdims=True)
        right = eta[self.rows, self.judge.codes].copy()
        np.exp(eta, out=eta)
        total = eta.sum(axis=1)
        loss = -float(self.judge.weight @ (right - np.log(total)))
        eta /= total[:, None]
        return loss + 0.5 * float(self.penalty @ (theta - self.origin) ** 2), eta

    def _scores(self, theta: Array) -> Array:
        m = len(self.scores)
        eta = self.judge.offset + (theta[:m] @ self.flat).reshape(self.judge.offset.shape)
        return np.asarray(eta + theta[m:] if self.biases else eta)

    def free(self, theta: Array, gradient: Array) -> NDArray[np.bool_]:
        """Return which parameters may move: not those at 0 that would become negative."""
        return np.asarray(~(self.positive & (theta <= AT_ZERO) & (gradient > 0)) & ~self.dropped)

    def derivatives(self, theta: Array, posterior: Array) -> tuple[Array, Array]:
        """Return the gradient and the Hessian, with a ridge of 1e-8 of its diagonal."""
        m = len(self.scores)
        heavy = posterior * self.judge.weight[:, None]
        mean = np.einsum("mik,ik->mi", self.scores, posterior)
        spread = self.flat * heavy.ravel()
        weighted = mean * self.judge.weight
        hessian = np.empty((len(theta), len(theta)))
        hessian[:m, :m] = spread @ self.flat.T - weighted @ mean.T
        slope = weighted.sum(axis=1) - self.own
        if self.biases:
            hessian[:m, m:] = spread.reshape(self.scores.shape).sum(axis=1) - weighted @ posterior
            hessian[m:, :m] = hessian[:m, m:].T
            hessian[m:, m:] = np.diag(heavy.sum(axis=0)) - heavy.T @ posterior
            slope = np.concatenate([slope, heavy.sum(axis=0) - self.count])
        gradient = slope + self.penalty * (theta - self.origin)
        diagonal = np.abs(np.diagonal(hessian))
        hessian[np.diag_indices(len(theta))] += self.penalty + 1e-8 * (1.0 + diagonal)
        return gradient, hessian

    def left_out(self, optimum: _Optimum) -> Array:
        """Return scores (n, k) under the parameters that the other rows would give, by one Newton step.

        With A_i the derivatives of row i's scores, M_i = A_i H⁻¹ A_iᵀ, W_i the curvature of its log-loss and p − e its
        slope, the scores move by M_i (I − W_i M_i)⁻¹ (p − e); where parameters are fewer than classes, by the same
        A_i (H − A_iᵀ W_i A_i)⁻¹ A_iᵀ (p − e).
        """
        _, theta, posterior, hessian, free, _ = optimum
        m, n, k = self.scores.shape
        eta = self._scores(theta)
        if not self.biases:
            return eta + self._moves(posterior, hessian[np.ix_(free, free)], free)
        inverse = np.linalg.inv(hessian[np.ix_(free, free)])
        eye = np.eye(k)
        out = np.empty((n, k))
        for part in row_chunks(n, rows_within(16 * k * (m + k), IN_MEMORY)):
            own = self.scores[:, part]
            slopes = np.concatenate([own, np.broadcast_to(eye[:, None], (k, own.shape[1], k))])[free]
            flat = np.swapaxes(slopes, 0, 1)  # (rows, parameters, k)
            moves = np.swapaxes(flat, 1, 2) @ (inverse @ flat)
            p, w = posterior[part], self.judge.single[part][:, None]
            curvature = w[:, :, None] * (p[:, :, None] * eye - p[:, :, None] * p[:, None, :])
            pull = w * p
            pull[np.arange(len(p)), self.judge.codes[part]] -= w[:, 0]
            solved = np.linalg.solve(eye - curvature @ moves, pull[:, :, None])
            out[part] = eta[part] + (moves @ solved)[:, :, 0]
        return out

    def _moves(self, posterior: Array, hessian: Array, free: NDArray[np.bool_]) -> Array:
        """Return how the scores (n, k) move where only the q free weights do: q × q systems, one for each row."""
        _, n, k = self.scores.shape
        parts = self.scores[free]
        out = np.empty((n, k))
        for part in row_chunks(n, rows_within(16 * k * max(len(parts), 1), IN_MEMORY)):
            slopes = np.swapaxes(parts[:, part], 0, 1)  # (rows, q, k)
            p, w = posterior[part][:, None], self.judge.single[part][:, None, None]
            mean = (slopes * p).sum(axis=2, keepdims=True)
            turned = np.swapaxes(slopes, 1, 2)
            curvature = w * ((slopes * p) @ turned - mean @ np.swapaxes(mean, 1, 2))
            own = slopes[np.arange(len(slopes)), :, self.judge.codes[part]][:, :, None]
            out[part] = (turned @ np.linalg.solve(hessian - curvature, w * (mean - own)))[:, :, 0]
        return out


def without_each(weight: Array, codes: Codes, removed: Array, pseudo: float = 0.5) -> Array:
    """Return log class priors (n, k) made without each row: (n_k − [k = c] w + α) / (N − w + α K)."""
    k = len(weight)
    log_prior = np.tile(np.log(weight + pseudo), (len(codes), 1))
    own = np.maximum(weight[codes] - removed + pseudo, 1e-9)
    log_prior[np.arange(len(codes)), codes] = np.log(own)
    total = np.log(np.maximum(weight.sum() - removed + pseudo * k, 1e-9))
    return np.asarray(log_prior - total[:, None])
