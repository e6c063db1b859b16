"""Rows of numbers and category codes, as members read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .._arrays import Array, Codes, NDArray, np

MISSING = -1  # the level number of a missing cell

Index = slice | Codes | NDArray[np.bool_]


class Hidden(NamedTuple):
    """Columns whose cells are hidden from members, by their numbers among all, numbers first.

    Either nothing is known of them, or they are `as_missing`: read as a missing cell of a new row is, which says
    something of its own where cells of a category were missing among the rows learned.
    """

    columns: Codes
    as_missing: bool = False


@dataclass(frozen=True)
class MixedRows:
    """Rows as the members read them: numbers (n, d), NaN where missing, and level numbers of each category (n,).

    A level number is −1 where the cell is missing, and the number of known levels where the level is not known.
    """

    numbers: Array
    levels: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Index) -> MixedRows:
        return MixedRows(self.numbers[index], tuple(column[index] for column in self.levels))
