"""How likely a row of the model is at least as far out as each row."""

from __future__ import annotations

from functools import partial

from .._arrays import Array, Codes, NDArray, np
from ..densities import Rows
from ..errors import SettingError
from ..fitted import Fitted
from ..leave_one_out.model import log_densities
from ..stats.rows import take_rows
from . import distances
from .held_out import hold_out
from .leave_one_out import known_codes
from .outlier_laws import HotellingLaw
from .outlier_ranks import HeldOut, Learned, in_own_cells, own_rank_pvalues, rank_pvalues
from .replicates import exact_law, make_replicates


def outlier_pvalues(fitted: Fitted, X: object, y: object, by_class: bool = False) -> Array:
    """Return p-values (n,) of new rows, of each class if told (n, k), or of rows learned if `y` are their labels."""
    if by_class and y is not None:
        raise SettingError(
            "With y, p-values of learned rows are those within their own class already, and by_class asks for those of "
            "new rows within every class. Next: give new rows without y, or y without by_class."
        )
    asked, (encoded, n) = fitted.joint_value, fitted.encoded(X)
    model, law, rows = asked.joint, exact_law(asked), asked.recoded(encoded)
    if y is None:
        if law is not None and (len(model.classes) == 1 or asked.statistics.sample is None):
            if by_class:
                return distances.class_pvalues(model, rows, law)
            return distances.pvalues(model, rows, _replicates(asked), law)
        return rank_pvalues(fitted.memoize(_compared), encoded, rows, model.log_prior, by_class)
    codes = known_codes(fitted, y, n)
    if isinstance(law, HotellingLaw):
        return distances.own_pvalues(model, rows, codes, law)
    sample, learned = asked.statistics.sample, fitted.memoize(_learned, whatever_priors=True)
    assert sample is not None
    place = sample.locate(encoded[: len(sample.rows)], codes, model.classes)
    return own_rank_pvalues(learned, rows, codes, place, partial(_apart, asked, rows, encoded, codes))


def outlier_reference(fitted: Fitted) -> str:
    """Return what the p-values of new rows come from."""
    asked = fitted.joint_value
    law = exact_law(asked)
    if law is not None and len(asked.joint.classes) == 1:
        return f"the exact law of distances from a class of {asked.statistics.total:g} rows ({law.name})"
    if law is not None and asked.statistics.sample is None:
        return f"{law.name} within classes, and over classes the ranks among rows simulated from the model"
    held = fitted.memoize(_compared)
    return (
        f"the rank among {len(held.codes)} rows held out, each judged by one of {len(held.folds)} models of the "
        f"others; p-values below {1.0 / (1.0 + held.size):.2g} are extrapolated"
    )


def _held_out(fitted: Fitted) -> HeldOut:
    """Return rows held out and the models of the others, made once for what was learned."""
    return fitted.memoize(hold_out, whatever_priors=True)


def _compared(fitted: Fitted) -> HeldOut:
    """Return the same for new rows, which are compared with those that miss cells in the cells that these have."""
    return in_own_cells(_held_out(fitted), fitted.joint_value.joint.log_prior)


def _learned(fitted: Fitted) -> Learned:
    """Return the same for the learned rows themselves, each in the cells it has."""
    return Learned.make(_held_out(fitted))


def _replicates(fitted: Fitted) -> list[distances.Replicate]:
    """Return simulated rows and models, made once for a model; none for one class, whose law says it all."""
    return [] if len(fitted.joint.classes) == 1 else fitted.memoize(make_replicates)


def _apart(fitted: Fitted, rows: Rows, encoded: Rows, codes: Codes, index: Codes, observed: NDArray[np.bool_]) -> Array:
    """Return how far out some rows (m,) are of which the model knows sums alone, each left out of these."""
    parts = [take_rows(part, index) for part in encoded[: len(fitted.blocks)]]
    left_out = log_densities(fitted.learned, parts, codes[index], None)
    own = np.arange(len(index)), codes[index]
    score = np.where(left_out.order[own] > 0, -np.inf, left_out.score[own])
    return np.asarray(distances.peaks(fitted.joint, distances.take(rows, index), observed)[codes[index]] - score)
