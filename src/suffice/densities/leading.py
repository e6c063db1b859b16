"""Skip classes that cannot matter: a bound from a few directions before all columns are measured.

A row's distance from a class within a few directions, any linear functions of the columns, is never more than its
distance in all of them, so that the log density it stands for is an upper bound. Where the bound is so far below the
log joint of another class that exp of the difference is no part of a sum of probabilities, it stands for the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Flags, eigh, invert_triangular, lower_factor, np, parallel_each, parallel_map, row_chunks
from .covariance import Full, far_apart, rows_at_once, squared_lengths

LEAST_CLASSES = 4  # of fewer, leaving out some saves less than finding which
LEAST_COLUMNS = 64
LEAST_ROWS = 16  # rows for each column from which on directions are worth finding
LOG_SHARE = float(np.log(1e-17))  # of a row's probability, which the classes left out share
ROUNDING = 1e-6  # of a bound's distance, taken off: far more than it can be wrong by
PART = 8  # columns for each direction: measuring bounds takes a tenth of measuring all
MOST_NEEDED = 0.6  # share of densities above which all of them together take less time than one class after another


@dataclass(frozen=True, slots=True)
class Directions:
    """The directions (b, d) in which g classes differ most, from a `center` (d,), and the classes in them.

    `within` holds the covariances (g, b, b), `targets` (b, g) the whitened means.
    """

    directions: Array
    center: Array
    within: Full
    targets: Array

    @classmethod
    def find(cls, covariance: Full, means: Array) -> Self | None:
        """Return the directions in which means and covariances differ most; None where they cannot be told.

        In coordinates where the average covariance is I these are the leading eigenvectors of the average of
        m mᵀ + ½ (S − I)², with m the mean and S the covariance of a class (as in sliced average variance estimation,
        Cook & Weisberg 1991, doi:10.1080/01621459.1991.10475036).
        """
        center = means.mean(axis=0)
        try:
            directions = _tell_apart(covariance, means - center)
            within = np.stack([directions @ covariance.matrix(i) @ directions.T for i in range(covariance.g)])
            factored = Full.factor(within)
        except np.linalg.LinAlgError:
            return None
        targets = np.einsum("igj,gj->ig", factored.whitener, (means - center) @ directions.T)
        return None if far_apart(targets.T) else cls(directions, center, factored, targets)

    def least_distances(self, centered: Array) -> Array:
        """Return squared distances (n, g) that those of rows less the center (n, d) are no smaller than."""
        out = np.empty((len(centered), self.within.g))
        for part in row_chunks(len(centered), rows_at_once(self.within.whitener)):
            squared_lengths(self.within.whitener, self.targets, centered[part] @ self.directions.T, out[part])
        out *= 1.0 - ROUNDING
        return out


def _tell_apart(covariance: Full, shift: Array) -> Array:
    """Return the directions (b, d) in which means (g, d) and covariances differ most; LinAlgError if there are none."""
    g, d = shift.shape
    parts = list(row_chunks(g, g // 16 + 1))
    average = sum((covariance.matrix(i) for i in range(g)), start=np.zeros((d, d))) / g
    whitener = invert_triangular(lower_factor(average))
    apart = shift @ whitener.T

    def spread_of(part: slice) -> Array:
        total = np.zeros((d, d))
        for i in range(part.start, part.stop):
            excess = whitener @ covariance.matrix(i) @ whitener.T
            excess.flat[:: d + 1] -= 1.0
            total += 0.5 * (excess @ excess)
        return total

    spread = sum(parallel_map(spread_of, parts, cost=6.0 * g * d**3), start=apart.T @ apart)
    _, vectors = eigh(spread, subset_by_index=[d - d // PART, d - 1])
    return np.asarray(vectors[:, ::-1].T @ whitener)


def is_worth_it(covariance: Full, n: int) -> bool:
    """Return whether columns, classes and rows are so many that directions are worth finding."""
    d, g, _ = covariance.whitener.shape
    return bool(g >= LEAST_CLASSES and d >= LEAST_COLUMNS and n >= LEAST_ROWS * max(d, g))


def leading_distances(found: Directions, covariance: Full, rows: Array, means: Array, offset: Array) -> Array:
    """Return squared distances (n, k) of rows (n, d), or less for classes that cannot matter to posteriors.

    The log joint is offset − ½ distance; `offset` is (k,), or (n, k) by row. A class for which less is returned has a
    log joint so far below another's, with what is returned as well, that all such classes share less than 1e-17 of a
    row's probability. Rows with a missing cell (NaN) have no distance.
    """
    n, k = len(rows), len(means)
    out = np.empty((n, k))
    margin = np.log(k) - LOG_SHARE
    shift = means - found.center
    rest = rows.shape[1] - len(found.directions)

    def fill(part: slice) -> None:
        block = rows[part] - found.center
        least = found.least_distances(block)
        own = offset if offset.ndim == 1 else offset[part]
        bound = own - 0.5 * least
        whole = ~np.isnan(least[:, 0])
        likely = _within(bound, bound.max(axis=1) - 0.5 * rest - margin, whole)  # distances are about d
        if likely.mean() <= MOST_NEEDED:
            first = bound.argmax(axis=1)
            known = np.zeros(bound.shape, dtype=bool)
            known[whole, first[whole]] = True
            _measure(covariance, block, shift, known, least)
            best = (own - 0.5 * least)[np.arange(len(least)), first]
            needed = _within(bound, best - margin, whole) & ~known
            if needed.mean() <= MOST_NEEDED:
                _measure(covariance, block, shift, needed, least)
                out[part] = least
                return
        for some in row_chunks(len(block), rows_at_once(covariance.whitener)):
            squared_lengths(covariance.whitener, targets, block[some], out[part][some])

    targets = np.einsum("igj,gj->ig", covariance.whitener, shift)
    cost = float(rows.size) * rows.shape[1] * 2.0
    parallel_each(fill, row_chunks(n, max(2048, 128 * k)), cost=cost)
    return out


def _within(bound: Array, least: Array, whole: Flags) -> Flags:
    """Return where whole rows' bounds (n, k) are no less than a number by row; all where that is −∞ or NaN."""
    return ~(bound < least[:, None]) & whole[:, None]


def _measure(covariance: Full, block: Array, shift: Array, wanted: Flags, out: Array) -> None:
    """Put the squared distances of the wanted rows and classes (n, k) in their places."""
    for c in np.flatnonzero(wanted.any(axis=0)).tolist():
        index = np.flatnonzero(wanted[:, c])
        out[index, c] = _own_distances(covariance.whitener[:, c], block[index] - shift[c])


def _own_distances(whitener: Array, centered: Array) -> Array:
    """Return the squared lengths (n,) of rows (n, d), whitened by a lower triangular matrix."""
    d = len(whitener)
    total = np.zeros(len(centered))
    height = max(d // 8, 32)
    for top in range(0, d, height):
        stop = min(top + height, d)
        white = centered[:, :stop] @ whitener[top:stop, :stop].T
        total += np.einsum("nd,nd->n", white, white)
    return total
