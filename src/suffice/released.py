"""Provenance: edits since a model was learned, and what a released one gave up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ._dialect import Dialect
from .conformal import MeanScores
from .notes import Kind, Note

FEWEST = 2  # a sum of one row is that row


@dataclass(frozen=True, slots=True)
class Release:
    """Every number of a released model sums over at least `least` rows.

    `notes` are what was given up for that. Once rows have `joined` sums may be of fewer, and what was given up stays
    so. `sets` are what sets of classes are made by, of this very model, None where nobody can know.
    """

    least: int
    notes: tuple[Note, ...]
    joined: bool = False
    sets: MeanScores | None = field(default=None, compare=False, repr=False)

    def merge(self, other: Release) -> Release:
        """Return what is to be said of a model merged of two."""
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return Release(min(self.least, other.least), notes, self.joined or other.joined)

    @staticmethod
    def of_both(mine: Release | None, theirs: Release | None) -> Release | None:
        """Return what is to be said of a model merged of two, of which none, one or both were released."""
        if mine is None or theirs is None:
            one = mine or theirs
            return None if one is None else one.with_rows()
        return mine.merge(theirs)

    def with_rows(self) -> Release:
        """Return what is to be said once rows have joined that no one has released."""
        return replace(self, joined=True, sets=None)

    def plain(self) -> dict[str, object]:
        """Return it as JSON values."""
        told = {"least": self.least, "given_up": [note.plain() for note in self.notes], "joined": self.joined}
        return told | ({} if self.sets is None else {"sets": self.sets.plain()})  # which older files have not

    @classmethod
    def of_plain(cls, plain: Any) -> Release:
        """Return what `plain` wrote; ValueError if it cannot be that."""
        least = plain["least"]
        if type(least) is not int or least < FEWEST or not isinstance(plain["joined"], bool):
            raise ValueError("what a released model says of itself")
        sets = MeanScores.of_plain(plain["sets"]) if "sets" in plain else None
        notes = tuple(map(Note.of_plain, plain["given_up"]))
        if any(note.kind not in (Kind.GIVEN_UP, Kind.POOLED) for note in notes):
            raise ValueError("what a released model gave up")
        return cls(least, notes, plain["joined"], sets)


@dataclass(frozen=True, slots=True)
class RowsHeld:
    """What a model holds of the rows it has learned: `kept` of them as they are; `least` if it was released, or None.

    In a model that was not released, sums of single rows can be rows: of a class or a pattern of missing cells that
    only one has.
    """

    kept: int
    least: int | None

    def __str__(self) -> str:
        if self.kept:
            return f"holds {self.kept:,} rows as they were"
        if self.least is None:
            return "holds no rows as they were, but sums that may be of single rows"
        return f"holds no rows, and no sums of fewer than {self.least} rows (released)"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What became of a model, beside what it has learned.

    `object_labels`: labels came as an array of objects. `unlabelled`: how many rows without a label the last fit saw;
    `joined`: whether such rows have joined by EM, `steps` of it. `notes` are those of the last fit's EM. `dialect` is
    how the CSV file of that fit was written; `released` what the model gave up if it holds no row; `origin` the file
    that it was loaded from, with the fingerprint of that. `target` is what the labels were called, `source` the
    name of the file that the rows came from, None where nobody said.
    """

    object_labels: bool = False
    unlabelled: int = 0
    joined: bool = False
    steps: int | None = None
    notes: tuple[Note, ...] = ()
    dialect: Dialect | None = None
    released: Release | None = None
    origin: tuple[str, str] | None = None
    target: str | None = None
    source: str | None = None
