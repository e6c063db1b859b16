"""Duck typing: which foreign objects have the methods that ours have.

A family, a density or a statistic that somebody wrote elsewhere has the verbs that its contract says it must have, and
some of those that it may have. Wrapped once, where it comes in, it has all of them, and nobody else needs to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Foreign:
    """An object of another make: equal, hashed and printed as it is; what ours do not name is asked of it itself.

    A subclass, whose second base is a contract, asks the object for every verb and property of that, and has those of
    the contract itself where the object has none. Answers of the verbs named in `made` are made into what is ours.
    """

    __slots__ = ("given",)

    def __init_subclass__(cls, **made: Callable[[Any], Any]) -> None:
        for name, own in vars(cls.__bases__[1]).items():
            if name.startswith("_") or name in vars(cls):
                continue
            if isinstance(own, property):
                setattr(cls, name, _asked_property(name, own))
            elif callable(own):
                setattr(cls, name, _asked_verb(name, own, made.get(name)))

    def __init__(self, given: Any) -> None:
        self.given = given

    def offered(self, name: str) -> Any:
        """Return what the object has under this name, None where it has nothing."""
        return getattr(self.given, name, None)

    def __getattr__(self, name: str) -> Any:
        if name == "given" or name.startswith("__"):  # while a copy or a pickle is being made
            raise AttributeError(name)
        return getattr(self.given, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.given == given(other))

    def __hash__(self) -> int:
        return hash(self.given)

    def __repr__(self) -> str:
        return repr(self.given)

    def __reduce__(self) -> tuple[type[Foreign], tuple[Any]]:
        return type(self), (self.given,)


def given(value: Any) -> Any:
    """Return an object as it was handed in."""
    return value.given if isinstance(value, Foreign) else value


def _asked_property(name: str, default: property) -> property:
    """Return a property that asks the object of another make, which must have one that the contract owes."""
    owed = getattr(default, "__isabstractmethod__", False)

    def ask(self: Foreign) -> Any:
        if owed or self.offered(name) is not None:
            return getattr(self.given, name)
        return default.__get__(self)

    return property(ask)


def _asked_verb(name: str, default: Callable[..., Any], made: Callable[[Any], Any] | None) -> Callable[..., Any]:
    """Return a method that asks the object of another make, with arguments as they were handed in."""
    owed = getattr(default, "__isabstractmethod__", False)

    def ask(self: Foreign, *arguments: object) -> Any:
        if not owed and not callable(self.offered(name)):
            return default(self, *arguments)
        found = getattr(self.given, name)(*map(given, arguments))
        return found if made is None else made(found)

    return ask
