"""Draw new rows from the joint density."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from sklearn.utils import check_random_state

from .._arrays import IN_MEMORY, Array, Codes, is_whole, np, row_chunks, rows_within
from ..classify import log_posterior
from ..densities import Density, Rows
from ..densities.counts import draw_codes
from ..densities.product import missing_cells, take_rows
from ..errors import DataError, SettingError, either, quoted, setting
from ..estimate import Block
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Column, Kind, Level, Name, Schema
from ..stats import Statistic
from ..table import NewColumn, Table, make_sparse, make_table, read_table
from ..table.cells import Cells, holds_value
from ..table.writing import FRAMES
from .recorded import ByBlock, draw_cells, recorded

SCALARS = (str, bool, int, float, np.generic)
CANDIDATES = 8  # rows drawn for each that is kept, where they are chosen by their weights
EXACT = 2.0**53  # below it floats hold every integer


def draw_rows(
    fitted: Fitted,
    n: int,
    label: object,
    given: Mapping[Name, object] | None,
    random_state: object,
    container: str | None = None,
    as_recorded: bool = True,
) -> tuple[Any, Any]:
    """Return rows in a table of this kind, by default the one the model was fitted on, and labels.

    `as_recorded` draws numbers that the table could hold, see `recorded`. Where posteriors are not those of the joint
    model, rows are drawn from its p(x) and labels from the posterior of each row.
    """
    number, rng = read_count(n, "n"), check_random_state(random_state)
    known = None if label is None else _class_number(fitted, label)
    asked = fitted.joint_value
    row, wanted = _given_row(asked, given or {}), container or fitted.schema.container
    kept = recorded(asked) if as_recorded else None
    check_fillable(asked, row, asked.joint, "sample", fitted.empty_columns, new=True)
    if asked is not fitted and known is not None:
        parts = [_draw(asked, CANDIDATES // 2 * number, own, row, kept, rng)[0] for own in (None, known)]
        candidates = [_stack(pair) for pair in zip(*parts, strict=True)]
        blocks = _heaviest(fitted, candidates, _table(asked, candidates, wanted, kept), number, known, rng)
        return _table(asked, blocks, wanted, kept), fitted.labels[np.full(number, known)]
    blocks, codes = _draw(asked, number, known, row, kept, rng)
    X = _table(asked, blocks, wanted, kept)
    if asked is not fitted:
        codes = draw_codes(np.exp(fitted.log_posterior(fitted.rows(X))), rng)
    return X, fitted.labels[codes]


def _draw(
    asked: Fitted, n: int, known: int | None, given: Rows, kept: ByBlock | None, rng: np.random.RandomState
) -> tuple[Rows, Codes]:
    """Return new rows of a joint model by block, and their class numbers (n,)."""
    chunks = list(sample(asked.joint, n, given, len(asked.schema), rng, known, kept))
    blocks = [_stack(block) for block in zip(*(rows for rows, _ in chunks), strict=True)]
    return blocks, np.concatenate([codes for _, codes in chunks])


def _heaviest(fitted: Fitted, blocks: Rows, X: object, n: int, known: int, rng: np.random.RandomState) -> Rows:
    """Return rows of p(x | k) ∝ p(k | x) p(x), where p(k | x) is not that of the joint model p(x).

    Of candidates `X`, half from p(x) and half from the joint model's p(x | k), some are kept by their weights
    p(k | x) p(x) / q(x), each at most once (sampling-importance resampling, Rubin 1988).
    """
    asked = fitted.joint_value
    wanted = np.exp(fitted.log_posterior(fitted.rows(X))[:, known])
    ratio = np.exp(asked.log_posterior(asked.rows(X))[:, known] - asked.log_prior[known])
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(wanted) - np.log1p(ratio) + rng.gumbel(size=len(wanted))), kind="stable")
    return [take_rows(block, order[:n]) for block in blocks]


def _table(asked: Fitted, blocks: Rows, container: str, kept: ByBlock | None) -> Any:
    """Return a table of new rows."""
    if container == "sparse" and not any(isinstance(rows, tuple) for rows in blocks):
        out = np.empty((len(blocks[0]), len(asked.schema)))
        for block, rows in zip(asked.blocks, blocks, strict=True):
            out[:, list(block.positions)] = rows
        return make_sparse(out)
    # an array has one type for all of its numbers
    whole = _whole_columns(asked, kept) if container in FRAMES else set()
    table = make_table(container, asked.schema.named, _columns(asked, blocks, asked.joint, whole))
    return make_sparse(np.asarray(table)) if container == "sparse" else table


def _class_number(fitted: Fitted, label: object) -> int:
    classes = fitted.statistics.classes
    same = [i for i, own in enumerate(classes) if isinstance(label, SCALARS) and own == label]
    if not same:
        raise SettingError(
            f"{setting('label', label)} is not a class of this model. Next: use one of {quoted(classes)}."
        )
    return same[0]


def _given_row(fitted: Fitted, given: Mapping[Name, object]) -> Rows:
    """Return one row by block: the given cells, all others missing."""
    schema = fitted.schema
    positions = schema.positions(list(given))
    if len(set(positions)) < len(positions):
        raise SettingError(f"{setting('given', dict(given))} names a column twice. Next: name each once.")
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
    blocks = zip(fitted.blocks, fitted.statistics.blocks, fitted.joint.density.blocks, strict=True)
    return tuple(_given_block(fitted, block, stats, density, table, told) for block, stats, density in blocks)


def _given_block(fitted: Fitted, block: Block, stats: Statistic, density: Density, table: Table, told: set[int]) -> Any:
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
    for j, position in enumerate(block.positions):
        levels = density.column_levels(j)
        if position in told and levels is not None:
            code = row[j][0] if isinstance(row, tuple) else row[0, j]
            if code >= len(levels):
                raise SettingError(
                    f"given {names[position]!r} is a category never seen. Next: use one of {quoted(levels)}."
                )
    return row


def _whole_columns(fitted: Fitted, kept: ByBlock | None) -> set[int]:
    """Return the positions of columns in which only whole numbers were recorded."""
    blocks = zip(fitted.blocks, kept or (), strict=False)
    return {block.positions[j] for block, own in blocks if own is not None for j in np.flatnonzero(own.whole)}


def _columns(fitted: Fitted, blocks: Rows, model: JointModel, whole: Container[int]) -> list[NewColumn]:
    """Return the columns of new rows, in the order of the model's, whole numbers as integers."""
    columns: list[NewColumn | None] = [None] * len(fitted.schema)
    for block, rows, density in zip(fitted.blocks, blocks, model.density.blocks, strict=True):
        counts = block.family.support in ("counts", "shares", "truths")
        for j, position in enumerate(block.positions):
            column = fitted.schema.columns[position]
            levels = density.column_levels(j)
            values = values_of(rows[j] if isinstance(rows, tuple) else rows[:, j], column.kind, levels)
            if values.dtype.kind == "f" and (counts or (position in whole and _are_integers(values))):
                values = values.astype(np.int64)
            told = None if levels is None else column.in_order(levels)
            columns[position] = NewColumn(column.name, column.kind, values, told, bool(column.order))
    return [column for column in columns if column is not None]


