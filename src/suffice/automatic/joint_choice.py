"""Which joint density goes with the pool: Gaussians times categories, or a forest, by what rows left out say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from .._arrays import Array, logsumexp, np
from ..densities import Rows
from ..fitted import NOTHING, Fitted
from ..forest import FrozenForest
from ..notes import Kind, Note
from ..stats.batch import Batch
from ..stats.reservoir import Reservoir, rows_per_weight
from .forest_fitted import ForestJoint, ForestStats, forest_of, joint_forest, together
from .held import HeldFitted
from .leaves import LeafSums
from .statistics import MemberRows, MemberStats

LEAST_ROWS = 100  # for a forest to be grown
MOST_JUDGES = 400  # of a fold
FOLDS, FOLDS_OF_FEW = 3, 5  # the latter where a third fewer rows would tell against the forest
FEW = 1000  # rows
CLEAR = 5.0  # standard errors, beyond which no further fold is asked


def may_be_forest(value: HeldFitted) -> bool:
    """Return whether a forest is known, or can be grown, that could be the joint model."""
    held = value.statistics.blocks[-1]
    if isinstance(held, MemberStats):
        part = held.learned.get(LeafSums.name)
        return isinstance(part, LeafSums) and part.sums is not None and not value.holds_no_rows
    assert isinstance(held, MemberRows)
    unit = rows_per_weight(held.weight, held.copies)
    return float(held.weight.sum()) * unit >= LEAST_ROWS and len(held.codes) > 0


def forest_beside(value: HeldFitted) -> ForestJoint:
    """Return the joint model by a forest, where there may be one."""
    held = value.statistics.blocks[-1]
    if isinstance(held, MemberStats):
        return joint_forest(value, held)
    assert isinstance(held, MemberRows)
    weight, table = held.weight * rows_per_weight(held.weight, held.copies), held.rows
    frozen = FrozenForest.freeze(table.numbers, table.coded, held.codes, held.k, weight, labels=False)
    reading = frozen.read(table.numbers, table.coded)
    return joint_forest(value, ForestStats.summarize(reading, held.codes, held.k, held.weight))


def gain_of_forest(value: HeldFitted, gaussian: Fitted) -> float:
    """Return by how many nats rows that a model has not seen are likelier under a forest than under Gaussians.

    Both are judged by folds: by the first alone where one is ahead by far more than chance. Trees that have not seen a
    row would not do: a row helps to cut the cells it is read in, and the narrower these, the likelier the row. Of equal
    rows some are learned and some are judged, as in new data.
    """
    sample = value.reservoir
    weight = sample.represented(value.statistics.weight)
    unit = rows_per_weight(weight, sample.copies)
    every = Batch(value.statistics.classes, sample.codes, sample.rows, weight)
    ahead, heavy = np.zeros(0), np.zeros(0)
    for share in _folds(sample):
        rest = np.flatnonzero(share < 1.0)
        own = np.flatnonzero(share > 0.0)
        own = own[:: max(1, -(-len(own) // MOST_JUDGES))]
        learned, judged = _lighter(every.take(rest), 1.0 - share[rest]), every.take(own).rows
        log_prior = np.log(learned.class_weight / learned.class_weight.sum())
        forest_own, gaussian_own = _by_forest(learned, judged, unit), _by_gaussians(gaussian, learned, judged)
        apart = logsumexp(forest_own + log_prior, axis=1) - logsumexp(gaussian_own + log_prior, axis=1)
        ahead, heavy = np.append(ahead, apart), np.append(heavy, (weight * share)[own])
        if _is_clear(ahead, heavy):
            break
    return float(heavy @ ahead) / max(float(heavy.sum()), 1e-300)


def chosen_note(gain: float, forest: ForestJoint | None) -> Note:
    """Return what is to be said of the choice by a gain: a forest, or Gaussians and categories where there is None."""
    if forest is None:
        return Note("joint model: Gaussians and categories", _by(-gain, "a forest"), kind=Kind.CHOSEN)
    what = f"joint model: a forest of {len(_family_stats(forest).columns.forest.density)} trees"
    return Note(what, _by(gain, "Gaussians and categories"), kind=Kind.CHOSEN)


def _is_clear(ahead: Array, weight: Array) -> bool:
    """Return whether the mean of what rows (n,) of these weights say is many standard errors from nothing."""
    share = weight / max(float(weight.sum()), 1e-300)
    mean = float(share @ ahead)
    return abs(mean) > CLEAR * float(np.sqrt(share**2 @ (ahead - mean) ** 2))


def _by(gain: float, than: str) -> str:
    return f"rows left out are likelier by {gain:.3g} nats each than under {than}"


def _folds(sample: Reservoir) -> Iterator[Array]:
    """Yield by fold which share of each row (m,) is judged; equal rows are dealt to several."""
    folds = FOLDS if float(sample.copies.sum()) > FEW else FOLDS_OF_FEW
    parts = np.minimum(sample.copies, folds).astype(np.int64)
    order = np.argsort(sample.codes, kind="stable")
    dealt = np.repeat(order, parts[order])
    place = np.arange(len(dealt)) % folds
    for fold in range(folds):
        yield np.bincount(dealt[place == fold], minlength=len(parts)) / parts


def _lighter(rows: Batch, share: Array) -> Batch:
    """Return the rows with a share of their weight."""
    assert rows.weight is not None
    return rows._replace(weight=rows.weight * share).of_present_classes()


def _by_gaussians(gaussian: Fitted, learned: Batch, judged: Rows) -> Array:
    """Return log densities (m, k) of rows under Gaussians and categories that other rows give."""
    learner = replace(gaussian, statistics=NOTHING, priors=None)
    model = replace(learner, statistics=learner.summarize(learned, 0))
    return model.joint.density.log_density(model.recoded(judged))


def _by_forest(learned: Batch, judged: Rows, unit: float) -> Array:
    """Return log densities (m, k) of rows under a forest that others grow, a weight of 1 being so many rows."""
    assert learned.weight is not None
    table, k, weight = together(learned.rows), len(learned.classes), learned.weight * unit
    frozen = FrozenForest.freeze(table.numbers, table.coded, learned.codes, k, weight, labels=False)
    reading = frozen.read(table.numbers, table.coded)
    stats, new = ForestStats.summarize(reading, learned.codes, k, weight), together(judged)
    return forest_of(stats).density().log_density_of(frozen.read(new.numbers, new.coded).forest)


def _family_stats(forest: ForestJoint) -> MemberStats:
    return cast("MemberStats", forest.statistics.blocks[0])
