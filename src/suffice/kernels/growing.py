"""Compiled growing of trees that tell classes apart, and of gradient trees."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._arrays import Array, Codes, NDArray, np
from .library import address, library

MOST_WEIGHT = 2**27  # that whole numbers may add up to, so that sums of their products are exact
ROWS = 20  # bits that count the rows of a node, below those of its hessian
TABLES = 1 << 26  # bytes of the sums by column and cell that are kept of all leaves: beyond, those of one
NODE = 8  # numbers of a node as the kernel has it


class Nodes(NamedTuple):
    """Nodes of one tree (m,), level by level: `column`, −1 for a leaf, `threshold`, the `left` child, which the right
    one follows, and by how much the squared weights of the classes, beside their sum, increase from node to children.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    gain: Array


def grow(
    cells: NDArray[np.int16],
    codes: Codes,
    weight: Codes,
    k: int,
    *,
    tries: int,
    least: int,
    drawn: bool,
    tree: int,
) -> Nodes:
    """Return a tree of rows whose cells are (d, n). See `forest.frozen.grow_tree`."""
    d, n = cells.shape
    if not n == len(codes) == len(weight) or not n or not d or least < 1:
        raise ValueError(f"{n} rows of {d} columns, {len(codes)} classes, {len(weight)} weights")
    fits = 0 <= int(codes.min()) <= int(codes.max()) < k and int(weight.min()) >= 0
    if not fits or int(weight.sum()) >= MOST_WEIGHT:
        raise ValueError(f"class numbers or weights of rows of {k} classes")
    cells = np.ascontiguousarray(cells, dtype=np.int16)
    held = (weight.astype(np.uint64) << np.uint64(32)) | codes.astype(np.uint64)
    width = int(cells.max()) - int(cells.min()) + 1
    room: list[NDArray[Any]] = [np.arange(n, dtype=np.int32), np.arange(d, dtype=np.int32), np.empty(d, np.int32)]
    room += [np.zeros(2 * k, np.int64), np.empty(n, np.int16), np.empty(n, np.uint64)]
    room += [np.empty(max(n, width), np.int32), np.empty(2 * n, np.uint64)]
    nodes, gain, count = np.empty((2 * n, 5), np.int32), np.empty(2 * n), np.zeros(1, np.int64)
    given = address(cells), n, d, k, address(held), tries, least, int(drawn), tree
    library().suffice_grow(*given, *map(address, room), address(nodes), address(gain), address(count))
    made = int(count[0])
    return Nodes(nodes[:made, 2].copy(), nodes[:made, 3].copy(), nodes[:made, 4].copy(), gain[:made].copy())


class GradientTree(NamedTuple):
    """Nodes of one tree (m,), children after their parents: `column`, −1 for a leaf, `threshold`, whether missing cells
    go to the right (`away`), and the `left` child, which the right one follows. `gradient`, `hessian` (whole numbers)
    and `rows` (m,) are sums over the rows that grew it, and `ends` (n,) is the node in which each row ends.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    away: NDArray[np.bool_]
    left: NDArray[np.int32]
    gradient: Codes
    hessian: Codes
    rows: Codes
    ends: NDArray[np.int32]


class Grower:
    """Grows trees on columns of cells (d, n), of which the first `inside` rows count and the others are sent along.

    Column j has cells below starts[j + 1] − starts[j] − 1, −1 where missing. A tree has at most `most` leaves, each
    with at least so many rows and so much of the hessian. See `forest.boosting`.
    """

    def __init__(
        self, cells: NDArray[np.int16], starts: Codes, inside: int, *, most: int, rows: int, hessian: int
    ) -> None:
        d, n = cells.shape
        high = starts[1:] - starts[:-1] - 2
        if not 0 < inside <= n or inside >= 1 << ROWS or most < 1 or rows < 1 or hessian < 1 or len(starts) != d + 1:
            raise ValueError(f"{inside} of {n} rows, {d} columns, {most} leaves of {rows} rows")
        if (cells.max(axis=1) > high).any() or cells.min() < -1:
            raise ValueError("cells beyond those of their columns")
        self._cells, self._starts = np.ascontiguousarray(cells), np.ascontiguousarray(starts, dtype=np.int64)
        self._inside, self._limits = inside, (most, rows, hessian)
        self._slots = most if 16 * most * int(starts[-1]) <= TABLES else 1
        self._rows, self._every = np.empty(n, np.int32), np.arange(n, dtype=np.int32)
        self._room: list[NDArray[Any]] = [np.empty(n, np.int32), np.empty((inside, 2), np.int64)]
        self._room.append(np.empty((self._slots * int(starts[-1]), 2), np.int64))
        self._held = np.empty((inside, 2), np.int64)

    def grow(self, gradient: Array, hessian: Array) -> GradientTree:
        """Return a tree of the gradients and hessians (inside,), whole numbers both."""
        d, n = self._cells.shape
        most = self._limits[0]
        if not len(gradient) == len(hessian) == self._inside or hessian.min() < 0:
            raise ValueError(f"{len(gradient)} gradients of {self._inside} rows, a hessian of {hessian.min()}")
        self._held[:, 0] = gradient
        self._held[:, 1] = hessian
        self._held[:, 1] <<= ROWS
        self._held[:, 1] += 1
        np.copyto(self._rows, self._every)
        nodes, whole = np.empty((2 * most, NODE), np.int32), np.empty((2 * most, 2), np.int64)
        gain, slot = np.empty(2 * most), np.empty(2 * most, np.int32)
        ends, made = np.empty(n, np.int32), np.zeros(1, np.int64)
        given = address(self._cells), n, d, address(self._starts), address(self._held), self._inside
        room = self._rows, *self._room, nodes, whole, gain, slot, ends, made
        library().suffice_boost(*given, *self._limits, self._slots, *map(address, room))
        size = int(made[0])
        nodes, whole = nodes[:size], whole[:size]
        counted = whole[:, 1] & ((1 << ROWS) - 1)
        away = nodes[:, 2].astype(np.bool_)
        return GradientTree(
            nodes[:, 0], nodes[:, 1], away, nodes[:, 3], whole[:, 0], whole[:, 1] >> ROWS, counted, ends
        )
