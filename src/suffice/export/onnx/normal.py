"""Gaussians and Student t's of several readings in ONNX: whitened where a row is complete, else eliminated.

Rows are centred before they are scaled, and the second part of every centre is taken off after whitening, so that
single precision loses no more digits than the input itself has lost.

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

from ..._arrays import IN_MEMORY, Array, cumcount, np
from ..program import Dense, Factors, Independent, Mixture, Normal
from .graph import Graph, Value

FAR = {"float64": 1e6, "float32": 1e2}  # squared distance between means above which no square is expanded
TILE = 64  # rows of one pattern that share an elimination
WIDE = 40  # columns beyond which they are eliminated in panels
PANEL = 20
CHUNK_CELLS = IN_MEMORY // 32  # numbers eliminated at a time: what is left and three of a step's results, 8 bytes each


class Measured(NamedTuple):
    """What a log density is read off: squared distances, log determinants, and how many cells were observed."""

    squares: Value
    log_det: Value | Array
    observed: Value | int


def normal(g: Graph, term: Normal, x: Value) -> Value:
    """Return log densities (n, m) of readings x (n, d)."""
    m, d = term.location.shape
    if not d:
        return g.filled(0.0, g.size(x, 0), m)
    spread = term.spread
    scores = g.bounded(lambda part: _finish(g, term, _complete(g, term, part)), x, d, 2 * m * d)
    if isinstance(spread, Independent):
        return scores
    if isinstance(spread, Dense):
        width = len(spread.covariance) * d * d
    else:
        width = sum(own.shape[1] * (own.shape[1] + d) for own in spread.loadings)
    cells = int(width), int(2 * m * d)  # of a tile, and of each of its rows

    def score(tiles: Tiles) -> Value:
        with g.floats("float64"):  # a singular block would cost single precision all its digits
            exact = Tiles(g.cast(tiles.cells), g.cast(tiles.observed))
            if isinstance(spread, Dense):
                return _finish(g, term, _marginal_dense(g, term, spread, exact))
            return _finish(g, term, _marginal_factors(g, term, spread, exact))

    found = g.any(g.op("IsNaN", x))
    return g.either(found, lambda: _patched(g, x, scores, cells, score), lambda: scores)


def mixture(g: Graph, term: Mixture, x: Value) -> Value:
    """Return log densities (n, k) of mixtures, components of a class side by side, the shorter filled up with −∞."""
    parts = normal(g, term.parts, x) + term.log_weight
    owner = np.asarray(term.owner)
    k, counts = int(owner[-1]) + 1, np.bincount(owner)
    most = int(counts.max())
    if most == 1:
        return parts
    place, weight = np.zeros((k, most), dtype=np.int64), np.full((k, most), -np.inf)
    filled = owner, cumcount(owner)
    place[filled], weight[filled] = np.arange(len(owner)), 0.0
    side = g.take(parts, place.reshape(-1), axis=1)
    return g.logsumexp(g.reshape(side, -1, k, most) + weight, 2)


def _finish(g: Graph, term: Normal, found: Measured) -> Value:
    """Return log densities: constant − ½ log |Σ| − ((df + o) / 2) log(1 + q / df), or − q / 2."""
    squares, log_det, o = found
    d, endless = term.location.shape[1], np.isinf(term.df)
    whole = isinstance(o, int)
    constant = term.constant[:, d] if whole else g.take(np.ascontiguousarray(term.constant.T), o)
    decay = squares * 0.5
    if not endless.all():
        df = np.where(endless, 1.0, term.df)
        half = 0.5 * (df + d) if isinstance(o, int) else (g.cast(g.unsqueeze(o, -1)) + df) * 0.5
        heavy = g.log1p(squares / df) * half
        decay = heavy if not endless.any() else g.where(endless, decay, heavy)
    base = constant - 0.5 * log_det if whole else constant - log_det * 0.5
    return g.value(base) - decay


def _complete(g: Graph, term: Normal, x: Value) -> Measured:
    """Return distances of rows without missing cells; for independent readings of all rows."""
    spread = term.spread
    if isinstance(spread, Independent):
        return _independent(g, term, spread, x)
    return _dense(g, term, spread, x) if isinstance(spread, Dense) else _factors(g, term, spread, x)


def _far_apart(g: Graph, targets: Array) -> bool:
    return bool((targets**2).sum(axis=-1).max(initial=0.0) > FAR[g.dtype])


def _center(g: Graph, location: Array) -> Array:
    """Return the mean of the locations (d,) as this graph's floats have it, so that what is left is exact."""
    return np.asarray(location.mean(axis=0).astype(g.dtype), dtype=np.float64)


