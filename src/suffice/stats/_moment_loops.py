"""The third and fourth moments of rows about class means, summed here or where the rows live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from .._arrays import Array, Codes, np, parallel_map, row_chunks, rows_within
from .._arrays_api import DeviceArray, fetch, is_device_array, take
from ._device import moments_on_device

FEW_CELLS = 1 << 20  # 8 MiB: rows that take no more are kept until moments are asked for
Own = dict[int, tuple[Array, Array]]  # by class: its scatter and its third moments (d, d)


class Moments:
    """Third and fourth moments of rows about class means, made when first asked for.

    `third` is (k, d, d) and `fourth` too; where classes are added up, `fourth` is (d, d), and `third` and the scatters
    `own` are (m, d, d), of the classes that are open. Until they are made there are the rows instead, if these are few,
    and what is asked of all rows together is answered from them. Model files hold no rows.
    """

    __slots__ = ("_made", "_rows")

    def __init__(self, third: Array, fourth: Array, own: Array | None = None) -> None:
        self._made: tuple[Array, Array, Array] | None = (third, fourth, np.zeros((0, 0, 0)) if own is None else own)
        self._rows: CenteredRows | None = None

    @classmethod
    def of_rows(cls, rows: CenteredRows) -> Self:
        """Return the moments of these rows."""
        found = cls.__new__(cls)
        found._made, found._rows = None, rows
        return found

    @property
    def made(self) -> tuple[Array, Array, Array]:
        """The third and fourth moments, Σ w z_j² z_l and Σ w z_j² z_l², and the scatters of open classes."""
        rows, made = self._rows, self._made
        if made is None:
            assert rows is not None
            self._made = made = rows.moments()
            self._rows = None
        return made

    def norms(self, inverse: Array, members: Sequence[int]) -> float:
        """Return Σ w (Σ_j z_j² inverse_j)² over the rows of some classes, all where classes are added up."""
        rows = self._rows
        if rows is not None:
            return rows.norms(inverse, members)
        _, fourth, _ = self.made
        if fourth.ndim == 2:
            return float(inverse @ fourth @ inverse)
        return float(sum(inverse @ fourth[c] @ inverse for c in members))


class CenteredRows(NamedTuple):
    """Rows less their class means (n, d), the class of each (n,), their weights or None, and the number of classes.

    `open`, if not None, are the classes with moments of their own where those of all are added up.
    """

    z: Array
    codes: Codes
    weight: Array | None
    k: int
    open: Codes | None = None

    def norms(self, inverse: Array, members: Sequence[int]) -> float:
        """Return Σ w (Σ_j z_j² inverse_j)² over the rows of some classes, all where classes are added up."""
        (n, d), squares = self.z.shape, np.empty(len(self.z))
        size = rows_within(16 * d)
        room = np.empty((min(size, n), d))
        for part in row_chunks(n, size):
            own = self.z[part]
            np.matmul(np.multiply(own, own, out=room[: len(own)]), inverse, out=squares[part])
        squares *= squares
        if self.weight is not None:
            squares *= self.weight
        return float((squares if self.open is not None else squares[np.isin(self.codes, members)]).sum())

    def moments(self) -> tuple[Array, Array, Array]:
        """Return third and fourth moments and the scatters of open classes, see `Moments`."""
        d = self.z.shape[1]
        if self.open is None:
            third, fourth = np.zeros((2, self.k, d, d))
            for c in range(self.k):
                third[c], fourth[c] = moments(*self._of_class(c))
            return third, fourth, np.zeros((0, 0, 0))
        third, own = np.zeros((2, len(self.open), d, d))
        for place, c in enumerate(self.open.tolist()):
            z, weight = self._of_class(c)
            own[place] = (z if weight is None else z * weight[:, None]).T @ z
            third[place] = moments(z, weight)[0]
        return third, _pooled_fourth(self.z, self.codes, np.zeros((self.k, d)), self.weight), own

    def _of_class(self, c: int) -> tuple[Array, Array | None]:
        index = np.flatnonzero(self.codes == c)
        return self.z[index], None if self.weight is None else self.weight[index]


def class_moments(rows: Array | DeviceArray, codes: Codes, mean: Array, weight: Array | None) -> Moments:
    """Return third and fourth moments of rows about their class means."""
    if not isinstance(rows, np.ndarray):
        return Moments(*moments_on_device(rows, codes, mean, weight, pooled=False))
    if _are_few(rows, 2 * mean.size * mean.shape[1]):
        return Moments.of_rows(CenteredRows(_about(rows, mean, codes), codes, weight, len(mean)))
    return Moments(*_by_class(rows, codes, mean, weight))


def pooled_moments(
    rows: Array | DeviceArray, codes: Codes, mean: Array, weight: Array | None, most: int
) -> tuple[Moments, Codes]:
    """Return moments of rows about their class means, added up, and which classes have moments of their own.

    Those are the classes at both ends, at most `most`.
    """
    opened = _end_classes(codes, most)
    numbers = np.array(opened, dtype=np.int64)
    if not isinstance(rows, np.ndarray):
        fourth = moments_on_device(rows, codes, mean, weight, pooled=True)[1]
    elif _are_few(rows, 2 * len(opened) * mean.shape[1] ** 2):
        return Moments.of_rows(CenteredRows(_about(rows, mean, codes), codes, weight, len(mean), numbers)), numbers
    else:
        fourth = _pooled_fourth(rows, codes, mean, weight)
    scatter, third = _own_of(opened, rows, codes, mean, weight)
    return Moments(third, fourth, scatter), numbers


def _about(rows: Array, mean: Array, codes: Codes) -> Array:
    """Return rows (n, d) less the means of their classes."""
    z = mean[codes]
    return np.subtract(rows, z, out=z)


def _are_few(rows: Array, cells: int) -> bool:
    """Return whether rows take no more room than so many numbers, or little."""
    return rows.size <= max(cells, FEW_CELLS)


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


def _own_of(
    classes: Sequence[int], rows: Array | DeviceArray, codes: Codes, mean: Array, weight: Array | None
) -> tuple[Array, Array]:
    """Return scatters and third moments (m, d, d) of some classes."""
    d = mean.shape[1]
    scatter, third = np.zeros((2, len(classes), d, d))
    for place, c in enumerate(classes):
        members = np.flatnonzero(codes == c)
        for part in row_chunks(len(members), rows_within(8 * d)):
            own = members[part]
            z = (fetch(take(rows, own)) if is_device_array(rows) else rows[own]) - mean[c]
            w = None if weight is None else weight[own]
            scatter[place] += (z if w is None else z * w[:, None]).T @ z
            third[place] += moments(z, w)[0]
    return scatter, third


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
