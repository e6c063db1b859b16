"""Remove one row from statistics: what the closed forms of leave-one-out share.

The log density of a row under its own class is that of an estimate which has not seen the row. Families whose
probabilities can vanish give (order, log coefficient), as `densities.Categorical.limit` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..._arrays import IN_CACHE, Array, Codes, np, row_chunks, rows_within, sparse
from ...errors import DataError
from ...stats import SumStats
from ...stats._downdate import remainder
from .family import Family, Settings

Counts = Array | sparse.csr_array  # rows (n, d): dense with NaN for missing, or sparse, where nothing is missing
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)  # a remainder this small beside the sum is rounding
SLACK = 1e-9  # by which a row may exceed the statistics it is taken out of, relative to them: rounding of long sums


def without(total: Array | float, amount: Array | float) -> Array:
    """Return sums with an amount taken out again, exactly 0 where only rounding is left."""
    return remainder(total, amount, ROUNDING)


class LimitFamily(Family):
    """A family whose probabilities can be zero, so that its closed form of leave-one-out is a limit."""

    __slots__ = ()

    def leave_one_out(
        self, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array | None:
        parts = self.leave_one_out_limit(rows, stats, codes, weight, settings)
        return None if parts is None else np.where(parts[0] > 0, -np.inf, parts[1])


class SumFamily(LimitFamily):
    """A family of columns whose sums and weights by class are all it takes."""

    __slots__ = ()

    @property
    def takes_sparse(self) -> bool:
        return True

    def zero(self, k: int, columns: int) -> SumStats:
        return SumStats.zero(k, columns)

    def summarize(self, rows: Counts, codes: Codes, k: int, weight: Array | None) -> SumStats:
        return SumStats.summarize(rows, codes, k, weight)


def row_weights(codes: Codes, weight: Array | None) -> Array:
    """Return the weight of each row (n,)."""
    return np.ones(len(codes)) if weight is None else weight


def weight_groups(codes: Codes, weight: Array | None) -> Iterator[tuple[float, Codes]]:
    """Yield each distinct row weight with the numbers of the rows that have it."""
    if weight is None:
        yield 1.0, np.arange(len(codes))
        return
    values, group = np.unique(weight, return_inverse=True)
    order = np.argsort(group, kind="stable")
    yield from zip(values.tolist(), np.split(order, np.cumsum(np.bincount(group))[:-1]), strict=True)


def refuse(settings: Settings, row: int, code: int, column: int | None, why: str) -> DataError:
    """Return the error that says why a row cannot be among those the statistics were made from."""
    where = "" if column is None else f" in column {settings.columns[column]!r}"
    return DataError.not_learned(row, settings.classes[code], f"{why}{where}")


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
            heavy = weighs[:, None] > least[code] * (1.0 + SLACK)
        else:
            heavy = (weighs[:, None] > stats.weight[code] * (1.0 + SLACK)) & (own.observed > 0)
        if heavy.any():
            i = int(np.nonzero(heavy)[0][0])
            why = "it weighs more than the observed cells of the class"
            raise refuse(settings, own.part.start + i, int(code[i]), None, why)
