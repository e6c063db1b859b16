"""How sure the probability of a class is: an interval around each, from draws of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._arrays import Array, is_number, np, row_chunks
from ..densities import Draw, Product, Rows
from ..errors import SettingError, a_model, either, quoted, setting
from ..estimate import Block, Dirichlet
from ..estimate.families import GaussianFamily
from ..estimate.priors import draw_gamma, posterior_counts, reference_smoothing
from ..fitted import Fitted
from ..joint import JointModel, log_posterior
from ..leave_one_out.choices import is_open
from ..stats import CompletedStats, PatternStats
from ..stats.rows import take_blocks

# ── Joint models whose parameters are drawn from their posterior ──────────────────────────────────────────────────────


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

    `covering`: where no priors are given, under those by which intervals of class probabilities cover as stated. A
    prior whose strength the rows chose is no belief, and is taken only where there is no posterior without it.
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
        chosen = covering and is_open(fitted.settings)
        free = block.family.posterior(stats, replace(told, prior=None)) if chosen else None
        found.append(block.family.posterior(stats, told) if free is None else free)
    return found


# ── Intervals of class probabilities, from draws of the parameters ────────────────────────────────────────────────────


DRAWS = 399  # of parameters: between the 20th smallest and the 20th largest of 399 the next one falls with .9
FEWEST_BEYOND = 4  # draws beyond either end
MOST_CELLS = 1 << 24  # of probabilities drawn, held at once
CLOSEST = 0.999  # level


def probability_interval(fitted: Fitted, rows: Rows, level: object) -> Array:
    """Return the lower and the upper end of the interval of each class probability (n, k, 2)."""
    checked = check_interval(fitted, level)
    told = np.exp(fitted.log_posterior(rows))[:, :, None]
    if told.shape[1] == 1:
        return np.concatenate([told, told], axis=2)
    pooled = fitted.pool is not None
    found = fitted.doubt.ends(fitted, rows, checked) if pooled else _by_draws(fitted, rows, checked, len(told))
    return np.concatenate([np.fmin(found[:, :, :1], told), np.fmax(found[:, :, 1:], told)], axis=2)


def check_interval(fitted: Fitted, level: object) -> float:
    """Return the level; SettingError for one that cannot be, or where the posterior has no closed form, saying why."""
    if not is_number(level) or not 0.0 < level <= CLOSEST:
        raise SettingError(
            f"{setting('level', level)} must lie above 0 and not above {CLOSEST}. Next: 0.9 gives intervals that hold "
            "nine of ten true probabilities."
        )
    if len(fitted.statistics.classes) == 1:
        return float(level)
    if fitted.pool is not None:
        _ = fitted.doubt  # made once, before parts of a table ask for it
        return float(level)
    if fitted.bootstrap is not None:
        raise _refused(fitted, "probabilities are made of trees")
    if fitted.past.joined:
        raise _refused(fitted, "rows without a label joined it by EM")
    for block, own in zip(fitted.blocks, posteriors(fitted, covering=True), strict=True):
        if own is None:
            raise _refused(fitted, _why(fitted, block))
    return float(level)


def _why(fitted: Fitted, block: Block) -> str:
    if not isinstance(block.family, GaussianFamily):
        return f"{quoted([fitted.schema.names[p] for p in block.positions])} of the family {block.family.name}"
    shrunk = fitted.told.prior is None and fitted.told.shrinkage.setting is not None
    fewest = fitted.statistics.classes[int(fitted.statistics.weight.argmin())]
    return "covariances are shrunk" if shrunk else f"class {quoted([fewest])} has too few rows for its covariance"


def _refused(fitted: Fitted, why: str) -> SettingError:
    wanted = either("GaussianDiscriminant or NaiveBayes", "model of --model full, shared, diagonal or nb")
    return SettingError(
        f"The parameters of {a_model(fitted.who)} have no posterior in closed form here: {why}. Next: ask a {wanted} "
        "without shrinkage, whose columns are Gaussian, categorical, Bernoulli, Poisson or multinomial, and whose "
        f"classes have rows enough ({either('drop_class', '`suffice drop-class`')} leaves one out)."
    )


def _by_draws(fitted: Fitted, rows: Rows, level: float, n: int) -> Array:
    """Return the quantiles of p(class | row) over draws of the parameters (n, k, 2), the same draws for all rows."""
    count, k = max(DRAWS, int(np.ceil(2.0 * FEWEST_BEYOND / (1.0 - level))) - 1), len(fitted.statistics.classes)
    out = np.empty((n, k, 2))
    for part in row_chunks(n, max(1, MOST_CELLS // (count * k))):
        draw, rng = drawn_models(fitted, covering=True), np.random.RandomState(0)
        some = take_blocks(rows, np.arange(part.start, part.stop))
        found = np.stack([log_posterior(draw(rng), some) for _ in range(count)])
        ends = np.quantile(np.exp(found, out=found), [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0, method="weibull")
        out[part] = np.moveaxis(ends, 0, 2)
    return out