def _dense(g: Graph, term: Normal, spread: Dense, x: Value) -> Measured:
    d = term.location.shape[1]
    if len(spread.whitener) == 1 and (term.inflation == term.inflation[0]).all():
        whitener = spread.whitener[0] / np.sqrt(term.inflation[0])
        center = _center(g, term.location)
        squares = _shared_squares(g, (x - center) @ whitener.T, (term.location - center) @ whitener.T)
    else:
        whitener = spread.whitener / np.sqrt(term.inflation)[:, None, None]
        first = np.asarray(term.location.astype(g.dtype), dtype=np.float64)
        rest = np.einsum("mij,mj->mi", whitener, term.location - first)
        z = (g.unsqueeze(x, 0) - first[:, None]) @ np.swapaxes(whitener, 1, 2)
        squares = g.op("Transpose", g.squares(z - rest[:, None] if rest.any() else z, 2), perm=[1, 0])
    return Measured(squares, spread.log_det, d)


def _shared_squares(g: Graph, z: Value, targets: Array) -> Value:
    """Return squared distances (n, m) of whitened rows z (n, d) from targets (m, d)."""
    if _far_apart(g, targets):
        return g.squares(g.unsqueeze(z, 1) - targets, 2)
    lengths = (targets**2).sum(axis=1)
    squares = g.unsqueeze(g.squares(z, 1), 1) - z @ (2.0 * targets.T) + lengths
    return g.op("Max", squares, 0.0)


def _factors(g: Graph, term: Normal, spread: Factors, x: Value) -> Measured:
    squares, log_det = [], []
    for c, location in enumerate(term.location):
        i = min(c, len(spread.loadings) - 1)
        loadings, floor, scale = spread.loadings[i], float(spread.floor[i]), spread.scale[i]
        inner = loadings.T @ loadings + floor * np.eye(loadings.shape[1])
        z = (x - location) / scale
        y = z @ np.linalg.solve(inner, loadings.T).T
        own = g.squares(z - y @ loadings.T, 1) / floor + g.squares(y, 1)
        squares.append(g.unsqueeze(own / float(term.inflation[c]), 1))
        rest = (len(scale) - len(inner)) * np.log(floor)
        log_det.append(np.linalg.slogdet(inner)[1] + rest + 2.0 * np.log(scale).sum())
    return Measured(g.join(squares, 1), np.array(log_det), term.location.shape[1])


def _independent(g: Graph, term: Normal, spread: Independent, x: Value) -> Measured:
    """Return distances over the observed columns: (x − m)² / v as x² / v − 2 x m / v + m² / v, three products."""
    variance = np.broadcast_to(spread.variance, term.location.shape)
    precision = 1.0 / (variance * term.inflation[:, None])
    center = _center(g, term.location)
    targets = term.location - center
    holes = g.op("IsNaN", x)
    known = g.cast(g.op("Not", holes))
    cells = g.where(holes, 0.0, x - center)
    if _far_apart(g, targets * np.sqrt(precision)):
        apart = (g.unsqueeze(cells, 1) - targets) * np.sqrt(precision) * g.unsqueeze(known, 1)
        squares = g.squares(apart, 2)
    else:
        squares = (cells * cells) @ precision.T - cells @ (2.0 * precision * targets).T
        squares = g.op("Max", squares + known @ (precision * targets**2).T, 0.0)
    return Measured(squares, known @ np.log(variance).T, g.sum(g.integers(known), 1))


def _marginal_dense(g: Graph, term: Normal, spread: Dense, tiles: Tiles) -> Measured:
    """Return distances (b, t, m) in the observed columns, on the correlation scale."""
    m, d = term.location.shape
    count = len(spread.covariance)
    sd = np.sqrt(np.diagonal(spread.covariance, axis1=1, axis2=2))
    correlation = spread.covariance / sd[:, :, None] / sd[:, None, :]
    seen = g.op("Transpose", tiles.observed, perm=[1, 0])  # (d, b)
    rows, columns = g.unsqueeze(seen, 1, 3), g.unsqueeze(seen, 0, 3)
    matrix = np.moveaxis(correlation, 0, 2)[:, :, None] * (rows * columns)
    matrix = matrix + np.eye(d)[:, :, None, None] * (1.0 - rows)  # (d, d, b, g)
    x = g.op("Transpose", tiles.cells, perm=[2, 1, 0])  # (d, t, b)
    scale = np.broadcast_to(sd, (m, d)) * np.sqrt(term.inflation)[:, None]
    if count == 1:  # every row less every mean is one more right-hand side
        z = (g.unsqueeze(x, 1) - term.location.T[:, :, None, None]) / scale.T[:, :, None, None]
        side = _observed_only(g, z, g.unsqueeze(seen, 1, 2))  # (d, m, t, b)
    else:
        z = (g.unsqueeze(x, 3) - term.location.T[:, None, None]) / scale.T[:, None, None]
        side = _observed_only(g, z, g.unsqueeze(seen, 1, 3))  # (d, t, b, m)
    # the batch last: (d, d, b · g), and right-hand sides (d, m · t, b) for a shared covariance, else (d, t, b · m)
    matrix = g.squeeze(matrix, 3) if count == 1 else g.reshape(matrix, d, d, -1)
    side = g.reshape(side, g.size(side, 0), -1, g.size(side, 3) if count == 1 else g.size(side, 2) * m)
    augmented = g.join([matrix, side], 1)
    pivots, solved = eliminate(g, augmented, d)
    squares = g.sum(solved * solved / g.unsqueeze(pivots, 1), 0)
    log_det = g.reshape(g.sum(g.op("Log", pivots), 0), -1, count) + tiles.observed @ (2.0 * np.log(sd)).T
    return _measured(g, squares, log_det, tiles, count, m)


