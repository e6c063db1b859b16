"""Columns of integers, coded as categories a block of rows at a time."""

import numpy as np
import pytest

from suffice.table import cells, read_table

KINDS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def decoded(X):
    """Return the cells of a table read from its levels and codes."""
    table = read_table(X)
    columns = (table.categories(j) for j in range(X.shape[1]))
    return [[levels[code] for code in codes.tolist()] for levels, codes in columns]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", ["lowest", "highest", "everywhere", "near zero"])
def test_every_kind_and_size_of_integer(rng, monkeypatch, kind, where):
    monkeypatch.setattr(cells, "IN_CACHE", 8 * 12)  # several blocks
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    ends = {"lowest": (least, least + 5), "highest": (most - 5, most), "everywhere": (least, most), "near zero": (0, 5)}
    X = rng.integers(*ends[where], size=(60, 3), dtype=kind, endpoint=True)
    assert decoded(X) == X.T.tolist()


@pytest.mark.parametrize("late", [-3, -100, 90, 200, -3000, 5000, 10**12])
def test_a_value_that_first_appears_in_a_later_block(rng, monkeypatch, late):
    monkeypatch.setattr(cells, "IN_CACHE", 8 * 12)
    X = rng.integers(40, 50, size=(60, 3))
    X[55, 1] = late
    assert decoded(X) == X.T.tolist()


def test_one_column_that_spans_too_much_leaves_the_others(rng):
    X = np.column_stack([rng.integers(0, 4, 50), rng.integers(0, 10**9, 50)])
    table = read_table(X)
    assert isinstance(table.categories(0)[0], range)
    assert not isinstance(table.categories(1)[0], range)
    assert decoded(X) == X.T.tolist()
