"""Counted columns, dense or sparse: Bernoulli (truth values, 0 and 1), Poisson, multinomial (words of a text)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..._arrays import IN_CACHE, Array, Codes, Flags, NDArray, gammaln, np, row_chunks, rows_within, sparse
from ...densities import Bernoulli, Draw, Limit, Multinomial, Poisson
from ...errors import DataError, NegativeError, NotLearnedError, SchemaError, either
from ...notes import Note
from ...stats import SumStats
from ...stats._downdate import DUST
from ...table import SparseTable, Table
from ..priors import check_smoothing, draw_gamma, posterior_counts, pseudo_counts, smoothed_shares
from .family import SLACK, LimitFamily, Settings, refuse, row_weights, weight_groups, without

Counts = Array | sparse.csr_array  # rows (n, d): dense with NaN for missing, or sparse, where nothing is missing

NEGATIVE = "Negative values cannot be modelled: counts are at least 0"


def encode_counts(table: Table, positions: Sequence[int]) -> Counts:
    """Return the columns sparse (n, d), or as floats with NaN where missing; DataError names one with less than 0."""
    rows = read_columns(table, positions)
    cells = stored(rows)
    if np.fmin.reduce(cells, axis=None, initial=0) < 0:
        _refuse(rows, cells < 0, table, positions, NEGATIVE)
    return rows


def read_columns(table: Table, positions: Sequence[int]) -> Counts:
    """Return the columns sparse (n, d), or as numbers with NaN where missing."""
    return table.sparse(positions) if isinstance(table, SparseTable) else table.numeric(positions)


def stored(rows: Counts) -> NDArray[Any]:
    """Return the cells, of a sparse matrix those that are stored."""
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.data)


def above(rows: Counts, threshold: float) -> Counts:
    """Return 1 where a cell is above the threshold, at least 0, else 0; missing cells stay missing."""
    if not isinstance(rows, np.ndarray):
        ones = rows.copy()
        ones.data = (rows.data > threshold).astype(np.float64)
        ones.eliminate_zeros()
        return ones
    dense = (rows > threshold).astype(np.float64)
    if rows.dtype.kind == "f":
        dense[np.isnan(rows)] = np.nan
    return dense


def check_whole(rows: Counts, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds a fraction."""
    cells = stored(rows)
    if cells.dtype.kind == "f":
        _refuse(rows, np.floor(cells) < cells, table, positions, "counts are whole numbers")


def check_binary(rows: Counts, table: Table, positions: Sequence[int]) -> None:
    """Raise DataError naming a column that holds anything but 0, 1 and missing."""
    cells = stored(rows)
    if (cells == 1).all():
        return
    wrong = (cells != 0) & (cells != 1)
    if cells.dtype.kind == "f":
        wrong &= ~np.isnan(cells)
    _refuse(rows, wrong, table, positions, "a Bernoulli column holds true and false, or 1 and 0")


def _refuse(rows: Counts, wrong: Flags, table: Table, positions: Sequence[int], rule: str) -> None:
    if not wrong.any():
        return
    if not isinstance(rows, np.ndarray):
        first = int(np.argmax(wrong))
        column, value = int(rows.indices[first]), rows.data[first]
    else:
        row, column = (int(i[0]) for i in np.nonzero(wrong))
        value = rows[row, column]
    name = table.schema.names[positions[column]]
    kind = NegativeError if rule == NEGATIVE else DataError
    raise kind.in_column(name, f"{float(value):g}", rule)


class SumFamily(LimitFamily):
    """A family of columns whose sums and weights by class are all it takes."""

    __slots__ = ()

    def zero(self, k: int, columns: int) -> SumStats:
        return SumStats.zero(k, columns)

    def summarize(self, rows: Counts, codes: Codes, k: int, weight: Array | None) -> SumStats:
        return SumStats.summarize(rows, codes, k, weight)


