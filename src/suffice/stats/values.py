"""How often each value occurs, by class and column: sufficient for anything, the weighted median above all.

The counts are exact while a class has at most `limit` distinct values in a column. Beyond that its values are rounded
down to multiples of a width h, the smallest power of two that leaves at most `limit` of them; each value is then known
to within h, and its middle x + h/2 to within h/2. For values spread over a range r with no far outliers h is at most
2 r / limit. Multiples of 2h are multiples of h and rounding twice is rounding once, so this sketch merges exactly: the
statistics of parts, merged in any order, are those of the whole. (A grid that coarsens when it is full, as in the
uniform collapse of UDDSketch, Epicoco et al. 2020, doi:10.1109/ACCESS.2020.3015599, with equal widths.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map
from ..errors import NotLearnedError
from ._downdate import DUST, faded
from .statistic import Fields, Plain, Statistic, amounts, codes as codes_below, floats, in_range

DISTINCT = 10_000  # 160 kB per class and column


@dataclass(frozen=True, slots=True)
class ValueStats(Statistic):
    """Distinct values and their weights, sorted within each class and column; missing cells (NaN) leave no trace.

    Cell c·d + j holds entries bounds[c·d + j] to bounds[c·d + j + 1] of `values` and `weights` (m,). `width` (k, d)
    is how coarsely they are rounded down, 0 for exactly as they came.
    """

    values: Array
    weights: Array
    bounds: Codes
    width: Array
    limit: int = DISTINCT

    @classmethod
    def zero(cls, k: int, d: int, limit: int = DISTINCT) -> Self:
        return cls(np.zeros(0), np.zeros(0), np.zeros(k * d + 1, dtype=np.int64), np.zeros((k, d)), limit)

    @classmethod
    def summarize(
        cls, rows: Array, codes: Codes | None = None, k: int = 1, weight: Array | None = None, limit: int = DISTINCT
    ) -> Self:
        """Return the counts of a batch (n, d), NaN where missing; `codes` (n,) class numbers, `weight` (n,) weights."""
        n, d = rows.shape
        codes = np.zeros(n, dtype=np.int64) if codes is None else codes
        weight = np.ones(n) if weight is None else weight

        def column(j: int) -> tuple[Codes, Array, Array]:
            x = rows[:, j].astype(np.float64) + 0.0  # no −0, which would be a value of its own
            present = np.flatnonzero(~np.isnan(x) & (weight > 0))
            x, own = x[present], codes[present]
            order = np.lexsort((x, own))
            cells = own[order].astype(np.int64) * d + j
            return _unite(cells, x[order], weight[present][order])

        parts = list(parallel_map(column, range(d), cost=30.0 * n * d))
        cells = np.concatenate([own for own, _, _ in parts] or [np.zeros(0, dtype=np.int64)])
        values = np.concatenate([own for _, own, _ in parts] or [np.zeros(0)])
        weights = np.concatenate([own for _, _, own in parts] or [np.zeros(0)])
        order = np.argsort(cells, kind="stable")
        return cls._within_limit(cells[order], values[order], weights[order], np.zeros((k, d)), limit)

    @classmethod
    def _within_limit(cls, cells: Codes, values: Array, weights: Array, width: Array, limit: int) -> Self:
        """Return statistics of sorted entries, those of crowded cells rounded to the least width that serves."""
        width = width.copy()
        counts = np.bincount(cells, minlength=width.size)
        crowded = np.flatnonzero(counts > limit)
        if len(crowded):
            values = values.copy()
            ends = np.cumsum(counts)
            for cell in crowded:
                part = slice(ends[cell] - counts[cell], ends[cell])
                exponent = _least_exponent(values[part], limit)
                values[part] = _round_down(values[part], exponent)
                width.flat[cell] = np.ldexp(1.0, exponent)
            cells, values, weights = _unite(cells, values, weights)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=width.size))])
        return cls(values, weights, bounds.astype(np.int64), width, limit)

    @property
    def cells(self) -> Codes:
        """The cell c·d + j of each entry (m,)."""
        return np.repeat(np.arange(self.width.size), np.diff(self.bounds))

    @property
    def is_rounded(self) -> bool:
        return bool(self.width.any())

    def middles(self) -> Array:
        """Return each entry's value (m,), the middle of its interval where values are rounded."""
        return self.values + 0.5 * self.width.ravel()[self.cells]

    def find(self, cell: int, values: Array) -> Codes:
        """Return the number of the entry that holds each of these values in a cell, −1 for none."""
        start, stop = int(self.bounds[cell]), int(self.bounds[cell + 1])
        width = self.width.flat[cell]
        sought = _round_down(values, int(np.frexp(width)[1]) - 1) if width else values + 0.0
        place = start + np.searchsorted(self.values[start:stop], sought)
        found = place < stop
        found[found] = self.values[place[found]] == sought[found]
        return np.where(found, place, -1)

    def merge(self, other: Self) -> Self:
        """Return the counts over the rows of both, at the coarser width of the two, or coarser if need be."""
        width = np.maximum(self.width, other.width)
        a, b = self._rounded(width), other._rounded(width)
        cells, values, weights = (np.concatenate(pair) for pair in zip(a, b, strict=True))
        order = np.lexsort((values, cells))
        united = _unite(cells[order], values[order], weights[order])
        return self._within_limit(*united, width, min(self.limit, other.limit))

    def _rounded(self, width: Array) -> tuple[Codes, Array, Array]:
        """Return the entries with the values of each cell rounded down to multiples of a larger width."""
        values = self.values
        for cell in np.flatnonzero((width != self.width).ravel()):
            part = slice(self.bounds[cell], self.bounds[cell + 1])
            values = values.copy() if values is self.values else values
            values[part] = _round_down(values[part], int(np.frexp(width.flat[cell])[1]) - 1)
        return self.cells, values, self.weights

    def subtract(self, other: Self) -> Self:
        """Return the counts over the rows left without those of `other`; NotLearnedError for a value never counted.

        Values that were rounded stay so: the result is the rest's counts on the grid of this side, finer ones being
        lost, until a class has no value left in a column. Rows to subtract are rounded to that grid first.
        """
        coarse = np.argwhere(other.width > self.width)
        if len(coarse):
            code, column = coarse[0].tolist()
            raise NotLearnedError("they have more distinct values than were learned", code, [column])
        pairs = zip((self.cells, self.values), other._rounded(self.width)[:2], strict=True)
        cells, values = (np.concatenate(pair) for pair in pairs)
        order = np.lexsort((values, cells))
        none = np.zeros(len(self.values)), np.zeros(len(other.values))
        had = _unite(cells[order], values[order], np.concatenate([self.weights, none[1]])[order])
        taken = _unite(cells[order], values[order], np.concatenate([none[0], other.weights])[order])[2]
        left = had[2] - taken
        short = np.flatnonzero(left < -DUST * had[2])
        if len(short):
            code, column = divmod(int(had[0][short[0]]), self.width.shape[1])
            value, asked, there = (float(part[short[0]]) for part in (had[1], taken, had[2]))
            why = f"they hold the value {value:g} with a weight of {asked:g} where {there:g} was learned"
            raise NotLearnedError(why, code, [column])
        return self._kept(had[0], had[1], left, left > DUST * had[2])

    def _kept(self, cells: Codes, values: Array, weights: Array, kept: Flags) -> Self:
        """Return statistics of some of these sorted entries; a cell without any is not rounded any more."""
        counts = np.bincount(cells[kept], minlength=self.width.size)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        width = np.where(counts.reshape(self.width.shape) > 0, self.width, 0.0)
        return type(self)(values[kept], weights[kept], bounds, width, self.limit)

    def scale(self, factor: float) -> Self:
        weights = faded(self.weights, factor)
        if weights.all():
            return type(self)(self.values, weights, self.bounds, self.width, self.limit)
        return self._kept(self.cells, self.values, weights, weights > 0)

    def regroup(self, index: Codes, k: int) -> Self:
        d = self.width.shape[1]
        kept = index >= 0
        width = np.zeros((k, d))
        np.maximum.at(width, index[kept], self.width[kept])
        coarser = self.width.copy()
        coarser[kept] = width[index[kept]]
        cells, values, weights = self._rounded(coarser)
        target = index[cells // max(d, 1)]
        cells = target * d + cells % max(d, 1)
        order = np.lexsort((values, cells))
        order = order[target[order] >= 0]
        return self._within_limit(*_unite(cells[order], values[order], weights[order]), width, self.limit)

    def place(self, index: Sequence[int], k: int) -> Self:
        d = self.width.shape[1]
        width = np.zeros((k, d))
        width[list(index)] = self.width
        cells = np.asarray(index, dtype=np.int64)[self.cells // max(d, 1)] * d + self.cells % max(d, 1)
        order = np.argsort(cells, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=k * d))]).astype(np.int64)
        return type(self)(self.values[order], self.weights[order], bounds, width, self.limit)

    def column_weight(self) -> Array:
        sums = np.bincount(self.cells, weights=self.weights, minlength=self.width.size)
        return np.asarray(sums, dtype=np.float64).reshape(self.width.shape)

    def arrays(self) -> tuple[Fields, Plain]:
        fields: Fields = {"values": self.values, "weights": self.weights, "bounds": self.bounds, "width": self.width}
        return fields, {"limit": self.limit}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        values, width, limit = floats(fields["values"], None), amounts(fields["width"], None, None), plain["limit"]
        weights = amounts(fields["weights"], len(values))
        bounds = codes_below(fields["bounds"], len(values) + 1, width.size + 1)
        if type(limit) is not int or not LEAST_LIMIT <= limit <= MOST_LIMIT:
            raise ValueError("limit of value counts")
        in_range(values, weights)
        if bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any() or (weights <= 0).any():
            raise ValueError("bounds or weights of value counts")
        stats = cls(values, weights, bounds, width, limit)
        same = np.diff(stats.cells) == 0
        powers = width[width != 0]
        if (np.diff(values)[same] <= 0).any() or (np.frexp(powers)[0] != 0.5).any():
            raise ValueError("order or width of value counts")
        return stats


