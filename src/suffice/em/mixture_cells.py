"""The E step for missing cells within mixtures."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, Codes, np
from ..densities import Full, Gaussian
from ..densities.gaussian import scores_by_size
from ..stats import GaussianStats
from ..stats.scatter import Scatter
from .fill import fill_shared_out


@dataclass(frozen=True, slots=True)
class Holes:
    """Which rows are complete, and which miss some cells; the others miss all."""

    complete: Codes
    some: Codes

    @classmethod
    def find(cls, values: Array) -> Holes:
        """Sort out the rows."""
        absent = np.isnan(values).sum(axis=1)
        return cls(np.flatnonzero(absent == 0), np.flatnonzero((absent > 0) & (absent < values.shape[1])))

    @property
    def any_filled(self) -> bool:
        """Whether any row misses some of its cells."""
        return len(self.some) > 0

    def log_density(self, gaussian: Gaussian, values: Array) -> Array:
        """Return what `Gaussian.log_density` does, all patterns with equally many observed cells at once."""
        covariance, used = gaussian.covariance, list(gaussian.used)
        if not self.any_filled or not isinstance(covariance, Full) or not used:
            return gaussian.log_density(values)
        scores = np.zeros((len(values), len(gaussian.means)))
        scores[self.complete] = gaussian.log_density(values[self.complete])
        scores[self.some] = scores_by_size(covariance, values[self.some][:, used], gaussian.means[:, used])
        return scores

    def summarize(self, values: Array, weight: Array, gaussian: Gaussian, form: type[Scatter]) -> GaussianStats:
        """Return the expected statistics of the rows that miss some cells, weighted by component (n, m)."""
        return fill_shared_out(values[self.some], weight[self.some], gaussian, form)
