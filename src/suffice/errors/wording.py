"""How names and values stand in a message: quoted, and cut where they are long."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 1000  # characters of a message, whatever names and values users have
LONGEST_VALUE = 100  # characters of one name or value in it
# What moves a cursor, hides or turns text, or ends a line where none ends: control characters (a line break is left),
# the marks of Unicode that change the direction of writing, and halves of characters, which cannot be printed at all.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.){%d,}'|"(?:[^"\\]|\\.){%d,}\"""" % (LONGEST_VALUE, LONGEST_VALUE))  # noqa: UP031


def visible(text: object) -> str:
    """Return text for people to read, in which characters that a terminal would obey are written out as Python does.

    Names in a table are anyone's: one that holds ESC [ 2 J would otherwise clear the screen, and one with U+202E turn
    round what follows it. Line breaks stay, since messages have them.
    """
    return UNSEEN.sub(lambda found: repr(found[0])[1:-1], str(text))


def quoted(names: Sequence[object], limit: int = 8) -> str:
    """Join names for a message, the first `limit` of them."""
    some = ", ".join(shown(name) for name in names[:limit])
    return some if len(names) <= limit else f"{some} and {len(names) - limit} more"


def one_line(text: object) -> str:
    """Return a message on a single line."""
    return " ".join(str(text).split())


def sentence(why: object) -> str:
    """Return a reason on one line, without the full stop that ends the sentence around it."""
    return one_line(why).rstrip(". ")


def shown(value: object, limit: int = LONGEST_VALUE) -> str:
    """Return how Python writes a value, with the middle left out where that is longer than `limit` characters."""
    text = repr(value)
    return _cut(" ".join(text.split()) if "\n" in text else text, limit)


def brief(message: str) -> str:
    """Return a message of at most some 1,000 characters: long quoted names lose their middle, then the whole does.

    What to do next, at the end, stays.
    """
    if len(message) > LONGEST:
        message = _QUOTED.sub(lambda found: _cut(found[0], LONGEST_VALUE), message)
    if len(message) > LONGEST:
        what, mark, step = message.rpartition("Next: ")
        step = _cut(mark + step, LONGEST // 2)
        message = f"{_cut(what.rstrip(), LONGEST - len(step))} {step}" if mark else _cut(message, LONGEST)
    return message


def _cut(text: str, limit: int) -> str:
    tail = limit // 4
    return text if len(text) <= limit else f"{text[: limit - tail]} … {text[len(text) - tail :]}"
