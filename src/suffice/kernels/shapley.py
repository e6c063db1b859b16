"""Compiled Shapley values of trees."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, Codes, NDArray, np
from .library import address, library

WIDE = 32  # leaves that the library takes at a time


class Ways(NamedTuple):
    """The ways to L leaves, (m, L) each: which `column` is asked whether its cell is above `low` and up to `high`, and
    the `share` of rows that go that way.
    """

    column: Codes
    low: NDArray[np.int16]
    high: NDArray[np.int16]
    share: Array


def product_values(cells: NDArray[np.int16], ways: Ways, nodes: Array) -> Array:
    """Return the Shapley values (n, m, L) of the columns asked on the way to leaves, in a game that is their product.

    With a column's factor s + t a, s its share and s + a whether the row is inside, its value is the integral over t
    from 0 to 1 of a times the product of all other factors, by `nodes` (points, 2) and their weights. A missing cell of
    the row's (n, d), below 0, adds nothing.
    """
    column, low, high, share = ways
    m, leaves = column.shape
    shapes = {own.shape for own in (low, high, share)}
    if shapes != {(m, leaves)} or (column.size and not 0 <= column.min() <= column.max() < cells.shape[1]):
        raise ValueError(f"columns {column.shape} of {cells.shape[1]}, and what they allow {sorted(shapes)}")
    out, room = np.empty((len(cells), m, leaves)), np.empty((4, m, WIDE))
    cells, low, high = (np.ascontiguousarray(own, dtype=np.int16) for own in (cells, low, high))
    share, nodes = (np.ascontiguousarray(own, dtype=np.float64) for own in (share, nodes))
    column = np.ascontiguousarray(column, dtype=np.int64)
    asked = address(column), address(low), address(high), address(share), m, leaves
    here = address(nodes), len(nodes), address(room), address(out)
    library().suffice_shapley(address(cells), *cells.shape, *asked, *here)
    return out
