"""The third and fourth moments of rows about class means, summed here or where the rows live."""

from __future__ import annotations

from .._arrays import Array, Codes, np, parallel_map, row_chunks, rows_within
from .._arrays_api import DeviceArray, fetch, is_device_array, take
from ._device import moments_on_device

Own = dict[int, tuple[Array, Array]]  # by class: its scatter and its third moments (d, d)


def class_moments(
    rows: Array | DeviceArray, codes: Codes, mean: Array, weight: Array | None, pooled: bool
) -> tuple[Array, Array]:
    """Return third and fourth moments of rows about class means, by class (k, d, d) or fourth ones added up (d, d)."""
    if not isinstance(rows, np.ndarray):
        return moments_on_device(rows, codes, mean, weight, pooled)
    if pooled:
        return np.zeros((0, 0)), _pooled_fourth(rows, codes, mean, weight)
    return _by_class(rows, codes, mean, weight)


def _by_class(rows: Array, codes: Codes, mean: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return third and fourth moments of each class (k, d, d)."""
    k, d = mean.shape
    third, fourth = np.zeros((2, k, d, d))
    for c in range(k):
        members = np.flatnonzero(codes == c)
        for part in row_chunks(len(members), rows_within(8 * d)):
            own = members[part]
            add = moments(rows[own] - mean[c], None if weight is None else weight[own])
            third[c] += add[0]
            fourth[c] += add[1]
    return third, fourth


def _pooled_fourth(rows: Array, codes: Codes, mean: Array, weight: Array | None) -> Array:
    """Return the fourth moments of all classes together (d, d)."""
    d = mean.shape[1]

    def work(part: slice) -> Array:
        square = rows[part] - mean[codes[part]]
        square *= square
        return (square if weight is None else square * weight[part, None]).T @ square

    total = np.zeros((d, d))
    chunks = row_chunks(len(rows), rows_within(8 * d, least=4 * d))
    for found in parallel_map(work, chunks, cost=2.0 * rows.size * d):
        total += found
    return total


def moments(z: Array, weight: Array | None) -> tuple[Array, Array]:
    square = z**2
    weighted = square if weight is None else square * weight[:, None]
    return weighted.T @ z, weighted.T @ square


def own_moments(z: Array, codes: Codes, weight: Array | None, most: int) -> Own:
    """Return the scatter and third moments of classes from their centred rows, those that come last at the end."""
    found: Own = {}
    for c in _end_classes(codes, most):
        members = codes == c
        own, w = z[members], None if weight is None else weight[members]
        weighted = own if w is None else own * w[:, None]
        found[c] = weighted.T @ own, moments(own, w)[0]
    return found


def own_of_ends(rows: Array | DeviceArray, codes: Codes, mean: Array, weight: Array | None, most: int) -> Own:
    """Return the own moments of the classes at both ends of a batch."""
    found: Own = {}
    for c in _end_classes(codes, most):
        members = np.flatnonzero(codes == c)
        scatter, third = np.zeros((2, mean.shape[1], mean.shape[1]))
        for part in row_chunks(len(members), rows_within(8 * mean.shape[1])):
            own = members[part]
            z = (fetch(take(rows, own)) if is_device_array(rows) else rows[own]) - mean[c]
            w = None if weight is None else weight[own]
            scatter += (z if w is None else z * w[:, None]).T @ z
            third += moments(z, w)[0]
        found[c] = scatter, third
    return found


def _end_classes(codes: Codes, most: int) -> list[int]:
    """Return the classes whose rows come first in a batch and those whose rows come last, which are at the end.

    Rows of the former may have come in the batch before, and those of the latter may go on in the next one.
    """
    present, first = np.unique(codes, return_index=True)
    last = len(codes) - 1 - np.unique(codes[::-1], return_index=True)[1]
    ending = present[np.argsort(last, kind="stable")][-((most + 1) // 2) :].tolist()
    starting = present[np.argsort(first, kind="stable")][: most // 2].tolist()
    return [*(c for c in starting if c not in ending), *ending]


def join_own(first: Own, weight: Array, second: Own, other_weight: Array) -> Own:
    """Return the own moments of the classes that are open on every side they have rows on, the second side's last."""
    both: Own = {}
    for c, (scatter, third) in first.items():
        if other_weight[c] == 0:
            both[c] = scatter, third
    for c, (scatter, third) in second.items():
        if c in first:
            both[c] = scatter + first[c][0], third + first[c][1]
        elif weight[c] == 0:
            both[c] = scatter, third
    return both


def steps_to(weight: float, scatter: Array, third: Array, delta: Array) -> tuple[Array, Array]:
    """Return what third and fourth moments (d, d) of a class gain when they are taken about mean + δ."""
    square = delta**2
    variances = np.diagonal(scatter)
    cross = third * delta
    more = -variances[:, None] * delta - 2.0 * delta[:, None] * scatter - weight * square[:, None] * delta
    most = 4.0 * np.outer(delta, delta) * scatter + weight * np.outer(square, square)
    most += np.outer(variances, square) + np.outer(square, variances) - 2.0 * (cross + cross.T)
    return more, most
