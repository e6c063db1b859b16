"""Averaged one-dependence estimators (AODE): every column in turn is the parent of all others.

f(x | k) = mean over parents u of P(x_u | k) Π_v P(x_v | k, x_u), with P(v | k) = (n_kv + t π_v) / (n_k + t) and
P(v | k, u) = (n_kuv + t P(v | k)) / (n_ku + t), from counts of pairs of levels; numbers are cut into quantile bins.
A missing cell contributes nothing: it is no parent, no child, and in no count. Webb, Boughton & Wang (2005),
doi:10.1007/s10994-005-4258-6. All rows are scored by one product with a table of logs; leaving a row out lowers every
cell it uses by its weight, so the same product with a second table gives the exact leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise, product
from typing import ClassVar

from ..._arrays import IN_MEMORY, Array, Codes, NDArray, log_of, np, parallel_map, row_chunks, rows_within
from ...attribution.explain import Explanation, explain_block
from ...densities import Density
from ...export.program import Pairs, Term
from ...kernels.columns import count_pairs, mean_over_parents, shares_in_orders
from ...notes import Kind, Note
from ..columns import BinnedRows, FrozenColumns
from ..judge import HoldoutScorer
from ..knots import BINS
from ..limits import MOST_PARENTS, PAIR_BYTES, counts_pairs, step_of_rows
from ..member import Candidate, Counts, Inputs, Member, Part, Setting, TrainingStats, gathered
from ..sample import Sample

STRENGTHS = (1.0, 4.0, 16.0)
MANY_LEVELS = 512  # of all columns, from which on a row's pairs of levels are looked up
MOST_ORDERS = 64  # of which log densities are held at once
MOST_WEIGHTS = 8  # rows of so many different weights each get a table of their own, of more their own cells alone

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class OneDependence:
    """Counts of pairs (k, L, L); where each column's levels start, and L; the strength t."""

    pairs: Array
    starts: tuple[int, ...]
    strength: float = 4.0

    @cached_property
    def tables(self) -> tuple[tuple[Array, Floats], ...]:
        """The tables by class for all rows to come, made once.

        These are in double precision, so that new rows score the same wherever the model is exported to; leaving rows
        out, which only compares settings, makes do with single precision.
        """
        return tuple(self._tables(c, self.strength, 0.0, 0.0, np.float64) for c in range(len(self.pairs)))

    def scores(self, levels: Codes) -> Array:
        """Return log f(x | k), (n, k), for new rows given as level numbers (n, p), −1 where missing."""
        out = np.empty((len(levels), len(self.pairs)))
        whole, none = self._looks_up(levels), np.zeros(len(levels))
        for c in range(len(self.pairs)):
            if whole:
                out[:, c] = self._score_cells(levels, c, self.strength, none, none)
            else:
                out[:, c] = self._score(levels, self.tables[c])
        return out

    def by_parent(self, levels: Codes) -> tuple[Array, Array]:
        """Return log P(column j | k, parent u), (k, n, parents, columns), and log P(u | k), (k, n, parents).

        The first is 0 where the column misses, the second −∞ where the parent does.
        """
        seen, none = levels >= 0, np.zeros(len(levels))
        each = [self._cells(levels, c, self.strength, none, none) for c in range(len(self.pairs))]
        alone, given = zip(*each, strict=True)
        return np.where(seen[:, None], np.stack(given), 0.0), np.where(seen, np.stack(alone), -np.inf)

    def left_out(self, levels: Codes, codes: Codes, removed: Array, strength: float) -> Array:
        """Return log f(x | k), (n, k), of rows of class `codes`, each without its weight `removed` (n,)."""
        k = len(self.pairs)
        out = np.empty((len(levels), k))
        amounts, group = np.unique(removed, return_inverse=True)
        if len(amounts) > MOST_WEIGHTS or self._looks_up(levels):
            for c in range(k):
                out[:, c] = self._score_cells(levels, c, strength, np.where(codes == c, removed, 0.0), removed)
            return out
        for (number, amount), c, own in product(enumerate(amounts.tolist()), range(k), (True, False)):
            rows = np.flatnonzero((group == number) & ((codes == c) == own))
            if len(rows):
                tables = self._lowered(c, strength, amount if own else 0.0, amount)
                out[rows, c] = self._score(levels[rows], tables)
        return out

    def _looks_up(self, levels: Codes) -> bool:
        """Return whether the pairs of these rows' own levels are fewer than those of all levels, by far."""
        size, columns = self.starts[-1], levels.shape[1]
        return bool(size >= max(MANY_LEVELS, 8 * columns) and len(levels) * columns**2 <= size**2)

    def _score_cells(self, levels: Codes, c: int, t: float, lost: Array, everywhere: Array) -> Array:
        """Return log f(x | c), (n,), the counts of class c lowered by `lost` (n,), of all by `everywhere` (n,)."""

        def work(part: slice) -> Array:
            alone, table = self._cells(levels[part], c, t, lost[part], everywhere[part])
            seen = levels[part] >= 0
            score = np.where(seen[:, None, :], table, 0.0).sum(axis=2) + alone
            return _log_mean(np.where(seen, score, -np.inf), seen.sum(axis=1), axis=1)

        pairs = levels.shape[1] ** 2
        chunks = row_chunks(len(levels), rows_within(40 * pairs, IN_MEMORY))
        parts: Sequence[Array] = list(parallel_map(work, chunks, cost=20.0 * len(levels) * pairs))
        return np.concatenate(parts) if parts else np.zeros(0)

    def _cells(self, levels: Codes, c: int, t: float, lost: Array, everywhere: Array) -> tuple[Array, Array]:
        """Return log P(v | c), (n, p), and log P(v | c, u), (n, parents, columns), of the levels of each row.

        The counts of class c are lowered by `lost` (n,), those of all by `everywhere` (n,).
        """
        bounds = np.asarray(self.starts)
        sizes, own = np.diff(bounds), np.maximum(levels, 0)
        one, (every, given) = np.diagonal(self.pairs[c]), (self._every, self._given[c])
        lost, everywhere = lost[:, None], everywhere[:, None]
        total = np.maximum(every[own] - everywhere, 0.0)
        whole = np.maximum(np.add.reduceat(every, bounds[:-1]) - everywhere, 0.0) + 0.5 * (sizes + 1)
        class_whole = np.maximum(np.add.reduceat(one, bounds[:-1]) - lost, 0.0)
        alone = (np.maximum(one[own] - lost, 0.0) + t * ((total + 0.5) / whole)) / (class_whole + t)
        table = self.pairs[c][own[:, :, None], own[:, None, :]]
        table = np.maximum(table - lost[:, None], 0.0, out=table)
        table += t * alone[:, None, :]
        table /= np.maximum(given[own] - lost[:, None], 0.0) + t
        table = np.log(table, out=table)
        table[:, np.arange(len(sizes)), np.arange(len(sizes))] = 0.0
        return np.log(alone), table

    @cached_property
    def _every(self) -> Array:
        """The weight (L,) of the rows of all classes that have each level."""
        return np.asarray(np.einsum("kll->l", self.pairs))

    @cached_property
    def _given(self) -> Array:
        """The weight (k, L, p) of the rows of each class that have each level and know each column."""
        return np.add.reduceat(self.pairs, np.asarray(self.starts[:-1]), axis=2)

    @cached_property
    def _kept(self) -> dict[tuple[float, ...], tuple[Array, Floats]]:
        """Tables of rows left out, for any columns that are hidden later."""
        return {}

    def _lowered(self, c: int, t: float, lost: float, everywhere: float) -> tuple[Array, Floats]:
        """Return `_tables` in single precision, made once as long as all of them take little."""
        found = self._kept.get((c, t, lost, everywhere))
        if found is None:
            found = self._tables(c, t, lost, everywhere, np.float32)
            if (len(self._kept) + 1) * found[1].nbytes <= IN_MEMORY:
                self._kept[c, t, lost, everywhere] = found
        return found

    def _tables(self, c: int, t: float, lost: float, everywhere: float, kind: type) -> tuple[Array, Floats]:
        """Return log P(v | k), (L,), and log P(v | k, u), (L, L), with the counts of the row's cells lowered."""
        bounds = np.asarray(self.starts)
        sizes = np.diff(bounds)
        total = np.maximum(self._every - everywhere, 0.0)
        single = np.maximum(np.diagonal(self.pairs[c]) - lost, 0.0)
        whole = np.maximum(np.add.reduceat(self._every, bounds[:-1]) - everywhere, 0.0) + 0.5 * (sizes + 1)
        share = (total + 0.5) / np.repeat(whole, sizes)
        class_whole = np.maximum(np.add.reduceat(np.diagonal(self.pairs[c]), bounds[:-1]) - lost, 0.0)
        alone = (single + t * share) / np.repeat(class_whole + t, sizes)
        given = np.maximum(self._given[c] - lost, 0.0)
        logs = np.maximum(self.pairs[c] - lost, 0.0)
        logs += t * alone
        for j, (start, stop) in enumerate(pairwise(self.starts)):
            logs[:, start:stop] /= given[:, j, None] + t
        table = np.log(logs, out=logs).astype(kind, copy=False)
        for start, stop in pairwise(self.starts):
            table[start:stop, start:stop] = 0.0
        return np.log(alone), table

    def _score(self, levels: Codes, tables: tuple[Array, Floats]) -> Array:
        n, width = len(levels), levels.shape[1] ** 2
        parts = row_chunks(n, rows_within(8 * width, IN_MEMORY))
        found = parallel_map(lambda part: mean_over_parents(levels[part], *tables), parts, cost=4.0 * n * width)
        return np.concatenate([np.zeros(0), *found])


