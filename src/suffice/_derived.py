"""Attributes derived from a value that never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
ORIGIN = "_origin"


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
    def __get__(self, value: Any, owner: type) -> Any:
        if value is None:
            return self
        return vars(value).setdefault(self.name, self._made(value))  # found there before this is asked again

    def _made(self, value: Any) -> T:
        return self.make(value)


class shared(derived[T]):  # noqa: N801 - a decorator
    """A derived attribute that class priors do not change: a value under other priors has it of its origin."""

    def _made(self, value: Any) -> T:
        origin = vars(value).get(ORIGIN)
        return self.make(value) if origin is None else getattr(origin, self.name)
