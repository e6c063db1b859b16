"""Texts, by how often each class uses their words: multinomial and Bernoulli naive Bayes.

McCallum & Nigam, A comparison of event models for naive Bayes text classification (AAAI workshop, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ..._arrays import Array, Codes, Flags, NDArray, np, sparse
from ...densities import Limit
from ...densities.counts import TextDensity
from ...errors import SchemaError, SettingError, setting
from ...notes import Note
from ...schema import Kind
from ...stats.counts import TextColumns
from ...stats.texts import TEXTS, TIMES, TextReading, TextStats
from ...table import Table
from ..priors import smoothed_shares, smoothing_of
from .family import SLACK, Block, LimitFamily, Settings, refuse, row_weights, weight_groups, without


@dataclass(frozen=True, slots=True)
class TextFamily(LimitFamily):
    """Columns of texts, independent given the class; vocabularies grow as words are met.

    Multinomial: p(word | k) = (count + α) / (number of words of the class + α V), with V words in the vocabulary.
    With `occurs`, Bernoulli: p(a text has the word | k) = (texts with it + α) / (n_k + 2 α). A word never met says
    nothing. `kinds` are those of the terms: "words", "pairs" of words that follow each other, "letters" within words.
    """

    name: str = "text"
    occurs: bool = False
    kinds: tuple[str, ...] = ("words",)

    def encode(self, table: Table, positions: Sequence[int]) -> TextColumns:
        pairs = []
        for position in positions:
            column = table.schema.columns[position]
            if not column.kind.is_label and column.kind is not Kind.EMPTY:
                raise SchemaError.no_text(column.name, column.kind.value)
            pairs.append(table.categories(position))
        return TextColumns(tuple(levels for levels, _ in pairs), tuple(codes for _, codes in pairs))

    def recode(self, rows: TextColumns, stats: TextStats) -> sparse.csr_array:
        """Return the counts of the terms of each column in its vocabulary, and a 1 where there is a text."""
        columns = zip(rows.levels, rows.codes, map(stats.vocabulary, range(len(stats.words))), strict=True)
        parts = [
            TextReading.of(texts, codes, self.kinds).counted_in(known, self.occurs, self.kinds)
            for texts, codes, known in columns
        ]
        found: sparse.csr_array = sparse.hstack(parts, format="csr")
        return found

    def zero(self, k: int, columns: int) -> TextStats:
        return TextStats.zero(k, columns)

    def summarize(self, rows: TextColumns, codes: Codes, k: int, weight: Array | None) -> TextStats:
        return TextStats.summarize(rows, codes, k, weight, self.kinds)

    def estimate(self, stats: TextStats, settings: Settings) -> tuple[TextDensity, list[Note]]:
        strength = tuple(_strength(settings, j) for j in range(len(stats.words)))
        p, limit_p, q, limit_q = [], [], [], []
        for alpha, counts, seen in zip(strength, stats.counts, stats.seen.T, strict=True):
            if self.occurs:
                have = np.minimum(counts[:, TEXTS], seen[:, None])  # terms in one bucket may be of one text
                found = smoothed_shares(have, seen[:, None], alpha, 1.0, 2.0)
                missing = smoothed_shares(seen[:, None] - have, seen[:, None], alpha, 1.0, 2.0)
                q.append(missing[0])
                limit_q.append(missing[1])
            else:
                times = counts[:, TIMES]
                found = smoothed_shares(times, times.sum(axis=1, keepdims=True), alpha, 1.0, max(times.shape[1], 1))
            p.append(found[0])
            limit_p.append(found[1])
        absent = {"q": tuple(q), "limit_q": tuple(limit_q)} if self.occurs else {}
        return TextDensity(stats.words, tuple(p), tuple(limit_p), strength, **absent), []

    def leave_one_out_limit(
        self, rows: sparse.csr_array, stats: TextStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        A text takes its words along, those that no other text has out of the vocabulary too, where a refit would not
        know them: V shrinks, and they say nothing.
        """
        ends = self.estimate(stats, settings)[0].ends
        order, score = np.zeros((2, len(codes), len(stats.seen)))
        w = row_weights(codes, weight)
        for j, (start, stop) in enumerate(pairwise(ends)):
            there = np.flatnonzero(rows[:, stop - 1 : stop].toarray()[:, 0])
            if not len(there):
                continue
            own = _Leaving.of(rows[there, start : stop - 1].tocsr(), stats, j, codes[there], w[there])
            own.check(settings, there)
            found = own.bernoulli if self.occurs else own.multinomial
            for c in range(len(stats.seen)):
                zeros, terms = found(c, _strength(settings, j))
                order[there, c] += zeros
                score[there, c] += terms
        return order, score


