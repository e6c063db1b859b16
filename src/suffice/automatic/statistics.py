"""The statistics of all members: the rows themselves, or sums over them.

Up to a number of distinct rows, they are held as they are (`MemberRows`), and everything is made from them when asked
for: a model is then the same whether its rows came at once, in batches, or from merged models. Beyond, columns are
frozen (knots, bins, vocabularies) and statistics take the place of the rows (`MemberStats`); these merge like all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from .._arrays import Array, Codes, bounded_map, check_bytes, np, row_chunks
from ..errors import MergeError, NotLearnedError, either, setting
from ..forest import FrozenForest
from ..notes import Kind, Note
from ..schema import Level
from ..stats import PatternStats, Statistic
from ..stats._downdate import faded
from ..stats.counts import DUST, CodedColumns, less
from ..stats.reservoir import rows_per_weight
from ..stats.rows import Units, compact, rows_from_arrays, rows_to_arrays, taken
from ..stats.scatter import gather, spread
from ..stats.statistic import Fields, Plain, amounts, codes as codes_below, under
from .columns import FrozenColumns
from .knots import INTERVALS
from .limits import most_weighted
from .member import Counts, Part, TrainingStats
from .members import PARTS
from .members.gaussian import GaussianPart
from .table_rows import TableRows, distinct_pairs, hashes_of, smallest_distinct, without_texts

P = TypeVar("P", bound=Part)

TOGETHER = 1 << 15  # rows whose statistics are made at a time at most, all of them while they are near
ALL = slice(None)
Columns = FrozenColumns | FrozenForest  # what a sample of rows freezes: how rows are read from then on
FOREST_ROWS = 60  # from which on trees are grown
COPIES = 4  # of the scores of all members while their weights are found
SETTINGS = 70  # scores (n, k) that are there at once while settings of several members are compared
WORKSPACE = 24 << 20  # bytes, while rows are left out of the weights and trees are grown


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
    def freeze(
        cls, rows: TableRows, codes: Codes, k: int, weight: Array, *, for_good: bool, units: Units | None = None
    ) -> Columns:
        """Return the columns that rows (n,) of these weights, counted as rows, freeze: `for_good`, or for now.

        What can be made when it is asked for, while these rows are there, is frozen for good only. `units` say which
        rows leave together.
        """
        coded, forest = without_texts(rows.coded, rows.texts), None
        if weight.sum() >= FOREST_ROWS:
            forest = FrozenForest.freeze(rows.numbers, coded, codes, k, weight, density=for_good, units=units)
        return FrozenColumns.freeze(rows.numbers, coded, weight, forest, texts=rows.texts, dates=rows.dates)

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
        """Return the rows, equal ones once, or their statistics where they are more than `bound`; see `frozen`."""
        few, some = len(self.codes) <= 4 * bound, slice(2 * bound)
        few = few or len(distinct_pairs(hashes_of(self.rows[some]), self.codes[some])[0]) <= bound
        united = self.united() if few else self
        return united if len(united.codes) <= bound else self._condensed(bound)

    def _condensed(self, bound: int) -> MemberStats:
        """Return statistics in columns frozen by the `bound` rows whose contents have the smallest hashes."""
        some, weight = smallest_distinct(hashes_of(self.rows), self.codes, self.weight, bound)
        weight = weight * rows_per_weight(self.weight, self.copies)
        columns = self.freeze(self.rows[some], self.codes[some], self.k, weight, for_good=True)
        return self.frozen(columns)

    def frozen(self, columns: Columns) -> MemberStats:
        """Return the statistics of the rows in columns frozen already."""
        kind = self.statistics()

        def summarized(part: slice) -> MemberStats:
            rows = self.rows[part]
            read = columns.read(rows.numbers, rows.coded)
            return kind.summarize(read, self.codes[part], self.k, self.weight[part])

        n = len(self.codes)
        size = -(-n // max(1, -(-n // TOGETHER)))  # blocks of one size, so that no thread waits for another
        found = bounded_map(summarized, row_chunks(n, size), ahead=0) if n else iter([summarized(ALL)])
        total = next(found)
        for own in found:
            total = total.merge(own)
            del own  # as large as the total, and not to be held while the next is made
        return replace(total, sampled=self.sampled)

    def gaussians(self) -> MemberStats:
        """Return the statistics of Gaussians of the columns as they are alone, which these rows freeze."""
        weight = self.weight * rows_per_weight(self.weight, self.copies)
        coded = without_texts(self.rows.coded, self.rows.texts)
        columns = FrozenColumns.freeze(self.rows.numbers, coded, weight, only_raw=True, texts=self.rows.texts)
        reading = columns.read(self.rows.numbers, self.rows.coded)
        part = GaussianPart.summarize(reading, self.codes, self.k, self.weight)
        return replace(MemberStats.of(columns, self.column_weight(), part), sampled=self.sampled)

    def as_sample(self) -> Self:
        """Return the rows as a sample of those whose weight they have: statistics that they join say so."""
        return replace(self, sampled=float(self.weight.sum()))

    def merge(self, other: MemberRows | MemberStats) -> MemberRows | MemberStats:
        if isinstance(other, MemberStats):
            return other.merge(self)
        return type(self)(
            self.rows.with_rows(other.rows),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.copies, other.copies]),
            np.concatenate([self.weight, other.weight]),
            self.k,
        )

    def subtract(self, other: MemberRows) -> Self:
        """Return the rows left without others; NotLearnedError for rows that are not here."""
        mine, theirs = self.united(), other.united()
        own, others = hashes_of(mine.rows), hashes_of(theirs.rows)
        asked = np.flatnonzero(np.isin(own, others, kind="sort"))  # few of many
        keys = zip(own[asked].tolist(), mine.codes[asked].tolist(), strict=True)
        place = dict(zip(keys, asked.tolist(), strict=True))
        copies, weight = mine.copies.copy(), mine.weight.copy()
        keys = zip(others.tolist(), theirs.codes.tolist(), strict=True)
        for key, count, amount in zip(keys, theirs.copies, theirs.weight, strict=True):
            i = place.get(key)
            if i is None or amount > weight[i] * (1.0 + DUST):
                raise NotLearnedError("they are not among the rows learned", key[1])
            copies[i] -= count
            weight[i] -= amount
        left = np.flatnonzero(weight > DUST * mine.weight)
        return replace(mine, copies=np.maximum(copies, 1.0), weight=weight).taken(left)

    def scale(self, factor: float) -> Self:
        scaled = replace(self, weight=faded(self.weight, factor))
        return scaled if scaled.weight.all() else scaled.taken(np.flatnonzero(scaled.weight))

    def place(self, index: Sequence[int], k: int) -> Self:
        return replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)

    def regroup(self, index: Codes, k: int) -> Self:
        moved = replace(self, codes=np.asarray(index, dtype=np.int64)[self.codes], k=k)
        return moved.taken(np.flatnonzero(moved.codes >= 0)).united()

    def level_weights(self) -> dict[int, dict[Level, float]]:
        found, numbers = {}, self.rows.numbers.shape[1]
        categories = len(self.rows.coded.codes) - self.rows.texts
        for j, (levels, codes) in enumerate([*zip(*self.rows.coded, strict=True)][:categories]):
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
        texts = {"texts": self.rows.texts} if self.rows.texts else {}
        return own | cells, {"levels": levels, "k": self.k, **texts}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        k, m = plain["k"], len(fields["codes"])
        codes, copies, weight = codes_below(fields["codes"], k, m), amounts(fields["copies"], m), fields["weight"]
        numbers, coded = rows_from_arrays(fields, plain["levels"], 2, m)
        right = isinstance(coded, CodedColumns) and isinstance(numbers, np.ndarray)
        if not right or (amounts(weight, m) <= 0).any() or (copies < 1).any():
            raise ValueError("rows of the members")
        texts = plain.get("texts", 0)
        if type(texts) is not int or not 0 <= texts <= len(coded.codes):
            raise ValueError("texts of the members")
        return cls(TableRows(numbers, coded, texts), codes, copies, weight, k)

    def taken(self, index: Codes) -> Self:
        left = taken(self, index, "rows", "codes", "copies", "weight")
        return replace(left, rows=replace(left.rows, coded=compact(left.rows.coded)), sampled=0.0)

    def united(self) -> Self:
        """Return each distinct row of a class once, in an order that depends on the contents alone."""
        first, group = distinct_pairs(hashes_of(self.rows), self.codes)
        one = self.taken(first)
        return replace(
            one,
            rows=replace(one.rows, numbers=one.rows.numbers + 0.0),
            copies=np.bincount(group, weights=self.copies, minlength=len(first)).astype(np.float64),
            weight=np.bincount(group, weights=self.weight, minlength=len(first)).astype(np.float64),
        )


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

    columns_type: ClassVar[Any] = FrozenColumns

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
        return cls(reading.columns, parts, weight_seen(reading, codes, k, weight))

    @classmethod
    def of(cls, columns: Any, seen: Array, *parts: Part) -> Self:
        """Return statistics of some parts; the others are not kept."""
        none = {part.name: part({}) for part in cls.part_types()}
        return cls(columns, none | {part.name: part for part in parts}, seen)

    def part(self, kind: type[P]) -> P:
        """Return one part."""
        return self.known().part(kind)

    def known(self, categories: Sequence[Array] = (), weight: Array | None = None) -> TrainingStats:
        """Return what members are made of, with the counts of categories (k, levels) and the class weights (k,)."""
        weight = np.zeros(len(self.seen)) if weight is None else weight
        return TrainingStats(self.columns, self.learned, tuple(categories), weight, self.seen)

    @property
    def gaussian(self) -> Mapping[str, PatternStats]:
        """The statistics of the Gaussian block by version, of which the joint model is made."""
        return self.part(GaussianPart).versions

    @property
    def lacks_pairs(self) -> bool:
        """Whether counts are missing that a model which holds rows always has: pairs tell of single rows."""
        pairs = [own for own in self.learned.values() if isinstance(own, Counts) and own.may_lack]
        return any(own.shapes(self.columns, len(self.seen)) and not own.entries for own in pairs)

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
        added = self._alike(other)
        parts = {name: own.merge(added.learned[name]) for name, own in self.learned.items()}
        return type(self)(self.columns, parts, self.seen + added.seen, self.sampled + added.sampled)

    def subtract(self, other: MemberRows | MemberStats) -> Self:
        gone = self._alike(other)
        parts = {name: own.subtract(gone.learned[name]) for name, own in self.learned.items()}
        return replace(self, learned=parts, seen=less(self.seen, gone.seen))

    def _alike(self, other: MemberRows | MemberStats) -> MemberStats:
        if isinstance(other, MemberRows):
            return other.frozen(self.columns)
        if other.columns != self.columns:
            where = either("`merge` of the estimator", "docs/editing.md")
            raise MergeError(f"The columns of the two models were frozen apart. Next: see {where}.")
        return other

    def scale(self, factor: float) -> Self:
        scaled = self._each(lambda own: own.scale(factor), faded(self.seen, factor))
        return replace(scaled, sampled=self.sampled * factor)

    def place(self, index: Sequence[int], k: int) -> Self:
        self.check(self.columns, k)
        kept = {name: part.kept_for(self.columns, k) for name, part in self.learned.items()}
        return replace(self, learned=kept)._each(lambda own: own.place(index, k), spread(self.seen, index, k))

    def regroup(self, index: Codes, k: int) -> Self:
        return self._each(lambda own: own.regroup(index, k), gather(self.seen, index, k))

    def _each(self, change: Callable[[Statistic], Statistic], seen: Array) -> Self:
        return replace(self, learned={name: part.each(change) for name, part in self.learned.items()}, seen=seen)

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
        seen, columns = fields["seen"], cls.columns_type.from_arrays(under("columns_", fields), plain["columns"])
        k = len(amounts(seen, None, columns.d))
        parts = {
            part.name: part.from_arrays(fields, plain[part.name], columns, k) if part.name in plain else part({})
            for part in cls.part_types()
        }
        sampled = float(plain.get("sampled", 0.0))
        if not 0.0 <= sampled < np.inf:
            raise ValueError("the weight of rows known from a sample")
        return cls(columns, parts, seen, sampled)


def weight_seen(reading: Any, codes: Codes, k: int, weight: Array | None) -> Array:
    """Return the weight (k, columns) of the cells of each class that are not missing."""
    weight = np.ones(len(codes)) if weight is None else weight
    there = [~np.isnan(column) for column in reading.numbers.T] + [levels >= 0 for levels in reading.shown]
    seen = np.stack([np.bincount(codes, weights=weight * own, minlength=k) for own in there], axis=1)
    return seen.astype(np.float64)


class Cost(NamedTuple):
    """Bytes that are kept, in words what takes them, and of what fewer would take less."""

    bytes: int
    doing: str
    fewer: str


def member_costs(n: int, d: int, k: int, levels: Sequence[int], width: int) -> dict[str, Cost]:
    """Return what members take that cannot be left out, and the choice: scores of all for every judged row and class.

    Of `n` judged rows, `d` numbers, `k` classes and categories of so many `levels`; `width` is the number of columns of
    the Gaussian block.
    """
    weighted, size = SETTINGS + COPIES * min(d + len(levels), most_weighted(n, k)), sum(levels)
    each, splines = f"for each of {k:,} classes", sum(m + 1 for m in INTERVALS)
    choosing = f"Choosing between members on {n:,} rows and {k:,} classes"
    return {
        "choice": Cost(8 * n * k * weighted + WORKSPACE, choosing, "classes"),
        "gaussians": Cost(8 * (2 if d else 1) * k * width**2, f"A covariance of {width:,} columns {each}", "columns"),
        "splines": Cost(8 * k * d * splines, f"Densities of {d:,} columns {each}", "columns"),
        "categories": Cost(8 * k * size, f"Counts of {size:,} categories {each}", "columns of names or ids"),
    }


def check_costs(n: int, d: int, k: int, levels: Sequence[int], width: int) -> None:
    """Raise DataError, naming what is too much, if what cannot be left out does not fit into memory."""
    others = either("GaussianDiscriminant(shared=True) or NaiveBayes", "--model shared or nb")
    for cost in member_costs(n, d, k, levels, width).values():
        advice = (
            f"{others}, which need no choice between members; {setting('keep_rows', 2000)}, to judge by fewer rows; or "
            f"fewer {cost.fewer}"
        )
        check_bytes(cost.bytes, cost.doing, advice)


def check_columns(columns: FrozenColumns, k: int, n: int = 0) -> None:
    """Raise DataError if members in these columns, judged on `n` rows of `k` classes, do not fit into memory."""
    width = max((columns.width(kind) for kind in columns.kinds), default=0)
    check_costs(n, len(columns.scores), k, [len(known) for known in columns.vocabulary], width)
