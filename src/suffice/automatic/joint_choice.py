"""Choose the joint density beside the pool: Gaussians and categories, or a forest, by held-out log density."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from .._arrays import Array, logsumexp, np
from ..densities import Rows
from ..fitted import NOTHING, Fitted
from ..forest import FrozenForest
from ..notes import Kind, Note
from ..stats.by_class import Batch
from ..stats.reservoir import Reservoir, rows_per_weight
from ..stats.rows import Keys, class_order, deal_groups
from .folds import content
from .forest_fitted import ForestJoint, ForestRows, ForestStats, forest_of, joint_forest, together
from .held import HeldFitted, MemberFamily, row_unit, units_of
from .members.forest import LeafSums
from .statistics import MemberRows, MemberStats
from .table_rows import MixedRows, distinct_pairs, hashes_of

LEAST_ROWS = 100  # for a forest to be grown
MOST_JUDGES = 400  # of a fold
AT_A_TIME = 100  # of them, for often these say enough
FOLDS, FOLDS_OF_FEW = 3, 5  # the latter where a third fewer rows would tell against the forest
FEW = 1000  # rows
CLEAR = 5.0  # standard errors, beyond which no further fold is asked


def may_be_forest(value: HeldFitted) -> bool:
    """Return whether a forest is known, or can be grown, that could be the joint model."""
    held, members = value.statistics.blocks[-1], value.blocks[-1].family
    if isinstance(members, MemberFamily) and members.texts:  # whose leaves have no densities of texts
        return False
    if isinstance(held, MemberStats):
        return _has_leaves(held) and not value.holds_no_rows
    assert isinstance(held, MemberRows)
    unit = row_unit(value.statistics, held)
    return float(held.weight.sum()) * unit >= LEAST_ROWS and len(held.codes) > 0


def forest_beside(value: HeldFitted, alone: bool = False) -> ForestJoint:
    """Return the joint model by a forest, where there may be one; `alone`, as in a fold, which has no members."""
    held = value.statistics.blocks[-1]
    if isinstance(held, MemberRows):
        # equal rows of several groups are one, and of few distinct ones the statistics have no leaves
        whole = value.frozen_statistics if len(held.codes) > value.most_read and not alone else None
        rows = ForestRows(held.rows, held.codes, held.copies, held.weight, held.k)
        held = rows.distinct(value.most_read) if whole is None or not _has_leaves(whole) else whole
    if isinstance(held, MemberStats):  # a forest of some of the rows, in whose leaves all are counted
        return joint_forest(value, held)
    assert isinstance(held, MemberRows)
    weight, table = held.weight * row_unit(value.statistics, held), held.rows
    units = units_of(value.statistics, held)
    frozen = FrozenForest.freeze(table.numbers, table.coded, held.codes, held.k, weight, labels=False, units=units)
    reading = frozen.read(table.numbers, table.coded)
    return joint_forest(value, ForestStats.summarize(reading, held.codes, held.k, held.weight))


def _has_leaves(stats: MemberStats) -> bool:
    part = stats.learned.get(LeafSums.name)
    return isinstance(part, LeafSums) and part.sums is not None


def gain_of_forest(value: HeldFitted, gaussian: Fitted) -> float:
    """Return by how many nats rows that a model has not seen are likelier under a forest than under Gaussians.

    Both are judged by folds: by some rows of the first alone where one is ahead by far more than chance. Trees that
    have not seen a row would not do: a row helps to cut the cells it is read in, and the narrower these, the likelier
    the row. Of equal rows that are no copies some are learned and some are judged, as in new data.
    """
    ahead, weight = np.zeros(0), np.zeros(0)
    for more, of_more in _judged_apart(value, gaussian):
        ahead, weight = np.append(ahead, more), np.append(weight, of_more)
        if _is_clear(ahead, weight):
            break
    return float(weight @ ahead) / max(float(weight.sum()), 1e-300)


def _judged_apart(value: HeldFitted, gaussian: Fitted) -> Iterator[tuple[Array, Array]]:
    """Yield, of some rows left out at a time, by how much likelier each is under a forest (m,), and their weights."""
    sample, table = value.reservoir, together(value.reservoir.rows)
    keys = content(MixedRows(table.numbers, table.coded.codes))
    order = class_order(keys, sample.codes)  # neither units nor names choose rows
    sample, keys = sample.part(order), keys[order]
    weight = sample.represented(value.statistics.weight)
    unit = rows_per_weight(weight, sample.copies)
    every = Batch(value.statistics.classes, sample.codes, sample.rows, weight)
    for share in _folds(sample, keys):
        rest = np.flatnonzero(share < 1.0)
        own = np.flatnonzero(share > 0.0)
        own = own[:: max(1, -(-len(own) // MOST_JUDGES))]
        learned = _lighter(every.take(rest), 1.0 - share[rest])
        forest, gaussians = _forest_of(learned, unit), _gaussians_of(gaussian, learned)
        log_prior = np.log(learned.class_weight / learned.class_weight.sum())
        parts = -(-len(own) // AT_A_TIME)
        for part in (own[first::parts] for first in range(parts)):  # each of all the rows: they may come in an order
            judged = every.take(part).rows
            apart = logsumexp(forest(judged) + log_prior, axis=1) - logsumexp(gaussians(judged) + log_prior, axis=1)
            yield apart, (weight * share)[part]


def chosen_note(gain: float, forest: ForestJoint | None) -> Note:
    """Return what is to be said of the choice by a gain: a forest, or Gaussians and categories where there is None."""
    if forest is None:
        return Note("joint model: Gaussians and categories", _by(-gain, "a forest"), kind=Kind.CHOSEN)
    stats = cast("MemberStats", forest.statistics.blocks[0])
    what = f"joint model: a forest of {len(stats.columns.forest.density)} trees"
    return Note(what, _by(gain, "Gaussians and categories"), kind=Kind.CHOSEN)


def _is_clear(ahead: Array, weight: Array) -> bool:
    """Return whether the mean of what rows (n,) of these weights say is many standard errors from nothing."""
    share, ahead = weight / max(float(weight.sum()), 1e-300), np.clip(ahead, -1e100, 1e100)  # squares are numbers
    mean = float(share @ ahead)
    return abs(mean) > CLEAR * float(np.sqrt(share**2 @ (ahead - mean) ** 2))


def _by(gain: float, than: str) -> str:
    return f"rows left out are likelier by {gain:.3g} nats each than under {than}"


def _folds(sample: Reservoir, keys: Keys) -> Iterator[Array]:
    """Yield by fold which share of each row (m,) is judged; equal rows are dealt to several, and groups to one.

    The rows come class by class, so that each fold has its share of every class.
    """
    groups = sample.units.groups
    if groups is not None:
        place = deal_groups(groups, sample.codes, keys, FOLDS)
        for fold in range(int(place.max()) + 1):
            yield (place == fold).astype(np.float64)
        return
    folds = FOLDS if float(sample.copies.sum()) > FEW else FOLDS_OF_FEW
    parts = np.minimum(sample.copies, folds).astype(np.int64)
    dealt = np.repeat(np.arange(len(parts)), parts)
    place = np.arange(len(dealt)) % folds
    for fold in range(folds):
        yield np.bincount(dealt[place == fold], minlength=len(parts)) / parts


def _lighter(rows: Batch, share: Array) -> Batch:
    """Return the rows with a share of their weight."""
    assert rows.weight is not None
    return rows._replace(weight=rows.weight * share).of_present_classes()


def _gaussians_of(gaussian: Fitted, learned: Batch) -> Callable[[Rows], Array]:
    """Return what gives log densities (m, k) of rows under Gaussians and categories that other rows give."""
    learner = replace(gaussian, statistics=NOTHING, priors=None)
    model = replace(learner, statistics=learner.summarize(learned, 0))
    return lambda judged: model.joint.density.log_density(model.recoded(judged))


def _forest_of(learned: Batch, unit: float) -> Callable[[Rows], Array]:
    """Return what gives log densities (m, k) of rows under a forest of others, of which a weight of 1 is `unit`."""
    assert learned.weight is not None
    table, k = together(learned.rows), len(learned.classes)
    first, place = distinct_pairs(hashes_of(table), learned.codes)  # equal rows of several groups are one
    table, codes = table[first], learned.codes[first]
    weight = np.bincount(place, learned.weight * unit).astype(np.float64)
    frozen = FrozenForest.freeze(table.numbers, table.coded, codes, k, weight, labels=False)
    reading = frozen.read(table.numbers, table.coded)
    density = forest_of(ForestStats.summarize(reading, codes, k, weight)).density()

    def answer(judged: Rows) -> Array:
        new = together(judged)
        return density.log_density_of(frozen.read(new.numbers, new.coded).forest)

    return answer
