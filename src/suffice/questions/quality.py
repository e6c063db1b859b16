"""How good a model is, by its answers to rows that it had not seen."""

from __future__ import annotations

from .._derived import has_made
from ..errors import DataError
from ..fitted import Fitted
from ..tasks.quality import FOLDS, LEFT_OUT, Quality, judge_answers
from .judge_columns import ByFolds, some_rows
from .leave_one_out import taken


def quality(fitted: Fitted) -> Quality:
    """Return how good answers to the rows kept are, each left out; made once for what was learned."""
    return fitted.memoize(_quality)


def is_known(fitted: Fitted) -> bool:
    """Return whether that was asked before."""
    return has_made(fitted, _quality)


def _quality(fitted: Fitted) -> Quality:
    statistics, sample = fitted.statistics, fitted.statistics.sample
    if len(statistics.classes) < 2:
        raise DataError(
            "This model knows a single class, so every answer is right, and there is nothing to judge. "
            "Next: fit it to rows of two classes or more."
        )
    if fitted.past.released is not None:
        raise DataError.released("judge itself", "ask the model it was made from, or judge it by rows with labels")
    if sample is None:
        raise DataError.without_rows(otherwise=", or judge it by rows with labels")
    closed = fitted.leaves_soon
    index = some_rows(sample, fitted.most_judged)
    part = fitted.reservoir.part(index)
    if not closed:
        log_posterior = ByFolds(fitted, index).without(None)
    elif len(index) == len(sample.codes):
        log_posterior = fitted.left_out_rows
    else:
        log_posterior = fitted.left_out_unseen(taken(fitted.sampled_rows(), index), part.codes, part.row_weight())
    return judge_answers(
        statistics.classes,
        log_posterior,
        part.codes,
        part.represented(statistics.weight),
        part.copies,
        judged_by=LEFT_OUT if closed else FOLDS,
        group=part.units.groups,
        chosen=closed and fitted.chosen_by_sample,
        of_rows=max(round(statistics.rows), round(float(sample.copies.sum()))),
    )