class _Leaving(NamedTuple):
    """Texts that leave the statistics of a column: stored cells `row`, `term`, `x`, and those `alone`, of no other."""

    row: Codes
    term: Codes
    x: Array
    alone: Flags
    counts: Array
    seen: Array
    codes: Codes
    w: Array

    @classmethod
    def of(cls, rows: sparse.csr_array, stats: TextStats, j: int, codes: Codes, w: Array) -> _Leaving:
        row = np.repeat(np.arange(len(codes)), np.diff(rows.indptr))
        counts, held = stats.counts[j], stats.counts[j][:, TEXTS].sum(axis=0)
        alone = without(held[rows.indices], w[row]) <= 0.0
        return cls(row, rows.indices, rows.data.astype(np.float64), alone, counts, stats.seen[:, j], codes, w)

    def check(self, settings: Settings, there: Codes) -> None:
        """Raise DataError naming a row that uses a word more often than its class does."""
        known = self.counts[self.codes[self.row], TIMES, self.term]
        over = np.flatnonzero(self.w[self.row] * self.x > known * (1.0 + SLACK))
        if len(over):
            i = int(self.row[over[0]])
            raise refuse(settings, int(there[i]), int(self.codes[i]), None, "it has a word more often than the class")

    def sums(self, values: NDArray[Any]) -> Array:
        """Return the sums (n,) of what stored cells add."""
        return np.bincount(self.row, weights=values, minlength=len(self.codes)).astype(np.float64)

    def multinomial(self, c: int, alpha: float) -> tuple[Array, Array]:
        """Return (order, log coefficient), (n,) each, of the words of the texts under a class, each text left out."""
        mine, words = self.codes == c, np.where(self.alone, 0.0, self.x)
        times = self.counts[c, TIMES]
        gone = self.w * mine
        total = without(times.sum(), gone * self.sums(self.x))
        left = without(times[self.term], gone[self.row] * self.x)
        size = np.maximum(len(times) - self.sums(self.alone), 1.0)
        p, limit = smoothed_shares(left, total[self.row], alpha, 1.0, size[self.row])
        return self.sums(np.where(p > 0, 0.0, words)), self.sums(words * np.log(limit))

    def bernoulli(self, c: int, alpha: float) -> tuple[Array, Array]:
        """Return the same of which words of the vocabulary the texts have."""
        have = np.minimum(self.counts[c, TEXTS], self.seen[c])
        order, score = np.zeros((2, len(self.codes)))
        gone = np.where(self.codes == c, self.w, 0.0)
        for w, index in weight_groups(self.codes, gone):
            seen = without(self.seen[c], w)
            none, limit_none = smoothed_shares(without(self.seen[c] - have, w), seen, alpha, 1.0, 2.0)
            order[index] = (none == 0).sum()
            score[index] = np.log(limit_none).sum()
            cells = np.flatnonzero(np.isin(self.row, index))
            term, said = self.term[cells], np.where(self.alone[cells], 0.0, 1.0)
            p, limit = smoothed_shares(without(have[term], w), seen, alpha, 1.0, 2.0)
            zeros = said * (p == 0) - (none[term] == 0)
            terms = said * np.log(limit) - np.log(limit_none[term])
            order += np.bincount(self.row[cells], weights=zeros, minlength=len(order))
            score += np.bincount(self.row[cells], weights=terms, minlength=len(score))
        return order, score


def _strength(settings: Settings, j: int) -> float:
    """Return the pseudo-count of each word of a column of texts."""
    rule = smoothing_of(settings.smoothing, settings.columns[j] if settings.columns else None)
    if rule.base != "uniform":
        raise SettingError(
            f"{setting('smoothing', settings.smoothing)}: words of texts are smoothed alike. Next: give a number for "
            "columns of texts, or a Dirichlet of the base 'uniform'."
        )
    return float(rule.strength)


def text_positions(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Return the positions of columns of texts, whose cells are words."""
    return tuple(p for own in blocks if isinstance(own.family, TextFamily) for p in own.positions)
