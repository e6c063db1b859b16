"""The statistics of the automatic classifier's members: with the columns frozen they merge like all others."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Codes, np
from ..stats import FullScatter, PatternStats
from .columns import BINS, INTERVALS, FrozenColumns, MixedRows
from .members.dependence import count_pairs

MOST_PARENTS = 70
MOST_PAIR_CELLS = 1 << 25  # 256 MiB of counts of pairs


@dataclass(frozen=True)
class MemberStats:
    """By version of the Gaussian block, by number of intervals, by number of bins."""

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


def pair_bins(columns: FrozenColumns, k: int) -> tuple[int, ...]:
    """Return the numbers of bins for which pairs of levels are counted: one where there are no numbers to cut."""
    count = len(columns.bin_starts(BINS[0])) - 1
    if not 2 <= count <= MOST_PARENTS:
        return ()
    wanted = BINS if columns.scores else BINS[:1]
    return tuple(bins for bins in wanted if k * columns.bin_starts(bins)[-1] ** 2 <= MOST_PAIR_CELLS)


_ = np
