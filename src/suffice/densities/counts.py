"""Categories, counts and texts by class: categorical, Poisson, Bernoulli, multinomial columns; sparse ones stay so."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from .._arrays import (
    Array,
    Codes,
    Flags,
    NDArray,
    gammaln,
    np,
    parallel_each,
    parallel_map,
    row_chunks,
    rows_within,
    sparse,
)
from ..schema import Level
from .density import Density, Limit, Outcomes, count_outcomes, listed_outcomes


@dataclass(frozen=True)
class Categorical(Density):
    """p(level | class) of each column.

    `levels[j]` names the levels of column j; `log_p[j]` is (k, levels + 1) in nats, the last entry being a category
    never seen. `limit_log_p` holds the same numbers with each zero probability (−∞) replaced by the logarithm of its
    coefficient c in p ≈ c·α as the smoothing α goes to 0; see `limit`. `pseudo[j]` (levels + 1,) are the pseudo-counts
    that smoothed each class.
    """

    levels: tuple[tuple[Level, ...], ...]
    log_p: tuple[Array, ...]
    limit_log_p: tuple[Array, ...]
    pseudo: tuple[Array, ...] = ()

    @property
    def k(self) -> int:
        return len(self.log_p[0])

    def log_density(self, columns: Sequence[Codes]) -> Array:
        """Return Σ_j log p(x_j | class), (n, k) in nats; code −1 is missing and contributes 0."""
        n = len(columns[0])
        out = np.zeros((n, self.k))
        tables = self._tables

        def fill(part: slice) -> None:
            total = out[part]
            term = np.empty(total.shape)
            for code, table in zip(columns, tables, strict=True):
                total += np.take(table, code[part], axis=0, out=term, mode="wrap")

        parallel_each(fill, row_chunks(n, rows_within(16 * self.k)), cost=10.0 * n * len(columns))
        return out

    def column_levels(self, j: int) -> tuple[Level, ...]:
        return self.levels[j]

    @cached_property
    def _tables(self) -> list[Array]:
        """The table of each column (levels + 2, k): log p, and zeros for a missing cell, −1, at the end."""
        return [np.concatenate([log_p.T, np.zeros((1, self.k))]) for log_p in self.log_p]

    def marginal(self, columns: Sequence[int]) -> Categorical:
        levels, log_p, limit = (tuple(own[j] for j in columns) for own in (self.levels, self.log_p, self.limit_log_p))
        return Categorical(levels, log_p, limit)  # type: ignore[arg-type]

    def log_prior(self) -> float:
        """Return Σ α log p(level | class), up to a constant the log Dirichlet(α + 1) density of which p is the mode."""
        pairs = zip(self.log_p, self.pseudo, strict=True)
        return sum(float((log_p[:, added > 0] @ added[added > 0]).sum()) for log_p, added in pairs)

    def condition(self, columns: Sequence[Codes], posterior: Array) -> tuple[Codes, ...]:
        """Return the columns with each missing cell (−1) at its most probable level; ties go to the first level.

        p(level | row) = Σ_k p_k p(level | k), with `posterior` p (n, k). A column without levels keeps its holes.
        """

        def best(j: int, row: Codes) -> Codes:
            return np.asarray((posterior[row] @ np.exp(self.log_p[j][:, :-1])).argmax(axis=1))

        return self._filled(columns, best)

    def sample(self, columns: Sequence[Codes], codes: Codes, rng: np.random.RandomState) -> tuple[Codes, ...]:
        """Return the columns with each missing cell (−1) drawn from the probabilities of the row's class (n,)."""
        return self._filled(columns, lambda j, row: draw_codes(np.exp(self.log_p[j][:, :-1]), rng, codes[row]))

    def outcomes(self, columns: Sequence[Codes]) -> Iterator[Outcomes]:
        """Yield what each missing cell (−1) may hold: every level that the model knows."""
        for j, column in enumerate(columns):
            own = np.flatnonzero(column < 0)
            if len(own) and self.levels[j]:
                share = np.exp(self.log_p[j][:, :-1]).T
                yield listed_outcomes(own, j, np.arange(len(share)), share)

    def _filled(self, columns: Sequence[Codes], value: Callable[[int, Codes], Codes]) -> tuple[Codes, ...]:
        filled = []
        for j, column in enumerate(columns):
            row = np.flatnonzero(column < 0)
            if len(row) and self.levels[j]:
                column = column.astype(np.int64)
                column[row] = value(j, row)
            filled.append(column)
        return tuple(filled)

    def limit(self, columns: Sequence[Codes]) -> Limit:
        """Return (order, log coefficient), each (n, k): the density is coefficient · α^order as smoothing α → 0.

        Where every class gives a row probability zero, Bayes' rule reads 0 / 0; its limit for vanishing smoothing is
        defined, and is what a slightly smoothed model answers.
        """
        order = np.zeros((len(columns[0]), self.k))
        score = np.zeros_like(order)
        for code, log_p, limit in zip(columns, self.log_p, self.limit_log_p, strict=True):
            missing = np.zeros((1, self.k))
            order += np.concatenate([np.isneginf(log_p).T.astype(float), missing])[code]
            score += np.concatenate([limit.T, missing])[code]
        return order, score

    def limit_terms(self, columns: Sequence[Codes]) -> Limit:
        """Return (order, log coefficient) of every column by itself, (k, n, d) each; see `limit`."""
        order = np.zeros((self.k, len(columns[0]), len(columns)))
        score = np.zeros(order.shape)
        missing = np.zeros((self.k, 1))
        for j, (code, log_p, limit) in enumerate(zip(columns, self.log_p, self.limit_log_p, strict=True)):
            score[:, :, j] = np.concatenate([limit, missing], axis=1)[:, code]
            zero = np.isneginf(log_p)
            if zero.any():
                order[:, :, j] = np.concatenate([zero.astype(np.float64), missing], axis=1)[:, code]
        return order, score


