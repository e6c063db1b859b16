"""The family of Gaussian mixtures: statistics of components → a mixture per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .._arrays import Array, Codes, log_of, np
from ..densities import Full, Gaussian, Mixture
from ..notes import Kind, Note
from ..schema import Level
from ..stats import CompletedStats, DiagonalScatter, GaussianStats, MixtureStats, PatternStats
from ..table import Table
from .families import Family, GaussianFamily, Settings
from .priors import Shrinkage

ComponentStats = GaussianStats | PatternStats | CompletedStats


@dataclass(frozen=True, slots=True)
class MixtureFamily(Family):
    """Mixtures of the Gaussians of `inner`; `within`: the components of a class share one covariance.

    `prior` rows' worth of what is expected of a covariance before any row is seen are added to each component of a
    class that has several, an inverse-Wishart prior in the manner of Fraley & Raftery (2007),
    doi:10.1007/s00357-007-0004-5, see `_expected`; 0 is maximum likelihood. `inner.shared` means one covariance for all
    components of all classes. `summarize` counts every class as one component; more of them come from
    `mixture_starts.fit_mixtures`, which sees all rows.
    """

    name: str = "mixture"
    inner: GaussianFamily = field(default_factory=lambda: GaussianFamily(structure=Full))
    within: bool = False
    prior: float = 0.0

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return self.inner.encode(table, positions)

    def component(self) -> GaussianFamily:
        return self.inner

    def zero(self, k: int, columns: int) -> MixtureStats:
        return MixtureStats.single(self.inner.zero(k, columns), np.zeros(k))

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> MixtureStats:
        total = np.bincount(codes, weights=weight, minlength=k).astype(np.float64)
        return MixtureStats.single(self.inner.summarize(rows, codes, k, weight), total)

    def count(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> MixtureStats:
        total = np.bincount(codes, weights=weight, minlength=k).astype(np.float64)
        return MixtureStats.single(self.inner.count(rows, codes, k, weight), total)

    def estimate(self, stats: MixtureStats, settings: Settings) -> tuple[Mixture, list[Note]]:
        """Return the mixtures: shares of the weight, and the Gaussians estimated as if components were classes."""
        classes = settings.classes or tuple(range(stats.k))
        inner = _pool_within(stats) if self.within and not stats.is_single else stats.inner
        if self.prior > 0 and not stats.is_single:
            inner = _with_prior(stats, self.prior)
        gaussian, notes = self.inner.estimate(inner, replace(settings, classes=component_labels(classes, stats)))
        assert isinstance(gaussian, Gaussian)
        total = stats.class_weight[stats.owner]
        alone = 1.0 / stats.counts[stats.owner]
        log_weight = log_of(np.where(total > 0, stats.weight / np.where(total > 0, total, 1.0), alone))
        return Mixture(gaussian, stats.owner, log_weight), [*_fit_notes(stats, classes), *notes]

    def under(self, settings: Settings) -> MixtureEstimate:
        """Return the model that EM climbs: of largest likelihood, with the repairs that keep a covariance usable."""
        shrinkage = Shrinkage(None) if settings.shrinkage.forbidden else settings.shrinkage
        told = replace(settings, divisor="mle", classes=(), shrinkage=shrinkage)
        return MixtureEstimate(self, told, settings.classes)

    def log_prior(self, stats: MixtureStats, mixture: Mixture) -> float:
        """Return the log density of the prior at the covariances of a mixture, up to a constant, in nats.

        −½ prior (log|Σ| + tr(T Σ⁻¹)) for each component of a class that has several, T what is expected.
        """
        covariance, used = mixture.components.covariance, list(mixture.components.used)
        if self.prior == 0 or stats.is_single or not used:  # where no column varies there is no covariance
            return 0.0
        several = np.flatnonzero(stats.counts[stats.owner] > 1)
        sigma, target = covariance.dense()[several], _expected(stats)[stats.owner[several]]
        if target.ndim == 2:
            target = target[:, :, None] * np.eye(target.shape[1])
        target = target[:, used][:, :, used]
        traces = np.trace(np.linalg.solve(sigma, target), axis1=1, axis2=2)
        return float(-0.5 * self.prior * (np.linalg.slogdet(sigma)[1] + traces).sum())


@dataclass(frozen=True, slots=True)
class MixtureEstimate:
    """The M step of EM for a mixture: a family under settings, with the repairs that keep covariances usable."""

    family: MixtureFamily
    settings: Settings
    classes: tuple[Level, ...] = ()

    @property
    def pools(self) -> bool:
        """Whether the covariance of a class takes a part of the others'."""
        return self.settings.shrinkage.pooling > 0

    @property
    def shrinks(self) -> bool:
        """Whether covariances are shrunk or pooled even where they are usable as they are."""
        asked = self.settings.shrinkage
        return asked.amount is not None or asked.rule is not None or self.pools

    def gentle(self) -> MixtureEstimate:
        """Return the model in which the components of a class share one covariance, for a first step."""
        return replace(self, family=replace(self.family, within=not self.family.inner.shared))

    def apart(self) -> MixtureEstimate:
        """Return the model that fits each class alone: where all share a covariance, its components share one."""
        if not self.family.inner.shared:
            return self
        return replace(self, family=replace(self.family, inner=replace(self.family.inner, shared=False), within=True))

    def estimate(self, stats: MixtureStats) -> Mixture:
        """Return the mixture of largest likelihood."""
        return self.family.estimate(stats, self.settings)[0]

    def label(self, c: int) -> Level:
        """Return the name of a class, for errors."""
        return self.classes[c] if self.classes else c


