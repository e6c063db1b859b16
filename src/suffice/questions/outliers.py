"""Is a row like anything seen: p-values, by the law of its class where it has one, else by rows held out.

Within a class, the p-value of a row is the chance that a new row of the class is at least as far out. Across classes
it is that of ranks among rows held out (`outlier_ranks`) or, where no rows are kept, the largest of the p-values within
classes: of the rows of any class a share of at most p has one up to p.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from .._arrays import Array, Codes, Flags, np, parallel_each, row_chunks
from ..densities import Rows
from ..errors import SettingError
from ..fitted import Fitted
from ..joint import JointModel
from ..leave_one_out.model import log_densities
from ..stats.rows import take_blocks
from .held_out import hold_out
from .leave_one_out import known_codes
from .outlier_laws import CHUNK_ROWS, HotellingLaw, Law, exact_law, measure, patterns, peaks
from .outlier_ranks import HeldOut, Learned, in_own_cells, own_rank_pvalues, rank_pvalues


def outlier_pvalues(fitted: Fitted, X: object, y: object, by_class: bool = False) -> Array:
    """Return p-values (n,) of new rows, of each class if told (n, k), or of rows learned if `y` are their labels."""
    if by_class and y is not None:
        raise SettingError(
            "With y, p-values of learned rows are those within their own class already, and by_class asks for those of "
            "new rows within every class. Next: give new rows without y, or y without by_class."
        )
    asked, (encoded, n) = fitted.joint_value, fitted.encoded(X)
    model, law, rows = asked.joint, exact_law(asked), asked.recoded(encoded)
    if y is not None:
        codes = known_codes(fitted, y, n)
        if isinstance(law, HotellingLaw):
            return _pvalues_of_learned(model, rows, codes, law)
        sample, learned = asked.judges, fitted.memoize(_learned, whatever_priors=True)
        assert sample is not None
        place = sample.locate(encoded[: len(sample.rows)], codes, model.classes)
        return own_rank_pvalues(learned, rows, codes, place, partial(_apart, asked, rows, encoded, codes))
    if law is None or (len(model.classes) > 1 and asked.judges is not None):
        return rank_pvalues(fitted.memoize(_compared), encoded, rows, model.log_prior, by_class)
    found = _pvalues_by_law(model, rows, law)
    return found if by_class else np.asarray(found[:, np.isfinite(model.log_prior)].max(axis=1))


def outlier_reference(fitted: Fitted) -> str:
    """Return what the p-values of new rows come from."""
    asked = fitted.joint_value
    law = exact_law(asked)
    if law is not None and len(asked.joint.classes) == 1:
        return f"the exact law of distances from a class of {asked.statistics.total:g} rows ({law.name})"
    if law is not None and asked.judges is None:
        return f"the exact law within each class ({law.name}), and over classes the largest of its p-values"
    held = fitted.memoize(_compared)
    return (
        f"the rank among {len(held.codes):,} rows held out, each judged by one of {len(held.folds)} models of the "
        f"others; p-values below {1.0 / (1.0 + held.size):.2g} are extrapolated"
    )


def _pvalues_by_law(model: JointModel, rows: Rows, law: Law) -> Array:
    """Return how likely a row of each class is at least as far out from it as each row, (n, k)."""
    groups = list(patterns(rows))
    out = np.ones((sum(len(index) for _, index in groups), len(model.log_prior)))
    for observed, index in [own for own in groups if (own[0] & law.used).any()]:

        def answer(own: Codes, observed: Flags = observed) -> None:
            out[own] = law.new_row(measure(model, take_blocks(rows, own))[0], observed)

        parallel_each(answer, [index[part] for part in row_chunks(len(index), CHUNK_ROWS)])
    return out


def _pvalues_of_learned(model: JointModel, rows: Rows, codes: Codes, law: HotellingLaw) -> Array:
    """Return the p-value (n,) of each row within its class, for rows that the model has learned from, which leave."""
    out = np.ones(len(codes))
    for observed, index in patterns(rows):
        own = codes[index]
        if (observed & law.used).any():
            distance = measure(model, take_blocks(rows, index))[0]
            out[index] = law.own_row(distance[np.arange(len(own)), own], own, observed)
    return out


def _compared(fitted: Fitted) -> HeldOut:
    """Return rows held out for new rows, which are compared with those that miss cells in the cells that these have."""
    return in_own_cells(fitted.memoize(hold_out, whatever_priors=True), fitted.joint_value.joint.log_prior)


def _learned(fitted: Fitted) -> Learned:
    """Return the same for the learned rows themselves, each in the cells it has.

    Equal rows of several groups, of which nothing says which is which, are all as far out as the nearest of them.
    """
    found = Learned.make(fitted.memoize(hold_out, whatever_priors=True))
    number = fitted.reservoir.contents(fitted.statistics.classes)
    nearest = np.full(len(number), np.inf)
    np.minimum.at(nearest, number, found.far)
    return replace(found, far=nearest[number])


def _apart(fitted: Fitted, rows: Rows, encoded: Rows, codes: Codes, index: Codes) -> Array:
    """Return how far out some rows (m,) are that are not kept: left out of the sums, or as new rows if all are kept."""
    own = np.arange(len(index)), codes[index]
    if fitted.judges and fitted.judges.is_whole:  # such as rows learned with weight 0
        return np.asarray(measure(fitted.joint, take_blocks(rows, index))[0][own])
    read = rows if fitted.leaves_recoded else encoded[: len(fitted.blocks)]
    parts = take_blocks(read, index)
    left_out = log_densities(fitted.learned, parts, codes[index], None)
    score = np.where(left_out.order[own] > 0, -np.inf, left_out.score[own])
    highest = peaks(fitted.joint, take_blocks(rows, index))
    return np.asarray(np.broadcast_to(highest, left_out.score.shape)[own] - score)