def draw_codes(probabilities: Array, rng: np.random.RandomState, choice: Codes | None = None) -> Codes:
    """Return one number per row of `probabilities` (n, m), drawn in their proportion; `choice` (h,) picks rows.

    A probability of zero is never drawn.
    """
    below = np.cumsum(probabilities, axis=1)
    below = below if choice is None else below[choice]
    total = below[:, -1]
    point = np.minimum(rng.random_sample(len(below)) * total, np.nextafter(total, 0.0))  # rounding must not reach it
    return np.asarray(np.minimum((below <= point[:, None]).sum(axis=1), below.shape[1] - 1))


def fill_missing(rows: Array, value: Callable[[Codes, Codes], NDArray[np.generic]]) -> Array:
    """Return a copy of rows (n, d) whose missing cells (NaN) are value(row numbers, column numbers)."""
    out = np.array(rows, dtype=np.float64)
    row, column = np.nonzero(np.isnan(out))
    if len(row):
        out[row, column] = value(row, column)
    return out


class Linear(NamedTuple):
    """What a log density linear in the counts x adds up: Σ_j per_count[j]·x_j + Σ_j per_cell[j], by class.

    `per_count` is (d, k), `per_cell` (k, d) over the observed cells or None. The `zero_*` pair adds up, likewise,
    how often a row has what a class gives probability zero; None where there is no such thing.
    """

    per_count: Array
    per_cell: Array | None = None
    zero_per_count: Array | None = None
    zero_per_cell: Array | None = None


class CountDensity(Density):
    """What the densities of counts share; a subclass gives `_linear()`."""

    def log_density(self, rows: Array | sparse.csr_array) -> Array:
        """Return log p(x | k), (n, k) in nats, of sparse rows, or dense ones with missing cells as NaN."""
        order, score = self.limit(rows)
        score[order > 0] = -np.inf
        return score

    def limit(self, rows: Array | sparse.csr_array) -> Limit:
        """Return (order, log coefficient) of the density as the smoothing vanishes, (n, k) each."""
        if not isinstance(rows, np.ndarray):
            return self._part(rows, None)

        def fill(chunk: slice) -> Limit:
            block = rows[chunk]
            missing = np.isnan(block)
            if missing.any():
                return self._part(np.where(missing, 0.0, block), (~missing).astype(np.float64))
            return self._part(block.astype(np.float64, copy=False), None)

        chunks = list(row_chunks(len(rows), rows_within(8 * rows.shape[1], least=64))) or [slice(0)]
        parts = list(parallel_map(fill, chunks, cost=10.0 * rows.size))
        return np.concatenate([order for order, _ in parts]), np.concatenate([score for _, score in parts])

    def limit_terms(self, rows: Array | sparse.csr_array) -> Limit:
        """Return (order, log coefficient) of every column by itself, (k, n, d) each, but for log x_j! of a Poisson.

        That term is the same for all classes. A column of a multinomial is its count times its log share.
        """
        table = self.linear
        x = rows if isinstance(rows, np.ndarray) else rows.toarray().astype(np.float64)
        missing = np.isnan(x)
        x = np.where(missing, 0.0, x)
        pairs = (table.zero_per_count, table.zero_per_cell), (table.per_count, table.per_cell)
        order, score = np.zeros((2, table.per_count.shape[1], *x.shape))
        for out, (per_count, per_cell) in zip((order, score), pairs, strict=True):
            if per_count is not None:
                np.multiply(x, per_count.T[:, None], out=out)
            if per_cell is not None:
                out += per_cell[:, None]
                out[:, missing] = 0.0
        return order, score

    @cached_property
    def linear(self) -> Linear:
        """The tables of the log density."""
        return self._linear()

    def _part(self, x: Array | sparse.csr_array, observed: Array | None) -> Limit:
        table = self.linear
        score = np.asarray(x @ table.per_count)
        if table.per_cell is not None:
            score += _over_cells(observed, table.per_cell)
        order = np.zeros((1, 1)) if table.zero_per_count is None else np.asarray(x @ table.zero_per_count)
        if table.zero_per_cell is not None:
            order = order + _over_cells(observed, table.zero_per_cell)
        return np.broadcast_to(order, score.shape), score

    @abstractmethod
    def _linear(self) -> Linear:
        """Return them."""


