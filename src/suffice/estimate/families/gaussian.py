"""Gaussian columns: each by itself, or a block of them jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ..._arrays import Array, Codes, Flags, np
from ...densities import Covariance, Diagonal, Draw, Full, Gaussian, LowRank, MultivariateT
from ...em.cells import complete, complete_rows, weak_prior
from ...em.filling import augmented, can_augment, fill
from ...errors import SingularCovarianceError
from ...notes import Note
from ...stats import CompletedStats, DiagonalScatter, FullScatter, GaussianStats, PatternStats, PooledScatter
from ...stats.patterns import TooManyPatternsError
from ...table import Table
from ...table.arrays import DeviceTable
from ..likelihood import GaussianEstimate
from ..predictive import BayesEstimate, Predictive, draw, fewer_degrees
from ..priors import NormalInverseWishart, Shrinkage
from .family import Family, Settings

Kept = PatternStats | GaussianStats


@dataclass(frozen=True, slots=True)
class GaussianFamily(Family):
    """Gaussian columns, jointly with a covariance `structure`, per class or `shared`."""

    name: str = "gaussian"
    support: ClassVar[str] = "reals"
    structure: type[Covariance] = Diagonal
    shared: bool = False

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        if isinstance(table, DeviceTable):  # numbers on another device stay there
            return table.resident(positions)  # type: ignore[no-any-return]
        return table.numeric(positions)

    def joint(self) -> GaussianFamily:
        return GaussianFamily(structure=Full)

    @property
    def form(self) -> type[DiagonalScatter | PooledScatter | FullScatter]:
        """The scatter that is kept."""
        if self.structure is not Full:
            return DiagonalScatter
        return PooledScatter if self.shared else FullScatter

    @property
    def fills(self) -> bool:
        return self.structure is Full

    @property
    def _type(self) -> type[PatternStats | GaussianStats]:
        return PatternStats if self.structure is Full else GaussianStats

    def zero(self, k: int, columns: int) -> Kept:
        return self._type.zero(k, columns, self.form)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Kept | CompletedStats:
        try:
            return self.count(rows, codes, k, weight)
        except TooManyPatternsError:
            return complete_rows(rows, codes, k, weight, self.form)

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Kept:
        return self._type.summarize(rows, codes, k, weight, self.form)

    def estimate(self, stats: Kept | CompletedStats, settings: Settings) -> tuple[Gaussian | Predictive, list[Note]]:
        if settings.prior is not None:
            posterior = self._under(settings.prior, stats, settings)
            return posterior.predictive(), posterior.notes
        job = GaussianEstimate(
            stats, self.structure, self.shared, settings.divisor, settings.shrinkage, settings.classes, settings.columns
        )
        job.leaves_tiny, job.kept = settings.leaves_tiny, settings.kept
        return job.run(), job.notes

    def _under(self, prior: NormalInverseWishart, stats: Kept | CompletedStats, settings: Settings) -> BayesEstimate:
        told = "unbiased", Shrinkage(None), settings.classes, settings.columns
        return BayesEstimate(stats, self.structure, self.shared, *told, prior=prior.settled())

    def posterior(self, stats: Kept | CompletedStats, settings: Settings) -> Draw | None:
        """Return what draws means and covariances, without a prior under Jeffreys' |Σ|^(−(d + 1) / 2).

        None where covariances are shrunk, or that prior leaves them singular. `settings.covering` asks for 1 / |Σ|:
        given the rows, aᵀ Σ⁻¹ a / aᵀ S⁻¹ a then follows the χ² of n − d degrees of freedom that it follows over rows
        given Σ.
        """
        done = PatternStats(complete(stats), {}) if isinstance(stats, PatternStats) else stats
        found = self._posterior_of_complete(done, settings)
        if found is None or not isinstance(stats, PatternStats) or not can_augment(stats):
            return found
        return augmented(stats, done.complete, lambda own: self._posterior_of_complete(PatternStats(own, {}), settings))

    def _posterior_of_complete(self, stats: Kept | CompletedStats, settings: Settings) -> Draw | None:
        prior = settings.prior or NormalInverseWishart("jeffreys")
        if settings.prior is None and settings.shrinkage.setting is not None:
            return None
        try:
            density = self._under(prior, stats, settings).predictive()
        except SingularCovarianceError:
            return None
        if isinstance(density, MultivariateT) and isinstance(density.scale, LowRank):
            return None
        one = self.shared or prior.strength == np.inf
        covering = settings.covering and settings.prior is None and self.structure is Full
        if covering and isinstance(density, MultivariateT) and density.used:
            density = fewer_degrees(density, len(density.used) - 1)
        return partial(draw, density, stats.column_weight(), prior, one)

    def misses(self, rows: Array) -> bool:
        return self.fills and bool(np.isnan(rows).any())

    def fill(self, rows: Array, codes: Codes, k: int, weight: Array, density: Gaussian | MultivariateT) -> PatternStats:
        return PatternStats(fill(rows, codes, k, weight, _plugged_in(density), self.form), {})

    def add_squares(self, stats: PatternStats, squares: Array) -> PatternStats:
        added = squares[:, :, None] * np.eye(squares.shape[1])
        values = stats.complete.scatter.values + (added[0] if self.shared else added)
        return PatternStats(replace(stats.complete, scatter=self.form(values)), {})

    def prior_squares(self, stats: PatternStats | CompletedStats, secured: Flags) -> Array:
        """Return the squares (g, d) that the weak prior of EM adds to the scatter of the `secured` classes.

        `secured` is (k,); a covariance of all classes has the prior if any of them does.
        """
        return weak_prior(stats, self.shared) * (secured.any() if self.shared else secured[:, None])

    def log_prior_of_squares(self, density: Gaussian | MultivariateT, squares: Array) -> float:
        """Return −½ Σ tr(diag(squares) Σ⁻¹), the log density of that prior up to a constant, in nats."""
        precision = np.linalg.inv(_plugged_in(density).covariance.dense())
        diagonal = np.diagonal(precision, axis1=1, axis2=2)
        return float(-0.5 * (squares[:, list(density.used)] * diagonal).sum())


def _plugged_in(density: Gaussian | MultivariateT) -> Gaussian:
    """Return the Gaussian that fills missing cells: of a posterior predictive, the one at its location and scale.

    Conditional means are those of the t itself, which depend on neither its degrees of freedom nor its inflation.
    """
    if isinstance(density, MultivariateT):
        return Gaussian(density.location, density.scale, density.used)
    return density
