"""Laplace densities from value counts: weighted medians and mean absolute deviations."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ..._arrays import Array, Codes, NDArray, np
from ...densities import Laplace
from ...densities.regularize import FLOOR, ROUNDING
from ...notes import Kind, Note
from ...stats import ValueStats
from .family import Settings

FLOOR_SCALE = float(np.sqrt(FLOOR))  # least scale within a class, relative to that within all classes


def fit_laplace(stats: ValueStats, settings: Settings) -> tuple[Laplace, list[Note]]:
    """Return the density of largest likelihood, and a note for each location and scale that had to be mended.

    A class without a value in a column takes the median of all classes; one with at most one takes the spread of all
    classes; one whose values never vary gets `FLOOR_SCALE` of that; a column that never varies is left out.
    """
    k, d = stats.width.shape
    x, w, weight = stats.middles(), stats.weights, stats.column_weight()
    everyone = _column_medians(stats, x)
    location = _medians(x, w, stats.bounds).reshape(k, d)
    location = np.where(weight > 0, location, everyone)
    away = _sums(stats, w * np.abs(x - location.ravel()[stats.cells]))
    total = _sums(stats, w * np.abs(x - np.tile(everyone, k)[stats.cells])).sum(axis=0)
    mended = mend_scales(location, away, total, weight)
    used = tuple(np.flatnonzero(mended.used).tolist())
    return Laplace(location, mended.scale, used), _notes(stats, settings, mended, weight)


class Mended(NamedTuple):
    """Scales (k, d) usable as they are: `flat` where there was no spread, `once` where there was at most one value.

    `used` (d,) says whether a column varies at all.
    """

    scale: Array
    flat: NDArray[np.bool_]
    once: NDArray[np.bool_]
    used: NDArray[np.bool_]


def mend_scales(location: Array, away: Array, total: Array, weight: Array) -> Mended:
    """Return scales from sums of absolute deviations `away` (k, d) about `location`, mended where they vanish.

    `total` (d,) are the sums about the median of all classes, `weight` (k, d) those of the observed cells.
    """
    rows = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    rounding = ROUNDING * np.abs(location).max(axis=0, initial=0.0)
    used = total / rows > rounding
    pooled = away.sum(axis=0) / rows
    reference = np.where(used, np.where(pooled <= rounding, total / rows, pooled), 1.0)
    scale = away / np.where(weight > 0, weight, 1.0)
    flat = (scale <= rounding) | (scale < FLOOR_SCALE * reference)
    once = flat & (weight <= 1.0)
    scale = np.where(once, reference, np.where(flat, FLOOR_SCALE * reference, scale))
    return Mended(scale, flat, once, used)


def _notes(stats: ValueStats, settings: Settings, mended: Mended, weight: Array) -> list[Note]:
    names, used, flat, once = settings.columns, mended.used, mended.flat, mended.once

    def pick(chosen: NDArray[np.bool_]) -> tuple[str | int, ...]:
        return tuple(names[int(j)] for j in np.flatnonzero(chosen))

    notes = []
    if not used.all():
        why = "the column never varies, so it has no density"
        notes.append(Note("left out", why, columns=pick(~used), kind=Kind.LEFT_OUT))
    for c, label in enumerate(settings.classes):
        none, lone, same = used & (weight[c] == 0), used & once[c], used & flat[c] & ~once[c]
        if none.any() and not none.all():
            what = "took the median of all classes"
            notes.append(Note(what, "no value in the class", label, pick(none), kind=Kind.BORROWED))
        if lone.any() and not (weight[c] == 0).all():
            what, why = "took the spread of all classes", "at most one value in the class"
            notes.append(Note(what, why, label, pick(lone), kind=Kind.BORROWED))
        if same.any():
            why = "no variation within the class; the amount is relative to the scale in all classes"
            notes.append(Note("raised the scale", why, label, pick(same), FLOOR_SCALE, kind=Kind.FLOORED))
        for j in np.flatnonzero(stats.width[c]):
            why = f"more than {stats.limit} distinct values in the class; the amount is the largest error of a value"
            amount = float(0.5 * stats.width[c, j])
            notes.append(Note("rounded the values", why, label, (names[int(j)],), amount, kind=Kind.ROUNDED))
    return notes


def _sums(stats: ValueStats, amounts: Array) -> Array:
    """Return the sums of the entries' amounts by class and column (k, d)."""
    sums = np.bincount(stats.cells, weights=amounts, minlength=stats.width.size)
    return np.asarray(sums, dtype=np.float64).reshape(stats.width.shape)


def _column_medians(stats: ValueStats, x: Array) -> Array:
    """Return the weighted median of each column over all classes (d,)."""
    d = stats.width.shape[1]
    column = stats.cells % max(d, 1)
    order = np.lexsort((x, column))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=d))])
    return _medians(x[order], stats.weights[order], bounds)


def _medians(x: Array, weight: Array, bounds: Codes) -> Array:
    """Return the weighted median of each run of sorted values; 0 for an empty one.

    Where a whole interval splits the weight in halves, its middle.
    """
    medians = np.zeros(len(bounds) - 1)
    for i, (start, stop) in enumerate(pairwise(bounds)):
        if stop > start:
            below = np.cumsum(weight[start:stop])
            half, slack = 0.5 * below[-1], 1e-12 * below[-1]
            low, high = np.searchsorted(below, [half - slack, half + slack])
            a, b = x[start + low], x[start + min(high, stop - start - 1)]
            medians[i] = a if a == b else a + 0.5 * (b - a)
    return medians
