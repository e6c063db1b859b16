"""A mixture of Gaussians per class: p(x | k) = Σ_m w_km N(x; μ_km, Σ_km)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._arrays import IN_MEMORY, Array, Codes, log_of, np, row_chunks, rows_within
from .counts import draw_codes
from .density import NEAR, ClassComponents, Density, Outcomes, Within, gaussian_kernel, number_outcomes
from .gaussian import Gaussian


@dataclass(frozen=True, slots=True)
class Mixture(Density):
    """The components of all classes, stacked: `components` holds m Gaussians as if they were m classes.

    `owner` (m,) is the class of each component, ascending, every class having at least one; `log_weight` (m,) are the
    logarithms of the weights, which sum to one within a class.
    """

    components: Gaussian
    owner: Codes
    log_weight: Array

    @property
    def k(self) -> int:
        return int(self.owner[-1]) + 1

    def log_density(self, rows: Array) -> Array:
        """Return log p(x | k) = log Σ_m exp(log w_km + log N(x; μ_km, Σ_km)), (n, k) in nats.

        Missing cells (NaN) are integrated out of every component, which is exact.
        """
        scores = self.components.log_density(rows)
        if len(self.owner) == self.k:  # one component per class: the Gaussian itself
            return scores
        scores += self.log_weight
        return sum_within(scores, self.owner)

    @property
    def has_leading(self) -> bool:
        return self.components.has_leading

    def leading_log_density(self, rows: Array, offset: Array) -> Array:
        """Return the same, or more for classes and components that cannot matter to posteriors."""
        scores = self.components.leading_log_density(rows, offset[..., self.owner] + self.log_weight)
        scores += self.log_weight
        return sum_within(scores, self.owner)

    def marginal(self, columns: Sequence[int]) -> Mixture:
        """Return the density of some of the columns: the same weights, each component's marginal."""
        return Mixture(self.components.marginal(columns), self.owner, self.log_weight)

    def condition(self, rows: Array, posterior: Array) -> Array:
        """Return rows (n, d) with each missing cell (NaN) at its mean given the observed cells of the row.

        Every component counts by p(class | row) p(component | x_o, class): what is observed moves the weights.
        """
        share = np.exp(self._log_responsibility(rows))
        share *= posterior[:, self.owner]
        return self.components.condition(rows, share)

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        """Return rows (n, d) with missing cells (NaN) drawn from a component of the row's class, itself drawn."""
        return self.components.sample(rows, draw_codes(self.shares(rows, codes), rng), rng)

    def shares(self, rows: Array, codes: Codes) -> Array:
        """Return p(component | x_o, class) of rows of these classes (n,), (n, m)."""
        return np.where(self.owner == codes[:, None], np.exp(self._log_responsibility(rows)), 0.0)

    def within(self, rows: Array, low: Array, high: Array) -> Within | None:
        """Return what is known of numbers within ranges: in every class a mixture of its components' laws."""
        found = self.components.within(rows, low, high)
        if found is None:
            return None
        score = self._log_responsibility(rows) + found.log_mass
        total = sum_within(score, self.owner)

        def draw(index: Codes, codes: Codes, rng: np.random.RandomState) -> Array:
            own = np.where(self.owner == codes[:, None], score[index], -np.inf)
            share = np.exp(own - total[index, codes][:, None])
            return np.asarray(found.draw(index, draw_codes(share, rng), rng))

        return Within(total, found.columns, draw)

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell (NaN) may hold: in every class a mixture of its components' regressions."""
        starts = np.searchsorted(self.owner, np.arange(self.k))
        for part in row_chunks(len(rows), rows_within(32 * rows.shape[1] * len(self.owner), IN_MEMORY)):
            weight = np.exp(self._log_responsibility(rows[part]))
            center, scale = self.components.regressions(rows[part])
            for j in self.components.used:
                own = np.flatnonzero(np.isnan(rows[part, j]))
                classes = ClassComponents(starts, weight[own])
                if len(own):
                    yield from number_outcomes(
                        own + part.start, j, center[own, j], scale[own, j], NEAR, gaussian_kernel, classes
                    )

    def _log_responsibility(self, rows: Array) -> Array:
        """Return log p(component | x_o, its class), (n, m) in nats; where no component has density, log weights."""
        scores = self.components.log_density(rows)
        scores += self.log_weight
        total = sum_within(scores, self.owner)[:, self.owner]
        return np.where(np.isfinite(total), scores - np.where(np.isfinite(total), total, 0.0), self.log_weight)


def sum_within(scores: Array, owner: Codes) -> Array:
    """Return log Σ exp(score) over the components of each class, (n, k, …), of scores (n, m, …) in nats."""
    starts = np.searchsorted(owner, np.arange(int(owner[-1]) + 1))
    peak = np.maximum.reduceat(scores, starts, axis=1)
    base = np.where(np.isfinite(peak), peak, 0.0)
    return base + log_of(np.add.reduceat(np.exp(scores - base[:, owner]), starts, axis=1))
