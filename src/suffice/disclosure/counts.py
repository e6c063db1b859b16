"""The minimum count, the record of what was given up for it, and disclosure control of levels, sums and values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._arrays import Array, Flags, np
from ..errors import DataError
from ..stats import CategoricalStats, SumStats, TextStats, ValueStats
from ..stats.texts import TEXTS, TIMES

SLACK = 1e-9  # of a weight, for rounding
ROUNDED = "rounded counts of too few rows to none or to just enough"
RARE = "made missing cells of levels that too few rows have"
RARE_WORDS = "left out words that too few texts of a class have"
SPREAD = "took from other classes what too few rows of a class would tell"
GROUPED = "put means of neighbouring values in the place of single ones"


@dataclass(frozen=True, slots=True)
class MinCount:
    """At least `rows` rows; no row weighs more than `heaviest`, so that a weight W is that of W / heaviest or more."""

    rows: int
    heaviest: float = 1.0

    @property
    def told(self) -> float:
        """A weight that no row exceeds, as it may be told: the power of two above, since the heaviest is of one row."""
        return float(2.0 ** np.ceil(np.log2(self.heaviest) - SLACK))

    @property
    def size(self) -> float:
        """The weight that certainly is that of enough rows."""
        return self.rows * self.heaviest

    def few(self, weight: Array) -> Flags:
        """Return where a weight may be that of too few rows, but not of none."""
        return np.asarray((weight > SLACK * self.heaviest) & (weight < self.size * (1.0 - SLACK)))

    def rounded(self, count: Array) -> Array:
        """Return counts, those of too few rows rounded to nothing or to just enough, whichever is nearer."""
        near = np.where(2.0 * count >= self.size, self.size, 0.0)
        return np.where(self.few(count), near, np.where(count > SLACK * self.heaviest, count, 0.0))


@dataclass(slots=True)
class Given:
    """What was given up: kinds of it, each with the columns of the block (positions) and the class numbers it met."""

    columns: dict[str, set[int]] = field(default_factory=dict)
    classes: dict[str, set[int]] = field(default_factory=dict)

    def up(self, what: str, where: Iterable[int] | Flags | None = None, classes: Iterable[int] | None = None) -> None:
        """Record columns (positions or a mask (k, d)) and classes (numbers); nothing if the mask is empty."""
        columns, numbers = set[int](), set[int]()
        if isinstance(where, np.ndarray) and where.dtype == bool:
            if not where.any():
                return
            where = where[None] if where.ndim == 1 else where
            columns = set(np.flatnonzero(where.any(axis=0)).tolist())
        elif where is not None:
            columns = set(where)
        if classes is not None:
            numbers = {int(c) for c in classes}
        self.columns.setdefault(what, set()).update(columns)
        self.classes.setdefault(what, set()).update(numbers)


def release_categories(stats: CategoricalStats, weight: Array, least: MinCount, given: Given) -> CategoricalStats:
    """Return counts of levels and of missing cells that are 0 or large enough, and add up to the class weights (k,).

    A small count is rounded; what that leaves over are missing cells, or, if these then are too few to be told, cells
    of the commonest level, so that no count follows from the others. Levels that are left with no cell are gone: a name
    that one row has is nowhere in the file.
    """
    levels, counts, missing = [], [], np.zeros_like(stats.missing)
    for j, (own, table) in enumerate(zip(stats.levels, stats.counts, strict=True)):
        rows = [_release_cells(table[c], float(weight[c]), least) for c in range(len(weight))]
        kept = np.array([cells for cells, _ in rows]).reshape(table.shape)
        missing[:, j] = [rest for _, rest in rows]
        if not np.allclose(kept, table, rtol=1e-9, atol=0.0):
            given.up(ROUNDED, [j])
        shown = np.flatnonzero(kept.any(axis=0))
        if len(shown) < int(table.any(axis=0).sum()):
            given.up(RARE, [j])
        levels.append(tuple(own[int(i)] for i in shown))
        counts.append(kept[:, shown])
    return CategoricalStats(tuple(levels), tuple(counts), missing)


def _release_cells(cells: Array, total: float, least: MinCount) -> tuple[Array, float]:
    """Return the counts (levels,) of one class and of its missing cells; together they are `total`."""
    kept = least.rounded(cells)
    rest = total - float(kept.sum())
    if -1e-9 * total <= rest <= 1e-9 * total:
        return kept, 0.0
    if rest >= least.size * (1.0 - 1e-9):
        return kept, rest
    largest = int(np.argmax(kept))
    if kept.size and kept[largest] + min(rest, 0.0) >= least.size:
        kept[largest] += rest
        return kept, 0.0
    return np.zeros_like(kept), total


def release_sums(
    stats: SumStats, weight: Array, least: MinCount, given: Given, support: Array | None, complement: bool
) -> SumStats:
    """Return sums to which no rows or enough of them contribute; `weight` (k,) are those of the classes.

    `support` (k, d) says how many rows have a cell other than 0, None if nobody knows: then the sum is taken for it.
    With a `complement` (cells are 0 or 1) the zeros must be none or enough as well.
    """
    whole = np.broadcast_to(weight[:, None], stats.weight.shape)
    seen, total = stats.weight.copy(), stats.total.copy()
    unseen = least.few(seen)
    gap = least.few(whole - seen) & ~unseen
    total = np.where(gap, total * whole / np.where(seen > 0, seen, 1.0), total)
    seen = np.where(gap, whole, seen)
    shown = total if support is None else np.minimum(total, support * least.heaviest)
    small = least.few(shown) & ~unseen
    total = np.where(small, least.rounded(shown), total)
    if complement:
        zeros = least.few(seen - total) & ~unseen
        total = np.where(zeros, seen - least.rounded(seen - total), total)
        small |= zeros
    rate = _others(total, seen, ~unseen)
    seen, total = np.where(unseen, whole, seen), np.where(unseen, whole * rate, total)
    given.up(ROUNDED, small | gap)
    given.up(SPREAD, unseen)
    return SumStats(seen, total)


def release_texts(stats: TextStats, weight: Array, least: MinCount, given: Given, occurs: bool) -> TextStats:
    """Return counts of words that none or enough of the texts of a class have; words left to no class are gone.

    What a word counts is told once: how often it is used, or, where words only occur, how many texts have it, and how
    many have not. Texts that are too few to be told from the missing ones count as if all rows had one.
    """
    whole = np.broadcast_to(weight[:, None], stats.seen.shape)
    gap = least.few(whole - stats.seen) | least.few(stats.seen)
    seen, words, counts = np.where(gap, whole, stats.seen), [], []
    given.up(ROUNDED, gap)
    for j, (own, table) in enumerate(zip(stats.words, stats.counts, strict=True)):
        if own is None:
            raise DataError(
                "The words of a column of texts are too many to be told apart, and how many texts a count is of is not "
                "known. Next: leave that column out of a model that is released."
            )
        few, told = least.few(table[:, TEXTS]), table[:, TEXTS if occurs else TIMES]
        kept = np.where(few, 0.0, told)
        if occurs:
            absent = least.few(seen[:, [j]] - kept)
            kept = np.where(absent, seen[:, [j]], kept)
        shown = np.flatnonzero(kept.any(axis=0))
        if few.any():
            given.up(RARE_WORDS, [j])
        words.append(tuple(own[int(i)] for i in shown))
        counts.append(np.repeat(kept[:, None, shown], 2, axis=1))
    length = np.stack([own[:, TIMES].sum(axis=1) for own in counts], axis=1)
    return TextStats(tuple(words), tuple(counts), seen, length)


def _others(total: Array, seen: Array, known: Flags) -> Array:
    """Return the mean of each column (d,) over the classes where it is known; 0 where it is in none."""
    held = np.where(known, seen, 0.0).sum(axis=0)
    return np.asarray(np.where(known, total, 0.0).sum(axis=0) / np.where(held > 0, held, 1.0))


def release_values(stats: ValueStats, weight: Array, least: MinCount, given: Given) -> ValueStats:
    """Return counts of the means of groups of neighbouring values, each of enough rows of its class.

    A class with too few values in a column has the groups of the others.
    """
    k, d = stats.width.shape
    middles, groups = stats.middles(), dict[int, tuple[Array, Array]]()
    for cell in range(k * d):
        part = slice(int(stats.bounds[cell]), int(stats.bounds[cell + 1]))
        held = float(stats.weights[part].sum())
        if held >= least.size * (1.0 - 1e-9):
            means, sizes = grouped(middles[part], stats.weights[part], least.size)
            gap = bool(least.few(np.array([weight[cell // d] - held]))[0])
            groups[cell] = means, sizes * (weight[cell // d] / held if gap else 1.0)
            given.up(GROUPED, [cell % d])
    for cell in range(k * d):
        lent = [groups[own] for own in range(cell % d, k * d, d) if own in groups]
        if cell not in groups and stats.bounds[cell + 1] > stats.bounds[cell]:
            given.up(SPREAD, [cell % d])
            values = np.concatenate([own for own, _ in lent] or [np.zeros(0)])
            sizes = np.concatenate([own for _, own in lent] or [np.zeros(0)])
            distinct, place = np.unique(values, return_inverse=True)
            share = np.bincount(place, weights=sizes, minlength=len(distinct))
            if len(share):
                groups[cell] = grouped(distinct, share * (weight[cell // d] / share.sum()), least.size)
    every = [groups.get(cell, (np.zeros(0), np.zeros(0))) for cell in range(k * d)]
    bounds = np.concatenate([[0], np.cumsum([len(values) for values, _ in every])]).astype(np.int64)
    values = np.concatenate([own for own, _ in every] or [np.zeros(0)])
    weights = np.concatenate([own for _, own in every] or [np.zeros(0)])
    return ValueStats(values, weights, bounds, np.zeros((k, d)), stats.limit)


def grouped(values: Array, weights: Array, size: float) -> tuple[Array, Array]:
    """Return means and weights of runs of ascending values, each run of a weight of at least `size` (microaggregation).

    What is left at the upper end joins the last run. Together the values must weigh `size`.
    """
    starts, held = [0], 0.0
    for i, weight in enumerate(weights.tolist()):
        if held >= size * (1.0 - 1e-9):
            starts.append(i)
            held = 0.0
        held += weight
    if len(starts) > 1 and held < size * (1.0 - 1e-9):
        starts.pop()
    sizes = np.add.reduceat(weights, starts)
    low = values[starts]  # sums are taken about each run's first value, so that an offset costs no digits
    runs = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    above = np.add.reduceat(weights * (values - low[runs]), starts)
    return np.asarray(low + above / sizes), np.asarray(sizes)
