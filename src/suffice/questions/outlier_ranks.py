"""Outlier p-values without a law: the rank among held-out rows (cross-conformal).

The rows that were learned are parted into folds. For each fold there is a model of the rows of all others; it says how
far out the rows of its own fold are, and how far out a new row is. The p-value is the share of all held-out rows that
are at least as far out as the new row, each compared by the model of its own fold (Vovk 2015, Cross-conformal
predictors, doi:10.1007/s10472-013-9368-4). A new row that comes as the learned ones did is exchangeable with those of
every fold, whatever the model is and however wrong, so that p-values are uniform, or a little too large where the
models of the folds differ much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .._arrays import Array, Codes, Flags, np, parallel_map, row_chunks, single_blas_thread
from .._derived import derived
from ..densities import Rows
from ..joint import JointModel
from ..stats.rows import take_blocks
from .outlier_laws import CHUNK_ROWS, NEGLIGIBLE, distances_from, hide, measure, patterns

TIE = 1e-9  # relative difference of distances that rounding explains
TAIL = 0.1  # share of the held-out rows of a class by which its tail goes on
LEAST_TAIL = 5  # rows
LOWEST = 1e-300
MOST_MEASURED = 1_000_000  # cells of held-out rows, of all ways to miss cells together: a forest takes .02 ms for each
LEAST_MEASURED = 50  # held-out rows, for each of these ways
FEW_WAYS, WAYS = 16, 1024  # fewer are measured one by one; so many together
Measured = tuple[Array, Array]  # distances and log posteriors (n, k)


@dataclass(frozen=True, slots=True)
class Fold:
    """A model and rows that it has not seen.

    `classes` are the numbers of the model's classes among all, `index` (m,) those of its rows among the held-out ones,
    `rows` these as the model reads them, no cell missing, and `read` how it reads others as they were encoded.
    """

    model: JointModel
    classes: Codes
    index: Codes
    rows: Rows
    read: Callable[[Rows], Rows]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Rows that were learned, each known to one fold as a row that its model has not seen.

    `codes` (m,) are their class numbers and `weight` (m,) the share of the learned weight that each stands for; they
    count for `size` rows, and those of each class for `class_sizes` (k,). `log_density` (m, k) is what the model of all
    rows says of each class. `known` (m, d) are the cells that were not drawn, None where none were, and `own` (2, m)
    how far out each row is in these alone, over classes and within its own, see `in_own_cells`.
    """

    codes: Codes
    weight: Array
    size: float
    class_sizes: Array
    log_density: Array
    folds: tuple[Fold, ...]
    known: Flags | None = None
    own: Array | None = None

    def thinned(self, most: int) -> HeldOut:
        """Return about so many of the rows, some of each fold and class; all classes count as they did.

        They are chosen without a look at what is in them, so that p-values stay as uniform; they are as fine as rows
        are many.
        """
        step = len(self.codes) // most
        if step <= 1:
            return self
        kept = np.zeros(len(self.codes), dtype=bool)
        for number, fold in enumerate(self.folds):
            order = fold.index[np.argsort(self.codes[fold.index], kind="stable")]
            kept[order[min(number % step, len(order) - 1) :: step]] = True
        for c in np.unique(self.codes):
            rows = np.flatnonzero(self.codes == c)
            if kept[rows].sum() < LEAST_TAIL:
                kept[rows[:LEAST_TAIL]] = True
        every, some = np.bincount(self.codes, self.weight), np.bincount(self.codes[kept], self.weight[kept])
        weight, place, folds = self.weight * (every / np.maximum(some, LOWEST))[self.codes], np.cumsum(kept) - 1, []
        for fold in self.folds:
            own = np.flatnonzero(kept[fold.index])
            folds.append(replace(fold, index=place[fold.index[own]], rows=tuple(take_blocks(fold.rows, own))))
        k = len(self.class_sizes)
        part = np.bincount(self.codes[kept], minlength=k) / np.maximum(np.bincount(self.codes, minlength=k), 1)
        size = self.size * float(kept.mean())
        sizes, density, known = self.class_sizes * part, self.log_density[kept], self.known
        known, far = known if known is None else known[kept], None if self.own is None else self.own[:, kept]
        return HeldOut(self.codes[kept], weight[kept], size, sizes, density, tuple(folds), known, far)


