"""What the two sides of a comparison know of each column: rows where they are there, and statistics of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .._arrays import Array, Codes, is_sparse, np
from ..errors import DataError, either
from ..estimate import Block
from ..fitted import Fitted
from ..schema import Level
from ..stats import CategoricalStats, MixtureStats, Statistic, SumStats
from ..stats.counts import CodedColumns
from ..stats.pooling import Moments, column_moments
from ..stats.reservoir import ALL
from ..table.labels import read_labels, read_weights
from .held_out import WHOLE
from .leave_one_out import check_one_kind


@dataclass(frozen=True)
class ColumnSummary:
    """One column on one side; by class, and in the last place for rows without a label: k + 1 in all.

    Of numbers, `values` (m,) of the rows there are, NaN where missing, and `moments` (k + 1, 1); of categories
    `levels`, `counts` (k + 1, r), and `values` their level numbers. Either may be None. `missing` (k + 1,) is the
    weight of missing cells, `seen` that of the others; NaN where it is not known.
    """

    values: Array | None
    moments: Moments | None
    levels: tuple[Level, ...] | None
    counts: Array | None
    seen: Array
    missing: Array

    @property
    def is_number(self) -> bool:
        """Whether cells are numbers."""
        return self.levels is None

    @property
    def missing_share(self) -> float:
        """The share of cells that are missing."""
        return float(self.missing.sum()) / max(float((self.missing + self.seen).sum()), 1e-300)


@dataclass(frozen=True)
class Side:
    """The rows of one side: their classes, how many there are of each, and what is known column by column.

    `class_weight` (k + 1,) ends with the rows without a label. Of the rows that are there, m of them, perhaps a sample,
    `codes` are class numbers, k without a label; `count` how many independent rows of all each counts for in a
    comparison, and `own` the same among those of its class.
    """

    blocks: Sequence[Block]
    classes: tuple[Level, ...]
    class_weight: Array
    rows: Sequence[Any] | None
    codes: Codes
    count: Array
    own: Array
    statistics: Sequence[Statistic] | None = None
    filled: bool = False  # whether a release may have filled missing cells, so that none need not mean none

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.class_weight.sum())

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """For each column the first block that reads it, and its place there."""
        found: dict[int, tuple[int, int]] = {}
        for number, block in enumerate(self.blocks):
            for place, position in enumerate(block.positions):
                found.setdefault(position, (number, place))
        return found

    @cached_property
    def _by_block(self) -> dict[int, Moments | None]:
        return {}

    def column(self, position: int, name: object) -> ColumnSummary:
        """Return what is known of a column of the side's own schema; DataError where that is nothing."""
        number, place = self.places[position]
        part = None if self.rows is None else self.rows[number]
        stats = None if self.statistics is None else self.statistics[number]
        if isinstance(part, CodedColumns) or isinstance(stats, CategoricalStats):
            return self._categories(part, stats, place)
        numbers = part is None or is_sparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)
        values = None if part is None or not numbers else _cells(part, place)
        moments = self._moments(number, place, values)
        if moments is None:
            raise DataError(
                f"Column {name!r} is known by statistics of a kind of their own ({type(stats).__name__}), and no rows "
                f"are kept to compare. Next: fit with {either('keep_rows', '--keep-rows')}, or compare tables."
            )
        seen = moments.weight[:, 0] if stats is None else np.append(stats.column_weight()[:, place], 0.0)
        missing = self.class_weight - seen
        missing[missing <= WHOLE * self.class_weight] = 0.0
        if isinstance(stats, MixtureStats) and not stats.is_single:  # whose cells were filled in by EM
            seen, missing = self._observed(values)
        if self.filled and not missing.any():
            seen = missing = np.full(len(self.class_weight), np.nan)
        return ColumnSummary(values, moments, None, None, seen, missing)

    def _observed(self, values: Array | None) -> tuple[Array, Array]:
        """Return how many of the rows there are have a cell, and miss it, (k + 1,) each; NaN where there are none."""
        if values is None:
            return np.full(len(self.class_weight), np.nan), np.full(len(self.class_weight), np.nan)
        size, gone = len(self.class_weight), np.isnan(values)
        missing = np.bincount(self.codes, weights=self.count * gone, minlength=size).astype(np.float64)
        return np.bincount(self.codes, weights=self.count, minlength=size) - missing, missing

    def _moments(self, number: int, place: int, values: Array | None) -> Moments | None:
        """Return the moments (k + 1, 1) of a column, of the rows there are where statistics do not hold them."""
        if self.statistics is not None:
            if number not in self._by_block:
                self._by_block[number] = _block_moments(self.statistics[number])
            whole = self._by_block[number]
            if whole is not None:
                return Moments(*(np.append(own[:, place], 0.0)[:, None] for own in whole))
        if values is None:
            return None
        return Moments.of_column(values, self.codes, len(self.class_weight), self.count)

    def _categories(self, part: Any, stats: Any, place: int) -> ColumnSummary:
        codes = None if part is None else np.asarray(part.codes[place])
        if isinstance(stats, CategoricalStats):
            levels, none = stats.levels[place], np.zeros((1, len(stats.levels[place])))
            counts = np.concatenate([stats.counts[place], none])
            missing = np.append(stats.missing[:, place], 0.0)
            if codes is not None:  # rows kept name their own levels
                known = {level: i for i, level in enumerate(levels)}
                table = np.array([*(known.get(level, -1) for level in part.levels[place]), -1])
                codes = table[codes]
        else:
            assert codes is not None
            levels, codes = _shown(part.levels[place], codes)
            k, r = len(self.class_weight), len(levels)
            cell = np.where(codes < 0, r, codes) + (r + 1) * self.codes
            table = np.bincount(cell, weights=self.count, minlength=k * (r + 1)).reshape(k, r + 1).astype(np.float64)
            counts, missing = table[:, :r], table[:, r]
        values = None if codes is None else np.where(codes < 0, np.nan, codes)
        return ColumnSummary(values, None, tuple(levels), counts, counts.sum(axis=1), missing)


