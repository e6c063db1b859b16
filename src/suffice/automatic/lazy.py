"""Thread-safe lazy values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


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


class PartlyLazy(Mapping[str, T]):
    """Values by name, of which some are there, and each other is made, with those made together, when asked for."""

    def __init__(self, now: Mapping[str, T], later: Mapping[str, Lazy[Mapping[str, T]]], names: Sequence[str]) -> None:
        self._now, self._later, self._names = now, later, tuple(names)

    def __getitem__(self, name: str) -> T:
        return self._now[name] if name in self._now else self._later[name]()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
