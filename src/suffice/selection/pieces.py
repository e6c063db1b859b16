"""The statistics of the automatic classifier's members: with the columns frozen they merge like all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import NotLearnedError
from ..stats import FullScatter, PatternStats
from ..stats.scatter import gather, spread
from .columns import BINS, INTERVALS, FrozenColumns, MixedRows
from .members.dependence import count_pairs

MOST_PARENTS = 70
MOST_PAIR_CELLS = 1 << 25  # 256 MiB of counts of pairs
DUST = 1e-9


@dataclass(frozen=True)
class MemberStats:
    """Statistics by version of the Gaussian block, counts of hats by number of intervals, of pairs by number of bins.

    `hats[m]` is (k, B), `pairs[b]` (k, L, L).
    """

    columns: FrozenColumns
    gaussian: dict[str, PatternStats]
    hats: dict[int, Array]
    pairs: dict[int, Array]

    @classmethod
    def summarize(
        cls, columns: FrozenColumns, rows: MixedRows, codes: Codes, k: int, weight: Array | None
    ) -> MemberStats:
        """Return the statistics of rows (n,) of `k` classes."""
        gaussian = {
            kind: PatternStats.summarize(columns.gaussian(kind, rows), codes, k, weight, FullScatter)
            for kind in columns.kinds
        }
        hats = {}
        if rows.numbers.shape[1]:
            hats = {m: columns.hats[m].count(rows.numbers, codes, k, weight) for m in INTERVALS}
        pairs = {}
        for bins in pair_bins(columns, k):
            size = columns.bin_starts(bins)[-1]
            pairs[bins] = count_pairs(columns.binned(bins, rows), size, codes, k, weight)
        return cls(columns, gaussian, hats, pairs)

    def merge(self, other: MemberStats) -> MemberStats:
        """Return the statistics of the rows of both."""
        return MemberStats(
            self.columns,
            {kind: own.merge(other.gaussian[kind]) for kind, own in self.gaussian.items()},
            {m: own + other.hats[m] for m, own in self.hats.items()},
            {b: own + other.pairs[b] for b, own in self.pairs.items() if b in other.pairs},
        )

    def subtract(self, other: MemberStats) -> MemberStats:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""
        return MemberStats(
            self.columns,
            {kind: own.subtract(other.gaussian[kind]) for kind, own in self.gaussian.items()},
            {m: _less(own, other.hats[m]) for m, own in self.hats.items()},
            {b: _less(own, other.pairs[b]) for b, own in self.pairs.items() if b in other.pairs},
        )

    def scale(self, factor: float) -> MemberStats:
        """Return the statistics of the same rows with their weights multiplied by a factor."""
        return self._each(lambda stats: stats.scale(factor), lambda counts: counts * factor)

    def place(self, index: Any, k: int) -> MemberStats:
        """Return the same statistics with class i moved to number index[i] of k."""
        return self._each(lambda stats: stats.place(index, k), lambda counts: spread(counts, index, k))

    def regroup(self, index: Any, k: int) -> MemberStats:
        """Return the statistics with class i made part of class index[i] of k, or left out where that is −1."""
        return self._each(lambda stats: stats.regroup(index, k), lambda counts: gather(counts, index, k))

    def _each(self, gaussian: Callable[[PatternStats], PatternStats], counts: Callable[[Array], Array]) -> MemberStats:
        return MemberStats(
            self.columns,
            {kind: gaussian(own) for kind, own in self.gaussian.items()},
            {m: counts(own) for m, own in self.hats.items()},
            {b: counts(own) for b, own in self.pairs.items()},
        )

    def column_weight(self) -> Array:
        """Return the weight of the rows by class (k, 1)."""
        first = next(iter(self.gaussian.values()), None)
        if first is not None:
            return first.column_weight().max(axis=1, keepdims=True)
        counts = next(iter([*self.hats.values(), *self.pairs.values()]))
        return np.asarray(counts.reshape(len(counts), -1).sum(axis=1, keepdims=True))


def _less(whole: Array, part: Array) -> Array:
    left = whole - part
    gone = np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0)
    if (left < 0).any() and not gone[left < 0].all():
        code = int(np.nonzero(((left < 0) & ~gone).reshape(len(left), -1).any(axis=1))[0][0])
        raise NotLearnedError("their cells were not counted", code)
    return np.where(gone, 0.0, left)


def pair_bins(columns: FrozenColumns, k: int) -> tuple[int, ...]:
    """Return the numbers of bins for which pairs of levels are counted: one where there are no numbers to cut."""
    count = len(columns.bin_starts(BINS[0])) - 1
    if not 2 <= count <= MOST_PARENTS:
        return ()
    wanted = BINS if columns.scores else BINS[:1]
    return tuple(bins for bins in wanted if k * columns.bin_starts(bins)[-1] ** 2 <= MOST_PAIR_CELLS)
