"""Weighted counts of levels, and sums of counts, by class: what is sufficient for categories and counted columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    NDArray,
    check_bytes,
    np,
    parallel_map,
    places_of,
    row_chunks,
    rows_within,
    sparse,
)
from ..errors import NotLearnedError
from ..schema import Level, sort_levels
from ._downdate import SLACK, faded, subtract_weights
from .scatter import gather, spread
from .statistic import Fields, Plain, Statistic, amounts, at_most, levels as levels_of

CHUNK_ROWS = 1 << 16
MOST = 2.0**62  # of a mean in a file: what random numbers can be drawn about
DUST = 1e-9  # of a weight, left over by rounding


class CodedColumns(NamedTuple):
    """Categorical columns of a batch: the levels of each, and each one's codes (n,), −1 where missing.

    Levels given as a `range` are those between two integers, not all of which need occur.
    """

    levels: tuple[Sequence[Level], ...]
    codes: tuple[Codes, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.codes[0]) if self.codes else 0


class TextColumns(CodedColumns):
    """Columns of texts of a batch, coded like categories: the different texts of each, and each one's codes (n,)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CategoricalStats(Statistic):
    """Weight of each level by class, per column; vocabularies grow when statistics are merged.

    `levels[j]` are the sorted levels of column j, `counts[j]` (k, levels) their weights, `missing` (k, c) the weight
    of the missing cells.
    """

    levels: tuple[tuple[Level, ...], ...]
    counts: tuple[Array, ...]
    missing: Array

    @classmethod
    def zero(cls, k: int, c: int) -> Self:
        """Return the statistics of no rows: empty vocabularies."""
        return cls(((),) * c, (np.zeros((k, 0)),) * c, np.zeros((k, c)))

    @classmethod
    def summarize(cls, rows: CodedColumns, codes: Codes | None = None, k: int = 1, weight: Array | None = None) -> Self:
        """Return the counts of a batch; `codes` (n,) class numbers below `k`, `weight` (n,) row weights."""
        n = rows.rows
        codes = np.zeros(n, dtype=np.int64) if codes is None else codes.astype(np.int64, copy=False)
        sizes = [len(levels) + 1 for levels in rows.levels]  # the first cell of each table counts the missing
        _check_levels(k, sizes)

        def count(part: slice) -> list[NDArray[Any]]:
            own, w = codes[part], None if weight is None else weight[part]
            return [
                np.bincount(own * size + 1 + column[part], weights=w, minlength=k * size).reshape(k, size)
                for column, size in zip(rows.codes, sizes, strict=True)
            ]

        totals = [np.zeros((k, size)) for size in sizes]
        for tables in parallel_map(count, row_chunks(n, CHUNK_ROWS), cost=float(n) * len(sizes) * 10):
            for total, table in zip(totals, tables, strict=True):
                total += table
        missing = np.stack([table[:, 0] for table in totals], axis=1) if totals else np.zeros((k, 0))
        shown = [_shown_levels(levels, table) for levels, table in zip(rows.levels, totals, strict=True)]
        return cls(tuple(levels for levels, _ in shown), tuple(table for _, table in shown), missing)

    def merge(self, other: Self) -> Self:
        """Return the counts of the rows of both, over the union of the vocabularies."""
        levels = tuple(a if a == b else sort_levels([*a, *b]) for a, b in zip(self.levels, other.levels, strict=True))
        a, b = self._with_levels(levels), other._with_levels(levels)
        counts = tuple(x + y for x, y in zip(a.counts, b.counts, strict=True))
        return type(self)(levels, counts, self.missing + other.missing)

    def subtract(self, other: Self) -> Self:
        """Return the counts of the rows left without those of `other`; a level that no row shows any more is gone.

        NotLearnedError for a level never counted, or counted less often.
        """
        for j, (own, known, table) in enumerate(zip(other.levels, self.levels, other.counts, strict=True)):
            for number, level in enumerate(own):
                if level not in known and table[:, number].any():
                    raise NotLearnedError(f"{level!r} was never there", int(np.argmax(table[:, number] > 0)), [j])
        levels = tuple(sort_levels([*a, *b]) for a, b in zip(self.levels, other.levels, strict=True))
        whole, part = self._with_levels(levels), other._with_levels(levels)
        missing = subtract_weights(whole.missing, part.missing, "number of missing cells")
        counts = []
        for j, (a, b) in enumerate(zip(whole.counts, part.counts, strict=True)):
            try:
                counts.append(subtract_weights(a, b, "number of one of its categories"))
            except NotLearnedError as error:
                names = ", ".join(repr(levels[j][i]) for i in error.columns)
                raise NotLearnedError(f"{error.why} ({names})", error.code, [j]) from None
        return type(self)(levels, tuple(counts), missing)._without_lost(whole.counts, self.levels)

    def _without_lost(self, before: Sequence[Array], known: Sequence[Sequence[Level]]) -> Self:
        """Return the counts without the levels that were counted before and are no longer, or never were known.

        Of truth values both stay.
        """
        levels, counts = [], []
        for own, table, old, had in zip(self.levels, self.counts, before, known, strict=True):
            stays = [x in had and (type(x) is bool or not was) for x, was in zip(own, old.sum(axis=0), strict=True)]
            kept = np.flatnonzero(table.any(axis=0) | np.array(stays, dtype=bool))
            levels.append(tuple(own[int(i)] for i in kept))
            counts.append(table[:, kept])
        return type(self)(tuple(levels), tuple(counts), self.missing)

    def scale(self, factor: float) -> Self:
        return type(self)(self.levels, tuple(faded(own, factor) for own in self.counts), faded(self.missing, factor))

    def regroup(self, index: Codes, k: int) -> Self:
        """Return the counts with class i made part of class index[i] of k, or left out (−1) with its own levels."""
        counts = tuple(gather(table, index, k) for table in self.counts)
        moved = type(self)(self.levels, counts, gather(self.missing, index, k))
        return moved._without_lost(self.counts, self.levels)

    def _with_levels(self, levels: tuple[tuple[Level, ...], ...]) -> Self:
        _check_levels(len(self.missing), [len(known) for known in levels])
        counts = []
        for own, known, table in zip(self.levels, levels, self.counts, strict=True):
            counts.append(table if own == known else spread(table.T, places_of(own, known).tolist(), len(known)).T)
        return type(self)(levels, tuple(counts), self.missing)

    def place(self, index: Sequence[int], k: int) -> Self:
        _check_levels(k, [len(known) for known in self.levels])
        return type(self)(
            self.levels, tuple(spread(table, index, k) for table in self.counts), spread(self.missing, index, k)
        )

    def column_weight(self) -> Array:
        return np.stack([table.sum(axis=1) for table in self.counts], axis=1) if self.counts else self.missing

    def level_weights(self) -> dict[int, dict[Level, float]]:
        totals = (table.sum(axis=0).tolist() for table in self.counts)
        pairs = zip(self.levels, totals, strict=True)
        return {j: dict(zip(levels, weight, strict=True)) for j, (levels, weight) in enumerate(pairs)}

    def arrays(self) -> tuple[Fields, Plain]:
        fields = {f"c{j}": table for j, table in enumerate(self.counts)}
        return {**fields, "missing": self.missing}, {"levels": [list(levels) for levels in self.levels]}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        levels = tuple(map(levels_of, plain["levels"]))
        missing = amounts(fields["missing"], None, len(levels))
        counts = tuple(amounts(fields[f"c{j}"], len(missing), len(own)) for j, own in enumerate(levels))
        return cls(levels, counts, missing)