@dataclass(frozen=True, slots=True)
class Multinomial(CountDensity):
    """Shares of a total: `p` (k, d), each row summing to one, smoothed by the pseudo-counts `pseudo` (d,).

    log p(x | k) = Σ_j x_j log p_kj, without the coefficient log (N! / Π x_j!), which is the same for every class and
    cancels in each posterior. It is the log probability of the words of a text in their order. `size` (k,) is the mean
    total of a row, which only `sample` uses. There is no `condition`: without all counts the total is unknown.
    """

    p: Array
    limit_p: Array
    pseudo: Array | None = None
    size: Array | None = None

    def marginal(self, columns: Sequence[int]) -> Multinomial:
        """Return the density of the counts of some of the columns, given their sum."""
        kept = list(columns)
        total = self.p[:, kept].sum(axis=1, keepdims=True)
        size = None if self.size is None else self.size * total[:, 0]
        return Multinomial(self.p[:, kept] / total, self.limit_p[:, kept] / total, size=size)

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return counts (n, d) drawn for rows of the classes `codes` (n,) in which every cell is missing (NaN).

        The density is that of counts given their total, so a total is drawn first, as a Poisson number of mean `size`.
        Rows without a missing cell stay as they are.
        """
        out = np.array(rows, dtype=np.float64)
        empty = np.flatnonzero(np.isnan(out).any(axis=1))
        if not len(empty):
            return out
        if self.size is None or not np.isnan(out[empty]).all():
            raise ValueError("counts that share out a total are drawn all together, for classes of known size")
        below = np.cumsum(self.p, axis=1)
        for i in empty:
            c = codes[i]
            point = rng.random_sample(rng.poisson(self.size[c])) * below[c, -1]
            out[i] = np.bincount(np.searchsorted(below[c], point, side="right"), minlength=out.shape[1])
        return out

    @property
    def has_outcomes(self) -> bool:
        """No: one count has no law while the total is unknown."""
        return False

    def parameters(self, j: int) -> dict[str, Array]:
        return {"share": self.p[:, j]}

    def log_prior(self) -> float:
        """Return Σ α log p, the log Dirichlet(α + 1) density of which p is the mode, up to a constant."""
        return _log_dirichlet(self.p, self.pseudo)

    def _linear(self) -> Linear:
        return Linear(_by_column(np.log(self.limit_p)), zero_per_count=_zeros(self.p))


@dataclass(frozen=True, slots=True)
class Bernoulli(CountDensity):
    """Independent columns of 0 and 1: `p` (k, d) the probability of 1 and `q` (k, d) that of 0.

    `pseudo` (2, d) are the pseudo-counts of 1 and of 0 that smoothed each class.

    log p(x | k) = Σ_j x_j log p_kj + (1 − x_j) log q_kj.
    """

    p: Array
    q: Array
    limit_p: Array
    limit_q: Array
    pseudo: Array | None = None

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its more probable value, 1 if Σ_k p_k p_kj > ½ else 0."""
        odds = posterior @ (self.p - self.q)
        return fill_missing(rows, lambda row, j: odds[row, j] > 0.0)

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return rows (n, d) with each missing cell (NaN) drawn as 0 or 1 for the row's class (n,)."""
        return fill_missing(rows, lambda row, j: rng.random_sample(len(row)) < self.p[codes[row], j])

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: 0 or 1."""
        for j, own in _missing_by_column(rows):
            yield listed_outcomes(own, j, np.arange(2), np.stack([self.q[:, j], self.p[:, j]]))

    def marginal(self, columns: Sequence[int]) -> Bernoulli:
        kept = list(columns)
        return Bernoulli(self.p[:, kept], self.q[:, kept], self.limit_p[:, kept], self.limit_q[:, kept])

    def parameters(self, j: int) -> dict[str, Array]:
        return {"probability": self.p[:, j]}

    def log_prior(self) -> float:
        """Return Σ (α log p + β log q), the log Beta(α + 1, β + 1) density of which p is the mode, up to a constant."""
        if self.pseudo is None:
            return 0.0
        return _log_dirichlet(self.p, self.pseudo[0]) + _log_dirichlet(self.q, self.pseudo[1])

    def _linear(self) -> Linear:
        zeros = np.log(self.limit_q)
        per_count = _by_column(np.log(self.limit_p) - zeros)
        if (self.p > 0).all() and (self.q > 0).all():
            return Linear(per_count, zeros)
        never, always = (self.p == 0).astype(np.float64), (self.q == 0).astype(np.float64)
        return Linear(per_count, zeros, _by_column(never - always), always)


@dataclass(frozen=True, slots=True)
class Poisson(CountDensity):
    """Independent columns of counts with mean `rate` (k, d).

    log p(x | k) = Σ_j x_j log rate_kj − rate_kj − log x_j!. `pseudo` (2, d) are the counts and the rows that
    smoothing added to each class.
    """

    rate: Array
    limit_rate: Array
    pseudo: Array | None = None

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its expected count Σ_k p_k rate_kj, seldom whole."""
        rate = posterior @ self.rate
        return fill_missing(rows, lambda row, j: rate[row, j])

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return rows (n, d) with each missing cell (NaN) drawn as a count for the row's class (n,)."""
        return fill_missing(rows, lambda row, j: rng.poisson(self.rate[codes[row], j]))

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: counts up to ten standard deviations beyond the largest rate."""
        for j, own in _missing_by_column(rows):
            yield count_outcomes(own, j, self.rate[:, j])

    def marginal(self, columns: Sequence[int]) -> Poisson:
        return Poisson(self.rate[:, list(columns)], self.limit_rate[:, list(columns)])

    def parameters(self, j: int) -> dict[str, Array]:
        return {"rate": self.rate[:, j]}

    def log_prior(self) -> float:
        """Return Σ (s log rate − α rate), the log Gamma(1 + s, α) density of which the rate is the mode.

        Up to a constant, and with s and α the counts and rows in `pseudo`, as many as smoothing adds.
        """
        if self.pseudo is None:
            return 0.0
        return _log_dirichlet(self.rate, self.pseudo[0]) - float((self.rate @ self.pseudo[1]).sum())

    def _linear(self) -> Linear:
        return Linear(_by_column(np.log(self.limit_rate)), -self.rate, _zeros(self.rate))

    def _part(self, x: Array | sparse.csr_array, observed: Array | None) -> Limit:
        order, score = CountDensity._part(self, x, observed)
        score -= _log_factorials(x)[:, None]
        return order, score


def _missing_by_column(rows: Array) -> Iterator[tuple[int, Codes]]:
    """Yield each column with missing cells (NaN), and the numbers of the rows that miss it."""
    missing = np.isnan(rows)
    for j in np.flatnonzero(missing.any(axis=0)).tolist():
        yield j, np.flatnonzero(missing[:, j])


def _log_dirichlet(p: Array, pseudo: Array | None) -> float:
    """Return Σ α log p over classes and the columns with a pseudo-count α, or of rates in place of p."""
    if pseudo is None or not pseudo.any():
        return 0.0
    return float((np.log(p[:, pseudo > 0]) @ pseudo[pseudo > 0]).sum())


def _by_column(table: Array) -> Array:
    """Return a table (k, d) as (d, k), each column's numbers side by side."""
    return np.ascontiguousarray(table.T)