@dataclass(frozen=True, slots=True)
class BernoulliFamily(SumFamily):
    """Independent columns of 0 and 1: p(1 | k) = (count of ones + α) / (n_k + 2 α).

    n_k is the weight of the class's observed cells of the column and α the smoothing; α = 0 is maximum likelihood,
    with ½ for a class that has no observed cell. A sparse matrix must hold 0 and 1 only (pass `X > 0` for words that
    occur); its cells that are not stored are zeros, not missing. With a `threshold` of at least 0 any numbers are
    taken, and those above it are ones.
    """

    name: str = "bernoulli"
    threshold: float | None = None
    support: ClassVar[str] = "truths"

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        for position in positions if table.schema.text else ():
            column = table.schema.columns[position]
            if column.kind.is_label:
                raise SchemaError(
                    f"Column {column.name!r} holds {column.kind.value} values; a Bernoulli column holds true and "
                    "false, or 1 and 0. Next: convert it, or give it the family 'categorical'."
                )
        if self.threshold is not None:
            return above(read_columns(table, positions), self.threshold)
        rows = encode_counts(table, positions)
        check_binary(rows, table, positions)
        return rows

    def check_possible(self, stats: SumStats) -> None:
        """Raise NotLearnedError where there are more ones than cells."""
        over = stats.total > stats.weight * (1.0 + DUST)
        if over.any():
            code = int(over.any(axis=1).argmax())
            raise NotLearnedError("fewer zeros than that were learned", code, over[code].nonzero()[0].tolist())

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Bernoulli, list[Note]]:
        check_smoothing(settings.smoothing)
        seen = stats.weight
        ones = np.clip(stats.total, 0.0, seen)
        pooled = (ones.sum(axis=0) + 0.5) / (seen.sum(axis=0) + 1.0)
        alpha, one = pseudo_counts(settings.smoothing, settings.columns, pooled)
        _, zero = pseudo_counts(settings.smoothing, settings.columns, 1.0 - pooled)
        p, limit_p = smoothed_shares(ones, seen, alpha, one, one + zero)
        q, limit_q = smoothed_shares(without(seen, ones), seen, alpha, zero, one + zero)
        return Bernoulli(p, q, limit_p, limit_q, np.stack([alpha * one, alpha * zero])), []

    def posterior(self, stats: SumStats, settings: Settings) -> Draw:
        """Return what draws p(1 | class) by column from its Beta posterior."""
        pseudo = self.estimate(stats, settings)[0].pseudo
        assert pseudo is not None
        ones = np.clip(stats.total, 0.0, stats.weight)
        counts = posterior_counts(np.stack([ones, without(stats.weight, ones)], axis=1), pseudo)

        def draw(rng: np.random.RandomState) -> Bernoulli:
            gamma = draw_gamma(counts, rng)
            p, q = np.moveaxis(gamma / gamma.sum(axis=1, keepdims=True), 1, 0)
            return Bernoulli(p, q, p, q)

        return draw

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        A cell of the row's own class takes (count of its own value − w + α) / (n_k − w + 2 α). That depends on the row
        by its weight w alone, so the rows of one weight share a table and their sums stay sparse products.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = (part.copy() for part in self.estimate(stats, settings)[0].limit(rows))
        ones = np.clip(stats.total, 0.0, stats.weight)
        zeros = without(stats.weight, ones)
        for w, index in weight_groups(codes, weight):
            seen = without(stats.weight, w)
            p, limit_p = smoothed_shares(without(ones, w), seen, settings.alpha, 1.0, 2.0)
            q, limit_q = smoothed_shares(without(zeros, w), seen, settings.alpha, 1.0, 2.0)
            for c in np.unique(codes[index]):
                mine, one = index[codes[index] == c], slice(c, c + 1)
                own = Bernoulli(p[one], q[one], limit_p[one], limit_q[one]).limit(rows[mine])
                order[mine, c], score[mine, c] = own[0][:, 0], own[1][:, 0]
        return order, score


