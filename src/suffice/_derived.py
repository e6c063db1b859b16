"""Lazily computed, memoized attributes of immutable values."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
SHARED = "_shared"  # under this name values that differ in class priors or past alone have one dict


class derived(Generic[T]):  # noqa: N801 - a decorator
    """An attribute made when first asked for and kept beside the value; copies, files and pickles do without it.

    Unlike `functools.cached_property` it takes no lock: two threads that make it at once make the same.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, value: None, owner: type) -> Self: ...
    @overload
    def __get__(self, value: object, owner: type) -> T: ...
    def __get__(self, value: object, owner: type) -> Self | T:
        if value is None:
            return self
        found: T = vars(value).setdefault(self.name, self._made(value))  # found there before this is asked again
        return found

    def _made(self, value: object) -> T:
        return self.make(value)


class shared(derived[T]):  # noqa: N801 - a decorator
    """A derived attribute that neither class priors nor what became of a model change; see `shared_with`."""

    def _made(self, value: object) -> T:
        known: MutableMapping[str, T] = shared_with(value)
        return known[self.name] if self.name in known else known.setdefault(self.name, self.make(value))


def shared_with(value: object) -> dict[str, Any]:
    """Return the dict of what is shared among values like this one."""
    known: dict[str, Any] = vars(value).setdefault(SHARED, {})
    return known


def has_made(value: object, make: object) -> bool:
    """Return whether `value.memoize(make)` was asked for before."""
    return make in vars(value).get("_made", {})


def share(value: object, other: T) -> T:
    """Return the other value, which from now on has what is shared in common with the first."""
    vars(other)[SHARED] = shared_with(value)
    return other
