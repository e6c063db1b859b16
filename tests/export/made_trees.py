"""Programs with sums over leaves beside the terms of a fitted classifier, made by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from fitted_models import case, mixed

from suffice._arrays import Array, Codes
from suffice.automatic.member import Inputs
from suffice.export.lower import Lowering
from suffice.export.program import Program
from suffice.forest import ForestColumns, Trees, TreeScores, grow_label_trees

CASE = "automatic: few"


class Made(NamedTuple):
    """A fitted model, a program of it with terms of trees at the end, and these trees with their columns."""

    model: Any
    program: Program
    trees: list[tuple[TreeScores, ForestColumns]]
    rows: pd.DataFrame


def grown(model: Any, seed: int, most_leaves: int, n: int = 300) -> tuple[Trees, ForestColumns, Codes]:
    """Return trees of a made table that lacks levels and has missing cells, rows of unlike weights; and its labels."""
    rng = np.random.default_rng(seed)
    X, y = mixed(n, seed=seed)
    X = X[list(model._fitted.schema.names)]
    X["town"] = X["town"].where(X["town"] != "Bonn")  # a level that the classifier knows and these trees do not
    rows, codes = model._fitted.rows(X)[-1], pd.factorize(y)[0]
    weight = rng.uniform(0.5, 2.0, n)
    columns = ForestColumns.freeze(rows.numbers, rows.coded, codes, 3, weight)
    return grow_label_trees(columns.read(rows.numbers, rows.coded), codes, weight, most_leaves), columns, codes


def with_trees(model: Any, found: list[tuple[TreeScores, ForestColumns]]) -> Program:
    """Return the program of an automatic classifier, its pool with these trees as terms of weights 0.7, 0.35, …"""
    fitted = model._fitted
    job = Lowering(fitted.schema)
    joint = job.product(fitted.joint.density, [block.positions for block in fitted.joint_value.blocks])
    positions = fitted.blocks[-1].positions
    stack = fitted.pool.lower(job, positions)
    inputs = Inputs(job, fitted.pool.frozen, positions)
    own = tuple(job.add(inputs.trees(*each)) for each in found)
    added = 0.7 / (1.0 + np.arange(len(own)))
    weight = np.hstack([stack.weight, np.outer(np.linspace(1.0, 2.0, len(stack.weight)), added)])
    return Program(
        estimator=fitted.who,
        classes=tuple(fitted.joint.classes),
        columns=job.columns(),
        named=True,
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(job.terms),
        log_prior=np.asarray(fitted.joint.log_prior),
        joint=joint,
        constants=job.constants,
        stack=replace(stack, terms=stack.terms + own, weight=weight),
    )


def scored(trees: Trees, codes: Codes, seed: int, logs: bool) -> TreeScores:
    """Return values of three classes for leaves: shares that sum to about 1, or log odds; `codes` are of rows."""
    rng = np.random.default_rng(seed)
    size = len(trees.leaf_nodes)
    values: Array = rng.dirichlet(np.full(3, 0.3), size) / len(trees) if logs else 0.2 * rng.normal(size=(size, 3))
    return TreeScores(trees, values, rng.normal(size=3), logs, rng.uniform(1.0, len(codes), size))


@cache
def made(most_leaves: int = 60) -> Made:
    """Return a program with a forest, and boosted trees some of whose nodes send missing cells to the right."""
    model, rows = case(CASE)
    found = []
    for seed, logs in ((1, True), (2, False)):
        trees, columns, codes = grown(model, seed, most_leaves)
        if not logs:
            away = np.random.default_rng(seed).random(len(trees.column)) < 0.5
            trees = replace(trees, missing_right=away & (trees.column >= 0) & (trees.threshold >= 0))
        found.append((scored(trees, codes, seed, logs), columns))
    return Made(model, with_trees(model, found), found, rows)


def chain(columns: ForestColumns) -> TreeScores:
    """Return a tree that tells the cells of one column, that of most cells, one at a time, and another of one leaf."""
    j = int(np.argmax(columns.sizes))
    leaves = columns.sizes[j]
    inner, size = np.arange(0, 2 * leaves - 2, 2), 2 * leaves
    column, threshold = np.full(size, -1), np.zeros(size, dtype=np.int64)
    left, right = np.full(size, -1), np.full(size, -1)
    column[inner], threshold[inner], left[inner], right[inner] = j, np.arange(leaves - 1), inner + 1, inner + 2
    away, roots = np.zeros(size, dtype=np.bool_), np.array([0, size - 1])
    rng = np.random.default_rng(3)
    trees = Trees(column, threshold, left, right, away, roots, 1.0)
    return TreeScores(trees, rng.normal(size=(leaves + 1, 3)), np.zeros(3), False, np.ones(leaves + 1))


def none() -> TreeScores:
    """Return no tree at all."""
    return TreeScores(Trees.none(), np.zeros((0, 3)), np.array([0.5, 0.0, -0.5]), True, np.zeros(0))


def alone() -> TreeScores:
    """Return two trees of one leaf each, which ask for no column."""
    none, leaf = np.zeros(2, dtype=np.int64), np.full(2, -1)
    trees = Trees(leaf, none, leaf, leaf, np.zeros(2, dtype=np.bool_), np.arange(2), 1.0)
    return TreeScores(trees, np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.1]]), np.zeros(3), True, np.ones(2))
