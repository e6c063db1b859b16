"""The strength of a conjugate prior by leave-one-out: `NormalInverseWishart(strength="loo")`.

Rows are scored by the posterior predictive of the others, a Student t, whose tails grow with what is not known: a
single row far out costs a logarithm there, and cannot drive the choice. Where classes have covariances of their own,
the other classes lose an average row too (see `wishart`): no class is told apart by being a row short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._arrays import Array, Codes, log_softmax, np, parallel_map, single_blas_thread
from ..densities import Full
from ..em.cells import complete
from ..estimate import NormalInverseWishart, Settings
from ..estimate.families import GaussianFamily
from ..notes import Kind, Note
from ..stats import FullScatter, GaussianStats, LowRankScatter, PatternStats
from ..stats.pooling import total_variance
from .by_groups import GroupFolds, Moments, completed
from .generalized_eigen import LeftOut
from .predictive import is_regular, without_row
from .rda import Judges, undecided
from .wishart import SPHERES, STRENGTHS, WishartClasses

POOLED = (0.0, 0.5, 0.9, 0.99)  # tried for independent columns, whose posterior hardly depends on it
MOST_WORK = 2e9  # rows × classes × columns³ over all settings that are tried one by one
LEAST_ROWS = 20  # complete rows by which anything can be told
ERRORS = 0.5  # standard errors by which a weaker prior must be better: half the tables of benchmarks/tables.py say so
Setting = tuple[float, float]  # strength and share `pooled`


class Tried(NamedTuple):
    """Losses (n,) by setting, what the rows count for (n,), and the numbers (n,) of their groups, None without."""

    losses: dict[Setting, Array]
    counts_for: Array
    group: Codes | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A block of Gaussian columns: the rows kept (n, d), NaN where missing, the statistics of all, and the family."""

    rows: Array
    stats: Moments
    family: GaussianFamily


def choose_strength(
    prior: NormalInverseWishart,
    blocks: Sequence[Judged],
    codes: Codes,
    weight: Array,
    counts_for: Array,
    told: Settings,
    group: Codes | None = None,
) -> NormalInverseWishart | None:
    """Return the prior with a strength, and share `pooled` if that is None, by its leave-one-out log loss.

    It is the strongest of the settings less than half a standard error worse than the best.

    `codes` (n,), `weight` (n,) and `counts_for` (n,) are those of the rows kept, as in `rda.Judges`. None where too
    little can be told: fewer than 20 rows judge, a table is wider than long, or a class has next to no weight.

    With full covariances of their own 9 strengths × 8 shares are tried, as if the mean were flat; complete rows judge.
    With one covariance for all the share is chosen, and the strength is infinite: both say how far that one is drawn to
    a diagonal. Everything else is judged by the exact leave-one-out of each setting. Rows
    in groups, whose numbers are `group` (n,), are judged by folds of whole groups, from the rows kept of others.
    """
    for block in blocks:
        prior.check_columns(block.rows.shape[1])
    along = len(blocks) == 1 and blocks[0].family.structure is Full and prior.scale is None
    if group is not None:
        found = _by_groups(prior, blocks, Judges(blocks[0].rows, codes, weight, counts_for, group), told, along)
    elif along:
        block = blocks[0]
        judges = Judges(block.rows, codes, weight, counts_for)
        found = _along_the_path(prior, judges, block.stats, block.family.shared)
    else:
        found = _one_by_one(prior, blocks, codes, weight, counts_for, told)
    if found is None:
        return None
    losses, own, group = found
    losses = {setting: lost for setting, lost in losses.items() if np.isfinite(lost).all()}
    if not losses:  # classes so light that nothing can be left out of them
        return None
    rows = np.stack(list(losses.values()))
    mean = rows @ (own / own.sum())
    alike = zip(losses, mean, undecided(rows, own, ERRORS, group), strict=True)
    (strength, pooled), _ = max(((setting, m) for setting, m, one in alike if one), key=lambda of: (of[0][0], -of[1]))
    return replace(prior, strength=strength, pooled=pooled)


