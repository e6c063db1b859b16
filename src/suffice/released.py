"""What became of a model beside what it learned; of a released one what was given up, and what that costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ._arrays import np
from ._dialect import Dialect
from .notes import Kind, Note
from .tasks.conformal import MeanScores

FEWEST = 2  # a sum of one row is that row


@dataclass(frozen=True, slots=True)
class Cost:
    """Mean log-loss in nats of `rows` rows, each judged by a model of the other folds: as it was, and released.

    `error` is the standard error of the difference.
    """

    before: float
    after: float
    error: float
    rows: int
    folds: int

    def __str__(self) -> str:
        more = self.after - self.before
        return (
            f"held-out log-loss {self.before:.4f} before, {self.after:.4f} after ({more:+.4f} ± {self.error:.4f} nats, "
            f"{self.rows:,} rows in {self.folds} folds)"
        )


@dataclass(frozen=True, slots=True)
class Release:
    """Every number of a released model sums over at least `least` rows.

    `notes` are what was given up for that; `cost` what it does to held-out loss, None where `unknown` says why nobody
    can know. Once rows have `joined` sums may be of fewer, and what was given up stays so. `sets` are what sets of
    classes are made by, of this very model, None where nobody can know.
    """

    least: int
    notes: tuple[Note, ...]
    cost: Cost | None = None
    unknown: str = ""
    joined: bool = False
    sets: MeanScores | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return (
            str(self.cost) if self.cost is not None else f"what it costs in held-out loss is not known: {self.unknown}"
        )

    def merge(self, other: Release) -> Release:
        """Return what is to be said of a model merged of two."""
        notes = list(self.notes)
        for note in other.notes:
            if note not in notes:
                notes.append(note)
        least, joined = min(self.least, other.least), self.joined or other.joined
        return Release(least, tuple(notes), None, "it was merged of released models", joined)

    @staticmethod
    def of_both(mine: Release | None, theirs: Release | None) -> Release | None:
        """Return what is to be said of a model merged of two, of which none, one or both were released."""
        if mine is None or theirs is None:
            one = mine or theirs
            return None if one is None else one.with_rows()
        return mine.merge(theirs)

    def with_rows(self) -> Release:
        """Return what is to be said once rows have joined that no one has released."""
        return replace(self, cost=None, unknown="rows have joined since", joined=True, sets=None)

    def plain(self) -> dict[str, object]:
        """Return it as JSON values."""
        notes = [note.plain() for note in self.notes]
        cost = None if self.cost is None else asdict(self.cost)
        told = {"cost": cost, "unknown": self.unknown, "joined": self.joined}
        told |= {} if self.sets is None else {"sets": self.sets.plain()}  # which older files have not
        return {"least": self.least, "given_up": notes, **told}

    @classmethod
    def of_plain(cls, plain: Any) -> Release:
        """Return what `plain` wrote; ValueError if it cannot be that."""
        least, cost = plain["least"], plain["cost"]
        known = isinstance(plain["unknown"], str) and isinstance(plain["joined"], bool)
        if type(least) is not int or least < FEWEST or not known:
            raise ValueError("what a released model says of itself")
        notes = tuple(_note(own) for own in plain["given_up"])
        sets = MeanScores.of_plain(plain["sets"]) if "sets" in plain else None
        found = cls(least, notes, None, plain["unknown"], plain["joined"], sets)
        if cost is None:
            return found
        numbers = [cost[name] for name in ("before", "after", "error")]
        rows, folds = cost["rows"], cost["folds"]
        finite = all(type(number) in (int, float) and np.isfinite(number) for number in numbers)
        if not finite or type(rows) is not int or type(folds) is not int:
            raise ValueError("what a release cost")
        before, after, error = (float(number) for number in numbers)
        return replace(found, cost=Cost(before, after, error, rows, folds))


def _note(plain: Any) -> Note:
    note = Note.of_plain(plain)
    if note.kind not in (Kind.GIVEN_UP, Kind.POOLED):
        raise ValueError("what a released model gave up")
    return note


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
class Past:
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
