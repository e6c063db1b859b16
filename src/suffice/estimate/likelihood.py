"""Maximum-likelihood Gaussians, regularised where singular.

A class whose rows do not vary (one row, say) takes the pooled covariance; a column that is constant within a
class gets FLOOR of its pooled variance; a column that never varies has no density. A singular covariance gets the least
shrinkage of its correlations that serves, see `densities.covariance`. Every repair is a `Note`, and a repaired Gaussian
has no divisor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .._arrays import Array, Codes, Flags, np, single_blas_thread
from ..densities import Covariance, Diagonal, Full, Gaussian, LowRank, Spherical
from ..densities.covariance import (
    FLOOR,
    ROUNDING,
    SMALLEST,
    USABLE,
    correlations,
    least_amount,
    rank_and_columns,
    shrink,
)
from ..em.cells import climb_notes, complete
from ..errors import DataError, SettingError, SingularCovarianceError, either, quoted, setting
from ..notes import Kind, Note
from ..schema import Level, Name
from ..stats import CompletedStats, GaussianStats, LowRankScatter, PatternStats
from ..stats.pooling import Pool, divisors, mixed_divisors, overall_mean, pooled_variance, total_variance
from .priors import Shrinkage, WholeRows, ledoit_wolf_amount, oas_amount

MEAN, SPREAD = "took the mean of all classes", "took the spread of all classes"
NO_VALUE, ONE_VALUE = "no value in the class", "at most one value in the class"
TOO_SMALL = "its numbers are below 1e-150, so that their squares vanish; express them in smaller units"
NO_SPREAD = "the column never varies, so it has no density"


@dataclass(slots=True)
class GaussianEstimate:
    """One pass from Gaussian statistics to a density; `notes` records every repair on the way."""

    stats: GaussianStats | PatternStats | CompletedStats
    structure: type[Covariance]
    shared: bool
    divisor: str
    shrinkage: Shrinkage
    classes: Sequence[Level]
    columns: Sequence[Name]
    notes: list[Note] = field(default_factory=list)
    leaves_tiny: bool = False
    kept: WholeRows | None = None
    _whole: GaussianStats | None = None
    _row_weight: Array = field(default_factory=lambda: np.zeros(0))
    _divisor: Array | None = None  # of the sums that the covariances are made of
    _repaired: bool = False  # whether they are anything else than such sums divided

    def run(self) -> Gaussian:
        """Return the estimated density; SingularCovarianceError where shrinkage=0.0 forbids a repair."""
        stats = self.stats
        if self.shrinkage.rule == "ledoit-wolf" and self.structure is Full:
            self._check_rows(stats)
        if isinstance(stats, CompletedStats):
            self._note_sweeps(stats)
            stats, self._repaired = stats.complete, True
        if isinstance(stats, PatternStats):
            self._note_unseen(stats)
            self._repaired |= bool(stats.incomplete)
            stats = complete(stats, report=self._note_climb, classes=self.classes)
        self._whole, weight = stats, stats.column_weight()
        self._repaired |= self.shrinkage.pooling > 0 and len(weight) > 1
        means = fill_means(stats.mean, weight)
        self._row_weight = weight.max(axis=1)
        within, reference, used = self._scales(stats, weight)
        keep = np.flatnonzero(used)
        names = [self.columns[int(j)] for j in keep]
        within, reference = within[:, keep], reference[keep]
        covariance: Covariance
        if not len(keep):
            covariance = Spherical.of(np.ones(1), 0)
        elif self.structure is Full:
            covariance = self._full(stats, within, reference, keep, names)
        elif self.structure is Diagonal:
            variance, _ = self._variances(within, reference, self._rows_of(weight[:, keep]), names)
            covariance = Diagonal(self._toward_sphere(variance))
            self._divisor = self._column_divisors(weight)[:, keep]
        else:
            covariance = self._spherical(stats, weight[:, keep], reference, keep)
        divisor = None if self._repaired else self._divisor
        return Gaussian(means, covariance, tuple(int(j) for j in keep), divisor=divisor)

    def _check_rows(self, stats: GaussianStats | PatternStats | CompletedStats) -> None:
        """Raise an error where there are no rows, or no complete ones, to find a Ledoit-Wolf amount from."""
        if not isinstance(stats, GaussianStats) and (isinstance(stats, CompletedStats) or stats.incomplete):
            raise DataError.not_whole()
        if self.kept is None and stats.column_weight().any():
            raise SettingError(
                f"{setting('shrinkage', 'ledoit-wolf')} is computed from rows that are kept, and these "
                f"statistics hold none. Next: fit again with {setting('keep_rows', 2000)}, or use "
                f"{setting('shrinkage', 'oas')}, which needs none."
            )

    def _note_sweeps(self, stats: CompletedStats) -> None:
        """Record how missing cells were filled in by passes over the rows."""
        self._note_unseen(stats)
        why = f"rows miss cells in too many ways to keep sums for each; {stats.steps} passes were made"
        self.notes.append(Note("filled missing cells by passes over the rows", why, kind=Kind.FILLED))
        for note in climb_notes(stats.steps, stats.moved, stats.secured > 0, self.classes):
            self._note_climb(note)

    def _note_climb(self, note: Note) -> None:
        """Record what EM reports; SingularCovarianceError where it repaired what may not be repaired."""
        if note.kind is Kind.SECURED and self.shrinkage.forbidden:
            raise SingularCovarianceError.while_filling(note.label)
        self.notes.append(note)

    def _note_unseen(self, stats: PatternStats | CompletedStats) -> None:
        """Record what EM cannot learn of a class from its own cells, see `complete`."""
        if isinstance(stats, PatternStats) and not stats.incomplete:
            return
        for i, row in enumerate(stats.column_weight()):
            if (row > 0).any():
                self._note_borrowed(MEAN, NO_VALUE, self.classes[i], pick(self.columns, row == 0))
                if not self.shared:
                    self._note_borrowed(SPREAD, ONE_VALUE, self.classes[i], pick(self.columns, row <= 1))

    def _note_borrowed(self, what: str, why: str, label: Level | None, columns: tuple[Name, ...]) -> None:
        """Record columns of a class, if there are any, whose mean or spread is that of all classes."""
        if columns:
            self.notes.append(Note(what, why, label, columns, kind=Kind.BORROWED))

    def _divide(self, weight: Array, classes: int | Array = 1) -> Array:
        """Return what a sum of squares is divided by: n, or n − 1 (n − K when pooled) where that is positive."""
        return divisors(weight, classes, self.divisor)

    def _divisors(self, weight: Array) -> Array:
        """Return the divisor of each class's own, partly pooled, sum of squares; `weight` is (k,) or (k, d)."""
        pool = Pool(weight.sum(axis=0), (weight > 0).sum(axis=0), self.shrinkage.pooling)
        return mixed_divisors(weight, pool, self.divisor)

    def _column_divisors(self, weight: Array) -> Array:
        """Return the divisors (g, d) of the sums of squares of each column, `weight` (k, d)."""
        if not self.shared:
            return self._divisors(weight)
        return self._divide(weight.sum(axis=0), (weight > 0).sum(axis=0))[None]

    def _mixed(self, sums: Array) -> Array:
        """Return each class's sums (k, …) with its share of the pooled ones."""
        share = self.shrinkage.pooling
        return sums if share == 0.0 else (1.0 - share) * sums + share * sums.sum(axis=0)

    def _toward_sphere(self, variance: Array) -> Array:
        """Return variances (g, d) drawn to their mean, where the target is a sphere."""
        amount = self.shrinkage.amount
        if not self.shrinkage.spherical_target or not amount:
            return variance
        self._repaired |= variance.shape[1] > 1
        return np.asarray((1.0 - amount) * variance + amount * variance.mean(axis=1, keepdims=True))

    def _scales(self, stats: GaussianStats, weight: Array) -> tuple[Array, Array, Array]:
        """Return class variances (k or 1, d), the reference variance (d,), and which columns vary at all (d,)."""
        squares = stats.scatter.diagonal(len(weight))
        pooled = pooled_variance(squares, self._divide(weight.sum(axis=0), (weight > 0).sum(axis=0)))
        total = total_variance(stats.mean, weight, squares)
        rounding = (ROUNDING * np.abs(stats.mean).max(axis=0, initial=0.0)) ** 2
        used = total > rounding
        largest = np.abs(stats.mean).max(axis=0, initial=0.0)
        seen = (largest > 0) | (total > 0)
        vanishing = seen & (total < SMALLEST) & (largest < 1e-140)
        if vanishing.any() and not self.leaves_tiny:
            raise DataError(
                f"The numbers in {quoted(pick(self.columns, vanishing))} are below 1e-150, so that their squares "
                "vanish. Next: express them in smaller units."
            )
        used &= ~vanishing
        if not used.all():
            self._refuse_singular(None, pick(self.columns, ~used), int(used.sum()), len(used))
            for why, own in ((NO_SPREAD, ~used & ~vanishing), (TOO_SMALL, vanishing)):
                if own.any():
                    self.notes.append(Note("left out", why, columns=pick(self.columns, own), kind=Kind.LEFT_OUT))
        reference = np.where(pooled <= rounding, total, pooled)
        within = pooled[None].copy() if self.shared else self._mixed(squares) / self._divisors(weight)
        within[within <= rounding] = 0.0
        return within, reference, used

    def _variances(self, within: Array, reference: Array, weight: Array, names: Sequence[Name]) -> tuple[Array, Flags]:
        """Return variances (g, d), those that vanish within a class mended, and which were borrowed (g, d).

        A column seen once in a class says nothing of its spread there and takes the reference variance; one seen
        more often that never varied there takes FLOOR × the reference. `weight` is (g, d).
        """
        flat = np.asarray(within < FLOOR * reference)
        self._repaired |= bool(flat.any())
        once = flat & (weight <= 1.0)
        for i in np.flatnonzero(flat.any(axis=1)):
            label = None if self.shared else self.classes[int(i)]
            lone, same = (pick(names, row) for row in (once[i], flat[i] & ~once[i]))
            self._refuse_singular(label, (*lone, *same), int((~flat[i]).sum()), len(names))
            self._note_borrowed(SPREAD, ONE_VALUE, label, lone)
            if same:
                self._note_raised(label, same)
        return np.where(once, reference, np.where(flat, FLOOR * reference, within)), once

    def _note_raised(self, label: Level | None, columns: tuple[Name, ...]) -> None:
        why = "no variation within the class; the amount is relative to the variance in all classes"
        self.notes.append(Note("raised the variance", why, label, columns, FLOOR, kind=Kind.FLOORED))

    def _rows_of(self, weight: Array) -> Array:
        """Return the weight behind each covariance: by class, or of all classes when shared."""
        return weight.sum(axis=0, keepdims=True) if self.shared else weight

    def _refuse_singular(self, label: Level | None, columns: Sequence[Name], rank: int, need: int) -> None:
        if self.shrinkage.forbidden:
            raise SingularCovarianceError.for_class(label, columns, rank, need)

    def _spherical(self, stats: GaussianStats, weight: Array, reference: Array, keep: Codes) -> Spherical:
        squares = stats.scatter.diagonal(len(weight))[:, keep].sum(axis=1)
        cells, means = weight.sum(axis=1), (weight > 0).sum(axis=1)
        if self.shared:
            squares, self._divisor = squares.sum(keepdims=True), self._divide(cells.sum(keepdims=True), means.sum())
        else:
            pool = Pool(cells.sum(), means.sum(), self.shrinkage.pooling)
            squares, self._divisor = self._mixed(squares), mixed_divisors(cells, pool, self.divisor, means)
        variance = squares / self._divisor
        rows = self._rows_of(cells[:, None] / len(keep))
        fixed, _ = self._variances(variance[:, None], reference.mean(keepdims=True), rows, ["all columns"])
        return Spherical.of(fixed[:, 0], len(keep))

    def _full(
        self, stats: GaussianStats, within: Array, reference: Array, keep: Codes, names: Sequence[Name]
    ) -> Full | LowRank:
        weight = stats.weight
        rows = np.broadcast_to(self._rows_of(weight[:, None]), within.shape)
        variance, once = self._variances(within, reference, rows, names)
        borrowed = np.asarray(once.all(axis=1)) & (not self.shared)
        pool = float(self._divide(weight.sum(keepdims=True), int((weight > 0).sum()))[0])
        divisors = np.full(len(variance), pool) if self.shared else np.where(borrowed, pool, self._divisors(weight))
        self._divisor = divisors
        if isinstance(stats.scatter, LowRankScatter):
            self._repaired = True
            return self._low_rank(stats.scatter, variance, borrowed, divisors, keep, names)
        scatter, share = stats.scatter.values, self.shrinkage.pooling
        if self.shrinkage.setting is None and not borrowed.any():
            plain = self._plain(scatter[None] if self.shared else scatter, divisors, variance, keep)
            if plain is not None:
                return plain
        everything = scatter.sum(axis=0) if not self.shared and (share > 0 or borrowed.any()) else scatter
        fixed = np.empty((len(variance), len(keep), len(keep)))
        with single_blas_thread():  # matrices of this size are slower on several threads
            for i, row in enumerate(variance):
                own = everything if self.shared or borrowed[i] else scatter[i]
                if share > 0:
                    own = (1.0 - share) * own + share * everything
                alike = range(len(weight)) if self.shared or borrowed[i] else [i]
                covariance = np.divide(part_of(own, keep), divisors[i], out=fixed[i])
                self._make_usable(alike, covariance, row, keep, names)
        return Full.factor(fixed)

    @staticmethod
    def _plain(scatter: Array, divisors: Array, variance: Array, keep: Codes) -> Full | None:
        """Return the covariances as they are if their factors show them usable, as is common; None to look closer."""
        chosen = scatter if len(keep) == scatter.shape[1] else scatter[:, keep][:, :, keep]
        if (np.diagonal(chosen, axis1=1, axis2=2) / divisors[:, None] != variance).any():
            return None
        try:
            model = Full.factor(chosen, divisors)
        except np.linalg.LinAlgError:
            return None
        return model if (model.trace <= 1.0 / USABLE).all() else None

    def _make_usable(
        self, alike: Sequence[int], covariance: Array, variance: Array, keep: Codes, names: Sequence[Name]
    ) -> None:
        """Shrink the covariance of the classes `alike`, in its place, as asked or by the least that makes it usable."""
        rounding = np.diagonal(covariance) > 2.0 * variance  # which was taken for that: so is what goes with it
        covariance[rounding] = covariance[:, rounding] = 0.0
        correlation = correlations(covariance, variance)
        label = self.classes[alike[0]] if not self.shared else None
        amount = self.shrinkage.amount
        if self.shrinkage.rule:
            amount = self._rule_amount(alike, label, float(np.vdot(correlation, correlation)), keep)
            amount = max(amount, least_amount(correlation)) if amount < USABLE else amount
        elif self.shrinkage.spherical_target:
            share = amount or 0.0
            shrink(covariance, (1.0 - share) * variance + share * variance.mean(), share, out=covariance)
            self._repaired |= bool(amount) and len(names) > 1
            variance = np.diagonal(covariance).copy()
            correlation, amount = correlations(covariance, variance), None
        if amount is None:
            amount = least_amount(correlation)
            if amount > 0:
                self._note_shrunk(label, amount, *rank_and_columns(correlation), names)
        elif self.shrinkage.forbidden:
            rank, involved = rank_and_columns(correlation)
            if rank < len(names):
                raise SingularCovarianceError.for_class(label, [names[j] for j in involved], rank, len(names))
        self._repaired |= amount > 0 and len(names) > 1
        shrink(covariance, variance, amount, out=covariance)

    def _rule_amount(self, alike: Sequence[int], label: Level | None, squares: float, keep: Codes) -> float:
        """Return the amount a rule finds for the classes `alike`, noting it; `squares` is Σ R² of the correlations."""
        weight, d = float(sum(self._row_weight[i] for i in alike)), len(keep)
        if weight == 0:
            return 1.0
        if self.shrinkage.rule == "oas":
            amount = oas_amount(d, squares, weight)
        else:
            stats = self._whole
            assert self.kept is not None
            assert stats is not None
            by_class = stats.scatter.diagonal(len(self._row_weight))
            own = by_class[list(alike)].sum(axis=0) if len(alike) == 1 else by_class.sum(axis=0)
            scale = np.full(stats.mean.shape[1], np.inf)
            scale[keep] = np.where(own[keep] > 0, np.sqrt(own[keep] / weight), np.inf)
            norm = self.kept.mean_norm(stats.mean, scale, alike, self._row_weight)
            amount = ledoit_wolf_amount(d, squares, weight, norm)
        why = f"by the amount that {self.shrinkage.rule} estimates"
        if self.kept is not None and not self.kept.are_all(self._row_weight):
            how_many = either("keep_rows", "--keep-rows")
            why += f" from the {len(self.kept.codes):,} rows kept; {how_many} says how many"
        self.notes.append(Note("shrunk the correlations", why, label, (), amount, kind=Kind.SHRUNK))
        return amount

    def _note_shrunk(
        self, label: Level | None, amount: float, rank: int, involved: Sequence[int], names: Sequence[Name]
    ) -> None:
        columns = tuple(names[j] for j in involved) if len(involved) < len(names) else ()
        which = "these columns" if columns else "columns"
        why = f"{which} follow from each other, or nearly so; the correlations have rank {rank} of {len(names)}"
        self.notes.append(Note("shrunk the correlations", why, label, columns, amount, kind=Kind.SHRUNK))

    def _low_rank(
        self,
        scatter: LowRankScatter,
        variance: Array,
        borrowed: Flags,
        divisors: Array,
        keep: Codes,
        names: Sequence[Name],
    ) -> LowRank:
        """Return covariances of a table wider than long, from its rows; they are singular before any shrinkage."""
        if self.shrinkage.spherical_target:
            raise SettingError(
                'RDA(target="identity") is not offered for tables with more columns than rows. Next: target="diagonal".'
            )
        everyone = np.full(len(variance), True) if self.shared else borrowed
        rows, amounts = [], []
        for i, row in enumerate(variance):
            factor = np.where(everyone[i] | (scatter.owner == i), 1.0, np.sqrt(self.shrinkage.pooling))
            chosen = factor > 0
            z = factor[chosen, None] * scatter.values[chosen][:, keep] / np.sqrt(row * divisors[i])
            rows.append(z)
            amounts.append(self._thin_amount(i, z, row, bool(everyone[i]), keep))
        model = LowRank.factor(rows, np.sqrt(variance), np.asarray(amounts))
        for i, values in enumerate(model.values):
            label = None if self.shared else self.classes[i]
            self._refuse_singular(label, names, len(values), len(names))
            if self.shrinkage.amount is None and self.shrinkage.rule is None:
                self._note_shrunk(label, amounts[i], len(values), (), names)
        return model

    def _thin_amount(self, i: int, z: Array, variance: Array, everyone: bool, keep: Codes) -> float:
        """Return how much to shrink the correlations zᵀz, which are singular."""
        if self.shrinkage.rule is None:
            amount = self.shrinkage.amount
            return USABLE if amount is None or (amount == 0.0 and not self.shrinkage.forbidden) else amount
        alike = range(len(self._row_weight)) if everyone else [i]
        label = None if self.shared else self.classes[i]
        squares = float(((z @ z.T) ** 2).sum())
        return max(self._rule_amount(alike, label, squares, keep), USABLE)


def pick(names: Sequence[Name], chosen: Flags) -> tuple[Name, ...]:
    """Return the names of the columns chosen (d,)."""
    return tuple(names[int(j)] for j in np.flatnonzero(chosen))


def part_of(matrix: Array, keep: Codes) -> Array:
    """Return the rows and columns of a matrix that are kept; the matrix itself where all are."""
    return matrix if len(keep) == len(matrix) else matrix[np.ix_(keep, keep)]


def fill_means(mean: Array, weight: Array) -> Array:
    """Return class means, with the mean of all classes where a class has no observed cell."""
    return np.where(weight > 0, mean, overall_mean(mean, weight))
