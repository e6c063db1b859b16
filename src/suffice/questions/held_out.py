"""Rows held out: folds of the rows kept, models without each fold, and what these answer with some cells unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from .._arrays import Array, Codes, Flags, is_sparse, log_softmax, np, places_of
from ..densities import Density, Rows
from ..densities.counts import TextDensity
from ..densities.density import has_holes, missing_cells
from ..errors import DataError, either
from ..fitted import Fitted
from ..joint import JointModel, log_posterior
from ..leave_one_out.by_columns import ByColumns
from ..losses import LabelledRows
from ..schema import Level
from ..stats import ByClass, CategoricalStats, Reservoir
from ..stats.by_class import Batch
from ..stats.counts import CodedColumns
from ..stats.reservoir import SAME_WEIGHT
from ..stats.rows import content, deal_groups, take_blocks
from ..stats.subsets import without
from .outlier_laws import hide, observed_cells
from .outlier_ranks import Fold, HeldOut

FEWEST, MOST = 5, 10  # folds: models of few rows differ less, and p-values are less cautious, where folds are many
ROWS = 4000  # rows times folds that cost little


def hold_out(fitted: Fitted) -> HeldOut:
    """Return the rows an estimator keeps, in folds, with the models of all other rows; always the same ones.

    Without its rows a model keeps everything else it has learned, also what of it is known as sums alone. Where no
    rows can leave (mixtures, cells completed by passes), the models learn from the other rows that are kept.
    """
    sample = fitted.judges
    ranked = f"rank rows by {either('score_samples', 'the log_density of `suffice predict`')}"
    if sample is None and fitted.past.released is not None:
        instead = f"ask the model it was made from, or {ranked}"
        raise DataError.released("rank a row among others for an outlier p-value", instead)
    if sample is None:
        what = f"This {either(fitted.who, 'model')} keeps no rows, and without a law of its own an outlier p-value is a"
        raise DataError.without_rows(f"{what} rank among rows held out", otherwise=f", or {ranked}")
    rows, weight = fitted.sampled_rows(), sample.represented(fitted.statistics.weight)
    asked, folds = fitted.joint_value, []
    read = asked.recoded(rows)
    density = asked.joint.density.log_density(read)
    for number, index in enumerate(_parted(sample, read, density)):
        others = np.setdiff1d(np.arange(len(sample.codes)), index)
        if not len(others):
            raise DataError(
                "This model has learned a single row, and there is no other to compare rows with. "
                "Next: give at least two rows."
            )
        left = _without(fitted, sample, rows, index, others)
        folds.append(_fold(fitted, left, sample, rows, index, np.random.RandomState(number)))
    known = observed_cells(read) if any(has_holes(part) for part in read) else None
    share, copies, k = weight / weight.sum(), fitted.reservoir.copies, density.shape[1]
    total = np.bincount(sample.codes, weights=share, minlength=k)
    squares = np.bincount(sample.codes, weights=share**2 / copies, minlength=k)
    sizes, size = total**2 / np.where(squares > 0, squares, 1.0), 1.0 / float((share**2 / copies).sum())
    return HeldOut(sample.codes, share, size, sizes, density, tuple(folds), known)


def _parted(sample: Reservoir, read: Rows, density: Array) -> list[Codes]:
    """Return the numbers of the rows of each fold: every fold has its share of each class, from near to far out.

    Rows of a group are in one. Neither units nor names and orders have a part in it, but in ties: log densities are in
    units in which columns of numbers range over 1, and rows that miss cells, which are drawn, come in this order.
    """
    own, k = density[np.arange(len(sample.codes)), sample.codes], density.shape[1]
    holed = any(has_holes(part) for part in read)
    for part in read if holed else ():
        if not isinstance(part, tuple) and not is_sparse(part):
            wide = np.fmax.reduce(part, axis=0) - np.fmin.reduce(part, axis=0)
            own += np.where(np.isnan(part), 0.0, np.log(np.where(wide > 0, wide, 1.0))).sum(axis=1)
    classes = [own[sample.codes == c] for c in range(k)]
    # one class goes on where another ends
    turn = np.argsort(np.lexsort(([np.ptp(part) if len(part) else 0.0 for part in classes], [*map(len, classes)])))
    order = np.lexsort((keys := content(sample.rows, len(own)), own, turn[sample.codes]))
    groups = sample.units.groups
    # fewer folds where cells are missing: EM takes long
    folds = min(FEWEST if holed else max(FEWEST, min(MOST, ROWS // len(order))), len(order))
    place = np.arange(len(order)) % folds if groups is None else deal_groups(groups, sample.codes, keys)[order]
    parts = [order[place == number] for number in range(int(place.max()) + 1)]
    return parts if holed else [np.sort(part) for part in parts]


def _without(fitted: Fitted, sample: Reservoir, rows: Rows, index: Codes, others: Codes) -> ByClass:
    """Return the statistics of all rows but some, with the sample of the others.

    Of classes whose rows are all kept they are those of the others; see `stats.subsets` for larger ones.
    """
    statistics, k = fitted.statistics, len(fitted.statistics.classes)
    codes, weight = sample.codes[others], sample.represented(statistics.weight)[others]
    present, place = np.unique(codes, return_inverse=True)
    classes = tuple(statistics.classes[int(c)] for c in present)
    batch = Batch(classes, place.astype(np.int64), take_blocks(rows, others), weight)
    rest = fitted.for_fold().summarize(batch, 0)
    rest = replace(rest, sample=_present(sample.part(others), statistics.classes, classes))
    held = np.bincount(sample.codes, weights=sample.weight, minlength=k)
    whole = np.isclose(held, statistics.weight, rtol=SAME_WEIGHT, atol=0.0)
    if whole.all():
        return rest
    own = Batch(statistics.classes, sample.codes[index], take_blocks(rows, index), sample.weight[index])
    gone, left = fitted.summarize(own, 0), rest.with_classes(statistics.classes)
    parts = zip(statistics.blocks, gone.blocks, left.blocks, strict=True)
    blocks = tuple(without(*three, whole) for three in parts)
    less = np.where(whole, left.weight, statistics.weight - gone.weight)
    count = max(statistics.rows - gone.rows, 0)
    found = replace(statistics, blocks=blocks, weight=less, rows=count, sample=left.sample, unlabelled=None)
    return found.regroup({label: label if w > 0 else None for label, w in zip(found.classes, less, strict=True)})


def _present(sample: Reservoir, classes: Sequence[Level], left: Sequence[Level]) -> Reservoir:
    """Return a sample whose classes are those that are left."""
    if tuple(classes) == tuple(left):
        return sample
    return sample.regroup(places_of(classes, left), left)


def _fold(
    fitted: Fitted, left: ByClass, sample: Reservoir, rows: Rows, index: Codes, rng: np.random.RandomState
) -> Fold:
    """Return the fold of some rows, which miss no cell: cells that were missing are drawn as its model expects them."""
    asked = replace(fitted.for_fold(), statistics=left).joint_value
    model, read = asked.joint, asked.recoded
    classes = places_of(model.classes, fitted.statistics.classes)
    own = read(take_blocks(rows, index))
    if any(has_holes(part) for part in own):
        codes = sample.codes[index]
        known = np.where(np.isin(codes, classes), codes, classes[0])
        own = model.sample(own, np.searchsorted(classes, known), rng)
    return Fold(model, classes, index, tuple(own), read)


MOST_ROWS, MOST_OF_FOLDS = 2000, 500  # rows judged


@dataclass(frozen=True, eq=False)
class ColumnJudge:
    """Rows to judge columns by, which cells of them are missing (n, d), and what judges them."""

    judged: LabelledRows
    missing: Flags
    by: ByColumns

    @classmethod
    def of(cls, fitted: Fitted, most: int = MOST_ROWS) -> ColumnJudge:
        """Return the rows kept, or of many those whose hashes are smallest; DataError where there are none."""
        if fitted.past.released is not None:
            raise DataError.released("judge its columns by rows", "ask the model it was made from")
        if fitted.judges is None:
            raise DataError.without_rows(f"This {either(fitted.who, 'model')} keeps no rows to judge its columns by")
        sample = fitted.reservoir
        index = some_rows(sample, most)
        by = fitted.by_columns(index)
        if by is None:
            index = some_rows(sample, MOST_OF_FOLDS)
            by = ByFolds(fitted, index)
        part = sample.part(index)
        weight = part.represented(fitted.statistics.weight)
        judged = LabelledRows(part.codes, weight, part.copies, len(fitted.statistics.classes), part.units.groups)
        return cls(judged, missing_in(fitted, part.rows, len(index)), by)

    def lost(self, columns: Sequence[int] | range) -> Array:
        """Return the log-losses (n,) by some columns."""
        return self.judged.losses(self.by.log_posterior(sorted(columns)))

    def loss(self, columns: Sequence[int]) -> float:
        """Return their mean."""
        return float(self.judged.mean(self.lost(columns)))


def some_rows(sample: Reservoir, most: int) -> Codes:
    """Return the numbers of at most so many rows, as a sample of them would keep."""
    return np.flatnonzero(sample.priority <= sample.bounded(most).limit[sample.codes])


def left_out_kept(fitted: Fitted) -> Array:
    """Return the log posteriors (m, k) of the rows kept, each left out; by models of folds where that takes long."""
    if fitted.leaves_soon:
        return fitted.left_out_rows
    return ByFolds(fitted, np.arange(len(fitted.reservoir.codes))).without(None)


def missing_in(fitted: Fitted, rows: Rows, n: int) -> Flags:
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
    by_others = None

    def __init__(self, fitted: Fitted, index: Codes) -> None:
        self.fitted = fitted
        held, kept = fitted.memoize(hold_out, whatever_priors=True), fitted.sampled_rows()
        place, positions = np.full(len(held.codes), -1), [own.positions for own in fitted.joint_value.blocks]
        place[index] = np.arange(len(index))
        self.size, self.folds = len(index), list[_Fold]()
        for fold in held.folds:
            own = fold.index[place[fold.index] >= 0]
            if len(own):
                rows = fold.read(take_blocks(kept, own))  # cells missing as they are
                prior = fold.model.log_prior if fitted.priors is None else fitted.log_prior[fold.classes]
                sizes = [np.diff(own.ends) if isinstance(own, TextDensity) else 1 for own in fold.model.density.blocks]
                order = np.concatenate([[], *map(np.repeat, positions, sizes)])  # texts have a column for each term
                self.folds.append(_Fold(fold.model, fold.classes, prior, rows, place[own], order))

    def without(self, column: int | None) -> Array:
        """Return log posteriors (n, k) by all columns but one; by all of them if None."""
        return self.log_posterior([j for j in range(len(self.fitted.schema)) if j != column])

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log posteriors (n, k) by the known columns, each row by the model of other folds."""
        out = np.full((self.size, len(self.fitted.statistics.classes)), -np.inf)
        for fold in self.folds:
            out[np.ix_(fold.place, fold.classes)] = fold.log_posterior(known)
        return out


@dataclass(eq=False)
class _Fold:
    """A model, the numbers and log priors of its classes, and rows it has not seen as it reads them, with places.

    `order` has the position of each column of these rows.
    """

    model: JointModel
    classes: Codes
    log_prior: Array
    rows: Rows
    place: Codes
    order: Array

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log posteriors (n, k) by the cells in some columns."""
        seen = np.isin(self.order, list(known))
        if self._by_terms is None:
            return log_posterior(self.model, hide(self.rows, seen), self.log_prior)
        return log_softmax(self._by_terms(np.flatnonzero(seen)) + self.log_prior)

    @cached_property
    def _by_terms(self) -> Callable[[Codes], Array] | None:
        """What adds up densities from terms that are made once, where these are few enough to be held."""
        (density, *others), (rows, *_) = self.model.density.blocks, self.rows
        if others or type(density).marginals is Density.marginals:
            return None
        part, value = next(density.marginals(rows))
        return value if part.stop >= len(self.place) else None
