"""Compiled growing of trees that tell classes apart, and of gradient trees."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, NDArray, np
from .library import library

MOST_WEIGHT = 2**27  # that whole numbers may add up to, so that sums of their products are exact
ROWS = 20  # bits that count the rows of a node, below those of its hessian
TABLES = 1 << 26  # bytes of the sums by column and cell that are kept of all leaves: beyond, those of none
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
    cells: NDArray[np.int16], codes: Codes, weight: Codes, k: int, *, tries: int, least: int, drawn: bool, tree: int
) -> Nodes:
    """Return a tree of rows whose cells are (d, n). See `forest.frozen.grow_tree`."""
    d, n = cells.shape
    if not n == len(codes) == len(weight) or not n or not d or least < 1:
        raise ValueError(f"{n} rows of {d} columns, {len(codes)} classes, {len(weight)} weights")
    fits = 0 <= int(codes.min()) <= int(codes.max()) < k and int(weight.min()) >= 0
    if not fits or int(weight.sum()) >= MOST_WEIGHT:
        raise ValueError(f"class numbers or weights of rows of {k} classes")
    held = (weight.astype(np.uint64) << np.uint64(32)) | codes.astype(np.uint64)
    width = int(cells.max()) - int(cells.min()) + 1
    room: list[NDArray[Any]] = [np.arange(n, dtype=np.int32), np.arange(d, dtype=np.int32), np.empty(d, np.int32)]
    room += [np.zeros(2 * k, np.int64), np.empty(n, np.int16), np.empty(n, np.uint64)]
    room += [np.empty(max(n, width), np.int32), np.empty(2 * n, np.uint64)]
    nodes, gain, count = np.empty((2 * n, 5), np.int32), np.empty(2 * n), np.zeros(1, np.int64)
    library().suffice_grow(cells, n, d, k, held, tries, least, int(drawn), tree, *room, nodes, gain, count)
    made = int(count[0])
    return Nodes(nodes[:made, 2].copy(), nodes[:made, 3].copy(), nodes[:made, 4].copy(), gain[:made].copy())


class Drawn(NamedTuple):
    """What each of some rounds has: which `rows` count (rounds, inside), None for all, and which `columns` it asks
    (rounds, d); by `seeds` (rounds,) each of its nodes draws one threshold of a column, by 0 it tries all.
    """

    rows: Flags | None
    columns: NDArray[np.int32]
    seeds: Codes


class GradientTrees(NamedTuple):
    """Nodes of trees (m,), one after the other, each of `sizes`, children after their parents.

    `column` is −1 for a leaf; `threshold`, whether missing cells go to the right (`away`), and the `left` child, which
    the right one follows, counted in its tree. `rows` is how many grew a node, `value` what it adds to a score.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    away: Flags
    left: NDArray[np.int32]
    rows: Codes
    value: Array
    sizes: Codes


class Grower:
    """Grows trees on columns of cells (d, n), of which the first rows count and the others are sent along.

    Column j has cells below starts[j + 1] − starts[j] − 1, −1 where missing; the rows that count have class numbers
    `codes` and weights `weight`. A tree has at most `most` leaves, each with at least so many rows and so much of the
    hessian, to which `l2` is added. See `forest.boosting`.
    """

    def __init__(
        self,
        cells: NDArray[np.int16],
        starts: Codes,
        codes: Codes,
        weight: Array,
        *,
        most: int,
        rows: int,
        hessian: int,
        l2: int = 0,
    ) -> None:
        (d, n), inside = cells.shape, len(codes)
        high = starts[1:] - starts[:-1] - 2
        limits = min(most, rows, hessian, l2 + 1)
        if not 0 < inside <= n or inside >= 1 << ROWS or limits < 1 or len(starts) != d + 1 or len(weight) != inside:
            raise ValueError(f"{inside} of {n} rows, {d} columns, {most} leaves of {rows} rows")
        if (cells.max(axis=1) > high).any() or cells.min() < -1:
            raise ValueError("cells beyond those of their columns")
        self._cells, self._starts = np.ascontiguousarray(cells), np.ascontiguousarray(starts, dtype=np.int64)
        self._codes, self._weight = np.ascontiguousarray(codes, np.int64), np.ascontiguousarray(weight, np.float64)
        self._limits, width = (most, rows, hessian, l2), int(starts[-1])
        self._slots = most if 16 * most * width <= TABLES else 0
        self._room: list[NDArray[Any]] = [np.empty((inside, 2), np.int64), np.empty(n, np.int32), np.empty(n, np.int32)]
        self._room += [np.empty((inside, 2), np.int64), np.empty(((self._slots + 1) * width, 2), np.int64)]
        self._room += [np.empty((width, 2), np.int64), np.empty(width, np.int32)]
        self._room += [np.empty(2 * most), np.empty(2 * most, np.int32), np.empty(n, np.int32)]

    def grow(self, scores: Array, rate: float, drawn: Drawn) -> tuple[GradientTrees, Array]:
        """Return trees for each of the scores (k, n) in turn, of as many rounds as are drawn, and what rows sent along
        score after each (rounds, k, o). The `scores` become those after the last.
        """
        (d, n), inside, most, k, rounds = (
            self._cells.shape,
            len(self._codes),
            self._limits[0],
            len(scores),
            len(drawn.seeds),
        )
        if scores.shape != (k, n):
            raise ValueError(f"scores {scores.shape} of {n} rows")
        columns, some = drawn.columns, drawn.rows
        if len(columns) != rounds or not columns.size or int(columns.min()) < 0 or int(columns.max()) >= d:
            raise ValueError(f"columns {columns.shape} of {d}, in {rounds} rounds")
        if some is not None and (some.shape != (rounds, inside) or not some.any(axis=1).all()):
            raise ValueError(f"0 rows that count, or not {inside} rows in each of {rounds} rounds")
        if rounds and not 0 <= int(self._codes.min()) <= int(self._codes.max()) < max(k, 2):
            raise ValueError(f"class numbers of {k} scores")
        trees = rounds * k
        nodes, whole = np.empty((2 * most * trees, NODE), np.int32), np.empty((2 * most * trees, 2), np.int64)
        value, sizes, along = np.empty(2 * most * trees), np.zeros(trees, np.int64), np.empty((rounds, k, n - inside))
        given = self._cells, n, columns.shape[1], columns, self._starts, self._codes, self._weight, inside, k
        limits, room = (*self._limits, self._slots), (np.empty((k, inside)), *self._room)
        made = nodes, whole, value, sizes, along
        library().suffice_boost(*given, scores, rate, rounds, some, drawn.seeds, *limits, *room, *made)
        size = int(sizes.sum())
        nodes = nodes[:size]
        found = nodes[:, 0].copy(), nodes[:, 1].copy(), nodes[:, 2].astype(np.bool_), nodes[:, 3].copy()
        return GradientTrees(*found, whole[:size, 1] & ((1 << ROWS) - 1), value[:size].copy(), sizes), along
