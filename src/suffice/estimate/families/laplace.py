"""Laplace columns: numbers with a sharp peak and tails heavier than a Gaussian's; left out by running sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..._arrays import Array, Codes, Flags, np, parallel_map
from ...densities import Laplace
from ...densities.covariance import FLOOR, ROUNDING
from ...errors import SettingError, setting
from ...notes import Kind, Note
from ...stats import ValueStats
from ...stats.values import DISTINCT, LEAST_LIMIT
from ...table import Table
from ..likelihood import pick
from .family import SLACK, Family, Settings, refuse, row_weights, without

FLOOR_SCALE = float(np.sqrt(FLOOR))  # least scale within a class, relative to that within all classes
CANCELLED = 1e-4  # deviations this small beside the way of the median have lost digits in the running sums
FARTHEST = -1e300  # nats: columns of a row can be added up and taken away again


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
    flat: Flags
    once: Flags
    used: Flags


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
    notes = []
    if not used.all():
        why = "the column never varies, so it has no density"
        notes.append(Note("left out", why, columns=pick(names, ~used), kind=Kind.LEFT_OUT))
    for c, label in enumerate(settings.classes):
        none, lone, same = used & (weight[c] == 0), used & once[c], used & flat[c] & ~once[c]
        if none.any() and not none.all():
            what = "took the median of all classes"
            notes.append(Note(what, "no value in the class", label, pick(names, none), kind=Kind.BORROWED))
        if lone.any() and not (weight[c] == 0).all():
            what, why = "took the spread of all classes", "at most one value in the class"
            notes.append(Note(what, why, label, pick(names, lone), kind=Kind.BORROWED))
        if same.any():
            why = "no variation within the class; the amount is relative to the scale in all classes"
            notes.append(Note("raised the scale", why, label, pick(names, same), FLOOR_SCALE, kind=Kind.FLOORED))
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


def leave_values_out(rows: Array, stats: ValueStats, codes: Codes, weight: Array | None, settings: Settings) -> Array:
    """Return the Laplace log density of every row under every class without that row, (n, k) in nats."""
    w = row_weights(codes, weight)
    k, d = stats.width.shape
    score = np.zeros((len(codes), k))
    middles = stats.middles()

    def column(j: int) -> Array:
        return _column(j, rows[:, j], stats, middles, codes, w, settings)

    for part in parallel_map(column, range(d), cost=100.0 * score.size * d):
        score += part
    return score


def _column(j: int, x: Array, stats: ValueStats, middles: Array, codes: Codes, w: Array, settings: Settings) -> Array:
    """Return what column j adds to the log densities (n, k); a missing cell adds nothing."""
    k, d = stats.width.shape
    score = np.zeros((len(x), k))
    present = np.flatnonzero(~np.isnan(x))
    if not len(present):
        return score
    x, code, w = x[present].astype(np.float64), codes[present], w[present]
    entry = np.full(len(x), -1, dtype=np.int64)
    for c in np.unique(code):
        entry[code == c] = stats.find(int(c) * d + j, x[code == c])
    lacking = np.flatnonzero((entry < 0) | (w > np.append(stats.weights, 0.0)[entry] * (1.0 + SLACK)))
    if len(lacking):
        row = int(present[lacking[0]])
        raise refuse(settings, row, int(codes[row]), j, "its value occurs too seldom in the class")
    first, again = _alike(entry, w, len(stats.weights))
    location, scale, used = _without_each(j, stats, middles, entry[first], code[first], w[first])
    with np.errstate(over="ignore"):  # far beyond all floats from a class of next to no spread
        terms = -np.abs(x[:, None] - location[again]) / scale[again] - np.log(2.0 * scale[again])
    terms = np.maximum(terms, FARTHEST)
    score[present] = np.where(used[again][:, None], terms, 0.0)
    return score


def _alike(entry: Codes, w: Array, entries: int) -> tuple[Codes, Codes]:
    """Return a row for each different pair of an entry and a weight, and which of these every row is like."""
    if (w == w[0]).all():
        number = np.full(entries, -1)
        number[entry] = np.arange(len(entry))
        present = number >= 0
        return number[present], (np.cumsum(present) - 1)[entry]
    _, first, again = np.unique(np.stack([entry, w], axis=1), axis=0, return_index=True, return_inverse=True)
    return first, again.ravel()


def _without_each(
    j: int, stats: ValueStats, middles: Array, entry: Codes, code: Codes, w: Array
) -> tuple[Array, Array, Flags]:
    """Return locations and scales (e, k) of column j without weight w of one entry each, and whether it varies (e,)."""
    k, d = stats.width.shape
    location, away, weight = (np.zeros((k, len(entry))) for _ in range(3))
    runs = [slice(int(stats.bounds[c * d + j]), int(stats.bounds[c * d + j + 1])) for c in range(k)]
    for c, run in enumerate(runs):
        own, mine = _Values(middles[run], stats.weights[run]), code == c
        location[c], away[c], weight[c] = own.median, own.away, own.total
        if mine.any():
            location[c, mine], away[c, mine] = own.without(entry[mine] - run.start, w[mine])
            weight[c, mine] = without(own.total, w[mine])
    number = np.concatenate([np.arange(run.start, run.stop) for run in runs])  # entries of the column, in order
    order = np.argsort(middles[number], kind="stable")
    place = np.argsort(order, kind="stable")[np.searchsorted(number, entry)]
    everyone, total = _Values(middles[number][order], stats.weights[number][order]).without(place, w)
    location = np.where(weight > 0, location, everyone)
    mended = mend_scales(location, away, total, weight)
    return location.T, mended.scale.T, mended.used


class _Values:
    """Sorted values (m,) and their weights, with running sums from either end.

    Sums are taken about the median, and never past the value that is taken out: what an outlier adds cannot be
    subtracted again without losing digits.
    """

    def __init__(self, x: Array, weight: Array) -> None:
        self.x, self.weight = x, weight
        self.below = np.cumsum(weight)
        self.total = float(self.below[-1]) if len(x) else 0.0
        self.median = 0.0
        self.u = x
        if len(x):
            self.median = float(self._split(np.array([len(x)]), np.zeros(1), np.array([self.total]))[0])
            self.u = x - self.median
        self.less = np.concatenate([[0.0], self.below])
        self.left = np.concatenate([[0.0], np.cumsum(weight * self.u)])
        self.right = np.concatenate([np.cumsum((weight * self.u)[::-1])[::-1], [0.0]])
        self.away = float((weight * np.abs(self.u)).sum())

    def without(self, place: Codes, w: Array) -> tuple[Array, Array]:
        """Return the median and the sum of absolute deviations about it without weight w of the entry at `place`.

        Both are 0 where nothing is left.
        """
        rest = without(self.total, w)
        median = np.where(rest > 0, self._split(place, w, rest), 0.0)
        at, shift = np.searchsorted(self.x, median, side="right"), median - self.median
        a, b = np.minimum(at, place), np.maximum(at, place + 1)
        near = self._sum(self.left, place, a) - shift * self._sum(self.less, place, a)
        near += shift * self.less[a] - self.left[a]
        far = shift * self._sum(self.less, b, place + 1) - (self.right[place + 1] - self.right[b])
        far += self.right[b] - shift * self._sum(self.less, len(self.x), b)
        left_over = without(self.weight[place], w) * np.abs(self.u[place] - shift)
        away = near + far + left_over
        for i in np.flatnonzero(away < CANCELLED * np.abs(shift) * rest):  # the median was far away: few values do that
            weight = self.weight.copy()
            weight[place[i]] = without(weight[place[i]], w[i])
            away[i] = weight @ np.abs(self.x - median[i])
        return median, away

    @staticmethod
    def _sum(running: Array, stop: Codes | int, start: Codes) -> Array:
        return np.asarray(running[stop] - running[start])

    def _split(self, place: Codes, w: Array, rest: Array) -> Array:
        """Return the middle of the interval that splits what is left in halves, as `_location` finds medians."""
        half, slack = 0.5 * rest, 1e-12 * rest
        last = np.where(
            (place == len(self.x) - 1) & (without(self.weight[-1], w) == 0), len(self.x) - 2, len(self.x) - 1
        )
        low = self._first(half - slack, place, w)
        high = np.minimum(self._first(half + slack, place, w), last)
        a, b = self.x[np.minimum(low, last)], self.x[high]
        return np.where(a == b, a, a + 0.5 * (b - a))

    def _first(self, target: Array, place: Codes, w: Array) -> Codes:
        """Return the first entry up to which at least `target` of the weight lies, w of the entry at `place` gone."""
        before = np.searchsorted(self.below, target)
        after = np.maximum(np.searchsorted(self.below, target + w), place)
        return np.where(before < place, before, after)


@dataclass(frozen=True, slots=True)
class LaplaceFamily(Family):
    """Independent Laplace columns by maximum likelihood.

    The location is the weighted median (the middle of the interval where several serve), the scale the mean absolute
    deviation about it. Both are exact while a class has at most `distinct` different values in a column; beyond that
    values are rounded to a grid, and a note states by how much (see `stats.values`).
    """

    name: str = "laplace"
    distinct: int = DISTINCT

    def __post_init__(self) -> None:
        limit: object = self.distinct
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < LEAST_LIMIT:
            raise SettingError(
                f"{setting('distinct', limit)} must be an integer of at least {LEAST_LIMIT}. Next: 10_000 is the usual "
                "choice."
            )

    @property
    def support(self) -> str:
        return "reals"

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return table.numeric(positions)

    def zero(self, k: int, columns: int) -> ValueStats:
        return ValueStats.zero(k, columns, self.distinct)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ValueStats:
        return ValueStats.summarize(rows, codes, k, weight, self.distinct)

    def estimate(self, stats: ValueStats, settings: Settings) -> tuple[Laplace, list[Note]]:
        return fit_laplace(stats, settings)

    def leave_one_out(
        self, rows: Array, stats: ValueStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array:
        """Return the log density of every row under every class without that row, (n, k) in nats.

        Medians and deviations without a value are read off running sums, once for each distinct value and weight of a
        class. Where the statistics hold rounded values (see `stats.values`), the row's rounded value is taken out.
        """
        return leave_values_out(rows, stats, codes, weight, settings)