def strength_note(prior: NormalInverseWishart) -> Note:
    """Return the note that says what was chosen."""
    counts = "by which all classes share one covariance" if np.isinf(prior.strength) else f"of {prior.strength:g} rows"
    what = f"chose a prior {counts}, {1.0 - float(prior.pooled):.3g} of it without correlations"
    why = "of the priors that leave-one-out cannot tell from the best, this is the strongest"
    return Note(what, why, kind=Kind.CHOSEN)


def unjudged_note(prior: NormalInverseWishart) -> Note:
    """Return the note that says that nothing could be chosen."""
    what = f"took a prior of {prior.strength:g} rows, {1.0 - float(prior.pooled):.3g} of it without correlations"
    why = "too few complete rows are kept to choose by, or there are more columns than rows"
    return Note(what, why, kind=Kind.UNCERTAIN)


def _losses(scores: Array, codes: Codes, weight: Array) -> Array:
    """Return the log loss of each row (n,), in nats, of log densities (n, k) and class weights (k,)."""
    posterior = log_softmax(scores + np.log((weight + 0.5) / (weight + 0.5).sum()))
    return np.asarray(-posterior[np.arange(len(codes)), codes])


def _along_the_path(prior: NormalInverseWishart, judges: Judges, stats: Moments, shared: bool) -> Tried | None:
    """Return losses by setting with full covariances."""
    if not (~np.isnan(judges.rows).any(axis=1) & (judges.weight > 0)).sum() >= LEAST_ROWS:
        return None
    judges = judges.complete()
    moments = completed(stats)
    if isinstance(moments.scatter, LowRankScatter) or not (moments.weight > 0).all():
        return None
    if shared:
        k = len(moments.weight)
        values = np.concatenate([moments.scatter.values[None], np.zeros((k - 1, *moments.scatter.values.shape))])
        moments = GaussianStats(moments.weight, moments.mean, FullScatter(values), FullScatter)
    used, scale, member = _in_standard_units(moments, prior.target)
    if not len(used):
        return None
    center = moments.weight @ moments.mean / moments.weight.sum()
    left = LeftOut((judges.rows[:, used] - center[used]) / scale, judges.codes, judges.weight, judges.counts_for)
    spheres = SPHERES if prior.pooled is None else (1.0 - float(prior.pooled),)
    with single_blas_thread():
        path = member.path(left, (np.inf,) if shared else STRENGTHS, spheres, rough=True)
        losses = {(a, 1.0 - sphere): _losses(scores, left.codes, moments.weight) for sphere, a, scores in path}
    return Tried(losses, left.weight)


def _in_standard_units(stats: GaussianStats, target: str) -> tuple[Codes, Array, WishartClasses]:
    """Return the columns that vary, their units, and the classes about the mean of all rows in these units.

    In units of the standard deviations of all rows (of those within classes) T is a multiple of the identity.
    """
    weight, squares = stats.column_weight(), stats.scatter.diagonal(len(stats.weight))
    total = total_variance(stats.mean, weight, squares)
    within = squares.sum(axis=0) / weight.sum(axis=0)
    center = stats.weight @ stats.mean / stats.weight.sum()
    used = np.flatnonzero((within > 1e-9 * total) & (total > (1e-12 * np.abs(center)) ** 2))
    scale = np.sqrt((within if target == "within" else total)[used])
    scatter = FullScatter(stats.scatter.values[:, used][:, :, used] / scale[:, None] / scale)
    mean = (stats.mean - center)[:, used] / scale
    return used, scale, WishartClasses(GaussianStats(stats.weight, mean, scatter, FullScatter))


