"""The dialect of a file (separator, decimal mark, missing markers, date notation), remembered for the next file."""

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
    text that stood for a missing number in a column; `blank` texts that users declared to mean a missing cell;
    `trimmed` says whether spaces around texts were taken away, None where nobody knows; `units` gives the currency of
    the numbers of a column, or % for percentages, which are read as shares; `dates` the notation of the dates of a
    column, which are read as days.
    """

    decimal: str = ""
    decimals: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    blank: tuple[str, ...] = ()
    trimmed: bool | None = None
    units: dict[str, str] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)

    def mark(self, column: str) -> str:
        """Return the decimal mark that a column is expected to have, "" where nothing is known of it."""
        return self.decimals.get(column, self.decimal)

    def plain(self) -> dict[str, object]:
        """Return JSON values; older files do not say whether spaces were taken away."""
        told = {} if self.trimmed is None else {"trimmed": self.trimmed}
        return {
            "decimal": self.decimal,
            "decimals": dict(self.decimals),
            "missing": dict(self.missing),
            "blank": list(self.blank),
            **told,
            **({"units": dict(self.units)} if self.units else {}),  # which older files do not have
            **({"dates": dict(self.dates)} if self.dates else {}),
        }

    @classmethod
    def of(cls, plain: Any) -> Dialect:
        """Return the dialect that `plain` wrote; ValueError if it did not."""
        found = cls(
            plain["decimal"],
            dict(plain["decimals"]),
            dict(plain["missing"]),
            tuple(plain["blank"]),
            plain.get("trimmed"),
            dict(plain.get("units", {})),
            dict(plain.get("dates", {})),
        )
        by_column = (found.decimals, found.missing, found.units, found.dates)
        texts = [*found.blank, *(text for own in by_column for pair in own.items() for text in pair)]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a dialect of something other than texts")
        if found.trimmed not in (None, True, False) or type(found.trimmed) is int:
            raise ValueError("whether spaces were taken away")
        if found.decimal not in ("", *MARKS) or not set(found.decimals.values()) <= set(MARKS):
            raise ValueError("a decimal mark that is none")
        return found