@dataclass(frozen=True, slots=True)
class PoissonFamily(SumFamily):
    """Independent Poisson columns: rate(k) = (Σ x + α m) / (n_k + α).

    This is the posterior mean under a Gamma(α m, α) prior: α pseudo-rows at the mean m of the column over all classes,
    so the strength α counts rows whatever the size of the counts. m = (Σ x + ½) / n (Jeffreys' rule), so that a column
    of zeros leaves room for a one. α = 0 is maximum likelihood; a class with no observed cell has the rate m.
    """

    name: str = "poisson"
    support: ClassVar[str] = "counts"

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        rows = encode_counts(table, positions)
        check_whole(rows, table, positions)
        return rows

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Poisson, list[Note]]:
        check_smoothing(settings.smoothing)
        overall = _overall(stats.total.sum(axis=0), stats.weight.sum(axis=0))
        alpha, _ = pseudo_counts(settings.smoothing, settings.columns, overall)
        rate, limit = smoothed_shares(stats.total, stats.weight, alpha, overall, 1.0)
        return Poisson(rate, limit, np.stack([alpha * overall, alpha])), []

    def posterior(self, stats: SumStats, settings: Settings) -> Draw:
        """Return what draws rates from their Gamma posterior; a class without a cell has at least one at the mean."""
        pseudo = self.estimate(stats, settings)[0].pseudo
        assert pseudo is not None
        counts, rows = posterior_counts(stats.total, pseudo[0]), stats.weight + pseudo[1]
        overall = _overall(stats.total.sum(axis=0), stats.weight.sum(axis=0))
        counts, rows = np.where(rows > 0, counts, overall), np.where(rows > 0, rows, 1.0)

        def draw(rng: np.random.RandomState) -> Poisson:
            rate = draw_gamma(counts, rng) / rows
            return Poisson(rate, rate)

        return draw

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        The overall mean m loses the row as well, so that with smoothing every class's rate changes. A cell of 0 changes
        rates by the row's weight alone: such cells are added up once for all rows of that weight.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = np.zeros((len(codes), len(stats.total))), np.empty((len(codes), len(stats.total)))
        for w, index in weight_groups(codes, weight):
            every = len(index) == len(codes)
            removal = _Removal(stats, settings.alpha, w)
            for own in entries(rows if every else rows[index]):
                chosen = index[own.part]
                order[chosen], score[chosen] = removal.limit(own, codes[chosen])
        return order, score


class _Removal:
    """Rates without one row of weight w."""

    def __init__(self, stats: SumStats, alpha: float, w: float) -> None:
        self.stats, self.alpha, self.w = stats, alpha, w
        self.total, self.rows = stats.total.sum(axis=0), stats.weight.sum(axis=0)
        overall = _overall(self.total, without(self.rows, w))
        self.other = smoothed_shares(stats.total, stats.weight, alpha, overall, 1.0)[0]  # of zeros, in other classes
        self.own = smoothed_shares(stats.total, without(stats.weight, w), alpha, overall, 1.0)[0]  # and in its own

    def limit(self, cells: Entries, codes: Codes) -> Limit:
        """Return (order, log coefficient) of a run of rows, (rows, k) each."""
        seen = cells.observed
        score = np.tile(-self.other.sum(axis=1), (len(codes), 1)) if seen is None else -(seen @ self.other.T)
        own = -self.own.sum(axis=1)[codes] if seen is None else -(seen * self.own[codes]).sum(axis=1)
        order, place = np.zeros_like(score), (np.arange(len(codes)), codes)
        column, x, pair = _pairs(cells, self.stats.total.shape[1])
        for c in range(score.shape[1]):
            terms, impossible = self._terms(np.array(c), column, x, 0.0, self.other)
            score[:, c] += cells.sums(terms[pair])
            if impossible.any():
                order[:, c] = cells.sums(impossible[pair])
        code = codes[cells.row]
        if len(column) < len(code):
            everyone = np.arange(score.shape[1])[:, None]
            terms, impossible = (part[code, pair] for part in self._terms(everyone, column, x, self.w, self.own))
        else:
            terms, impossible = self._terms(code, column, x, self.w, self.own)
        score[place], order[place] = own + cells.sums(terms), cells.sums(impossible)
        return order, score - cells.sums(gammaln(x + 1.0)[pair])[:, None]

    def _terms(self, code: Codes, column: Codes, x: Array, w: float, zero: Array) -> Limit:
        """Return what counts x add to the log density beyond a count of 0, and x where the rate is 0.

        `w` is what the row takes from the class `code` itself, `zero` (k, d) the rates where the count is 0.
        """
        overall = _overall(without(self.total[column], self.w * x), without(self.rows[column], self.w))
        total, seen = self.stats.total[code, column], self.stats.weight[code, column]
        if w > 0:
            total, seen = without(total, w * x), without(seen, w)
        rate, limit = smoothed_shares(total, seen, self.alpha, overall, 1.0)
        return x * np.log(limit) - rate + zero[code, column], np.where(rate > 0, 0.0, x)