def _observed_only(g: Graph, z: Value, seen: Value) -> Value:
    return g.known_or(z, 0.0) * seen


def _measured(g: Graph, squares: Value, log_det: Value, tiles: Tiles, count: int, m: int) -> Measured:
    """Return squares (m · t, b) or (t, b · m) and log determinants (b, g) as (b, t, m), (b, 1, g) and counts (b, 1)."""
    b, t = g.size(tiles.cells, 0), g.size(tiles.cells, 1)
    if count == 1:
        squares = g.op("Transpose", g.reshape(squares, m, t, b), perm=[2, 1, 0])
    else:
        squares = g.op("Transpose", g.reshape(squares, t, b, m), perm=[1, 0, 2])
    observed = g.sum(g.integers(tiles.observed), 1, keep=True)
    return Measured(squares, g.unsqueeze(log_det, 1), observed)


def _marginal_factors(g: Graph, term: Normal, spread: Factors, tiles: Tiles) -> Measured:
    """Return the same for Σ = D^½ (F Fᵀ + s I) D^½, by the factors' posterior means y = (F_oᵀ F_o + s I)⁻¹ F_oᵀ z."""
    squares, log_dets = [], []
    for c, location in enumerate(term.location):
        i = min(c, len(spread.loadings) - 1)
        loadings, floor, scale = spread.loadings[i], float(spread.floor[i]), spread.scale[i]
        r = loadings.shape[1]
        z = _observed_only(g, (tiles.cells - location) / scale, g.unsqueeze(tiles.observed, 1))  # (b, t, d)
        number = g.sum(tiles.observed, 1, keep=True)
        log_det = tiles.observed @ (2.0 * np.log(scale))[:, None]
        if r:
            own = g.unsqueeze(tiles.observed, 1) * loadings.T  # (b, r, d)
            matrix = own @ loadings + floor * np.eye(r)
            side = g.op("Transpose", z @ loadings, perm=[2, 1, 0])  # (r, t, b)
            augmented = g.join([g.op("Transpose", matrix, perm=[1, 2, 0]), side], 1)
            pivots, sides, factor = eliminate_panel(g, augmented, r, factors=True)
            y = substitute_back(g, pivots, sides, factor, r)  # (r, t, b)
            t, b = g.size(y, 1), g.size(y, 2)
            # no product of what is transposed: onnxruntime before 1.25 makes one operator of both and cannot run it
            fitted = g.op("Transpose", g.reshape(loadings @ g.reshape(y, r, -1), len(loadings), t, b), perm=[2, 1, 0])
            rest = (z - fitted) * g.unsqueeze(tiles.observed, 1)
            distance = g.squares(rest, 2) / floor + g.op("Transpose", g.squares(y, 0), perm=[1, 0])
            log_det = log_det + g.unsqueeze(g.sum(g.op("Log", pivots), 0), 1)
        else:
            distance = g.squares(z, 2) / floor
        log_dets.append(log_det + (number - float(r)) * np.log(floor))
        squares.append(g.unsqueeze(distance / float(term.inflation[c]), 2))
    observed = g.sum(g.integers(tiles.observed), 1, keep=True)
    return Measured(g.join(squares, 2), g.unsqueeze(g.join(log_dets, 1), 1), observed)


# --- missing cells ---


class Tiles(NamedTuple):
    """A chunk of b tiles of t rows: cells (b, t, d), NaN where missing, and observed columns (b, d) as 0 and 1."""

    cells: Value
    observed: Value


def _patched(g: Graph, x: Value, scores: Value, cells: tuple[int, int], score: Callable[[Tiles], Value]) -> Value:
    """Return scores (n, k) in which rows of x (n, d) with missing cells have `score(tiles)` (b, t, k) instead.

    `cells` are how many numbers a tile takes, and how many each of its rows more.
    """
    number = g.sum(g.integers(g.op("IsNaN", x)), 1)
    rows = g.squeeze(g.op("NonZero", number), 0)
    own = g.take(x, rows)
    tiles, order, place = _tiles(g, own, *cells)

    def body(index: Value) -> Value:
        tile = g.take(own, index)
        first = g.squeeze(g.cut(tile, 1, 0, 1), 1)
        found = score(Tiles(tile, g.cast(g.op("Not", g.op("IsNaN", first)))))
        return g.reshape(found, -1, g.size(scores, 1))

    flat = g.reshape(g.scan(body, tiles), -1, g.size(scores, 1))
    sorted_scores = g.op("CastLike", g.take(flat, place), scores)
    return g.op("ScatterND", scores, g.unsqueeze(g.take(rows, order), 1), sorted_scores)


def _tiles(g: Graph, own: Value, width: int, per_row: int) -> tuple[Value, Value, Value]:
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
    together = g.op("Max", g.op("Min", g.op("Div", CHUNK_CELLS, size * per_row + width), total), 1)
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