def _shown_levels(levels: Sequence[Level], table: Array) -> tuple[tuple[Level, ...], Array]:
    """Return the levels of a count table (k, 1 for missing + levels) and their counts; of a range, those that occur."""
    if not isinstance(levels, range):
        return tuple(levels), table[:, 1:]
    occur = np.flatnonzero(table[:, 1:].any(axis=0))
    return tuple(levels[int(i)] for i in occur), table[:, 1 + occur]


def _check_levels(k: int, sizes: Sequence[int]) -> None:
    """Raise DataError, before anything is allocated, if counts of all levels by class would not fit in memory."""
    what = f"Counts of {sum(sizes):,} categories for each of {k:,} classes"
    advice = "leave out columns of names or ids, where nearly every row has a category of its own, or fewer classes"
    check_bytes(8 * k * sum(sizes), what, advice)


@dataclass(frozen=True, slots=True)
class SumStats(Statistic):
    """`weight` (k, d) of the observed cells and their weighted sum `total` (k, d)."""

    weight: Array
    total: Array

    @classmethod
    def zero(cls, k: int, d: int) -> Self:
        return cls(np.zeros((k, d)), np.zeros((k, d)))

    @classmethod
    def summarize(
        cls, rows: Array | sparse.csr_array, codes: Codes | None = None, k: int = 1, weight: Array | None = None
    ) -> Self:
        """Return the sums of a batch (n, d): dense with NaN where missing, or sparse, which is never made dense.

        `codes` (n,) are class numbers below `k`, `weight` (n,) row weights (None: ones).
        """
        n, d = rows.shape
        codes = np.zeros(n, dtype=np.int64) if codes is None else codes
        if not isinstance(rows, np.ndarray):
            seen = np.bincount(codes, weights=weight, minlength=k).astype(np.float64)
            return cls(np.repeat(seen[:, None], d, axis=1), _sparse_sums(rows, codes, k, weight))

        def add_up(part: slice) -> tuple[Array, Array]:
            block, own = rows[part], codes[part]
            one = _indicator(own, k, None if weight is None else weight[part])
            missing = np.isnan(block)
            if missing.any():
                return one @ (~missing).astype(np.float64), one @ np.where(missing, 0.0, block).astype(np.float64)
            return np.repeat(one.sum(axis=1)[:, None], d, axis=1), one @ block.astype(np.float64, copy=False)

        result = cls.zero(k, d)
        chunks = row_chunks(n, rows_within(16 * d, IN_MEMORY))
        for seen, total in parallel_map(add_up, chunks, cost=4.0 * rows.size):
            result = cls(result.weight + seen, result.total + total)
        return result

    def merge(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total)

    def subtract(self, other: Self) -> Self:
        """Return the sums over the rows left without those of `other`.

        NotLearnedError where less than no weight or sum is left, or a sum of no rows.
        """
        weight = subtract_weights(self.weight, other.weight, "weight")
        total = subtract_weights(self.total, other.total, "sum")
        strange = (weight == 0) & (total > SLACK * self.total)
        if strange.any():
            code = int(np.argwhere(strange)[0][0])
            raise NotLearnedError("they leave a sum without a row", code, np.flatnonzero(strange[code]).tolist())
        return type(self)(weight, np.where(weight > 0, total, 0.0))

    def scale(self, factor: float) -> Self:
        weight = faded(self.weight, factor)
        return type(self)(weight, np.where(weight > 0, self.total * factor, 0.0))

    def regroup(self, index: Codes, k: int) -> Self:
        return type(self)(gather(self.weight, index, k), gather(self.total, index, k))

    def place(self, index: Sequence[int], k: int) -> Self:
        return type(self)(spread(self.weight, index, k), spread(self.total, index, k))

    def column_weight(self) -> Array:
        return self.weight

    def arrays(self) -> tuple[Fields, Plain]:
        return {"weight": self.weight, "total": self.total}, {}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        weight = amounts(fields["weight"], None, None)
        total = amounts(fields["total"], *weight.shape)
        if not at_most(total, weight * MOST):
            raise ValueError("sums of counts")
        return cls(weight, total)


