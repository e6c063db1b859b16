"""What the automatic classifier's members need to know of the rows: the rows themselves, or statistics of them.

Up to a number of distinct rows, they are held as they are (`MemberRows`), and everything is made from them when asked
for: a model is then the same whether its rows came at once, in batches, or from merged models. Beyond, columns are
frozen (knots, bins, vocabularies) and statistics take the place of the rows (`MemberStats`); these merge like all
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Array, Codes, np, row_chunks
from ..errors import MergeError, NotLearnedError
from ..stats import FullScatter, GaussianStats, PatternStats
from ..stats._checks import amounts
from ..stats._checks import codes as codes_below
from ..stats._fading import faded
from ..stats.counts import CodedColumns
from ..stats.reservoir import rows_per_weight
from ..stats.rows import Keys, compact, concat_rows, fingerprints, rows_from_arrays, rows_to_arrays, take_rows
from ..stats.scatter import gather, spread
from .columns import BINS, INTERVALS, FrozenColumns, MixedRows
from .costs import MOST_PARENTS, PAIR_BYTES, check_columns, pair_bytes
from .members.dependence import count_pairs

CHUNK_ROWS = 1 << 16
DUST = 1e-9  # of a weight, left over by rounding


@dataclass(frozen=True)
class TableRows:
    """Rows as read from a table: numbers (n, d), NaN where missing, and categories with their own levels."""

    numbers: Array
    coded: CodedColumns

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> TableRows:
        return TableRows(self.numbers[index], take_rows(self.coded, index))


@dataclass(frozen=True)
class MemberRows:
    """Rows held as they are: class numbers below `k`, how many rows had this content, and their weight, all (n,)."""

    rows: TableRows
    codes: Codes
    copies: Array
    weight: Array
    k: int

    @classmethod
    def summarize(cls, rows: TableRows, codes: Codes, k: int, weight: Array | None) -> MemberRows:
        """Hold a batch."""
        ones = np.ones(len(codes))
        return cls(rows, codes, ones, ones if weight is None else weight.astype(np.float64), k)

    def settled(self, bound: int) -> MemberRows | MemberStats:
        """Return the rows, equal ones once, or their statistics where they are more than `bound`."""
        if len(self.codes) > 64 * bound:
            some = self._take(np.arange(8 * bound))
            few = len(some._united().codes) <= bound
            united = self._united() if few else self
        else:
            united = self._united()
        return united if len(united.codes) <= bound else self._condensed(bound)

    def _condensed(self, bound: int) -> MemberStats:
        """Return statistics in columns frozen by the `bound` rows whose contents have the smallest hashes."""
        some, weight, _ = smallest_distinct(hashes_of(self.rows), self.codes, self.weight, bound)
        weight = weight * rows_per_weight(self.weight, self.copies)
        columns = FrozenColumns.freeze(self.rows.numbers[some], take_rows(self.rows.coded, some), weight)
        return self.condensed(columns)

    def condensed(self, columns: FrozenColumns) -> MemberStats:
        """Return the statistics of the rows in columns frozen already."""
        rows = columns.read(self.rows.numbers, self.rows.coded)
        return MemberStats.summarize(columns, rows, self.codes, self.k, self.weight)

    def merge(self, other: MemberRows | MemberStats) -> MemberRows | MemberStats:
        """Return the rows of both."""
        if isinstance(other, MemberStats):
            return other.merge(self)
        rows = TableRows(
            np.concatenate([self.rows.numbers, other.rows.numbers]), concat_rows(self.rows.coded, other.rows.coded)
        )
        return MemberRows(
            rows,
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.copies, other.copies]),
            np.concatenate([self.weight, other.weight]),
            self.k,
        )

    def subtract(self, other: MemberRows) -> MemberRows:
        """Return the rows left without others; NotLearnedError for rows that are not here."""
        mine, theirs = self._united(), other._united()
        place = {key: i for i, key in enumerate(zip(hashes_of(mine.rows).tolist(), mine.codes.tolist(), strict=True))}
        copies, weight = mine.copies.copy(), mine.weight.copy()
        keys = zip(hashes_of(theirs.rows).tolist(), theirs.codes.tolist(), strict=True)
        for key, count, amount in zip(keys, theirs.copies, theirs.weight, strict=True):
            i = place.get(key)
            if i is None or amount > weight[i] * (1.0 + DUST):
                raise NotLearnedError("they are not among the rows learned", key[1])
            copies[i] -= count
            weight[i] -= amount
        left = np.flatnonzero(weight > DUST * mine.weight)
        return replace(mine, copies=np.maximum(copies, 1.0), weight=weight)._take(left)

    def scale(self, factor: float) -> MemberRows:
        """Return the rows with their weights multiplied by a factor."""
        scaled = replace(self, weight=faded(self.weight, factor))
        return scaled if scaled.weight.all() else scaled._take(np.flatnonzero(scaled.weight))

    def place(self, index: Any, k: int) -> MemberRows:
        """Return the same rows with class i moved to number index[i] of k."""
        return replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)

    def regroup(self, index: Any, k: int) -> MemberRows:
        """Return the rows with class i made part of class index[i] of k, or left out where that is −1."""
        moved = replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)
        return moved._take(np.flatnonzero(moved.codes >= 0))._united()

    def column_weight(self) -> Array:
        """Return the weight of the observed cells by class and column (k, d)."""
        seen = [~np.isnan(column) for column in self.rows.numbers.T] + [codes >= 0 for codes in self.rows.coded.codes]
        columns = [np.bincount(self.codes, weights=self.weight * own, minlength=self.k) for own in seen]
        return np.stack(columns, axis=1).astype(np.float64)

    def arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields as named arrays and plain values."""
        cells, levels = rows_to_arrays((self.rows.numbers, self.rows.coded))
        own = {"codes": self.codes.astype(np.int64), "copies": self.copies, "weight": self.weight}
        return own | cells, {"levels": levels, "k": self.k}

    @classmethod
    def from_arrays(cls, fields: dict[str, Any], plain: dict[str, Any]) -> MemberRows:
        """Return the rows written by `arrays`; ValueError if the parts do not fit together."""
        k, m = plain["k"], len(fields["codes"])
        codes, copies, weight = codes_below(fields["codes"], k, m), amounts(fields["copies"], m), fields["weight"]
        numbers, coded = rows_from_arrays(fields, plain["levels"], 2, m)
        right = isinstance(coded, CodedColumns) and isinstance(numbers, np.ndarray)
        if not right or (amounts(weight, m) <= 0).any() or (copies < 1).any():
            raise ValueError("rows of the members")
        return cls(TableRows(numbers, coded), codes, copies, weight, k)

    def _take(self, index: Codes) -> MemberRows:
        rows = self.rows[index]
        return MemberRows(
            TableRows(rows.numbers, compact(rows.coded)),
            self.codes[index],
            self.copies[index],
            self.weight[index],
            self.k,
        )

    def _united(self) -> MemberRows:
        """Return each distinct row of a class once, in an order that depends on the contents alone."""
        keys = np.stack([hashes_of(self.rows), self.codes.astype(np.uint64)], axis=1)
        distinct, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        one = self._take(first)
        return replace(
            one,
            rows=TableRows(one.rows.numbers + 0.0, one.rows.coded),
            copies=np.bincount(group, weights=self.copies, minlength=len(distinct)).astype(np.float64),
            weight=np.bincount(group, weights=self.weight, minlength=len(distinct)).astype(np.float64),
        )


