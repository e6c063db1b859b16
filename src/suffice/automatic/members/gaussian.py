"""Gaussian classes under a normal-inverse-Wishart prior, on the columns as they are and as normal scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ..._arrays import Array, Codes, np, pattern_groups
from ..._derived import once
from ...attribution.explain import Explanation, explain_block
from ...densities import MultivariateT
from ...errors import DataError
from ...export.program import Term
from ...leave_one_out.by_columns import marginals, marginals_but_one
from ...leave_one_out.wishart import LeftOut, WishartClasses
from ...stats import GaussianStats, PatternStats
from ...stats.statistic import Fields, Plain, under
from ..columns import MOST_COLUMNS, BinnedRows, FrozenColumns
from ..completion import complete_tied, fill_blindly
from ..folds import FoldedAgain, summarize_block
from ..judge import HoldoutScorer
from ..knots import MOST_DIRECTIONS
from ..limits import step_of_rows
from ..member import Candidate, Chosen, Inputs, Member, Part, Setting, TrainingStats, gathered
from ..sample import Sample
from ..table_rows import Hidden

ENOUGH = 100  # complete rows to choose settings on
MOST_COMPARED, FEWEST_COMPARED = 1e9, 1000  # rows × classes × columns² to choose settings on, and rows in any case
LOOKED, LOOKED_SPHERES = 500, (1e-3, 0.1)  # rows and γ, at every a, which say whether it is hopeless
MOST_FACTORED = 1e10  # rows × classes × columns³: beyond, no row with missing cells takes factors of its own to leave
MANY = 16  # rows that miss the same cells, from which on they are left out by one diagonalisation
OWN, SHARED = "gaussian", "tied gaussian"


@dataclass(frozen=True)
class GaussianPart(Part):
    """Statistics of the Gaussian block by its version: the columns as they are, and as normal scores."""

    name: ClassVar[str] = "gaussian"

    @property
    def versions(self) -> Mapping[str, PatternStats]:
        """The statistics of each version."""
        return self.entries

    def of(self, version: str) -> PatternStats:
        """Return the statistics of a version; DataError where no column of it varies in these rows."""
        if found := self.versions.get(version):
            return found
        raise DataError("no number varies in the rows outside a fold")

    def completed(self, version: str) -> GaussianStats:
        """Return statistics of complete rows, missing cells expected from the others; made once."""
        return once(self, ("completed", version), lambda: complete_tied(self.of(version)))

    def classes(self, version: str) -> WishartClasses:
        """Return the classes by these statistics; made once."""
        return once(self, ("classes", version), lambda: WishartClasses(self.completed(version)))

    def again(self, version: str) -> FoldedAgain:
        """Return what scores rows by the statistics of other folds; made once."""
        return once(self, ("again", version), lambda: FoldedAgain(self.of(version), version))

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> GaussianPart:
        return cls({version: summarize_block(version, reading, codes, k, weight) for version in reading.columns.kinds})

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields of every version, its name before theirs."""
        fields, plain = Fields(), Plain()
        for version, stats in self.versions.items():
            own, plain[version] = stats.arrays()
            fields |= {f"{version}_{name}": values for name, values in own.items()}
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> GaussianPart:
        versions = {name: PatternStats.from_arrays(under(f"{name}_", fields), own) for name, own in plain.items()}
        right = set(versions) == set(columns.kinds) and all(own.k == k for own in versions.values())
        if not right or any(own.d != columns.width(version) for version, own in versions.items()):
            raise ValueError("statistics of the members")
        return cls(versions)


