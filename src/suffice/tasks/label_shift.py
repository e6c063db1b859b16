"""In which proportions do the classes come in rows whose labels are unknown: priors re-estimated under label shift.

Label shift: p(y) differs from training, p(x | y) does not. The likelihood of the rows, Σ_i log Σ_k π_k p(x_i | k), is
concave in π and has its maximum where EM stops (Saerens, Latinne & Decaestecker 2002, equation 2.9,
doi:10.1162/089976602753284446): each step replaces π_k by the mean posterior of class k.
"""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, np

TOLERANCE = 1e-10  # nats per row: how far below its maximum the likelihood may be where EM stops
MOST_STEPS = 5000


class Shift(NamedTuple):
    """Class priors (k,), the log likelihood of the rows after each step, in nats, and whether EM converged."""

    priors: Array
    trace: tuple[float, ...]
    finished: bool


def adapt_priors(log_likelihood: Array, start: Array) -> Shift:
    """Return the class priors that maximise the likelihood of unlabelled rows.

    `log_likelihood` (n, k) holds log p(x_i | k) in nats, up to a constant per row; `start` (k,) the priors to start
    from, of which those that are 0 stay 0. With g_k the mean of p(x | k) / p(x), EM steps to π_k g_k, and by concavity
    the likelihood per row is within max g − 1 of its maximum, which is when it stops. Two steps at a time are
    extrapolated by the first scheme of Varadhan & Roland (2008, SQUAREM, doi:10.1111/j.1467-9469.2007.00585.x) where
    that raises the likelihood; it never falls.
    """
    if not start.all():
        found = adapt_priors(log_likelihood[:, start > 0], start[start > 0])
        priors = np.zeros_like(start)
        priors[start > 0] = found.priors
        return found._replace(priors=priors)
    highest = log_likelihood.max(axis=1, keepdims=True)
    ratio, constant = np.exp(log_likelihood - highest), float(highest.sum())
    priors = start / start.sum()
    value, gain = _expect(ratio, priors)
    trace = [value + constant]
    for _ in range(MOST_STEPS):
        if float(gain.max()) - 1.0 <= TOLERANCE:
            return Shift(priors, tuple(trace), True)
        once = _normalised(priors * gain)
        value, gain = _expect(ratio, once)
        twice = _normalised(once * gain)
        further = _extrapolated(priors, once, twice)
        best, rise = _expect(ratio, further)
        if best < value:
            further = twice
            best, rise = _expect(ratio, further)
        priors, gain = further, rise
        trace.append(best + constant)
    return Shift(priors, tuple(trace), False)


def _expect(ratio: Array, priors: Array) -> tuple[float, Array]:
    """Return the log likelihood of the rows, and the mean (k,) of p(x | k) / p(x)."""
    density = ratio @ priors
    return float(np.log(density).sum()), (1.0 / density) @ ratio / len(ratio)


def _extrapolated(priors: Array, once: Array, twice: Array) -> Array:
    """Return where two steps of EM point to, or the second where that leaves the simplex."""
    first, bend = once - priors, twice - 2.0 * once + priors
    length = float(np.sqrt((bend**2).sum()))
    if length == 0.0:
        return twice
    reach = max(float(np.sqrt((first**2).sum())) / length, 1.0)
    further = priors + 2.0 * reach * first + reach**2 * bend
    return _normalised(further) if (further > 0).all() else twice


def _normalised(priors: Array) -> Array:
    return np.asarray(priors / priors.sum())
