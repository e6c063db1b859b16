"""Merge the states of parts in an order that depends on their number alone, so that any engine gives the same bits.

States are merged eight at a time, the results again, and so on: a tree of fan-in eight over the parts in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ..errors import SufficeError
from .arrow import Table
from .parts import Part

FAN_IN = 8


class State(Protocol):
    """What is learned from some rows."""

    @property
    def rows(self) -> int:
        """How many rows that are."""

    def merge(self, other: Self) -> Self:
        """Return what is learned from both sets of rows."""


Kernel = Callable[[Table], State | None]  # None of no row


@dataclass
class Fold:
    """The states of the parts so far: for each level of the tree, how many are merged and what they gave."""

    levels: list[tuple[int, Any]] = field(default_factory=list)
    parts: int = 0

    def push(self, state: State | None) -> None:
        """Add the state of the next part."""
        self.parts += 1
        for number, (count, sofar) in enumerate(self.levels):
            merged = state if count == 0 else merged_pair(sofar, state)
            if count + 1 < FAN_IN:
                self.levels[number] = (count + 1, merged)
                return
            self.levels[number] = (0, None)
            state = merged
        self.levels.append((1, state))

    def result(self) -> State | None:
        """Return the state of all parts, or None if there was none."""
        carried: State | None = None
        for count, sofar in self.levels:
            if count:
                carried = merged_pair(sofar, carried)
        return carried


def merged_pair(one: State | None, other: State | None) -> State | None:
    """Return the state of the rows of both; None is that of no row."""
    return other if one is None else one if other is None else one.merge(other)


def merge_all(states: Iterable[State | None]) -> State | None:
    """Return the states merged one after the other."""
    merged: State | None = None
    for state in states:
        merged = merged_pair(merged, state)
    return merged


def learn_part(part: Part, kernel: Kernel, columns: Sequence[str], rows: int) -> State | None:
    """Return the state of a part, read and summarised table by table; None if it holds no row.

    An error names the part.
    """
    try:
        return merge_all(kernel(table) for table in part.tables(columns, rows))
    except SufficeError as error:
        raise placed(error, part.where) from error


def placed(error: SufficeError, where: str) -> SufficeError:
    """Return the same refusal saying where it arose."""
    if where in str(error):
        return error
    try:
        return type(error)(f"{where}: {error}")
    except TypeError:
        return error
