"""Joint models whose parameters are drawn from their posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._arrays import np
from ..densities import Draw, Product
from ..estimate import Dirichlet
from ..estimate.priors import draw_gamma, posterior_counts, reference_smoothing
from ..fitted import Fitted
from ..joint import JointModel
from ..stats import CompletedStats, PatternStats


def drawn_models(fitted: Fitted, covering: bool = False) -> Callable[[np.random.RandomState], JointModel]:
    """Return what draws a joint model from the posterior of its parameters; see `posteriors`."""
    blocks = posteriors(fitted, covering)
    priors, classes = fitted.priors, fitted.statistics.classes
    added = priors.strength if isinstance(priors, Dirichlet) else 0.0
    counts = posterior_counts(fitted.statistics.weight, np.array(added))
    known = fitted.joint.density.blocks

    def draw(rng: np.random.RandomState) -> JointModel:
        log_prior = fitted.log_prior
        if priors is None or isinstance(priors, Dirichlet):
            gamma = draw_gamma(counts, rng)
            log_prior = np.log(gamma / gamma.sum())
        density = Product(tuple(one if own is None else own(rng) for own, one in zip(blocks, known, strict=True)))
        return JointModel(classes, log_prior, density)

    return draw


def posteriors(fitted: Fitted, covering: bool = False) -> list[Draw | None]:
    """Return by block what draws its densities from the posterior of their parameters; None where nothing does.

    `covering`: where no priors are given, under those by which intervals of class probabilities cover as stated.
    Where statistics hold cells as EM filled them, the rows kept, if any, say which ones were missing.
    """
    if fitted.bootstrap is not None:
        return [fitted.bootstrap()]
    found = []
    for number, (block, stats) in enumerate(zip(fitted.blocks, fitted.statistics.blocks, strict=True)):
        if fitted.statistics.sample is not None and isinstance(stats, PatternStats | CompletedStats):
            rows = fitted.sampled_rows()[number]
            if not stats.incomplete and np.isnan(rows).any():
                weight = fitted.reservoir.represented(stats.complete.weight)
                stats = block.family.summarize(rows, fitted.reservoir.codes, stats.k, weight)
        told = fitted.block_settings(block)
        if covering:
            told = replace(told, covering=True, smoothing=reference_smoothing(told.smoothing, told.columns))
        found.append(block.family.posterior(stats, told))
    return found
