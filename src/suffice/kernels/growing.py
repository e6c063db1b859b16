"""Compiled growing of classification trees."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from .._arrays import Array, Codes, NDArray, np
from .library import address, library

MOST_WEIGHT = 2**27  # that whole numbers may add up to, so that sums of their products are exact


class Nodes(NamedTuple):
    """Nodes of one tree (m,), level by level: `column`, −1 for a leaf, `threshold`, the `left` child, which the right
    one follows, and by how much the squared weights of the classes, beside their sum, increase from node to children.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    gain: Array

    @classmethod
    def of(cls, column: NDArray[Any], threshold: NDArray[Any], left: NDArray[Any], gain: Array) -> Self:
        """Return nodes of whole numbers, however large these could be."""
        return cls(column.astype(np.int32), threshold.astype(np.int32), left.astype(np.int32), gain)


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
    """Return a tree of rows whose cells are (d, n). See `forest.splits.grow_tree`."""
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
    return Nodes.of(nodes[:made, 2], nodes[:made, 3], nodes[:made, 4], gain[:made].copy())
