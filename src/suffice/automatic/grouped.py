"""Members judged by folds of whole groups.

Where rows are of groups, each fold holds whole ones, and everything that its rows are judged by is made of the others
alone: columns, statistics, trees and levels. The members themselves are made of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._arrays import Array, Codes, np, parallel_map
from ..stats import CategoricalStats
from ..stats.rows import Units
from .columns import BinnedRows
from .judge import HoldoutScorer
from .member import Candidate, Member, TrainingStats
from .mixed_rows import Hidden
from .sample import Sample, SomeRows
from .statistics import MemberRows

REMEMBERED = 32  # members of folds that are held to be asked again


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
        counts = CategoricalStats.summarize(rows.rows.coded, rows.codes, rows.k, weight)
        class_weight = np.bincount(rows.codes, weights=weight, minlength=rows.k).astype(np.float64)
        read = columns.read(rows.rows.numbers, rows.rows.coded)
        alone = weight / units.copies
        sample = Sample.of_kept(read, rows.codes, alone, weight, alone, weight, units)
        return stats.known(within_vocabulary(counts, columns.vocabulary), class_weight), sample

    def scores(self, member: Member, sample: Sample) -> Array:
        """Return the scores (n, k) of learned rows, each by the member made without its fold."""
        assert sample.place is not None
        out = np.empty((len(sample), self.known[0][0].k))
        for fold, own in enumerate(self._made(member)):
            mine = np.flatnonzero(sample.place == fold)
            if len(mine):
                out[mine] = own.scores(self._read(sample, mine, fold))
        return out

    def columns(self, member: Member, sample: Sample) -> Iterator[Array]:
        """Yield the scores (n, k) of each column of a member that adds them up."""
        assert sample.place is not None
        for j in range(member.width):
            out = np.empty((len(sample), self.known[0][0].k))
            for fold, own in enumerate(self._made(member)):
                mine = np.flatnonzero(sample.place == fold)
                if len(mine):
                    (out[mine],) = own.columns(self._read(sample, mine, fold), [j])
            yield out

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
            position = {level: i for i, level in enumerate(there)}
            table = np.array([*(position.get(level, len(there)) for level in here), len(there), -1], dtype=np.int64)
            levels.append(table[own])
        return BinnedRows(rows.numbers, tuple(levels), columns)

    def _made(self, member: Member) -> list[Member]:
        """Return the members made without each fold at the same setting."""
        key = (member.name, *sorted(member.setting.items()))
        if key not in self._members:
            kind, _, detail = member.name.partition(", ")
            made = [
                type(member).chosen(kind, detail, member.setting, known, sample, {}).member
                for known, sample in self.known
            ]
            if len(self._members) >= REMEMBERED:
                self._members.pop(next(iter(self._members)))
            self._members[key] = made
        return self._members[key]


def within_vocabulary(stats: CategoricalStats, vocabulary: Sequence[Sequence[object]]) -> list[Array]:
    """Return the counts (k, levels) of each column of categories in a vocabulary."""
    counts = []
    for known, levels, table in zip(vocabulary, stats.levels, stats.counts, strict=True):
        position = {level: i for i, level in enumerate(levels)}
        own = np.zeros((len(table), len(known)))
        here = [i for i, level in enumerate(known) if level in position]
        own[:, here] = table[:, [position[known[i]] for i in here]]  # type: ignore[index]
        counts.append(own)
    return counts
