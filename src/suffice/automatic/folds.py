"""Gaussian members judged in folds, where a closed form would use the row's own label.

Missing cells are completed with the help of the labels, and many columns are seen in directions that the rows span; no
rank-one formula takes a row out of either. So the rows are dealt into five folds, and each is scored by statistics of
all other rows, completed anew. Which fold a row is in depends on the ranks of its cells and on its class, not on its
place or on the columns' units and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate

from .._arrays import Array, Codes, np, row_chunks
from ..densities import MultivariateT
from ..leave_one_out.wishart import SPHERES, STRENGTHS, WishartClasses
from ..stats import FullScatter, GaussianStats, PatternStats
from ..stats.patterns import Pattern, with_rows
from ..stats.rows import Keys, content as content_of, deal
from ..stats.subsets import digits_left
from .columns import BinnedRows
from .completion import complete_each, fill_blindly
from .sample import Sample, SomeRows
from .table_rows import Hidden, MixedRows

FOLDS = 5
CHUNK_ROWS = 1 << 16
SAME = 1e-9  # relative difference of weights that rounding makes
SPANNED = 1e-8  # singular value, relative to the largest, of a direction in which rows differ


def dealt(sample: Sample, folds: int = FOLDS) -> Codes:
    """Return the fold (n,) of each row of a sample: whole groups together, where there are any."""
    return deal(content(sample.rows), sample.codes, folds) if sample.place is None else sample.place


def by_fold(place: Codes, k: int, scores: Callable[[int, Codes], Array]) -> Array:
    """Return scores (n, k) of rows in folds `place` (n,): `scores` gives those of a fold, and of these of its rows."""
    out = np.empty((len(place), k))
    for fold in range(int(place.max(initial=0)) + 1):
        own = np.flatnonzero(place == fold)
        if len(own):
            out[own] = scores(fold, own)
    return out


def content(rows: MixedRows) -> Keys:
    """Return a number (n,) for each row that no increasing change of a column's units alters, nor their order."""
    texts = rows.texts if isinstance(rows, BinnedRows) else None
    return content_of([rows.numbers, rows.levels, *([] if texts is None else [texts])], len(rows))


