"""What each term of a program adds to the log density of every class, as values in an ONNX graph.

Of trees an ensemble finds the leaf of each, whose values are looked up and added. The ensemble of `ai.onnx.ml` 3 gives
single precision, in which the numbers of leaves are exact (up to 2²⁴, beyond what memory allows). So the values keep
all their digits, and each node is written once however many classes there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from onnx import TensorProto

from ..._arrays import Array, Codes, gammaln, np
from ...errors import ExportError
from ..program import Counts, LocationScale, Mixture, Normal, Pairs, PiecewiseLinear, Table, Term, TreeSums
from .graph import ML_DOMAIN, Exact, Graph, Value
from .normal import mixture, normal
from .readings import Readings

BIG = {"float64": 1e8, "float32": 1e4}  # 1 + a² is a² in floating point from here on
LEAST = 1e-300  # of a sum whose logarithm is taken
FACTORIALS = 32  # log x! of smaller counts are looked up; from here on Stirling's series is exact to rounding


class Score(NamedTuple):
    """A log coefficient (n, k) in nats and the order of its zero (n, k), None where there is no zero."""

    log: Value
    order: Value | None = None


def term_score(g: Graph, readings: Readings, term: Term) -> Score:
    """Return what one term adds."""
    if isinstance(term, Table):
        return _table(g, readings, term)
    if isinstance(term, Counts):
        return _counts(g, readings, term)
    if isinstance(term, PiecewiseLinear):
        return Score(hats(g, readings, [term], [1.0]))
    if isinstance(term, Pairs):
        return Score(_pairs(g, readings.codes(term.codes), term))
    if isinstance(term, TreeSums):
        return Score(tree_sums(g, readings, term))
    if isinstance(term, Mixture):
        return Score(mixture(g, term, readings.block(term.parts.readings)))
    if isinstance(term, Normal):
        return Score(normal(g, term, readings.block(term.readings)))
    if not isinstance(term, LocationScale):
        raise ExportError.density(type(term).__name__, ())
    x = readings.block(term.readings)
    k, d = term.location.shape
    return Score(g.bounded(lambda part: _location_scale(g, term, part), x, d, k * d))


def _table(g: Graph, readings: Readings, term: Table) -> Score:
    code = g.squeeze(readings.code(term.code), 1)
    log = _lookup(g, term.log_p, code)
    return Score(log, None if term.order is None else _lookup(g, term.order, code))


def _lookup(g: Graph, table: Array, code: Value) -> Value:
    """Return table (k, L + 1) by code (n,); −1 is the last entry, which is put there for a missing cell."""
    rows = np.concatenate([table.T, np.zeros((1, len(table)))]).astype(np.float64)
    return g.take(np.ascontiguousarray(rows), code)


def _location_scale(g: Graph, term: LocationScale, x: Value) -> Value:
    cells = g.unsqueeze(x, 1)
    holes = g.op("IsNaN", cells)
    z = g.op("Abs", (cells - term.location) / term.scale)
    endless = np.isinf(term.df)
    if term.shape == "laplace":
        kernel = -1.0 * z
    elif endless.all():
        kernel = z * z * -0.5
    else:
        df = np.where(endless, 1.0, term.df)
        a, limit = z / np.sqrt(df), BIG[g.dtype]
        small = g.op("Min", a, limit)
        near = g.log1p(small * small)
        far = g.op("Log", g.op("Max", a, limit)) * 2.0
        kernel = g.where(g.op("Greater", a, limit), far, near) * (-0.5 * (df + 1.0))
        if endless.any():
            kernel = g.where(endless, z * z * -0.5, kernel)
    return g.sum(g.where(holes, 0.0, kernel + term.constant), 2)


def _counts(g: Graph, readings: Readings, term: Counts) -> Score:
    x = readings.block(term.readings)
    cells = g.known_or(x, 0.0)
    known = g.cast(g.op("Not", g.op("IsNaN", x)))
    log = _linear(cells, known, term.per_count, term.per_cell)
    if term.log_factorial:
        log = log - g.unsqueeze(g.sum(_log_factorial(g, cells), 1), 1)
    if term.order_per_count is None and term.order_per_cell is None:
        return Score(log)
    none = np.zeros(term.per_count.shape)
    orders = (none if own is None else own for own in (term.order_per_count, term.order_per_cell))
    return Score(log, _linear(cells, known, *orders))


def _linear(cells: Value, known: Value, per_count: Array, per_cell: Array) -> Value:
    """Return Σ x_j per_count_kj + per_cell_kj over the known cells, (n, k)."""
    total = cells @ np.ascontiguousarray(per_count.T.astype(np.float64))
    return total + known @ np.ascontiguousarray(per_cell.T.astype(np.float64)) if np.any(per_cell) else total


def _log_factorial(g: Graph, x: Value) -> Value:
    """Return log x! of whole numbers: a table, then Stirling's series (Abramowitz & Stegun 6.1.41)."""
    table = gammaln(np.arange(FACTORIALS) + 1.0)
    small = g.take(table, g.integers(g.op("Min", g.op("Max", x, 0.0), FACTORIALS - 1.0)))
    z = g.op("Max", x, float(FACTORIALS))
    inverse = 1.0 / z
    series = inverse * (1 / 12 - inverse * inverse * (1 / 360 - inverse * inverse * (1 / 1260)))
    large = (z + 0.5) * g.op("Log", z) - z + 0.5 * float(np.log(2.0 * np.pi)) + series
    return g.where(g.op("Less", x, float(FACTORIALS)), small, large)


