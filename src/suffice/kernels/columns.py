"""Compiled look-ups of numbers among knots and cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from .._arrays import Array, Codes, Flags, NDArray, np
from .library import below, library, of_rows

Cells = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Knots:
    """Ascending numbers of each column, one after the other, and where those of each begin, (d + 1,)."""

    values: Array
    starts: Codes

    @classmethod
    def of(cls, columns: Sequence[Array]) -> Self:
        """Return the knots of these columns."""
        starts = np.cumsum([0, *map(len, columns)], dtype=np.int64)
        return cls(np.concatenate([*columns, np.zeros(0)]), starts)

    def __getitem__(self, columns: slice) -> Knots:
        """Return the knots of columns that follow each other."""
        starts = self.starts[columns.start : columns.stop + 1]
        return Knots(self.values[starts[0] : starts[-1]], starts - starts[0])

    def checked(self, x: Array) -> Array:
        """Return numbers (n, d) as the library reads them; ValueError unless each column has knots."""
        if x.ndim != 2 or x.shape[1] != len(self.starts) - 1 or not np.diff(self.starts).all():
            raise ValueError(f"numbers {x.shape} with knots of {len(self.starts) - 1} columns")
        return _regular(x)

    def cells(self, x: Array, out: Cells) -> None:
        """Enter in the first columns of `out` (n, ·), contiguous, how many knots are at most each of x, −1 for NaN."""
        x = _regular(x)
        if len(out) != len(x) or not out.shape[1] >= x.shape[1] == len(self.starts) - 1:
            raise ValueError(f"cells {out.shape} of numbers {x.shape} in {len(self.starts) - 1} columns")
        library().suffice_cells(*_rows(x), self.values, self.starts, out.shape[1], out)


def normal_scores(x: Array, knots: Knots, scores: Array, slopes: Array) -> Array:
    """Return x (n, d) between knots as the `scores` at these, linear, and beyond with `slopes` (d, 2), by at most 1."""
    x = _regular(x)
    if not x.shape[1] == len(knots.starts) - 1 == len(slopes) or len(scores) != len(knots.values):
        raise ValueError(f"numbers {x.shape} with knots of {len(knots.starts) - 1} columns")
    out = np.empty(x.shape)
    library().suffice_normal_scores(*_rows(x), knots.values, scores, knots.starts, slopes, x.shape[1], out)
    return out


def count_splines(x: Array, knots: Knots, codes: Codes, weight: Array | None, k: int) -> Array:
    """Return the weights (k, all knots) of linear B-splines by class, of numbers x (n, d) on the knots of each column.

    Each column has a knot at least; `codes` (n,) are below k.
    """
    x, codes = knots.checked(x), below(codes, k)
    if len(codes) != len(x):
        raise ValueError(f"{len(x)} numbers of {len(codes)} rows")
    out = np.zeros((2, k, len(knots.values)))
    of_rows(len(x), weight)
    library().suffice_count_splines(*_rows(x), knots.values, knots.starts, codes, weight, k, out)
    return np.asarray(out[0] + out[1])


def between_knots(x: Array, knots: Array, values: Array) -> Array:
    """Return what lies between the values (k, knots) at the knots on either side of x (n,), (n, k), 0 for NaN.

    `knots` are two at least.
    """
    x = _regular(x)
    if values.shape[1] != len(knots) or len(knots) < 2:
        raise ValueError(f"values at {values.shape[1]} of {len(knots)} knots")
    out = np.empty((len(x), len(values)))
    library().suffice_between_knots(*_rows(x), knots, len(knots), values.T, len(values), out)
    return out


def spline_ratios(
    x: Array, knots: Knots, counts: Array, codes: Codes, removed: Array, strengths: Sequence[float]
) -> Array:
    """Return log density ratios (d, strengths, n, k) of numbers x (n, d) on linear B-splines, each row left out.

    `counts` (k, all knots) hold the rows, of whose weights `removed` (n,) leave; see `automatic.members.splines`.
    """
    x, (k, m), a = knots.checked(x), counts.shape, len(strengths)
    n, d = x.shape
    codes, first = below(codes, k), knots.starts[:-1]
    if m != len(knots.values) or len(codes) != n or len(removed) != n:
        raise ValueError(f"{n} numbers of {len(codes)} rows, {len(removed)} weights, counts of {m} knots")
    out, parts = np.empty((d, 2, a, n, k)), np.empty((d, 2, n))
    about = knots.values, knots.starts, counts.T, counts.sum(axis=0), np.add.reduceat(counts, first, axis=1).T, k
    library().suffice_spline_ratios(*_rows(x), *about, codes, removed, strengths, a, out, parts)
    np.log(out, out=out)
    library().suffice_blend(out, parts, d, a, n, k)
    return np.asarray(out[:, 0])


def count_pairs(levels: Codes, size: int, codes: Codes, k: int, weight: Array | None) -> Array:
    """Return the weights (k, size, size) of rows by class and the levels of two columns, or of one column twice.

    `levels` (n, p) are counted through all columns, those of a column after those of the columns before it, −1 where
    missing.
    """
    codes = below(codes, k)
    if len(codes) != len(levels):
        raise ValueError(f"levels of {len(levels)} rows, and classes of {len(codes)}")
    if levels.size and int(levels.max()) >= size:
        raise ValueError(f"level {levels.max()} of {size}")
    out = np.zeros((k, size, size))
    order = np.argsort(codes, kind="stable")  # the counts of one class stay near the processor
    of_rows(len(levels), weight)
    library().suffice_count_pairs(levels, *levels.shape, order, codes, weight, size, out)
    return out


def mean_over_parents(levels: Codes, alone: Array, table: NDArray[np.floating]) -> Array:
    """Return the log of the mean (n,), over the levels u that rows have, of exp(alone[u] + Σ_v table[u, v]).

    Of rows of `levels` (n, p) a missing one is −1; `table` (L, L) has single or double precision.
    """
    single, size, own = table.dtype == np.float32, len(alone), np.ascontiguousarray(table)
    below(levels.reshape(-1) + 1, size + 1)
    if own.shape != (size, size) or not (single or table.dtype == np.float64):
        raise ValueError(f"levels {levels.shape}, and tables {own.shape} of {own.dtype} beside {alone.shape}")
    n, p = levels.shape
    room, out = np.empty(2 * p), np.empty(n)
    library().suffice_mean_over_parents(levels, n, p, alone, own, size, int(single), room, out)
    return out


def shares_in_orders(shares: Array, alone: Array, seen: Flags, orders: Codes) -> Array:
    """Return log densities (orders, k, n, d) of the first columns in each order: means over their parents among these.

    `shares` (k, n, d, d) are those of each column given each parent, 1 where the column misses, and `alone` (k, n, d)
    those of the parents by themselves, 0 where they do; `seen` (n, d) are cells that are not missing.
    """
    (k, n, d, _), count = shares.shape, len(orders)
    fits = shares.shape[3] == d and alone.shape == (k, n, d) and seen.shape == (n, d) and orders.shape == (count, d)
    if not fits or not (np.sort(orders, axis=1) == np.arange(d)).all():
        raise ValueError(f"shares {shares.shape} of cells {seen.shape} in orders {orders.shape}")
    room, out = np.empty((2, d)), np.empty((count, k, n, d))
    library().suffice_shares_in_orders(shares, alone, seen, orders, count, k, n, d, room, out)
    return out


def _regular(x: Array) -> Array:
    """Return numbers as the library reads them: aligned, and whole numbers of doubles apart."""
    regular = x.dtype == np.float64 and x.flags.aligned and not any(step % x.itemsize for step in x.strides)
    return x if regular else np.array(x, dtype=np.float64)


def _rows(x: Array) -> tuple[Any, ...]:
    return x, *x.shape, *(step // x.itemsize for step in x.strides)
