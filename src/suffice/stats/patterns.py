"""Gaussian statistics of rows with missing cells: one set per pattern of observed columns, or completed.

Rows that miss the same cells share their statistics, so they merge like all others, and maximum likelihood by EM
(`em.cells`) needs these statistics alone, never the rows again. Where patterns are too many to keep, passes over the
rows complete the statistics of all (`CompletedStats`): what cells were expected to hold belongs to the fit that
expected it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn, Self

from .._arrays import Array, Codes, by_key, np, pattern_groups
from ..errors import DataError, MergeError, NotLearnedError, either, setting
from ._downdate import faded
from .gaussian import WIDE, GaussianStats
from .scatter import FullScatter, PooledScatter, Scatter, gather, spread
from .statistic import Fields, Plain, Statistic, amounts, at_most, codes as codes_below, grouped, places

Pattern = tuple[int, ...]  # positions of the observed columns
MAX_CELLS = 1 << 27  # 1 GiB of scatters for incomplete patterns
MAX_OWN_CELLS = 1 << 24  # 128 MiB of what each class adds to pooled ones


@dataclass(frozen=True, slots=True)
class CompletedStats(Statistic):
    """Statistics with every missing cell at what it was expected to hold, and the weight of observed cells (k, d).

    `steps` are the passes made, `moved` how far the last one still moved a parameter (0: EM converged), in units of the
    columns' standard deviations; `secured` (k,) marks classes whose covariance was kept from becoming singular.
    """

    complete: GaussianStats
    observed: Array
    secured: Array
    steps: int = 0
    moved: float = 0.0

    @property
    def k(self) -> int:
        return len(self.observed)

    @property
    def d(self) -> int:
        return int(self.observed.shape[1])

    def merge(self, other: object) -> NoReturn:
        """Raise MergeError: what was expected of one part's cells depends on the other part."""
        raise MergeError.completed()

    def subtract(self, other: object) -> NoReturn:
        """Raise MergeError: what was expected of the other rows' cells depends on the rows to be forgotten."""
        raise MergeError.completed()

    def scale(self, factor: float) -> Self:
        return replace(self, complete=self.complete.scale(factor), observed=faded(self.observed, factor))

    def regroup(self, index: Codes, k: int) -> Self:
        kept, secured = index >= 0, np.zeros(k)
        np.maximum.at(secured, index[kept], self.secured[kept])
        observed = gather(self.observed, index, k)
        return replace(self, complete=self.complete.regroup(index, k), observed=observed, secured=secured)

    def place(self, index: Sequence[int], k: int) -> Self:
        moved = spread(self.observed, index, k), spread(self.secured, index, k)
        return type(self)(self.complete.place(index, k), *moved, self.steps, self.moved)

    @property
    def incomplete(self) -> Mapping[tuple[int, ...], tuple[Codes, GaussianStats]]:
        """The statistics of patterns of missing cells: none, as all cells are filled."""
        return {}

    def parts(self) -> tuple[GaussianStats]:
        return (self.complete,)

    def column_weight(self) -> Array:
        return self.observed

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.complete.arrays()
        own = {"observed": self.observed, "secured": self.secured}
        return fields | own, {"complete": plain, "steps": self.steps, "moved": self.moved}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        complete = GaussianStats.from_arrays(fields, plain["complete"])
        k, d = complete.mean.shape
        observed, secured, steps, moved = fields["observed"], fields["secured"], plain["steps"], plain["moved"]
        amounts(observed, k, d), amounts(secured, k)
        if not at_most(observed, complete.column_weight()) or (secured > 1).any():
            raise ValueError("weights of completed statistics")
        if type(steps) is not int or steps < 0 or type(moved) not in (int, float) or not 0 <= moved < np.inf:
            raise ValueError("steps of completed statistics")
        return cls(complete, observed, secured, steps, float(moved))


class TooManyPatternsError(DataError):
    """The statistics of all patterns would not fit into `MAX_CELLS`."""


