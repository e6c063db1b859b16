"""How often classes use the terms of texts (words, pairs, letters): exact up to a number of terms, hashed beyond."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

from .._arrays import Array, Codes, Flags, check_bytes, np, row_chunks, sparse
from ..errors import NotLearnedError
from ._downdate import faded, subtract_weights
from .counts import TextColumns
from .scatter import gather, spread
from .statistic import Fields, Plain, Statistic, amounts, at_most, levels as levels_of

# ── What texts are made of: words, pairs of words, and letters within words ───────────────────────────────────────────
#
# A word is a run of letters, digits and apostrophes between them, in lower case, or a run of other marks (emoji,
# punctuation). Pairs are of words that follow each other; letters are the runs of 2 to 5 of a word with a space on
# either side. Each is a term by its own name, so that no two kinds have one name.


WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]+")
LETTERS = "\t"  # before letters, as no word or pair begins
SHORTEST, LONGEST = 2, 5  # runs of letters
TOGETHER = 1 << 12  # texts whose terms are written out at a time
KINDS = ("words", "pairs", "letters")
BUCKETS = 1 << 18  # in which terms are counted where they are too many to be told apart

Kinds = Sequence[str]


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    return WORD.findall(text.lower())


def kind_of(term: str) -> str:
    """Return which kind of term a name is."""
    return "letters" if term.startswith(LETTERS) else "pairs" if " " in term else "words"


def spell(unit: str, kinds: Kinds) -> list[str]:
    """Return the terms of a word, or of a pair of words."""
    if " " in unit:
        return [unit]
    found = [unit] if "words" in kinds else []
    if "letters" in kinds:
        whole = f" {unit} "
        sizes = range(SHORTEST, min(LONGEST, len(whole)) + 1)
        found += [LETTERS + whole[i : i + size] for size in sizes for i in range(len(whole) - size + 1)]
    return found


@dataclass(frozen=True, eq=False)
class Terms:
    """Texts (n,) by their terms: `units` (n, u) counts words and pairs of words, `spelled` (u, t) the terms of each.

    `names` are those of the terms (t,). What is linear in counts asks these two matrices one after the other, which is
    several times shorter than their product.
    """

    names: tuple[str, ...]
    unit_names: tuple[str, ...]
    units: sparse.csr_array
    spelled: sparse.csr_array

    @classmethod
    def of(cls, texts: Iterable[str], kinds: Kinds) -> Terms:
        """Return the terms of these kinds."""
        number: dict[str, int] = {}
        ends, found = [0], list[int]()
        for text in texts:
            words = words_of(text)
            found += [number.setdefault(word, len(number)) for word in words]
            if "pairs" in kinds:
                found += [number.setdefault(f"{a} {b}", len(number)) for a, b in pairwise(words)]
            ends.append(len(found))
        place: dict[str, int] = {}
        stops, terms = [0], list[int]()
        for unit in number:
            terms += [place.setdefault(term, len(place)) for term in spell(unit, kinds)]
            stops.append(len(terms))
        return cls(tuple(place), tuple(number), counted(found, ends, len(number)), counted(terms, stops, len(place)))

    def __len__(self) -> int:
        return int(self.units.shape[0])

    def occurring(self) -> Iterable[tuple[slice, sparse.csr_array]]:
        """Yield parts of the texts, each with the terms that occur in them (m, t): 1 or not stored."""
        for part in row_chunks(len(self), TOGETHER):
            there = (self.units[part] @ self.spelled).tocsr()
            there.data[:] = 1.0
            yield part, there

    def among(self, known: Vocabulary, kinds: Kinds = KINDS) -> sparse.csr_array:
        """Return which column of a vocabulary each term of these kinds is (t, v); one that is not there has none."""
        return known.columns([term if kind_of(term) in kinds else None for term in self.names])


@dataclass(frozen=True, eq=False)
class TextReading:
    """A column of texts: the terms of the different ones, and which of these each row has (n,), −1 where missing."""

    terms: Terms
    number: Codes

    @classmethod
    def of(cls, texts: Sequence[object], codes: Codes, kinds: Kinds) -> TextReading:
        """Return the terms of these kinds of the texts that occur; `codes` (n,) say which of `texts` a row has."""
        number, there = np.full(len(codes), -1, dtype=np.int64), codes >= 0
        used, number[there] = np.unique(codes[there], return_inverse=True)
        return cls(Terms.of([str(texts[int(i)]) for i in used], kinds), number)

    @property
    def there(self) -> Flags:
        """Which rows have a text (n,)."""
        return self.number >= 0

    def counted_in(self, known: Vocabulary, occurs: bool, kinds: Kinds) -> sparse.csr_array:
        """Return how often rows have the terms of a vocabulary (n, v + 1), and last a 1 where there is a text.

        If `occurs`, whether they have them.
        """
        columns = self.terms.among(known, kinds)
        if occurs and known.terms is None:  # terms of one bucket are told apart before they are counted
            every = sparse.vstack([own for _, own in self.terms.occurring()], format="csr") @ columns
        else:
            every = (self.terms.units @ (self.terms.spelled @ columns)).tocsr()
            every.data[:] = np.minimum(every.data, 1.0) if occurs else every.data
        flag = sparse.csr_array(self.there[:, None].astype(np.float64))
        counts = sparse.vstack([every, sparse.csr_array((1, len(known)))], format="csr")[self.number]
        found: sparse.csr_array = sparse.hstack([counts, flag], format="csr")
        return found


def counted(index: Sequence[int], ends: Sequence[int], width: int) -> sparse.csr_array:
    """Return how often each row has each number below `width`; `ends` are where rows of the `index` begin and end."""
    shape, ones = (len(ends) - 1, width), np.ones(len(index))
    found = sparse.csr_array((ones, np.array(index, dtype=np.int64), np.array(ends, dtype=np.int64)), shape=shape)
    found.sum_duplicates()
    return found


def bucket(term: str) -> int:
    """Return the bucket of a term, by a hash of its name alone."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big") % BUCKETS