def hats(g: Graph, readings: Readings, terms: list[PiecewiseLinear], weight: Sequence[float]) -> Value:
    """Return Σ weight × term, (n, k), of piecewise linear terms by one product for all.

    Between knots a and b the term is T_a + u (T_b − T_a), u the share of the way; clipped to [0, 1], the u of all
    intervals together give the term everywhere.
    """
    x = readings.block([term.reading for term in terms])
    intervals = sum(len(term.knots) - 1 for term in terms)
    return g.bounded(lambda part: _hats(g, terms, weight, part), x, len(terms), 2 * intervals)


def _hats(g: Graph, terms: list[PiecewiseLinear], weight: Sequence[float], x: Value) -> Value:
    known = g.cast(g.op("Not", g.op("IsNaN", x)))
    first = np.stack([w * term.values[:, 0] for term, w in zip(terms, weight, strict=True)])
    score = known @ first
    owner = [j for j, term in enumerate(terms) for _ in term.knots[1:]]
    if not owner:
        return score
    low = np.concatenate([term.knots[:-1] for term in terms])
    wide = np.concatenate([np.diff(term.knots) for term in terms])
    steps = np.concatenate([w * np.diff(term.values, axis=1).T for term, w in zip(terms, weight, strict=True)])
    cells = g.known_or(x, 0.0)
    along = (g.take(cells, np.array(owner), axis=1) - low) / wide
    share = g.op("Clip", along, 0.0, 1.0) * g.take(known, np.array(owner), axis=1)
    return score + share @ steps


def _pairs(g: Graph, codes: Value, term: Pairs) -> Value:
    """Return (n, k): rows as 0/1 over the L levels of all columns, times a table for each class; in chunks of rows."""
    sizes, starts = np.asarray(term.sizes), np.asarray(term.starts)
    size, p = int(sizes.sum()), len(sizes)
    seen = g.op("And", g.op("GreaterOrEqual", codes, 0), g.op("Less", codes, sizes))
    levels = g.where(seen, codes + starts, size)  # one more column, for what is missing
    alone = np.append(term.alone, np.full((len(term.alone), 1), -np.inf), axis=1)
    given = np.zeros((len(term.given), size + 1, size + 1))
    given[:, :size, :size] = np.swapaxes(term.given, 1, 2)
    given[:, size] = 0.0

    def score(part: Value) -> Value:
        ones = g.op("Expand", 1.0, g.op("Shape", part))
        hot = g.op("ScatterElements", g.filled(0.0, g.size(part, 0), size + 1), part, ones, axis=1)
        parents = g.sum(g.cast(g.op("Less", part, size)), 1)
        found = []
        for own, table in zip(alone, given, strict=True):
            by_parent = g.op("GatherElements", hot @ table, part, axis=1) + g.take(own, part)
            mean = g.logsumexp(by_parent, 1) - g.op("Log", g.op("Max", parents, 1.0))
            found.append(g.unsqueeze(g.where(g.op("Greater", parents, 0.0), mean, 0.0), 1))
        return g.join(found, 1)

    return g.bounded(score, levels, p, 2 * size)


# --- trees ---


def tree_sums(g: Graph, readings: Readings, term: TreeSums) -> Value:
    """Return what the sums over leaves add, (n, k)."""
    if not term.codes:
        rows, k = g.size(readings.first(), 0), len(term.base)
        return _linked(g, term, g.filled(0.0, rows, k) + term.values.sum(axis=0))
    codes = readings.codes(term.codes)
    single = g.op("Cast", codes, to=TensorProto.FLOAT)
    cells = g.where(g.op("Less", codes, 0), Exact(np.float32(np.nan)), single)
    found = g.op("TreeEnsembleRegressor", cells, domain=ML_DOMAIN, **_attributes(term))
    t, k = len(term.roots), term.values.shape[1]
    total = g.bounded(lambda leaf: g.sum(g.take(term.values, leaf), 1), g.integers(found), t, t * k)
    return _linked(g, term, total)


def _linked(g: Graph, term: TreeSums, total: Value) -> Value:
    if term.logs:
        total = g.op("Log", g.op("Max", total, max(LEAST, float(np.finfo(g.dtype).tiny))))
    return total + term.base


def _attributes(term: TreeSums) -> dict[str, Any]:
    """Return the trees as attributes of the node: one target for each tree, to which a leaf gives its number."""
    nodes, leaf = np.arange(len(term.column)), term.column < 0
    tree = np.searchsorted(term.roots, nodes, side="right") - 1
    number = nodes - term.roots[tree]

    def child(side: Codes) -> Codes:
        return np.where(leaf, 0, number[side])

    return {
        "n_targets": len(term.roots),
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": np.where(leaf, 0, term.column).tolist(),
        "nodes_values": np.where(leaf, 0, term.threshold).astype(np.float64).tolist(),
        "nodes_truenodeids": child(term.left).tolist(),
        "nodes_falsenodeids": child(term.right).tolist(),
        "nodes_missing_value_tracks_true": (~(leaf | term.missing_right)).astype(np.int64).tolist(),
        "target_treeids": tree[leaf].tolist(),
        "target_nodeids": number[leaf].tolist(),
        "target_ids": tree[leaf].tolist(),
        "target_weights": np.arange(int(leaf.sum()), dtype=np.float64).tolist(),
    }
