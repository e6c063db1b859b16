"""Leave-one-out of a whole model: exactly, by closed forms, or by refits of rows, families and groups without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from .._arrays import Array, Codes, np, parallel_map
from ..densities import Full, Gaussian, Rows, as_density
from ..errors import DataError, NotLearnedError, SettingError, quoted
from ..estimate import Block, Family, Settings
from ..estimate.families import GaussianFamily
from ..estimate.priors import plain_smoothing
from ..joint import normalize
from ..notes import Kind, Note
from ..stats import ByClass, CompletedStats, GaussianStats, LowRankScatter, PatternStats
from ..stats.reservoir import SAME_WEIGHT
from ..stats.rows import take_blocks, take_rows
from . import downdate, predictive, side_by_side

# ── Leave-one-out by refits: for rows and families without a closed form, and for groups of rows ──────────────────────


GaussianBlock = GaussianStats | PatternStats | CompletedStats

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
        return bool(np.allclose(found, self.stats.column_weight(), rtol=SAME_WEIGHT, atol=0.0))

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


# ── Exact leave-one-out of a whole model ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Learned:
    """A model as it was learned: its blocks, what their estimates are told, its statistics, and its rule for priors.

    `log_prior` turns class weights (k,) into log π (k,) in nats.
    """

    blocks: Sequence[Block]
    settings: Sequence[Settings]
    statistics: ByClass
    log_prior: Callable[[Array], Array]


class Parts(NamedTuple):
    """Log densities of rows without themselves: order and log coefficient (n, k), see `Categorical.limit`."""

    order: Array
    score: Array


def leave_one_out(learned: Learned, rows: Rows, codes: Codes, weight: Array | None = None) -> Array:
    """Return log p(y = k | x) of each row under the model of all other rows, (n, k) in nats.

    `rows` has one entry per block, as its family encoded it; `codes` (n,) are class numbers, `weight` (n,) row weights,
    all of which leaves. A class whose only row leaves has posterior 0 for it: a refit would not know the class. Where
    every class gives a row density zero, the answer is the limit for vanishing smoothing, as in `joint`.
    DataError for a row that cannot be in the statistics, or without which no class is left.
    """
    prior = log_priors(learned, codes, weight)
    parts = log_densities(learned, rows, codes, weight)
    scores = np.where(parts.order > 0, -np.inf, parts.score) + prior
    return normalize(scores, prior, lambda chosen: (parts.order[chosen], parts.score[chosen] + prior[chosen]))


def leave_groups_out(learned: Learned, rows: Rows, codes: Codes, weight: Array | None, group: Codes) -> Array:
    """Return log p(y = k | x) of each row under the model of all other groups, (n, k) in nats.

    `group` (n,) are numbers; the other arguments are those of `leave_one_out`, by which rows that are a group by
    themselves leave. Where the rows are all that was learned, the others are summed up again, else the group's are
    taken away from the sums. DataError for a group without which no class is left.
    """
    w = np.ones(len(codes)) if weight is None else weight
    size = np.bincount(group)[group]
    out, alone = np.empty((len(codes), len(learned.statistics.weight))), np.flatnonzero(size == 1)
    if len(alone):
        out[alone] = leave_one_out(learned, take_blocks(rows, alone), codes[alone], w[alone])
    order = np.argsort(group, kind="stable")
    members = [own for own in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(own) > 1]
    parts = zip(learned.blocks, learned.settings, learned.statistics.blocks, rows, strict=True)
    refits = [Refits(block.family, part, stats, codes, w, told) for block, told, stats, part in parts]

    def left_out(own: Codes) -> Array:
        return _left_out(learned, refits, codes, w, own)

    for own, found in zip(members, parallel_map(left_out, members, cost=np.inf), strict=True):
        out[own] = found
    return out


def _left_out(learned: Learned, refits: Sequence[Refits], codes: Codes, weight: Array, own: Codes) -> Array:
    """Return log posteriors (m, k) of the rows of one group."""
    total = learned.statistics.weight
    rest = np.maximum(total - np.bincount(codes[own], weights=weight[own], minlength=len(total)), 0.0)
    rest[rest <= SAME_WEIGHT * total] = 0.0
    if not rest.any():
        raise DataError("All rows learned are of one group, and without it there is none. Next: give other groups.")
    prior = np.tile(np.where(rest > 0, learned.log_prior(rest), -np.inf), (len(own), 1))
    order, score = np.sum([refit.limit(own) for refit in refits], axis=0)
    with np.errstate(invalid="ignore"):
        scores = np.where((order > 0) | np.isneginf(prior), -np.inf, score + prior)
    return normalize(scores, prior, lambda some: (order[some], score[some] + prior[some]))


def log_priors(learned: Learned, codes: Codes, weight: Array | None) -> Array:
    """Return the log class priors without each row (n, k), −∞ for a class whose only row it is.

    Empirical priors become (n_c − w) / (N − w) and n_k / (N − w), given ones stay as they are.
    """
    totals, labels = learned.statistics.weight, learned.statistics.classes
    w = np.ones(len(codes)) if weight is None else weight
    over = np.flatnonzero(w > totals[codes] * (1.0 + SAME_WEIGHT))
    if len(over):
        row, code = int(over[0]), int(codes[over[0]])
        why = f"its weight is {w[row]:g}, and that of the whole class {totals[code]:g}"
        raise DataError.not_learned(row, labels[code], why)
    amounts, which = (
        (w[:1], np.zeros(len(w), dtype=np.int64)) if (w == w[:1]).all() else np.unique(w, return_inverse=True)
    )
    kind = codes * len(amounts) + which  # rows of one class and weight leave the same classes
    kinds = np.flatnonzero(np.bincount(kind))
    table = np.empty((len(totals) * len(amounts), len(totals)))
    for i in kinds.tolist():
        rest, own = totals.copy(), i // len(amounts)
        rest[own] = max(rest[own] - amounts[i % len(amounts)], 0.0)
        gone = rest[own] <= SAME_WEIGHT * totals[own]
        if gone:
            rest[own] = 0.0
        if not rest.any():
            raise DataError(
                f"The model has learned a single row, of class {labels[own]!r}, and without it there is none. "
                "Next: give at least two rows."
            )
        table[i] = learned.log_prior(rest)
        if gone:
            table[i, own] = -np.inf
    prior: Array = table[kind]
    lost = np.flatnonzero(np.isneginf(prior).all(axis=1))
    if len(lost):
        raise DataError(
            f"Row {lost[0]} is the only one of class {labels[int(codes[lost[0]])]!r}, and the priors of all other "
            "classes are 0. Next: give other priors, or leave that class out."
        )
    return prior


def log_densities(learned: Learned, rows: Rows, codes: Codes, weight: Array | None) -> Parts:
    """Return the log densities of each row without itself, summed over the blocks."""
    shape = (len(codes), len(learned.statistics.classes))
    total = Parts(np.zeros(shape), np.zeros(shape))
    for block, told, stats, part in zip(learned.blocks, learned.settings, learned.statistics.blocks, rows, strict=True):
        order, score = block_log_densities(block, told, stats, part, codes, weight)
        np.add(total.score, score, out=total.score)
        if order is not None:
            np.add(total.order, order, out=total.order)
    return total


def block_log_densities(
    block: Block, settings: Settings, stats: Any, rows: Any, codes: Codes, weight: Array | None
) -> tuple[Array | None, Array]:
    """Return (order or None, log density or coefficient), (n, k) each, of the rows of one block without themselves."""
    family = block.family
    if isinstance(family, GaussianFamily):
        return None, gaussian_leave_one_out(rows, stats, codes, weight, family, settings)
    alpha = plain_smoothing(settings.smoothing)
    if alpha is None:  # pseudo-counts by column, or by the shares of all rows, which lose the row as well
        return refit_limit(family, rows, stats, codes, weight, settings)
    settings = replace(settings, smoothing=alpha)
    closed = family.leave_one_out_limit(family.recode(rows, stats), stats, codes, weight, settings)
    if closed is not None:
        return closed
    return refit_limit(family, rows, stats, codes, weight, settings)


def gaussian_leave_one_out(
    rows: Array, stats: GaussianBlock, codes: Codes, weight: Array | None, family: GaussianFamily, settings: Settings
) -> Array:
    """Return log p(x | k) of each row under the estimate that all other rows would give, (n, k) in nats.

    Row i leaves with its whole weight; means, covariances, divisors, shrinkage and every repair are those of an
    estimate from what is left, also for other classes where they share a covariance or part of one. `rows` (n, d)
    are encoded, NaN where missing, `codes` (n,) their class numbers, `weight` (n,) their weights (None: ones);
    `stats` are those of these rows, and perhaps of more. A class whose only row leaves is then one without rows.

    What it costs beyond one pass of scoring:

    - full covariances without shrinkage, own, shared or partly pooled: nothing that grows with d (rank-one updates);
    - independent columns and spheres, missing cells as well: O(d) for each row, k times that if classes pool;
    - a fixed amount, RDA with an amount, "oas": a d × d factor for each row, k times that if classes pool;
    - full covariances under a conjugate prior: a d × d factor for each row and class, as its B loses the row too;
    - EM, started afresh: where cells are missing and covariances are full; for many rows side by side unless shrunk;
    - a refit from the statistics without the row: for "ledoit-wolf"; for tables wider than long; for rows without which
      a class has no row, or what is left of its scatter is nearly singular; and for all rows where a column has (next
      to) no variation within a class, whose repair refers to the variance within all classes.

    Fukunaga & Hummels (1989), doi:10.1109/34.31448; Sherman & Morrison (1950), doi:10.1214/aoms/1177729893.
    """
    w, shared = np.ones(len(rows)) if weight is None else weight, family.shared
    estimated: tuple[Any, Sequence[Note]] = family.estimate(stats, settings)
    density, notes = estimated
    moments = _moments(stats)
    if moments is not None and settings.prior is not None:
        scores, sure = predictive.without_row(rows, codes, w, moments, density, family, settings.prior.settled())
    elif isinstance(stats, PatternStats) and not notes and _is_plain(stats, density, settings):
        scores, sure = side_by_side.without_row(rows, codes, w, stats, density, settings, shared)
    elif moments is None or settings.kept is not None or not downdate.comfortable(moments, density, settings, shared):
        scores, sure = density.log_density(rows), np.zeros(len(rows), dtype=bool)
    else:
        scores, sure = downdate.without_row(rows, codes, w, moments, density, family, settings)
    leaves_nothing = (w == 0) | np.isnan(rows).all(axis=1)
    again = np.flatnonzero(~sure & ~leaves_nothing)
    if leaves_nothing.any():
        scores[leaves_nothing] = density.log_density(rows[leaves_nothing])
    if len(again):
        refits = Refits(family, rows, stats, codes, w, settings)
        for i, found in zip(again, parallel_map(refits.limit, again[:, None]), strict=True):
            scores[i] = found[1]
    return np.asarray(scores)


def _moments(stats: GaussianBlock) -> GaussianStats | None:
    """Return the statistics that estimates are made from, or None where there is more to it than division."""
    if isinstance(stats, PatternStats) and not stats.incomplete:
        stats = stats.complete
    return stats if isinstance(stats, GaussianStats) and not isinstance(stats.scatter, LowRankScatter) else None


def _is_plain(stats: PatternStats, density: Gaussian, settings: Settings) -> bool:
    """Return whether cells are missing and the covariances of all columns are full, and nothing but those of EM."""
    everything = isinstance(density.covariance, Full) and len(density.used) == stats.d
    return everything and bool(stats.incomplete) and settings.shrinkage.setting is None and settings.prior is None


def refits_needed(learned: Learned, notes: Sequence[Note], rows: int) -> float:
    """Return about how many small refits leave-one-out of so many of the learned rows takes.

    Gaussian blocks are estimated again for each row where cells are missing under a full covariance, or where the
    `notes` of estimates tell of repairs. A refit of one pattern of cells in ten columns counts as one, about a
    millisecond; under a prior as five, for EM climbs twice, and row by row (60 to 200 rows of 4 to 10 columns: 3 to 7
    times as long); where EM came near a singular covariance, and hundreds of steps are made, as fifty (60 rows: 85).
    """
    slow = any(note.kind in (Kind.SECURED, Kind.STOPPED_EARLY) for note in notes)
    total = 0.0
    for stats, told in zip(learned.statistics.blocks, learned.settings, strict=True):
        patterns = len(stats.incomplete) if isinstance(stats, PatternStats) else 0
        if isinstance(stats, GaussianStats | PatternStats) and (patterns or notes):
            weight = stats.column_weight()
            climbs = patterns * (50.0 if slow else 5.0 if told.prior is not None else 1.0) or 1.0  # no holes: no EM
            total += float(weight.max(axis=1).sum()) * climbs * (1.0 + weight.shape[1] ** 2 / 100.0)
    return total * rows / max(learned.statistics.total, 1.0)
