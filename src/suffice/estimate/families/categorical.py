"""Columns of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Categorical
from ...stats import CategoricalStats
from ...stats.counts import CodedColumns
from ...table import Table, recode
from ..likelihood import estimate_categorical, level_shares
from ..notes import Note
from ._contract import Settings
from ._removal import SLACK, Limit, collapse, refuse, row_weights, without


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
        return estimate_categorical(stats, settings.smoothing), []

    def leave_one_out_limit(
        self, rows: tuple[Codes, ...], stats: CategoricalStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        In the row's own class a level keeps (count − w + α) / (n − w + α L). A level that no other row has would be
        unknown to a refit, which scores it as one more: L is the same, and so is the answer.
        """
        order, score = self.estimate(stats, settings)[0].limit(rows)
        w, place = row_weights(codes, weight), (np.arange(len(codes)), codes)
        order[place] = score[place] = 0.0
        for j, (level, counts) in enumerate(zip(rows, stats.counts, strict=True)):
            _check_levels(level, counts, codes, w, settings, j)
            present = np.flatnonzero(level >= 0)
            code, amount = codes[present], w[present]
            count = without(counts[code, level[present]], amount)
            p, limit = level_shares(
                count, without(counts.sum(axis=1)[code], amount), settings.smoothing, counts.shape[1]
            )
            order[present, code] += p == 0
            score[present, code] += np.log(limit)
        return order, score

    def leave_one_out(
        self, rows: tuple[Codes, ...], stats: CategoricalStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array:
        """Return the log density of every row under every class without that row, (n, k) in nats."""
        return collapse(self.leave_one_out_limit(rows, stats, codes, weight, settings))


def _check_levels(level: Codes, counts: Array, codes: Codes, weight: Array, settings: Settings, column: int) -> None:
    """Raise DataError naming a row whose level does not occur in its class with at least the row's weight."""
    known = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)  # the last for a level never seen
    lacking = np.flatnonzero((level >= 0) & (weight > known[codes, level] * (1.0 + SLACK)))
    if len(lacking):
        row = int(lacking[0])
        why = "its category occurs too seldom in the class"
        raise refuse(settings, row, int(codes[row]), column, why)
