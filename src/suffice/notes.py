"""The record of what an estimate repaired: nothing is shrunk, floored or dropped silently."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import quoted
from .schema import Level, Name


@dataclass(frozen=True, slots=True)
class Note:
    """One repair: `what` was done, to which class (None: all) and columns, by how much, and why."""

    what: str
    why: str
    label: Level | None = None
    columns: tuple[Name, ...] = ()
    amount: float | None = None

    def __str__(self) -> str:
        where = "" if self.label is None else f" in class {self.label!r}"
        columns = f" for {quoted(self.columns)}" if self.columns else ""
        amount = "" if self.amount is None else f" by {self.amount:.3g}"
        return f"{self.what}{columns}{where}{amount}: {self.why}"
