"""Leaving out a row of a Gaussian block by what it means: an estimate from the statistics of the other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import MergeError, NotLearnedError
from ..estimate import Family, Settings
from ..stats import CompletedStats, FourthMomentStats, GaussianStats, PatternStats

GaussianBlock = GaussianStats | PatternStats | FourthMomentStats | CompletedStats

SMALL = 1 << 18  # n d² up to which all other rows are summarised again, which repeats a refit to the last digit
DOMINANT = 0.5  # share of a sum of squares: what a row holds more of is not subtracted but summed again
SLACK = 1e-9  # relative difference of weights that rounding explains


class Refits:
    """Estimates without single rows, for rows (n, d) with class numbers and weights (n,) and the statistics of all."""

    def __init__(
        self, rows: Array, stats: GaussianBlock, codes: Codes, weight: Array, family: Family, settings: Settings
    ) -> None:
        self.rows, self.stats, self.codes, self.weight = rows, stats, codes, weight
        self.family, self.settings = family, settings
        self.k = len(stats.column_weight())
        if isinstance(stats, FourthMomentStats) and stats.is_pooled:
            raise MergeError.moments_added_up(self.k)
        self._whole = stats.gaussian if isinstance(stats, FourthMomentStats) else stats
        self._complete = self._has_all_rows()

    def _has_all_rows(self) -> bool:
        """Return whether the statistics are those of the given rows and no others."""
        found = np.zeros_like(self._whole.column_weight())
        np.add.at(found, self.codes, np.where(np.isnan(self.rows), 0.0, self.weight[:, None]))
        return bool(np.allclose(found, self._whole.column_weight(), rtol=SLACK, atol=0.0))

    def log_density(self, i: int) -> Array:
        """Return the log density of row i under every class of an estimate without it (k,), in nats."""
        try:
            density, _ = self.family.estimate(self.without(i), self.settings)
        except np.linalg.LinAlgError:  # the row was never among those of the statistics
            raise NotLearnedError("what is left without it varies less than not at all", int(self.codes[i])) from None
        return np.asarray(density.log_density(self.rows[i : i + 1])[0])

    def without(self, i: int) -> Any:
        """Return the statistics without row i: summed up again where subtracting would cost digits, if they can be."""
        n, d = self.rows.shape
        if self._complete and (n * d * d <= SMALL or not self._is_minor(i)):
            others = np.flatnonzero((np.arange(n) != i) & (self.weight > 0))
            return self.family.summarize(self.rows[others], self.codes[others], self.k, self.weight[others])
        row = self.family.summarize(self.rows[i : i + 1], self.codes[i : i + 1], self.k, self.weight[i : i + 1])
        return self.stats.merge(_negative(row))

    def _is_minor(self, i: int) -> bool:
        """Return whether no sum of squares loses more than the share DOMINANT with row i."""
        whole = self._whole
        if isinstance(whole, PatternStats):
            if whole.incomplete:
                return False
            whole = whole.complete
        if not isinstance(whole, GaussianStats):
            return False
        c = int(self.codes[i])
        count = whole.column_weight()[c]
        left = count - self.weight[i]
        if (left < DOMINANT * count).any() or whole.dense() is not whole:
            return False
        squares = whole.scatter.diagonal(self.k)
        lost = self.weight[i] * count / left * np.nan_to_num(self.rows[i] - whole.mean[c]) ** 2
        return bool((lost <= DOMINANT * squares[min(c, len(squares) - 1)]).all())


def _negative(stats: Any) -> Any:
    """Return the statistics of one row with its weight negative: merged into others, they take the row out again."""
    if isinstance(stats, FourthMomentStats):
        return replace(stats, gaussian=_negative(stats.gaussian.dense()))
    if isinstance(stats, PatternStats):
        parts = {pattern: (present, _negative(part)) for pattern, (present, part) in stats.incomplete.items()}
        return replace(stats, complete=_negative(stats.complete), incomplete=parts)
    whole = stats.dense()
    return replace(whole, weight=-whole.weight)
