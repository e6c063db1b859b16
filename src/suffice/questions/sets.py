"""Sets of classes that hold the true one with a chosen probability."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from .._arrays import Array, Codes, Flags, np
from .._arrays_api import fetch
from ..conformal import Limits, Scores, class_sets, levels
from ..densities import Rows
from ..errors import DataError
from ..estimate import Block
from ..fitted import Fitted
from ..leave_one_out.by_columns import hides, showing
from ..stats.rows import level_keys, take_blocks
from .held_out import MOST_OF_FOLDS, ByFolds, left_out_kept, missing_in, some_rows
from .sample import read_share

MOST_HIDDEN = 1000  # rows of which cells are hidden, each once at every number of known cells
ORDERS = 10  # in which cells are hidden, each of as many rows: of ten columns each is once the only one known
MOST_SUBSETS = 70  # of columns that are shown: each takes as long as some hundred rows
LARGEST = 745.0  # nats, that a released model tells of: what the smallest float is the probability of
SAME = 1e-9  # of a class prior


def predict_set(fitted: Fitted, rows: Rows, alpha: object, by_class: bool, allow_empty: bool) -> Flags:
    """Return for each row the classes it may well be of, (n, k)."""
    limits = set_limits(fitted, alpha, by_class)
    return in_sets(fitted, rows, fetch(fitted.log_posterior(rows)), limits, allow_empty)


def in_sets(
    fitted: Fitted, rows: Rows, log_posterior: Array, limits: Sequence[Limits], allow_empty: bool = True
) -> Flags:
    """Return which classes score no more than the thresholds of rows with as many known cells, (n, k)."""
    known = (~missing_in(fitted, rows, len(log_posterior))).sum(axis=1)
    return class_sets(log_posterior, np.column_stack([own.at(known) for own in limits]), allow_empty)


def set_limits(fitted: Fitted, alpha: object, by_class: bool) -> list[Limits]:
    """Return up to which score −log p(class | row) a class is in the set: for all classes, or for each of them.

    A warning names the classes of too few rows to say.
    """
    share = read_share(alpha, "alpha", "0.1 gives sets that hold 90 %")
    found = _limits(fitted, share, by_class)
    few = [repr(label) for label, own in zip(fitted.statistics.classes, found, strict=False) if own.is_endless]
    if by_class and few:
        one = len(few) == 1
        warnings.warn(
            f"{'Class' if one else 'Classes'} {', '.join(few)}: too few rows to say what {share:g} of new ones "
            f"exceed, so that {'it is' if one else 'they are'} in every set. Next: give a larger alpha, or at least "
            f"{max(np.ceil(1.0 / share) - 1.0, 2.0):g} different rows of each class.",
            UserWarning,
            stacklevel=4,
        )
    return found


def _limits(fitted: Fitted, alpha: float, by_class: bool) -> list[Limits]:
    released = fitted.past.released
    if released is None or fitted.statistics.sample is not None:
        return fitted.memoize(set_scores).limits(len(fitted.schema), fitted.log_prior, alpha, by_class)
    sets, classes = released.sets, fitted.statistics.classes
    if sets is None or sets.classes != classes or not np.allclose(sets.priors, np.exp(fitted.log_prior), atol=SAME):
        raise DataError(
            "This model was released, holds no rows, and keeps no scores of rows by which sets are made: none were "
            "kept when it was released, or its classes, their priors or its rows have changed since. "
            "Next: ask the model it was made from, or release that one again."
        )
    return sets.limits(alpha, by_class)


def set_scores(fitted: Fitted) -> Scores:
    """Return the scores of the rows kept, each left out: by the cells they have, and with some of these hidden."""
    sample = fitted.reservoir
    every = np.arange(len(sample.codes))
    known = ~missing_in(fitted, sample.rows, len(every))
    left_out = left_out_kept(fitted)
    parts = [_scores(fitted, every, _own(fitted, left_out, every), known)]
    index, orders = some_rows(sample, MOST_HIDDEN), _orders(fitted)
    in_folds = bool(orders) and fitted.by_columns(index, as_new=True) is None
    index = some_rows(sample, MOST_OF_FOLDS) if in_folds else index
    # from sure to unsure rows of each class, in turn by how sure all are: units change hashes, and names class numbers
    codes, sure = sample.codes[index], left_out.sum(axis=1)[index]
    turn = np.bincount(codes, weights=sure)[codes]
    dealt = index[np.lexsort((sample.priority[index], sure, codes, turn))]
    for start, order in enumerate(orders):
        own = np.sort(dealt[start :: len(orders)])
        if len(own):
            found = None if in_folds else fitted.by_columns(own, as_new=True)
            judge = ByFolds(fitted, own) if found is None else found
            for shown in _shown(order):
                score = _own(fitted, judge.log_posterior(shown.tolist()), own)
                parts.append(_scores(fitted, own, score, known[np.ix_(own, shown)], of=index))
    return Scores.together(parts)


def held_out_scores(
    fitted: Fitted, model: Fitted, index: Codes, rows: Rows, place: tuple[Codes, Codes], fold: int
) -> list[Scores]:
    """Return the same of a fold of the rows kept by a model of the others, which knows their classes at `place`.

    Half of them lose their cells in one order of the columns, and half in another.
    """
    known, own, every = ~missing_in(fitted, rows, len(index)), place[1], np.arange(len(fitted.reservoir.codes))

    def scored(some: Codes, shown: Rows) -> Array:
        log_posterior = model.log_posterior(model.recoded(shown))
        return np.minimum(-log_posterior[np.arange(len(some)), own[some]], LARGEST)

    parts = [_scores(fitted, index, scored(place[0], rows), known)]
    orders = _orders(fitted)
    for half in range(min(2, len(orders))):
        some = np.arange(half, len(index), 2)
        for shown in _shown(orders[(2 * fold + half) % len(orders)]) if len(some) else ():
            hiding = [showing(part, _within(block, shown)) for block, part in zip(fitted.blocks, rows, strict=True)]
            score = scored(some, take_blocks(hiding, some))
            parts.append(_scores(fitted, index[some], score, known[np.ix_(some, shown)], of=every))
    return parts


def _orders(fitted: Fitted) -> list[Codes]:
    """Return orders of the columns, in each of which others are shown first; none where no cell can be missing.

    They go by hashes of the columns' names, as neighbours in a table often tell alike.
    """
    if not all(map(hides, fitted.blocks, fitted.reservoir.rows)):
        return []
    d = len(fitted.schema)
    count = max(min(ORDERS, d, MOST_SUBSETS // len(levels(d))), 2 if d > 1 else 1)
    order = np.argsort(level_keys(fitted.schema.names)[:-1], kind="stable")
    return [np.roll(order, -(start * d // count)) for start in range(count)]


def _shown(order: Codes) -> list[Codes]:
    """Return the columns that are shown, fewer and then more of an order, but not all."""
    return [order[:number] for number in levels(len(order))[:-1].tolist()]


def _within(block: Block, columns: Codes) -> list[int]:
    """Return which of the columns of a block are among some of the table."""
    return np.flatnonzero(np.isin(block.positions, columns)).tolist()


def _own(fitted: Fitted, log_posterior: Array, index: Codes) -> Array:
    """Return the scores of some of the rows kept for their own class."""
    return -log_posterior[np.arange(len(index)), fitted.reservoir.codes[index]]


def _scores(fitted: Fitted, index: Codes, score: Array, known: Flags, of: Codes | None = None) -> Scores:
    """Return the scores of some of the rows kept, of which these cells were known.

    Cells were hidden from rows that are `of` so many; those that are of all rows kept have the cells they have.
    """
    sample = fitted.reservoir
    part, weight = sample.part(index), fitted.statistics.weight
    whole = sample if of is None else sample.part(of)
    held = np.bincount(whole.codes, weights=whole.weight, minlength=len(weight))
    return Scores(
        known=known.sum(axis=1),
        score=score,
        codes=part.codes,
        weight=part.weight * sample.rows_per_weight,
        stands=(weight / np.where(held > 0, held, 1.0))[part.codes],
        hidden=np.full(len(index), of is not None),
    )
