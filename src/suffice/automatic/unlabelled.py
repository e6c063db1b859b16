"""Semi-supervised joint density: rows without a label count in every class by the pool's posterior."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, np
from ..em.cell_passes import fill
from ..estimate import Family, Settings
from ..estimate.families import GaussianFamily
from ..forest import levels_within
from ..stats import CategoricalStats, FullScatter, PatternStats
from ..stats.counts import CodedColumns
from ..stats.rows import take_rows
from .joint import ShrunkGaussianFamily

MOST_UNLABELLED = 2000  # that are kept: more say little more, and each is read by every step of EM
NEGLIGIBLE = 1e-6  # of a row in a class


def joined_block(family: Family, stats: Any, rows: Any, share: Array) -> Any:
    """Return the statistics of a block with rows (m,) that count for `share` (m, k) in each class.

    It is one step of EM. Cells that miss in the numbers are what the density of the labelled rows expects of them, with
    the variance that this leaves open.
    """
    row, codes = np.nonzero(share > NEGLIGIBLE)
    weight, k = share[row, codes], share.shape[1]
    if isinstance(stats, CategoricalStats):  # levels that no labelled row has stay unknown, as they are to the members
        known = [
            np.where(own < len(words), own, -1)
            for own, words in zip(levels_within(rows, stats.levels), stats.levels, strict=True)
        ]
        rows = CodedColumns(tuple(stats.levels), tuple(known))
    if isinstance(family, ShrunkGaussianFamily) and np.isnan(rows).any():
        density = family.estimate(stats, Settings())[0]
        return stats.merge(PatternStats(fill(rows[row], codes, k, weight, density, FullScatter), {}))
    if isinstance(family, GaussianFamily):  # of very many columns, each by itself
        return stats.merge(family.summarize(rows[row], codes, k, weight))
    return stats.merge(family.summarize(take_rows(rows, row), codes, k, weight))
