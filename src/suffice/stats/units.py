"""Units that leave together where rows are held out: copies of a row, rows of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Codes, NDArray, np
from ..schema import Level, Name
from .rows import Keys, level_keys, mixed

FOLDS = 5  # of whole groups
FEWEST = 2  # units that must show a level for trees to have a place for it: one alone says nothing of others


@dataclass(frozen=True, eq=False)
class Units:
    """Distinct rows (n,): as how many rows each counts, and the `group` it is of, None where rows are groups."""

    copies: Array
    group: Keys | None = None

    @classmethod
    def each(cls, n: int) -> Self:
        """Return n rows, each by itself."""
        return cls(np.ones(n))

    @property
    def number(self) -> Codes:
        """The number (n,) of the group of each row, or of the row itself."""
        if self.group is None:
            return np.arange(len(self.copies))
        return np.unique(self.group, return_inverse=True)[1].reshape(-1)

    def __getitem__(self, index: Codes | NDArray[np.bool_] | slice) -> Self:
        return type(self)(self.copies[index], None if self.group is None else self.group[index])

    @property
    def groups(self) -> Codes | None:
        """The number (n,) of the group of each row; None where every row is one by itself, or all are of one."""
        if self.group is None:
            return None
        different = int(self.number.max(initial=0)) + 1
        return self.number if 1 < different < len(self.copies) else None

    def showing(self, level: Codes, size: int, among: Codes | NDArray[np.bool_] | slice = slice(None)) -> Array:
        """Return how many units show each of so many levels (size,), of the rows `among`; −1 is a missing cell."""
        own, copies = level[among], self.copies[among]
        known = (own >= 0) & (own < size)
        if self.group is None:
            return np.bincount(own[known], weights=copies[known], minlength=size).astype(np.float64)
        pairs = np.unique(np.stack([own[known].astype(np.uint64), self.group[among][known]]), axis=1)
        return np.bincount(pairs[0].astype(np.int64), minlength=size).astype(np.float64)

    def unseen(
        self,
        levels: Sequence[Codes],
        sizes: Sequence[int],
        among: NDArray[np.bool_] | slice | None = None,
        of: Sequence[Codes] | None = None,
    ) -> NDArray[np.bool_] | None:
        """Return which cells (n, categories) are of levels that too few units show among some rows.

        Without `among`, of all rows but those that leave with the row itself. The cells are those of these rows, or
        `of` others that are among them. None where there is no such cell.
        """
        found, least = [], FEWEST + (among is None)
        for level, size, cells in zip(levels, sizes, levels if of is None else of, strict=True):
            few = self.showing(level, size, slice(None) if among is None else among) < least
            found.append(np.append(few, [False, False])[np.clip(cells, -1, size)])
        return np.stack(found, axis=1) if any(own.any() for own in found) else None


def deal_groups(group: Codes, codes: Codes, folds: int = FOLDS) -> Codes:
    """Return the fold (n,) of each row: whole groups, the largest first, each to where its classes are scarcest."""
    held = np.zeros((int(group.max(initial=0)) + 1, int(codes.max(initial=0)) + 1))
    np.add.at(held, (group, codes), 1.0)
    total, place = np.zeros((min(folds, len(held)), held.shape[1])), np.empty(len(held), dtype=np.int64)
    share = held / held.sum(axis=0)
    for g in np.argsort(-held.sum(axis=1), kind="stable"):
        fullness = ((total + share[g]) ** 2).sum(axis=1) - (total**2).sum(axis=1)
        place[g] = np.lexsort((total.sum(axis=1), fullness.round(12)))[0]
        total[place[g]] += share[g]
    return np.asarray(place[group])


def group_keys(groups: tuple[Sequence[Level], Codes] | None, names: Sequence[Name]) -> Keys | None:
    """Return a hash (n,) of the group of each row, 0 for a row of none; None without groups.

    `groups` are the different ones and their numbers (n,), −1 for none. Hashes are salted by the `names` of the
    columns: they are the same in all parts of a table, and in no other table.
    """
    if groups is None:
        return None
    levels, codes = groups
    salt = level_keys([repr(tuple(names))])[0]
    keys = np.append(mixed(level_keys(levels)[:-1] ^ salt) | np.uint64(1), np.uint64(0))
    return np.asarray(keys[codes])


def group_numbers(keys: Keys) -> Codes | None:
    """Return the number (n,) of the group of each row by its hash, of a row of none its own; None if all are alone."""
    number = np.unique(np.where(keys == 0, np.arange(len(keys), dtype=np.uint64), keys), return_inverse=True)[1]
    return None if len(keys) and number.max() + 1 == len(keys) else number.reshape(-1)
