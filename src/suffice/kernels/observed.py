"""Compiled work on rows with missing cells: distances over the cells they have, filling in, what columns add."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Codes, Flags, np
from .library import below, library


@dataclass(frozen=True, slots=True)
class ObservedDistances:
    """Covariances as rows with missing cells ask them, in units of the standard deviations `sd` (g, d).

    `matrices` (3, g, d, d) are correlations R, the transposes of lower triangular W with W R Wᵀ = I, and WᵀW.
    """

    matrices: Array
    sd: Array
    log_det: Array

    @classmethod
    def of(cls, covariance: Array, whitener: Array, log_det: Array) -> ObservedDistances:
        """Return those of covariances (g, d, d), whitened by `whitener` (g, d, d) and of such log determinants (g,)."""
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        white = whitener * sd[:, None]
        turned = white.transpose(0, 2, 1)
        matrices = np.stack([covariance / sd[:, :, None] / sd[:, None], turned, turned @ white])
        return cls(matrices, sd, log_det)

    def __call__(self, cells: Array, alike: Flags, means: Array) -> tuple[Array, Array]:
        """Return squared distances and log determinants (n, k) of rows (n, d), NaN where a cell is missing.

        `alike` (n,) says which rows miss the cells that the row before misses. Covariances are one for all classes of
        the `means` (k, d), or one each.
        """
        (_, g, d, _), (n, k) = self.matrices.shape, (len(cells), len(means))
        if not (cells.shape == (n, d) and means.shape == (k, d) and alike.shape == (n,) and g in (1, k)):
            raise ValueError(f"cells {cells.shape} and means {means.shape} beside {g} covariances of {d} columns")
        z = np.empty((k, n, d))
        library().suffice_standardize(cells, means, self.sd, n, d, k, g, z)
        white, room, at = z @ self.matrices[1], np.empty((d + 1, d)), np.empty(d, dtype=np.int64)
        squares, dets = np.empty((2, n, k))
        about = np.log(self.sd), self.log_det, g, self.matrices
        library().suffice_observed(z, white, cells, alike, n, d, k, *about, room, at, squares, dets)
        return squares, dets


def inverses(matrices: Array) -> tuple[Array, Array]:
    """Return inverses of symmetric positive definite matrices (…, d, d) and the logs of their determinants (…, 1)."""
    found = np.array(matrices, dtype=np.float64, order="C")
    *shape, d, _ = found.shape
    log_det, room = np.empty((*shape, 1)), np.empty((d + 1, d))
    library().suffice_invert(found, log_det.size, d, room, log_det)
    return found, log_det


def fill_in(
    cells: Array,
    rows: tuple[Codes, Codes, Array, Flags],
    patterns: tuple[Flags, Codes, Codes, Array],
    mean: Array,
    matrices: tuple[Array, Array, Array],
    sums: tuple[Array, Array, Array],
) -> Array:
    """Return rows of `cells` (r, d) less their means, missing cells as the others tell them.

    Of the `rows`, in the order of their patterns, these are the pattern, the class, the weight, and whether they are
    centred already (r,). Of s `patterns`, the cells observed (s, d), the number of the matrices they are filled under,
    that of the unit they count in, and the weight (s,). `mean` is (k, d), `matrices` are precisions (c, d, d),
    covariances and log determinants (c,). To `sums` is added: the rows times their weights, by class (k, d), what stays
    open, by unit (g, d, d), and half of log determinants (g,).
    """
    (r, d), (k, _), (seen, *_), s, (c, *_) = cells.shape, mean.shape, patterns, len(patterns[0]), matrices[0].shape
    shapes = [own.shape for own in (mean, seen, *matrices, *sums)]
    fits = shapes == [(k, d), (s, d), (c, d, d), (c, d, d), (c,), (k, d), (len(sums[2]), d, d), sums[2].shape]
    fits &= all(len(own) == s for own in patterns) and all(len(own) == r for own in rows)
    if not fits or (np.diff(rows[0]) < 0).any():
        raise ValueError(f"rows {cells.shape} and their patterns, with means, matrices and sums {shapes}")
    whole = (rows[0], s), (rows[1], k), (patterns[1], c), (patterns[2], len(sums[2]))
    pattern, owner, which, unit = (below(codes, most) for codes, most in whole)
    delta, room, places = np.empty((r, d)), np.empty((d + 2) * d), np.empty(d, dtype=np.int64)
    given = cells, seen, which, unit, patterns[3], s, pattern, owner, *rows[2:], r, mean, *matrices
    library().suffice_fill(*given, d, delta, *sums, room, places)
    return delta


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
        fits &= all(own.shape == (m,) for own in laws[1:-1])
        fits &= bool((np.sort(orders, axis=1) == np.arange(d)).all()) and int(self.starts[-1]) == m
        if not fits or matrix.shape[2] != d or not (fixed or wide == d):
            raise ValueError(f"rows {white.shape} and matrices {matrix.shape} in orders {orders.shape} of {k} classes")
        most = wide if fixed else int(missing.sum(axis=1).max(initial=0))
        room = np.empty(4 * g * d * (most + 1) + most * (most + 1) + (m + k) * d)
        marks = np.empty(most + d, dtype=np.int64)
        step, apart = (own[0].size if len(own) > 1 else 0 for own in (white, matrix))
        here = white, step, matrix, apart, self.log_scale, g, wide, int(fixed), orders, missing, n, d, most
        library().suffice_add_in_orders(*here, *laws, k, room, marks, *(*sums, None)[:2])
