"""Columns cut into cells, frozen once from a sample of rows.

A number's cells are its values where these are few; otherwise quantile intervals, and every value that is repeated as
often as an interval is filled has a cell of its own. Each cell has a place among the normal scores of its column, so
that no answer depends on units. A category's cells are its levels, and one more for a level that was never seen, which
the rarest share with it where there are very many. Levels with rows enough to tell stand in an order in which
neighbours have alike classes, before all others. Those that a single row shows come last: trees are grown as if they
had never been seen, and so learn what to do with new levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from .._arrays import Array, Codes, Flags, NDArray, cross_sums, ndtri, np, row_chunks, rows_within, xlogy
from ..kernels.columns import Knots
from ..schema import Level
from ..stats.counts import CodedColumns
from ..stats.rows import FEWEST, Keys, Units, mixed
from ..stats.statistic import Fields, Plain, codes as codes_below, floats, in_range, levels as levels_of
from ..table import recode

MOST_CELLS, FEWEST_CELLS = 200, 20  # of a number
CELL_ROWS = 8.0  # distinct ones in each, where rows are few
MOST_LEVELS = 2**15 - 2  # with cells of their own: numbers of cells have 16 bits
MISSING = -1
PSEUDO = 0.5  # pseudo-count of each level, and of one that was never seen
TOLD = 0.02  # nats of log-loss, at most, that an order of levels may tell of its labels, where classes are as common
FAR = 8.0  # normal scores beyond which no cell has its middle

Cells = NDArray[np.int16]  # (n, d): numbers of cells, −1 where missing


@dataclass(frozen=True)
class NumberCells:
    """The cells of one number: ascending `cuts` (B − 1,) between them, the `low`est and the highest value seen in each
    and their `mean` (B,), and the `share` of the rows in each (B,).
    """

    cuts: Array
    low: Array
    high: Array
    mean: Array
    share: Array

    @classmethod
    def freeze(cls, x: Array, weight: Array) -> Self:
        """Return the cells of the observed values (n,) of these weights."""
        values, group = np.unique(x, return_inverse=True)
        if not len(values):
            return cls(np.zeros(0), np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1))
        held = np.bincount(group, weights=weight)
        total = held.sum()
        most = int(np.clip(len(x) / CELL_ROWS, FEWEST_CELLS, MOST_CELLS))  # however much they weigh
        if len(values) > most:
            place = np.floor((np.cumsum(held) - 0.5 * held) / total * most)
            often = held * most >= total
            begins = (np.diff(place) > 0) | often[1:] | often[:-1]
        else:
            begins = np.ones(len(values) - 1, dtype=np.bool_)
        first = np.concatenate([[0], np.flatnonzero(begins) + 1])
        last = np.append(first[1:] - 1, len(values) - 1)
        inside = np.add.reduceat(held, first)
        low, high = values[first], values[last]
        cuts = 0.5 * low[1:] + 0.5 * high[:-1]
        mean = np.clip(np.add.reduceat(held * values, first) / inside, low, high)
        return cls(np.maximum(cuts, np.nextafter(high[:-1], np.inf)), low, high, mean, inside / total)

    @cached_property
    def edges(self) -> Array:
        """The normal scores between cells (B + 1,): ±∞ at the ends."""
        return np.asarray(ndtri(np.concatenate([[0.0], np.minimum(np.cumsum(self.share[:-1]), 1.0), [1.0]])))

    @cached_property
    def middle(self) -> Array:
        """The normal score in the middle of each cell's share (B,)."""
        return np.clip(ndtri(np.clip(np.cumsum(self.share) - 0.5 * self.share, 0.0, 1.0)), -FAR, FAR)

    @cached_property
    def bounds(self) -> Array:
        """Where cells end, in the column's units (B + 1,): the outer ones as far from the values as the inner."""
        if not len(self.cuts):
            size = max(float(self.high[0] - self.low[0]), abs(float(self.low[0])) * 1e-6, 1e-300)
            return np.array([self.low[0] - 0.5 * size, self.high[0] + 0.5 * size])
        low = self.low[0] - max(self.cuts[0] - self.high[0], 1e-300)
        high = self.high[-1] + max(self.low[-1] - self.cuts[-1], 1e-300)
        return np.concatenate([[low], self.cuts, [high]])

    @cached_property
    def log_width(self) -> Array:
        """The log width of each cell (B,)."""
        return np.asarray(np.log(np.maximum(np.diff(self.bounds), 1e-300)))

    def inside(self, low: float, high: float) -> Array:
        """Return how much of each cell (B,), as numbers are drawn from it, lies between two ends."""
        begin, end, wide = np.maximum(self.low, low), np.minimum(self.high, high), self.high > self.low
        width = np.where(wide, self.high - self.low, 1.0)
        return np.where(wide, np.maximum(end - begin, 0.0) / width, end >= begin)

    def log_within(self, x: Array, cells: Cells, tail: float) -> Array:
        """Return the log density (n,) of numbers within their cells: even, but for `tail` of what the end cells hold.

        That share goes on beyond the outer bounds, falling off by e for each tenth of the range. A column of one value
        has no density, and adds nothing.
        """
        if len(self.low) == 1 and self.low[0] == self.high[0]:
            return np.zeros(len(x))
        bounds = self.bounds
        fall = max(0.1 * float(bounds[-1] - bounds[0]), 1e-300)
        beyond = np.maximum(np.maximum(bounds[0] - x, x - bounds[-1]), 0.0)
        inside = -self.log_width[cells]
        ends = (cells == 0) | (cells == len(self.low) - 1)
        inside = np.where(ends, inside + np.log1p(-tail), inside)
        return np.where(beyond > 0, np.log(tail) - np.log(fall) - beyond / fall, inside)