@dataclass(frozen=True, slots=True)
class PatternStats(Statistic):
    """Statistics of the complete rows, and of each pattern of observed columns for the classes that show it.

    `incomplete[pattern]` is (present, stats): class numbers (m,) in ascending order, and the `GaussianStats` of the
    observed columns for these m classes. A row with no observed cell leaves no trace here.
    """

    complete: GaussianStats
    incomplete: Mapping[Pattern, tuple[Codes, GaussianStats]]

    @property
    def k(self) -> int:
        return len(self.complete.weight)

    @property
    def d(self) -> int:
        return int(self.complete.mean.shape[1])

    @classmethod
    def zero(cls, k: int, d: int, form: type[Scatter] = FullScatter) -> Self:
        return cls(GaussianStats.zero(k, d, form), {})

    @classmethod
    def summarize(
        cls,
        rows: Array,
        codes: Codes | None = None,
        k: int = 1,
        weight: Array | None = None,
        form: type[Scatter] = FullScatter,
    ) -> Self:
        """Return the statistics of a batch (n, d) with missing cells as NaN; see `GaussianStats.summarize`."""
        stats = GaussianStats.summarize(rows, codes, k, weight, form)
        if np.isfinite(stats.mean).all():  # a missing cell would have made its class mean NaN
            return cls(stats, {})
        codes = np.zeros(rows.shape[0], dtype=np.int8) if codes is None else codes
        whole = GaussianStats.zero(k, rows.shape[1], form)
        groups = list(pattern_groups(~np.isnan(rows)))
        _check_bound(
            len(groups), sum(_cells(observed, codes[index], rows.shape[1], form) for observed, index in groups)
        )
        parts: dict[Pattern, tuple[Codes, GaussianStats]] = {}
        for observed, index in groups:
            if len(index) == 1 and 0 < len(observed) < min(rows.shape[1], WIDE):
                one = np.ones(1) if weight is None else weight[index].astype(np.float64)
                cells = rows[np.ix_(index, observed)].astype(np.float64)
                single = GaussianStats(one, cells, form.zero(1, len(observed)), form)
                parts[tuple(observed.tolist())] = codes[index].astype(np.int64), single
                continue
            members, w = codes[index], None if weight is None else weight[index]
            if len(observed) == rows.shape[1]:
                whole = GaussianStats.summarize(rows[index], members, k, w, form)
            elif len(observed):
                present, local = np.unique(members, return_inverse=True)
                cells = rows[np.ix_(index, observed)]
                parts[tuple(observed.tolist())] = (
                    present.astype(np.int64),
                    GaussianStats.summarize(cells, local, len(present), w, form),
                )
        return cls(whole, dict(sorted(parts.items())))._bounded()

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both.

        MergeError where the other side's cells were filled in by passes, TooManyPatternsError beyond the bound.
        """
        if isinstance(other, CompletedStats):
            raise MergeError.completed()
        parts = dict(self.incomplete)
        for pattern, part in other.incomplete.items():
            parts[pattern] = _merge_present(parts[pattern], part) if pattern in parts else part
        return type(self)(self.complete.merge(other.complete), dict(sorted(parts.items())))._bounded()

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; see `GaussianStats.subtract`.

        NotLearnedError where no row of a class showed just the cells that one of `other` shows.
        """
        parts = dict(self.incomplete)
        for pattern, (present, stats) in other.incomplete.items():
            known, whole = self.incomplete.get(pattern, (np.zeros(0, dtype=np.int64), stats))
            strange = np.setdiff1d(present[stats.weight > 0], known)
            if len(strange):
                absent = [j for j in range(self.d) if j not in pattern]
                raise NotLearnedError("no row with just these cells missing was there", int(strange[0]), absent)
            try:
                left = whole.subtract(stats.place(np.searchsorted(known, present).tolist(), len(known)))
            except NotLearnedError as error:
                code = None if error.code is None else int(known[error.code])
                raise NotLearnedError(error.why, code, [pattern[j] for j in error.columns]) from None
            parts[pattern] = with_rows(known, left)
        kept = {pattern: part for pattern, part in parts.items() if len(part[0])}
        return type(self)(self.complete.subtract(other.complete), kept)

    def scale(self, factor: float) -> Self:
        scaled = {p: with_rows(present, stats.scale(factor)) for p, (present, stats) in self.incomplete.items()}
        parts = {pattern: part for pattern, part in scaled.items() if len(part[0])}
        return type(self)(self.complete.scale(factor), parts)

    def regroup(self, index: Codes, k: int) -> Self:
        parts = {}
        for pattern, (present, stats) in self.incomplete.items():
            target = index[present]
            own = np.unique(target[target >= 0])
            if len(own):
                local = np.where(target >= 0, np.searchsorted(own, target), -1)
                parts[pattern] = (own.astype(np.int64), stats.regroup(local, len(own)))
        return type(self)(self.complete.regroup(index, k), parts)

    def place(self, index: Sequence[int], k: int) -> Self:
        moved = {}
        for pattern, (present, stats) in self.incomplete.items():
            target = np.asarray(index, dtype=np.int64)[present]
            ascending = np.sort(target)
            moved[pattern] = (ascending, stats.place(np.searchsorted(ascending, target).tolist(), len(target)))
        return type(self)(self.complete.place(index, k), moved)

    def _bounded(self) -> Self:
        _check_bound(len(self.incomplete), sum(stats.scatter.values.size for _, stats in self.incomplete.values()))
        own = sum(stats.scatter.own_size for _, stats in self.incomplete.values())
        return self if own <= MAX_OWN_CELLS else self._without_own()

    def _without_own(self) -> Self:
        """Return the statistics with pooled scatters that do not remember their classes, of which none can leave."""
        parts = {
            pattern: (present, replace(stats, scatter=PooledScatter(stats.scatter.values)))
            if isinstance(stats.scatter, PooledScatter)
            else (present, stats)
            for pattern, (present, stats) in self.incomplete.items()
        }
        return type(self)(self.complete, parts)

    def parts(self) -> tuple[GaussianStats, ...]:
        """Return the statistics of the complete rows and of each pattern."""
        return (self.complete, *(stats for _, stats in self.incomplete.values()))

    def dense(self) -> Self:
        parts = {pattern: (present, stats.dense()) for pattern, (present, stats) in self.incomplete.items()}
        return type(self)(self.complete.dense(), parts)

    def column_weight(self) -> Array:
        weight = self.complete.column_weight().copy()
        for pattern, (present, stats) in self.incomplete.items():
            weight[np.ix_(present, np.asarray(pattern))] += stats.weight[:, None]
        return weight

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.complete.arrays()
        saved: Plain = {"complete": plain, "incomplete": []}
        for number, (pattern, (present, stats)) in enumerate(self.incomplete.items()):
            part, settings = stats.arrays()
            fields |= {f"p{number}_{name}": values for name, values in part.items()}
            fields[f"p{number}_present"] = present.astype(np.int64)
            saved["incomplete"].append({"pattern": list(pattern), **settings})
        return fields, saved

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        parts: dict[Pattern, tuple[Codes, GaussianStats]] = {}
        complete = GaussianStats.from_arrays(fields, plain["complete"])
        k, d = complete.mean.shape
        groups = grouped(fields, "p")
        for number, settings in enumerate(plain["incomplete"]):
            own, pattern = groups[str(number)], places(settings["pattern"], d)
            present = codes_below(own["present"], k, None)
            stats = GaussianStats.from_arrays(own, settings)
            right = len(pattern) and len(present) and stats.form is complete.form and (stats.weight > 0).all()
            right = right and stats.mean.shape == (len(present), len(pattern)) and (np.diff(present) > 0).all()
            if not right or pattern in parts or len(pattern) == d:
                raise ValueError("patterns")
            parts[pattern] = (present, stats)
        return cls(complete, parts)