def _zeros(p: Array) -> Array | None:
    """Return where a class gives no probability (d, k), or None."""
    zero = p == 0
    return _by_column(zero.astype(np.float64)) if zero.any() else None


def _over_cells(observed: Array | None, table: Array) -> Array:
    """Return the sum of a table (k, d) over the observed columns of each row, (n, k); None: over all, (k,)."""
    return np.asarray(table.sum(axis=1) if observed is None else observed @ table.T)


def _log_factorials(x: Array | sparse.csr_array) -> Array:
    """Return Σ_j log x_j!, (n,)."""
    if isinstance(x, np.ndarray):
        return np.asarray(gammaln(x + 1.0).sum(axis=1))
    terms = x.data.astype(np.float64)
    terms += 1.0
    gammaln(terms, out=terms)
    sums = np.zeros(x.shape[0])
    filled = np.flatnonzero(np.diff(x.indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(terms, x.indptr[filled])
    return sums


# ── Texts by class: their words in order (multinomial), or which words of the vocabulary they have (Bernoulli) ────────


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
        table, ends = self.linear, self.ends
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
        return self.linear.per_count

    def missing_cells(self, rows: sparse.csr_array) -> Flags:
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
        return (words or ()), rows[:, start : stop if words else start].tocsr(), self.linear.per_count[start:stop]

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
