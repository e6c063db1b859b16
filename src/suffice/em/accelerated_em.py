"""Monotone EM with Anderson acceleration.

An EM step is a map whose fixed point is wanted. From the last few points and their steps, the combination whose step
would be shortest if the map were linear is the next point: Walker & Ni (2011), doi:10.1137/10078356X; for EM, and with
the guard that a point of lower likelihood is refused, Henderson & Varadhan (2019), doi:10.1080/10618600.2019.1594835.
Problems that share nothing (one covariance per class) climb side by side, each with its own combination.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass

from .._arrays import Array, Codes, Flags, np
from ..progress import holding
from .step import PatternProblem, Point, nearest_spd

TOLERANCE = 1e-10  # a step this short may be the last, if rounding keeps the next from being shorter; in standard units
POLISHED = 1e-13  # a step this short is rounding
SLOW, FAR = 250, 1e-6  # after so many steps one this long tells that the likelihood rises without end, or hardly bends
PATIENCE = 30  # steps that may be no shorter than the shortest so far
MEMORY = 8  # points combined
MEMORY_CELLS = 1 << 25  # numbers kept of them
RIDGE = 1e-14  # of the products of unit vectors: points that lie along each other are combined evenly
ROUNDING = 1e-13  # of a log likelihood, relative
UNCORRELATED = 1e-8  # correlations that are zero to rounding
NUDGE = 0.01  # what they are made, to see whether they stay
LEAST_LOOKS, LOOKS, GROWTH = 8, 60, 1e-3  # EM steps from there, and what one must add to take it for a saddle


Progress = Callable[[int, float], None]
_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


def watch(progress: Progress) -> AbstractContextManager[None]:
    """Have every climb in the block call `progress` with the number of each step and the log likelihood before it."""
    return holding(_WATCHER, progress)


@dataclass(frozen=True, slots=True)
class Climb:
    """Where EM arrived: parameters, how far the last step still moved (0: converged), steps, log likelihoods in nats.

    `secured` (g,) marks the covariances that had to be kept from becoming singular, `arrived` (g,) those that settled.
    """

    point: Point
    moved: float
    steps: int
    likelihood: Array  # (g,)
    secured: Flags
    arrived: Flags


@dataclass(slots=True)
class _State:
    """The present point of every problem: `x` (g, p) its parameters in a row, `ahead` (g, p) an EM step on.

    They are in units of the standard deviations `unit` (g, d): which way a problem takes is told by its own rows alone.
    """

    unit: Array
    x: Array
    ahead: Array
    likelihood: Array  # (g,)
    mended: Flags
    secured: Flags
    origin: Array  # (g, p) where the climb began
    shortest: Array  # (g,) length of the shortest step so far
    idle: Codes  # (g,) steps since, once the likelihood no longer tells
    refusals: Codes  # (g,) of combinations, one after the other
    detour: Codes  # (g,) steps to make before points are combined again: a plain one, a prolonged one, …
    turns: list[Array]  # last changes of x, (g, p) each
    bends: list[Array]  # and of the steps from x

    @property
    def moved(self) -> Array:
        """The largest change of a parameter in the step from here (g,)."""
        return np.asarray(np.abs(self.ahead - self.x).max(axis=1))

    def take(self, kept: Codes) -> None:
        """Go on with some of the problems."""
        for name in self.__slots__:
            own = getattr(self, name)
            setattr(self, name, [each[kept] for each in own] if isinstance(own, list) else own[kept])


def climb(problem: PatternProblem, start: Point, max_steps: int) -> Climb:
    """Return the parameters of largest likelihood, to rounding: two orders of summing rows end at the same estimate.

    Who watches, see `watch`, is called with the number of each step and the log likelihood before it.
    From a start without correlations symmetric cells lead straight to a saddle; from there the way leads on.
    """
    unit = np.sqrt(np.diagonal(start.covariance, axis1=1, axis2=2))
    reached = _climb(problem, start, unit, max_steps, 0)
    aside = _beside_saddle(problem, reached) if reached.moved == 0 else None
    if aside is None:
        return reached
    units, beside = aside
    further = _climb(problem.take(units), beside, unit[units], max_steps, reached.steps)
    higher = further.likelihood >= reached.likelihood[units]
    likelihood, secured, arrived = reached.likelihood.copy(), reached.secured.copy(), reached.arrived.copy()
    risen = units[higher]
    likelihood[risen], secured[risen] = further.likelihood[higher], further.secured[higher]
    arrived[risen] = further.arrived[higher]
    point = _put(reached.point, risen, _some(further.point, np.flatnonzero(higher)))
    return Climb(point, further.moved, reached.steps + further.steps, likelihood, secured, arrived)


def _beside_saddle(problem: PatternProblem, reached: Climb) -> tuple[Codes, Point] | None:
    """Return which climbs arrived at a saddle in some correlation, and points beside and above; None if none did.

    Correlations that are zero to rounding are moved a little, all in one direction. EM takes such a move back, where
    the likelihood has its maximum; beside a saddle every step enlarges it. Murray (1977), in the discussion of
    Dempster, Laird & Rubin, doi:10.1111/j.2517-6161.1977.tb01600.x.
    """
    mean, covariance = reached.point.mean, reached.point.covariance
    length = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))  # rounding leaves some below 0
    unit = length[:, :, None] * length[:, None, :]
    flat = (np.abs(covariance) <= UNCORRELATED * unit) & (unit > 0) & ~reached.secured[:, None, None]
    if not flat.any():
        return None
    here = Point(mean, covariance + np.where(flat, min(NUDGE, 0.1 / len(covariance[0])) * unit, 0.0))
    beside, above = reached.point, np.zeros(len(covariance), dtype=bool)
    for step in range(LOOKS + 1):
        likelihood, ahead, mended = problem.step(here)
        before, after = (
            np.where(flat, np.abs(at.covariance - covariance), 0.0).max(axis=(1, 2)) for at in (here, ahead)
        )
        grows = (after > (1.0 + GROWTH) * before) & ~mended & ~above
        if step >= LEAST_LOOKS:
            found = grows & (likelihood > reached.likelihood)
            beside, above = _put(beside, found, _some(here, found)), above | found
            if not (grows & ~found).any():
                break
        here = ahead
    return (np.flatnonzero(above), _some(beside, above)) if above.any() else None


def _climb(problem: PatternProblem, start: Point, unit: Array, max_steps: int, done: int) -> Climb:
    state, progress = _begin(problem, start, unit), _WATCHER.get()
    found, reached = state.x.copy(), state.likelihood.copy()
    live, secured = np.arange(len(found)), np.zeros(len(found), dtype=bool)
    memory = max(1, min(MEMORY, MEMORY_CELLS // (2 * max(1, found.size))))
    moved = 0.0
    for step in range(1, max_steps + 1):
        if step == SLOW:
            state.mended |= state.moved > FAR
        if state.mended.any():
            problem = _secure(problem, state)
        over = _is_over(state)
        reached[live], secured[live] = state.likelihood, state.secured
        if progress is not None:
            progress(done + step, float(reached.sum()))
        if over.any():
            found[live[over]] = state.ahead[over]
            kept = np.flatnonzero(~over)
            live = live[kept]
            if not len(live):
                break
            problem = problem.take(kept)
            state.take(kept)
        _advance(problem, state, memory)
    arrived = np.ones(len(found), dtype=bool)
    if len(live):
        found[live], reached[live], arrived[live] = state.x, state.likelihood, False
        moved = float(state.moved.max())
    return Climb(_unpack(found, unit), moved, step, reached, secured, arrived)


def _begin(problem: PatternProblem, start: Point, unit: Array) -> _State:
    x = _pack(start, unit)
    likelihood, ahead, mended = problem.step(start)
    g = len(x)
    zero = np.zeros(g, dtype=np.int64)
    secured, never = np.zeros(g, dtype=bool), np.full(g, np.inf)
    steps = zero, zero.copy(), zero.copy()
    return _State(unit, x, _pack(ahead, unit), likelihood, mended, secured, x, never, *steps, [], [])


def _is_over(state: _State) -> Flags:
    """Return which problems have arrived (g,)."""
    moved = state.moved
    near = moved <= TOLERANCE
    better = moved < 0.5 * state.shortest
    state.idle = np.where(better, 0, state.idle + (near & (moved >= state.shortest)))
    state.shortest = np.minimum(state.shortest, moved)
    return np.asarray((moved <= POLISHED) | (near & (state.idle >= PATIENCE)))


def _secure(problem: PatternProblem, state: _State) -> PatternProblem:
    """Return the problem with what came near singular, or does not settle, kept from it, and begin anew.

    From where the climb began: where it arrives then does not depend on the way it took before.
    """
    fresh = state.mended & ~state.secured
    state.mended = np.zeros_like(state.mended)
    if not fresh.any():
        return problem
    problem = problem.secured(np.flatnonzero(fresh))
    state.x = np.where(fresh[:, None], state.origin, state.x)
    likelihood, ahead, _ = problem.step(_unpack(state.x, state.unit))
    state.likelihood = np.where(fresh, likelihood, state.likelihood)
    state.ahead = np.where(fresh[:, None], _pack(ahead, state.unit), state.ahead)
    state.shortest = np.where(fresh, np.inf, state.shortest)
    state.detour = np.where(fresh, 2, state.detour)
    state.secured = state.secured | fresh
    for own in (*state.turns, *state.bends):
        own[fresh] = 0.0
    return problem


def _advance(problem: PatternProblem, state: _State, memory: int) -> None:
    """Move every problem one step: to an extrapolated point if that is no less likely, else by EM alone.

    Where rounding hides what the likelihood says, the shorter step is the better point. A combination of points looks
    for where steps end, be it a saddle; when refused, pairs of EM steps are prolonged for a while.
    """
    combined, prolonged = state.detour == 0, (state.detour > 0) & (state.detour % 2 == 1)
    target = np.where(combined[:, None], _combine(state), state.ahead)
    if prolonged.any():
        target = np.where(prolonged[:, None], _prolong(state), target)
    eager = (combined | prolonged) & (len(state.turns) > 0)
    outside = eager & nearest_spd(_unpack(target, state.unit).covariance)[1]
    target[outside] = state.ahead[outside]
    likelihood, point, mended = problem.step(_unpack(target, state.unit))
    ahead = _pack(point, state.unit)
    gain = likelihood - state.likelihood
    shorter = np.abs(ahead - target).max(axis=1) < state.moved
    level = np.abs(gain) <= ROUNDING * np.abs(likelihood)
    taken = ~eager | outside | (gain >= 0) | (level & shorter)
    turn, bend = target - state.x, (ahead - target) - (state.ahead - state.x)
    state.turns = [*state.turns, turn * taken[:, None]][-memory:]
    state.bends = [*state.bends, bend * taken[:, None]][-memory:]
    refused = eager & (outside | ~taken)
    state.refusals = np.where(combined, np.where(refused, np.minimum(state.refusals + 1, 4), 0), state.refusals)
    state.detour = np.where(
        combined, np.where(refused, 2**state.refusals, 0), np.where(prolonged | taken, state.detour - 1, 0)
    )
    state.x = np.where(taken[:, None], target, state.x)
    state.ahead = np.where(taken[:, None], ahead, state.ahead)
    state.likelihood = np.where(taken, likelihood, state.likelihood)
    state.mended = np.where(taken, mended, False)


def _combine(state: _State) -> Array:
    """Return x + f − Σ γ (Δx + Δf), f the step from x and γ such that f − Σ γ Δf is shortest (g, p)."""
    if not state.turns:
        return state.ahead
    f = state.ahead - state.x
    bends = np.stack(state.bends, axis=1)
    size = np.sqrt(np.einsum("ghp,ghp->gh", bends, bends))
    size = np.where(size > 0, size, 1.0)
    unit = bends / size[:, :, None]
    gram = unit @ unit.transpose(0, 2, 1) + RIDGE * np.eye(unit.shape[1])
    share = np.linalg.solve(gram, (unit @ f[:, :, None]))[:, :, 0] / size
    return np.asarray(state.ahead - np.einsum("gh,ghp->gp", share, np.stack(state.turns, axis=1) + bends))


def _prolong(state: _State) -> Array:
    """Return w + 2α r + α² v, w the point before the last EM step r, v its change since, α = |r| / |v| at least 1.

    A change that is rounding beside the step says nothing of where steps end.
    Varadhan & Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x.
    """
    r, v = state.turns[-1], state.bends[-1]
    long, curved = np.sqrt((r**2).sum(axis=1)), np.sqrt((v**2).sum(axis=1))
    alpha = np.maximum(1.0, long / np.where(curved > ROUNDING * long, curved, np.inf))[:, None]
    return np.asarray(state.x - r + 2.0 * alpha * r + alpha**2 * v)


def _pack(point: Point, unit: Array) -> Array:
    """Return the parameters as one row for each covariance (g, p), in units of these standard deviations (g, d)."""
    g, d = unit.shape
    mean = point.mean.reshape(g, -1, d) / unit[:, None]
    return np.concatenate([mean.reshape(g, -1), (point.covariance / _pairs(unit)).reshape(g, -1)], axis=1)


def _unpack(x: Array, unit: Array) -> Point:
    g, d = unit.shape
    mean = x[:, : -d * d].reshape(g, -1, d) * unit[:, None]
    return Point(mean.reshape(-1, d), x[:, -d * d :].reshape(g, d, d) * _pairs(unit))


def _pairs(unit: Array) -> Array:
    """Return their products (g, d, d): to divide by these keeps what is symmetric so to the last digit."""
    return unit[:, :, None] * unit[:, None, :]


def _some(point: Point, units: Codes | Flags) -> Point:
    """Return the parameters of some of the problems."""
    g, d = point.covariance.shape[:2]
    return Point(point.mean.reshape(g, -1, d)[units].reshape(-1, d), point.covariance[units])


def _put(point: Point, units: Codes | Flags, other: Point) -> Point:
    """Return the parameters with those of some of the problems replaced."""
    g, d = point.covariance.shape[:2]
    mean, covariance = point.mean.reshape(g, -1, d).copy(), point.covariance.copy()
    mean[units], covariance[units] = other.mean.reshape(-1, *mean.shape[1:]), other.covariance
    return Point(mean.reshape(-1, d), covariance)