def smallest_distinct(keys: Keys, codes: Codes, weight: Array, bound: int) -> tuple[Codes, Array, bool]:
    """Return the rows with the smallest hashes of their contents, each distinct row of a class once, at most `bound`.

    With their weights, those of all equal rows added up, in the order of hashes; and whether there are more.
    """
    few = np.arange(len(keys))
    if len(keys) > 4 * bound:
        most = np.partition(keys, 2 * bound)[2 * bound]
        few = np.flatnonzero(keys <= most)
        if len(np.unique(keys[few])) <= bound:  # many are equal
            distinct = np.unique(keys)
            few = np.flatnonzero(keys <= distinct[min(bound, len(distinct) - 1)])
    pairs = np.stack([keys[few], codes[few].astype(np.uint64)], axis=1)
    found, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(group.reshape(-1), weights=weight[few], minlength=len(found)).astype(np.float64)
    return few[first[:bound]], total[:bound], len(found) > bound or len(few) < len(keys)


def hashes_of(rows: TableRows) -> Keys:
    """Return one number per row (n,) that depends on its contents alone."""
    keys = fingerprints(rows.numbers) if rows.numbers.shape[1] else np.zeros(len(rows), dtype=np.uint64)
    return keys ^ (fingerprints(rows.coded) if rows.coded.codes else np.uint64(0))