@dataclass(frozen=True)
class FoldedGaussians:
    """For each fold the member that all other rows give, and the fold's rows as that member reads them."""

    place: Codes
    members: tuple[WishartClasses, ...]
    cells: tuple[Array, ...]
    turns: tuple[Array | None, ...]  # directions in which rows differ, where these are not all columns

    @classmethod
    def of(cls, stats: PatternStats, version: str, sample: Sample) -> FoldedGaussians:
        """Return those of a sample in a `version` of the Gaussian block, which the `stats` of all rows hold.

        Where cells are filled without labels, what other rows give is summed of these: there is nothing to be completed
        again, and what filled cells leave open is no sum of rows, which could be subtracted to the last digit.
        """
        cells = sample.rows.gaussian(version)
        place, k = dealt(sample), stats.k
        folds = [np.flatnonzero(place == v) for v in range(int(place.max(initial=0)) + 1)]
        held = [summarize_block(version, sample.rows[own], sample.codes[own], k, sample.held[own]) for own in folds]
        filled, none = version in sample.rows.columns.guess, PatternStats.zero(k, stats.d)
        members, parts, turns = [], [], []
        others = without_each(reduce(PatternStats.merge, held, none) if filled else stats, held)
        for v, rest in enumerate(complete_each(others)):
            own = place == v
            turn = _directions(cells[~own]) if np.isfinite(cells).all() else None
            if turn is not None:
                scatter = FullScatter(turn.T @ rest.scatter.values @ turn)
                rest = GaussianStats(rest.weight, rest.mean @ turn, scatter, FullScatter)
            members.append(WishartClasses(rest))
            parts.append(cells[own] if turn is None else cells[own] @ turn)
            turns.append(turn)
        return cls(place, tuple(members), tuple(parts), tuple(turns))

    def path(self, index: Codes) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, F): F (m, k) log densities of some rows, missing cells as all classes together expect them."""
        k, place = len(self.members[0].stats.weight), self.place[index]
        some = [own[np.isin(np.flatnonzero(self.place == v), index)] for v, own in enumerate(self.cells)]
        pairs = zip(self.members, some, strict=True)
        paths = [m.new_rows_path(fill_blindly(own, m.stats), STRENGTHS, SPHERES) for m, own in pairs]
        for each in zip(*paths, strict=True):
            scores = np.empty((len(index), k))
            for v, (_, _, found) in enumerate(each):
                scores[place == v] = found
            yield each[0][0], each[0][1], scores

    def scores(self, strength: float, sphere: float) -> Array:
        """Return log densities (n, k) at one setting, missing cells integrated out."""

        def of_fold(fold: int, own: Codes) -> Array:
            return self.members[fold].density(strength, sphere).log_density(self.cells[fold])

        return by_fold(self.place, len(self.members[0].stats.weight), of_fold)


class FoldedAgain:
    """How rows are scored once more by Gaussians of folds, which are made anew when first asked for."""

    def __init__(self, stats: PatternStats, version: str) -> None:
        self.stats, self.version = stats, version
        self._made: tuple[Sample, FoldedGaussians] | None = None
        self._densities: dict[tuple[float, float], list[MultivariateT]] = {}

    def folds(self, sample: Sample) -> FoldedGaussians:
        """Return the Gaussians of the folds of a sample; made once."""
        made = self._made if self._made and _are_alike(self._made[0], sample) else None
        self._made = sample, made[1] if made else FoldedGaussians.of(self.stats, self.version, sample)
        return self._made[1]

    def at(self, strength: float, sphere: float) -> Callable[[SomeRows, Hidden], Array]:
        """Return what scores rows at one setting of the prior."""
        return partial(self._scores, strength, sphere)

    def _scores(self, strength: float, sphere: float, rows: SomeRows, hidden: Hidden) -> Array:
        """Return log densities (n, k) of some rows, some columns hidden.

        Where folds have directions of their own, these are at their means.
        """
        folds = self.folds(rows.whole)
        place = folds.place[rows.index]
        if (strength, sphere) not in self._densities:
            self._densities[strength, sphere] = [member.density(strength, sphere) for member in folds.members]
        cells, densities = rows.sample.rows.gaussian_without(self.version, hidden), self._densities[strength, sphere]

        def of_fold(fold: int, own: Codes) -> Array:
            turn = folds.turns[fold]
            return densities[fold].log_density(cells[own] if turn is None else np.nan_to_num(cells[own]) @ turn)

        return by_fold(place, self.stats.k, of_fold)


def without_each(stats: PatternStats, parts: Sequence[PatternStats]) -> list[PatternStats]:
    """Return for each part the statistics of all rows but its own.

    Where the parts hold all rows of a class that miss the same cells, that is the merge of the other parts, and nothing
    is subtracted. Where there are more such rows, the part is subtracted from their sums if these lose less than the
    share `MINOR`, so that no digits go; else the rows in the other parts stand for all.
    """
    none = PatternStats.zero(stats.k, stats.d)
    before = accumulate(parts[:-1], PatternStats.merge, initial=none)
    after = [*accumulate(reversed(parts[1:]), PatternStats.merge, initial=none)][::-1]
    others = [one.merge(two) for one, two in zip(before, after, strict=True)]
    return [_without(stats, part, rest) for part, rest in zip(parts, others, strict=True)]


def _without(stats: PatternStats, part: PatternStats, rest: PatternStats) -> PatternStats:
    """Return the statistics of all rows but a part, of whose kept rows `rest` holds the others."""
    left = {}
    for pattern, (present, whole) in stats.incomplete.items():
        found = _left(whole, _shown(part, pattern, present), _shown(rest, pattern, present))
        if found.weight.any():
            left[pattern] = with_rows(present, found)
    return PatternStats(_left(stats.complete, part.complete, rest.complete), left)


def _shown(stats: PatternStats, pattern: Pattern, classes: Codes) -> GaussianStats:
    """Return the statistics of rows with just these cells, over the `classes` that show them among all rows."""
    if pattern not in stats.incomplete:
        return GaussianStats.zero(len(classes), len(pattern))
    present, own = stats.incomplete[pattern]
    return own.place(np.searchsorted(classes, present).tolist(), len(classes))


def _left(whole: GaussianStats, part: GaussianStats, rest: GaussianStats) -> GaussianStats:
    kept = part.weight + rest.weight >= whole.weight * (1.0 - SAME)
    if kept.all():
        return rest
    whole, part, rest = whole.dense(), part.dense(), rest.dense()
    gone = replace(part, weight=-part.weight, scatter=FullScatter(-part.scatter.values))
    less = whole.joined(gone)  # the merge backwards
    minor, flat = digits_left(whole, less)
    own = ~kept & (minor | (part.weight == 0.0))
    varied = np.where(flat[:, :, None] | flat[:, None], 0.0, less.scatter.values)
    scatter = np.where(own[:, None, None], varied, rest.scatter.values)
    mean = np.where(own[:, None], less.mean, rest.mean)
    return GaussianStats(np.where(own, less.weight, rest.weight), mean, FullScatter(scatter))


def summarize_block(version: str, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> PatternStats:
    """Return the statistics of a version of the Gaussian block, cells of very many patterns filled without labels."""
    columns = reading.columns
    if version not in columns.guess:
        cells = columns.gaussian(version, reading)  # not kept: no other statistic reads them
        return PatternStats.summarize(cells, codes, k, weight, FullScatter)
    total = PatternStats.zero(k, columns.width(version))
    weight = np.ones(len(codes)) if weight is None else weight
    for part in row_chunks(len(codes), CHUNK_ROWS):
        cells = columns.gaussian(version, reading[part])
        total = total.merge(PatternStats(columns.guess[version].completed(cells, codes[part], k, weight[part]), {}))
    return total


def _are_alike(one: Sample, other: Sample) -> bool:
    """Return whether two samples hold the same rows, though each has what was read of them by itself."""
    if one is other:
        return True
    pairs = ((one.codes, other.codes), (one.held, other.held), *zip(one.rows.levels, other.rows.levels, strict=True))
    same = all(np.array_equal(*pair) for pair in pairs) and np.array_equal(content(one.rows), content(other.rows))
    return same and np.array_equal(one.rows.numbers, other.rows.numbers, equal_nan=True)


def _directions(rows: Array) -> Array | None:
    """Return orthonormal directions (p, r) in which rows (m, p) differ, or None if these are all there are.

    They are those of the rows about their own mean. The mean itself is no direction: where cells are counted from the
    mean of more rows, it is what the others of these sum up to, and would be seen by the row that is left out.
    """
    if len(rows) > 2 * rows.shape[1]:
        return None
    _, sizes, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    rank = int((sizes > SPANNED * sizes.max(initial=1e-300)).sum())
    return None if rank == rows.shape[1] else np.ascontiguousarray(directions[: max(rank, 1)].T)
