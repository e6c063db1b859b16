"""What the automatic classifier's members need to know of the rows: the rows themselves, or statistics of them.

Up to a number of distinct rows, they are held as they are (`MemberRows`), and everything is made from them when asked
for: a model is then the same whether its rows came at once, in batches, or from merged models. Beyond, columns are
frozen (knots, bins, vocabularies) and statistics take the place of the rows (`MemberStats`); these merge like all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .._arrays import Array, Codes, np
from ..errors import MergeError, NotLearnedError
from ..notes import Kind, Note
from ..stats import PatternStats, Statistic
from ..stats._checks import amounts
from ..stats._checks import codes as codes_below
from ..stats._fading import faded
from ..stats.counts import CodedColumns
from ..stats.reservoir import rows_per_weight
from ..stats.rows import Keys, compact, concat_rows, fingerprints, rows_from_arrays, rows_to_arrays, take_rows
from ..stats.scatter import gather, spread
from .columns import FrozenColumns, Index, Reading
from .costs import check_columns
from .member import Known
from .members import PARTS
from .members.gaussian import GaussianPart
from .part import DUST, Part, less

P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class TableRows:
    """Rows as read from a table: numbers (n, d), NaN where missing, and categories with their own levels."""

    numbers: Array
    coded: CodedColumns

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Index) -> TableRows:
        return TableRows(self.numbers[index], take_rows(self.coded, index))


@dataclass(frozen=True)
class MemberRows(Statistic):
    """Rows held as they are: class numbers below `k`, how many rows had this content, and their weight, all (n,).

    `sampled` is the weight of more rows than these, for which they stand; see `MemberStats`.
    """

    rows: TableRows
    codes: Codes
    copies: Array
    weight: Array
    k: int
    sampled: float = 0.0

    @classmethod
    def summarize(cls, rows: TableRows, codes: Codes, k: int, weight: Array | None) -> MemberRows:
        """Hold a batch."""
        ones = np.ones(len(codes))
        return cls(rows, codes, ones, ones if weight is None else weight.astype(np.float64), k)

    def distinct(self, bound: int) -> MemberRows | MemberStats:
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
        return self.frozen(columns)

    def frozen(self, columns: FrozenColumns) -> MemberStats:
        """Return the statistics of the rows in columns frozen already."""
        reading = columns.read(self.rows.numbers, self.rows.coded)
        return replace(MemberStats.summarize(reading, self.codes, self.k, self.weight), sampled=self.sampled)

    def as_sample(self) -> MemberRows:
        """Return the rows as a sample of those whose weight they have: statistics that they join say so."""
        return replace(self, sampled=float(self.weight.sum()))

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

    def place(self, index: Sequence[int], k: int) -> MemberRows:
        """Return the same rows with class i moved to number index[i] of k."""
        return replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)

    def regroup(self, index: Codes, k: int) -> MemberRows:
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
class MemberStats(Statistic):
    """Statistics in frozen columns: the parts `learned` for members, by their names, and what was `seen`.

    `seen` (k, d) is the weight of the observed cells by class and column, `sampled` that of rows which the members know
    from a sample only: those of a merged model whose columns were frozen apart.
    """

    columns: FrozenColumns
    learned: Mapping[str, Part]
    seen: Array
    sampled: float = 0.0

    @classmethod
    def summarize(cls, reading: Reading, codes: Codes, k: int, weight: Array | None) -> MemberStats:
        """Return the statistics of rows (n,) of `k` classes; DataError if they would not fit into memory."""
        check_columns(reading.columns, k)
        parts = {part.name: part.summarize(reading, codes, k, weight) for part in PARTS}
        heavy = np.ones(len(codes)) if weight is None else weight
        there = [~np.isnan(column) for column in reading.numbers.T] + [levels >= 0 for levels in reading.levels]
        seen = np.stack([np.bincount(codes, weights=heavy * own, minlength=k) for own in there], axis=1)
        return cls(reading.columns, parts, seen.astype(np.float64))

    @classmethod
    def of(cls, columns: FrozenColumns, seen: Array, *parts: Part) -> MemberStats:
        """Return statistics of some parts; the others are not kept."""
        return cls(columns, {part.name: part.none() for part in PARTS} | {part.name: part for part in parts}, seen)

    def part(self, kind: type[P]) -> P:
        """Return one part."""
        return self.known().part(kind)

    def known(self, categories: Sequence[Array] = (), weight: Array | None = None) -> Known:
        """Return what members are made of, with the counts of categories (k, levels) and the class weights (k,)."""
        weight = np.zeros(len(self.seen)) if weight is None else weight
        return Known(self.columns, self.learned, tuple(categories), weight)

    @property
    def gaussian(self) -> dict[str, PatternStats]:
        """The statistics of the Gaussian block by version, of which the joint model is made."""
        return self.part(GaussianPart).versions

    @property
    def lacks_pairs(self) -> bool:
        """Whether counts are missing that a model which holds rows always has: pairs tell of single rows."""
        return any(own.lacking(self.columns, len(self.seen)) and own == own.none() for own in self.learned.values())

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of how these statistics came about."""
        if not self.sampled:
            return ()
        what = f"members know rows of weight {self.sampled:g} from a sample"
        why = "they came with a merged model, which had chosen knots and bins of its own"
        return (Note(what, why, kind=Kind.UNCERTAIN),)

    def distinct(self, bound: int) -> MemberStats:
        """Return the statistics as they are."""
        return self

    def merge(self, other: MemberRows | MemberStats) -> MemberStats:
        """Return the statistics of the rows of both; MergeError if their columns were frozen apart."""
        added = self._alike(other)
        parts = {name: own.merge(added.learned[name]) for name, own in self.learned.items()}
        return MemberStats(self.columns, parts, self.seen + added.seen, self.sampled + added.sampled)

    def subtract(self, other: MemberRows | MemberStats) -> MemberStats:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""
        gone = self._alike(other)
        parts = {name: own.subtract(gone.learned[name]) for name, own in self.learned.items()}
        return replace(self, learned=parts, seen=less(self.seen, gone.seen))

    def _alike(self, other: MemberRows | MemberStats) -> MemberStats:
        if isinstance(other, MemberRows):
            return other.frozen(self.columns)
        if other.columns != self.columns:
            raise MergeError("The columns of the two models were frozen apart. Next: see GenerativeClassifier.merge.")
        return other

    def scale(self, factor: float) -> MemberStats:
        """Return the statistics of the same rows with their weights multiplied by a factor."""
        lighter = replace(self, sampled=self.sampled * factor)
        return lighter._each(lambda part: part.scale(factor), faded(self.seen, factor))

    def place(self, index: Sequence[int], k: int) -> MemberStats:
        """Return the same statistics with class i moved to number index[i] of k."""
        check_columns(self.columns, k)
        return self._each(lambda part: part.place(index, k, self.columns), spread(self.seen, index, k))

    def regroup(self, index: Codes, k: int) -> MemberStats:
        """Return the statistics with class i made part of class index[i] of k, or left out where that is −1."""
        return self._each(lambda part: part.regroup(index, k), gather(self.seen, index, k))

    def _each(self, change: Callable[[Part], Part], seen: Array) -> MemberStats:
        return replace(self, learned={name: change(part) for name, part in self.learned.items()}, seen=seen)

    def column_weight(self) -> Array:
        """Return the weight of the observed cells by class and column (k, d)."""
        return self.seen

    def arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields as named arrays and plain values."""
        fields: dict[str, Any] = {"seen": self.seen}
        kept, plain = self.columns.arrays()
        fields |= {f"columns_{name}": values for name, values in kept.items()}
        saved: dict[str, Any] = {"columns": plain} | ({"sampled": self.sampled} if self.sampled else {})
        for name, part in self.learned.items():
            own, saved[name] = part.arrays()
            fields |= own
        return fields, saved

    @classmethod
    def from_arrays(cls, fields: dict[str, Any], plain: dict[str, Any]) -> MemberStats:
        """Return the statistics written by `arrays`; ValueError if the parts do not fit together."""
        prefix, seen = "columns_", fields["seen"]
        own = {name.removeprefix(prefix): values for name, values in fields.items() if name.startswith(prefix)}
        columns = FrozenColumns.from_arrays(own, plain["columns"])
        k = len(amounts(seen, None, len(columns.scores) + len(columns.vocabulary)))
        parts = {part.name: part.from_arrays(fields, plain[part.name], columns, k) for part in PARTS}
        sampled = float(plain.get("sampled", 0.0))
        if not 0.0 <= sampled < np.inf:
            raise ValueError("the weight of rows known from a sample")
        return cls(columns, parts, seen, sampled)
