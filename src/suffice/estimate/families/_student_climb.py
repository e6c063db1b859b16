"""The way to the maximum likelihood of Student t columns: a few EM steps, then Newton's, all cells at once.

With z = (y − μ) / σ and D = ν + z² every derivative of Σ w log t(y; μ, σ, ν) up to the second is made of the sums
A_j = Σ w z^j / D², j = 0 … 4, and Σ w log(1 + z²/ν). Parameters are μ in units of σ, log σ and log ν.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..._arrays import Array, Codes, NDArray, digamma, gammaln, np, polygamma
from ...em.climb import ROUNDING

EM_STEPS = 8  # they find the basin; Newton's steps then double the digits
MOST_STEPS = 200
SHORT = 1e-11  # a step that is over: of σ, log σ and log ν
LONGEST = 1.0
CURVATURE = 1e-8  # least curvature of a step, relative to the largest
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Columns:
    """Values y (e,) sorted by cell, their weights, the cell of each (e,) and the number of cells."""

    y: Array
    weight: Array
    cell: Codes
    count: int

    def sum(self, amounts: Array) -> Array:
        """Return the sums by cell."""
        return np.asarray(np.bincount(self.cell, weights=amounts, minlength=self.count), dtype=np.float64)

    def take(self, kept: Codes) -> Columns:
        """Return some of the cells (ascending), numbered anew."""
        number = np.full(self.count, -1)
        number[kept] = np.arange(len(kept))
        own = number[self.cell]
        inside = own >= 0
        return Columns(self.y[inside], self.weight[inside], own[inside], len(kept))


@dataclass(slots=True)
class Slopes:
    """Log likelihood by cell, its gradient (c, 3) and Hessian (c, 3, 3), and the EM step for μ (in σ) and log σ."""

    value: Array
    gradient: Array
    hessian: Array
    em: Array  # (c, 2)


def slopes(columns: Columns, total: Array, theta: Array) -> Slopes:
    """Return what Newton's method needs at θ = (μ, log σ, log ν), (c, 3); `total` (c,) is the weight of the cells."""
    sigma, nu = np.exp(theta[:, 1]), np.exp(theta[:, 2])
    own = nu[columns.cell]
    z = (columns.y - theta[:, 0][columns.cell]) / sigma[columns.cell]
    q = z * z
    d = own + q
    log_tail = columns.sum(columns.weight * np.log1p(q / own))
    part = columns.weight / d
    inverse, linear, square = columns.sum(part), columns.sum(part * z), columns.sum(part * q)
    part /= d
    a1, a2 = columns.sum(part * z), columns.sum(part * q)
    a0, a3, a4 = (inverse - a2) / nu, linear - nu * a1, square - nu * a2
    power = nu + 1.0
    gamma = gammaln(0.5 * power) - gammaln(0.5 * nu) - 0.5 * np.log(nu * np.pi) - theta[:, 1]
    by_nu = total * (digamma(0.5 * power) - digamma(0.5 * nu) - 1.0 / nu) - log_tail + power * square / nu
    by_nu *= 0.5
    bend = 0.25 * (polygamma(1, 0.5 * power) - polygamma(1, 0.5 * nu)) + 0.5 / nu**2
    tail = 0.5 * square / nu - 0.5 * ((nu**2 + nu) * a2 + nu * a2 + a4) / nu**2
    gradient = np.stack([power * linear, power * square - total, nu * by_nu], axis=1)
    hessian = np.empty((len(nu), 3, 3))
    hessian[:, 0, 0] = power * (a2 - nu * a0)
    hessian[:, 0, 1] = hessian[:, 1, 0] = -2.0 * power * nu * a1
    hessian[:, 1, 1] = -2.0 * power * nu * a2
    hessian[:, 0, 2] = hessian[:, 2, 0] = nu * (a3 - a1)
    hessian[:, 1, 2] = hessian[:, 2, 1] = nu * (a4 - a2)
    hessian[:, 2, 2] = nu**2 * (total * bend + tail) + nu * by_nu
    safe = np.where(inverse > 0, inverse, 1.0)
    shift = linear / safe
    spread = np.maximum(square / safe - shift**2, np.finfo(np.float64).tiny)
    em = np.stack([shift, 0.5 * np.log(spread)], axis=1)
    return Slopes(total * gamma - 0.5 * power * log_tail, gradient, hessian, em)


def climb(columns: Columns, theta: Array, low: Array, high: Array) -> Array:
    """Return θ (c, 3) at a maximum of the likelihood, within bounds (c, 3), from a start; it never falls.

    A coordinate with equal bounds stays. Directions in which the likelihood bends upwards are climbed by a step as
    long as its slope over its curvature, at most LONGEST; a step that does not raise the likelihood is shortened.
    """
    theta = np.clip(theta, low, high)
    found, live = theta.copy(), np.arange(len(theta))
    total = columns.sum(columns.weight)
    now = slopes(columns, total, theta)
    reach = np.ones(len(theta))
    for step in range(MOST_STEPS):
        move = np.pad(now.em, ((0, 0), (0, 1))) if step < EM_STEPS else _newton(now, theta, low, high)
        size = np.abs(move).max(axis=1, initial=0.0)
        move *= (reach * np.minimum(1.0, LONGEST / np.maximum(size, LONGEST)))[:, None]
        units = np.stack([np.exp(theta[:, 1]), *np.ones((2, len(theta)))], axis=1)
        target = np.clip(theta + move * units, low, high)
        ahead = slopes(columns, total, target)
        better = ahead.value >= now.value - ROUNDING * (np.abs(now.value) + total)
        reach = np.where(better, np.minimum(1.0, 2.0 * reach), 0.25 * reach)
        moved = np.abs((target - theta) / units).max(axis=1, initial=0.0)
        theta = np.where(better[:, None], target, theta)
        now = Slopes(
            np.where(better, ahead.value, now.value),
            np.where(better[:, None], ahead.gradient, now.gradient),
            np.where(better[:, None, None], ahead.hessian, now.hessian),
            np.where(better[:, None], ahead.em, now.em),
        )
        found[live] = theta
        over = (moved <= SHORT) & (step >= EM_STEPS)
        if over.all():
            break
        if 2 * over.sum() >= len(over):
            kept = np.flatnonzero(~over)
            columns, live, theta, low, high = columns.take(kept), live[kept], theta[kept], low[kept], high[kept]
            total, reach = total[kept], reach[kept]
            now = Slopes(now.value[kept], now.gradient[kept], now.hessian[kept], now.em[kept])
    return found


def _newton(now: Slopes, theta: Array, low: Array, high: Array) -> Array:
    """Return |H|⁻¹ g (c, 3), coordinates left alone that a bound holds back."""
    held = ((theta <= low) & (now.gradient <= 0)) | ((theta >= high) & (now.gradient >= 0))
    gradient = np.where(held, 0.0, now.gradient)
    hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, now.hessian)
    values, vectors = np.linalg.eigh(hessian)
    curvature = np.abs(values)
    largest = curvature.max(axis=1, keepdims=True)
    curvature = np.maximum(curvature, np.where(largest > 0, CURVATURE * largest, 1.0))
    along = np.einsum("cij,ci->cj", vectors, gradient) / curvature
    return np.asarray(np.einsum("cij,cj->ci", vectors, along), dtype=np.float64)
