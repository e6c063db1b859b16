"""The record of what an estimate repaired: nothing is shrunk, floored or dropped silently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .errors import count, either, quoted
from .schema import Level, Name


class Kind(StrEnum):
    """What sort of thing a note tells. Programs go by it, never by the words of a note."""

    SHRUNK = "shrunk"  # correlations drawn towards none
    FLOORED = "floored"  # a variance or scale that vanished, raised
    SMOOTHED = "smoothed"  # every variance raised by what was asked
    BORROWED = "borrowed"  # a mean or spread taken from all classes
    ROUNDED = "rounded"  # values kept to fewer digits
    LEFT_OUT = "left out"  # columns, components or rows that count nowhere
    FILLED = "filled"  # missing cells completed by EM
    SECURED = "secured"  # a weak prior while EM filled missing cells, of which a covariance came near singular
    JOINED = "joined"  # rows without a label that count by their posterior
    STOPPED_EARLY = "stopped early"  # EM, before it converged
    CHOSEN = "chosen"  # a setting that was found from the rows
    UNCERTAIN = "uncertain"  # what rests on few rows
    IMPRECISE = "imprecise"  # a figure of quality, whose standard error stands beside it wherever it is told
    SPARED = "spared"  # a member of the automatic classifier that would take too much memory or time
    POOLED = "pooled"  # sums that classes have together, no longer each by itself; estimates are as before
    GIVEN_UP = "given up"  # what a released model no longer tells
    COPIED = "copied"  # rows that are copies of others, and leave together with these
    SUBJECTS = "subjects"  # a column that seems to name what rows belong to, which leave one by one
    IDENTIFIER = "identifier"  # a column in which each row has its own value
    DATED = "dated"  # columns of text that are read as dates
    ALIKE = "alike"  # classes or levels that differ by case or spaces only
    OTHER = "other"

    @property
    def is_detail(self) -> bool:
        """Whether there is nothing for a user to know or to do: what an estimate always does, or says elsewhere."""
        return self in DETAILS


DETAILS = frozenset(
    {Kind.SMOOTHED, Kind.ROUNDED, Kind.FILLED, Kind.SECURED, Kind.CHOSEN, Kind.POOLED, Kind.IMPRECISE, Kind.SPARED}
)


_VARIES = re.compile(r"""['"\d].*""")  # the rest of a text, from the first name or number on


@dataclass(frozen=True, slots=True)
class Note:
    """One repair: `what` was done, to which class (None: all) and columns, by how much, why, and of what `kind`."""

    what: str
    why: str
    label: Level | None = None
    columns: tuple[Name, ...] = ()
    amount: float | None = None
    kind: Kind = field(default=Kind.OTHER, kw_only=True)

    def __str__(self) -> str:
        return self._said(_in_classes([] if self.label is None else [self.label]))

    def __repr__(self) -> str:
        return f"<{self.kind}: {self}>"

    def plain(self) -> dict[str, object]:
        """Return it as JSON values, without an amount."""
        told = {"kind": self.kind.value, "what": self.what, "why": self.why}
        return told | {"label": self.label, "columns": list(self.columns)}

    @classmethod
    def of_plain(cls, plain: Any) -> Note:
        """Return what `plain` wrote; ValueError if it cannot be that."""
        what, why, label, columns = (plain[name] for name in ("what", "why", "label", "columns"))
        known = isinstance(what, str) and isinstance(why, str) and isinstance(label, str | int | None)
        if not known or not all(isinstance(name, str | int) for name in columns):
            raise ValueError("a note")
        return cls(what, why, label, tuple(columns), kind=Kind(plain["kind"]))

    def _said(self, where: str) -> str:
        joint = " " if self.kind is Kind.LEFT_OUT else " for "
        columns = f"{joint}{quoted(self.columns)}" if self.columns else ""
        amount = "" if self.amount is None else f" by {self.amount:.3g}"
        return f"{self.what}{columns}{where}{amount}: {self.why}"


def to_know(notes: Iterable[Note], each: bool = False) -> list[str]:
    """Return the notes that are no details as sentences: one for all of a sort, or one for `each` note."""
    told = [note for note in notes if not note.kind.is_detail]
    return [str(note) for note in told] if each else _sentences(told)


def count_details(number: int) -> str:
    """Return how many notes ask for nothing, in words."""
    return f"{count(number, 'detail')} that ask{'s' if number == 1 else ''} for nothing"


def details(notes: Iterable[Note]) -> list[str]:
    """Return the notes that are details as sentences, one for all of a sort."""
    return _sentences(note for note in notes if note.kind.is_detail)


def _sentences(notes: Iterable[Note]) -> list[str]:
    """Return a sentence for each sort of note: the one of the greatest amount, and of what the others tell the same."""
    sorts: dict[str, dict[str, tuple[Note, list[Level]]]] = {}
    for note in notes:
        sort = f"{note.kind} " + _VARIES.sub("", f"{note.what}\n{note.why}")  # how what was done and why begin
        _, labels = sorts.setdefault(sort, {}).setdefault(note._said(""), (note, []))
        labels += [] if note.label is None else [note.label]
    return [_sentence(*own.values()) for own in sorts.values()]


def _sentence(*alike: tuple[Note, list[Level]]) -> str:
    first = max(alike, key=lambda own: own[0].amount or 0.0)
    said = first[0]._said(_in_classes(first[1]))
    rest = [own for own in alike if own is not first]
    columns = list(dict.fromkeys(name for note, _ in rest for name in note.columns))
    labels = list(dict.fromkeys(label for _, own in rest for label in own))
    where = (f" for {quoted(columns)}" if columns else "") + _in_classes(labels)
    each = either("`notes_` has each", "`suffice show --details` has each")
    return f"{said}; and {len(rest)} more of the kind{where} ({each})" if rest else said


def _in_classes(labels: Sequence[Level]) -> str:
    return "" if not labels else f" in {'class' if len(labels) == 1 else 'classes'} {quoted(labels)}"