def _cells(observed: Codes, codes: Codes, d: int, form: type[Scatter]) -> int:
    """Return how many numbers the scatters of an incomplete pattern take."""
    if len(observed) in (0, d):
        return 0
    if len(observed) >= WIDE and len(codes) <= len(observed):  # kept as rows
        return len(observed) * len(codes)
    one = len(codes) == 1 or form.name == "pooled"
    return len(observed) ** 2 * (1 if one else len(np.unique(codes)))


def _check_bound(patterns: int, cells: int) -> None:
    if cells > MAX_CELLS:
        raise TooManyPatternsError(
            f"The missing cells form {patterns:,} patterns, whose statistics would need {cells * 8 / 2**30:.1f} GiB "
            f"(the limit is {MAX_CELLS * 8 / 2**30:.0f} GiB). Next: {either('call fit', 'run `suffice fit`')} on all "
            "rows together, which then makes passes over them, or use "
            f"{setting('covariance', 'diagonal')} or {either('NaiveBayes', '--model nb')}, which count cells one by "
            "one."
        )


def with_rows(present: Codes, stats: GaussianStats) -> tuple[Codes, GaussianStats]:
    """Return the classes that still have rows, and their statistics."""
    kept = stats.weight > 0
    if kept.all():
        return present, stats
    index = np.where(kept, np.cumsum(kept) - 1, -1)
    return present[kept], stats.regroup(index, int(kept.sum()))


