"""The fitted value of a generative forest: leaf statistics or rows kept, and its joint density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from .._arrays import Array, Codes, Flags, np
from .._derived import derived, shared
from ..densities import Draw, Product, Rows
from ..errors import DataError, either
from ..estimate import Block, Family, Settings
from ..fitted import Fitted
from ..forest import Forest, ForestDensity, FrozenForest, LeafArrays
from ..joint import normalize
from ..leave_one_out.model import log_priors
from ..notes import Note
from ..schema import Level
from ..stats import Statistic
from ..stats.by_class import Batch, Joined
from ..stats.counts import CodedColumns
from ..stats.rows import Units, content, deal_groups
from ..table import Table
from .held import HeldFitted, MemberFamily
from .members.forest import LeafSums
from .statistics import Columns, MemberRows, MemberStats
from .table_rows import TableRows


@dataclass(frozen=True)
class ForestStats(MemberStats):
    """The sums of the leaves of frozen trees."""

    columns_type: ClassVar[Any] = FrozenForest

    def level_weights(self) -> dict[int, dict[Level, float]]:
        found: dict[int, dict[Level, float]] = {}
        forest = forest_of(self)
        for j, (levels, order) in enumerate(zip(forest.columns.vocabulary, forest.columns.order, strict=True)):
            cells = forest.sums.levels[j].sum(axis=(0, 1)) / len(forest.trees)
            held = (cells / np.maximum(forest.columns.levels_in(j), 1.0))[order]
            found[len(forest.columns.numbers) + j] = dict(zip(levels, held.tolist(), strict=True))
        return found

    @classmethod
    def part_types(cls) -> tuple[type[LeafSums], ...]:
        return (LeafSums,)

    @classmethod
    def check(cls, columns: Any, k: int) -> None:
        """Trees are grown no larger than fits."""
        return


@dataclass(frozen=True)
class ForestRows(MemberRows):
    """Rows held as they are, which still freeze the trees."""

    @classmethod
    def freeze(
        cls, rows: TableRows, codes: Codes, k: int, weight: Array, *, for_good: bool, units: Units | None = None
    ) -> Columns:
        return FrozenForest.freeze(rows.numbers, rows.coded, codes, k, weight, labels=False, units=units)

    @classmethod
    def statistics(cls) -> type[MemberStats]:
        return ForestStats


@dataclass(frozen=True)
class ForestFamily(MemberFamily):
    """All columns, as a forest needs them; the numbers come first."""

    name: ClassVar[str] = "forest"
    held: ClassVar[type[MemberRows]] = ForestRows


@dataclass(frozen=True)
class JointForestFamily(Family):
    """The joint density of all columns, numbers first, by a forest; its rows are numbers and level numbers (n, d)."""

    numbers: int
    name: ClassVar[str] = "forest"

    def encode(self, table: Table, positions: Sequence[int]) -> TableRows:
        return MemberFamily(self.numbers).encode(table, positions)

    def recode(self, rows: Any, stats: MemberStats) -> Array:
        if isinstance(rows, np.ndarray):
            return rows
        read = stats.columns.read(rows.numbers, rows.coded)
        levels = [np.where(own < 0, np.nan, own) for own in read.levels]
        return np.column_stack([read.numbers, *levels])

    def zero(self, k: int, columns: int) -> Statistic:
        raise NotImplementedError("a forest begins with rows")

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Statistic:
        raise NotImplementedError("a forest begins with rows")

    def estimate(self, stats: MemberStats, settings: Settings) -> tuple[ForestDensity, list[Note]]:
        return forest_of(stats).density(), []

    def leave_one_out(
        self, rows: Array, stats: MemberStats, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array:
        return self.left_out(rows, stats, codes, weight, out_of_bag=False)

    def left_out(
        self,
        rows: Array,
        stats: MemberStats,
        codes: Codes,
        weight: Array | None,
        *,
        out_of_bag: bool,
        unseen: Flags | None = None,
    ) -> Array:
        """Return log densities (n, k) of learned rows; `out_of_bag`, by trees whose structure has not seen them.

        Levels that are `unseen` (n, categories) without a row say nothing.
        """
        forest = forest_of(stats)
        reading = forest.columns.of_values(rows)
        return forest.left_out(reading, codes, np.ones(len(codes)) if weight is None else weight, out_of_bag, unseen)


def forest_of(stats: MemberStats) -> Forest:
    """Return the forest of statistics that hold one."""
    part = stats.learned[LeafSums.name]
    assert isinstance(part, LeafSums)
    assert part.sums is not None
    return Forest(stats.columns.forest.cells, stats.columns.forest.density, part.sums)


@dataclass(frozen=True, eq=False)
class ForestJoint(Fitted):
    """The value of one block, a forest over all columns."""

    leaves_recoded = True

    def recoded(self, rows: Rows) -> Rows:
        """Return encoded rows as the forest reads them: those of its block, which are last, or put together."""
        part = rows[-1]
        if len(rows) > 1 or isinstance(part, CodedColumns):
            part = part if isinstance(part, TableRows) else together(rows)
        return (self.blocks[0].family.recode(part, self.statistics.blocks[0]),)

    def sampled_rows(self) -> Rows:
        """Return the rows kept, as the forest reads them."""
        return self.recoded(self.reservoir.rows)

    def bootstrap(self) -> Draw | None:
        """Return what draws the leaves' sums, by a Bayesian bootstrap of the rows kept; None where none are kept.

        Each row counts as a Gamma variable of mean 1, or of as many copies of it (Rubin 1981,
        doi:10.1214/aos/1176345338). Trees stay as they are.
        """
        if self.statistics.sample is None:
            return None
        sample, whole = self.reservoir, forest_of(cast("MemberStats", self.statistics.blocks[0]))
        weight, reading = sample.represented(self.statistics.weight), whole.columns.of_values(self.sampled_rows()[0])

        def draw(rng: np.random.RandomState) -> ForestDensity:
            own = weight * rng.standard_gamma(sample.copies) / sample.copies
            own *= weight.sum() / own.sum()
            sums = LeafArrays.summarize(reading, whole.trees, sample.codes, len(self.statistics.classes), own)
            return Forest(whole.columns, whole.trees, sums).density()

        return draw


def together(rows: Rows) -> TableRows:
    """Return the rows of numbers and categories as those of all columns."""
    coded = [part for part in rows if isinstance(part, CodedColumns)]
    numbers = [part for part in rows if not isinstance(part, CodedColumns)]
    n = len(numbers[0]) if numbers else coded[0].rows
    return TableRows(numbers[0] if numbers else np.zeros((n, 0)), coded[0] if coded else CodedColumns((), ()))


def joint_forest(value: HeldFitted, stats: MemberStats) -> ForestJoint:
    """Return the value whose density is the forest of these statistics, beside those of `value`."""
    block = value.blocks[-1]
    assert isinstance(block.family, MemberFamily)
    statistics = replace(value.judged, blocks=(stats,))
    own = Block(JointForestFamily(block.family.numbers), block.positions)
    return ForestJoint(value.who, value.schema, (own,), statistics, value.settings, value.priors, None, value.past)


@dataclass(frozen=True, eq=False)
class ForestFitted(HeldFitted):
    """What a forest has learned."""

    explains_soon: ClassVar[bool] = False

    @shared
    def _joint_alone(self) -> ForestJoint:
        return joint_forest(self, self.frozen_statistics)

    def train(self) -> None:
        """Grow the trees; the density is made of their leaves when it is first asked for."""
        _ = self.frozen_statistics

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        density, notes = self._joint_alone.estimated
        return density, (*notes, *self.frozen_statistics.notes)

    def as_joint(self, rows: Rows) -> Rows:
        return self.joint_value.recoded(rows)

    most_judged = 1000  # milliseconds each where cells are missing or classes are many

    def check_leaving(self) -> None:
        if self.past.released is not None:
            raise DataError.released("leave rows out", "ask the model it was made from")

    def left_out(self, rows: Rows, codes: Codes, weight: Array | None) -> Array:
        """Return log posteriors (n, k) of learned rows under the model of all others, with the same trees."""
        asked = self.joint_value
        return asked.left_out(asked.recoded(rows), codes, weight)

    def by_columns(self, index: Codes, as_new: bool = False) -> None:
        """Return None: a row with cells unknown is in many leaves, of which each would have to be made without it."""
        return

    def left_out_unseen(self, rows: Rows, codes: Codes, weight: Array | None) -> Array:
        """Return log posteriors (n, k) of learned rows, each without itself and by trees that have not seen it."""
        asked = self.joint_value
        learned, own = asked.learned, np.ones(len(codes)) if weight is None else weight
        family = cast("JointForestFamily", asked.blocks[0].family)
        (read,) = asked.recoded(rows)
        stats = cast("MemberStats", asked.statistics.blocks[0])
        score = family.left_out(read, stats, codes, own, out_of_bag=True, unseen=self._unseen(read))
        prior = log_priors(learned, codes, own)
        zero = np.zeros_like(score)
        return normalize(score + prior, prior, lambda some: (zero[some], score[some] + prior[some]))

    def _left_out_by_folds(self, place: Codes) -> Array:
        """Return the same of the rows kept, each by a model of the rows kept of other folds `place` (m,)."""
        sample, rows = self.reservoir, self.sampled_rows()
        every = Batch(self.statistics.classes, sample.codes, rows, sample.represented(self.statistics.weight))
        out = np.full((len(place), len(self.statistics.classes)), -np.inf)
        for fold in range(int(place.max(initial=0)) + 1):
            others, own = every.take(np.flatnonzero(place != fold)).of_present_classes(), np.flatnonzero(place == fold)
            begun = self.for_fold()
            model = replace(begun, statistics=begun.summarize(others, 0))
            number = np.array([self.statistics.classes.index(label) for label in others.classes])
            out[np.ix_(own, number)] = model.log_posterior(model.recoded(every.take(own).rows))
        return out

    def _unseen(self, rows: Array) -> Flags | None:
        """Return which levels of learned rows (n, d), as the forest reads them, too few other rows show."""
        if self.statistics.sample is None:
            return None
        (kept,), columns = self.joint_value.recoded(self.sampled_rows()), self.frozen_statistics.columns.cells
        sizes, numbers = [len(own) for own in columns.vocabulary], len(columns.numbers)
        levels, own = (np.nan_to_num(part[:, numbers:], nan=-1.0).astype(np.int64).T for part in (kept, rows))
        return Units(self.reservoir.copies).unseen(tuple(levels), sizes, of=tuple(own))

    @derived
    def left_out_rows(self) -> Array:
        """The same of the rows kept (m, k)."""
        sample = self.reservoir
        groups = sample.units.groups
        if groups is not None:
            return self._left_out_by_folds(deal_groups(groups, sample.codes, content(sample.rows, len(groups))))
        return self.left_out_unseen(self.sampled_rows(), sample.codes, sample.row_weight())

    def join(self, batch: Batch) -> Joined | None:
        """Refuse rows without a label."""
        raise DataError(
            "Rows without a label cannot join a generative forest: its trees are grown on rows of known class. Next: "
            "leave them out, or use "
            f"{either('GaussianDiscriminant, NaiveBayes or MixtureDiscriminant', 'another --model')}."
        )

    def release_whole(self, limit: Any, like: Any) -> Any:
        """Refuse: leaves are of few rows."""
        raise DataError(
            "The leaves of a forest are of a few rows each, which tell of single rows, so that there is nothing to "
            f"release. Next: release a {either('GaussianDiscriminant or NaiveBayes', 'model of --model full or nb')} "
            "fitted to the same rows."
        )
