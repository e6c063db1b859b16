"""Shapley values of the columns asked on the way to the leaves of trees."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, Codes, NDArray, np
from .library import address, library

MOST = 64  # columns asked on the way to a leaf, as the library has room for


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
    loops = library()
    if loops is None or m > MOST:
        return _in_numpy(cells, ways, nodes)
    out = np.empty((len(cells), m, leaves))
    cells, low, high = (np.ascontiguousarray(own, dtype=np.int16) for own in (cells, low, high))
    share, nodes = (np.ascontiguousarray(own, dtype=np.float64) for own in (share, nodes))
    column = np.ascontiguousarray(column, dtype=np.int64)
    asked = address(column), address(low), address(high), address(share), m, leaves
    loops.suffice_shapley(address(cells), *cells.shape, *asked, address(nodes), len(nodes), address(out))
    return out


def _in_numpy(cells: NDArray[np.int16], ways: Ways, nodes: Array) -> Array:
    column, low, high, share = ways
    cell = cells[:, column]
    apart = ((cell > low) & (cell <= high)) - share
    apart[cell < 0] = 0.0
    total = np.zeros(apart.shape)
    for point, weight in nodes.tolist():
        factor = point * apart
        factor += share
        whole = weight * factor.prod(axis=1, keepdims=True)
        factor[factor == 0.0] = 1.0  # of a branch without rows: all other factors are with the product 0
        total += np.divide(whole, factor, out=factor)
    total *= apart
    return np.asarray(total)
