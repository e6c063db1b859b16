"""The protocol of a model that mixture EM fits; `estimate.mixture` is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

from .._arrays import Array, Codes
from ..densities import Covariance, Mixture
from ..schema import Level
from ..stats import CompletedStats, GaussianStats, MixtureStats, PatternStats
from ..stats.scatter import Scatter

ComponentStats = GaussianStats | PatternStats | CompletedStats


class Components(Protocol):
    """The Gaussians that are mixed."""

    @property
    def structure(self) -> type[Covariance]:
        """The structure of their covariances."""

    @property
    def shared(self) -> bool:
        """Whether all components of all classes have one covariance."""

    @property
    def form(self) -> type[Scatter]:
        """The scatter that is kept."""

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ComponentStats:
        """Return the statistics of a batch, `codes` (n,) being numbers of components."""


class Mixing(Protocol):
    """How rows are counted."""

    @property
    def inner(self) -> Components:
        """The family of the components."""

    @property
    def within(self) -> bool:
        """Whether the components of a class share one covariance."""

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> MixtureStats:
        """Return the statistics of a batch, one component per class."""


class MixtureModel(Protocol):
    """What EM climbs: how rows are counted, and the M step under the settings of an estimate."""

    @property
    def family(self) -> Mixing:
        """How rows are counted."""

    @property
    def pools(self) -> bool:
        """Whether the covariance of a class takes a part of the others'."""

    @property
    def shrinks(self) -> bool:
        """Whether covariances are shrunk or pooled even where they are usable as they are."""

    def gentle(self) -> Self:
        """Return the model in which the components of a class share one covariance, for a first step."""

    def estimate(self, stats: MixtureStats) -> Mixture:
        """Return the mixture of largest likelihood, with the repairs that keep its covariances usable."""

    def log_prior(self, stats: MixtureStats, mixture: Mixture) -> float:
        """Return the log density of the prior at the covariances of a mixture, up to a constant, in nats."""

    def label(self, c: int) -> Level:
        """Return the name of a class, for errors."""


S_contra = TypeVar("S_contra", contravariant=True)


class MixtureFamily(Mixing, Protocol[S_contra]):
    """What becomes a model under settings."""

    def under(self, settings: S_contra) -> MixtureModel:
        """Return the model that EM climbs."""

    def apart(self) -> Self:
        """Return the family that fits each class alone: where all share a covariance, its components share one."""


Progress = Callable[[float], None]