def _sparse_sums(rows: sparse.csr_array, codes: Codes, k: int, weight: Array | None) -> Array:
    """Return the sums (k, d) of the stored cells by class, a few of them at a time."""
    n, d = rows.shape
    total = np.zeros(k * d)
    for part in row_chunks(n, max(1, n // (1 + rows.nnz // max(IN_MEMORY // 16, k * d)))):
        bounds = rows.indptr[part.start : part.stop + 1]
        stored, lengths = slice(bounds[0], bounds[-1]), np.diff(bounds)
        place = np.repeat(codes[part].astype(np.int64) * d, lengths)
        place += rows.indices[stored]
        amounts = rows.data[stored] if weight is None else rows.data[stored] * np.repeat(weight[part], lengths)
        total += np.bincount(place, weights=amounts, minlength=k * d)
    return total.reshape(k, d)


def _indicator(codes: Codes, k: int, weight: Array | None) -> sparse.csr_array:
    """Return the sparse (k, n) matrix whose row c holds the weights of the rows of class c."""
    n = len(codes)
    ones = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return sparse.csc_array((ones, codes, np.arange(n + 1)), shape=(k, n)).tocsr()


@dataclass(frozen=True, slots=True)
class ClassWeights(Statistic):
    """`values` (k, …) are the weights of the rows of each class in each cell."""

    values: Array

    def merge(self, other: Self) -> ClassWeights:
        return ClassWeights(self.values + other.values)

    def subtract(self, other: Self) -> ClassWeights:
        return ClassWeights(less(self.values, other.values))

    def scale(self, factor: float) -> ClassWeights:
        return ClassWeights(faded(self.values, factor))

    def place(self, index: Sequence[int], k: int) -> ClassWeights:
        return ClassWeights(spread(self.values, index, k))

    def regroup(self, index: Codes, k: int) -> ClassWeights:
        return ClassWeights(gather(self.values, index, k))

    def column_weight(self) -> Array:
        return self.values.reshape(len(self.values), -1)


def less(whole: Array, part: Array) -> Array:
    """Return weights (k, …) without others, rounding made 0; NotLearnedError where more goes than there is."""
    left = whole - part
    dust = np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0)
    strange = (left < 0) & ~dust
    if strange.any():
        code = int(np.nonzero(strange.reshape(len(left), -1).any(axis=1))[0][0])
        raise NotLearnedError("some of their cells were not counted", code)
    return np.asarray(np.where(dust, 0.0, left))
