"""Settings chosen by leave-one-out: `shrinkage="loo"`, and the strength of a prior, `NormalInverseWishart("loo")`.

Strengths are judged by the posterior predictive of the other rows, a Student t, whose tails grow with what is not
known: a single row far out costs a logarithm there, and cannot drive the choice. Where classes have covariances of
their own, the other classes lose an average row too (see `wishart`): no class is told apart by being a row short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from .._arrays import Array, Codes, log_softmax, np, parallel_map, single_blas_thread
from ..densities import Full
from ..em.cells import complete
from ..errors import SettingError, either, setting
from ..estimate import RDA, Block, NormalInverseWishart, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..notes import Kind, Note
from ..stats import ByClass, FullScatter, GaussianStats, LowRankScatter, PatternStats, PooledScatter
from ..stats.dependent_rows import as_judged
from ..stats.pooling import overall
from ..stats.statistic import Plain
from .predictive import is_regular, without_row
from .rda import GroupFolds, Judges, Moments, choice_note, choose_rda, completed, undecided
from .wishart import SPHERES, STRENGTHS, LeftOut, WishartClasses

POOLED = (0.0, 0.5, 0.9, 0.99)  # tried for independent columns, whose posterior hardly depends on it
MOST_WORK = 2e9  # rows × classes × columns³ over all settings that are tried one by one
LEAST_ROWS = 20  # complete rows by which anything can be told
ERRORS = 0.5  # standard errors by which a weaker prior must be better: half the tables of benchmarks/tables.py say so
Setting = tuple[float, float]  # strength and share `pooled`


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings found from the rows kept: None where they were given. `judged`: rows could tell of the prior."""

    shrinkage: RDA | None = None
    prior: NormalInverseWishart | None = None
    judged: bool = False

    def applied(self, settings: Settings) -> Settings:
        """Return the settings with what was chosen in the place of what was left open."""
        if self.shrinkage is not None:
            settings = replace(settings, shrinkage=Shrinkage(self.shrinkage))
        return settings if self.prior is None else replace(settings, prior=self.prior)

    def notes(self, blocks: Sequence[Block]) -> tuple[Note, ...]:
        """Return what was chosen for some blocks, and by what."""
        alike = any(isinstance(own.family, GaussianFamily) and own.family.shared for own in blocks)
        notes = [] if self.shrinkage is None else [choice_note(self.shrinkage, alike)]
        if self.prior is not None:
            notes.append(_strength_note(self.prior, self.judged))
        return tuple(notes)

    def saved(self) -> Plain:
        """Return by name what a model file has to hold: what was chosen by rows."""
        found: Plain = {} if self.shrinkage is None else {"shrinkage": self.shrinkage}
        return found | ({"prior": self.prior} if self.judged else {})

    @classmethod
    def of_saved(cls, given: Mapping[str, Any], settings: Settings, statistics: ByClass) -> Choices | None:
        """Return what `saved` returned, None where nothing was chosen; ValueError if it cannot be that."""
        may = ({"shrinkage"} if settings.by_loo else set()) | ({"prior"} if is_open(settings) else set())
        shrinkage, prior = given.get("shrinkage"), given.get("prior")
        if not set(given) <= may or (settings.by_loo and shrinkage is None):
            raise ValueError(f"chosen settings {sorted(given)}")
        if shrinkage is not None and (not isinstance(shrinkage, RDA) or statistics.sample is None):
            raise ValueError("amounts chosen by leave-one-out")
        if prior is not None and not isinstance(prior, NormalInverseWishart):
            raise ValueError("prior chosen by leave-one-out")
        return cls(shrinkage, prior, prior is not None) if given else None


def is_open(settings: Settings) -> bool:
    """Return whether the strength of the prior is to be chosen."""
    return settings.prior is not None and settings.prior.is_open