def _log_mean(score: Array, parents: Codes, axis: int) -> Array:
    """Return the log mean of exp(score) over so many `parents`, 0 where there is none; the score of others is −∞."""
    highest = np.where(parents > 0, score.max(axis=axis), 0.0)
    total = log_of(np.exp(score - np.expand_dims(highest, axis)).sum(axis=axis))
    return np.where(parents > 0, highest + total - np.log(np.maximum(parents, 1)), 0.0)


@dataclass(frozen=True)
class PairCounts(Counts):
    """Counts (k, L, L) of pairs of levels by number of bins, where they take little enough."""

    name: ClassVar[str] = "pairs"
    may_lack: ClassVar[bool] = True  # more classes take more, and pairs count single rows, which no release may tell

    @classmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        """Return the shapes by number of bins for which pairs are counted."""
        sizes = {bins: columns.bin_starts(bins)[-1] for bins in possible_bins(columns)}
        return {bins: (k, size, size) for bins, size in sizes.items() if counts_pairs(k, size)}

    @classmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        levels = reading.columns.binned(entry, reading)  # not kept: no other statistic reads them
        return count_pairs(levels, reading.columns.bin_starts(entry)[-1], codes, k, weight)


def possible_bins(columns: FrozenColumns) -> tuple[int, ...]:
    """Return the numbers of bins for which pairs would be counted if that took no memory: one without numbers."""
    count = len(columns.scores) + len(columns.vocabulary)
    if not 2 <= count <= MOST_PARENTS:
        return ()
    return BINS if columns.scores else BINS[:1]


