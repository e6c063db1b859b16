"""The Gaussian joint density of the automatic classifier, its shrinkage chosen by leave-one-out log density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from .._arrays import Array, Codes, np, single_blas_thread
from ..densities import Draw, Full, Gaussian, MultivariateT, Spherical
from ..em.filling import augmented, can_augment, fill
from ..em.step import nearest_spd
from ..estimate import FAMILIES, Family, Settings
from ..estimate.families import GaussianFamily
from ..estimate.predictive import complete_under, draw
from ..estimate.priors import NormalInverseWishart
from ..forest import levels_within
from ..leave_one_out.wishart import LeftOut, WishartClasses
from ..notes import Kind, Note
from ..stats import CategoricalStats, FullScatter, GaussianStats, PatternStats
from ..stats.counts import CodedColumns
from ..stats.pooling import overall
from ..stats.rows import class_order, content, take_rows
from ..table import Table
from .columns import RAW, FrozenColumns, varying
from .completion import STEPS, complete_rows, complete_tied
from .members.gaussian import GaussianPart
from .statistics import MemberRows, MemberStats

MOST_ROWS = 1000  # that judge
FOLDS, JUDGING = 4, 2  # of them, where cells are missing, and how many of these judge, as each is completed anew
MOST_HOLED, LEAST_ROWS = 300, 80  # that do then, as each takes factors of its own
MOST_WORK = 10_000_000  # their number × d³
MOST_UNLABELLED = 2000  # that are kept: more say little more, and each is read by every step of EM
NEGLIGIBLE = 1e-6  # of a row in a class
ENOUGH = 2  # rows for each column, from which on covariances are drawn without a sphere


@dataclass(frozen=True, slots=True)
class ShrunkGaussianFamily(Family):
    """Joint Gaussians with Σ_k = (a B + S_k) / (a + n_k): `strength` a, and the share `sphere` of B; see `wishart`."""

    strength: float
    sphere: float
    name: ClassVar[str] = "gaussian"
    support: ClassVar[str] = "reals"

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return FAMILIES["gaussian"].encode(table, positions)  # type: ignore[no-any-return]

    def recode(self, rows: Array, stats: object) -> Array:
        return rows

    def zero(self, k: int, columns: int) -> PatternStats:
        return PatternStats.zero(k, columns)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Any:
        return PatternStats.summarize(rows, codes, k, weight, FullScatter)

    def estimate(self, stats: PatternStats, settings: Settings) -> tuple[Gaussian, list[Note]]:
        """Return the density; the units of the columns are those in which each has total variance 1."""
        done = complete_tied(stats)
        if stats.incomplete and np.isfinite(self.strength):
            used, scale, member = _standardised(done)
            done = _complete_by_class(stats, done, member, (self.strength, self.sphere), used, scale)
        used, scale, member = _standardised(done)
        if not len(used):
            return Gaussian(done.mean, Spherical.of(np.ones(1), 0), ()), []
        covariance = member.posterior_mean(self.strength, self.sphere) * scale[:, None] * scale
        return Gaussian(done.mean, Full.factor(covariance), tuple(used.tolist())), []

    def posterior(self, stats: PatternStats, settings: Settings) -> Draw | None:
        """Return what draws means and covariances from their posterior under a prior of this strength.

        Of more rows than twice the columns no share of the prior is a sphere. Its pull makes rows likelier and
        regressions smaller: slopes of 40 rows came out at .8 of what they were, and their intervals covered .86.
        """
        done = complete_tied(stats)
        if not len(_standardised(done)[0]):
            return None
        return (
            augmented(stats, done, self._complete_posterior) if can_augment(stats) else self._complete_posterior(done)
        )

    def _complete_posterior(self, stats: GaussianStats) -> Draw:
        used, scale, member = _standardised(stats)
        try:
            one = member.density(self.strength, 0.0 if member.freedom > ENOUGH * len(used) else self.sphere)
        except np.linalg.LinAlgError:  # columns follow from others, or vary within a class by rounding alone
            scatter = FullScatter(nearest_spd(member.stats.scatter.values)[0])
            one = WishartClasses(replace(member.stats, scatter=scatter)).density(self.strength, self.sphere)
        covariance = Full.factor(one.scale.dense() * scale[:, None] * scale)
        told = MultivariateT(stats.mean, covariance, tuple(used.tolist()), one.df, one.inflation)
        weight = np.broadcast_to(1.0 / (one.inflation[:, None] - 1.0), stats.mean.shape)  # half a row at least
        return partial(draw, told, weight, NormalInverseWishart(), np.isinf(self.strength))


def _standardised(stats: GaussianStats) -> tuple[Codes, Array, WishartClasses]:
    """Return the columns that vary, their standard deviations over all rows, and the classes in these units."""
    center, total = overall(stats)
    used = varying(center, total)
    scale = np.sqrt(total[used])
    return used, scale, WishartClasses(stats.in_units(used, center[used], scale))


def _complete_by_class(
    stats: PatternStats,
    first: GaussianStats,
    member: WishartClasses,
    setting: tuple[float, float],
    used: Codes,
    scale: Array,
) -> GaussianStats:
    """Return statistics completed by EM in which every class has its own covariance, (a B + S_k) / (a + n_k).

    `first` are those that one covariance for all classes completes, `member` the same in units of `scale` (p,) of the
    columns `used`, from which B comes; `setting` is (a, γ). An E step under one covariance for all would make the
    correlations of every class alike by as much as cells are missing.
    """
    base = np.zeros((stats.d, stats.d))
    base[np.ix_(used, used)] = member.posterior_mean(np.inf, setting[1])[0] * scale[:, None] * scale
    return complete_under(stats, first, base, setting[0], most_steps=STEPS)


def choose_joint(
    members: MemberStats,
    rows: MemberRows,
    removed: Array,
    setting: tuple[float, float] | None = None,
    place: Codes | None = None,
) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
    """Return the setting of largest left-out log density of the numbers, and their statistics in their own units.

    The `rows` are judged under their own class, by the cells they have, each left out with the weight `removed` (n,)
    of one copy of it in the statistics. Where cells are missing, they
    are judged by folds instead, for a row that has completed statistics is not taken out of them again; and classes
    are completed for themselves with the setting found. Rows of groups are judged by folds, too: `place` (n,). None
    where no number varies, or where columns are so many that the members see principal directions only. A `setting`
    (strength, sphere) is taken as it is.
    """
    columns = members.columns
    d = len(columns.scores)
    used = columns.used.get(RAW, np.zeros(0, dtype=np.int64))
    own = np.flatnonzero(used < d)
    numbers = used[own]
    if not len(numbers) or RAW in columns.basis:
        return None
    stats, first = members.gaussian[RAW], members.part(GaussianPart).completed(RAW)
    whole = WishartClasses(first)
    best = setting
    if best is None:
        cells = ((rows.rows.numbers - columns.center[RAW][:d]) / columns.scale[RAW][:d])[:, numbers]
        with single_blas_thread():
            judged = cells, rows.codes, rows.weight, removed
            best = _choose(whole.restricted(own), *judged, place, folded=bool(stats.incomplete))
    done = first
    if stats.incomplete and np.isfinite(best[0]):
        done = _complete_by_class(stats, first, whole, best, np.arange(stats.d), np.ones(stats.d))
    member = WishartClasses(done, whole.tau).restricted(own)
    return ShrunkGaussianFamily(*best), joint_statistics(columns, member.stats, numbers)


def joint_statistics(columns: FrozenColumns, stats: GaussianStats, numbers: Codes) -> PatternStats:
    """Return the statistics of these number columns in their own units from those in units of total variance 1."""
    d, k = len(columns.scores), len(stats.weight)
    scale, center = columns.scale[RAW][:d], columns.center[RAW][:d]
    means, scatter = np.tile(center, (k, 1)), np.zeros((k, d, d))
    means[:, numbers] += stats.mean * scale[numbers]
    within = stats.scatter.values * scale[numbers][:, None] * scale[numbers]
    scatter[np.ix_(np.arange(k), numbers, numbers)] = within
    return PatternStats(GaussianStats(stats.weight, means, FullScatter(scatter), FullScatter), {})


def _choose(
    member: WishartClasses, cells: Array, codes: Codes, weight: Array, removed: Array, place: Codes | None, folded: bool
) -> tuple[float, float]:
    """Return the (strength, sphere) under which rows are most likely, each without itself, or its fold `place` (n,).

    `folded` asks for folds where there is no `place`. Cells are NaN where they are missing.
    """
    some = np.flatnonzero(weight > 0)
    some = some[class_order(content([cells[some]], len(some)), codes[some])]  # neither units nor names choose rows
    some = some[:: max(1, -(-len(some) // MOST_ROWS))]
    cells, codes, weight, removed = cells[some], codes[some], weight[some], removed[some]
    total: dict[tuple[float, float], float] = {}
    if place is None and not folded:
        for sphere, strength, scores in member.own_path(LeftOut(cells, codes, removed, weight)):
            total[sphere, strength] = float(weight @ scores)
    else:
        fold, k = (np.arange(len(some)) if place is None else place[some]) % FOLDS, len(member.stats.weight)
        for f in range(JUDGING):
            own, others = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
            if len(own) and not np.isnan(cells[others]).all(axis=0).any():
                rest = complete_rows(cells[others], weight[others], codes[others], k)
                _add_up(WishartClasses(rest, member.tau), cells[own], codes[own], weight[own], total)
    if not total:
        return np.inf, 1.0
    sphere, strength = max(total, key=lambda key: (total[key], key))
    return strength, sphere


def _add_up(
    member: WishartClasses, cells: Array, codes: Codes, weight: Array, total: dict[tuple[float, float], float]
) -> None:
    """Add to `total` the log density of new rows by (sphere, strength), of some where they need many factors."""
    counts = (~np.isnan(cells)).sum(axis=1)
    most = int(np.clip(MOST_WORK // cells.shape[1] ** 3, LEAST_ROWS, MOST_HOLED)) // FOLDS
    every = np.flatnonzero(counts > 0)
    every = every[:: max(1, -(-len(every) // most))]
    for number in np.unique(counts[every]):
        alike = every[counts[every] == number]
        columns = np.argsort(np.isnan(cells[alike]), axis=1, kind="stable")[:, :number]
        new = LeftOut(
            np.take_along_axis(cells[alike], columns, axis=1), codes[alike], np.zeros(len(alike)), weight[alike]
        )
        for sphere, strength, scores in member.own_left_out(new, columns):
            total[sphere, strength] = total.get((sphere, strength), 0.0) + float(new.weight @ scores)


def joint_note(family: ShrunkGaussianFamily) -> Note:
    """Return what is to be said of the joint model."""
    shared = (
        "all classes share one covariance"
        if np.isinf(family.strength)
        else f"the shared covariance counts as {family.strength:g} rows of each class"
    )
    what = f"joint model: {shared}, {family.sphere:g} of it equal variances without correlations"
    return Note(what, "chosen by leave-one-out likelihood", kind=Kind.CHOSEN)


def joined_block(family: Family, stats: Any, rows: Any, share: Array) -> Any:
    """Return the statistics of a block with rows (m,) that count for `share` (m, k) in each class.

    It is one step of EM. Cells that miss in the numbers are what the density of the labelled rows expects of them, with
    the variance that this leaves open.
    """
    row, codes = np.nonzero(share > NEGLIGIBLE)
    weight, k = share[row, codes], share.shape[1]
    if isinstance(stats, CategoricalStats):  # levels that no labelled row has stay unknown, as they are to the members
        known = [
            np.where(own < len(words), own, -1)
            for own, words in zip(levels_within(rows, stats.levels), stats.levels, strict=True)
        ]
        rows = CodedColumns(tuple(stats.levels), tuple(known))
    if isinstance(family, ShrunkGaussianFamily) and np.isnan(rows).any():
        density = family.estimate(stats, Settings())[0]
        return stats.merge(PatternStats(fill(rows[row], codes, k, weight, density, FullScatter), {}))
    if isinstance(family, GaussianFamily):  # of very many columns, each by itself
        return stats.merge(family.summarize(rows[row], codes, k, weight))
    return stats.merge(family.summarize(take_rows(rows, row), codes, k, weight))
