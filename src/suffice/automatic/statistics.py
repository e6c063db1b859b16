"""What the automatic classifier's members need to know of the rows: the rows themselves, or statistics of them.

Up to a number of distinct rows, they are held as they are (`MemberRows`), and everything is made from them when asked
for: a model is then the same whether its rows came at once, in batches, or from merged models. Beyond, columns are
frozen (knots, bins, vocabularies) and statistics take the place of the rows (`MemberStats`); these merge like all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

from .._arrays import Array, Codes, bounded_map, np, row_chunks
from ..errors import MergeError, NotLearnedError
from ..forest import FrozenForest
from ..notes import Kind, Note
from ..schema import Level
from ..stats import PatternStats, Statistic
from ..stats._checks import amounts, codes as codes_below
from ..stats._downdate import faded
from ..stats.counts import CodedColumns
from ..stats.reservoir import rows_per_weight
from ..stats.rows import Keys, compact, concat_rows, fingerprints, rows_from_arrays, rows_to_arrays, take_rows
from ..stats.scatter import gather, spread
from ..stats.statistic import Fields, Plain
from .columns import FrozenColumns
from .costs import check_columns
from .member import Known
from .members import PARTS
from .members.gaussian import GaussianPart
from .mixed_rows import Index
from .part import DUST, Part, less

P = TypeVar("P", bound=Part)

TOGETHER = 1 << 15  # rows whose statistics are made at a time at most, all of them while they are near
ALL = slice(None)
FOREST_ROWS = 1200  # from which on trees are grown


class Columns(Protocol):
    """What a sample of rows freezes: how rows are read from then on."""

    def read(self, numbers: Array, coded: CodedColumns) -> Any:
        """Return rows as these columns read them."""
        ...

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        ...

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Any:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""
        ...


@dataclass(frozen=True)
class TableRows:
    """Rows as read from a table: numbers (n, d), NaN where missing, and categories with their own levels."""

    numbers: Array
    coded: CodedColumns

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Index) -> TableRows:
        return TableRows(self.numbers[index], take_rows(self.coded, index))

    def with_cells(self, column: Codes, value: Array, levels: Sequence[Any] | None) -> TableRows:
        """Return the rows with one cell each, in these columns (n,), numbers first, at other values (n,).

        With `levels` these are codes of them, of one category in all rows.
        """
        if levels is None:
            numbers = self.numbers.copy()
            numbers[np.arange(len(numbers)), column] = value
            return TableRows(numbers, self.coded)
        place = int(column[0]) - self.numbers.shape[1]
        names, codes = list(self.coded.levels), list(self.coded.codes)
        names[place], codes[place] = levels, value.astype(np.int64)
        return TableRows(self.numbers, CodedColumns(tuple(names), tuple(codes)))


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
    def freeze(cls, rows: TableRows, codes: Codes, k: int, weight: Array, *, for_good: bool) -> Columns:
        """Return the columns that rows (n,) of these weights, counted as rows, freeze: `for_good`, or for now.

        What can be made when it is asked for, while these rows are there, is frozen for good only.
        """
        forest = None
        if weight.sum() >= FOREST_ROWS:
            forest = FrozenForest.freeze(rows.numbers, rows.coded, codes, k, weight, density=for_good)
        return FrozenColumns.freeze(rows.numbers, rows.coded, weight, forest)

    @classmethod
    def statistics(cls) -> type[MemberStats]:
        """Return what takes the place of the rows where they are many."""
        return MemberStats

    @classmethod
    def summarize(cls, rows: TableRows, codes: Codes, k: int, weight: Array | None) -> Self:
        """Hold a batch."""
        ones = np.broadcast_to(1.0, len(codes))
        return cls(rows, codes, ones, ones if weight is None else weight.astype(np.float64), k)

    def distinct(self, bound: int) -> MemberRows | MemberStats:
        """Return the rows, equal ones once, or their statistics where they are more than `bound`."""
        if len(self.codes) > 4 * bound:
            few = len(self._take(np.arange(2 * bound))._united().codes) <= bound
            united = self._united() if few else self
        else:
            united = self._united()
        return united if len(united.codes) <= bound else self._condensed(bound)

    def _condensed(self, bound: int) -> MemberStats:
        """Return statistics in columns frozen by the `bound` rows whose contents have the smallest hashes."""
        some, weight, _ = smallest_distinct(hashes_of(self.rows), self.codes, self.weight, bound)
        weight = weight * rows_per_weight(self.weight, self.copies)
        columns = self.freeze(self.rows[some], self.codes[some], self.k, weight, for_good=True)
        return self.frozen(columns)

    def frozen(self, columns: Columns) -> MemberStats:
        """Return the statistics of the rows in columns frozen already."""
        kind = self.statistics()

        def summarized(part: slice) -> MemberStats:
            rows = self.rows[part]
            return kind.summarize(columns.read(rows.numbers, rows.coded), self.codes[part], self.k, self.weight[part])

        n = len(self.codes)
        size = -(-n // max(1, -(-n // TOGETHER)))  # blocks of one size, so that no thread waits for another
        parts = bounded_map(summarized, row_chunks(n, size), ahead=0) if n else iter([summarized(ALL)])
        total = next(parts)
        for own in parts:
            total = total.take_in(own)
            del own  # as large as the total, and not to be held while the next is made
        return replace(total, sampled=self.sampled)

    def gaussians(self) -> MemberStats:
        """Return the statistics of Gaussians of the columns as they are alone, which these rows freeze."""
        weight = self.weight * rows_per_weight(self.weight, self.copies)
        columns = FrozenColumns.freeze(self.rows.numbers, self.rows.coded, weight, only_raw=True)
        reading = columns.read(self.rows.numbers, self.rows.coded)
        part = GaussianPart.summarize(reading, self.codes, self.k, self.weight)
        return replace(MemberStats.of(columns, self.column_weight(), part), sampled=self.sampled)

    def as_sample(self) -> Self:
        """Return the rows as a sample of those whose weight they have: statistics that they join say so."""
        return replace(self, sampled=float(self.weight.sum()))

    def merge(self, other: MemberRows | MemberStats) -> MemberRows | MemberStats:
        if isinstance(other, MemberStats):
            return other.merge(self)
        rows = TableRows(
            np.concatenate([self.rows.numbers, other.rows.numbers]), concat_rows(self.rows.coded, other.rows.coded)
        )
        return type(self)(
            rows,
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.copies, other.copies]),
            np.concatenate([self.weight, other.weight]),
            self.k,
        )

    def subtract(self, other: MemberRows) -> Self:
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

    def scale(self, factor: float) -> Self:
        scaled = replace(self, weight=faded(self.weight, factor))
        return scaled if scaled.weight.all() else scaled._take(np.flatnonzero(scaled.weight))

    def place(self, index: Sequence[int], k: int) -> Self:
        return replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)

    def regroup(self, index: Codes, k: int) -> Self:
        moved = replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)
        return moved._take(np.flatnonzero(moved.codes >= 0))._united()

    def level_weights(self) -> dict[int, dict[Level, float]]:
        found, numbers = {}, self.rows.numbers.shape[1]
        for j, (levels, codes) in enumerate(zip(self.rows.coded.levels, self.rows.coded.codes, strict=True)):
            held = np.bincount(codes[codes >= 0], weights=self.weight[codes >= 0], minlength=len(levels))
            found[numbers + j] = dict(zip(levels, held.tolist(), strict=True))
        return found

    def column_weight(self) -> Array:
        seen = [~np.isnan(column) for column in self.rows.numbers.T] + [codes >= 0 for codes in self.rows.coded.codes]
        columns = [np.bincount(self.codes, weights=self.weight * own, minlength=self.k) for own in seen]
        return np.stack(columns, axis=1).astype(np.float64)

    def arrays(self) -> tuple[Fields, Plain]:
        cells, levels = rows_to_arrays((self.rows.numbers, self.rows.coded))
        own = {"codes": self.codes.astype(np.int64), "copies": self.copies, "weight": self.weight}
        return own | cells, {"levels": levels, "k": self.k}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        k, m = plain["k"], len(fields["codes"])
        codes, copies, weight = codes_below(fields["codes"], k, m), amounts(fields["copies"], m), fields["weight"]
        numbers, coded = rows_from_arrays(fields, plain["levels"], 2, m)
        right = isinstance(coded, CodedColumns) and isinstance(numbers, np.ndarray)
        if not right or (amounts(weight, m) <= 0).any() or (copies < 1).any():
            raise ValueError("rows of the members")
        return cls(TableRows(numbers, coded), codes, copies, weight, k)

    def _take(self, index: Codes) -> Self:
        rows = self.rows[index]
        return type(self)(
            TableRows(rows.numbers, compact(rows.coded)),
            self.codes[index],
            self.copies[index],
            self.weight[index],
            self.k,
        )

    def _united(self) -> Self:
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

    columns: Any
    learned: Mapping[str, Part]
    seen: Array
    sampled: float = 0.0

    columns_type: ClassVar[type[Columns]] = FrozenColumns

    @classmethod
    def part_types(cls) -> tuple[type[Part], ...]:
        """Return the kinds of the parts."""
        return PARTS

    @classmethod
    def check(cls, columns: Any, k: int) -> None:
        """Raise DataError if statistics of so many classes would not fit into memory."""
        check_columns(columns, k)

    @classmethod
    def summarize(cls, reading: Any, codes: Codes, k: int, weight: Array | None) -> Self:
        """Return the statistics of rows (n,) of `k` classes; DataError if they would not fit into memory."""
        cls.check(reading.columns, k)
        parts = {part.name: part.summarize(reading, codes, k, weight) for part in cls.part_types()}
        heavy = np.ones(len(codes)) if weight is None else weight
        there = [~np.isnan(column) for column in reading.numbers.T] + [levels >= 0 for levels in reading.levels]
        seen = np.stack([np.bincount(codes, weights=heavy * own, minlength=k) for own in there], axis=1)
        return cls(reading.columns, parts, seen.astype(np.float64))

    @classmethod
    def of(cls, columns: Any, seen: Array, *parts: Part) -> Self:
        """Return statistics of some parts; the others are not kept."""
        none = {part.name: part.none() for part in cls.part_types()}
        return cls(columns, none | {part.name: part for part in parts}, seen)

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

    def distinct(self, bound: int) -> Self:
        """Return the statistics as they are."""
        return self

    def merge(self, other: MemberRows | MemberStats) -> Self:
        """Return the statistics of the rows of both; MergeError if their columns were frozen apart."""
        return self._with(self._alike(other), lambda own, more: own.merge(more))

    def take_in(self, other: MemberStats) -> Self:
        """Return what `merge` does, in the place of these: nothing else may hold them."""
        return self._with(self._alike(other), lambda own, more: own.take_in(more))

    def _with(self, added: MemberStats, both: Callable[[Part, Part], Part]) -> Self:
        parts = {name: both(own, added.learned[name]) for name, own in self.learned.items()}
        return type(self)(self.columns, parts, self.seen + added.seen, self.sampled + added.sampled)

    def subtract(self, other: MemberRows | MemberStats) -> Self:
        gone = self._alike(other)
        parts = {name: own.subtract(gone.learned[name]) for name, own in self.learned.items()}
        return replace(self, learned=parts, seen=less(self.seen, gone.seen))

    def _alike(self, other: MemberRows | MemberStats) -> MemberStats:
        if isinstance(other, MemberRows):
            return other.frozen(self.columns)
        if other.columns != self.columns:
            raise MergeError("The columns of the two models were frozen apart. Next: see `merge` of the estimator.")
        return other

    def scale(self, factor: float) -> Self:
        lighter = replace(self, sampled=self.sampled * factor)
        return lighter._each(lambda part: part.scale(factor), faded(self.seen, factor))

    def place(self, index: Sequence[int], k: int) -> Self:
        self.check(self.columns, k)
        return self._each(lambda part: part.place(index, k, self.columns), spread(self.seen, index, k))

    def regroup(self, index: Codes, k: int) -> Self:
        return self._each(lambda part: part.regroup(index, k), gather(self.seen, index, k))

    def _each(self, change: Callable[[Part], Part], seen: Array) -> Self:
        return replace(self, learned={name: change(part) for name, part in self.learned.items()}, seen=seen)

    def column_weight(self) -> Array:
        return self.seen

    def arrays(self) -> tuple[Fields, Plain]:
        fields: Fields = {"seen": self.seen}
        kept, plain = self.columns.arrays()
        fields |= {f"columns_{name}": values for name, values in kept.items()}
        saved: Plain = {"columns": plain} | ({"sampled": self.sampled} if self.sampled else {})
        for name, part in self.learned.items():
            own, about = part.arrays()
            if own or not part.left_out:
                fields, saved[name] = fields | own, about
        return fields, saved

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        """Return what `arrays` wrote; a part that older files do not have is not kept."""
        prefix, seen = "columns_", fields["seen"]
        own = {name.removeprefix(prefix): values for name, values in fields.items() if name.startswith(prefix)}
        columns = cls.columns_type.from_arrays(own, plain["columns"])
        k = len(amounts(seen, None, columns.d))
        parts = {
            part.name: part.from_arrays(fields, plain[part.name], columns, k) if part.name in plain else part.none()
            for part in cls.part_types()
        }
        sampled = float(plain.get("sampled", 0.0))
        if not 0.0 <= sampled < np.inf:
            raise ValueError("the weight of rows known from a sample")
        return cls(columns, parts, seen, sampled)