@dataclass(frozen=True)
class AodeMember(Member):
    """Averaged one-dependence estimators on numbers cut into so many `bins`, and categories."""

    kinds: ClassVar[tuple[str, ...]] = ("one-dependence",)
    statistic: ClassVar[type[Part]] = PairCounts
    seconds: ClassVar[float] = 0.45
    widest: ClassVar[float] = MOST_PARENTS
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"bins": int, "strength": float}
    left_out_error: ClassVar[float] = 1e-5  # tables of logs in single precision

    bins: int
    model: OneDependence
    name: str = "one-dependence"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every number of bins whose pairs are counted, and every strength."""
        step = step_of_rows(len(sample), known.k, known.columns.d)
        some, inner = sample[::step], judge[::step]
        for bins, pairs in known.part(PairCounts).counts.items():
            model = OneDependence(pairs, known.columns.bin_starts(bins))
            for t in STRENGTHS:
                own = cls(bins, replace(model, strength=t))
                final = partial(own.left_out, sample) if step > 1 else None
                yield Candidate((own,), own.left_out(some), inner, final)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> AodeMember:
        bins = int(setting["bins"])
        if bins not in known.part(PairCounts).counts:
            raise ValueError("pairs that are not counted")
        model = OneDependence(known.part(PairCounts).counts[bins], known.columns.bin_starts(bins), setting["strength"])
        return cls(bins, model)

    @classmethod
    def spared(cls, known: TrainingStats) -> tuple[Note, ...]:
        counted = known.part(PairCounts).counts
        left_out = [bins for bins in possible_bins(known.columns) if bins not in counted]
        if not left_out:
            return ()
        size = known.columns.bin_starts(left_out[0])[-1]
        what = f"one-dependence in {', '.join(map(str, left_out))} bins is left out"
        why = f"counts of pairs of {size:,} levels in {known.k:,} classes would take more than {PAIR_BYTES >> 20} MiB"
        return (Note(what, why, kind=Kind.SPARED),)

    def scores(self, reading: BinnedRows) -> Array:
        return self.model.scores(reading.binned(self.bins))

    def left_out(self, sample: Sample) -> Array:
        return self.model.left_out(sample.rows.binned(self.bins), sample.codes, sample.removed, self.model.strength)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        alone, given = zip(*self.model.tables, strict=True)
        tables, model = (np.stack(alone), np.stack(given)), self.model
        yield Pairs(*inputs.bins(self.bins), model.starts[:-1], *tables, model.pairs, model.strength), weight

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values: a missing column is no parent and no child."""
        levels, model = reading.binned(self.bins), _ByColumn(self.model)
        width = levels.shape[1]
        size = rows_within(16 * len(self.model.pairs) * width**2, IN_MEMORY)
        chunks = list(row_chunks(len(levels), size)) or [slice(0, 0)]
        found = parallel_map(lambda part: explain_block(model, tuple(levels[part].T), orders, errors), chunks)
        score, _, variance = zip(*found, strict=True)
        whole = None if variance[0] is None else np.concatenate(variance, axis=1)
        return gathered(Explanation(np.concatenate(score, axis=1), None, whole), np.arange(width), reading)


