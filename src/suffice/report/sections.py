"""The sections of the page, in their order: what each has to tell, as plain values; sections/ has how it is told.

To add one: a line in `SECTIONS`, and sections/<anchor>.html, which finds what `tell` returned as `told`. Where that is
None, the section is left out. Every partial also sees `facts`, `explorer`, `answers`, `suspects` and `pictures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..plots._view import View
from .effects import collect_effects
from .profile import profile_view
from .swarms import collect_swarms
from .worth import collect_worth


@dataclass(frozen=True)
class Subject:
    """What a page is about: a fitted model seen column by column, and what has been collected of it so far.

    `X`, `y` and `name` are the table given with it, X is None where there is none; `told` holds, by name, `facts`,
    `explorer`, `answers`, `suspects` and `pictures`.
    """

    view: View
    X: object = None
    y: object = None
    name: str = "the table"
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A part of the page: `anchor` is its address on it and the name of its partial, `title` its heading.

    `tell` returns what the partial finds as `told`; None leaves the section out.
    """

    anchor: str
    title: str
    tell: Callable[[Subject], object | None]


def _always(subject: Subject) -> object:
    return True


def _if_told(name: str) -> Callable[[Subject], object | None]:
    """Return a function that tells what was collected under a name, None where that is empty or says why not."""

    def tell(subject: Subject) -> object | None:
        found = subject.told[name]
        return None if not found or "why_not" in found else found

    return tell


def _if_asked(subject: Subject) -> object | None:
    """Tell whether the page can answer of a row, and has classes to hold against each other."""
    return None if "why_not" in subject.told["explorer"] or len(subject.view.classes) < 2 else True


def _colors(subject: Subject) -> list[str]:
    return [str(own["color"]) for own in subject.told["facts"]["classes"]]


def _table(subject: Subject) -> object:
    return profile_view(subject.view, subject.X, subject.y, subject.name)


SECTIONS: tuple[Section, ...] = (
    Section("quality", "How good it is", _always),
    Section("classes", "The classes", _always),
    Section("importance", "What each column is worth", lambda subject: collect_worth(subject.view)),
    Section("effects", "What each value says", lambda subject: collect_effects(subject.view, _colors(subject))),
    Section("swarms", "What the cells of rows say", lambda subject: collect_swarms(subject.view)),
    Section("explorer", "Ask it", _always),
    Section("waterfall", "Step by step to the answer", _if_asked),
    Section("answers", "What it says of {name}", _if_told("answers")),
    Section("table", "The table", _table),
    Section("columns", "The columns", _always),
    Section("pictures", "Pictures", lambda subject: subject.told["pictures"] or None),
    Section("suspects", "Which labels look wrong", _if_told("suspects")),
    Section("members", "Members", lambda subject: subject.told["facts"]["members"] or None),
    Section("notes", "What was repaired", _always),
)


def collect_sections(subject: Subject) -> list[dict[str, object]]:
    """Return the sections that this page has, each with its anchor, title and what it tells."""
    found: list[dict[str, object]] = []
    for section in SECTIONS:
        told = section.tell(subject)
        if told is not None:
            found.append({"anchor": section.anchor, "title": section.title.format(name=subject.name), "told": told})
    return found
