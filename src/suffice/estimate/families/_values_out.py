"""Leave-one-out for Laplace columns by running sums."""

from __future__ import annotations

from ..._arrays import Array, Codes, NDArray, np, parallel_map
from ...stats import ValueStats
from ._location import mend_scales
from ._removal import SLACK, refuse, row_weights, without
from .family import Settings

CANCELLED = 1e-4  # deviations this small beside the way of the median have lost digits in the running sums
FARTHEST = -1e300  # nats: columns of a row can be added up and taken away again


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
) -> tuple[Array, Array, NDArray[np.bool_]]:
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
