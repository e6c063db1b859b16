"""The family of Gaussian mixtures: statistics of components → a mixture per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._arrays import Array, Codes, np
from ..densities import Full, Gaussian, Mixture
from ..schema import Level
from ..stats import DiagonalScatter, GaussianStats, MixtureStats, PatternStats
from ..table import Table
from .families import GaussianFamily, Settings
from .notes import Note


@dataclass(frozen=True, slots=True)
class MixtureFamily:
    """Mixtures of the Gaussians of `inner`; `within`: the components of a class share one covariance.

    `inner.shared` means one covariance for all components of all classes. `summarize` counts every class as one
    component; more of them come from `mixture_starts.fit_mixtures`, which sees all rows.
    """

    name: str = "mixture"
    inner: GaussianFamily = field(default_factory=lambda: GaussianFamily(structure=Full))
    within: bool = False

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        """Return the block's rows."""
        return self.inner.encode(table, positions)

    def recode(self, rows: Array, stats: Any) -> Array:
        """Return the rows as they are."""
        return rows

    def zero(self, k: int, columns: int) -> MixtureStats:
        """Return the statistics of no rows."""
        return MixtureStats.single(self.inner.zero(k, columns), np.zeros(k))

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> MixtureStats:
        """Return the statistics of a batch, one component per class."""
        total = np.bincount(codes, weights=weight, minlength=k).astype(np.float64)
        return MixtureStats.single(self.inner.summarize(rows, codes, k, weight), total)

    def estimate(self, stats: MixtureStats, settings: Settings) -> tuple[Mixture, list[Note]]:
        """Return the mixtures: shares of the weight, and the Gaussians estimated as if components were classes."""
        classes = settings.classes or tuple(range(stats.k))
        inner = _pool_within(stats) if self.within and not stats.is_single else stats.inner
        gaussian, notes = self.inner.estimate(inner, replace(settings, classes=component_labels(classes, stats)))
        assert isinstance(gaussian, Gaussian)
        total = np.bincount(stats.owner, weights=stats.weight, minlength=stats.k)[stats.owner]
        alone = 1.0 / stats.counts[stats.owner]
        with np.errstate(divide="ignore"):
            log_weight = np.log(np.where(total > 0, stats.weight / np.where(total > 0, total, 1.0), alone))
        return Mixture(gaussian, stats.owner, log_weight), [*_fit_notes(stats, classes), *notes]


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
            why = "they collapsed: too few rows or no spread in some direction in every start"
            notes.append(Note("left out components", why, label, amount=float(asked - found)))
        if unfinished:
            notes.append(Note("stopped EM early", f"the likelihood still rose after {steps} steps", label))
    return notes


def _pool_within(stats: MixtureStats) -> Any:
    """Return inner statistics in which the components of a class have one scatter per row: that of all of them."""
    inner = stats.inner
    whole: GaussianStats = (inner.complete if isinstance(inner, PatternStats) else inner).dense()
    values = whole.scatter.values.copy()
    for c in np.flatnonzero(stats.counts > 1):
        own = stats.owner == c
        weight = whole.weight[own]
        total = weight.sum(axis=0)
        share = weight / np.where(total > 0, total, 1.0)
        pooled = values[own].sum(axis=0)
        values[own] = pooled * (share if whole.form is DiagonalScatter else share[:, None, None])
    pooled_stats = replace(whole, scatter=whole.form(values))
    return replace(inner, complete=pooled_stats) if isinstance(inner, PatternStats) else pooled_stats
