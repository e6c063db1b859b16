"""Missing cells of joint Gaussians in ONNX: rows tiled by pattern of missing cells, each tile eliminated once.

ONNX has no Cholesky factor. Where a covariance is R on the correlation scale and s the 0/1 vector of observed columns,
M = s sᵀ ∘ R + diag(1 − s) holds R_oo with ones for the missing columns: eliminating its columns one after the other,
with the rows to be measured as right-hand sides z, leaves pivots p and rows u with log |R_oo| = Σ log p and
z_oᵀ R_oo⁻¹ z_o = Σ u² / p, exactly and for any pattern. Batches of matrices lie along the last axis, so that each step
is a few long vector operations.

Rows of one pattern share an elimination: up to 64 of them form a tile (fewer where patterns are many), and tiles are
scanned in chunks of about half a million numbers, so that memory does not grow with rows × classes × columns².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..._arrays import IN_MEMORY
from .graph import Graph, Value

TILE = 64  # rows of one pattern that share an elimination
WIDE = 40  # columns beyond which they are eliminated in panels
PANEL = 20
CHUNK_CELLS = IN_MEMORY // 32  # numbers eliminated at a time: what is left and three of a step's results, 8 bytes each


class Tiles(NamedTuple):
    """A chunk of b tiles of t rows: cells (b, t, d), NaN where missing, and observed columns (b, d) as 0 and 1."""

    cells: Value
    observed: Value


def patch_incomplete(
    g: Graph, x: Value, scores: Value, cells_per_tile: Callable[[Value], Value], score: Callable[[Tiles], Value]
) -> Value:
    """Return scores (n, k) in which rows of x (n, d) with missing cells have `score(tiles)` (b, t, k) instead.

    `cells_per_tile(t)` says how many numbers one tile of t rows takes.
    """
    holes = g.op("IsNaN", x)
    found = g.any(holes)
    return g.either(found, lambda: _patched(g, x, scores, cells_per_tile, score), lambda: scores)


def _patched(
    g: Graph, x: Value, scores: Value, cells_per_tile: Callable[[Value], Value], score: Callable[[Tiles], Value]
) -> Value:
    number = g.sum(g.integers(g.op("IsNaN", x)), 1)
    rows = g.squeeze(g.op("NonZero", number), 0)
    own = g.take(x, rows)
    tiles, order, place = _tiles(g, own, cells_per_tile)

    def body(index: Value) -> Value:
        cells = g.take(own, index)
        first = g.squeeze(g.cut(cells, 1, 0, 1), 1)
        found = score(Tiles(cells, g.cast(g.op("Not", g.op("IsNaN", first)))))
        return g.reshape(found, -1, g.size(scores, 1))

    flat = g.reshape(g.scan(body, tiles), -1, g.size(scores, 1))
    sorted_scores = g.op("CastLike", g.take(flat, place), scores)
    return g.op("ScatterND", scores, g.unsqueeze(g.take(rows, order), 1), sorted_scores)


def _tiles(g: Graph, own: Value, cells_per_tile: Callable[[Value], Value]) -> tuple[Value, Value, Value]:
    """Return row numbers of tiles (chunks, b, t), the rows in order of pattern (m,) and the place of each of these."""
    m = g.rows(own)
    holes = g.op("Cast", g.op("IsNaN", own), to=3)  # int8
    patterns, _, pattern, counts = g.ops("Unique", 4, holes, axis=0)
    size = g.op("Min", g.op("Div", m + g.rows(patterns) - 1, g.rows(patterns)), TILE)
    _, order = g.ops("TopK", 2, pattern, g.shape(m), largest=0)
    sorted_pattern = g.take(pattern, order)
    starts = g.op("CumSum", counts, 0, exclusive=1)
    rank = g.op("Range", 0, m, 1) - g.take(starts, sorted_pattern)
    needed = g.op("Div", counts + size - 1, size)
    first = g.op("CumSum", needed, 0, exclusive=1)
    place = (g.take(first, sorted_pattern) + rank / size) * size + (rank - rank / size * size)
    total = g.op("ReduceSum", needed, keepdims=0)
    together = g.op("Max", g.op("Min", g.op("Div", CHUNK_CELLS, cells_per_tile(size)), total), 1)
    chunks = g.op("Div", total + together - 1, together)
    empty = g.op("Expand", 0, g.shape(chunks * together * size))
    index = g.op("ScatterElements", empty, place, order, axis=0)
    return g.reshape(index, chunks, together, size), order, place


def eliminate(g: Graph, augmented: Value, d: int) -> tuple[Value, Value]:
    """Return pivots (d, N) and right-hand sides eliminated (d, r, N).

    `augmented` (d, d + r, N) holds N symmetric positive definite matrices with r right-hand sides each. Many columns
    are taken a panel at a time: what a panel takes from the rest is one matrix product, as in a block Cholesky
    factorisation.
    """
    if d <= WIDE:
        pivots, sides, _ = eliminate_panel(g, augmented, d)
        return pivots, sides
    found = []
    rest = g.op("Transpose", augmented, perm=[2, 0, 1])  # (N, m, m + r)
    for left in range(d, 0, -PANEL):
        own = min(PANEL, left)
        top = g.op("Transpose", g.cut(rest, 1, 0, own), perm=[1, 2, 0])
        pivots, sides, _ = eliminate_panel(g, top, own)
        found.append((pivots, g.cut(sides, 1, left - own)))
        if left > own:
            flat = g.op("Transpose", sides, perm=[2, 0, 1])  # (N, panel, m − panel + r)
            share = g.op("Transpose", g.cut(sides, 1, 0, left - own) / g.unsqueeze(pivots, 1), perm=[2, 1, 0])
            rest = g.cut(g.cut(rest, 1, own), 2, own) - share @ flat
    return g.join([own for own, _ in found], 0), g.join([own for _, own in found], 0)


def eliminate_panel(g: Graph, augmented: Value, d: int, factors: bool = False) -> tuple[Value, Value, list[Value]]:
    """Return pivots (d, N), what is right of the first d columns eliminated (d, r, N), and rows of the factor.

    Row j of the triangular factor, (1, d − j − 1, N), has what is right of its pivot; none are kept without `factors`.
    """
    pivots, sides, factor = [], [], []
    rest = augmented
    for j in range(d):
        row = g.cut(rest, 0, 0, 1)
        pivot, tail = g.cut(row, 1, 0, 1), g.cut(row, 1, 1)
        pivots.append(pivot)
        last = j == d - 1
        sides.append(tail if last else g.cut(tail, 1, d - 1 - j))
        if not last:
            if factors:
                factor.append(g.cut(tail, 1, 0, d - 1 - j))
            below = g.cut(rest, 0, 1)
            rest = g.cut(below, 1, 1) - g.cut(below, 1, 0, 1) / pivot * tail
    return g.squeeze(g.join(pivots, 0), 1), g.join(sides, 0), factor


def substitute_back(g: Graph, pivots: Value, sides: Value, factor: list[Value], d: int) -> Value:
    """Return the solutions (d, r, N) of the systems that `eliminate_panel` has brought to triangular form."""
    solved: Value | None = None
    for j in reversed(range(d)):
        side = g.cut(sides, 0, j, j + 1)
        if solved is not None:
            side = side - g.sum(g.op("Transpose", factor[j], perm=[1, 0, 2]) * solved, 0, keep=True)
        own = side / g.unsqueeze(g.cut(pivots, 0, j, j + 1), 1)
        solved = own if solved is None else g.join([own, solved], 0)
    assert solved is not None
    return solved