def _one_by_one(
    prior: NormalInverseWishart,
    blocks: Sequence[Judged],
    codes: Codes,
    weight: Array,
    counts_for: Array,
    told: Settings,
) -> Tried | None:
    """Return the same by the exact leave-one-out of every setting."""
    moments = [_plain(block.stats) for block in blocks]
    judged = [(block, own) for block, own in zip(blocks, moments, strict=True) if own is not None]
    if not judged or len(judged) < len(blocks):
        return None
    k = len(blocks[0].stats.column_weight())
    work = sum(b.rows.shape[1] ** (3 if b.family.structure is Full else 1) for b in blocks) * k * 36
    chosen = np.flatnonzero(weight > 0)
    for block, _ in judged:
        if block.family.structure is Full:
            chosen = chosen[~np.isnan(block.rows[chosen]).any(axis=1)]
    chosen = chosen[:: max(1, -(-len(chosen) * work // int(MOST_WORK)))]
    total = np.max([block.stats.column_weight().max(axis=1) for block in blocks], axis=0)

    def score(setting: Setting) -> tuple[Array, Array]:
        tried = replace(prior, strength=setting[0], pooled=setting[1])
        scores, sure = np.zeros((len(chosen), k)), np.ones(len(chosen), dtype=bool)
        for block, own in judged:
            cells = block.rows[chosen]
            named = replace(told, prior=tried, classes=tuple(range(k)), columns=tuple(range(cells.shape[1])))
            density: Any = block.family.estimate(own, named)[0]
            part, known = without_row(cells, codes[chosen], weight[chosen], own, density, block.family, tried)
            scores, sure = scores + part, sure & known
        return _losses(scores, codes[chosen], total), sure

    settings = [(a, share) for a in STRENGTHS for share in _shares(prior)]
    found = list(parallel_map(score, settings, cost=float(len(chosen)) * work))
    known = np.all([sure for _, sure in found], axis=0)
    if known.sum() < LEAST_ROWS:
        return None
    losses = {setting: loss[known] for setting, (loss, _) in zip(settings, found, strict=True)}
    return Tried(losses, counts_for[chosen][known])


def _by_groups(
    prior: NormalInverseWishart, blocks: Sequence[Judged], judges: Judges, told: Settings, along: bool
) -> Tried | None:
    """Return the same by folds of whole groups; the settings are those `along` the path, or those tried one by one."""
    joint = [block for block in blocks if block.family.structure is Full]
    rows = np.hstack([block.rows for block in joint]) if joint else np.zeros((len(judges.codes), 1))
    whole = int((~np.isnan(rows).any(axis=1) & (judges.weight > 0)).sum())
    if whole < LEAST_ROWS or any(block.rows.shape[1] >= whole for block in joint):
        return None
    k = len(blocks[0].stats.column_weight())
    assert judges.group is not None
    parts = [(block.family, block.rows) for block in blocks]
    judging = replace(judges, rows=rows).whole_rows()
    folds = GroupFolds.of(parts, judges.codes, judges.weight, k, judges.group, judging)
    shares = tuple(1.0 - sphere for sphere in SPHERES) if along and prior.pooled is None else _shares(prior)
    strengths = (np.inf,) if along and blocks[0].family.shared else STRENGTHS
    settings = [(a, share) for a in strengths for share in shares]

    def score(setting: Setting) -> Array:
        return folds.losses(replace(told, prior=replace(prior, strength=setting[0], pooled=setting[1])))

    with single_blas_thread():
        found = list(parallel_map(score, settings, cost=np.inf))
    losses = dict(zip(settings, found, strict=True))
    return Tried(losses, judges.counts_for[folds.judged], judges.group[folds.judged])


def _shares(prior: NormalInverseWishart) -> tuple[float, ...]:
    """Return the shares `pooled` to try: that which is given, if any, or some; with a scale given there is none."""
    if prior.pooled is not None:
        return (float(prior.pooled),)
    return POOLED if prior.scale is None else (POOLED[-1],)


def _plain(stats: Moments) -> GaussianStats | None:
    """Return statistics that a predictive without a row has a formula for."""
    if isinstance(stats, PatternStats):
        stats = complete(stats)
    if not isinstance(stats, GaussianStats) or isinstance(stats.scatter, LowRankScatter):
        return None
    used = np.flatnonzero(stats.scatter.diagonal(len(stats.mean)).sum(axis=0) > 0)
    return stats if is_regular(stats, used.tolist()) else None
