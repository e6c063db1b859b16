"""The record of what an estimate repaired: nothing is shrunk, floored or dropped silently."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .errors import quoted
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
    POOLED = "pooled"  # sums that classes have together, no longer each by itself; estimates are as before
    GIVEN_UP = "given up"  # what a released model no longer tells
    OTHER = "other"


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
        where = "" if self.label is None else f" in class {self.label!r}"
        columns = f" for {quoted(self.columns)}" if self.columns else ""
        amount = "" if self.amount is None else f" by {self.amount:.3g}"
        return f"{self.what}{columns}{where}{amount}: {self.why}"