@dataclass(frozen=True, eq=False)
class ForestColumns:
    """The cells of every column, numbers first: `numbers`, the levels (`vocabulary`) of each category, the cell of each
    level (`order`), the share of each cell, the last that of levels never seen and of the rarest (`shares`), and how
    many levels more than one row shows (`repeated`), which come before the others.

    `rows` is the weight of the rows that froze them, counted as rows.
    """

    numbers: tuple[NumberCells, ...]
    vocabulary: tuple[tuple[Level, ...], ...]
    order: tuple[Codes, ...]
    shares: tuple[Array, ...]
    rows: float
    repeated: tuple[int, ...]

    @classmethod
    def freeze(
        cls, numbers: Array, coded: CodedColumns, codes: Codes, k: int, weight: Array, units: Units | None = None
    ) -> Self:
        """Return the cells that a sample of rows (n,) of `k` classes gives; `units` say which leave together."""
        units = Units.each(len(codes)) if units is None else units
        cells = []
        for x in numbers.T:
            seen = ~np.isnan(x)
            cells.append(NumberCells.freeze(x[seen], weight[seen]))
        order, shares, repeated = [], [], []
        share = np.bincount(codes, weights=weight, minlength=k) / weight.sum()
        told = -TOLD * float(xlogy(share, share).sum()) / np.log(k) if k > 1 else TOLD
        most = 1.0 + 2.0 * told * float(weight.sum()) / (max(k - 1, 1) * max(len(coded.levels), 1))
        for levels, column in zip(coded.levels, coded.codes, strict=True):
            seen = column >= 0
            held = cross_sums(codes[seen], column[seen], (k, len(levels)), weight[seen])
            alone = units.showing(column, len(levels)) < FEWEST
            order.append(np.minimum(_ordered(held, most, alone), MOST_LEVELS))
            repeated.append(min(int((~alone).sum()), MOST_LEVELS))
            size = min(len(levels), MOST_LEVELS) + 1
            counts = np.bincount(order[-1], weights=held.sum(axis=0), minlength=size)
            shares.append((counts + PSEUDO) / (counts + PSEUDO).sum())
        return cls(
            tuple(cells),
            tuple(map(tuple, coded.levels)),
            tuple(order),
            tuple(shares),
            float(weight.sum()),
            tuple(repeated),
        )

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.numbers) + len(self.vocabulary)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column."""
        return (*(len(own.low) for own in self.numbers), *(len(own) for own in self.shares))

    @property
    def tail(self) -> float:
        """The share of an end cell that goes on beyond the range seen: that of one row more."""
        return 1.0 / (self.rows + 2.0)

    @cached_property
    def _cuts(self) -> Knots:
        """The cuts of all numbers."""
        return Knots.of([own.cuts for own in self.numbers])

    @cached_property
    def edges(self) -> tuple[Array, Codes]:
        """The normal scores between the cells of all numbers, one column after the other, and where each begins."""
        found = [own.edges for own in self.numbers]
        begin = np.cumsum([0, *map(len, found)])[:-1]
        return np.concatenate([np.zeros(0), *found]), begin

    def share(self, j: int) -> Array:
        """Return the share of the rows in each cell of a column."""
        return self.numbers[j].share if j < len(self.numbers) else self.shares[j - len(self.numbers)]

    def read(self, numbers: Array, coded: CodedColumns) -> ForestReading:
        """Return rows of a table as these columns read them."""
        return self.reading(np.asarray(numbers, dtype=np.float64), levels_within(coded, self.vocabulary))

    def reading(self, numbers: Array, levels: Sequence[Codes]) -> ForestReading:
        """Return rows whose level numbers are those of the vocabulary, −1 where missing and one more where unknown."""
        cells = np.empty((len(numbers), self.d), dtype=np.int16)
        self._cuts.cells(numbers, cells)
        for j, (column, order) in enumerate(zip(levels, self.order, strict=True), start=len(self.numbers)):
            cells[:, j] = np.append(order, [self.sizes[j] - 1, MISSING])[column]
        return ForestReading(numbers, cells, self)

    def with_unseen(self, cells: Cells, unseen: Flags | None) -> Cells:
        """Return the cells (n, d), some levels (n, categories) read as one never seen."""
        if unseen is None:
            return cells
        found = cells.copy()
        for j, own in enumerate(unseen.T, start=len(self.numbers)):
            found[own, j] = self.sizes[j] - 1
        return found

    def of_values(self, rows: Array) -> ForestReading:
        """Return rows (n, d) of numbers and of level numbers as floats, NaN where missing."""
        numbers = len(self.numbers)
        levels = [np.where(np.isnan(column), -1.0, column).astype(np.int64) for column in rows[:, numbers:].T]
        return self.reading(np.asarray(rows[:, :numbers], dtype=np.float64), levels)

    def decoded(self, cells: NDArray[np.generic], j: int) -> Array:
        """Return level numbers, as floats, from cells (n,) of category j, counted after the numbers; NaN if missing."""
        order, size = self.order[j], len(self.shares[j])
        table = np.append(np.full(size, float(len(order))), np.nan)
        table[order[::-1]] = np.arange(len(order))[::-1]  # of levels that share a cell the first
        return np.asarray(table[cells])

    def levels_in(self, j: int) -> Array:
        """Return how many levels each cell of category j stands for, counted after the numbers: 1, but for the last."""
        return np.bincount(self.order[j], minlength=len(self.shares[j])).astype(np.float64)

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        fields: Fields = {}
        for j, own in enumerate(self.numbers):
            fields |= {f"{name}{j}": values for name, values in vars(own).items() if name in NumberCells.__match_args__}
        for j, (order, share) in enumerate(zip(self.order, self.shares, strict=True)):
            fields |= {f"order{j}": order.astype(np.int64), f"levels{j}": share}
        vocabulary = [list(known) for known in self.vocabulary]
        plain: Plain = {"numbers": len(self.numbers), "vocabulary": vocabulary, "rows": self.rows}
        return fields, plain | {"repeated": list(self.repeated)}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        """Return the columns written by `arrays`; ValueError if the parts do not fit together."""
        names = NumberCells.__match_args__
        numbers = tuple(NumberCells(*(fields[f"{name}{j}"] for name in names)) for j in range(int(plain["numbers"])))
        vocabulary = tuple(map(levels_of, plain["vocabulary"]))
        cells = [min(len(known), MOST_LEVELS) for known in vocabulary]
        order = tuple(codes_below(fields[f"order{j}"], MOST_LEVELS + 1, len(own)) for j, own in enumerate(vocabulary))
        shares = tuple(floats(fields[f"levels{j}"], size + 1) for j, size in enumerate(cells))
        rows = float(plain["rows"])
        repeated = tuple(int(count) for count in plain.get("repeated", cells))  # older files do not tell them apart
        for own in numbers:
            size = len(floats(own.low, None))
            ends = [floats(values, size) for values in (own.low, own.mean, own.high, own.share)]
            steps = np.diff(np.concatenate([[own.low[0]], floats(own.cuts, size - 1), [own.high[-1]]]))
            if not size or (own.share <= 0).any() or (steps < 0).any() or (ends[0] > ends[2]).any():
                raise ValueError("cells of the forest")
            in_range(np.stack(ends), np.ones(4))
        sorts = [np.sort(own) for own in order]
        permuted = all((own == np.minimum(np.arange(len(own)), MOST_LEVELS)).all() for own in sorts)
        if not permuted or any((own <= 0).any() for own in shares) or not 0.0 <= rows < np.inf:
            raise ValueError("cells of the forest")
        if not all(0 <= count <= size for count, size in zip(repeated, cells, strict=True)):
            raise ValueError("levels that more than one row shows")
        return cls(numbers, vocabulary, order, shares, rows, repeated)


@dataclass(frozen=True, eq=False)
class ForestReading:
    """Rows as a forest reads them: numbers (n, ·), NaN where missing, and the cells of all columns (n, d)."""

    numbers: Array
    cells: Cells
    columns: ForestColumns

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Codes | slice | Flags) -> ForestReading:
        return ForestReading(self.numbers[index], self.cells[index], self.columns)

    def with_unseen(self, unseen: Flags | None) -> ForestReading:
        """Return the same rows, some levels (n, categories) read as one never seen."""
        if unseen is None:
            return self
        found = ForestReading(self.numbers, self.columns.with_unseen(self.cells, unseen), self.columns)
        vars(found)["contents"] = self.contents  # these decide in which bags the rows are
        return found

    @cached_property
    def open(self) -> Flags:
        """Which cells (n, d) say nothing: those missing, and those of levels never seen."""
        numbers = len(self.columns.numbers)
        unseen = np.array([len(own) - 1 for own in self.columns.shares], dtype=np.int16)
        found = self.cells == MISSING
        found[:, numbers:] |= self.cells[:, numbers:] == unseen
        return np.asarray(found)

    @cached_property
    def contents(self) -> Keys:
        """A number (n,) for each row that its cells decide, whatever the columns' order and units."""
        total = np.zeros(len(self.cells), dtype=np.uint64)
        for keys in self.mixed_cells():
            total += keys.sum(axis=1)
        return mixed(total)

    def mixed_cells(self) -> Iterator[Keys]:
        """Yield numbers (n, some) for the cells of some columns after the other."""
        for some in row_chunks(self.cells.shape[1], rows_within(48 * len(self.cells))):
            yield mixed((self.cells[:, some].astype(np.int64) + 2).astype(np.uint64))


