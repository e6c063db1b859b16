"""How the file that a model learned from wrote its cells, which the next file of the same kind is read by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MARKS = (".", ",")


class Remark(UserWarning):
    """How a file was read, where that had to be guessed."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What tells 9.100 (nine) from 9.100 (nine thousand), and a missing cell from a word.

    `decimal` is the decimal mark of the file, "" where no number said; `decimals` that of single columns; `missing` the
    text that stood for a missing number in a column; `blank` texts that users declared to mean a missing cell.
    """

    decimal: str = ""
    decimals: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    blank: tuple[str, ...] = ()

    def mark(self, column: str) -> str:
        """Return the decimal mark that a column is expected to have, "" where nothing is known of it."""
        return self.decimals.get(column, self.decimal)

    def plain(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "decimal": self.decimal,
            "decimals": dict(self.decimals),
            "missing": dict(self.missing),
            "blank": list(self.blank),
        }

    @classmethod
    def of(cls, plain: Any) -> Dialect:
        """Return the dialect that `plain` wrote; ValueError if it did not."""
        found = cls(plain["decimal"], dict(plain["decimals"]), dict(plain["missing"]), tuple(plain["blank"]))
        texts = [*found.decimals, *found.decimals.values(), *found.missing, *found.missing.values(), *found.blank]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a dialect of something other than texts")
        if found.decimal not in ("", *MARKS) or not set(found.decimals.values()) <= set(MARKS):
            raise ValueError("a decimal mark that is none")
        return found