@dataclass(frozen=True)
class MemberStats:
    """Statistics by version of the Gaussian block, counts of hats by number of intervals, of pairs by number of bins.

    `hats[m]` is (k, B), `pairs[b]` (k, L, L).
    """

    columns: FrozenColumns
    gaussian: dict[str, PatternStats]
    hats: dict[int, Array]
    pairs: dict[int, Array]
    seen: Array  # (k, d) weight of the observed cells by class and column

    @classmethod
    def summarize(
        cls, columns: FrozenColumns, rows: MixedRows, codes: Codes, k: int, weight: Array | None
    ) -> MemberStats:
        """Return the statistics of rows (n,) of `k` classes; DataError if they would not fit into memory."""
        check_columns(columns, k)
        gaussian = {kind: _gaussian_stats(columns, kind, rows, codes, k, weight) for kind in columns.kinds}
        hats = {}
        if rows.numbers.shape[1]:
            hats = {m: columns.hats[m].count(rows.numbers, codes, k, weight) for m in INTERVALS}
        pairs = {}
        for bins in pair_bins(columns, k):
            size = columns.bin_starts(bins)[-1]
            pairs[bins] = count_pairs(columns.binned(bins, rows), size, codes, k, weight)
        heavy = np.ones(len(codes)) if weight is None else weight
        there = [~np.isnan(column) for column in rows.numbers.T] + [levels >= 0 for levels in rows.levels]
        seen = np.stack([np.bincount(codes, weights=heavy * own, minlength=k) for own in there], axis=1)
        return cls(columns, gaussian, hats, pairs, seen.astype(np.float64))

    def settled(self, bound: int) -> MemberStats:
        """Return the statistics as they are."""
        return self

    def merge(self, other: MemberRows | MemberStats) -> MemberStats:
        """Return the statistics of the rows of both; MergeError if their columns were frozen apart."""
        added = self._alike(other)
        return MemberStats(
            self.columns,
            {kind: own.merge(added.gaussian[kind]) for kind, own in self.gaussian.items()},
            {m: own + added.hats[m] for m, own in self.hats.items()},
            {b: own + added.pairs[b] for b, own in self.pairs.items() if b in added.pairs},
            self.seen + added.seen,
        )

    def subtract(self, other: MemberRows | MemberStats) -> MemberStats:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""
        less = self._alike(other)
        return MemberStats(
            self.columns,
            {kind: own.subtract(less.gaussian[kind]) for kind, own in self.gaussian.items()},
            {m: _less(own, less.hats[m]) for m, own in self.hats.items()},
            {b: _less(own, less.pairs[b]) for b, own in self.pairs.items() if b in less.pairs},
            _less(self.seen, less.seen),
        )

    def _alike(self, other: MemberRows | MemberStats) -> MemberStats:
        if isinstance(other, MemberRows):
            return other.condensed(self.columns)
        if other.columns != self.columns:
            raise MergeError("The columns of the two models were frozen apart. Next: see GenerativeClassifier.merge.")
        return other

    def scale(self, factor: float) -> MemberStats:
        """Return the statistics of the same rows with their weights multiplied by a factor."""
        return self._each(lambda stats: stats.scale(factor), lambda counts: faded(counts, factor))

    def place(self, index: Any, k: int) -> MemberStats:
        """Return the same statistics with class i moved to number index[i] of k."""
        check_columns(self.columns, k)
        few = pair_bins(self.columns, k)  # with more classes, counts of pairs may take too much
        kept = replace(self, pairs={bins: counts for bins, counts in self.pairs.items() if bins in few})
        return kept._each(lambda stats: stats.place(index, k), lambda counts: spread(counts, index, k))

    def regroup(self, index: Any, k: int) -> MemberStats:
        """Return the statistics with class i made part of class index[i] of k, or left out where that is −1."""
        return self._each(lambda stats: stats.regroup(index, k), lambda counts: gather(counts, index, k))

    def _each(self, gaussian: Callable[[PatternStats], PatternStats], counts: Callable[[Array], Array]) -> MemberStats:
        return MemberStats(
            self.columns,
            {kind: gaussian(own) for kind, own in self.gaussian.items()},
            {m: counts(own) for m, own in self.hats.items()},
            {b: counts(own) for b, own in self.pairs.items()},
            counts(self.seen),
        )

    def column_weight(self) -> Array:
        """Return the weight of the observed cells by class and column (k, d)."""
        return self.seen

    def arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields as named arrays and plain values."""
        fields: dict[str, Any] = {"seen": self.seen}
        fields |= {f"hats{m}": counts for m, counts in self.hats.items()}
        fields |= {f"pairs{b}": counts for b, counts in self.pairs.items()}
        kept, plain = self.columns.arrays()
        fields |= {f"columns_{name}": values for name, values in kept.items()}
        saved: dict[str, Any] = {"columns": plain, "gaussian": {}, "hats": list(self.hats), "pairs": list(self.pairs)}
        for kind, stats in self.gaussian.items():
            own, saved["gaussian"][kind] = stats.arrays()
            fields |= {f"{kind}_{name}": values for name, values in own.items()}
        return fields, saved

    @classmethod
    def from_arrays(cls, fields: dict[str, Any], plain: dict[str, Any]) -> MemberStats:
        """Return the statistics written by `arrays`; ValueError if the parts do not fit together."""

        def under(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): v for name, v in fields.items() if name.startswith(prefix)}

        columns, seen = FrozenColumns.from_arrays(under("columns_"), plain["columns"]), fields["seen"]
        gaussian = {kind: PatternStats.from_arrays(under(f"{kind}_"), own) for kind, own in plain["gaussian"].items()}
        hats, pairs = ({m: fields[f"{name}{m}"] for m in plain[name]} for name in ("hats", "pairs"))
        k = len(amounts(seen, None, len(columns.scores) + len(columns.vocabulary)))
        counts = [*hats.values(), *pairs.values()]
        right = set(gaussian) == set(columns.kinds) and all(own.k == k for own in gaussian.values())
        right &= all(own.d == columns.width(kind) for kind, own in gaussian.items())
        right &= all(own.shape == (k, columns.hats[m].starts[-1]) for m, own in hats.items())
        right &= all(own.shape == (k, *(columns.bin_starts(b)[-1],) * 2) for b, own in pairs.items())
        right &= tuple(hats) == (INTERVALS if columns.scores else ())
        right &= tuple(pairs) == tuple(b for b in pair_bins(columns, k) if b in pairs)  # edits and releases drop some
        if not right or any(len(amounts(own, *own.shape)) != k for own in counts):
            raise ValueError("statistics of the members")
        return cls(columns, gaussian, hats, pairs, seen)

    @property
    def lacks_pairs(self) -> bool:
        """Whether pairs of levels are not counted, though they could be: they count single rows."""
        return not self.pairs and bool(pair_bins(self.columns, len(self.seen)))


def _gaussian_stats(
    columns: FrozenColumns, kind: str, rows: MixedRows, codes: Codes, k: int, weight: Array | None
) -> PatternStats:
    if kind not in columns.guess:
        return PatternStats.summarize(columns.gaussian(kind, rows), codes, k, weight, FullScatter)
    total = PatternStats.zero(k, columns.width(kind))
    heavy = np.ones(len(codes)) if weight is None else weight
    for part in row_chunks(len(codes), CHUNK_ROWS):
        own = codes[part]
        cells, rest = columns.guess[kind].fill(columns.gaussian(kind, rows[part]), own, k, heavy[part])
        stats = GaussianStats.summarize(cells, own, k, heavy[part], FullScatter).dense()
        open_too = replace(stats, scatter=FullScatter(stats.scatter.values + rest))
        total = total.merge(PatternStats(open_too, {}))
    return total


def _less(whole: Array, part: Array) -> Array:
    left = whole - part
    dust = np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0)
    strange = (left < 0) & ~dust
    if strange.any():
        code = int(np.nonzero(strange.reshape(len(left), -1).any(axis=1))[0][0])
        raise NotLearnedError("some of their cells were not counted", code)
    return np.asarray(np.where(dust, 0.0, left))


def pair_bins(columns: FrozenColumns, k: int) -> tuple[int, ...]:
    """Return the numbers of bins for which pairs of levels are counted: one where there are no numbers to cut."""
    return tuple(b for b in possible_bins(columns) if pair_bytes(k, columns.bin_starts(b)[-1]) <= PAIR_BYTES)


def possible_bins(columns: FrozenColumns) -> tuple[int, ...]:
    """Return the numbers of bins for which pairs would be counted if their counts took no memory."""
    count = len(columns.bin_starts(BINS[0])) - 1
    if not 2 <= count <= MOST_PARENTS:
        return ()
    return BINS if columns.scores else BINS[:1]