def _are_integers(values: Array) -> bool:
    return bool((values == np.rint(values)).all() and (np.abs(values) < EXACT).all())


def _stack(parts: Sequence[Any]) -> Any:
    """Return a block of all chunks of rows."""
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
    return np.concatenate(parts)


def sample(
    model: JointModel,
    n: int,
    given: Rows,
    columns: int,
    rng: np.random.RandomState,
    known: int | None = None,
    recorded: ByBlock | None = None,
) -> Iterator[tuple[Rows, Codes]]:
    """Yield, in chunks, `n` new rows by block, and their class numbers.

    `given` is one row by block, of `columns` cells, missing where a cell is to be drawn. The class is drawn from
    p(k | given), which is the class prior where nothing is given, or is `known`; the other cells from
    p(x | given, class). What is `recorded` of a block keeps its numbers to values that the table could hold.
    """
    posterior = np.exp(log_posterior(model, given)) if known is None else None
    for part in row_chunks(n, rows_within(8 * columns, IN_MEMORY, least=64)):
        rows = np.zeros(part.stop - part.start, dtype=np.intp)
        codes = np.full(len(rows), known) if posterior is None else draw_codes(posterior, rng, rows)
        yield draw_cells(model, [take_rows(block, rows) for block in given], codes, rng, recorded), codes


def read_count(value: object, name: str) -> int:
    """Return a whole number of at least 1; SettingError otherwise."""
    if not is_whole(value, 1):
        raise SettingError(f"{setting(name, value)} must be a whole number of at least 1. Next: give one.")
    return int(value)


def check_fillable(
    fitted: Fitted, rows: Rows, model: JointModel, verb: str, empty: Sequence[int], *, new: bool = False
) -> None:
    """Raise DataError naming columns with holes that no density could fill, those without a value (`empty`) among them.

    In `new` rows categories may stay missing of which no level is known: a released model has let go of rare ones.
    """
    names = fitted.schema.names
    for block, part, density in zip(fitted.blocks, rows, model.density.blocks, strict=True):
        mask = missing_cells(part)
        if mask is None or not mask.any():
            continue
        holes = np.asarray(mask.any(axis=0))
        if not (density.can_condition if verb == "condition" else density.can_sample):
            own = [names[p] for p, hole in zip(block.positions, holes, strict=True) if hole]
            raise DataError(
                f"The family {block.family.name!r} of {quoted(own)} does not fill missing cells. "
                "Next: leave these columns complete, or give them another family."
            )
        never = [p for p, hole in zip(block.positions, holes, strict=True) if hole and p in empty]
        if never and not (new and isinstance(part, tuple)):
            own = [names[p] for p in never]
            raise DataError(
                f"No row learned so far has a value in {quoted(own)}, so nothing is known of what belongs there. "
                f"Next: add rows that have one ({either('partial_fit', 'suffice update')}), or leave the column out."
            )


def values_of(cells: Cells, kind: Kind, levels: Sequence[Level] | None) -> Cells:
    """Return the values of cells: truth values in a column of those, levels for codes (None for −1), or numbers."""
    if levels is None:
        return cells > 0.5 if kind is Kind.BOOLEAN else np.asarray(cells, dtype=np.float64)
    found = [levels[int(code)] if code >= 0 else None for code in cells]
    if None not in found and not kind.is_label and not any(isinstance(level, str) for level in levels):
        return np.array(found, dtype=bool if kind is Kind.BOOLEAN else None)
    values = np.empty(len(found), dtype=object)
    values[:] = found
    return values
