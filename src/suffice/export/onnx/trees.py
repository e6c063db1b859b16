"""Sums over the leaves of trees: a tree ensemble finds the leaf of each tree, whose values are looked up and added.

The ensemble of `ai.onnx.ml` 3 gives single precision, in which the numbers of leaves are exact (up to 2²⁴, beyond what
memory allows). So the values keep all their digits, and each node is written once however many classes there are.
"""

from __future__ import annotations

from typing import Any

from onnx import TensorProto

from ..._arrays import Codes, np
from ..program import TreeSums
from .graph import ML_DOMAIN, Exact, Graph, Value
from .readings import Readings

LEAST = 1e-300  # of a sum whose logarithm is taken


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
