"""Values made when first asked for, and kept beside the immutable value they are made of.

`memoize` keeps what a function makes of a value beside it; `derived` and `shared` are attributes that do so. `once` is
for what is made of a value and a key, such as a column. `Lazy` is for what takes long to make, and must not be made by
two threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
V = TypeVar("V")
MADE, SHARED = "_made", "_shared"  # under these a value holds two dicts: what is its own, and what it has in common


def memoize(value: V, make: Callable[[V], T], whatever_priors: bool = False) -> T:
    """Return make(value), computed once; `whatever_priors`: once for all values that `share` it.

    What was made is kept beside the value; copies, files and pickles do without it. It takes no lock: two threads that
    make it at once make the same, and both get that of the first.
    """
    known: dict[object, T] = shared_with(value) if whatever_priors else vars(value).setdefault(MADE, {})
    return known[make] if make in known else known.setdefault(make, make(value))


def once(value: object, key: Hashable, make: Callable[[], T]) -> T:
    """Return make(), computed the first time that is asked of a value under this key; see `memoize`."""
    known: dict[object, T] = vars(value).setdefault(MADE, {})
    return known[key] if key in known else known.setdefault(key, make())


def has_made(value: object, make: object) -> bool:
    """Return whether `memoize(value, make)`, or the attribute of this function, was asked for before."""
    return make in vars(value).get(MADE, {}) or make in shared_with(value)


def shared_with(value: object) -> dict[Any, Any]:
    """Return the dict of what is shared among values like this one, by what made it."""
    known: dict[Any, Any] = vars(value).setdefault(SHARED, {})
    return known


def share(value: object, other: T) -> T:
    """Return the other value, which from now on has what is shared in common with the first."""
    vars(other)[SHARED] = shared_with(value)
    return other


class derived(Generic[T]):  # noqa: N801 - a decorator
    """An attribute made when first asked for; see `memoize`."""

    whatever_priors = False

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    @overload
    def __get__(self, value: None, owner: type) -> Self: ...
    @overload
    def __get__(self, value: object, owner: type) -> T: ...
    def __get__(self, value: object, owner: type) -> Self | T:
        return self if value is None else memoize(value, self.make, self.whatever_priors)


class shared(derived[T]):  # noqa: N801 - a decorator
    """A derived attribute that neither class priors nor what became of a model change."""

    whatever_priors = True


class Lazy(Generic[T]):
    """A value made by the first call, while others wait for it; what it is made of is let go then. Copies hold it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._lock = threading.Lock()
        self._make: Callable[[], T] | None = make
        self._made: list[T] = []

    def __call__(self) -> T:
        with self._lock:
            if self._make is not None:
                self._made.append(self._make())
                self._make = None
        return self._made[0]

    def __reduce__(self) -> tuple[Callable[[T], Lazy[T]], tuple[T]]:
        return _known, (self(),)


def _known(value: T) -> Lazy[T]:
    return Lazy(lambda: value)