class _Scale:
    """How far out the held-out rows are in some of the columns: a scale (0, 1] on which all classes count alike.

    A distance from class k becomes the share of the class's held-out rows that are as far out, interpolated, and beyond
    the last with an exponential tail. A row's score is the mean of these over its classes, by their posterior. Drawn
    cells are likelier than real ones where densities do not fit, and so do not rank: new rows are compared with those
    that have all of the columns, or where these are few with all rows, each in its own cells.
    """

    def __init__(self, held: HeldOut, way: Flags, distance: Array, posterior: Array) -> None:
        self.held, self.own = held, distance[np.arange(len(distance)), held.codes]
        each = [held.codes == c for c in range(distance.shape[1])]
        self.tails = [_Tail(self.own[mine], held.weight[mine]) for mine in each]
        self.scores = self.score(distance, posterior)
        self.whole = None if held.known is None else (held.known | ~way).all(axis=1)

    @derived
    def within(self) -> Array:
        """The shares (m,) of rows of its own class that are farther out from this than each held-out row."""
        out = np.empty(len(self.own))
        for c, tail in enumerate(self.tails):
            out[self.held.codes == c] = tail.beyond(self.own[self.held.codes == c])
        return out

    def ranks(self, c: int | None = None) -> _Ranks:
        """Return the ranks of held-out rows over all classes, or within class c."""
        held, kept = self.held, np.ones(len(self.own), dtype=bool) if c is None else self.held.codes == c
        here, size = self.scores if c is None else self.within, held.size if c is None else float(held.class_sizes[c])
        if self.whole is not None and held.own is not None:
            whole = self.whole & kept
            if whole.sum() >= LEAST_MEASURED:
                kept, size = whole, size * float(whole.sum() / kept.sum())
            elif whole.sum() < kept.sum():
                here = held.own[0 if c is None else 1]
        index = [fold.index[kept[fold.index]] for fold in held.folds]
        return _Ranks([here[own] for own in index], [held.weight[own] for own in index], size)

    def score(self, distance: Array, posterior: Array) -> Array:
        """Return Σ_k p(k | x) p_k(x), (…), of distances and log posteriors (…, k): small for rows far out."""
        total = np.zeros(distance.shape[:-1])
        for c, tail in enumerate(self.tails):
            rows = posterior[..., c] > NEGLIGIBLE
            total[rows] += np.exp(posterior[rows, c]) * tail.beyond(distance[rows, c])
        return total

    def own_scores(self, c: int, distance: Array, fold: int | None = None) -> Array:
        """Return the shares (n,) of class c that are farther out than rows of these distances from it.

        For rows of a fold it is those of the other folds. Those that have all of the columns stand for the class, if
        these are enough.
        """
        mine = self.held.codes == c
        if fold is not None:
            mine[self.held.folds[fold].index] = False
        if self.whole is not None and (self.whole & mine).sum() >= LEAST_MEASURED:
            mine &= self.whole
        return _Tail(self.own[mine], self.held.weight[mine]).beyond(distance)

    def pvalues(self, distance: Array, posterior: Array, by_class: bool) -> Array:
        """Return the p-values (n,) of new rows that the model of each fold measured, or within each class (n, k)."""
        if not by_class:
            return self.ranks().pvalues(self.score(distance, posterior))
        tails = enumerate(self.tails)
        return np.stack([self.ranks(c).pvalues(tail.beyond(distance[..., c])) for c, tail in tails], axis=1)


