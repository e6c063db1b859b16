"""Settings chosen by folds of whole groups.

No formula takes the rows of a group out of a covariance at every setting at once. So groups are dealt into folds, and
each fold is judged by estimates from the rows kept of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .._arrays import Array, Codes, log_softmax, np, parallel_map
from ..em.cells import complete
from ..estimate import Settings
from ..estimate.families import GaussianFamily
from ..stats import CompletedStats, GaussianStats, PatternStats
from ..stats.rows import deal_groups

Moments = GaussianStats | PatternStats | CompletedStats


class _Fold(NamedTuple):
    """What is known without a fold, by block, the weight (k,) of each class in that, and the rows (m,) it judges."""

    moments: Sequence[GaussianStats]
    weight: Array
    own: Codes


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Blocks of Gaussian columns, a family and rows (n, d) each, in folds of whole groups; `judged` (m,) are in order.

    A row whose class no other fold has is not judged. Missing cells are filled once for all settings.
    """

    blocks: Sequence[tuple[GaussianFamily, Array]]
    codes: Codes
    folds: Sequence[_Fold]
    judged: Codes

    @classmethod
    def of(
        cls,
        blocks: Sequence[tuple[GaussianFamily, Array]],
        codes: Codes,
        weight: Array,
        k: int,
        group: Codes,
        judges: Codes,
    ) -> GroupFolds:
        """Return the folds of rows of k classes with weights (n,) in groups, of which those numbered `judges` judge."""
        place = deal_groups(group, codes)

        def fold(number: int) -> _Fold:
            others = np.flatnonzero(place != number)
            held = np.bincount(codes[others], weights=weight[others], minlength=k).astype(np.float64)
            known = codes[others], k, weight[others]
            moments = [completed(family.summarize(rows[others], *known)) for family, rows in blocks]
            own = judges[place[judges] == number]
            return _Fold(moments, held, own[held[codes[own]] > 0])

        folds = list(parallel_map(fold, range(int(place.max()) + 1), cost=np.inf))
        return cls(blocks, codes, folds, np.sort(np.concatenate([own.own for own in folds])))

    def losses(self, told: Settings) -> Array:
        """Return −log p(own class | row) (m,) in nats of the rows that judge, each by the others with a setting."""
        out = np.empty(len(self.codes))
        for moments, weight, own in self.folds:
            with np.errstate(divide="ignore"):
                scores = np.tile(np.log(np.where(weight > 0, weight + 0.5, 0.0)), (len(own), 1))
            for (family, rows), stats in zip(self.blocks, moments, strict=True):
                named = replace(told, classes=tuple(range(len(weight))), columns=tuple(range(rows.shape[1])))
                density = family.estimate(stats, named)[0].log_density(rows[own])
                scores += np.where(weight > 0, density, 0.0)
            out[own] = -log_softmax(scores)[np.arange(len(own)), self.codes[own]]
        return out[self.judged]


def completed(stats: Moments) -> GaussianStats:
    """Return the statistics of complete rows, missing cells expected from the others."""
    if isinstance(stats, PatternStats):
        return complete(stats)
    return stats.complete if isinstance(stats, CompletedStats) else stats
