"""One joint density for the automatic classifier, shrunk as much as the leave-one-out log density asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .._arrays import Array, Codes, np, single_blas_thread
from ..densities import Full, Gaussian, Spherical
from ..estimate import FAMILIES, Note, Settings
from ..stats import FullScatter, GaussianStats, PatternStats
from ..table import Table
from .columns import FLAT, RAW, FrozenColumns
from .members.completion import complete_tied, fill_blindly
from .members.wishart import LeftOut, WishartMember
from .pieces import MemberRows, MemberStats

MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class ShrunkGaussianFamily:
    """Joint Gaussians with Σ_k = (a B + S_k) / (a + n_k): `strength` a, and the share `sphere` of B; see `wishart`."""

    strength: float
    sphere: float
    name: ClassVar[str] = "gaussian"
    support: ClassVar[str] = "reals"

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        """Return the block's rows (n, d)."""
        return FAMILIES["gaussian"].encode(table, positions)  # type: ignore[no-any-return]

    def recode(self, rows: Array, stats: Any) -> Array:
        """Return the rows as they are."""
        return rows

    def zero(self, k: int, columns: int) -> PatternStats:
        """Return the statistics of no rows."""
        return PatternStats.zero(k, columns)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Any:
        """Return the statistics of a batch."""
        return PatternStats.summarize(rows, codes, k, weight, FullScatter)

    def estimate(self, stats: PatternStats, settings: Settings) -> tuple[Gaussian, list[Note]]:
        """Return the density; the units of the columns are those in which each has total variance 1."""
        done = complete_tied(stats)
        share = done.weight / done.weight.sum()
        center = share @ done.mean
        apart = done.mean - center
        total = np.einsum("kdd->d", done.scatter.values) / done.weight.sum() + share @ apart**2
        used = np.flatnonzero((total > (FLAT * center) ** 2) & (total > 1e-300))
        if not len(used):
            return Gaussian(done.mean, Spherical(np.ones(1), 0), ()), []
        scale = np.sqrt(total[used])
        scatter = FullScatter(done.scatter.values[:, used][:, :, used] / scale[:, None] / scale)
        member = WishartMember(GaussianStats(done.weight, apart[:, used] / scale, scatter, FullScatter))
        covariance = member.posterior_mean(self.strength, self.sphere) * scale[:, None] * scale
        return Gaussian(done.mean, Full.factor(covariance), tuple(used.tolist())), []


def choose_joint(pieces: MemberStats, rows: MemberRows) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
    """Return the setting of largest held-out log density of the numbers, and their statistics in their own units.

    The `rows` are judged under their own class, each left out. None where no number varies, or where columns are so
    many that the members see principal directions only.
    """
    columns = pieces.columns
    d = len(columns.scores)
    used = columns.used.get(RAW, np.zeros(0, dtype=np.int64))
    numbers = used[used < d]
    if not len(numbers) or RAW in columns.basis:
        return None
    member = WishartMember(complete_tied(pieces.gaussian[RAW])).restricted(np.flatnonzero(used < d))
    scale, center = columns.scale[RAW][:d], columns.center[RAW][:d]
    some = np.arange(len(rows.codes))[:: max(1, -(-len(rows.codes) // MOST_ROWS))]
    cells = fill_blindly(((rows.rows.numbers[some] - center) / scale)[:, numbers], member.stats)
    left = LeftOut(cells, rows.codes[some], np.minimum(rows.weight[some], 1.0), rows.weight[some])
    best = (-np.inf, 1.0, np.inf)
    with single_blas_thread():
        for sphere, strength, scores in member.path(left, balanced=False):
            own = scores[np.arange(len(some)), left.codes]
            best = max(best, (float(left.weight @ own), sphere, strength))
    return ShrunkGaussianFamily(best[2], best[1]), joint_statistics(columns, member.stats, numbers)


def joint_statistics(columns: FrozenColumns, stats: GaussianStats, numbers: Codes) -> PatternStats:
    """Return the statistics of these number columns in their own units from those in units of total variance 1."""
    d, k = len(columns.scores), len(stats.weight)
    scale, center = columns.scale[RAW][:d], columns.center[RAW][:d]
    means, scatter = np.tile(center, (k, 1)), np.zeros((k, d, d))
    means[:, numbers] += stats.mean * scale[numbers]
    within = stats.scatter.values * scale[numbers][:, None] * scale[numbers]
    scatter[np.ix_(np.arange(k), numbers, numbers)] = within
    return PatternStats(GaussianStats(stats.weight, means, FullScatter(scatter), FullScatter), {})


def joint_note(family: ShrunkGaussianFamily) -> Note:
    """Return what is to be said of the joint model."""
    towards = (
        "is the shared one" if np.isinf(family.strength) else f"leans on the shared one by {family.strength:g} rows"
    )
    what = f"joint model: each class's covariance {towards}, which is drawn to a sphere by {family.sphere:g}"
    return Note(what, "largest leave-one-out log density")
