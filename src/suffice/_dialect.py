"""The dialect of a file (decimal mark, missing markers, spaces, date notation), remembered for the next file."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MARKS = (".", ",")
LATER = ("trimmed", "units", "dates")  # what older files do not say


class Remark(UserWarning):
    """How a table was read, where that had to be guessed or asked for."""


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
        """Return JSON values, of what older files lack only what is known."""
        return {name: own for name, own in asdict(self).items() if name not in LATER or own not in (None, {})}

    @classmethod
    def of(cls, plain: Any) -> Dialect:
        """Return the dialect that `plain` wrote; ValueError if it did not."""
        found = cls(**{**plain, "blank": tuple(plain["blank"])})
        by_column = (found.decimals, found.missing, found.units, found.dates)
        texts = [*found.blank, *(text for own in by_column for pair in own.items() for text in pair)]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a dialect of something other than texts")
        if found.trimmed not in (None, True, False) or type(found.trimmed) is int:
            raise ValueError("whether spaces were taken away")
        if found.decimal not in ("", *MARKS) or not set(found.decimals.values()) <= set(MARKS):
            raise ValueError("a decimal mark that is none")
        return found


# What `str.isspace` calls a space, no-break and other ones of Unicode too, and three signs of no width.
SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
    "\u200b\u2060\ufeff"
)


def trimmed(text: str) -> str:
    """Return a text without the spaces around it."""
    return text.strip(SPACES)


def trimmed_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns without the spaces around them, but for those that would then be alike."""
    short = [trimmed(name) for name in names]
    often = Counter(short)
    return tuple(name if often[own] > 1 else own for name, own in zip(names, short, strict=True))


def skeleton(text: str) -> str:
    """Return what two texts have in common that differ only by case, by spaces or by how Unicode writes a letter."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in unicodedata.normalize("NFKC", plain) if sign not in SPACES)