def levels_within(coded: CodedColumns, vocabulary: Sequence[Sequence[Level]]) -> tuple[Codes, ...]:
    """Return level numbers (n,) of each column in a vocabulary: −1 where missing, its length for a level not in it."""
    columns = zip(coded.levels, coded.codes, vocabulary, strict=True)
    return tuple(recode(*column).astype(np.int64, copy=False) for column in columns)


def _ordered(held: Array, most: float, alone: Flags) -> Codes:
    """Return the place (levels,) of each level: first so many of the commonest, along the direction in which the
    classes' shares (k, levels) differ, then the others, the rarest last, and at the end those shown by one row `alone`.

    An order by shares tells of the labels it is made of, and rows that are judged by trees are among these: of noise,
    some (k − 1)(levels − 1) / 2n nats of log-loss. So shares order no more levels than keep that small beside the
    entropy of the classes, which is little where one is rare.
    """
    weight = held.sum(axis=0)
    if not len(weight):  # of a column without a cell among these rows
        return np.zeros(0, dtype=np.int64)
    common = np.lexsort((-weight.round(9), alone))
    place = np.argsort(common)
    first = np.sort(common[: max(min(int(most), int((~alone).sum())), 1)])
    place[first] = _along(held[:, first])
    return place


def _along(held: Array) -> Codes:
    """Return the place (levels,) of each level along the direction in which the classes' shares (k, levels) differ.

    It ends where few rows lie far out, or at the last level where both ends are alike, so that no name of a class turns
    it round.
    """
    weight = held.sum(axis=0)
    share = (held + PSEUDO) / (weight + PSEUDO * len(held))
    apart = share - (share @ weight / max(float(weight.sum()), 1e-300))[:, None]
    score = (np.linalg.svd(apart * np.sqrt(weight), full_matrices=False)[0][:, 0] @ apart).round(9)
    turn = float(score**3 @ weight) or float(score[-1] - score[0])
    return np.argsort(np.argsort(score * np.sign(turn), kind="stable"))
