"""One Gaussian per class over a block of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arrays import Array, np, pattern_groups, row_chunks
from .covariance import Covariance, Full

MANY = 16  # rows per pattern of missing cells below which patterns are computed together
CHUNK_CELLS = 1 << 20
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

        def together(cells: Array) -> Array:
            assert isinstance(self.covariance, Full)
            return _scores_by_size(self.covariance, cells, self.means[:, self.used])

        return integrate_missing(rows, self.used, score, together if isinstance(self.covariance, Full) else None)

    def marginal(self, columns: Sequence[int]) -> Gaussian:
        """Return the density of some of the columns."""
        kept = [c for c in columns if c in set(self.used)]
        position = {c: i for i, c in enumerate(self.used)}
        used = tuple(i for i, c in enumerate(columns) if c in position)
        return Gaussian(self.means[:, list(columns)], self.covariance.marginal([position[c] for c in kept]), used)


def integrate_missing(
    rows: Array,
    used: Sequence[int],
    score: Callable[[Array, Sequence[int] | None], Array],
    together: Callable[[Array], Array] | None = None,
) -> Array:
    """Return log densities (n, k) of rows (n, d), those that miss the same cells (NaN) computed together.

    `score(cells, columns)` gives those of complete cells of the `used` columns, or of some of them by position among
    these. `together(cells)`, if given, those of incomplete rows, for where patterns are many. A row with no cell
    observed has the log density 0.
    """
    rows = rows if len(used) == rows.shape[1] else rows[:, used]
    scores = score(rows, None)
    incomplete = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(incomplete):
        part = rows[incomplete]
        groups = list(pattern_groups(~np.isnan(part)))
        if together is not None and len(groups) * MANY > len(part):
            scores[incomplete] = together(part)
            return scores
        for observed, index in groups:
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


def _scores_by_size(covariance: Full, rows: Array, means: Array) -> Array:
    """Return log densities (n, k) of rows with missing cells, all rows with equally many observed ones at once."""
    present = ~np.isnan(rows)
    counts = present.sum(axis=1)
    scores = np.zeros((len(rows), len(means)))
    for o in np.unique(counts[counts > 0]).tolist():
        own = np.flatnonzero(counts == o)
        for chunk in row_chunks(len(own), max(1, CHUNK_CELLS // o**2)):
            index = own[chunk]
            patterns, pattern = np.unique(present[index], axis=0, return_inverse=True)
            observed = np.nonzero(patterns)[1].reshape(-1, o)
            x, at = rows[index][present[index]].reshape(-1, o), observed[pattern.reshape(-1)]
            for g in range(covariance.g):
                sigma = covariance.matrix(g)
                sd = np.sqrt(np.diagonal(sigma))
                within = (sigma / sd[:, None] / sd)[observed[:, :, None], observed[:, None, :]]
                precision = np.linalg.inv(within)[pattern.reshape(-1)]
                constant = np.linalg.slogdet(within)[1] + 2.0 * np.log(sd)[observed].sum(axis=1) + o * LOG_2PI
                for k in [g] if covariance.g > 1 else range(len(means)):
                    z = (x - means[k][at]) / sd[at]
                    squares = np.einsum("no,no->n", (precision @ z[:, :, None])[:, :, 0], z)
                    scores[index, k] = -0.5 * (squares + constant[pattern.reshape(-1)])
    return scores
