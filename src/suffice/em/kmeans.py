"""k-means with k-means++ starts.

Starts are drawn as by Arthur & Vassilvitskii (2007), each with a chance in proportion to its squared distance from
those before; then rows and means move in turn (Lloyd 1982, doi:10.1109/TIT.1982.1056489) until no row does. SciPy's
kmeans2 takes no weights, warns of parts left empty, and to silence that changes the filters of the process, which
threads share; scikit-learn's KMeans moves the mean of an empty part elsewhere, and cannot stop after so few steps.
"""

from __future__ import annotations

from collections.abc import Callable

from .._arrays import Array, Codes, np


def k_means(rows: Array, parts: int, rounds: int, seed: int) -> Codes:
    """Return the part (n,) of each row (n, p), after so many rounds at most; some parts may be left without rows."""
    rows = rows - rows.mean(axis=0)  # products tell distances best about the middle
    weight, rng = np.ones(len(rows)), np.random.RandomState(seed)
    first = int(rng.randint(0, len(rows), dtype=np.int64))
    turned = np.ascontiguousarray(rows.T)
    means = far_apart(rows, weight, parts, rng, first)
    return lloyd(rows, weight, means, rounds - 1, lambda means: _nearest_about(turned, means))


def far_apart(
    rows: Array, weight: Array, parts: int, rng: np.random.RandomState | np.random.Generator, first: int | None = None
) -> Array:
    """Return rows (parts, p), each drawn in proportion to weight × squared distance from those before.

    The `first` is drawn by weight, unless it is given.
    """
    squares, chosen = np.ones(len(rows)), []
    for part in range(parts):
        number = first if part == 0 and first is not None else _draw(weight * squares, rng)
        chosen.append(number)
        apart = ((rows - rows[number]) ** 2).sum(axis=1)
        squares = apart if part == 0 else np.minimum(squares, apart)
    return rows[chosen]


def _draw(chance: Array, rng: np.random.RandomState | np.random.Generator) -> int:
    """Return a number drawn in proportion to chances (n,); the last where none has any."""
    reached = np.cumsum(chance)
    return min(int(np.searchsorted(reached, rng.random() * reached[-1], side="right")), len(chance) - 1)


def lloyd(
    rows: Array, weight: Array, means: Array, steps: int, nearest: Callable[[Array], Codes] | None = None
) -> Codes:
    """Return the nearest mean (n,) of each row, after means (parts, p) moved so many times at most."""
    nearest = nearest or (lambda means: _nearest(rows, means))
    part = nearest(means)
    for _ in range(steps):
        own = (part == np.arange(len(means))[:, None]) * weight
        held = own.sum(axis=1)[:, None]
        means = np.where(held > 0.0, own @ rows / np.where(held > 0.0, held, 1.0), means)
        before, part = part, nearest(means)
        if (part == before).all():
            break
    return part


def _nearest(rows: Array, means: Array) -> Codes:
    """Return which of the means (parts, p) is nearest to each row; of equal ones the first."""
    found: Codes = np.stack([((rows - mean) ** 2).sum(axis=1) for mean in means]).argmin(axis=0)
    return found


def _nearest_about(turned: Array, means: Array) -> Codes:
    """Return the same of rows about their middle, given as columns (p, n): faster, and equal distances less exactly."""
    far = means @ turned
    far *= -2.0
    far += (means**2).sum(axis=1)[:, None]
    least, found = far[0], np.zeros(far.shape[1], dtype=np.int64)
    for number, own in enumerate(far[1:], start=1):
        found[own < least] = number
        least = np.minimum(least, own)
    return found