class _Ranks:
    """Scores of held-out rows (small: far out) by fold, their weights, and for how many rows they count."""

    def __init__(self, scores: Sequence[Array], weights: Sequence[Array], size: float) -> None:
        total = sum(float(weight.sum()) for weight in weights)
        self.size, self.scores, self.below = size, list[Array](), list[Array]()
        for score, weight in zip(scores, weights, strict=True):
            order = np.argsort(score)
            self.scores.append(score[order] * (1.0 - TIE))
            self.below.append(np.concatenate([[0.0], np.cumsum(weight[order])]) / (total or 1.0))
        self.lowest = min((float(score[0]) for score in self.scores if len(score)), default=1.0)

    def pvalues(self, scores: Array) -> Array:
        """Return the p-values (n,) of new rows of these scores (folds, n)."""
        share = mean = np.zeros(1)
        for score, others, below in zip(scores, self.scores, self.below, strict=True):
            share = share + below[np.searchsorted(others, score, side="right")]
            mean = mean + score / len(scores)
        p = (1.0 + self.size * np.asarray(share)) / (1.0 + self.size)
        return np.asarray(np.minimum(np.where(share > 0, p, p * np.minimum(mean / max(self.lowest, LOWEST), 1.0)), 1.0))


class _Tail:
    """The share of rows that are at least as far out as a distance, of weighted rows at distances (m,)."""

    def __init__(self, distance: Array, weight: Array) -> None:
        order = np.argsort(distance)
        distance, weight = distance[order], weight[order]
        total, m = float(weight.sum()), len(distance)
        if not total:
            self.places = self.shares = np.zeros(0)
            return
        share = np.cumsum(weight[::-1])[::-1] / total * (m / (m + 1.0))
        finite = np.flatnonzero(np.isfinite(distance))
        first = finite[np.diff(distance[finite], prepend=-np.inf) > TIE * np.abs(distance[finite])]  # of equal ones
        self.endless = float(share[len(finite)]) if len(finite) < m else 0.0
        self.places = places = distance[first]
        self.shares = share[first]
        least = max(int(np.ceil(TAIL * len(finite))), LEAST_TAIL)
        far = distance[finite][-least:]
        self.tail = max(float((far - far[0]).mean()), 1e-12) if len(far) else 1.0
        self.near = max(float((places - places[0]).mean()), 1e-12) if len(places) else 1.0

    def beyond(self, distance: Array) -> Array:
        """Return p_k of rows at these distances."""
        if not len(self.places):
            return np.where(np.isposinf(distance), 0.5, 1.0)  # no row of the class says how far its rows are
        found = np.interp(distance, self.places, self.shares)
        far, near = distance > self.places[-1], distance < self.places[0]
        last = self.shares[-1] - self.endless
        with np.errstate(over="ignore"):  # however far
            found[far] = self.endless + last * np.exp((self.places[-1] - distance[far]) / self.tail)
            found[near] = 1.0 - (1.0 - self.shares[0]) * np.exp((distance[near] - self.places[0]) / self.near)
        return np.asarray(found)


