"""How settings, models, names and values stand in a message: as the front end writes them, quoted, and cut if long.

Messages are made for whoever reads them: in Python a setting is `keep_rows=2000`, for a command `--keep-rows 2000`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote

PACKAGE = Path(__file__).resolve().parents[1]
LONGEST = 1000  # characters of a message, whatever names and values users have
LONGEST_VALUE = 100  # characters of one name or value in it
LONGEST_CELL = 40  # characters of a cell, as it is shown beside others
GAP = "  "  # between columns of a table
LEAST_CELL = 12  # characters of a name in a table, however narrow the page
# What moves a cursor, hides or turns text, or ends a line where none ends: control characters (a line break is left),
# the marks of Unicode that change the direction of writing, spaces that look like another one, and halves of
# characters, which cannot be printed at all.
UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\xa0\u061c\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\ud800-\udfff\ufeff]"
)
BLANKS = re.compile("^ +| +$|  +")  # spaces at an end or several together
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.){%d,}'|"(?:[^"\\]|\\.){%d,}\"""" % (LONGEST_VALUE, LONGEST_VALUE))  # noqa: UP031


@dataclass(frozen=True)
class FrontEnd:
    """What a program around this library calls settings and, with an article, models, by their names in Python."""

    options: Mapping[str, str]
    models: Mapping[str, str]


_front_ends: list[FrontEnd] = []  # the last one is whom messages are for; Python, where there is none


@contextmanager
def worded_for(front_end: FrontEnd) -> Iterator[None]:
    """Word messages for a front end while the block runs, in every thread: it runs in a process of its own."""
    _front_ends.append(front_end)
    try:
        yield
    finally:
        _front_ends.pop()


def either(python: str, options: str) -> str:
    """Return the words for people who call the library, or those for people who give options to a command."""
    return options if _front_ends else python


def setting(name: str, *value: object) -> str:
    """Return how a setting is written, with its value if one is given: `keep_rows=2000`, or `--keep-rows 2000`."""
    if not _front_ends:
        return "=".join([name, *map(repr, value)])
    option = _front_ends[-1].options.get(name, name.replace("_", " "))
    return " ".join([option, *(own if isinstance(own, str) else shown(own) for own in value)])


def pip_install(extra: str, package: Path = PACKAGE) -> str:
    """Return the command that installs an extra: from the folder that suffice was installed from, if there is one."""
    source = package.parents[1]  # of a checkout whose src is on the path
    for origin in package.parent.glob("suffice-*.dist-info/direct_url.json"):  # as pip writes it
        address = json.loads(origin.read_text(encoding="utf-8"))["url"]
        source = Path(unquote(address.removeprefix("file://" if os.sep == "/" else "file:///")))
    is_ours = (source / "pyproject.toml").is_file() and (source / "src" / "suffice").is_dir()
    return f'pip install "{source if is_ours else "suffice"}[{extra}]"'


def a_model(name: str) -> str:
    """Return what a model of an estimator's class is called, with its article."""
    python = f"a {name}"
    return _front_ends[-1].models.get(name, python) if _front_ends else python


def visible(text: object) -> str:
    """Return text for people to read, in which characters that a terminal would obey are written out as Python does.

    Names in a table are anyone's: one that holds ESC [ 2 J would otherwise clear the screen, and one with U+202E turn
    round what follows it. Line breaks stay, since messages have them.
    """
    return UNSEEN.sub(lambda found: repr(found[0])[1:-1], str(text))


def spaced(text: object) -> str:
    """Return text in which spaces at an end, or several together, are marked: two levels then look different."""
    return BLANKS.sub(lambda found: "␣" * len(found[0]), visible(text))


def align(
    rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), width: int | None = None, fold: bool = True
) -> list[str]:
    """Return table rows as lines with columns below each other; those numbered in `left` are flush left.

    Where lines would be longer than `width`, the longest cells flush left are cut, down to 12 characters each. Where
    that is not enough the table is folded: what does not fit stands below, behind the first column again.
    """
    rows = [[visible(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    if width is None:
        return _lines(rows, widths, left)
    whole = widths.copy()
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        longest = max(left, key=lambda j: widths[j], default=None)
        if longest is None or widths[longest] <= LEAST_CELL:
            widths = [min(own, max(LEAST_CELL, width // 2)) if j in left else own for j, own in enumerate(whole)]
            break
        widths[longest] -= 1
    lines, start, stop = list[str](), 1, len(widths)
    while fold and start < len(widths) and widths[0] + sum(len(GAP) + own for own in widths[start:stop]) > width:
        stop = start + 1
        while widths[0] + sum(len(GAP) + own for own in widths[start : stop + 1]) <= width:
            stop += 1
        lines += [*_lines(rows, widths, left, [0, *range(start, stop)]), ""]
        start, stop = stop, len(widths)
    return [*lines, *_lines(rows, widths, left, [0, *range(start, stop)])] if start < stop or not lines else lines


def _lines(
    rows: Sequence[Sequence[str]], widths: Sequence[int], left: Sequence[int], columns: Sequence[int] = ()
) -> list[str]:
    """Return some columns of a table, or all, as lines; cells longer than their column are cut."""
    lines = []
    for row in rows:
        cells = []
        for j in columns or range(len(widths)):
            cell = row[j] if len(row[j]) <= widths[j] else f"{row[j][: widths[j] - 1]}…"
            cells.append(cell.ljust(widths[j]) if j in left else cell.rjust(widths[j]))
        lines.append(GAP.join(cells).rstrip())
    return lines


def quoted(names: Sequence[object], limit: int = 8) -> str:
    """Join names for a message, the first `limit` of them."""
    some = ", ".join(shown(name) for name in names[:limit])
    return some if len(names) <= limit else f"{some} and {len(names) - limit:,} more"


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three names written nearly like this one, in small or large letters, the nearest first."""
    lower = {word.lower(): word for word in known}
    return [lower[near] for near in get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]


def did_you_mean(name: str, known: Sequence[str], what: str) -> str:
    """Return a clause that says what there is instead of a name: the nearest names, or all of them."""
    near = closest(name, known)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"{what} {quoted(known)}."


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 1,000 rows, 2 classes."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def one_line(text: object) -> str:
    """Return a message on a single line."""
    return " ".join(str(text).split())


def sentence(why: object) -> str:
    """Return a reason on one line, without the full stop that ends the sentence around it."""
    return one_line(why).rstrip(". ")


def shown(value: object, limit: int = LONGEST_VALUE) -> str:
    """Return how Python writes a value, with the middle left out where that is longer than `limit` characters."""
    text = repr(value)
    return cut(" ".join(text.split()) if "\n" in text else text, limit)


def brief(message: str) -> str:
    """Return a message of at most some 1,000 characters: long quoted names lose their middle, then the whole does.

    What to do next, at the end, stays.
    """
    if len(message) > LONGEST:
        message = _QUOTED.sub(lambda found: cut(found[0], LONGEST_VALUE), message)
    if len(message) > LONGEST:
        what, mark, step = message.rpartition("Next: ")
        step = cut(mark + step, LONGEST // 2)
        message = f"{cut(what.rstrip(), LONGEST - len(step))} {step}" if mark else cut(message, LONGEST)
    return message


def cut(text: str, limit: int = LONGEST_CELL) -> str:
    """Return a text with its middle left out where it is longer than `limit` characters."""
    tail = limit // 4
    return text if len(text) <= limit else f"{text[: limit - tail]} … {text[len(text) - tail :]}"
