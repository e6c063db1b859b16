"""Rows simulated from a fitted model, and models learned from such rows: what p-values are compared with.

A model estimated from few rows fits new rows worse than those it learned from. How much worse is seen by doing the same
again with known truth: draw as many training rows as there were from the fitted model, estimate from them, and look at
new rows (the parametric bootstrap).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, np
from ..densities import Categorical, Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT, Product, Spherical
from ..errors import SettingError
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..stats import GaussianStats, PatternStats
from ..stats.counts import CodedColumns
from ..tasks.outlier_laws import HotellingLaw, IndependentLaw, Law, PredictiveLaw
from ..tasks.outliers import Replicate

MOST, FEWEST = 200, 4  # how often training rows are simulated
NEW_ROWS = 20_000  # new rows in all, shared out over classes
PLENTY = 200  # rows per free column of a class beyond which estimates are as good as the truth
MOST_WORK = 2e8  # rows × columns × jointly modelled columns


def make_replicates(estimator: Any, model: JointModel) -> list[Replicate]:
    """Return models learned from rows simulated under a fitted one, each with new rows; always the same ones."""
    rng = np.random.RandomState(0)
    k = len(model.classes)
    sizes, width = _sizes(estimator, model)
    each = int(np.clip(NEW_ROWS // k, 200, 2000))
    work = float(sizes.sum()) * len(estimator._schema) * width
    refitted = _learns_alike(estimator, model) and sizes.min() < PLENTY * width and work < MOST_WORK
    count = int(np.clip(MOST_WORK / max(work, 1.0), FEWEST, MOST)) if refitted else 1
    new = np.repeat(np.arange(k), -(-each // count))
    found = []
    for _ in range(count):
        like = _learn(estimator, model, np.repeat(np.arange(k), sizes), rng) if refitted else model
        found.append(Replicate(like, tuple(_draw(estimator, model, new, rng)), new))
    return found


def _sizes(estimator: Any, model: JointModel) -> tuple[Codes, int]:
    """Return how many rows stand for those of each class (k,), and the most columns that are modelled jointly."""
    width = 1
    for density in model.density.blocks:
        if isinstance(density, Gaussian) and isinstance(density.covariance, Full | LowRank):
            width = max(width, len(density.used))
    weight = estimator.statistics_.weight
    for stats in estimator.statistics_.blocks:  # cells that were missing taught nothing
        weight = np.minimum(weight, stats.column_weight().mean(axis=1))
    return np.clip(np.rint(weight), 1, PLENTY * width).astype(np.int64), width


def _learns_alike(estimator: Any, model: JointModel) -> bool:
    """Return whether the model is an estimate that others, made from its rows, are compared with.

    Mixtures, found by EM in many steps, are not. Neither is the predictive density under a prior, which counts in
    already what is not known of the parameters: its rows are those it foretells.
    """
    pairs = zip(estimator._blocks, model.density.blocks, strict=False)
    return not any(
        isinstance(density, Mixture) or (isinstance(block.family, GaussianFamily) and not isinstance(density, Gaussian))
        for block, density in pairs
    )


def _learn(estimator: Any, model: JointModel, codes: Codes, rng: Any) -> JointModel:
    rows = _draw(estimator, model, codes, rng)
    coded = [
        CodedColumns(density.levels, part) if isinstance(density, Categorical) else part
        for density, part in zip(model.density.blocks, rows, strict=True)
    ]
    settings, names = estimator._settings_for(estimator.statistics_), estimator._schema.names
    densities = []
    for block, part in zip(estimator._blocks, coded, strict=True):
        stats = estimator._summarize_block(block, part, codes, model.classes, None)
        told = replace(settings, classes=model.classes, columns=tuple(names[p] for p in block.positions))
        densities.append(block.family.estimate(stats, told)[0])
    return JointModel(model.classes, model.log_prior, Product(tuple(densities)))


def _draw(estimator: Any, model: JointModel, codes: Codes, rng: Any) -> list[Any]:
    """Return new rows of these classes (n,), by block."""
    empty: list[Any] = []
    for block, density in zip(estimator._blocks, model.density.blocks, strict=True):
        if not hasattr(density, "sample"):
            raise SettingError(
                f"The family {block.family.name!r} cannot draw rows, which p-values are compared with. "
                "Next: give its density a `sample`."
            )
        d = len(block.positions)
        if isinstance(density, Categorical):
            empty.append(tuple(np.full(len(codes), -1) for _ in range(d)))
        else:
            empty.append(np.full((len(codes), d), np.nan))
    return list(model.sample(empty, codes, rng))


def exact_law(estimator: Any, model: JointModel) -> Law | None:
    """Return the exact law of distances within classes, if the model is one block of Gaussians that has one.

    That is so under a prior, where the predictive density is a t, and for estimates without any repair.
    """
    if len(model.density.blocks) != 1:
        return None
    density, stats = model.density.blocks[0], estimator.statistics_.blocks[0]
    if isinstance(density, MultivariateT):
        return PredictiveLaw(density.df, _flags(density)) if density.used else None
    if isinstance(stats, PatternStats):
        stats = None if stats.incomplete else stats.complete
    if not isinstance(density, Gaussian) or not isinstance(stats, GaussianStats) or not density.used:
        return None
    if isinstance(density.covariance, Diagonal):
        return _independent_law(density, density.covariance, stats)
    return None if isinstance(density.covariance, LowRank) else _hotelling_law(density, stats)


def _flags(density: Any) -> Any:
    """Return which columns have a density (d,)."""
    location = density.means if isinstance(density, Gaussian) else density.location
    return np.isin(np.arange(location.shape[1]), density.used)


def _hotelling_law(density: Gaussian, stats: GaussianStats) -> HotellingLaw | None:
    covariance, used = density.covariance, list(density.used)
    weight = stats.weight if stats.weight.ndim == 1 else stats.weight[:, 0]
    if (stats.weight.ndim == 2 and (stats.weight != weight[:, None]).any()) or (weight <= 1).any():
        return None
    freedom, divisor = _degrees(covariance, stats, weight, used)
    if divisor is None:
        return None
    k, joint = len(weight), isinstance(covariance, Full)
    if (freedom - (len(used) if joint else 0) < 1).any():
        return None
    return HotellingLaw(weight, np.broadcast_to(freedom, k), np.broadcast_to(divisor, k), joint, _flags(density))


def _independent_law(density: Gaussian, covariance: Diagonal, stats: GaussianStats) -> IndependentLaw | None:
    """Return the law of classes without correlations, if their variances are sums of squares over a usual divisor."""
    shape, used = density.means.shape, list(density.used)
    weight = np.broadcast_to(stats.weight if stats.weight.ndim == 2 else stats.weight[:, None], shape)
    squares, variance = stats.scatter.diagonal(len(weight)), np.ones(shape)
    variance[:, used] = covariance.variance
    freedom, total = weight - 1.0, weight
    if covariance.g == 1:
        squares, total = (np.broadcast_to(part.sum(axis=0), shape) for part in (squares, weight))
        freedom = total - len(weight)
    if (weight[:, used] <= 1).any() or (freedom[:, used] < 1).any():
        return None
    divisor = squares / variance
    usual = np.isclose(divisor, total, rtol=1e-9) | np.isclose(divisor, freedom, rtol=1e-9)
    if not usual[:, used].all():
        return None
    return IndependentLaw.make(weight, freedom, divisor, _flags(density), np.random.RandomState(0))


def _degrees(covariance: Any, stats: Any, weight: Array, used: list[int]) -> tuple[Array, Array | None]:
    """Return degrees of freedom and divisors, (g,) each; None if covariances are not the scatters over a divisor."""
    shared = covariance.g == 1
    freedom = np.array([weight.sum() - len(weight)]) if shared else weight - 1.0
    if isinstance(covariance, Spherical):
        squares = stats.scatter.diagonal(len(weight))[:, used].sum(axis=1)
        total = squares.sum(keepdims=True) if shared else squares
        divisor = total / covariance.variance
        cells = freedom * len(used)
        usual = np.isclose(divisor, cells, rtol=1e-9) | np.isclose(
            divisor, (weight.sum() if shared else weight) * len(used), rtol=1e-9
        )
        return cells, divisor if usual.all() else None
    scatter = stats.dense().scatter.values
    if shared and scatter.ndim == 3:  # classes pooled whole, by `RDA` say
        scatter = scatter.sum(axis=0)
    scatter = scatter.reshape(covariance.g, *scatter.shape[-2:])[:, used][:, :, used]
    dense = covariance.dense()
    divisor = scatter[:, 0, 0] / dense[:, 0, 0]
    alike = np.isclose(scatter, dense * divisor[:, None, None], rtol=1e-9, atol=0.0) | (np.abs(scatter) < 1e-300)
    return freedom, divisor if alike.all() else None
