"""What the compiled kernels do, in NumPy: the oracles that these are compared with, bit for bit."""

import math

import numpy as np

from suffice.forest.boosting import HESSIANS

GRADIENTS = 2.0**50  # in which gradients are counted


def leaves_by_steps(trees, cells, tree):
    """Return the leaf (n,) in which the rows of one tree end."""
    node = np.full(len(cells), trees.roots[tree])
    while (inner := trees.column[node] >= 0).any():
        own = node[inner]
        cell = cells[inner, trees.column[own]]
        right = np.where(cell < 0, trees.missing_right[own], cell > trees.threshold[own])
        node[inner] = np.where(right, trees.right[own], trees.left[own])
    return trees.leaf[node]


def derivatives(codes, heavy, scores):
    """Return for each of the scores (k, n) gradients and hessians of the first rows, whole numbers; exp is C's."""
    first = scores[:, : len(codes)]
    p = np.concatenate([np.zeros_like(first), first]) if len(scores) == 1 else first.copy()
    p = np.vectorize(math.exp)(p - p.max(axis=0))
    p /= p.sum(axis=0)
    own = [(p[c], codes == c) for c in range(len(p) - len(scores), len(p))]
    return [(np.rint((q - mine) * heavy * GRADIENTS), np.rint(q * (1.0 - q) * heavy * HESSIANS)) for q, mine in own]


def spline_weights(x, knots):
    """Return the left knot's number (n,), the weight of the right knot, and 1 where the cell is observed (n,)."""
    seen = (~np.isnan(x)).astype(np.float64)
    if len(knots) < 2:
        return np.zeros(len(x), dtype=np.int64), np.zeros(len(x)), seen
    inside = np.clip(np.where(seen > 0, x, knots[0]), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    return left, (inside - knots[left]) / (knots[left + 1] - knots[left]), seen


def count_splines(splines, rows, codes, k, weight):
    """Return the sums (k, B) of splines, one column after the other."""
    found = []
    for j, knots in enumerate(splines.knots):
        (left, share, seen), size = spline_weights(rows[:, j], knots), len(knots)
        heavy, place = seen if weight is None else seen * weight, codes * size + left
        sides = (place, (1.0 - share) * heavy), (place + 1, share * heavy)
        one, other = (np.bincount(at, weights=own, minlength=k * size + 1)[: k * size] for at, own in sides)
        found.append((one + other).reshape(k, size))
    return np.concatenate(found, axis=1)


def cells_of(x, cuts):
    """Return how many cuts are at most each number, −1 for NaN."""
    return np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right"))


def normal_scores(numbers, scores, end_slopes):
    """Return numbers (n, d) as normal scores; beyond the end knots linear, by at most 1."""
    out = np.full(numbers.shape, np.nan)
    for j, (knots, z) in enumerate(scores):
        seen = np.flatnonzero(~np.isnan(numbers[:, j]))
        x = numbers[seen, j]
        own = np.interp(x, knots, z)
        if len(knots) > 1:
            low, high = end_slopes(knots, z)
            below, above = np.flatnonzero(x < knots[0]), np.flatnonzero(x > knots[-1])
            own[below] = np.maximum(z[0] + low * (x[below] - knots[0]), z[0] - 1.0)
            own[above] = np.minimum(z[-1] + high * (x[above] - knots[-1]), z[-1] + 1.0)
        out[seen, j] = own
    return out
