"""Gaussian members judged in folds: where closed forms would judge a row by what its own label had a part in.

Missing cells are completed with the help of the labels, and many columns are seen in directions that the rows span; no
rank-one formula takes a row out of either. So the rows are dealt into five folds, and each is scored by statistics of
all other rows (the sums of all less those of the fold), completed anew. Which fold a row is in depends on the ranks of
its cells and on its class, not on its place or on the columns' units and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

from .._arrays import Array, Codes, np, row_chunks
from ..densities import MultivariateT
from ..errors import NotLearnedError
from ..leave_one_out.wishart import SPHERES, STRENGTHS, WishartClasses
from ..stats import FullScatter, GaussianStats, PatternStats
from ..stats.rows import Keys, mixed
from .columns import Reading
from .completion import complete_each, fill_blindly
from .mixed_rows import Hidden, MixedRows
from .sample import Sample, SomeRows

FOLDS = 5
CHUNK_ROWS = 1 << 16
SAME = 1e-9  # relative difference of weights that rounding makes
SPANNED = 1e-8  # singular value, relative to the largest, of a direction in which rows differ


def deal(rows: MixedRows, codes: Codes, folds: int = FOLDS) -> Codes:
    """Return the fold (n,) of each row: rows of a class in turn, in an order that their ranks decide."""
    order = np.lexsort((content(rows), codes))
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) % folds
    return place


def content(rows: MixedRows) -> Keys:
    """Return a number (n,) for each row that no increasing change of a column's units alters, nor their order."""
    total = np.zeros(len(rows), dtype=np.uint64)
    for column in (*rows.numbers.T, *rows.levels):
        total += mixed(ranks_of(column))
    return total


def ranks_of(column: Array) -> Keys:
    """Return the rank (n,) of each cell among the different values of its column, from 1."""
    return np.asarray(np.unique(column, return_inverse=True)[1].astype(np.uint64) + np.uint64(1))


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

        They lose each fold. Where cells are filled without labels, or a class would keep less than rounding (a column
        that varies in one fold alone), the sums of the other folds stand for them.
        """
        cells = sample.rows.gaussian(version)
        place, k = deal(sample.rows, sample.codes), stats.k
        members, parts, others, turns = [], [], [], []
        every = [np.flatnonzero(place == v) for v in range(int(place.max(initial=0)) + 1)]
        outs = [summarize_block(version, sample.rows[own], sample.codes[own], k, sample.held[own]) for own in every]
        filled = version in sample.rows.columns.guess
        for v, out in enumerate(outs):
            left = None if filled else _without(stats, out)
            if left is None:
                left = reduce(PatternStats.merge, outs[:v] + outs[v + 1 :], PatternStats.zero(k, stats.d))
            others.append(left)
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
        scores = np.empty((len(self.place), len(self.members[0].stats.weight)))
        for v, (member, own) in enumerate(zip(self.members, self.cells, strict=True)):
            scores[self.place == v] = member.density(strength, sphere).log_density(own)
        return scores


class FoldedAgain:
    """How rows are scored once more by Gaussians of folds, which are made anew when first asked for."""

    def __init__(self, stats: PatternStats, version: str) -> None:
        self.stats, self.version = stats, version
        self._made: tuple[Sample, FoldedGaussians] | None = None
        self._densities: dict[tuple[float, float], list[MultivariateT]] = {}

    def folds(self, sample: Sample) -> FoldedGaussians:
        """Return the Gaussians of the folds of a sample; made once."""
        if self._made is None or not _are_alike(self._made[0], sample):
            self._made = sample, FoldedGaussians.of(self.stats, self.version, sample)
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
        cells = rows.sample.rows.gaussian_without(self.version, hidden)
        out = np.zeros((len(cells), self.stats.k))
        for v, (density, turn) in enumerate(zip(self._densities[strength, sphere], folds.turns, strict=True)):
            own = np.flatnonzero(place == v)
            if len(own):
                mine = cells[own] if turn is None else np.nan_to_num(cells[own]) @ turn
                out[own] = density.log_density(mine)
        return out


def summarize_block(version: str, reading: Reading, codes: Codes, k: int, weight: Array | None) -> PatternStats:
    """Return the statistics of a version of the Gaussian block, cells of very many patterns filled without labels."""
    columns = reading.columns
    if version not in columns.guess:
        cells = columns.gaussian(version, reading)  # not kept: no other statistic reads them
        return PatternStats.summarize(cells, codes, k, weight, FullScatter)
    total = PatternStats.zero(k, columns.width(version))
    heavy = np.ones(len(codes)) if weight is None else weight
    for part in row_chunks(len(codes), CHUNK_ROWS):
        own = codes[part]
        cells, rest = columns.guess[version].fill(columns.gaussian(version, reading[part]), own, k, heavy[part])
        stats = GaussianStats.summarize(cells, own, k, heavy[part], FullScatter).dense()
        open_too = replace(stats, scatter=FullScatter(stats.scatter.values + rest))
        total = total.merge(PatternStats(open_too, {}))
    return total


def _are_alike(one: Sample, other: Sample) -> bool:
    """Return whether two samples hold the same rows, though each has what was read of them by itself."""
    if one is other:
        return True
    pairs = ((one.codes, other.codes), (one.held, other.held), *zip(one.rows.levels, other.rows.levels, strict=True))
    same = all(np.array_equal(*pair) for pair in pairs)
    return same and np.array_equal(one.rows.numbers, other.rows.numbers, equal_nan=True)


def _without(stats: PatternStats, out: PatternStats) -> PatternStats | None:
    """Return the statistics without those of some of the rows; patterns that these alone show need no subtraction.

    None where what is left is less than rounding.
    """
    left, less = dict(stats.incomplete), dict(out.incomplete)
    for pattern, (present, own) in out.incomplete.items():
        known, whole = stats.incomplete[pattern]
        if np.array_equal(known, present) and (whole.weight <= own.weight * (1.0 + SAME)).all():
            del left[pattern], less[pattern]
    try:
        return PatternStats(stats.complete, left).subtract(PatternStats(out.complete, less))
    except NotLearnedError:
        return None


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