@dataclass(frozen=True, slots=True)
class _ByColumn(Density):
    """The estimators asked with one array of level numbers per column."""

    model: OneDependence

    def log_density(self, rows: Sequence[Codes]) -> Array:
        """Return log densities (n, k)."""
        return self.model.scores(np.stack(rows, axis=1))

    def marginals(self, rows: Sequence[Codes]) -> Iterator[tuple[slice, Callable[[Codes], Array]]]:
        """Yield all rows with a function from column numbers to the log density of these columns (n, k)."""
        levels = np.stack(rows, axis=1)
        given, alone = self.model.by_parent(levels)
        seen = levels >= 0

        def value(columns: Codes) -> Array:
            score = given[:, :, columns[:, None], columns].sum(axis=3) + alone[:, :, columns]
            return _log_mean(score, seen[:, columns].sum(axis=1), axis=2).T

        yield slice(0, len(levels)), value

    def prefixes(self, rows: Sequence[Codes], orders: Codes) -> Iterator[Array]:
        """Yield log densities of the first columns in each order (k, n, p), from each parent's product of columns."""
        levels = np.stack(rows, axis=1)
        given, alone = self.model.by_parent(levels)
        shares = np.ascontiguousarray(np.swapaxes(np.exp(given, out=given), 2, 3))  # (k, n, columns, parents)
        for part in row_chunks(len(orders), MOST_ORDERS):
            yield from shares_in_orders(shares, np.exp(alone), levels >= 0, orders[part])
