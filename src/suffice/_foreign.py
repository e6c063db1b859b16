"""Duck typing: which foreign objects have the methods that ours have.

A family, a density or a statistic that somebody wrote elsewhere has the verbs that its contract says it must have, and
some of those that it may have. Wrapped once, where it comes in, it has all of them, and nobody else needs to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Foreign:
    """An object of another make: equal, hashed and printed as it is; what ours do not name is asked of it itself."""

    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        self.given = given

    def offered(self, name: str, default: Any = None) -> Any:
        """Return what the object has under this name, or the default."""
        try:
            return self.__getattr__(name)
        except AttributeError:
            return default

    def asked(self, verb: str, default: Callable[..., Any], *arguments: object) -> Any:
        """Return what its own verb answers, of arguments as they were handed in; if it has none, the default."""
        own = self.offered(verb)
        return default(self, *arguments) if own is None else own(*map(given, arguments))

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