def _pairs(cells: Entries, d: int) -> tuple[Codes, Array, Codes]:
    """Return the different pairs of a column and a count, and which of them each entry is.

    Where most entries differ they are returned as they are.
    """
    top = float(cells.amount.max(initial=0.0)) + 1.0
    if d * top < 0.5 * len(cells.amount) and (np.floor(cells.amount) == cells.amount).all():
        key = cells.column * int(top) + cells.amount.astype(np.int64)
        present = np.zeros(d * int(top), dtype=bool)
        present[key] = True
        found = np.flatnonzero(present)
        return found // int(top), (found % int(top)).astype(np.float64), (np.cumsum(present) - 1)[key]
    return cells.column, cells.amount, np.arange(len(cells.amount))


def _overall(total: Array, rows: Array) -> Array:
    """Return the mean m of columns over all classes, (Σ x + ½) / n."""
    return np.asarray((total + 0.5) / np.where(rows > 0, rows, 1.0))


@dataclass(frozen=True, slots=True)
class MultinomialFamily(SumFamily):
    """One multinomial over all columns of the block: p(column | k) = (count + α) / (total of the class + α d).

    Columns named one by one form one block together; a tuple of columns forms a block of its own. Amounts of at least
    0 need not be whole. A missing cell is refused: without it the total that the row shares out is unknown (the family
    "poisson" takes missing cells). The density leaves out the multinomial coefficient, see `densities.Multinomial`.
    """

    name: str = "multinomial"
    support: ClassVar[str] = "shares"
    takes_missing: ClassVar[bool] = False

    def joint(self) -> MultinomialFamily:
        return self

    def encode(self, table: Table, positions: Sequence[int]) -> Counts:
        rows = encode_counts(table, positions)
        if isinstance(rows, np.ndarray) and np.isnan(rows).any():
            column = int(np.nonzero(np.isnan(rows).any(axis=0))[0][0])
            raise DataError(
                f"Column {table.schema.names[positions[column]]!r} misses a count{either(' (NaN)', '')}, so the total "
                "that its row shares out is unknown. Next: write 0 where nothing was counted, or use the family "
                "'poisson'."
            )
        return rows

    def estimate(self, stats: SumStats, settings: Settings) -> tuple[Multinomial, list[Note]]:
        check_smoothing(settings.smoothing)
        total, overall = stats.total.sum(axis=1, keepdims=True), stats.total.sum(axis=0)
        pooled = (overall + 0.5) / (overall.sum() + 0.5 * len(overall))
        alpha, share = pseudo_counts(settings.smoothing, settings.columns, pooled)
        added, shares = alpha * share, float(share.sum())
        mean = float(added.sum()) / shares  # the strength, where all columns have the same
        informed = total + mean > 0
        p = np.where(informed, stats.total + added, share) / np.where(informed, total + mean * shares, shares)
        least = np.finfo(np.float64).tiny  # of a total, so that the share of it stays finite
        limit = np.where(p > 0, p, share / np.where(total > 0, np.maximum(total, least), shares))
        seen = stats.weight.max(axis=1)
        return Multinomial(p, limit, added, size=stats.total.sum(axis=1) / np.where(seen > 0, seen, 1.0)), []

    def posterior(self, stats: SumStats, settings: Settings) -> Draw:
        """Return what draws shares from their Dirichlet posterior."""
        pseudo = self.estimate(stats, settings)[0].pseudo
        assert pseudo is not None
        counts = posterior_counts(stats.total, pseudo)

        def draw(rng: np.random.RandomState) -> Multinomial:
            gamma = draw_gamma(counts, rng)
            p = gamma / gamma.sum(axis=1, keepdims=True)
            return Multinomial(p, p)

        return draw

    def leave_one_out_limit(
        self, rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit:
        """Return (order, log coefficient), (n, k) each, of every row under every class without that row.

        Of the row's own class both the count of a column and the total lose the row's: stored cells are all it takes.
        """
        check_counts(rows, stats, codes, weight, settings)
        order, score = (part.copy() for part in self.estimate(stats, settings)[0].limit(rows))
        w, d = row_weights(codes, weight), stats.total.shape[1]
        totals = stats.total.sum(axis=1)
        if settings.alpha > 0 and isinstance(rows, np.ndarray):
            score[np.arange(len(codes)), codes] = _own_scores(rows, stats.total, totals, codes, w, settings.alpha)
            return order, score
        for own in entries(rows):
            code, weighs = codes[own.part], w[own.part]
            rest = without(totals[code], weighs * own.sums(own.amount))[own.row]
            known = without(stats.total[code[own.row], own.column], weighs[own.row] * own.amount)
            p, limit = smoothed_shares(known, rest, settings.alpha, 1.0, d)
            place = np.arange(own.part.start, own.part.stop), code
            order[place] = own.sums(np.where(p > 0, 0.0, own.amount))
            score[place] = own.sums(own.amount * np.log(limit))
        return order, score


def _own_scores(rows: Array, counts: Array, totals: Array, codes: Codes, w: Array, alpha: float) -> Array:
    """Return Σ x log((count − w x + α) / (total − w Σ x + α d)) of dense rows under their own classes, (n,)."""
    score, d = np.empty(len(rows)), rows.shape[1]
    for part in row_chunks(len(rows), rows_within(8 * d)):
        x, code, weighs = rows[part].astype(np.float64), codes[part], w[part]
        length = x.sum(axis=1)
        left = without(counts[code], x if (weighs == 1.0).all() else weighs[:, None] * x)
        rest = without(totals[code], weighs * length)
        score[part] = np.einsum("ij,ij->i", x, np.log(left + alpha)) - length * np.log(rest + alpha * d)
    return score


# ── Rows that are left out are among those of the sums: counts by entry, and checks ───────────────────────────────────


def _is_below(rows: Array, stats: SumStats, codes: Codes, weight: Array) -> bool:
    """Return whether no row of any class exceeds the class's sums, by the largest of its cells."""
    for c in np.unique(codes):
        mine = codes == c
        own = rows[mine] if (weight == 1.0).all() else rows[mine] * weight[mine, None]
        most, limit = np.fmax.reduce(own, axis=0), stats.total[c] * (1.0 + SLACK)
        if (most > limit).any() or weight[mine].max() > stats.weight[c].min() * (1.0 + SLACK):
            return False
    return True


class Entries(NamedTuple):
    """The cells of a run of rows that hold amounts above 0, and which cells are observed (None: all)."""

    part: slice
    row: Codes  # within the part
    column: Codes
    amount: Array
    observed: Array | None

    def sums(self, amounts: Array) -> Array:
        """Return the sums of the entries' amounts by row."""
        length = self.part.stop - self.part.start
        return np.asarray(np.bincount(self.row, weights=amounts, minlength=length), dtype=np.float64)


def entries(rows: Counts) -> Iterator[Entries]:
    """Yield the counts of dense rows (NaN where missing) or sparse ones, some rows at a time."""
    n, d = rows.shape
    if not isinstance(rows, np.ndarray):
        for part in row_chunks(n, max(1, n // (1 + 8 * rows.nnz // IN_CACHE))):
            bounds = rows.indptr[part.start : part.stop + 1]
            stored = slice(bounds[0], bounds[-1])
            row = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            yield Entries(part, row, rows.indices[stored], rows.data[stored].astype(np.float64), None)
        return
    for part in row_chunks(n, rows_within(8 * d)):
        block = rows[part].astype(np.float64)
        missing = np.isnan(block)
        observed = (~missing).astype(np.float64) if missing.any() else None
        row, column = np.nonzero(np.where(missing, 0.0, block))
        yield Entries(part, row, column, block[row, column], observed)


def check_counts(rows: Counts, stats: SumStats, codes: Codes, weight: Array | None, settings: Settings) -> None:
    """Raise DataError naming a row whose counts or weight exceed what `SumStats` hold for its class."""
    w, least = row_weights(codes, weight), stats.weight.min(axis=1, keepdims=True)
    if isinstance(rows, np.ndarray) and _is_below(rows, stats, codes, w):
        return
    for own in entries(rows):
        code, weighs = codes[own.part], w[own.part]
        known = stats.total[code[own.row], own.column]
        over = np.flatnonzero(weighs[own.row] * own.amount > known * (1.0 + SLACK))
        if len(over):
            i = int(own.row[over[0]])
            why = "it counts more than the whole class"
            raise refuse(settings, own.part.start + i, int(code[i]), int(own.column[over[0]]), why)
        if own.observed is None:
            too_much = weighs[:, None] > least[code] * (1.0 + SLACK)
        else:
            too_much = (weighs[:, None] > stats.weight[code] * (1.0 + SLACK)) & (own.observed > 0)
        if too_much.any():
            i = int(np.nonzero(too_much)[0][0])
            why = "it weighs more than the observed cells of the class"
            raise refuse(settings, own.part.start + i, int(code[i]), None, why)
