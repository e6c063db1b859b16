"""Which rows of a table the accuracy benchmark learns, and which it tests on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from runs import Line
from sklearn.model_selection import StratifiedKFold, train_test_split
from tables import Table

TESTED, MOST, SEED = 0.3, 20_000, 1  # of a large table: share of rows to test on, most rows taken, which split
SIZES = (500, 2000, 8000)  # rows to learn in learning curves, before all of them

Split = tuple[Line, np.ndarray, np.ndarray]  # its label; numbers of the rows to learn, and of those to test


def folds(table: Table, repeats: int, parts: int, rows: int) -> Iterator[Split]:
    """Yield the folds of at most so many rows drawn at random."""
    for repeat in range(repeats):
        draw = np.random.default_rng(repeat).permutation(len(table.y))[:rows]
        cuts = StratifiedKFold(parts, shuffle=True, random_state=repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a rare class may have fewer rows than folds
            for fold, (train, test) in enumerate(cuts.split(draw, table.y[draw])):
                label = {"part": "small", "rows": rows, "folds": parts, "repeat": repeat, "fold": fold}
                yield label, draw[train], draw[test]


def whole(table: Table) -> Split:
    """Return the one stratified split of a large table, of at most so many rows drawn at random."""
    draw = np.random.default_rng(SEED).permutation(len(table.y))[:MOST]
    train, test = train_test_split(draw, test_size=TESTED, stratify=table.y[draw], random_state=SEED)
    return {"part": "large", "rows": MOST, "folds": 1, "repeat": 0, "fold": 0}, train, test


def fewer(table: Table) -> Iterator[Split]:
    """Yield the large split with ever fewer rows to learn, each a stratified part of the one before."""
    label, train, test = whole(table)
    for size in sorted(SIZES, reverse=True):
        if size < len(train):
            train, _ = train_test_split(train, train_size=size, stratify=table.y[train], random_state=SEED)
            yield {**label, "part": "curves"}, train, test
