"""Which columns of a table hold texts: values that are many, of several words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from .._arrays import np
from ..schema import Kind, Name
from .cells import Looked, holds_value

LOOKED_AT = 1000  # levels of a column
FEWEST = 50  # different texts; of fewer, values are categories however long they are
MANY = 0.5  # of the cells there are, so many are different
WORDS = 4  # on average
GLANCE, HINT = 64, 2  # cells that are looked at first, and the words they have on average where all are read


def are_sentences(levels: Iterable[object]) -> bool:
    """Return whether levels have four words or more on average."""
    return _words(islice(levels, LOOKED_AT)) >= WORDS


def text_columns(table: Looked) -> list[Name]:
    """Return the names of columns of text whose values are many and of several words."""
    found = []
    for position, column in enumerate(table.schema.columns):
        if column.kind is Kind.STRING and _words(filter(holds_value, table.some(position, GLANCE))) >= HINT:
            levels, codes = table.categories(position)
            if are_texts(levels, float((np.asarray(codes) >= 0).sum())):
                found.append(column.name)
    return found


def are_texts(levels: Sequence[object], cells: float) -> bool:
    """Return whether levels of so many cells are texts: many, and of several words."""
    return len(levels) >= max(FEWEST, MANY * cells) and are_sentences(levels)


def _words(values: Iterable[object]) -> float:
    counts = [len(str(value).split()) for value in values]
    return sum(counts) / max(len(counts), 1)