def in_own_cells(held: HeldOut, log_prior: Array) -> HeldOut:
    """Return held-out rows that know how far out those that missed cells are in the cells they have.

    They are as many as can be measured in all these ways.
    """
    if held.known is None:
        return held
    d, ways = held.known.shape[1], len(np.unique(held.known, axis=0))
    held = held.thinned(max(MOST_MEASURED // (ways * d), int((MOST_MEASURED / d) ** 0.5), LEAST_MEASURED))
    assert held.known is not None
    groups = _ways(held.known)
    own = np.ones((2, len(held.codes)))
    for scale, (_, index) in zip(_scales(held, [way for way, _ in groups], log_prior), groups, strict=True):
        own[:, index] = scale.scores[index], scale.within[index]
    return replace(held, own=own)


def rank_pvalues(held: HeldOut, rows: Rows, read: Rows, log_prior: Array, by_class: bool = False) -> Array:
    """Return the p-value of each new row (n,), encoded as `rows`; `read` is what the whole model reads of them.

    If `by_class`, those within each class (n, k): the share of its held-out rows that are as far out from it.

    A row that misses cells is compared with the held-out rows in the cells it has; one without a cell has p-value 1.
    Where few held-out rows have all of these, all are ranked by how far out they are in their own (`in_own_cells`).
    Where rows miss cells in very many ways they are compared with fewer, as all of these are measured for each way.
    """
    every = list(patterns(read))
    n, cells = sum(len(index) for _, index in every), sum(len(observed) for observed, _ in every)
    held = held.thinned(max(MOST_MEASURED // max(cells, 1), LEAST_MEASURED))  # each is measured in each way
    out = np.ones((n, len(log_prior)) if by_class else n)
    groups = [(observed, index) for observed, index in every if observed.any()]
    if not groups:
        return out
    read, scales = [fold.read(rows) for fold in held.folds], _scales(held, [way for way, _ in groups], log_prior)
    order, sizes = np.concatenate([index for _, index in groups]), [len(index) for _, index in groups]
    place, way, scale = np.repeat(np.arange(len(groups)), sizes), 0, next(scales)
    for part in row_chunks(len(order), CHUNK_ROWS):

        def measure_by(number: int, own: Codes = order[part]) -> Measured:
            return _measured(held.folds[number], take_blocks(read[number], own), log_prior)

        far, posterior = map(np.stack, zip(*parallel_map(measure_by, range(len(read))), strict=True))
        for here in np.unique(place[part]).tolist():
            if here > way:
                way, scale = here, next(scales)
            mine = np.flatnonzero(place[part] == here)
            out[order[part][mine]] = scale.pvalues(far[:, mine], posterior[:, mine], by_class)
    return out


def _scales(held: HeldOut, ways: Sequence[Flags], log_prior: Array) -> Iterator[_Scale]:
    """Yield how far out the held-out rows are in each of some sets of columns."""
    densities = [fold.model.density.blocks for fold in held.folds]  # of which some measure many ways together
    at_once = len(ways) >= FEW_WAYS and all(len(own) == 1 and own[0].has_ways for own in densities)
    for part in row_chunks(len(ways), WAYS if at_once else max(CHUNK_ROWS // len(held.codes), 1)):
        known = np.array(ways[part], dtype=np.bool_)
        found = np.empty((2, len(known), len(held.codes), len(log_prior)))
        with single_blas_thread():
            for fold in held.folds:
                found[:, :, fold.index] = _in_ways(fold, known, log_prior, at_once)
        yield from map(partial(_Scale, held), known, *found)


def _in_ways(fold: Fold, known: Flags, log_prior: Array, at_once: bool) -> Measured:
    """Return distances and log posteriors (ways, n, k) of the rows of a fold, in each of several sets of columns."""
    w, n = len(known), len(fold.index)
    if at_once:
        density = fold.model.density.blocks[0].in_ways(fold.rows[0], known.astype(np.float64))
        found = _of_all(fold, *distances_from(density.reshape(w * n, -1), _prior(fold, log_prior)), len(log_prior))
    else:
        rows = hide(take_blocks(fold.rows, np.tile(np.arange(n), w)), np.repeat(known, n, axis=0))
        found = _measured(fold, rows, log_prior)
    return found[0].reshape(w, n, -1), found[1].reshape(w, n, -1)


@dataclass(frozen=True, slots=True)
class Learned:
    """Held-out rows, each with how far out it is (m,) of its class in the cells it has, by the model of its own fold.

    Where no cell was missing this is its distance. Else it is minus the share of the class's rows of other folds that
    are farther out in these cells, among `few` of them: in very many ways to miss cells not all can be measured.
    """

    held: HeldOut
    few: HeldOut
    far: Array

    @classmethod
    def make(cls, held: HeldOut) -> Learned:
        """Return held-out rows that know how far out they are."""
        distance = _own_distances(held)
        if held.known is None:
            return cls(held, held, distance)
        ways, far, number = _ways(held.known), -np.ones(len(distance)), np.empty(len(distance), dtype=np.int64)
        few = held.thinned(max(MOST_MEASURED // max(len(ways) * held.known.shape[1], 1), LEAST_MEASURED))
        for i, fold in enumerate(held.folds):
            number[fold.index] = i
        for scale, (_, index) in zip(_scales(few, [way for way, _ in ways], _no_prior(held)), ways, strict=True):
            for i, c in np.unique(np.stack([number[index], held.codes[index]]), axis=1).T.tolist():
                own = index[(number[index] == i) & (held.codes[index] == c)]
                far[own] = -scale.own_scores(c, distance[own], i)
        return cls(held, few, far)

    def shares(self, c: int, far: Array, others: Array) -> tuple[Array, float]:
        """Return the shares (n,) of the rows of class c that are at least as far out, and for how many rows they count.

        `others` (m,) is how far out those held out are.
        """
        rows, weight = np.flatnonzero(self.held.codes == c), self.held.weight
        total = float(weight[rows].sum())
        if not total:
            return np.ones(len(far)), 0.0
        order = rows[np.argsort(others[rows])]
        beyond = np.minimum(np.append(np.cumsum(weight[order][::-1])[::-1], 0.0) / total, 1.0)
        places = np.where(np.isfinite(others[order]), others[order] + TIE * np.abs(others[order]), others[order])
        return beyond[np.searchsorted(places, far, side="left")], self.held.size * total


def own_rank_pvalues(
    learned: Learned, rows: Rows, codes: Codes, place: Codes, apart: Callable[[Codes], Array]
) -> Array:
    """Return the p-value (n,) of each row within its class, for rows that were learned.

    `rows` are as the whole model reads them and `place` (n,) their numbers among the held-out rows, −1 for those of
    which only sums are known: how far out these are without themselves says `apart`, of row numbers with these cells.
    """
    out = np.ones(len(codes))
    for c in np.unique(codes[place >= 0]).tolist():
        mine = np.flatnonzero((codes == c) & (place >= 0))
        out[mine], _ = learned.shares(c, learned.far[place[mine]], learned.far)
    rest = np.flatnonzero(place < 0)
    groups = [(way, rest[own]) for way, own in patterns(take_blocks(rows, rest)) if way.any()] if len(rest) else []
    scales = _scales(learned.few, [way for way, _ in groups], _no_prior(learned.held))
    for scale, (_, index) in zip(scales, groups, strict=True):
        distance = apart(index)
        for c in np.unique(codes[index]).tolist():
            mine = np.flatnonzero(codes[index] == c)
            far, others = distance[mine], scale.own
            if learned.held.known is not None:
                far, others = -scale.own_scores(c, far), learned.far
            share, n = learned.shares(c, far, others)
            out[index[mine]] = (1.0 + n * share) / (1.0 + n)
    return out


def _own_distances(held: HeldOut) -> Array:
    """Return how far out each held-out row (m,) is from its class, in the cells it has, by the model of its fold."""
    out = np.zeros(len(held.codes))
    for fold in held.folds:
        rows = fold.rows if held.known is None else hide(fold.rows, held.known[fold.index])
        distance, _ = _measured(fold, rows, _no_prior(held))
        out[fold.index] = distance[np.arange(len(fold.index)), held.codes[fold.index]]
    return out


def _ways(known: Flags) -> list[tuple[Flags, Codes]]:
    """Return (known columns (d,), row numbers) for each way to miss cells (n, d) but that without any."""
    return [(way, index) for way, index in patterns([np.where(known, 0.0, np.nan)]) if way.any()]


def _no_prior(held: HeldOut) -> Array:
    return np.zeros(len(held.class_sizes))


def _measured(fold: Fold, rows: Rows, log_prior: Array) -> Measured:
    """Return distances and log posteriors (n, k) over all classes by the model of a fold."""
    model = JointModel(fold.model.classes, _prior(fold, log_prior), fold.model.density)
    return _of_all(fold, *measure(model, rows), len(log_prior))


def _prior(fold: Fold, log_prior: Array) -> Array:
    """Return the log priors of the classes that the model of a fold knows; the same for all if these have none."""
    prior = log_prior[fold.classes]
    return np.zeros(len(prior)) if np.isneginf(prior).all() else prior


def _of_all(fold: Fold, distance: Array, posterior: Array, k: int) -> Measured:
    """Return distances and log posteriors over all `k` classes of those over the classes of a fold."""
    if len(fold.classes) == k:
        return distance, posterior
    whole = np.full((len(distance), k), np.inf), np.full((len(distance), k), -np.inf)
    for every, some in zip(whole, (distance, posterior), strict=True):
        every[:, fold.classes] = some
    return whole
