"""The log-linear stack: pool held-out log densities with non-negative weights.

Everything here works on F (n, k): log densities of rows under each class, made without the row itself (exact
leave-one-out), and on `offset` (n, k): log class priors made without it too. Pooling log densities with weights is a
product of experts raised to powers (Genest & Zidek 1986, doi:10.1214/ss/1177013825); the weights are found by penalised
maximum likelihood of the classes.

Rows are worked on in blocks of (members, classes, rows), rows last: a block stays in cache while its derivatives are
taken, and no reduction runs along a short last axis. Blocks go by the sizes alone, and their sums are added in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from .._arrays import IN_CACHE, Array, Codes, Flags, np, parallel_map, row_chunks, rows_within
from .judge import HoldoutScorer
from .sample import Sample

NEWTON_STEPS = 60
PSEUDO = 0.5  # pseudo-count of each class
AT_ZERO = 1e-12  # a weight up to which is none
NEGLIGIBLE = 2e-4  # of the loss: by so much it may rise when weights are left out
ALIKE = 1e-6  # of what it rises by without a weight, as far as sums round otherwise
MOST_BIASES = 256  # classes; of more, none has a bias: a step takes k³ operations, and each has few rows to tell it
FEW_CLASSES = 8  # of which each row's system is solved as it is
TURNS = 40  # of the series that solves the systems of more classes
CONVERGED = 1e-13  # relative size of a turn after which no more are made


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


def without_each(weight: Array, codes: Codes, removed: Array) -> Array:
    """Return log class priors (n, k) made without each row: (n_k − [k = c] w + α) / (N − w + α K)."""
    k = len(weight)
    log_prior = np.tile(np.log(weight + PSEUDO), (len(codes), 1))
    own = np.maximum(weight[codes] - removed + PSEUDO, 1e-9)
    log_prior[np.arange(len(codes)), codes] = np.log(own)
    total = np.log(np.maximum(weight.sum() - removed + PSEUDO * k, 1e-9))
    return np.asarray(log_prior - total[:, None])


def priors_without(weight: Array, sample: Sample) -> Array:
    """Return log class priors (n, k) made without each row of a sample, or without the group of each."""
    if sample.folds is None:
        return without_each(weight, sample.codes, sample.removed)
    leaving = sample.of_group(len(weight))
    total = np.log(np.maximum(weight.sum() - leaving.sum(axis=1) + PSEUDO * len(weight), 1e-9))
    return np.asarray(np.log(np.maximum(weight - leaving + PSEUDO, 1e-9)) - total[:, None])


class Block(NamedTuple):
    """Some rows: centred `scores` (m, k, rows), `offset` (k, rows), where the own classes are in that, weights.

    `right` (m + k,) are the scores of their own classes and the classes themselves, added up by weight.
    """

    rows: slice
    scores: Array
    offset: Array
    own: Codes
    weight: Array
    single: Array
    right: Array

    @property
    def flat(self) -> Array:
        """The scores, all classes and rows side by side."""
        return self.scores.reshape(len(self.scores), self.offset.size)


def blocks_of(scores: Sequence[Array] | Array, judge: HoldoutScorer) -> list[Block]:
    """Return the rows of a judge in blocks, with the scores (n, k) of each of m members or columns, centred here."""
    (n, k), m = judge.offset.shape, len(scores)
    found = []
    for rows in row_chunks(n, rows_within(16 * k * max(m, 1), IN_CACHE, least=64)):
        codes = judge.codes[rows]
        own = codes * len(codes) + np.arange(len(codes))
        block = np.empty((m, k, len(codes)))
        for place, part in zip(block, scores, strict=True):
            place[:] = part[rows].T
            place -= place.mean(axis=0)
        offset, weight = np.ascontiguousarray(judge.offset[rows].T), judge.weight[rows]
        right = block.reshape(m, -1)[:, own] @ weight
        right = np.concatenate([right, np.bincount(codes, weights=weight, minlength=k)])
        found.append(Block(rows, block, offset, own, weight, judge.single[rows], right))
    return found


class Optimum(NamedTuple):
    """The least of a problem: its value and parameters, posteriors (k, rows) by block, curvature, which may move, the
    evidence.
    """

    value: float
    theta: Array
    posterior: list[Array]
    hessian: Array
    free: Flags
    evidence: float


class Problem:
    """The penalised log-loss of a stack with its derivatives, for rows of `k` classes in blocks."""

    def __init__(
        self, blocks: Sequence[Block], k: int, penalty: Array, start: Array, positive: Array, bias_penalty: float
    ) -> None:
        m = len(start)
        self.blocks, self.m, self.k = blocks, m, k
        self.biases = k if k <= MOST_BIASES and bias_penalty < np.inf else 0
        self.origin = np.concatenate([start, np.zeros(self.biases)])
        self.penalty = np.concatenate([penalty, np.full(self.biases, bias_penalty)])
        self.positive = np.concatenate([positive, np.zeros(self.biases, dtype=bool)])
        self.dropped = np.zeros(len(self.origin), dtype=bool)
        self.cost = sum(own.offset.size for own in blocks) * 40.0 * max(m, 1)

    def solve(self, theta: Array | None = None) -> Optimum:
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
        return Optimum(value, theta, posterior, hessian, free, evidence)

    def pruned(self, optimum: Optimum) -> Optimum:
        """Return the optimum without the weights that are of next to no use, one by one, the least first.

        Without weight j, when the others move as they then should, the objective rises by ½ θ_j² / (H⁻¹)_jj (Hassibi &
        Stork 1993, Optimal brain surgeon, NeurIPS 5). In all it may rise by `NEGLIGIBLE` of the loss. Of weights of
        equal use none goes, as the order of columns would say which.
        """
        theta, places = optimum.theta.copy(), np.flatnonzero(optimum.free)
        inverse = np.linalg.inv(optimum.hessian[np.ix_(places, places)])
        apart = theta - self.origin
        left = NEGLIGIBLE * (optimum.value - 0.5 * float(self.penalty @ apart**2))
        weights = np.flatnonzero(places < self.m)
        while len(weights):
            own = places[weights]
            rise = 0.5 * theta[own] ** 2 / inverse[weights, weights]
            least = int(np.argmin(rise))
            alike = rise <= rise[least] * (1.0 + ALIKE)
            if alike.sum() > 1 and rise[least] > 0.0:
                weights = weights[~alike]
                continue
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

    def value(self, theta: Array) -> tuple[float, list[Array]]:
        """Return the objective, and posteriors (k, rows) by block."""

        def one(block: Block) -> tuple[float, Array]:
            eta = self._scores(block, theta)
            eta -= eta.max(axis=0)
            right = eta.reshape(-1)[block.own]
            np.exp(eta, out=eta)
            total = eta.sum(axis=0)
            eta /= total
            return -float(block.weight @ (right - np.log(total))), eta

        parts = list(parallel_map(one, self.blocks, cost=0.1 * self.cost))
        loss = sum(part for part, _ in parts)
        return loss + 0.5 * float(self.penalty @ (theta - self.origin) ** 2), [posterior for _, posterior in parts]

    def _scores(self, block: Block, theta: Array) -> Array:
        """Return the scores (k, rows) of a block, its offset included."""
        eta = block.offset + (theta[: self.m] @ block.flat).reshape(block.offset.shape)
        if self.biases:
            eta += theta[self.m :, None]
        return eta

    def free(self, theta: Array, gradient: Array) -> Flags:
        """Return which parameters may move: not those at 0 that would become negative."""
        return np.asarray(~(self.positive & (theta <= AT_ZERO) & (gradient > 0)) & ~self.dropped)

    def derivatives(self, theta: Array, posterior: Sequence[Array]) -> tuple[Array, Array]:
        """Return the gradient and the Hessian, with a ridge of 1e-8 of its diagonal."""
        m, size = self.m, len(theta)
        hessian, slope = np.zeros((size, size)), np.zeros(size)

        def one(pair: tuple[Block, Array]) -> tuple[Array, Array]:
            return _derivatives(*pair, self.biases > 0)

        for own_slope, own in parallel_map(one, list(zip(self.blocks, posterior, strict=True)), cost=self.cost):
            slope += own_slope
            hessian += own
        hessian[m:, :m] = hessian[:m, m:].T
        gradient = slope + self.penalty * (theta - self.origin)
        diagonal = np.abs(np.diagonal(hessian))
        hessian[np.diag_indices(size)] += self.penalty + 1e-8 * (1.0 + diagonal)
        return gradient, hessian

    def left_out(self, optimum: Optimum) -> Array:
        """Return scores (n, k) under the parameters that the other rows would give, by one Newton step.

        With A_i the derivatives of row i's scores, M_i = A_i H⁻¹ A_iᵀ, W_i the curvature of its log-loss and p − e its
        slope, the scores move by M_i (I − W_i M_i)⁻¹ (p − e); where parameters are fewer than classes, by the same
        A_i (H − A_iᵀ W_i A_i)⁻¹ A_iᵀ (p − e). Of many classes, (I − W_i M_i)⁻¹ is summed up as a series, by products
        with A_i alone: it converges as fast as a row weighs little in the parameters.
        """
        _, theta, _, hessian, free, _ = optimum
        moving = hessian[np.ix_(free, free)]
        inverse = np.asarray(np.linalg.inv(moving), dtype=np.float64)
        used = np.flatnonzero(free[: self.m])

        def one(pair: tuple[Block, Array]) -> Array:
            block, p = pair
            if not self.biases:
                moves = _by_parameters(block, p, moving, used)
            elif self.k <= FEW_CLASSES:
                moves = _by_classes(block, p, inverse, used)
            else:
                moves = _by_series(block, p, inverse, used)
            return np.asarray(self._scores(block, theta).T + moves)

        cost = self.cost * self.k
        return np.concatenate(
            list(parallel_map(one, list(zip(self.blocks, optimum.posterior, strict=True)), cost=cost))
        )


def _derivatives(block: Block, p: Array, biases: bool) -> tuple[Array, Array]:
    """Return the gradient and the upper half of the Hessian of what rows with posteriors p (k, rows) lose."""
    (m, k, _), w = block.scores.shape, block.weight
    size = m + k if biases else m
    hessian = np.zeros((size, size))
    heavy = p * w
    weighted = block.scores * heavy
    mean, total = weighted.sum(axis=1), weighted.sum(axis=2) if biases else None
    lighter = mean / np.where(w > 0.0, w, 1.0)
    hessian[:m, :m] = weighted.reshape(block.flat.shape) @ block.flat.T - mean @ lighter.T
    slope = mean.sum(axis=1)
    if total is not None:
        hessian[:m, m:] = total - mean @ p.T
        each = heavy.sum(axis=1)
        hessian[m:, m:] = np.diag(each) - heavy @ p.T
        slope = np.concatenate([slope, each])
    return slope - block.right[:size], hessian


def _pull(block: Block, p: Array) -> Array:
    """Return the slope (rows, k) of the log-loss of one row of each."""
    pull = np.ascontiguousarray(p * block.single)
    pull.reshape(-1)[block.own] -= block.single
    return np.ascontiguousarray(pull.T)


def _by_classes(block: Block, p: Array, inverse: Array, used: Codes) -> Array:
    """Return how the scores (rows, k) move where all classes have biases: k × k systems, one for each row."""
    q, (k, n) = len(used), p.shape
    own = np.ascontiguousarray(block.scores[used].transpose(2, 1, 0))  # (rows, k, q)
    turned = np.swapaxes(own, 1, 2)
    flat = own.reshape(n * k, q)
    across = (flat @ inverse[:q, q:]).reshape(n, k, k)
    moves = (flat @ inverse[:q, :q]).reshape(n, k, q) @ turned
    moves += across + np.swapaxes(across, 1, 2) + inverse[q:, q:]
    rows, w, eye = p.T, block.single[:, None, None], np.eye(k)
    curvature = w * (rows[:, :, None] * eye - rows[:, :, None] * rows[:, None, :])
    solved = np.linalg.solve(eye - curvature @ moves, _pull(block, p)[:, :, None])
    return np.asarray((moves @ solved)[:, :, 0])


def _by_series(block: Block, p: Array, inverse: Array, used: Codes) -> Array:
    """Return the same by the series x = Σ_t (W M)ᵗ (p − e); the rows for which it does not converge, as they are."""
    own = np.ascontiguousarray(block.scores[used].transpose(2, 0, 1))  # (rows, q, k)
    q, pull = len(used), _pull(block, p)
    rows, heavy = np.ascontiguousarray(p.T), np.ascontiguousarray((p * block.single).T)

    def moved(x: Array) -> Array:
        along = np.concatenate([(own @ x[:, :, None])[:, :, 0], x], axis=1) @ inverse
        return np.asarray((along[:, None, :q] @ own)[:, 0] + along[:, q:])

    term, total = pull, pull.copy()
    left: Flags = np.ones(len(pull), dtype=np.bool_)
    for _ in range(TURNS):
        move = moved(term)
        term = heavy * (move - (rows * move).sum(axis=1, keepdims=True))
        total += term
        left = np.abs(term).max(axis=1) > CONVERGED * np.abs(pull).max(axis=1)
        if not left.any():
            break
    moves, few = moved(total), np.flatnonzero(left)
    if len(few):
        some = Block(
            slice(0, len(few)),
            block.scores[:, :, few],
            block.offset[:, few],
            block.own[few] // p.shape[1] * len(few) + np.arange(len(few)),
            block.weight[few],
            block.single[few],
            block.right,
        )
        moves[few] = _by_classes(some, p[:, few], inverse, used)
    return moves


def _by_parameters(block: Block, p: Array, hessian: Array, used: Codes) -> Array:
    """Return the same where only the q weights `used` move, and no biases: q × q systems, one for each row."""
    slopes = np.ascontiguousarray(block.scores[used].transpose(2, 0, 1))  # (rows, q, k)
    rows, w = p.T[:, None], block.single[:, None, None]
    mean = (slopes * rows).sum(axis=2, keepdims=True)
    turned = np.swapaxes(slopes, 1, 2)
    curvature = w * ((slopes * rows) @ turned - mean @ np.swapaxes(mean, 1, 2))
    own = slopes[np.arange(len(slopes)), :, block.own // len(slopes)][:, :, None]
    return np.asarray((turned @ np.linalg.solve(hessian - curvature, w * (mean - own)))[:, :, 0])
