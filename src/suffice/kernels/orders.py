"""Compiled sums of what columns add to log densities in orders of them, of rows that miss cells."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Codes, Flags, np
from .library import address, library


@dataclass(frozen=True, eq=False)
class Laws:
    """Densities of m parts in the first columns: `constant` (m, d + 1) by their number, less ½ log |Σ|, less what is
    made of squared distances q: q / 2ι, or of t ((ν + c) / 2) log(1 + q / νι) in c columns, `df` ν (m,) finite and
    `inflation` ι (m,). Parts from starts[y] to starts[y + 1] are of class y, by shares of which `log_share` (m,) is the
    logarithm. Cells were standardised by variances of which `log_scale` (g, d) is the logarithm.
    """

    constant: Array
    df: Array
    inflation: Array
    log_share: Array
    starts: Codes
    log_scale: Array

    def add(self, white: Array, matrix: Array, fixed: bool, orders: Codes, missing: Flags, *sums: Array) -> None:
        """Add to the first of `sums` (n, k, d) what columns add in a pair of `orders` (2, d), each to those before it
        and less its mean over classes, and to the second, if there is one, the square of half of it.

        `white` (2 or 1, m, n, d) are rows less each centre, 0 where `missing`, each column less what those before it in
        the order tell of it, over its standard deviation; `matrix` (2 or 1, g, d, ·) is by what cells have made it so.
        If `fixed` it is by what a few standard normal numbers of each class would, shared by all columns, whose noise
        is independent. Rows alike in what they miss had better follow each other.
        """
        (_, m, n, d), (_, g, _, wide), k = white.shape, matrix.shape, len(self.starts) - 1
        laws = self.constant, self.df, self.inflation, self.log_share, self.starts
        fits = orders.shape == (2, d) and self.constant.shape == (m, d + 1) and self.log_scale.shape == (g, d)
        fits &= missing.shape == (n, d) and {own.shape for own in sums} == {(n, k, d)} and g in (1, m)
        fits &= all(own.flags.c_contiguous for own in (white, matrix, self.log_scale, orders, missing, *laws, *sums))
        fits &= bool((np.sort(orders, axis=1) == np.arange(d)).all()) and int(self.starts[-1]) == m
        if not fits or matrix.shape[2] != d or not (fixed or wide == d):
            raise ValueError(f"rows {white.shape} and matrices {matrix.shape} in orders {orders.shape} of {k} classes")
        most = wide if fixed else int(missing.sum(axis=1).max(initial=0))
        room = np.empty(4 * g * d * (most + 1) + most * (most + 1) + (m + k) * d)
        marks = np.empty(most + d, dtype=np.int64)
        step, apart = (own[0].size if len(own) > 1 else 0 for own in (white, matrix))
        here = address(white), step, address(matrix), apart, address(self.log_scale), g, wide, int(fixed)
        rows = address(orders), address(missing), n, d, most
        made = (address(room), address(marks), *map(address, sums), None)[:4]
        library().suffice_add_in_orders(*here, *rows, *map(address, laws), k, *made)
