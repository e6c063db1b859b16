"""Models without each fold, for the ranks of outlier p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._arrays import Array, Codes, np
from ..densities import Rows
from ..densities.product import has_holes
from ..errors import DataError
from ..fitted import Fitted
from ..schema import Level
from ..stats import ByClass, Reservoir
from ..stats.by_class import Batch
from ..stats.rows import deal_groups
from ..stats.subsets import without
from .distances import observed_cells
from .leave_one_out import taken
from .outlier_ranks import Fold, HeldOut

FEWEST, MOST = 5, 10  # folds: models of few rows differ less, and p-values are less cautious, where folds are many
ROWS = 4000  # rows times folds that cost little
WHOLE = 1e-9  # by how much, relatively, weights of all rows and of those kept may differ by rounding


def hold_out(fitted: Fitted) -> HeldOut:
    """Return the rows an estimator keeps, in folds, with the models of all other rows; always the same ones.

    Without its rows a model keeps everything else it has learned, also what of it is known as sums alone. Where no
    rows can leave (mixtures, cells completed by passes), the models learn from the other rows that are kept.
    """
    statistics = fitted.statistics
    sample = statistics.sample
    if sample is None and fitted.past.released is not None:
        raise DataError.released(
            "rank a row among others for an outlier p-value",
            "ask the model it was made from, or rank rows by score_samples",
        )
    if sample is None:
        raise DataError.without_rows(
            f"This {fitted.who} keeps no rows, and without a law of its own an outlier p-value is a rank "
            "among rows held out",
            released=False,
            otherwise=", or rank rows by score_samples",
        )
    rows, weight = fitted.sampled_rows(), sample.represented(statistics.weight)
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
    return HeldOut.make(sample.codes, weight, fitted.reservoir.copies, density, folds, known)


def _parted(sample: Reservoir, read: Rows, density: Array) -> list[Codes]:
    """Return the numbers of the rows of each fold: every fold has its share of each class, from near to far out.

    Rows of a group are in one.
    """
    own = density[np.arange(len(sample.codes)), sample.codes]
    order = np.lexsort((sample.priority, own, sample.codes))  # by what depends neither on units nor on order
    holed = any(has_holes(part) for part in read)  # EM for the cells takes long
    groups = sample.units.groups
    if groups is not None:
        place = deal_groups(groups, sample.codes)
        return [np.flatnonzero(place == number) for number in range(int(place.max()) + 1)]
    folds = min(FEWEST if holed else max(FEWEST, min(MOST, ROWS // len(order))), len(order))
    return [np.sort(order[number::folds]) for number in range(folds)]


def _without(fitted: Fitted, sample: Reservoir, rows: Rows, index: Codes, others: Codes) -> ByClass:
    """Return the statistics of all rows but some, with the sample of the others.

    Of classes whose rows are all kept they are those of the others; see `stats.subsets` for larger ones.
    """
    statistics, k = fitted.statistics, len(fitted.statistics.classes)
    codes, weight = sample.codes[others], sample.represented(statistics.weight)[others]
    present, place = np.unique(codes, return_inverse=True)
    classes = tuple(statistics.classes[int(c)] for c in present)
    batch = Batch(classes, place.astype(np.int64), taken(rows, others), weight)
    rest = fitted.for_fold().summarize(batch, 0)
    rest = replace(rest, sample=_present(sample.part(others), statistics.classes, classes))
    held = np.bincount(sample.codes, weights=sample.weight, minlength=k)
    whole = np.isclose(held, statistics.weight, rtol=WHOLE, atol=0.0)
    if whole.all():
        return rest
    own = Batch(statistics.classes, sample.codes[index], taken(rows, index), sample.weight[index])
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
    place = {label: i for i, label in enumerate(left)}
    return sample.regroup(np.array([place.get(label, -1) for label in classes], dtype=np.int64), left)


def _fold(
    fitted: Fitted, left: ByClass, sample: Reservoir, rows: Rows, index: Codes, rng: np.random.RandomState
) -> Fold:
    """Return the fold of some rows, which miss no cell: cells that were missing are drawn as its model expects them."""
    asked = replace(fitted.for_fold(), statistics=left).joint_value
    model, read = asked.joint, asked.recoded
    number = {label: i for i, label in enumerate(fitted.statistics.classes)}
    classes = np.array([number[label] for label in model.classes], dtype=np.int64)
    own = read(taken(rows, index))
    if any(has_holes(part) for part in own):
        codes = sample.codes[index]
        known = np.where(np.isin(codes, classes), codes, classes[0])
        own = model.sample(own, np.searchsorted(classes, known), rng)
    return Fold(model, classes, index, tuple(own), read)
