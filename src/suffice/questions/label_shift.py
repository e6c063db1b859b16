"""Class priors re-estimated under label shift, from rows without labels.

Label shift: p(y) differs from training, p(x | y) does not. The likelihood of the rows, Σ_i log Σ_k π_k p(x_i | k), is
concave in π and has its maximum where EM stops (Saerens, Latinne & Decaestecker 2002, equation 2.9,
doi:10.1162/089976602753284446): each step replaces π_k by the mean posterior of class k.
"""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, nnls, np, solve_triangular

TOLERANCE = 1e-10  # nats per row: how far below its maximum the likelihood may be where EM stops
MOST_STEPS = 5000
PATIENT = 10  # steps before quadratic programs help: most sets of rows are done by then
HALVINGS = 20
RIDGE = 1e-12  # relative, for rows that do not tell the classes apart


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
    that raises the likelihood; it never falls. Where EM creeps, towards a prior of 0 or where the likelihood hardly
    bends, sequential quadratic programming takes over (Kim, Carbonetto, Stephens & Anitescu 2020,
    doi:10.1080/10618600.2019.1689985).
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
    for step in range(MOST_STEPS):
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
        if step >= PATIENT:
            further, best, rise = _programmed(ratio, further, best, rise)
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


def _programmed(ratio: Array, priors: Array, value: float, gain: Array) -> tuple[Array, float, Array]:
    """Return priors, log likelihood and mean ratios after a step to the maximum of the quadratic approximation.

    Over q ≥ 0 the mean of log(Σ q_k r_k) less Σ q_k has its maximum where Σ q_k = 1; with A the rows' p(x | k) / p(x)
    it is about −½ qᵀHq + bᵀq, H = AᵀA / n and b = 2 Aᵀ1 / n − 1. The step is halved until the likelihood does not fall.
    """
    a = ratio / (ratio @ priors)[:, None]
    h = a.T @ a / len(a)
    h.flat[:: len(h) + 1] += RIDGE * float(np.trace(h))
    try:
        root = np.linalg.cholesky(h)
        target, _ = nnls(root.T, solve_triangular(root, 2.0 * gain - 1.0, lower=True))
    except (np.linalg.LinAlgError, RuntimeError):  # too ill-conditioned: EM goes on alone
        return priors, value, gain
    for halving in range(HALVINGS):
        share = 0.5**halving
        further = (1.0 - share) * priors + share * target
        if (ratio @ further > 0).all():
            further = _normalised(further)
            best, rise = _expect(ratio, further)
            if best >= value:
                return further, best, rise
    return priors, value, gain


def _normalised(priors: Array) -> Array:
    return np.asarray(priors / priors.sum())
