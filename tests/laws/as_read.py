"""Columns of a table as it is read: their kinds, and their cells."""

from suffice.table import read_table


def kinds(X):
    return [column.kind.value for column in read_table(X).schema.columns]


def cells(X, position=0):
    """Return a column as its levels by row, None where missing."""
    levels, codes = read_table(X).categories(position)
    assert len(set(levels)) == len(levels)
    return [None if code < 0 else levels[code] for code in codes.tolist()]
