"""What knowing a cell is expected to tell of the class, from what the cell may hold."""

from __future__ import annotations

from .._arrays import Array, NDArray, ndtr, np

ROUNDING = 1e-13  # nats, below which differences of sums are nothing
VALUES = 7  # of a number that stand for all
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(VALUES)
HERMITE_BELOW, HERMITE_WEIGHT = ndtr(_NODES), _WEIGHTS / _WEIGHTS.sum()


def information(posterior: Array, share: Array) -> Array:
    """Return I(y; x_j | known) in nats (h,), of posteriors p(y | known) (h, k) and shares p(x_j | y, known) (h, m, k).

    I = Σ_x Σ_y p(y) p(x | y) log(p(x | y) / Σ_y' p(y') p(x | y')), which is the entropy of the class less what is
    expected of it once x_j is known, and so neither negative nor above H(y | known). Shares may be the same in all rows
    (1, m, k). Source: Cover & Thomas, Elements of Information Theory (2nd ed. 2006), equation 2.28 and section 2.5.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if len(share) == 1:  # Σ_y p(y) Σ_x p(x | y) log p(x | y), less Σ_x p(x) log p(x)
            own = np.where(share[0] > 0, share[0] * np.log(share[0]), 0.0).sum(axis=0)
            whole = posterior @ share[0].T
            found = posterior @ own - np.where(whole > 0, whole * np.log(whole), 0.0).sum(axis=1)
        else:
            joint = share * posterior[:, None]
            whole = joint.sum(axis=2, keepdims=True)
            found = np.where(joint > 0, joint * np.log(share / whole), 0.0).sum(axis=(1, 2))
    return np.asarray(np.clip(np.where(found < ROUNDING, 0.0, found), 0.0, entropy(posterior)))


def entropy(posterior: Array) -> Array:
    """Return H = −Σ_y p log p in nats (h,) of probabilities (h, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(posterior > 0, posterior * np.log(posterior), 0.0).sum(axis=1))


def shares_by_posteriors(weight: Array, posterior: Array) -> Array:
    """Return shares (h, m, k) of values by class in proportion to weight × p(y | known, value), 1 in sum in each class.

    `weight` (h, m) says how probable each value is, `posterior` (h, m, k) which class it then is.
    """
    share = weight[:, :, None] * posterior
    total = share.sum(axis=1, keepdims=True)
    return np.where(total > 0, share / np.where(total > 0, total, 1.0), weight[:, :, None])


def representatives(value: Array, weight: Array) -> tuple[Array, Array]:
    """Return a few values (h, m) of a number that stand for all it may hold, and their weights.

    `value` (h, ·) ascends, and `weight` (h, ·) sums to 1. The nodes of Gauss-Hermite quadrature are carried over from a
    standard normal number by the distribution function, F⁻¹(Φ(z)): what is polynomial in z is integrated exactly.
    """
    below = np.cumsum(weight, axis=1)
    below -= 0.5 * weight
    value = np.broadcast_to(value, weight.shape)
    after = np.stack([(below < wanted).sum(axis=1) for wanted in HERMITE_BELOW], axis=1)
    after = np.clip(after, min(1, weight.shape[1] - 1), weight.shape[1] - 1)
    before = np.maximum(after - 1, 0)
    low, high = np.take_along_axis(below, before, axis=1), np.take_along_axis(below, after, axis=1)
    part = np.clip((HERMITE_BELOW - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    found = (1.0 - part) * np.take_along_axis(value, before, axis=1) + part * np.take_along_axis(value, after, axis=1)
    return found, np.tile(HERMITE_WEIGHT, (len(found), 1))


def distinct_values(value: Array, weight: Array) -> tuple[NDArray[np.bool_], Array, Array]:
    """Return which rows have at most `VALUES` different values (h,), and of these the values and their weights.

    `value` (h, m) ascends. Where there are fewer the last one fills up, with weight 0.
    """
    place = np.cumsum(np.diff(value, axis=1, prepend=value[:, :1]) > 0, axis=1)
    few = place[:, -1] < VALUES
    at = [place[few] == i for i in range(VALUES)]
    share = np.stack([np.where(own, weight[few], 0.0).sum(axis=1) for own in at], axis=1)
    first = np.stack([np.where(own.any(axis=1), own.argmax(axis=1), -1) for own in at], axis=1)
    return few, np.take_along_axis(value[few], first % value.shape[1], axis=1), share
