"""Leave-one-out by refits: for rows and families without a closed form, and for groups of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .._arrays import Array, Codes, np
from ..densities import as_density
from ..errors import DataError, NotLearnedError, SettingError, quoted
from ..estimate import Family, Settings
from ..stats import CompletedStats, GaussianStats, PatternStats
from ..stats.rows import take_rows

GaussianBlock = GaussianStats | PatternStats | CompletedStats

SLACK = 1e-9  # relative difference of weights that rounding explains
SMALL = 1 << 18  # n d² up to which all other rows are summarised again, which repeats a refit to the last digit
DOMINANT = 0.5  # share of a sum of squares: what a row holds more of is not subtracted but summed again


@dataclass(eq=False)
class Refits:
    """Estimates of a block of columns without some of its encoded rows, with class numbers and weights (n,).

    `stats` are those of these rows, and perhaps of more.
    """

    family: Family
    rows: Any
    stats: Any
    codes: Codes
    weight: Array
    settings: Settings

    def limit(self, own: Codes) -> tuple[Array, Array]:
        """Return (order, log coefficient) of rows under every class of an estimate without them, (m, k) each.

        Orders are 0, and coefficients log densities in nats, but where a density gives a row probability zero, see
        `densities.Categorical.limit`. DataError for rows that were not learned.
        """
        rows, codes = take_rows(self.rows, own), self.codes[own]
        try:
            left = self._without(own)
            settings = self.settings.without(rows, codes, self.weight[own])
            density = as_density(self.family.estimate(left, settings)[0])
        except np.linalg.LinAlgError:  # the row was never among those of the statistics
            raise NotLearnedError("what is left without it varies less than not at all", int(codes[0])) from None
        return density.limit(self.family.recode(rows, left))

    @cached_property
    def complete(self) -> bool:
        """Whether the statistics are those of the given rows and no others."""
        found = self._sums(np.flatnonzero(self.weight > 0)).column_weight()
        return bool(np.allclose(found, self.stats.column_weight(), rtol=SLACK, atol=0.0))

    def _sums(self, index: Codes) -> Any:
        k = len(self.stats.column_weight())
        return self.family.summarize(take_rows(self.rows, index), self.codes[index], k, self.weight[index])

    def _without(self, own: Codes) -> Any:
        """Return the statistics without some rows: summed up again where subtracting would cost digits, if possible."""
        if "subtract" not in self.stats.edits and not isinstance(self.stats, CompletedStats) and not self.complete:
            raise SettingError(
                f"Columns {quoted(self.settings.columns)} of the family {self.family.name!r} have no closed form for "
                "leave-one-out, and refits need every row the model has learned. Next: pass all of them, with the "
                "labels and weights given to fit; or use cross-validation."
            )
        if not self._is_minor(own) and self.complete:
            others = np.ones(len(self.codes), dtype=bool)
            others[own] = False
            return self._sums(np.flatnonzero(others & (self.weight > 0)))
        part = self._sums(own)
        if isinstance(self.stats, GaussianBlock):  # without a look whether they were there
            return self.stats.merge(_negative(part))
        try:
            return self.stats.subtract(part)
        except NotLearnedError as error:
            i = int(own[0])
            raise DataError.not_learned(i, self.settings.classes[int(self.codes[i])], error.why) from error

    def _is_minor(self, own: Codes) -> bool:
        """Return whether rows are better subtracted: a single one, that holds no sum of squares nearly alone."""
        whole = self.stats
        if len(own) > 1 or "subtract" not in whole.edits:
            return False
        if not isinstance(whole, GaussianBlock):
            return True
        n, d = self.rows.shape
        if isinstance(whole, PatternStats):
            if whole.incomplete:
                return False
            whole = whole.complete
        if n * d * d <= SMALL or not isinstance(whole, GaussianStats) or whole.dense() is not whole:
            return False
        i, c = int(own[0]), int(self.codes[own[0]])
        count = whole.column_weight()[c]
        left = count - self.weight[i]
        if (left < DOMINANT * count).any():
            return False
        squares = whole.scatter.diagonal(len(whole.mean))
        lost = self.weight[i] * count / left * np.nan_to_num(self.rows[i] - whole.mean[c]) ** 2
        return bool((lost <= DOMINANT * squares[min(c, len(squares) - 1)]).all())


def _negative(stats: Any) -> Any:
    """Return the statistics of some rows with their weight negative: merged into others, they take the rows out."""
    if isinstance(stats, PatternStats):
        parts = {pattern: (present, _negative(part)) for pattern, (present, part) in stats.incomplete.items()}
        return replace(stats, complete=_negative(stats.complete), incomplete=parts)
    whole = stats.dense()
    return replace(whole, weight=-whole.weight)


def refit_limit(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> tuple[Array, Array]:
    """Return (order, log coefficient) of each row under every class of an estimate from all other rows, (n, k) each.

    Statistics that can `subtract` lose the row, so `rows` may be some of those they were made from. Others are summed
    up again, which takes all of these rows: SettingError if the weights of their cells do not add up to those of the
    statistics. DataError for a row that was not learned. Rows alike in cells, class and weight share a refit.
    """
    w = np.ones(len(codes)) if weight is None else weight
    refits = Refits(family, rows, stats, codes, w, settings)
    order, score = (np.zeros((len(codes), len(stats.column_weight()))) for _ in range(2))
    group = np.arange(len(codes))
    if isinstance(rows, np.ndarray):
        table = np.column_stack([np.nan_to_num(rows, nan=np.inf), codes, w])
        group = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    first = np.unique(group, return_index=True)[1]
    for i in first:
        order[i], score[i] = refits.limit(np.array([i]))
    return order[first][group], score[first][group]