def component_labels(classes: Sequence[Level], stats: MixtureStats) -> tuple[Level, ...]:
    """Return a name for every component, for notes and errors: the class's own where it is alone."""
    labels: list[Level] = []
    for label, count in zip(classes, stats.counts.tolist(), strict=True):
        labels += [label] if count == 1 else [f"{label}, component {i + 1}" for i in range(count)]
    return tuple(labels)


def _fit_notes(stats: MixtureStats, classes: Sequence[Level]) -> list[Note]:
    notes = []
    for label, asked, found, steps, unfinished in zip(
        classes, stats.asked, stats.counts, stats.steps, stats.unfinished, strict=True
    ):
        if found < asked:
            why = "from every start they came down to too few rows, or to rows without spread in some direction"
            notes.append(Note("left out components", why, label, amount=float(asked - found), kind=Kind.LEFT_OUT))
        if unfinished:
            why = f"the likelihood still rose after {steps} steps"
            notes.append(Note("stopped EM early", why, label, kind=Kind.STOPPED_EARLY))
    return notes


def _complete(inner: ComponentStats) -> GaussianStats:
    """Return the statistics of the complete rows, scatters as matrices."""
    return (inner if isinstance(inner, GaussianStats) else inner.complete).dense()


def _with_complete(inner: ComponentStats, complete: GaussianStats) -> ComponentStats:
    """Return statistics with others of the complete rows."""
    return complete if isinstance(inner, GaussianStats) else replace(inner, complete=complete)


def _pool_within(stats: MixtureStats) -> ComponentStats:
    """Return inner statistics in which the components of a class have one scatter per row: that of all of them."""
    whole = _complete(stats.inner)
    values = whole.scatter.values.copy()
    for c in np.flatnonzero(stats.counts > 1):
        own = stats.owner == c
        weight = whole.weight[own]
        total = weight.sum(axis=0)
        share = weight / np.where(total > 0, total, 1.0)
        pooled = values[own].sum(axis=0)
        values[own] = pooled * (share if whole.form is DiagonalScatter else share[:, None, None])
    return _with_complete(stats.inner, replace(whole, scatter=whole.form(values)))


def _expected(stats: MixtureStats) -> Array:
    """Return the covariance expected of a component, by class: the class's own divided by m^(2/d), (k, d, d) or (k, d).

    So that m of them fill the volume of the class.
    """
    whole = _complete(stats.inner)
    d, diagonal = whole.mean.shape[1], whole.form is DiagonalScatter
    targets = np.zeros((stats.k, *whole.scatter.values.shape[1:]))
    for c in range(stats.k):
        own = np.flatnonzero(stats.owner == c)
        weight = whole.weight[own] if diagonal else whole.weight[own][:, None]
        total = np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
        away = whole.mean[own] - (weight * whole.mean[own]).sum(axis=0) / total
        between = (weight * away**2).sum(axis=0) if diagonal else (weight * away).T @ away
        scatter = (whole.scatter.values[own].sum(axis=0) + between) / (total if diagonal else float(total[0]))
        targets[c] = scatter * len(own) ** (-2.0 / d)
    return targets


def _with_prior(stats: MixtureStats, rows: float) -> ComponentStats:
    """Return inner statistics with so many rows' worth of the expected covariance in each component of several."""
    whole = _complete(stats.inner)
    several = np.flatnonzero(stats.counts[stats.owner] > 1)
    weight, values = whole.weight.copy(), whole.scatter.values.copy()
    values[several] += rows * _expected(stats)[stats.owner[several]]
    weight[several] += rows
    return _with_complete(stats.inner, replace(whole, weight=weight, scatter=whole.form(values)))
