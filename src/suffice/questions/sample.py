"""Draw new rows from the joint density."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils import check_random_state

from .._arrays import Array, np
from ..densities import Rows
from ..errors import SettingError, quoted
from ..estimate import Block
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Column, Kind, Name, Schema
from ..stats import CategoricalStats, Statistic
from ..table import NewColumn, Table, make_sparse, make_table, read_table, stack_sparse
from ..table.cells import holds_value
from ..tasks.sample import sample
from .cells import check_fillable, read_count, values_of

SCALARS = (str, bool, int, float, np.generic)


def draw_rows(
    fitted: Fitted,
    n: int,
    label: object,
    given: Mapping[Name, object] | None,
    random_state: object,
    container: str | None = None,
) -> tuple[Any, Any]:
    """Return rows in a table of this kind, by default the one the model was fitted on, and labels."""
    number, model = read_count(n, "n"), fitted.joint
    known = None if label is None else _class_number(fitted, label)
    rng = check_random_state(random_state)
    row = _given_row(fitted, given or {})
    check_fillable(fitted, row, model, "sample")
    container = container or fitted.schema.container
    chunks = sample(model, number, row, len(fitted.schema), rng, known)
    parts, codes = [], []
    for rows, own in chunks:
        codes.append(own)
        parts.append([make_sparse(_matrix(fitted, rows))] if container == "sparse" else rows)
    labels = fitted.labels[np.concatenate(codes)]
    if container == "sparse":
        return stack_sparse([part[0] for part in parts]), labels
    blocks = [_stack(block) for block in zip(*parts, strict=True)]
    return make_table(container, fitted.schema.named, _columns(fitted, blocks, model)), labels


def _class_number(fitted: Fitted, label: object) -> int:
    classes = fitted.statistics.classes
    same = [i for i, own in enumerate(classes) if isinstance(label, SCALARS) and own == label]
    if not same:
        raise SettingError(f"label={label!r} is not a class of this model. Next: use one of {quoted(classes)}.")
    return same[0]


def _given_row(fitted: Fitted, given: Mapping[Name, object]) -> Rows:
    """Return one row by block: the given cells, all others missing."""
    schema = fitted.schema
    positions = schema.positions(list(given))
    if len(set(positions)) < len(positions):
        raise SettingError(f"given={dict(given)!r} names a column twice. Next: name each once.")
    cells = np.full((1, len(schema)), None, dtype=object)
    for position, (name, value) in zip(positions, given.items(), strict=True):
        if not isinstance(value, SCALARS) or not holds_value(value):
            raise SettingError(f"given {name!r} is {value!r}, no value of a cell. Next: give one, or leave it out.")
        cells[0, position] = value
    table = read_table(cells)
    kinds = [column.kind for column in table.schema.columns]
    for own, kind in zip(schema.columns, kinds, strict=True):
        if Kind.EMPTY not in (own.kind, kind) and own.kind.is_number != kind.is_number:
            raise SettingError(
                f"given {own.name!r} is {cells[0, schema.names.index(own.name)]!r}, and the column holds "
                f"{own.kind.value} values. Next: give one of those."
            )
    # errors of the families name columns as the model does
    table.schema = Schema(tuple(map(Column, schema.names, kinds)), schema.named)
    told = set(positions)
    blocks = zip(fitted.blocks, fitted.statistics.blocks, strict=True)
    return tuple(_given_block(fitted, block, stats, table, told) for block, stats in blocks)


def _given_block(fitted: Fitted, block: Block, stats: Statistic, table: Table, told: set[int]) -> Any:
    own = [p for p in block.positions if p in told]
    names = fitted.schema.names
    if not block.family.takes_missing and len(own) < len(block.positions):
        if own:
            raise SettingError(
                f"given {names[own[0]]!r} is one of the columns that share out a total (family "
                f"{block.family.name!r}), and some of the others are not given. Next: give all or none of them."
            )
        return np.full((1, len(block.positions)), np.nan)
    row = block.family.recode(block.family.encode(table, block.positions), stats)
    if isinstance(row, tuple):
        assert isinstance(stats, CategoricalStats)
        for j, position in enumerate(block.positions):
            levels = stats.levels[j]
            if position in told and row[j][0] == len(levels):
                raise SettingError(
                    f"given {names[position]!r} is a category never seen. Next: use one of {quoted(levels)}."
                )
    return row


def _columns(fitted: Fitted, blocks: Rows, model: JointModel) -> list[NewColumn]:
    """Return the columns of new rows, in the order of the model's."""
    columns: list[NewColumn | None] = [None] * len(fitted.schema)
    for block, rows, density in zip(fitted.blocks, blocks, model.density.blocks, strict=True):
        whole = block.family.support in ("counts", "shares", "truths")
        for j, position in enumerate(block.positions):
            column = fitted.schema.columns[position]
            coded = isinstance(rows, tuple)
            levels = density.column_levels(j) if coded else None
            values = values_of(rows[j] if coded else rows[:, j], column.kind, levels)
            if whole and values.dtype.kind == "f":
                values = values.astype(np.int64)
            columns[position] = NewColumn(column.name, column.kind, values, None if levels is None else tuple(levels))
    return [column for column in columns if column is not None]


def _matrix(fitted: Fitted, blocks: Rows) -> Array:
    """Return new rows of numbers as one array (n, d)."""
    out = np.empty((len(blocks[0]), len(fitted.schema)))
    for block, rows in zip(fitted.blocks, blocks, strict=True):
        out[:, list(block.positions)] = rows
    return out


def _stack(parts: Sequence[Any]) -> Any:
    """Return a block of all chunks of rows."""
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
    return np.concatenate(parts)