LEAST_LIMIT = 16
MOST_LIMIT = 1 << 31


def _unite(cells: Codes, values: Array, weights: Array) -> tuple[Codes, Array, Array]:
    """Return sorted entries with the weights of equal values of a cell added up."""
    if not len(values):
        return cells.astype(np.int64), values, weights.astype(np.float64)
    first = np.concatenate([[True], (np.diff(cells) != 0) | (np.diff(values) != 0)])
    starts = np.flatnonzero(first)
    return cells[starts].astype(np.int64), values[starts], np.add.reduceat(weights.astype(np.float64), starts)


def _round_down(values: Array, exponent: int) -> Array:
    """Return values rounded down to multiples of 2 to the `exponent`, exactly."""
    large = np.abs(values) >= np.ldexp(1.0, min(exponent + 53, 1023))  # such floats are multiples already
    scaled = np.ldexp(np.where(large, 0.0, values), -exponent)
    vanished = (scaled == 0.0) & (values < 0.0) & ~large  # too small to scale, and still below 0
    return np.where(large, values, np.ldexp(np.floor(scaled) - vanished, exponent)) + 0.0


def _least_exponent(values: Array, limit: int) -> int:
    """Return the least e for which multiples of 2^e leave at most `limit` of these sorted values distinct."""

    def fits(exponent: int) -> bool:
        return int(np.count_nonzero(np.diff(_round_down(values, exponent)))) < limit

    half_range = 0.5 * values[-1] - 0.5 * values[0]
    high = int(np.frexp(half_range / (limit - 2))[1]) + 1
    step = 1
    while fits(high - step):
        high, step = high - step, 2 * step
    low = high - step  # does not fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
