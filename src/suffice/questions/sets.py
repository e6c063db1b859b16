"""Sets of classes that hold the true one with a chosen probability."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

from .._arrays import Array, Codes, NDArray, is_sparse, np
from .._arrays_api import fetch
from .._dialect import Remark
from ..densities import Rows
from ..errors import SettingError
from ..fitted import Fitted
from ..leave_one_out.by_columns import ByColumns
from ..stats.rows import level_keys
from ..tasks.conformal import Limits, Scores, class_sets, levels
from .judge_columns import ByFolds, missing_in, some_rows

MOST_HIDDEN = 1000  # rows of which cells are hidden, each once at every number of known cells
ORDERS = 10  # in which cells are hidden, each of as many rows: of ten columns each is once the only one known


def predict_set(fitted: Fitted, rows: Rows, alpha: object, by_class: bool, allow_empty: bool) -> NDArray[np.bool_]:
    """Return for each row the classes it may well be of, (n, k)."""
    limits = set_limits(fitted, alpha, by_class)
    return in_sets(fitted, rows, fetch(fitted.log_posterior(rows)), limits, allow_empty)


def in_sets(
    fitted: Fitted, rows: Rows, log_posterior: Array, limits: Sequence[Limits], allow_empty: bool = True
) -> NDArray[np.bool_]:
    """Return which classes score no more than the thresholds of rows with as many known cells, (n, k)."""
    known = (~missing_in(fitted, rows, len(log_posterior))).sum(axis=1)
    return class_sets(log_posterior, np.column_stack([own.at(known) for own in limits]), allow_empty)


def set_limits(fitted: Fitted, alpha: object, by_class: bool) -> list[Limits]:
    """Return up to which score −log p(class | row) a class is in the set: for all classes, or for each of them.

    A warning names the classes of too few rows to say.
    """
    if not isinstance(alpha, int | float | np.number) or not 0.0 < float(alpha) < 1.0:
        raise SettingError(f"alpha={alpha!r} must lie between 0 and 1. Next: 0.1 gives sets that hold 90 %.")
    found = fitted.made(set_scores).limits(len(fitted.schema), fitted.log_prior, float(alpha), by_class)
    few = [repr(label) for label, own in zip(fitted.statistics.classes, found, strict=False) if own.is_endless]
    if by_class and few:
        one = len(few) == 1
        warnings.warn(
            f"Class{'' if one else 'es'} {', '.join(few)}: too few rows to say which scores {float(alpha):g} of new "
            f"ones exceed, so that {'it is' if one else 'they are'} in every set. About {np.ceil(1 / alpha) - 1:g} rows "
            "of a class are needed.",
            Remark,
            stacklevel=3,
        )
    return found


def set_scores(fitted: Fitted) -> Scores:
    """Return the scores of the rows kept, each left out: by the cells they have, and with some of these hidden."""
    sample = fitted.reservoir
    every = np.arange(len(sample.codes))
    known = ~missing_in(fitted, sample.rows, len(every))
    left_out = ByFolds(fitted, every).without(None) if fitted.by_folds else fitted.left_out_rows
    parts = [_scores(fitted, every, left_out, known, hidden=False)]
    for own, order, judge in _shown(fitted) if _may_miss(fitted) else ():
        for number in levels(len(order))[:-1]:
            left = order[:number]
            parts.append(_scores(fitted, own, judge.log_posterior(left.tolist()), known[np.ix_(own, left)], hidden=True))
    return Scores.together(parts)


def _shown(fitted: Fitted) -> Iterator[tuple[Codes, Codes, ByColumns]]:
    """Yield numbers of rows, in which order they are shown the columns, and what judges them by some of these.

    Each column is among the first of the order for as many rows as any other. Which rows these are their contents say,
    and the columns' names how these follow each other, so that no place in the table matters.
    """
    sample, d = fitted.reservoir, len(fitted.schema)
    index = some_rows(sample, MOST_HIDDEN)
    dealt = index[np.lexsort((sample.priority[index], sample.codes[index]))]
    order, count = np.argsort(level_keys(fitted.schema.names)[:-1], kind="stable"), min(ORDERS, d)
    for number in range(min(count, len(dealt))):
        own = np.sort(dealt[number::count])
        judge = fitted.shown(own)
        yield own, np.roll(order, -(number * d // count)), ByFolds(fitted, own) if judge is None else judge


def _may_miss(fitted: Fitted) -> bool:
    """Return whether any cell of a row may be missing; counts of one total can be neither sparse nor hidden."""
    return all(
        block.family.takes_missing and not is_sparse(part)
        for block, part in zip(fitted.blocks, fitted.reservoir.rows, strict=False)
    )


def _scores(
    fitted: Fitted, index: Codes, log_posterior: Array, known: NDArray[np.bool_], *, hidden: bool
) -> Scores:
    """Return the scores of some of the rows kept, of which these cells were known."""
    sample = fitted.reservoir
    part, n = sample.part(index), len(index)
    return Scores(
        known=known.sum(axis=1),
        score=-log_posterior[np.arange(n), part.codes],
        codes=part.codes,
        weight=part.weight * sample.rows_per_weight,
        stands=part.represented(fitted.statistics.weight) / part.weight,
        hidden=np.full(n, hidden),
    )
