"""Train the automatic classifier: members are chosen and pooled by the rows kept, each row or group of rows left out.

Where rows are of groups, each fold holds whole ones, and everything that its rows are judged by is made of the others
alone: columns, statistics, trees and levels. The members themselves are made of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from .._arrays import Array, Codes, np, parallel_map
from .._derived import Lazy
from ..densities import Rows
from ..errors import DataError
from ..notes import Kind, Note
from ..schema import Level
from ..stats import ByClass, CategoricalStats, PatternStats, Reservoir
from ..stats.counts import CodedColumns, TextColumns
from ..stats.dependent_rows import as_judged
from ..stats.rows import Units, content, deal_groups
from ..stats.scatter import spread
from ..table import recode
from .choose import choose
from .columns import BinnedRows, FrozenColumns
from .folds import by_fold
from .joint import ShrunkGaussianFamily, choose_joint
from .judge import HoldoutScorer
from .limits import MOST_JUDGED
from .member import Candidate, Member, TrainingStats
from .pool import StackedEnsemble
from .sample import Sample, SomeRows, Unlabelled
from .statistics import MemberRows, MemberStats, check_columns, check_costs
from .table_rows import Hidden, TableRows, without_texts

LEAST_ROWS = 50  # of which fewer do not judge
REMEMBERED = 32  # members of folds that are held to be asked again


def rows_of_sample(statistics: ByClass, held: type[MemberRows] = MemberRows) -> MemberRows:
    """Return the rows that are kept, each with the weight it stands for, as they are `held`."""
    sample = statistics.sample
    assert sample is not None
    weight = sample.represented(statistics.weight)
    return held(table_rows(sample.rows), sample.codes, sample.copies, weight, len(statistics.classes))


def table_rows(blocks: Rows) -> TableRows:
    """Return rows that are kept, numbers and categories together."""
    numbers, coded, texts = None, CodedColumns((), ()), 0
    for part in blocks:
        if isinstance(part, CodedColumns):
            coded = CodedColumns((*coded.levels, *part.levels), (*coded.codes, *part.codes))
            texts = len(part.codes) if isinstance(part, TextColumns) else 0
        else:
            numbers = part
    return TableRows(np.zeros((len(coded.codes[0]), 0)) if numbers is None else numbers, coded, texts)


class Judging(NamedTuple):
    """What a choice is made of: rows that judge, statistics, counts of categories, class weights, unlabelled rows."""

    sample: Sample
    pieces: MemberStats
    categories: list[Array]
    weight: Array
    unlabelled: Unlabelled | None


def train(
    statistics: ByClass,
    pieces: MemberStats,
    parts: bool = True,
    wanted: str = "all",
    every: Reservoir | None = None,
    time_limit: float | None = None,
) -> StackedEnsemble:
    """Return the automatic classifier of these statistics, judged on their sample, one of `every` row kept."""
    sample, pieces, categories, weight, unlabelled = judging(statistics, pieces, every)
    return choose(sample, pieces, categories, weight, parts, wanted, unlabelled, time_limit)


def judging(statistics: ByClass, pieces: MemberStats, every: Reservoir | None = None) -> Judging:
    """Return what a choice is made of, in units of rows: statistics, and the rows that judge, of `every` row kept."""
    assert statistics.sample is not None
    sample = as_judged(statistics.sample)
    unit = sample.rows_per_weight  # weights say what rows count beside each other, not how many there are
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    judged, columns = _as_read(statistics, sample, pieces.columns, unit), pieces.columns
    judged = replace(judged, unseen=judged.unseen_among(None))
    if judged.place is not None:
        rows = rows_of_sample(statistics)
        rows = replace(rows, rows=replace(rows.rows, dates=columns.dates))
        judged = replace(judged, folds=GroupFolds(rows, sample.units, judged.place, unit))
    if every is not None and len(every.codes) > len(sample.codes):
        among = np.flatnonzero(every.priority <= sample.limit[every.codes])
        alone = replace(every, copies=np.ones(len(every.codes)))
        judged = replace(judged, beside=Lazy(lambda: (_as_read(statistics, alone, columns, unit), among)))
    counts = [unit * own for own in level_counts(statistics, pieces.columns)]
    beside = unlabelled_rows(statistics, pieces.columns, unit)
    return Judging(judged, pieces, counts, unit * statistics.weight, beside)


def _as_read(statistics: ByClass, sample: Reservoir, columns: FrozenColumns, unit: float) -> Sample:
    """Return rows that are kept as columns read them, a weight of 1 being `unit` rows; groups are dealt into folds."""
    rows, groups = rows_of_sample(replace(statistics, sample=sample)), sample.units.groups
    held, weight = sample.weight * unit, rows.weight * (unit * sample.weight.sum() / statistics.total)
    read = columns.read(rows.rows.numbers, rows.rows.coded)
    place = None if groups is None else deal_groups(groups, rows.codes, content(sample.rows, len(groups)))
    alone = held / sample.copies, weight, weight / sample.copies, held
    return Sample(read, rows.codes, *alone, sample.units, place=place)


def unlabelled_rows(statistics: ByClass, columns: FrozenColumns, unit: float) -> Unlabelled | None:
    """Return the rows without a label as columns read them, a weight of 1 being `unit` rows; None for none."""
    kept = statistics.unlabelled
    if kept is None:
        return None
    rows = table_rows(kept.rows)
    return Unlabelled(columns.read(rows.numbers, rows.coded), unit * kept.weight, float(kept.copies.sum()))


def joint_by_rows(
    statistics: ByClass, pieces: MemberStats, setting: tuple[float, float] | None = None
) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
    """Return the joint model's family and statistics, judged on the rows that are kept, one copy of each left out.

    With the `setting` (strength, sphere) that they chose before nothing is judged.
    """
    assert statistics.sample is not None
    sample = as_judged(statistics.sample)
    unit = sample.rows_per_weight
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    groups = sample.units.groups
    place = None if groups is None else deal_groups(groups, sample.codes, content(sample.rows, len(groups)))
    return choose_joint(pieces, rows_of_sample(statistics), unit * sample.row_weight(), setting, place)


def level_counts(statistics: ByClass, columns: FrozenColumns) -> list[Array]:
    """Return the counts (k, levels) of each column of categories in the frozen vocabulary, none of texts."""
    categories, none = (
        columns.vocabulary[: len(columns.vocabulary) - columns.texts],
        np.zeros((len(statistics.classes), 0)),
    )
    for stats in statistics.blocks:
        if isinstance(stats, CategoricalStats):
            return [*within_vocabulary(stats, categories), *[none] * columns.texts]
    return [none] * columns.texts


def few_to_judge(statistics: ByClass) -> Note | None:
    """Return a note where most of the rows kept were forgotten, and of the others too few are kept to judge by."""
    if statistics.sample is None:
        return None
    kept = round(float(statistics.sample.copies.sum()))
    if kept >= LEAST_ROWS or kept >= 0.9 * statistics.rows:
        return None
    what = f"judged members by the {kept} rows that are still kept of the {statistics.rows} learned"
    why = "the other rows kept to judge by were forgotten; fit anew on the rows that are left to judge by all of them"
    return Note(what, why, kind=Kind.UNCERTAIN)


def check_judges(statistics: ByClass) -> None:
    """Raise DataError where too few rows are left to judge by."""
    few = few_to_judge(statistics)
    if few is not None:
        raise DataError(
            f"This model has {few.what}, and would say too small an error of itself: {few.why}. Next: fit again to "
            "the rows that are left, for its loss and sets of classes; it predicts as before."
        )


def check_memory(block: MemberRows | MemberStats, statistics: ByClass) -> None:
    """Raise DataError, before it is paid for, if the members or the choice between them do not fit into memory."""
    n = 0 if statistics.sample is None else min(len(statistics.sample.codes), MOST_JUDGED)
    k = len(statistics.classes)
    if isinstance(block, MemberStats):
        check_columns(block.columns, k, n)
    else:  # what the columns come to is known when these rows freeze them
        check_costs(
            n,
            block.rows.numbers.shape[1],
            k,
            [len(own) for own in without_texts(block.rows.coded, block.rows.texts).levels],
            width=0,
        )


# --- folds of whole groups --------------------------------------------------------------------------------------------


class GroupFolds:
    """What is known without each fold of the rows of a sample, and members made of that."""

    def __init__(self, rows: MemberRows, units: Units, place: Codes, unit: float) -> None:
        self.place = place
        self._rows, self._units, self._unit = rows, units, unit
        self._known: list[tuple[TrainingStats, Sample]] | None = None
        self._members: dict[tuple[object, ...], list[Member]] = {}

    @property
    def known(self) -> list[tuple[TrainingStats, Sample]]:
        """What is known without each fold, and the rows it is known of."""
        if self._known is None:
            self._known = list(parallel_map(self._without, range(int(self.place.max()) + 1), cost=np.inf))
        return self._known

    def _without(self, fold: int) -> tuple[TrainingStats, Sample]:
        index, unit = np.flatnonzero(self.place != fold), self._unit
        rows, units = self._rows.taken(index), self._units[index]
        weight = rows.weight * unit
        columns: Any = rows.freeze(rows.rows, rows.codes, rows.k, weight, for_good=False, units=units)
        stats = rows.frozen(columns).scale(unit)
        coded = without_texts(rows.rows.coded, rows.rows.texts)
        counts = CategoricalStats.summarize(coded, rows.codes, rows.k, weight)
        class_weight = np.bincount(rows.codes, weights=weight, minlength=rows.k).astype(np.float64)
        read = columns.read(rows.rows.numbers, rows.rows.coded)
        alone = weight / units.copies
        sample = Sample.of_kept(read, rows.codes, alone, weight, alone, weight, units)
        return stats.known(within_vocabulary(counts, columns.vocabulary), class_weight), sample

    def scores(self, member: Member, sample: Sample) -> Array:
        """Return the scores (n, k) of learned rows, each by the member made without its fold."""
        return self._by_fold(member, sample, lambda own, read: own.scores(read))

    def columns(self, member: Member, sample: Sample) -> Iterator[Array]:
        """Yield the scores (n, k) of each column of a member that adds them up."""
        for j in range(member.width):

            def column(own: Member, read: BinnedRows, j: int = j) -> Array:
                return next(own.columns(read, [j]))

            yield self._by_fold(member, sample, column)

    def _by_fold(self, member: Member, sample: Sample, scores: Callable[[Member, BinnedRows], Array]) -> Array:
        assert sample.place is not None
        made = self._made(member)
        return by_fold(
            sample.place, self.known[0][0].k, lambda fold, mine: scores(made[fold], self._read(sample, mine, fold))
        )

    def judged(self, candidates: Iterable[Candidate], sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield the candidates, each judged by these folds."""
        for own in candidates:
            member = own.members[0]

            def again(rows: SomeRows, hidden: Hidden, member: Member = member) -> Array:
                return self.scores(member, rows.sample.hiding(hidden.columns))

            yield Candidate(own.members, self.scores(member, sample), judge, None, again)

    def _read(self, sample: Sample, mine: Codes, fold: int) -> BinnedRows:
        """Return some rows as the columns of a fold read them; levels that these do not know are new ones."""
        columns, rows = self.known[fold][0].columns, sample.rows[mine]
        levels = []
        for own, here, there in zip(rows.levels, rows.columns.vocabulary, columns.vocabulary, strict=True):
            levels.append(recode([*here, None], own, there).astype(np.int64))  # None: a level that neither knows
        return BinnedRows(rows.numbers, tuple(levels), columns, rows.texts)

    def _made(self, member: Member) -> list[Member]:
        """Return the members made without each fold at the same setting."""
        key = (member.name, *sorted(member.setting.items()))
        if key not in self._members:
            kind, _, detail = member.name.partition(", ")
            chosen = partial(type(member).chosen, kind, detail, member.setting)
            if len(self._members) >= REMEMBERED:
                self._members.pop(next(iter(self._members)))
            self._members[key] = [chosen(*own, {}).member for own in self.known]
        return self._members[key]


def within_vocabulary(stats: CategoricalStats, vocabulary: Sequence[Sequence[Level]]) -> list[Array]:
    """Return the counts (k, levels) of each column of categories in a vocabulary."""
    counts = []
    for known, levels, table in zip(vocabulary, stats.levels, stats.counts, strict=True):
        place = recode(levels, np.arange(len(levels)), known).tolist()  # of levels not in it, beyond its end
        counts.append(np.ascontiguousarray(spread(table.T, place, len(known) + 1)[:-1].T))
    return counts