def _block_moments(stats: Statistic) -> Moments | None:
    """Return the moments of a block; of sums of counts, which hold no squares, by the Poisson law."""
    if isinstance(stats, SumStats):
        return Moments(stats.weight, stats.total / np.where(stats.weight > 0, stats.weight, 1.0), stats.total)
    return column_moments(stats)


def _shown(levels: Sequence[Level], codes: Codes) -> tuple[tuple[Level, ...], Codes]:
    """Return the levels that occur, and codes among these."""
    present = np.unique(codes[codes >= 0])
    return tuple(levels[int(i)] for i in present), np.where(codes < 0, -1, np.searchsorted(present, codes))


def _cells(part: Any, place: int) -> Array:
    """Return a column of numbers (m,), dense."""
    if is_sparse(part):
        return np.asarray(part[:, [place]].toarray()[:, 0], dtype=np.float64)
    return np.asarray(part[:, place], dtype=np.float64)


def learned_side(fitted: Fitted) -> Side:
    """Return what a model has learned: its statistics, and the rows it keeps."""
    statistics, sample = fitted.statistics, fitted.judges
    weight = np.append(statistics.weight, 0.0)
    blocks = fitted.blocks[: len(statistics.blocks)]
    if sample is None or not len(sample.codes):
        none, nobody, filled = np.zeros(0), np.zeros(0, dtype=np.int64), fitted.past.released is not None
        return Side(blocks, statistics.classes, weight, None, nobody, none, none, statistics.blocks, filled)
    k, codes, stands = len(statistics.classes), sample.codes, sample.represented(statistics.weight)
    held = np.bincount(codes, weights=sample.weight, minlength=k)
    whole = (sample.limit == ALL) & (np.abs(held - statistics.weight) <= WHOLE * statistics.weight)
    # all rows of a class: copies are rows; a sample of them: a row that was drawn with all its copies is one draw
    doubt = np.where(whole[codes], stands, stands**2)
    by_class = np.bincount(codes, weights=doubt, minlength=k)
    count = stands * (stands.sum() / doubt.sum())
    own = stands * (statistics.weight / np.where(by_class > 0, by_class, 1.0))[codes]
    return Side(blocks, statistics.classes, weight, list(fitted.sampled_rows()), codes, count, own, statistics.blocks)


def table_side(fitted: Fitted, X: object, y: object, sample_weight: object) -> Side:
    """Return the rows of a table as the model reads them; labels may be missing, or of no class it knows."""
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    weight = np.ones(n) if weight is None else weight
    classes, codes = ((), np.full(n, -1)) if y is None else read_labels(y, n, fitted.who, missing="any")
    check_one_kind(fitted.statistics.classes, classes)
    codes = np.where(codes < 0, len(classes), codes)
    total = np.bincount(codes, weights=weight, minlength=len(classes) + 1).astype(np.float64)
    return Side(fitted.blocks, classes, total, list(rows), codes, weight, weight)


class Pair(NamedTuple):
    """The two sides, in one order of columns and classes."""

    old: Side
    new: Side
    order: Sequence[int]  # the position of each column on the new side
    classes: tuple[Level, ...]

    def of(self, side: Side, values: Array) -> Array:
        """Return numbers by class of a side (k + 1, …) in the order of all classes, without those of no label."""
        place = {label: c for c, label in enumerate(side.classes)}
        out = np.zeros((len(self.classes), *values.shape[1:]))
        for c, label in enumerate(self.classes):
            if label in place:
                out[c] = values[place[label]]
        return out

    def codes(self, side: Side) -> Codes:
        """Return the class number of each row of a side among all classes, −1 without a label."""
        place = {label: c for c, label in enumerate(self.classes)}
        return np.array([*(place[label] for label in side.classes), -1])[side.codes]
