"""The tree of merges: its shape depends on the number of parts alone."""

from dataclasses import dataclass

import pytest

from suffice.engines import Fold


@dataclass(frozen=True)
class Written:
    """A state that shows how it was merged."""

    text: str

    def merge(self, other):
        return Written(f"({self.text}{other.text})")


def tree(states):
    """Eight at a time, then the results, written the plain way."""
    while len(states) > 1:
        groups = [states[i : i + 8] for i in range(0, len(states), 8)]
        states = []
        for first, *others in groups:
            for other in others:
                first = first.merge(other)
            states.append(first)
    return states[0]


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 72, 73, 512, 513, 600])
def test_is_a_tree_of_eight(n):
    states = [Written(chr(0x100 + i)) for i in range(n)]
    fold = Fold()
    for state in states:
        fold.push(state)
    assert fold.result() == tree(states)


def test_holds_few_states():
    fold = Fold()
    for _ in range(5000):
        fold.push(Written(""))
    assert len(fold.levels) == 5


def test_parts_without_a_row_change_nothing():
    fold = Fold()
    for state in (None, Written("a"), None, Written("b"), None):
        fold.push(state)
    assert fold.result() == Written("(ab)")
    assert Fold().result() is None
