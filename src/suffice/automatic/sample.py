"""The rows that the automatic classifier is judged on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from .._arrays import Array, Codes, np
from .columns import Reading
from .mixed_rows import Index


class Unlabelled(NamedTuple):
    """Rows without a label, each with its weight (m,), and how many rows these were before equal ones were one."""

    rows: Reading
    weight: Array
    rows_read: float


@dataclass(frozen=True)
class Sample:
    """Rows to judge on: class numbers, the weight each is removed with, and the weight it stands for, all (n,).

    A row may stand for several equal ones: `removed` and `single` are those of one copy, `held` is the weight that all
    of them have in the statistics.
    """

    rows: Reading
    codes: Codes
    removed: Array
    weight: Array
    single: Array
    held: Array

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Index) -> Sample:
        weights = self.removed[index], self.weight[index], self.single[index], self.held[index]
        return Sample(self.rows[index], self.codes[index], *weights)

    def hiding(self, columns: Codes) -> Sample:
        """Return the rows with the cells in some columns missing, by their numbers among all, numbers first."""
        return replace(self, rows=self.rows.hiding(columns))

    def contents(self) -> list[tuple[bytes, ...]]:
        """Return the contents of the rows with their classes, by which learned ones are found again."""
        numbers = np.ascontiguousarray(np.nan_to_num(self.rows.numbers, nan=np.inf) + 0.0)
        whole = np.column_stack([*self.rows.levels, self.codes]).astype(np.int64)
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
