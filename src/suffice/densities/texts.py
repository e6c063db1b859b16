"""Texts by class: their words in order (multinomial), or which words of the vocabulary they have (Bernoulli)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .._arrays import Array, NDArray, np, sparse
from ..schema import Level
from .counts import CountDensity, Linear
from .density import Limit


@dataclass(frozen=True, slots=True)
class TextDensity(CountDensity):
    """Columns of texts, independent given the class, each by the probabilities `p` (k, terms) of its terms.

    Rows are sparse, (n, Σ (terms + 1)): of each column the counts of its terms, and a 1 where there is a text. Where
    texts are sequences of words, log p(text | k) = Σ x log p, and the length goes by itself, the same for all classes.
    With `q` (k, terms), the probability that a text does not have a term, counts are 0 or 1, and
    log p(text | k) = Σ x log p + (1 − x) log q. A term that is in no vocabulary says nothing. `strength` is the
    pseudo-count of each column, `limit_p` and `limit_q` are as for other counts.
    """

    words: tuple[Sequence[str] | None, ...]
    p: tuple[Array, ...]
    limit_p: tuple[Array, ...]
    strength: tuple[float, ...]
    q: tuple[Array, ...] | None = None
    limit_q: tuple[Array, ...] | None = None

    @property
    def ends(self) -> list[int]:
        """Where the columns of rows begin that belong to each column of texts, and how many there are."""
        return [0, *np.cumsum([own.shape[1] + 1 for own in self.p]).tolist()]

    def limit_terms(self, rows: Array | sparse.csr_array) -> Limit:
        """Return (order, log coefficient) of every column of texts by itself, (k, n, c) each."""
        table, ends = self._tables(), self.ends
        order, score = np.zeros((2, table.per_count.shape[1], rows.shape[0], len(self.p)))
        for j, (start, stop) in enumerate(pairwise(ends)):
            part = rows[:, start:stop]
            score[:, :, j] = (part @ table.per_count[start:stop]).T
            if table.zero_per_count is not None:
                order[:, :, j] = (part @ table.zero_per_count[start:stop]).T
        return order, score

    @property
    def nats(self) -> Array:
        """What a count of each column of rows adds to the log density (Σ (terms + 1), k)."""
        return self._tables().per_count

    def missing_cells(self, rows: sparse.csr_array) -> NDArray[np.bool_]:
        """Return which texts of rows are missing (n, c)."""
        return np.asarray(rows[:, [end - 1 for end in self.ends[1:]]].toarray() == 0)

    def marginal(self, columns: Sequence[int]) -> TextDensity:
        """Return the density of some of the columns of texts."""
        parts = [self.words, self.p, self.limit_p, self.strength, self.q, self.limit_q]
        return TextDensity(*(None if own is None else tuple(own[j] for j in columns) for own in parts))  # type: ignore[arg-type]

    @property
    def has_outcomes(self) -> bool:
        """No: nobody lists the texts that there may be."""
        return False

    def log_prior(self) -> float:
        """Return Σ α log p, of Bernoulli columns α log q too: the log prior whose mode they are, up to a constant."""
        every = [*zip(self.strength, self.p, strict=True), *zip(self.strength, self.q or (), strict=False)]
        return float(sum(alpha * np.log(own).sum() for alpha, own in every if alpha > 0))

    def word_probabilities(self, j: int) -> dict[Level, Array]:
        """Return p(word | class), (k,) each, of column j; none where terms are counted in buckets."""
        return {} if self.words[j] is None else dict(zip(self.words[j] or (), self.p[j].T, strict=True))

    def words_in(self, rows: sparse.csr_array, j: int) -> tuple[Sequence[str], sparse.csr_array, Array]:
        """Return the words of column j, how often rows have each (n, w), and what one adds to the log density (w, k).

        No words where terms are counted in buckets.
        """
        start, stop = self.ends[j], self.ends[j + 1] - 1
        words = self.words[j]
        return (words or ()), rows[:, start : stop if words else start].tocsr(), self._tables().per_count[start:stop]

    def _linear(self) -> Linear:
        scores, zeros = list[Array](), list[Array]()
        for j, p in enumerate(self.p):
            if self.q is None or self.limit_q is None:
                scores.append(_with_text(np.log(self.limit_p[j]), np.zeros(len(p))))
                zeros.append(_with_text(p == 0, np.zeros(len(p))))
            else:
                absent, never = np.log(self.limit_q[j]), self.q[j] == 0
                scores.append(_with_text(np.log(self.limit_p[j]) - absent, absent.sum(axis=1)))
                zeros.append(_with_text((p == 0).astype(np.float64) - never, never.sum(axis=1)))
        zero = np.concatenate(zeros)
        return Linear(np.concatenate(scores), zero_per_count=zero if zero.any() else None)


def _with_text(terms: Array, text: Array) -> Array:
    """Return what terms (k, t) and the text itself (k,) add, (t + 1, k)."""
    return np.concatenate([terms.T, text[None]]).astype(np.float64)