def choose(settings: Settings, statistics: ByClass, blocks: Sequence[Block]) -> Choices:
    """Return what leave-one-out over the rows kept chooses for statistics; SettingError where none are kept."""
    judges, shrinkage, found = None, None, None
    sample = statistics.sample if settings.by_loo or is_open(settings) else None
    if sample is not None:
        sample = as_judged(sample)
        leaving, counts_for = sample.leaving_weight(), sample.represented(statistics.weight)
        judges = Judges(sample.rows[0], sample.codes, leaving, counts_for, sample.units.groups)
    if settings.by_loo:
        if judges is None:
            raise SettingError(
                f"{setting('shrinkage', 'loo')} judges by rows that are kept, and these statistics hold none: they "
                f"come from a model with {setting('keep_rows', 0)}. Next: fit again, or give "
                f"{either('the amounts: shrinkage=RDA(...)', 'an amount')}."
            )
        stats: Any = statistics.blocks[0]
        family = GaussianFamily(structure=Full, shared=stats.complete.form is PooledScatter)
        shrinkage = choose_rda(judges, stats, family, settings)
    if not is_open(settings):
        return Choices(shrinkage)
    assert settings.prior is not None
    if sample is not None and judges is not None:
        judged = [
            Judged(np.asarray(rows, dtype=np.float64), cast(Moments, stats), block.family)
            for rows, block, stats in zip(sample.rows, blocks, statistics.blocks, strict=True)
            if isinstance(block.family, GaussianFamily)
        ]
        found = choose_strength(settings.prior, judged, judges, settings)
    return Choices(shrinkage, settings.prior.settled() if found is None else found, found is not None)


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
    prior: NormalInverseWishart, blocks: Sequence[Judged], judges: Judges, told: Settings
) -> NormalInverseWishart | None:
    """Return the prior with a strength, and share `pooled` if that is None, by its leave-one-out log loss.

    It is the strongest of the settings less than half a standard error worse than the best.

    None where too little can be told: fewer than 20 rows judge, a table is wider than long, or a class has next to no
    weight.

    With full covariances of their own 9 strengths × 8 shares are tried, as if the mean were flat; complete rows judge.
    With one covariance for all the share is chosen, and the strength is infinite: both say how far that one is drawn to
    a diagonal. Everything else is judged by the exact leave-one-out of each setting. Rows in groups are judged by folds
    of whole groups, from the rows kept of others.
    """
    for block in blocks:
        prior.check_columns(block.rows.shape[1])
    along = len(blocks) == 1 and blocks[0].family.structure is Full and prior.scale is None
    if not blocks:
        return None
    if judges.group is not None:
        found = _by_groups(prior, blocks, judges, told, along)
    elif along:
        block = blocks[0]
        found = _along_the_path(prior, replace(judges, rows=block.rows), block.stats, block.family.shared)
    else:
        found = _one_by_one(prior, blocks, judges, told)
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


def _strength_note(prior: NormalInverseWishart, judged: bool) -> Note:
    """Return the note that says what was chosen, or that nothing could be."""
    counts = "by which all classes share one covariance" if np.isinf(prior.strength) else f"of {prior.strength:g} rows"
    what = (
        f"{'chose' if judged else 'took'} a prior {counts}, {1.0 - float(prior.pooled):.3g} of it without correlations"
    )
    why = "too few complete rows are kept to choose by, or there are more columns than rows"
    if judged:
        why = "of the priors that leave-one-out cannot tell from the best, this is the strongest"
    return Note(what, why, kind=Kind.CHOSEN if judged else Kind.UNCERTAIN)


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
    center, total = overall(stats)
    within = stats.scatter.diagonal(len(stats.weight)).sum(axis=0) / stats.weight.sum()
    used = np.flatnonzero((within > 1e-9 * total) & (total > (1e-12 * np.abs(center)) ** 2))
    scale = np.sqrt((within if target == "within" else total)[used])
    return used, scale, WishartClasses(stats.in_units(used, center[used], scale))


def _one_by_one(prior: NormalInverseWishart, blocks: Sequence[Judged], judges: Judges, told: Settings) -> Tried | None:
    """Return the same by the exact leave-one-out of every setting."""
    codes, weight = judges.codes, judges.weight
    moments = [_plain(block.stats) for block in blocks]
    judged = [(block, own) for block, own in zip(blocks, moments, strict=True) if own is not None]
    if len(judged) < len(blocks):
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
    return Tried(losses, judges.counts_for[chosen][known])


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
