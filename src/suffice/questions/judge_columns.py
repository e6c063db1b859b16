"""Held-out answers to rows kept, with some of their cells unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .. import classify
from .._arrays import Array, Codes, NDArray, log_softmax, np
from ..densities import Density, Rows
from ..densities.product import missing_cells
from ..errors import DataError
from ..fitted import Fitted
from ..joint import JointModel
from ..leave_one_out.by_columns import ByColumns
from ..losses import LabelledRows
from ..stats import CategoricalStats, Reservoir
from ..stats.counts import CodedColumns
from .distances import hide, take
from .held_out import hold_out
from .leave_one_out import taken

MOST_ROWS, MOST_OF_FOLDS = 4000, 500  # rows judged


@dataclass(frozen=True, eq=False)
class ColumnJudge:
    """Rows to judge columns by, which cells of them are missing (n, d), and what judges them."""

    judged: LabelledRows
    missing: NDArray[np.bool_]
    by: ByColumns

    @classmethod
    def of(cls, fitted: Fitted) -> ColumnJudge:
        """Return the rows kept, or of many those whose hashes are smallest; DataError where there are none."""
        sample = _sample(fitted)
        index = some_rows(sample, MOST_ROWS)
        by = fitted.by_columns(index)
        if by is None:
            index = some_rows(sample, MOST_OF_FOLDS)
            by = ByFolds(fitted, index)
        part = sample.part(index)
        weight = part.represented(fitted.statistics.weight)
        judged = LabelledRows(part.codes, weight, part.copies, len(fitted.statistics.classes), part.units.groups)
        return cls(judged, missing_in(fitted, part.rows, len(index)), by)


def _sample(fitted: Fitted) -> Reservoir:
    sample, released = fitted.statistics.sample, fitted.past.released is not None
    if released:
        raise DataError.released("judge its columns by rows", "ask the model it was made from")
    if sample is None:
        raise DataError.without_rows(f"This {fitted.who} keeps no rows to judge its columns by")
    return fitted.reservoir


def some_rows(sample: Reservoir, most: int) -> Codes:
    """Return the numbers of at most so many rows, as a sample of them would keep."""
    limit = sample.bounded(most).limit
    return np.flatnonzero(sample.priority <= limit[sample.codes])


def missing_in(fitted: Fitted, rows: Rows, n: int) -> NDArray[np.bool_]:
    """Return which cells of n rows by block say nothing (n, d), by the columns of the model: they are missing.

    In the model's own categories those of a level never seen are none either.
    """
    out = np.zeros((n, len(fitted.schema)), dtype=np.bool_)
    for block, stats, part in zip(fitted.blocks, fitted.statistics.blocks, rows, strict=False):
        coded = isinstance(part, CodedColumns)
        cells = part.codes if coded else part
        found = missing_cells(cells) if isinstance(cells, tuple | np.ndarray) else None
        if found is None or not block.positions:
            continue
        if isinstance(stats, CategoricalStats) and not coded:
            found = found | np.column_stack([own >= len(known) for own, known in zip(cells, stats.levels, strict=True)])
        out[:, list(block.positions)] = found
    return out


class ByFolds:
    """Rows judged by models of folds, for kinds of models that no formula takes a row out of."""

    how = "models of folds of the rows"

    def __init__(self, fitted: Fitted, index: Codes) -> None:
        self.fitted = fitted
        self.order = [p for block in fitted.joint_value.blocks for p in block.positions]
        held, kept = fitted.memoize(hold_out, whatever_priors=True), fitted.sampled_rows()
        place = np.full(len(held.codes), -1)
        place[index] = np.arange(len(index))
        self.size, self.folds = len(index), list[_Fold]()
        for fold in held.folds:
            own = fold.index[place[fold.index] >= 0]
            if len(own):
                rows = take(fold.read(taken(kept, own)), np.arange(len(own)))  # cells missing as they are
                prior = fold.model.log_prior if fitted.priors is None else fitted.log_prior[fold.classes]
                self.folds.append(_Fold(fold.model, fold.classes, prior, rows, place[own]))

    def without(self, column: int | None) -> Array:
        """Return log posteriors (n, k) by all columns but one; by all of them if None."""
        return self.log_posterior([j for j in range(len(self.fitted.schema)) if j != column])

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log posteriors (n, k) by the known columns, each row by the model of other folds."""
        seen, k = np.isin(self.order, list(known)), len(self.fitted.statistics.classes)
        out = np.full((self.size, k), -np.inf)
        for fold in self.folds:
            out[np.ix_(fold.place, fold.classes)] = fold.log_posterior(seen)
        return out


@dataclass(eq=False)
class _Fold:
    """A model, the numbers and log priors of its classes, and rows it has not seen as it reads them, with places."""

    model: JointModel
    classes: Codes
    log_prior: Array
    rows: Rows
    place: Codes

    def log_posterior(self, seen: NDArray[np.bool_]) -> Array:
        """Return log posteriors (n, k) by the cells in some columns."""
        if self._by_terms is None:
            return classify.log_posterior(self.model, hide(self.rows, seen), self.log_prior)
        return log_softmax(self._by_terms(np.flatnonzero(seen)) + self.log_prior)

    @cached_property
    def _by_terms(self) -> Callable[[Codes], Array] | None:
        """What adds up densities from terms that are made once, where these are few enough to be held."""
        (density, *others), (rows, *_) = self.model.density.blocks, self.rows
        if others or type(density).marginals is Density.marginals:
            return None
        part, value = next(density.marginals(rows))
        return value if part.stop >= len(self.place) else None
