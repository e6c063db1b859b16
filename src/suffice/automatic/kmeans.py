"""k-means from starts far apart: parts of rows near to a mean of their own.

Starts are drawn as by Arthur & Vassilvitskii (2007), each with a chance in proportion to its squared distance from
those before; then rows and means move in turn (Lloyd 1982, doi:10.1109/TIT.1982.1056489) until no row does. SciPy's
kmeans2 warns of parts left empty, and to silence that changes the filters of the process, which threads share; it also
makes all its rounds where no row moves any more. From the same draws both find the same parts.
"""

from __future__ import annotations

from .._arrays import Array, Codes, np


def k_means(rows: Array, parts: int, rounds: int, seed: int) -> Codes:
    """Return the part (n,) of each row (n, p), after so many rounds at most; some parts may be left without rows."""
    rows = rows - rows.mean(axis=0)  # products tell distances best about the middle
    means = _starts(rows, parts, np.random.RandomState(seed))
    part: Codes = np.full(len(rows), -1, dtype=np.int64)
    turned = np.ascontiguousarray(rows.T)
    for _ in range(rounds):
        nearest = _nearest(turned, means)
        if (nearest == part).all():
            break
        part = nearest
        own = (part == np.arange(parts)[:, None]).astype(np.float64)
        held = own.sum(axis=1)
        means = np.where(held[:, None] > 0.0, own @ rows / np.maximum(held, 1.0)[:, None], means)
    return part


def _starts(rows: Array, parts: int, rng: np.random.RandomState) -> Array:
    """Return rows (parts, p) far from each other."""
    first = int(rng.randint(0, len(rows), dtype=np.int64))
    chosen, squares = [first], np.full(len(rows), np.inf)
    for _ in range(1, parts):
        squares = np.minimum(squares, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        reached = np.cumsum(squares / max(float(squares.sum()), 1e-300))
        chosen.append(min(int(np.searchsorted(reached, rng.uniform())), len(rows) - 1))
    return rows[chosen]


def _nearest(turned: Array, means: Array) -> Codes:
    """Return which of the means (parts, p) is nearest to each row, given as columns (p, n); of equal ones the first."""
    far = means @ turned
    far *= -2.0
    far += (means**2).sum(axis=1)[:, None]
    least, found = far[0], np.zeros(far.shape[1], dtype=np.int64)
    for number, own in enumerate(far[1:], start=1):
        found[own < least] = number
        least = np.minimum(least, own)
    return found
