"""Categorical columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._arrays import Array, Codes, np
from ...densities import Categorical, Draw, Limit
from ...errors import NegativeError
from ...notes import Note
from ...schema import Level, Name
from ...stats import CategoricalStats
from ...stats.counts import CodedColumns
from ...table import Table, recode
from ..priors import draw_gamma, estimate_categorical, posterior_counts, smoothed_shares
from .family import SLACK, LimitFamily, Settings, refuse, row_weights, without


@dataclass(frozen=True, slots=True)
class CategoricalFamily(LimitFamily):
    """Columns of categories, independent given the class; vocabularies grow as levels are met.

    With `counted`, numbers are the codes of levels (fractions are cut off), and every whole number from 0 to the
    largest of a column is a level of it, met or not; `least` is how many levels a column has at least, one number or a
    tuple of one per column. Columns of text stay as they are.
    """

    name: str = "categorical"
    support: ClassVar[str] = "levels"
    counted: bool = False
    least: int | tuple[int, ...] = 0

    def encode(self, table: Table, positions: Sequence[int]) -> CodedColumns:
        pairs = [table.categories(p) for p in positions]
        if self.counted:
            least = self.least if isinstance(self.least, tuple) else (self.least,) * len(pairs)
            names = [table.schema.names[p] for p in positions]
            pairs = [_counted(*pair, own, name) for pair, own, name in zip(pairs, least, names, strict=True)]
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

    def posterior(self, stats: CategoricalStats, settings: Settings) -> Draw:
        """Return what draws p(level | class) by class and column from their Dirichlet posterior."""
        density = self.estimate(stats, settings)[0]
        every = []
        for counts, added in zip(stats.counts, density.pseudo, strict=True):
            spare = added[-1] or added[0]  # with a uniform base, that of a level never seen stands beside the others
            known = np.append(counts, np.zeros((len(counts), 1)), axis=1)
            every.append(posterior_counts(known, np.append(added[:-1], spare)))

        def draw(rng: np.random.RandomState) -> Categorical:
            log_p = []
            for counts, added in zip(every, density.pseudo, strict=True):
                gamma = draw_gamma(counts, rng)
                whole = gamma.sum(axis=1, keepdims=True)
                known = whole if added[-1] > 0 else whole - gamma[:, -1:]
                log_p.append(np.log(gamma / np.append(np.broadcast_to(known, gamma[:, :-1].shape), whole, axis=1)))
            return replace(density, log_p=tuple(log_p), limit_log_p=tuple(log_p))

        return draw

    def leave_one_out_limit(
        self, rows: tuple[Codes, ...], stats: CategoricalStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        In the row's own class a level keeps (count − w + α) / (n − w + α L). A level that no other row has would be
        unknown to a refit, which scores it as one more: L is the same, and so is the answer.
        """
        density, w = self.estimate(stats, settings)[0], row_weights(codes, weight)
        for j, (level, counts) in enumerate(zip(rows, stats.counts, strict=True)):
            _check_levels(level, counts, codes, w, settings, j)
        if settings.alpha > 0:  # no probability is zero
            score = density.log_density(rows)
            order = np.zeros_like(score)
        else:
            order, score = density.limit(rows)
        alike = bool((w == w[:1]).all())
        own_order, own_score = np.zeros(len(codes)), np.zeros(len(codes))
        for level, counts in zip(rows, stats.counts, strict=True):
            present = slice(None) if level.min(initial=0) >= 0 else np.flatnonzero(level >= 0)
            code, level = codes[present], level[present]
            if alike:  # one table for all rows
                count, seen = without(counts, w[0]), without(counts.sum(axis=1, keepdims=True), w[0])
            else:
                count = without(counts[code, level], w[present])
                seen = without(counts.sum(axis=1)[code], w[present])
            p, limit = smoothed_shares(count, seen, settings.alpha, 1.0, counts.shape[1])
            zero, term = p == 0, np.log(limit)
            own_order[present] += zero[code, level] if alike else zero
            own_score[present] += term[code, level] if alike else term
        place = np.arange(len(codes)), codes
        order[place], score[place] = own_order, own_score
        return order, score


def _counted(levels: Sequence[Level], codes: Codes, least: int, name: Name) -> tuple[Sequence[Level], Codes]:
    """Return the levels 0, 1, … of a column of whole numbers and its codes among them."""
    if any(isinstance(level, str) for level in levels[:1]):
        return levels, codes
    whole = np.array([int(level) for level in levels], dtype=np.int64)
    if len(whole) and whole.min() < 0:
        raise NegativeError.in_column(name, whole.min(), "the codes of its levels are 0, 1, 2, …")
    known = tuple(range(max(int(whole.max(initial=-1)) + 1, least)))
    return known, codes if known[: len(levels)] == tuple(levels) else np.append(whole, -1)[codes]


def _check_levels(level: Codes, counts: Array, codes: Codes, weight: Array, settings: Settings, column: int) -> None:
    """Raise DataError naming a row whose level does not occur in its class with at least the row's weight."""
    known = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)  # the last for a level never seen
    lacking = np.flatnonzero((level >= 0) & (weight > known[codes, level] * (1.0 + SLACK)))
    if len(lacking):
        row = int(lacking[0])
        why = "its category occurs too seldom in the class"
        raise refuse(settings, row, int(codes[row]), column, why)