class BlockMember(Member):
    """A member with densities of one `version` of the Gaussian block, whose cells are those of `columns_read`."""

    version: str
    columns_read: FrozenColumns

    @property
    @abstractmethod
    def density(self) -> MultivariateT:
        """The predictive densities of new rows."""

    def reads(self, columns: Codes) -> bool:
        own = self.columns_read
        return bool(np.isin(own.owners[own.used[self.version]], columns).any())

    def cells(self, reading: BinnedRows) -> Array:
        """Return the rows as the density reads them."""
        return reading.gaussian(self.version)

    def scores(self, reading: BinnedRows) -> Array:
        return self.density.log_density(self.cells(reading))

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        yield inputs.normal(self.density, inputs.gaussian(self.version)), weight

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values of the marginal densities; those of directions are shared out among their columns."""
        columns = self.columns_read
        found = explain_block(self.density, reading.gaussian(self.version), orders, errors)
        if self.version in columns.basis:
            found = through(columns.basis[self.version], columns.cells(self.version, reading), found)
        return gathered(found, columns.owners[columns.used[self.version]], reading)


@dataclass(frozen=True)
class GaussianMember(BlockMember):
    """One setting of one version of the Gaussian block: `strength` a and `sphere` γ, see `leave_one_out.wishart`."""

    kinds: ClassVar[tuple[str, ...]] = (OWN, SHARED)
    statistic: ClassVar[type[Part]] = GaussianPart
    seconds: ClassVar[float] = 0.9
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float, "sphere": float}

    left_out_error: ClassVar[float] = 0.03  # τ, the variance of the sphere, stays when a row leaves
    left_out_fills: ClassVar[bool] = False  # cells were completed with the row

    name: str
    version: str
    columns_read: FrozenColumns
    prior: WishartClasses
    strength: float
    sphere: float

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every (a, γ) of every version; those of one shared covariance, a = ∞, are a member of their own too.

        Settings are compared on complete rows, or on all with missing cells filled; then these are integrated out.
        """
        stats = known.part(GaussianPart)
        for version in known.columns.kinds:
            prior = stats.classes(version)
            if cls.takes_long(known, len(sample)) and cls._is_hopeless(version, known, sample, judge):
                judge.hopeless.extend(f"{kind}, {version}" for kind in cls.kinds)
                continue
            index: Codes
            folds, again = None, None
            if cls._is_folded(version, known):
                again = stats.again(version)
                folds = again.folds(sample)
            if folds is not None and version not in known.columns.guess:
                every = np.arange(len(sample))[judge.thinned()[1]]
                index = every[:: _step(len(every), known.k, known.columns.width(version))]
                path, inner = folds.path(index), judge[index]
            else:
                left, index = _comparable(sample.rows.gaussian(version), prior, sample)
                path, inner = prior.path(left, rough=True), judge[index]
            for sphere, strength, scores in path:
                kinds = (OWN, SHARED) if np.isinf(strength) else (OWN,)
                own = [cls(f"{kind}, {version}", version, known.columns, prior, strength, sphere) for kind in kinds]
                final = partial(own[0].left_out, sample) if folds is None else partial(folds.scores, strength, sphere)
                yield Candidate(tuple(own), scores, inner, final, None if again is None else again.at(strength, sphere))

    @classmethod
    def expected(cls, known: TrainingStats, sample: Sample) -> float:
        columns = known.columns.d  # of more than fit into a block some directions are judged
        return super().expected(known, sample) * (MOST_DIRECTIONS / columns if columns > MOST_COLUMNS else 1.0)

    @classmethod
    def takes_long(cls, known: TrainingStats, rows: int) -> bool:
        width = max((known.columns.width(version) for version in known.columns.kinds), default=0)
        return float(rows) * known.k * width**2 > MOST_COMPARED

    @classmethod
    def _is_hopeless(cls, version: str, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> bool:
        """Whether no setting of a few, looked at on some rows, comes anywhere near the best of the other members.

        Where labels helped to complete cells they may look better than they are, which hides no good member.
        """
        if judge.best is None:
            return False
        left, index = _comparable(sample.rows.gaussian(version), known.part(GaussianPart).classes(version), sample)
        few = np.arange(len(index))[:: max(1, len(index) // LOOKED)]
        path = known.part(GaussianPart).classes(version).path(left.take(few), spheres=LOOKED_SPHERES, rough=True)
        return all(judge[index[few]].is_hopeless(scores) for _, _, scores in path)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> GaussianMember:
        """Return the member of this version (`detail`) at this setting."""
        prior = known.part(GaussianPart).classes(detail)
        return cls(f"{kind}, {detail}", detail, known.columns, prior, setting["strength"], setting["sphere"])

    @classmethod
    def _is_folded(cls, version: str, known: TrainingStats) -> bool:
        """Whether rows are judged by folds: where labels helped to complete them, or leaving each takes too long."""
        columns, factored = known.columns, float(known.weight.sum()) * known.k * known.columns.width(version) ** 3
        if bool(known.part(GaussianPart).versions[version].incomplete) or version in columns.basis:
            return True
        return version in columns.guess and factored > MOST_FACTORED

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        own = cls.bind(kind, detail, setting, known)
        if not cls._is_folded(detail, known):
            return Chosen(own, partial(own.left_out, sample))
        again, amounts = known.part(GaussianPart).again(detail), (own.strength, own.sphere)
        return Chosen(own, lambda: again.folds(sample).scores(*amounts), again.at(*amounts))

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether a > 0, ∞ included, and 0 ≤ γ ≤ 1."""
        return setting["strength"] > 0.0 and 0.0 <= setting["sphere"] <= 1.0

    @cached_property
    def density(self) -> MultivariateT:
        """The predictive density of new rows."""
        return self.prior.density(self.strength, self.sphere)

    def left_out(self, sample: Sample) -> Array:
        """Return class-balanced log densities, missing cells integrated out."""
        left = LeftOut(sample.rows.gaussian(self.version), sample.codes, sample.removed, sample.weight)
        return marginals(self.prior, left, self.strength, self.sphere)

    def left_out_without(self, sample: Sample, hidden: Hidden) -> Array:
        cells, columns = sample.rows.gaussian_without(self.version, hidden), self.columns_read
        left = LeftOut(cells, sample.codes, sample.removed, sample.weight)
        groups = [(seen, rows) for seen, rows in pattern_groups(~np.isnan(cells), least=MANY) if len(seen)]
        few = np.setdiff1d(np.arange(len(cells)), np.concatenate([np.zeros(0), *(rows for _, rows in groups)]))
        gone = np.isin(columns.owners[columns.used[self.version]], hidden.columns)
        alone = gone.sum() == 1 and not hidden.as_missing and self.version not in columns.basis
        if alone and len(few) * len(gone) > len(cells):  # each column is asked for in its turn
            return np.asarray(self._without_each(sample)[gone.argmax()])
        out = np.zeros((len(cells), len(self.prior.stats.weight)))
        for seen, rows in groups:
            own = replace(left.take(rows), rows=cells[np.ix_(rows, seen)])
            ((_, _, out[rows]),) = self.prior.restricted(seen).path(own, (self.strength,), (self.sphere,))
        out[few] = marginals(self.prior, left.take(few), self.strength, self.sphere)
        return out

    def _without_each(self, sample: Sample) -> Array:
        """Return log densities (p, n, k) without each column, each row left out; of the same rows, made once."""
        left = LeftOut(sample.rows.gaussian(self.version), sample.codes, sample.removed, sample.weight)
        amounts = self.strength, self.sphere
        return once(sample.rows, (self.name, *amounts), lambda: marginals_but_one(self.prior, left, *amounts))


def _comparable(cells: Array, prior: WishartClasses, sample: Sample) -> tuple[LeftOut, Codes]:
    """Return rows to compare settings on, complete or made so, and their numbers in the sample."""
    whole = np.flatnonzero(~np.isnan(cells).any(axis=1))
    some = whole if len(whole) >= max(ENOUGH, len(cells) // 2) else np.arange(len(cells))
    k, p = prior.stats.mean.shape
    some = some[:: step_of_rows(len(some), k, 1)]
    some = some[:: _step(len(some), k, p)]
    filled = fill_blindly(cells, prior.stats)[some]
    return LeftOut(filled, sample.codes[some], sample.removed[some], sample.weight[some]), some


def _step(n: int, k: int, p: int) -> int:
    """Return s so that settings of p columns are compared on every s-th of n rows, where all take too long."""
    return max(1, min(int(n * k * p**2 / MOST_COMPARED), n // FEWEST_COMPARED))


def through(basis: Array, cells: Array, found: Explanation) -> Explanation:
    """Share out what each direction adds (k, n, r) among the columns that make it up, by the sizes of their parts."""
    cells = np.nan_to_num(cells)
    score, variance = np.empty((len(found.score), *cells.shape)), np.zeros((len(found.score), *cells.shape))
    for i, row in enumerate(cells):
        share = np.abs(row[:, None] * basis)
        share /= np.maximum(share.sum(axis=0), 1e-300)
        score[:, i] = found.score[:, i] @ share.T
        if found.variance is not None:
            variance[:, i] = found.variance[:, i] @ (share**2).T
    return Explanation(score, None, variance)
