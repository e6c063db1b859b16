"""Rows of numbers and categories: as read from a table, and as members read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, np
from ..leave_one_out.by_columns import showing
from ..stats.counts import CodedColumns, TextColumns
from ..stats.reservoir import smallest_key
from ..stats.rows import Keys, concat_rows, fingerprints, take_rows

MISSING = -1  # the level number of a missing cell

DateParts = tuple[tuple[int, int], ...]  # numbers of columns, and of parts of a date
Index = slice | Codes | Flags


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


@dataclass(frozen=True)
class TableRows:
    """Rows as read from a table: numbers (n, d), NaN where missing, and categories with their own levels.

    The last of these, so many as `texts` says, are texts. `dates` are numbers that are dates, by column, and their
    parts that trees may ask, by number in `table.dates.DATE_PARTS`.
    """

    numbers: Array
    coded: CodedColumns
    texts: int = 0
    dates: DateParts = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Index) -> TableRows:
        return replace(self, numbers=self.numbers[index], coded=take_rows(self.coded, index))

    def with_rows(self, others: TableRows) -> TableRows:
        """Return these rows and others."""
        numbers = np.concatenate([self.numbers, others.numbers])
        return replace(self, numbers=numbers, coded=concat_rows(self.coded, others.coded))

    def showing(self, columns: Sequence[int]) -> TableRows:
        """Return the rows whose cells are missing but in some columns, numbers first."""
        width = self.numbers.shape[1]
        numbers = showing(self.numbers, [j for j in columns if j < width])
        return replace(self, numbers=numbers, coded=showing(self.coded, [j - width for j in columns if j >= width]))

    def with_cells(self, column: Codes, value: Array, levels: Sequence[Any] | None) -> TableRows:
        """Return the rows with one cell each, in these columns (n,), numbers first, at other values (n,).

        With `levels` these are codes of them, of one category in all rows.
        """
        if levels is None:
            numbers = self.numbers.copy()
            numbers[np.arange(len(numbers)), column] = value
            return replace(self, numbers=numbers)
        place = int(column[0]) - self.numbers.shape[1]
        names, codes = list(self.coded.levels), list(self.coded.codes)
        names[place], codes[place] = levels, value.astype(np.int64)
        return replace(self, coded=CodedColumns(tuple(names), tuple(codes)))


def without_texts(coded: CodedColumns, texts: int) -> CodedColumns:
    """Return categories of which the last so many are texts, with nothing in these, which are no levels."""
    kept = len(coded.codes) - texts
    none = tuple(np.full_like(own, MISSING) for own in coded.codes[kept:])
    return CodedColumns((*coded.levels[:kept], *((),) * texts), (*coded.codes[:kept], *none)) if texts else coded


def texts_of(coded: CodedColumns, texts: int) -> TextColumns | None:
    """Return the last so many columns as texts; None for none."""
    kept = len(coded.codes) - texts
    return TextColumns(coded.levels[kept:], coded.codes[kept:]) if texts else None


def smallest_distinct(keys: Keys, codes: Codes, weight: Array, bound: int) -> tuple[Codes, Array]:
    """Return the rows with the smallest hashes of their contents, each distinct row of a class once, at most `bound`.

    With their weights, those of all equal rows added up, in the order of hashes.
    """
    few = np.flatnonzero(keys <= smallest_key(keys, bound))
    first, group = distinct_pairs(keys[few], codes[few])
    total = np.bincount(group, weights=weight[few], minlength=len(first)).astype(np.float64)
    return few[first[:bound]], total[:bound]


def distinct_pairs(keys: Keys, codes: Codes) -> tuple[Codes, Codes]:
    """Return where each different pair of hash and class number is first, in their order, and which each is (n,)."""
    order = np.lexsort((codes, keys))
    hashes, numbers = keys[order], codes[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (hashes[1:] != hashes[:-1]) | (numbers[1:] != numbers[:-1])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return order[begins], group


def hashes_of(rows: TableRows) -> Keys:
    """Return one number per row (n,) that depends on its contents alone."""
    keys = fingerprints(rows.numbers) if rows.numbers.shape[1] else np.zeros(len(rows), dtype=np.uint64)
    return keys ^ (fingerprints(rows.coded) if rows.coded.codes else np.uint64(0))
