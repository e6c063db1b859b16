"""What texts are made of: words, pairs of words, and letters within words.

A word is a run of letters, digits and apostrophes between them, in lower case, or a run of other marks (emoji,
punctuation). Pairs are of words that follow each other; letters are the runs of 2 to 5 of a word with a space on either
side. Each is a term by its own name, so that no two kinds have one name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .._arrays import Codes, NDArray, np, row_chunks, sparse

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
    def there(self) -> NDArray[np.bool_]:
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
