"""Schemas: columns are matched by name in any order, and what does not match is named."""

import pytest
from hypothesis import given, strategies as st

from suffice.errors import SchemaError
from suffice.schema import Column, Kind, Schema, sort_levels


def schema(*columns, named=True):
    return Schema(tuple(Column(name, kind) for name, kind in columns), named)


TWO = schema(("a", Kind.NUMERIC), ("b", Kind.STRING))
PLACES = schema((0, Kind.NUMERIC), (1, Kind.STRING), named=False)


@given(st.permutations(["a", "b", "c", "d", ""]))
def test_any_order_is_undone(names):
    first = schema(*[(name, Kind.NUMERIC) for name in ["a", "b", "c", "d", ""]])
    other = schema(*[(name, Kind.NUMERIC) for name in names])
    assert [names[i] for i in first.align(other, "model")] == list(first.names)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([("a", Kind.NUMERIC)], r"it lacks 'b'\."),
        ([("a", Kind.NUMERIC), ("b", Kind.STRING), ("c", Kind.STRING)], r"Model does not know 'c'\."),
        ([("a", Kind.NUMERIC), ("B", Kind.STRING)], r"it lacks 'b'; Model does not know 'B'"),
    ],
)
def test_missing_and_extra_columns_are_named(columns, message):
    with pytest.raises(SchemaError, match=message):
        TWO.align(schema(*columns), "Model")


@pytest.mark.parametrize("kind", [Kind.STRING, Kind.CATEGORICAL])
def test_a_changed_kind_is_named(kind):
    with pytest.raises(SchemaError, match=rf"Column 'a' was numeric when the model was fitted and is {kind.value} now"):
        TWO.align(schema(("a", kind), ("b", Kind.STRING)), "Model")
    with pytest.raises(SchemaError, match="Column 'b' was string"):
        TWO.align(schema(("a", Kind.NUMERIC), ("b", Kind.NUMERIC)), "Model")


def test_positions_where_either_side_has_no_names():
    assert PLACES.align(PLACES, "model") == (0, 1)
    assert PLACES.align(schema(("x", Kind.NUMERIC), ("y", Kind.STRING)), "model") == (0, 1)
    with pytest.raises(SchemaError, match="X has 1 features, but Model is expecting 2 features"):
        PLACES.align(schema((0, Kind.NUMERIC), named=False), "Model")
    with pytest.raises(SchemaError, match="Column 1 was string"):
        PLACES.align(schema((0, Kind.NUMERIC), (1, Kind.NUMERIC), named=False), "Model")


def test_a_column_without_values_fits_any_kind_and_settles_later():
    empty = schema(("a", Kind.EMPTY), ("b", Kind.EMPTY))
    assert empty.align(TWO, "model") == (0, 1)
    assert TWO.align(empty, "model") == (0, 1)
    swapped = schema(("b", Kind.STRING), ("a", Kind.NUMERIC))
    assert empty.settle(swapped, empty.align(swapped, "model")) == TWO
    assert TWO.settle(empty, (0, 1)) == TWO


def test_columns_are_found_by_name_or_position():
    assert TWO.positions(("b", "a")) == (1, 0)
    assert TWO.positions((1, "a")) == (1, 0)
    assert PLACES.positions((1,)) == (1,)
    for unknown in ("c", 2, -1):
        with pytest.raises(SchemaError, match=rf"no column {unknown!r}; the table has 'a', 'b'"):
            TWO.positions((unknown,))


def test_levels_have_one_order():
    assert sort_levels(["b", 2, "a", 10, 2.5, True]) == (True, 2, 2.5, 10, "a", "b")
    assert sort_levels([1, True, 1.0]) == (1,)
