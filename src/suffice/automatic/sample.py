"""The sample of rows that members are judged on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, cross_sums, np
from .._derived import Lazy
from ..forest.columns import Cells
from ..stats.rows import Units, fingerprints, taken
from .columns import BinnedRows
from .table_rows import MISSING, Hidden, Index


class Unlabelled(NamedTuple):
    """Rows without a label, each with its weight (m,), and how many rows these were before equal ones were one."""

    rows: BinnedRows
    weight: Array
    rows_read: float


@dataclass(frozen=True)
class Sample:
    """Rows to judge on: class numbers, the weight each is removed with, and the weight it stands for, all (n,).

    A row may stand for several equal ones: `removed` and `single` are those of one copy, `held` is the weight that all
    of them have in the statistics. `units` says what leaves together, and `unseen` (n, categories) which levels too few
    rows show but those that leave with the row; both are None where that is not known. Where rows are of groups,
    `place` (n,) is the fold of each and `folds` what judges them (`train.GroupFolds`), else None. `beside` makes all
    rows kept where they are more than these, and which of them these are.
    """

    rows: BinnedRows
    codes: Codes
    removed: Array
    weight: Array
    single: Array
    held: Array
    units: Units | None = None
    unseen: Flags | None = None
    place: Codes | None = None
    folds: Any = None
    beside: Lazy[tuple[Sample, Codes]] | None = None

    @classmethod
    def of_kept(
        cls, rows: BinnedRows, codes: Codes, removed: Array, weight: Array, single: Array, held: Array, units: Units
    ) -> Sample:
        """Return rows among which every other row with the levels of one is."""
        unseen = units.unseen(rows.levels, [len(own) for own in rows.columns.vocabulary])
        return cls(rows, codes, removed, weight, single, held, units, unseen)

    def of_group(self, k: int) -> Array:
        """Return the weight of each class (n, k) in the group of each row."""
        assert self.units is not None
        group = self.units.number
        return cross_sums(group, self.codes, (int(group.max(initial=0)) + 1, k), self.held)[group]

    @property
    def every(self) -> tuple[Sample, Codes]:
        """All rows that rules learn from, and which of them are these, in order."""
        return (self, np.arange(len(self))) if self.beside is None else self.beside()

    def unseen_among(self, others: Flags | None) -> Flags | None:
        """Return which cells (n, categories) are of levels that too few of some rows show; None for none.

        For None instead of others, of all rows but those that leave with the row itself.
        """
        if self.units is None:
            return None
        return self.units.unseen(self.rows.levels, [len(own) for own in self.rows.columns.vocabulary], others)

    def cells(self, hidden: Hidden | None, unseen: Flags | None, *, dated: bool = False) -> Cells:
        """Return the cells (n, d) as trees read them: `unseen` levels as new ones, `hidden` columns missing.

        With `dated` those of parts of dates as well, which are hidden with their dates.
        """
        reading = self.rows.dated if dated else self.rows.forest
        found = reading.columns.with_unseen(reading.cells, unseen)
        if hidden is None:
            return found
        found = found.copy()
        found[:, np.isin(self.rows.columns.owners_dated[: found.shape[1]], hidden.columns)] = MISSING
        return found

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Index) -> Sample:
        rows, weights = ("rows", "codes", "units", "unseen", "place"), ("removed", "weight", "single", "held")
        return replace(taken(self, index, *rows, *weights), beside=None)

    def hiding(self, columns: Codes) -> Sample:
        """Return the rows with the cells in some columns missing, by their numbers among all, numbers first."""
        return replace(self, rows=self.rows.hiding(columns))

    def contents(self) -> list[tuple[bytes, ...]]:
        """Return the contents of the rows with their classes, by which learned ones are found again."""
        numbers = np.ascontiguousarray(np.nan_to_num(self.rows.numbers, nan=np.inf) + 0.0)
        texts = [] if self.rows.texts is None else [fingerprints(self.rows.texts).view(np.int64)]
        whole = np.column_stack([*self.rows.levels, *texts, self.codes]).astype(np.int64)
        return [(cells.tobytes(), levels.tobytes()) for cells, levels in zip(numbers, whole, strict=True)]


@dataclass(frozen=True)
class SomeRows:
    """Some rows of a sample, by their numbers in it; what members read of them is made once."""

    whole: Sample
    index: Codes

    @cached_property
    def sample(self) -> Sample:
        """These rows."""
        return self.whole[self.index]
