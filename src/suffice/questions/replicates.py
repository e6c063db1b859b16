"""Exact laws of distances within classes, or rows simulated under them.

A model estimated from few rows fits new rows worse than those it learned from. For Gaussian classes estimated without
any repair, how much worse is known exactly. Over classes p-values are averaged; the law of the average is that of rows
simulated from the fitted model, judged by models learned from simulated rows (the parametric bootstrap).
"""

from __future__ import annotations

from .._arrays import Codes, NDArray, np
from ..densities import Diagonal, Full, Gaussian, LowRank, MultivariateT, Product, Rows
from ..estimate import NormalInverseWishart
from ..fitted import Fitted
from ..joint import JointModel
from ..notes import Kind
from ..stats import GaussianStats, PatternStats
from ..stats.by_class import Batch
from .distances import Replicate
from .outlier_laws import HotellingLaw, IndependentLaw, Law, PredictiveLaw

MOST, FEWEST = 200, 4  # how often training rows are simulated
NEW_ROWS = 20_000  # new rows in all, shared out over classes
PLENTY = 200  # rows per free column of a class beyond which estimates are as good as the truth
MOST_WORK = 2e8  # rows × columns × jointly modelled columns


def make_replicates(fitted: Fitted) -> list[Replicate]:
    """Return models learned from rows simulated under a fitted one, each with new rows; always the same ones."""
    model, rng = fitted.joint, np.random.RandomState(0)
    k = len(model.classes)
    sizes, width = _sizes(fitted, model)
    each = int(np.clip(NEW_ROWS // k, 200, 2000))
    work = float(sizes.sum()) * len(fitted.schema) * width
    refitted = sizes.min() < PLENTY * width and work < MOST_WORK
    count = int(np.clip(MOST_WORK / max(work, 1.0), FEWEST, MOST)) if refitted else 1
    new = np.repeat(np.arange(k), -(-each // count))
    found = []
    for _ in range(count):
        like = _learn(fitted, model, np.repeat(np.arange(k), sizes), rng) if refitted else model
        found.append(Replicate(like, _draw(model, new, rng), new))
    return found


def _sizes(fitted: Fitted, model: JointModel) -> tuple[Codes, int]:
    """Return how many rows stand for those of each class (k,), and the most columns that are modelled jointly."""
    density = _gaussian(model)
    width = len(density.used) if isinstance(density.covariance, Full) else 1
    stats = fitted.statistics.blocks[0]
    weight = np.minimum(fitted.statistics.weight, stats.column_weight().mean(axis=1))  # of cells that were there
    return np.clip(np.rint(weight), 1, PLENTY * width).astype(np.int64), width


def _learn(fitted: Fitted, model: JointModel, codes: Codes, rng: np.random.RandomState) -> JointModel:
    batch = Batch(model.classes, codes, list(_draw(model, codes, rng)), None)
    (block,) = fitted.blocks
    stats = fitted.summarize_block(block, batch.rows[0], batch)
    return JointModel(
        model.classes, model.log_prior, Product((block.family.estimate(stats, fitted.block_settings(block))[0],))
    )


def _draw(model: JointModel, codes: Codes, rng: np.random.RandomState) -> Rows:
    """Return new rows of these classes (n,)."""
    return model.sample([np.full((len(codes), _gaussian(model).means.shape[1]), np.nan)], codes, rng)


def _gaussian(model: JointModel) -> Gaussian:
    density = model.density.blocks[0]
    assert isinstance(density, Gaussian)
    return density


def exact_law(fitted: Fitted) -> Law | None:
    """Return the exact law of distances within classes, if the model is one block of Gaussians that has one.

    That is so for estimates without any repair, and under a prior that says nothing, whose predictive density is the t
    of new rows. Under any other the density is what is believed of new rows, which need not obey it. Nor do the sums of
    a released model whose cells were filled, or covariances taken from elsewhere.
    """
    model, released = fitted.joint, fitted.past.released
    changed = () if released is None else [note for note in released.notes if note.kind is not Kind.POOLED]
    if len(model.density.blocks) != 1 or changed:
        return None
    density = model.density.blocks[0]
    if isinstance(density, MultivariateT):
        silent = _says_nothing(fitted.told.prior) and len(model.classes) == 1
        return PredictiveLaw(density.df, _flags(density)) if density.used and silent else None
    stats: object = fitted.statistics.blocks[0]
    if isinstance(stats, PatternStats):
        stats = None if stats.incomplete else stats.complete
    if not isinstance(density, Gaussian) or not isinstance(stats, GaussianStats) or not density.used:
        return None
    if isinstance(density.covariance, Diagonal):
        return _independent_law(density, stats)
    return None if isinstance(density.covariance, LowRank) else _hotelling_law(density, stats)


def _says_nothing(prior: NormalInverseWishart | None) -> bool:
    """Return whether a prior leaves distances to the law of maximum likelihood."""
    return prior is not None and prior.strength == "jeffreys" and prior.mean_strength == 0


def _flags(density: Gaussian | MultivariateT) -> NDArray[np.bool_]:
    """Return which columns have a density (d,)."""
    location = density.means if isinstance(density, Gaussian) else density.location
    return np.isin(np.arange(location.shape[1]), density.used)


def _hotelling_law(density: Gaussian, stats: GaussianStats) -> HotellingLaw | None:
    covariance, used, divisor = density.covariance, list(density.used), density.divisor
    weight = stats.weight if stats.weight.ndim == 1 else stats.weight[:, 0]
    if (stats.weight.ndim == 2 and (stats.weight != weight[:, None]).any()) or (weight <= 1).any() or divisor is None:
        return None
    k, joint = len(weight), isinstance(covariance, Full)
    freedom = np.array([weight.sum() - k]) if covariance.g == 1 else weight - 1.0
    freedom = freedom if joint else freedom * len(used)
    if (freedom - (len(used) if joint else 0) < 1).any():
        return None
    return HotellingLaw(weight, np.broadcast_to(freedom, k), np.broadcast_to(divisor, k), joint, _flags(density))


def _independent_law(density: Gaussian, stats: GaussianStats) -> IndependentLaw | None:
    """Return the law of classes without correlations, if their variances are sums of squares over a divisor."""
    shape, used = density.means.shape, list(density.used)
    weight = np.broadcast_to(stats.weight if stats.weight.ndim == 2 else stats.weight[:, None], shape)
    freedom = weight - 1.0
    if density.covariance.g == 1:
        freedom = np.broadcast_to(weight.sum(axis=0) - len(weight), shape)
    if (weight[:, used] <= 1).any() or (freedom[:, used] < 1).any() or density.divisor is None:
        return None
    divisor = np.ones(shape)
    divisor[:, used] = density.divisor
    return IndependentLaw.make(weight, freedom, divisor, _flags(density), np.random.RandomState(0))
