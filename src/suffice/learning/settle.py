"""Columns in which no row so far has a value: they are read as numbers until rows with values tell their kind.

A statistic of such a column holds nothing but rows that miss it, so it can be made for any other kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .._arrays import Array, np
from ..automatic.by_rows import rows_of_sample
from ..automatic.held import HeldFitted
from ..automatic.member_family import MemberFamily
from ..automatic.statistics import MemberRows, MemberStats
from ..automatic.table_rows import TableRows
from ..errors import MergeError, quoted
from ..estimate import Block
from ..estimate.families import CategoricalFamily
from ..fitted import Fitted
from ..schema import Kind, Level, Schema
from ..stats import ByClass, CategoricalStats, DiagonalScatter, GaussianStats, Reservoir, Statistic, SumStats
from ..stats.counts import CodedColumns
from ..stats.reservoir import NAMELESS

F = TypeVar("F", bound=Fitted)


def settled_columns(mine: Schema, theirs: Schema) -> list[int]:
    """Return the positions of the columns that are without a value here and have a kind there."""
    pairs = zip(mine.columns, theirs.columns, strict=True)
    return [p for p, (own, other) in enumerate(pairs) if own.kind is Kind.EMPTY is not other.kind]


def settled(fitted: F, begun: F) -> F:
    """Return what was learned in the blocks of `begun`, whose schema knows the kinds of more columns."""
    statistics = fitted.statistics
    columns = settled_columns(fitted.schema, begun.schema)
    last = statistics.blocks[-1] if statistics.blocks else None
    if isinstance(last, MemberStats):  # in columns that were frozen before these had a value
        statistics = _rows_again(fitted, statistics, [begun.schema.names[p] for p in columns])
    elif fitted.blocks == begun.blocks:
        return replace(fitted, schema=begun.schema)
    moves = [_Move(fitted.blocks, block, columns) for block in begun.blocks]
    blocks = tuple(move.statistic(statistics) for move in moves)
    kept = [move for move in moves if not isinstance(move.block.family, MemberFamily)]

    def reread(sample: Reservoir | None, classes: Sequence[Level]) -> Reservoir | None:
        if sample is None:
            return None
        return sample.with_rows([move.rows(sample.rows, len(sample.codes)) for move in kept], classes)

    sample, unlabelled = reread(statistics.sample, statistics.classes), reread(statistics.unlabelled, NAMELESS)
    found = replace(statistics, blocks=blocks, sample=sample, unlabelled=unlabelled)
    return begun.with_statistics(found, past=fitted.past)


def _rows_again(fitted: Fitted, statistics: ByClass, names: Sequence[object]) -> ByClass:
    """Return the statistics with the rows kept, which stand for all, in the place of frozen columns."""
    if statistics.sample is None or not isinstance(fitted, HeldFitted):
        raise MergeError(
            f"No row of a model that holds no rows has a value in {quoted(names)}, so that its columns cannot be read "
            "again. Next: leave these columns out, or merge before rows are given up."
        )
    rows = rows_of_sample(statistics, fitted.held_as).as_sample()
    return replace(statistics, blocks=(*statistics.blocks[:-1], rows))


class _Move:
    """How a block of columns is made of those before, in which some of its columns were not known or not there."""

    def __init__(self, before: Sequence[Block], block: Block, changed: Sequence[int]) -> None:
        self.block = block
        self.number = next((i for i, own in enumerate(before) if _are_alike(own, block)), None)
        known = () if self.number is None else before[self.number].positions
        place = {p: j for j, p in enumerate(known) if p not in changed}
        self.index = [place.get(p, -1) for p in block.positions]
        self.stays = self.number is not None and before[self.number] == block and not set(changed) & set(known)

    def statistic(self, statistics: ByClass) -> Statistic:
        """Return the statistics of the block."""
        k, weight, index = len(statistics.classes), statistics.weight, self.index
        own = self.block.family.zero(k, 0) if self.number is None else statistics.blocks[self.number]
        if self.stays:
            return own
        if isinstance(own, MemberRows):
            return replace(own, rows=self._table_rows(own.rows, len(own.codes)))
        if isinstance(own, CategoricalStats):
            levels = tuple(own.levels[j] if j >= 0 else () for j in index)
            counts = tuple(own.counts[j] if j >= 0 else np.zeros((k, 0)) for j in index)
            return CategoricalStats(levels, counts, _taken(own.missing, index, weight[:, None]))
        if isinstance(own, SumStats):
            return SumStats(_taken(own.weight, index), _taken(own.total, index))
        assert isinstance(own, GaussianStats)
        scatter = DiagonalScatter(_taken(own.scatter.values, index))
        return replace(own, weight=_taken(own.weight, index), mean=_taken(own.mean, index), scatter=scatter)

    def rows(self, blocks: Sequence[Any], n: int) -> Any:
        """Return n rows of the block."""
        before = None if self.number is None else blocks[self.number]
        if self.stays:
            return before
        if isinstance(self.block.family, CategoricalFamily):
            return _coded(CodedColumns((), ()) if before is None else before, self.index, n)
        return _taken(np.zeros((n, 0)) if before is None else before, self.index, np.nan)

    def _table_rows(self, rows: TableRows, n: int) -> TableRows:
        assert isinstance(self.block.family, MemberFamily)
        numbers, width = self.block.family.numbers, rows.numbers.shape[1]
        coded = [j - width if j >= 0 else -1 for j in self.index[numbers:]]
        return TableRows(_taken(rows.numbers, self.index[:numbers], np.nan), _coded(rows.coded, coded, n))


def _are_alike(one: Block, other: Block) -> bool:
    """Return whether blocks differ in their columns alone."""
    both = one.family, other.family
    return both[0] == both[1] or all(isinstance(family, MemberFamily) for family in both)


def _taken(values: Array, index: Sequence[int], otherwise: Any = 0.0) -> Array:
    """Return these columns (n, len(index)) of an array, another value where the index is −1."""
    wider = np.column_stack([values, np.broadcast_to(otherwise, (len(values), 1))])
    return np.ascontiguousarray(wider[:, list(index)])


def _coded(rows: CodedColumns, index: Sequence[int], n: int) -> CodedColumns:
    """Return these columns of n categorical rows, all cells missing where the index is −1."""
    absent = np.full(n, -1, dtype=np.int64)
    pairs = [(rows.levels[j], rows.codes[j]) if j >= 0 else ((), absent) for j in index]
    return CodedColumns(tuple(levels for levels, _ in pairs), tuple(codes for _, codes in pairs))
