"""Whitespace in text cells: what counts as one, and which texts differ by nothing else."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

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