def _merge_present(a: tuple[Codes, GaussianStats], b: tuple[Codes, GaussianStats]) -> tuple[Codes, GaussianStats]:
    """Merge statistics that cover different subsets of the classes."""
    present = np.union1d(a[0], b[0])
    placed = [stats.place(np.searchsorted(present, own).tolist(), len(present)) for own, stats in (a, b)]
    return present, placed[0].merge(placed[1])


# ── All patterns with equally many observed columns at once ───────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class PatternGroup:
    """The statistics of all patterns with equally many observed columns, s of them, shown by e pairs with a class."""

    observed: Codes  # (s, o)
    pattern: Codes  # (e,)
    owner: Codes  # (e,)
    weight: Array  # (e,)
    mean: Array  # (e, o)
    parts: Sequence[GaussianStats]  # of each pattern

    @cached_property
    def scatter(self) -> Array:
        """Scatters (e, o, o), or (s, o, o) where they are pooled over classes."""
        own = [part.dense().scatter.values for part in self.parts]
        return np.stack(own) if own[0].ndim == 2 else np.concatenate(own)

    @property
    def squares(self) -> Array:
        """Sums of squares (e, o), or (s, o) where they are pooled over classes."""
        own = (part.scatter.diagonal(len(part.weight)) for part in self.parts)
        pooled = self.parts[0].form is PooledScatter
        return np.concatenate([part.sum(axis=0, keepdims=True) if pooled else part for part in own])


def groups_of(stats: PatternStats) -> list[PatternGroup]:
    """Return the statistics by the number of observed columns, the complete rows last."""
    alike = by_key((len(pattern), (pattern, *part)) for pattern, part in stats.incomplete.items())
    if stats.complete.weight.any():
        alike[stats.d] = [(tuple(range(stats.d)), *with_rows(np.arange(stats.k), stats.complete))]
    return [_group(*zip(*own, strict=True)) for _, own in sorted(alike.items())]


def _group(patterns: Sequence[Pattern], present: Sequence[Codes], parts: Sequence[GaussianStats]) -> PatternGroup:
    return PatternGroup(
        np.array(patterns, dtype=np.int64),
        np.repeat(np.arange(len(patterns)), [len(own) for own in present]),
        np.concatenate(present),
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.mean for part in parts]),
        parts,
    )


def rows_seen(stats: GaussianStats | PatternStats | CompletedStats) -> Array:
    """Return the weight (k,) of the rows of which any cell is known; where each column has its own, the largest."""
    if stats.complete.weight.ndim == 2:
        return np.asarray(stats.complete.weight.max(axis=1))
    weight = stats.complete.weight.copy()
    for present, part in stats.incomplete.values():
        weight[present] += part.weight
    return weight


def observed_cells(stats: PatternStats, groups: Sequence[PatternGroup] | None = None) -> tuple[Array, Array, Array]:
    """Return weight and mean (k, d) of the observed cells, and their squares about these, (k, d), or pooled (1, d).

    The `groups` are those of `groups_of`, where they are made already.
    """
    groups, pooled = groups_of(stats) if groups is None else groups, stats.complete.form is PooledScatter
    center, (weight, mean, squares) = np.zeros(stats.d), np.zeros((3, stats.k, stats.d))
    pairs = [(group, (group.owner[:, None], group.observed[group.pattern])) for group in groups]
    for group, at in pairs:
        np.add.at(weight, at, group.weight[:, None])
    total, safe = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0), np.where(weight > 0, weight, 1.0)
    for group, (_, columns) in pairs:
        np.add.at(center, columns, group.weight[:, None] * group.mean / total[columns])
    for group, at in pairs:  # about a number near the values, so that an offset costs no digits
        np.add.at(mean, at, group.weight[:, None] * (group.mean - center[at[1]]))
    mean = np.where(weight > 0, center + mean / safe, 0.0)
    for group, at in pairs:
        np.add.at(squares, at, group.weight[:, None] * (group.mean - mean[at]) ** 2)
        np.add.at(squares, (np.zeros_like(group.observed), group.observed) if pooled else at, group.squares)
    return weight, mean, squares.sum(axis=0, keepdims=True) if pooled else squares
