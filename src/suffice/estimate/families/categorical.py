"""Columns of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes
from ...densities import Categorical
from ...stats import CategoricalStats
from ...stats.counts import CodedColumns
from ...table import Table, recode
from ..likelihood import estimate_categorical
from ..notes import Note
from ._contract import Settings


@dataclass(frozen=True, slots=True)
class CategoricalFamily:
    """Columns of categories, independent given the class; vocabularies grow as levels are met."""

    name: str = "categorical"
    support: ClassVar[str] = "levels"

    def encode(self, table: Table, positions: Sequence[int]) -> CodedColumns:
        pairs = [table.categories(p) for p in positions]
        return CodedColumns(tuple(levels for levels, _ in pairs), tuple(codes for _, codes in pairs))

    def recode(self, rows: CodedColumns, stats: CategoricalStats) -> tuple[Codes, ...]:
        columns = zip(rows.levels, rows.codes, stats.levels, strict=True)
        return tuple(recode(levels, codes, known) for levels, codes, known in columns)

    def zero(self, k: int, columns: int) -> CategoricalStats:
        return CategoricalStats.zero(k, columns)

    def summarize(self, rows: CodedColumns, codes: Codes, k: int, weight: Array | None) -> CategoricalStats:
        return CategoricalStats.summarize(rows, codes, k, weight)

    def estimate(self, stats: CategoricalStats, settings: Settings) -> tuple[Categorical, list[Note]]:
        return estimate_categorical(stats, settings.smoothing, settings.columns), []
