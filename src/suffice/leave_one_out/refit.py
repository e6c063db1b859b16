"""Leave-one-out by refits, for families without a closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, np
from ..densities import as_density
from ..errors import DataError, NotLearnedError, SettingError, quoted
from ..estimate import Family, Settings
from ..stats import CompletedStats, GaussianStats, PatternStats
from ..stats.rows import take_rows

SLACK = 1e-9  # relative difference of weights that rounding explains


def refit_limit(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> tuple[Array, Array]:
    """Return (order, log coefficient) of each row under every class of an estimate from all other rows, (n, k) each.

    Orders are 0, and coefficients log densities in nats, but where a density gives a row probability zero, see
    `densities.Categorical.limit`.

    Statistics that can `subtract` lose the row, so `rows` may be some of those they were made from. Others are summed
    up again, which takes all of these rows: SettingError if the weights of their cells do not add up to those of the
    statistics. DataError for a row that was not learned. Rows alike in cells, class and weight share a refit.
    """
    k = len(stats.column_weight())
    if "subtract" not in stats.edits:
        _check_complete(family, rows, stats, codes, weight, settings)
    w = np.ones(len(codes)) if weight is None else weight
    order, score = np.zeros((len(codes), k)), np.empty((len(codes), k))
    for alike in alike_rows(rows, codes, w):
        first = alike[:1]
        if "subtract" in stats.edits:
            one = family.summarize(take_rows(rows, first), codes[first], k, w[first])
            try:
                rest = stats.subtract(one)
            except NotLearnedError as error:
                i = int(first[0])
                raise DataError.not_learned(i, settings.classes[int(codes[i])], error.why) from error
        else:
            others = np.delete(np.arange(len(codes)), first)
            rest = family.summarize(take_rows(rows, others), codes[others], k, w[others])
        density = as_density(family.estimate(rest, settings)[0])
        row = family.recode(take_rows(rows, first), rest)
        order[alike], score[alike] = density.limit(row)
    return order, score


def _check_complete(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> None:
    """Raise SettingError unless the statistics are those of these rows and no others."""
    whole = family.summarize(rows, codes, len(stats.column_weight()), weight).column_weight()
    if not np.allclose(whole, stats.column_weight(), rtol=SLACK, atol=0.0):
        raise SettingError(
            f"Columns {quoted(settings.columns)} of the family {family.name!r} have no closed form for leave-one-out, "
            "and refits need every row the model has learned. Next: pass all of them, with the labels and weights "
            "given to fit; or use cross-validation."
        )


def alike_rows(rows: Any, codes: Codes, weight: Array) -> list[Codes]:
    """Return the numbers of the rows, those that are equal in cells, class and weight together."""
    if not isinstance(rows, np.ndarray):
        return list(np.arange(len(codes))[:, None])
    table = np.column_stack([np.nan_to_num(rows, nan=np.inf), codes, weight])
    _, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]))


GaussianBlock = GaussianStats | PatternStats | CompletedStats

SMALL = 1 << 18  # n d² up to which all other rows are summarised again, which repeats a refit to the last digit
DOMINANT = 0.5  # share of a sum of squares: what a row holds more of is not subtracted but summed again


class Refits:
    """Estimates without single rows, for rows (n, d) with class numbers and weights (n,) and the statistics of all."""

    def __init__(
        self, rows: Array, stats: GaussianBlock, codes: Codes, weight: Array, family: Family, settings: Settings
    ) -> None:
        self.rows, self.stats, self.codes, self.weight = rows, stats, codes, weight
        self.family, self.settings = family, settings
        self.k = len(stats.column_weight())
        self._complete = self._has_all_rows()

    def _has_all_rows(self) -> bool:
        """Return whether the statistics are those of the given rows and no others."""
        found = np.zeros_like(self.stats.column_weight())
        np.add.at(found, self.codes, np.where(np.isnan(self.rows), 0.0, self.weight[:, None]))
        return bool(np.allclose(found, self.stats.column_weight(), rtol=SLACK, atol=0.0))

    def log_density(self, i: int) -> Array:
        """Return the log density of row i under every class of an estimate without it (k,), in nats."""
        try:
            own = slice(i, i + 1)
            settings = self.settings.without(self.rows[own], self.codes[own], self.weight[own])
            density, _ = self.family.estimate(self.without(i), settings)
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
        return self.stats.merge(negative(row))

    def _is_minor(self, i: int) -> bool:
        """Return whether no sum of squares loses more than the share DOMINANT with row i."""
        whole = self.stats
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


def negative(stats: Any) -> Any:
    """Return the statistics of one row with its weight negative: merged into others, they take the row out again."""
    if isinstance(stats, PatternStats):
        parts = {pattern: (present, negative(part)) for pattern, (present, part) in stats.incomplete.items()}
        return replace(stats, complete=negative(stats.complete), incomplete=parts)
    whole = stats.dense()
    return replace(whole, weight=-whole.weight)
