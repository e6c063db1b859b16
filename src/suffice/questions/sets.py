"""Sets of classes that hold the true one with a chosen probability."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from .._arrays import Array, Codes, NDArray, np
from .._arrays_api import fetch
from .._dialect import Remark
from ..densities import Rows
from ..densities.product import missing_cells
from ..errors import SettingError, quoted
from ..fitted import Fitted
from ..leave_one_out.by_columns import ByColumns
from ..stats import Reservoir
from ..stats.counts import CodedColumns
from ..stats.rows import level_keys
from ..tasks import conformal
from ..tasks.conformal import Limits, Scores
from .judge_columns import MOST_OF_FOLDS, ByFolds, some_rows

MOST_HIDDEN = 1000  # rows of which cells are hidden, each once at every number of known cells
GROUPS = 10  # of them, each of which loses its cells in an order of its own


def set_limits(fitted: Fitted, alpha: object, by_class: bool) -> list[Limits]:
    """Return up to which score −log p(class | row) a class is in the set: of all classes, or one for each."""
    if not isinstance(alpha, int | float | np.number) or not 0.0 < float(alpha) < 1.0:
        raise SettingError(f"alpha={alpha!r} must lie between 0 and 1. Next: 0.1 gives sets that hold 90 %.")
    return fitted.made(set_scores).limits(len(fitted.schema), fitted.log_prior, float(alpha), by_class)


def in_set(fitted: Fitted, rows: Rows, log_posterior: Array, limits: list[Limits], allow_empty: bool = True):
    known = known_cells(fitted, rows)
    limit = np.column_stack([own.at(known) for own in limits])
    return conformal.class_sets(log_posterior, limit, allow_empty)


def predict_set(fitted: Fitted, rows: Rows, alpha: object, allow_empty: bool, by_class: bool) -> NDArray[np.bool_]:
    """Return for each row the classes it may well be of, (n, k)."""
    limits = set_limits(fitted, alpha, by_class)
    return in_set(fitted, rows, fetch(fitted.log_posterior(rows)), limits, allow_empty)


def set_scores(fitted: Fitted) -> Scores:
    """Return the scores of the rows kept, each left out: with the cells they have, and with some of them hidden."""
    folds = fitted.past.joined and not fitted.keeps_unlabelled or not fitted._leaves_closed
    sample = fitted.reservoir
    every = np.arange(len(sample.codes))
    known = ~_missing(fitted, sample.rows)
    left_out = ByFolds(fitted, every).without(None) if folds else fitted.left_out_rows
    parts = [_scores(fitted, sample, every, left_out, known, False)]
    index = some_rows(sample, MOST_HIDDEN)
    with contextlib.suppress(SettingError):  # columns of which no cell can be missing
        for own, order, judge in _groups(fitted, sample, index):
            for level in conformal.levels(len(order))[:-1].tolist():
                left = order[:level]
                parts.append(_scores(fitted, sample, own, judge.log_posterior(left.tolist()), known[np.ix_(own, left)], True))
    return Scores.together(parts)


def _groups(fitted: Fitted, sample: Reservoir, index: Codes) -> Iterator[tuple[Codes, Codes, ByColumns]]:
    """Yield numbers of rows, the columns in the order in which they are forgotten from the last on, and what judges."""
    d = len(fitted.schema)
    base = np.argsort(level_keys(fitted.schema.names)[:-1], kind="stable")
    groups = min(GROUPS, d)
    turn = index[np.lexsort((sample.priority[index], sample.codes[index]))]
    for group in range(groups):
        own = np.sort(turn[group::groups])
        if len(own):
            judge = fitted.shown(own)
            yield own, np.roll(base, -(group * d // groups)), ByFolds(fitted, own) if judge is None else judge


def _scores(fitted: Fitted, sample: Reservoir, index: Codes, log_posterior: Array, known: NDArray[np.bool_], hidden: bool) -> Scores:
    part = sample.part(index)
    n = len(index)
    weight = part.weight * sample.rows_per_weight
    stands = part.represented(fitted.statistics.weight) / part.weight
    score = -log_posterior[np.arange(n), part.codes]
    return Scores(known.sum(axis=1), score, part.codes, weight, stands, np.full(n, hidden))


def known_cells(fitted: Fitted, rows: Rows) -> Codes:
    """Return how many cells of each row (n,) are known."""
    return (~_missing(fitted, rows)).sum(axis=1)


def _missing(fitted: Fitted, rows: Rows) -> NDArray[np.bool_]:
    """Return which cells of encoded or recoded rows are missing (n, d), by the columns of the model."""
    out: NDArray[np.bool_] | None = None
    for block, part in zip(fitted.blocks, rows, strict=False):
        found = None
        if isinstance(part, CodedColumns):
            found = missing_cells(part.codes)
        elif isinstance(part, tuple | np.ndarray):
            found = missing_cells(part)
        if found is not None:
            if out is None:
                out = np.zeros((len(found), len(fitted.schema)), dtype=np.bool_)
            out[:, list(block.positions)] = found
    return out