class Vocabulary:
    """Terms and the columns in which they are counted; None where they are counted in buckets."""

    def __init__(self, terms: Sequence[str] | None) -> None:
        self.terms = terms
        self._place: Mapping[str, int] = {} if terms is None else {term: i for i, term in enumerate(terms)}

    def __len__(self) -> int:
        return BUCKETS if self.terms is None else len(self.terms)

    def place(self, term: str) -> int:
        """Return the column of a term, −1 for none."""
        return bucket(term) if self.terms is None else self._place.get(term, -1)

    def columns(self, names: Sequence[str | None]) -> sparse.csr_array:
        """Return which column each of some terms is (t, v); None is in no column."""
        place = np.array([-1 if term is None else self.place(term) for term in names], dtype=np.int64)
        row = np.flatnonzero(place >= 0)
        return sparse.csr_array((np.ones(len(row)), (row, place[row])), shape=(len(names), len(self)))


# ── How often classes use the terms of texts: exact up to a number of terms, by a hash of their names beyond ──────────


BUDGET = 1 << 20  # terms that are told apart
TIMES, TEXTS = 0, 1  # what is counted: every occurrence, and every text that has the term

Words = tuple[str, ...] | None  # the terms of a column, sorted; None where they are counted in buckets


@dataclass(frozen=True, slots=True)
class TextStats(Statistic):
    """Weight of each term by class, and of the texts in which it occurs, of columns of texts.

    `words[j]` are the sorted terms of column j, None where they are counted in buckets, and `counts[j]` (k, 2, terms)
    the weight of their occurrences and that of the texts that have them. `seen` (k, c) is the weight of the texts,
    `length` (k, c) that of all occurrences.
    """

    words: tuple[Words, ...]
    counts: tuple[Array, ...]
    seen: Array
    length: Array

    @classmethod
    def zero(cls, k: int, c: int) -> Self:
        """Return the statistics of no texts."""
        return cls(((),) * c, (np.zeros((k, 2, 0)),) * c, np.zeros((k, c)), np.zeros((k, c)))

    @classmethod
    def summarize(cls, rows: TextColumns, codes: Codes, k: int, weight: Array | None, kinds: Kinds) -> Self:
        """Return the counts of a batch: terms of these `kinds`, class numbers (n,) below `k`, row weights (n,)."""
        columns = zip(rows.levels, rows.codes, strict=True)
        read = [TextReading.of(texts, own, kinds) for texts, own in columns]
        return cls.of_readings(read, codes, k, weight, kinds)

    @classmethod
    def of_readings(cls, read: Sequence[TextReading], codes: Codes, k: int, weight: Array | None, kinds: Kinds) -> Self:
        """Return the same of columns whose terms are known already, those of these kinds."""
        weight, words, counts = np.ones(len(codes)) if weight is None else weight, list[Words](), list[Array]()
        seen = np.zeros((k, len(read)))
        for j, own in enumerate(read):
            there = np.flatnonzero(own.number >= 0)
            shape = (k, len(own.terms))
            by_class = sparse.csr_array((weight[there], (codes[there], own.number[there])), shape=shape)
            place = {term: i for i, term in enumerate(own.terms.names) if kind_of(term) in kinds}
            known = tuple(sorted(place))
            counts.append(_counts(own.terms, by_class)[..., [place[term] for term in known]])
            words.append(known)
            seen[:, j] = by_class.sum(axis=1)
        length = np.stack([own[:, TIMES].sum(axis=1) for own in counts], axis=1) if counts else seen
        return cls(tuple(words), tuple(counts), seen, length)._folded()

    def merge(self, other: Self) -> Self:
        """Return the counts of the texts of both, over the terms of both."""
        one, two = self._alike(other)
        counts = tuple(x + y for x, y in zip(one.counts, two.counts, strict=True))
        return type(self)(one.words, counts, self.seen + other.seen, self.length + other.length)._folded()

    def subtract(self, other: Self) -> Self:
        """Return the counts of the texts left; a term that none of them has is gone.

        NotLearnedError for a term never counted, or counted less often.
        """
        whole, part = self._alike(other)
        counts = []
        for j, (x, y) in enumerate(zip(whole.counts, part.counts, strict=True)):
            try:
                counts.append(subtract_weights(x, y, "number of one of its words"))
            except NotLearnedError as error:
                raise NotLearnedError(error.why, error.code, [j]) from None
        seen = subtract_weights(self.seen, other.seen, "number of texts")
        length = subtract_weights(self.length, other.length, "number of words")
        return type(self)(whole.words, tuple(counts), seen, length)._shown()

    def scale(self, factor: float) -> Self:
        return self._each(lambda values: faded(values, factor))

    def place(self, index: Sequence[int], k: int) -> Self:
        check_terms(k, [own.shape[-1] for own in self.counts])
        return self._each(lambda values: spread(values, index, k))

    def regroup(self, index: Codes, k: int) -> Self:
        return self._each(lambda values: gather(values, index, k))._shown()

    def column_weight(self) -> Array:
        return self.seen

    def vocabulary(self, j: int) -> Vocabulary:
        """Return the columns in which the terms of a column of texts are counted."""
        return Vocabulary(self.words[j])

    def columns(self, index: Sequence[int]) -> Self:
        """Return the statistics of some of the columns of texts, of no text where a number is −1."""
        none = type(self).zero(len(self.seen), 1)
        picked = [(self.words[j], self.counts[j]) if j >= 0 else (none.words[0], none.counts[0]) for j in index]
        sums = [np.column_stack([own, none.seen])[:, list(index)] for own in (self.seen, self.length)]
        return type(self)(tuple(words for words, _ in picked), tuple(counts for _, counts in picked), *sums)

    def arrays(self) -> tuple[Fields, Plain]:
        fields = {f"c{j}": own for j, own in enumerate(self.counts)}
        words = [None if own is None else list(own) for own in self.words]
        return {**fields, "seen": self.seen, "length": self.length}, {"words": words}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        words = tuple(None if own is None else levels_of(own) for own in plain["words"])
        seen, c = fields["seen"], len(words)
        k = len(amounts(seen, None, c))
        length = amounts(fields["length"], k, c)
        sizes = [BUCKETS if own is None else len(own) for own in words]
        counts = tuple(amounts(fields[f"c{j}"], k, 2, size) for j, size in enumerate(sizes))
        texts = all(isinstance(word, str) for own in words for word in own or ())
        in_order = all(list(own) == sorted(map(str, own)) for own in words if own is not None)
        right = all(at_most(own[:, TEXTS], own[:, TIMES]) for own in counts)
        if not (texts and in_order and right):
            raise ValueError("terms of texts")
        return cls(words, counts, seen, length)  # type: ignore[arg-type]

    def _each(self, change: Callable[[Array], Array]) -> Self:
        return type(self)(self.words, tuple(map(change, self.counts)), change(self.seen), change(self.length))

    def _alike(self, other: Self) -> tuple[Self, Self]:
        """Return both over the terms of both."""
        words = []
        for a, b in zip(self.words, other.words, strict=True):
            words.append(a if a == b or a is None else None if b is None else tuple(sorted({*a, *b})))
        return self._within(words), other._within(words)

    def _within(self, words: Sequence[Words]) -> Self:
        """Return the same counts over more terms, or in buckets."""
        check_terms(len(self.seen), [BUCKETS if own is None else len(own) for own in words])
        counts = []
        for own, wanted, table in zip(self.words, words, self.counts, strict=True):
            if own != wanted and own is not None:
                k, to = len(table), Vocabulary(wanted).columns(own)
                table = np.asarray(table.reshape(2 * k, len(own)) @ to).reshape(k, 2, to.shape[1])
            counts.append(table)
        return replace(self, words=tuple(words), counts=tuple(counts))

    def _folded(self) -> Self:
        """Return the same counts, in buckets where the terms of a column are too many to be told apart."""
        words = [None if own is None or len(own) > BUDGET else own for own in self.words]
        return self if tuple(words) == self.words else self._within(words)

    def _shown(self) -> Self:
        """Return the counts without the terms that no text has."""
        words, counts = [], []
        for own, table in zip(self.words, self.counts, strict=True):
            shown = np.flatnonzero(table[:, TEXTS].any(axis=0))
            words.append(None if own is None else tuple(own[int(i)] for i in shown))
            counts.append(table if own is None else table[..., shown])
        return replace(self, words=tuple(words), counts=tuple(counts))


def _counts(terms: Terms, by_class: sparse.csr_array) -> Array:
    """Return the counts (k, 2, t) of texts whose weights by class are `by_class` (k, n)."""
    k = by_class.shape[0]
    check_terms(k, [len(terms.names)])
    found = np.zeros((k, 2, len(terms.names)))
    found[:, TIMES] = ((by_class @ terms.units) @ terms.spelled).toarray()
    for part, there in terms.occurring():
        found[:, TEXTS] += (by_class[:, part] @ there).toarray()
    return found


def check_terms(k: int, sizes: Sequence[int]) -> None:
    """Raise DataError, before anything is allocated, if counts of all terms by class would not fit in memory."""
    what = f"Counts of {sum(sizes):,} words and letters of texts for each of {k:,} classes"
    check_bytes(16 * k * sum(sizes), what, "fewer columns of texts, or fewer classes")
