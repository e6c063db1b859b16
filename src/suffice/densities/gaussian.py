"""One Gaussian per class over a block of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arrays import Array, np, pattern_groups
from .covariance import Covariance

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """N(x; μ_k, Σ_k), or Σ for all: `means` (k, d) and a covariance structure over the `used` columns.

    Columns not in `used` never varied; they have no density and contribute nothing.
    """

    means: Array
    covariance: Covariance
    used: tuple[int, ...]

    def log_density(self, rows: Array) -> Array:
        """Return log N(x; μ_k, Σ_k), (n, k) in nats, of rows (n, d) with missing cells (NaN) integrated out.

        log N = −½ (d log 2π + log|Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)); with cells missing, the same formula with the
        rows and columns of μ and Σ that are observed. Rows that miss the same cells are computed together.
        """

        def score(cells: Array, columns: Sequence[int] | None) -> Array:
            if columns is None:
                return _scores(self.covariance, cells, self.means[:, self.used])
            kept = [self.used[c] for c in columns]
            return _scores(self.covariance.marginal(columns), cells, self.means[:, kept])

        return integrate_missing(rows, self.used, score)

    def marginal(self, columns: Sequence[int]) -> Gaussian:
        """Return the density of some of the columns."""
        kept = [c for c in columns if c in set(self.used)]
        position = {c: i for i, c in enumerate(self.used)}
        used = tuple(i for i, c in enumerate(columns) if c in position)
        return Gaussian(self.means[:, list(columns)], self.covariance.marginal([position[c] for c in kept]), used)


def integrate_missing(rows: Array, used: Sequence[int], score: Callable[[Array, Sequence[int] | None], Array]) -> Array:
    """Return log densities (n, k) of rows (n, d), those that miss the same cells (NaN) computed together.

    `score(cells, columns)` gives those of complete cells of the `used` columns, or of some of them by position among
    these. A row with no cell observed has the log density 0.
    """
    rows = rows if len(used) == rows.shape[1] else rows[:, used]
    scores = score(rows, None)
    incomplete = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(incomplete):
        part = rows[incomplete]
        for observed, index in pattern_groups(~np.isnan(part)):
            columns = observed.tolist()
            scores[incomplete[index]] = score(part[index][:, columns], columns) if columns else 0.0
    return scores


def _scores(covariance: Covariance, rows: Array, means: Array) -> Array:
    if means.shape[1] == 0:
        return np.zeros((len(rows), len(means)))
    scores = covariance.distances(rows, means)
    scores += covariance.log_det + means.shape[1] * LOG_2PI
    scores *= -0.5
    return scores
