"""Fill the holes of a table from the joint density."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from .._arrays import IN_MEMORY, Array, Codes, NDArray, is_number, np, row_chunks, rows_within
from ..densities import Rows
from ..densities.counts import draw_codes
from ..densities.density import missing_cells
from ..errors import DataError, SettingError, either, quoted, setting
from ..fitted import Fitted
from ..joint import JointModel, log_posterior
from ..schema import Kind, Name
from ..stats.rows import take_blocks, take_rows
from ..table import Holes, Table, recode
from ..table.dates import as_moments, read_seconds
from ..table.labels import read_labels
from .proba_interval import drawn_models
from .recorded import ByBlock, draw_cells, nearest_cells, recorded
from .sample import check_fillable, read_count, values_of


def impute(
    fitted: Fitted,
    X: object,
    y: object,
    draws: object,
    random_state: object,
    as_recorded: bool,
    shift: Mapping[Name, object] | None,
) -> Any:
    """Return the table with its missing cells filled, or a list of `draws` tables with cells drawn.

    Classes count by the posterior of the model, numbers and categories within a class by its joint model.

    `as_recorded` fills in numbers that the table could hold, see `recorded`; `shift` adds to those of some columns.
    """
    moved = _shifts(fitted, {} if shift is None else shift)
    tables = None if draws is None else read_count(draws, "draws")
    table, order = fitted.aligned(X)
    known = _known_classes(fitted, y, table.rows)
    rng = check_random_state(random_state)
    asked = fitted.joint_value
    rows = asked.recoded(asked.encode(table, order))
    model = asked.joint
    check_fillable(asked, rows, model, "condition" if tables is None else "sample", fitted.empty_columns)
    kept = recorded(asked) if as_recorded else None
    read = rows if asked is fitted else fitted.recoded(fitted.encode(table, order))
    posterior = _posterior(fitted, read, rows, known)
    if tables is None:
        return table.fill(_holes(asked, fill_best(model, rows, posterior, kept), table, order, model, moved))
    draw, filled = drawn_models(asked) if tables > 1 else lambda _: model, []
    for _ in range(tables):
        one = draw(rng)
        share = _posterior(fitted, read, rows, known, one) if asked is fitted else posterior
        cells = fill_drawn(one, rows, rng, share, kept)
        filled.append(table.fill(_holes(asked, cells, table, order, model, moved)))
    return filled


def _shifts(fitted: Fitted, shift: Mapping[Name, object]) -> dict[int, float]:
    """Return what is added to filled cells, by the position of the column in the schema."""
    columns = {column.name: (i, column.kind) for i, column in enumerate(fitted.schema.columns)}
    found: dict[int, float] = {}
    if not isinstance(shift, Mapping):
        raise SettingError(f"{setting('shift', shift)} must be numbers by column. Next: give some such as age: 1.0.")
    for name, amount in shift.items():
        if name not in columns or columns[name][1] is not Kind.NUMERIC:
            numbers = [own for own, (_, kind) in columns.items() if kind is Kind.NUMERIC]
            known = f"Next: name one of {quoted(numbers)}" if numbers else "It has none"
            raise SettingError(f"{setting('shift')} moves {name!r}, no column of numbers of this model. {known}.")
        if not is_number(amount) or not np.isfinite(amount):
            raise SettingError(f"{setting('shift')} moves {name!r} by {amount!r}. Next: give a finite number.")
        found[columns[name][0]] = float(amount)
    return found


def _posterior(fitted: Fitted, read: Rows, rows: Rows, known: Codes | None, model: JointModel | None = None) -> Array:
    """Return p(k | row), (n, k), by which classes count in the rows that miss cells: 1 for a class that is known.

    It is that of the `model`, or of the one asked, which has `read` the rows in its own way.
    """
    masks = [np.asarray(mask.any(axis=1)) for mask in map(missing_cells, rows) if mask is not None]
    misses = np.logical_or.reduce(masks)
    incomplete = np.flatnonzero(misses)
    out = np.zeros((np.size(misses), len(fitted.statistics.classes)))
    told = incomplete[:0] if known is None else incomplete[known[incomplete] >= 0]
    if known is not None:
        out[told, known[told]] = 1.0
    some = np.setdiff1d(incomplete, told)
    if len(some):
        parts = take_blocks(read, some)
        out[some] = np.exp(fitted.log_posterior(parts) if model is None else log_posterior(model, parts))
    return out


def _known_classes(fitted: Fitted, y: object, rows: int) -> Codes | None:
    """Return class numbers (n,), −1 where the label is missing; DataError names labels the model does not know."""
    if y is None:
        return None
    labels, codes = read_labels(y, rows, fitted.who, missing="any")
    classes = fitted.statistics.classes
    unknown = [label for label in labels if label not in classes]
    if unknown:
        raise DataError(
            f"{either('y holds', 'The labels hold')} {quoted(unknown)}, unknown to this model; its classes are "
            f"{quoted(classes)}. Next: correct the labels, or leave them missing{either(' (None)', '')} where they are "
            "not known."
        )
    return recode(labels, codes, classes)


def _holes(
    fitted: Fitted,
    found: Sequence[Cells],
    table: Table,
    order: Sequence[int],
    model: JointModel,
    shift: Mapping[int, float],
) -> Holes:
    """Return the filled cells by column of the table, as values instead of codes, numbers moved by a `shift`."""
    holes: dict[int, tuple[Codes, NDArray[np.generic]]] = {}
    for block, cells, density in zip(fitted.blocks, found, model.density.blocks, strict=False):
        by_column = np.argsort(cells.column, kind="stable")
        filled, starts = np.unique(cells.column[by_column], return_index=True)
        for j, own in zip(filled.tolist(), np.split(by_column, starts[1:]), strict=False):
            position = block.positions[j]
            place = order[position]
            kind = table.schema.columns[place].kind
            kind = fitted.schema.columns[position].kind if kind in (Kind.EMPTY, Kind.STRING) else kind
            value = cells.value[own]
            if position in shift:
                value = value.astype(np.float64) + shift[position]
            values = values_of(value, kind, density.column_levels(j))
            holes[place] = cells.row[own], as_moments(read_seconds(values, "")) if kind is Kind.DATE else values
    return holes


class Cells(NamedTuple):
    """Filled cells of one block: row and column numbers (h,), and values (h,), codes for categories."""

    row: Codes
    column: Codes
    value: NDArray[np.generic]


def fill_best(model: JointModel, rows: Rows, posterior: Array, recorded: ByBlock | None) -> list[Cells]:
    """Return, by block, the missing cells at their best value given the observed cells of their row.

    A number is E[x_m | x_o] = Σ_k p(k | x_o) E[x_m | x_o, k], a category the most probable one under
    Σ_k p(k | x_o) p(x_m | x_o, k). `posterior` (n, k) is p(k | x_o).
    A number that is `recorded` in some way becomes the nearest value of that kind.
    """
    return _fill(
        model, rows, posterior, lambda parts, share: nearest_cells(model.condition(parts, share), parts, recorded)
    )


def fill_drawn(
    model: JointModel, rows: Rows, rng: np.random.RandomState, posterior: Array, recorded: ByBlock | None
) -> list[Cells]:
    """Return, by block, the missing cells drawn: a class from p(k | x_o), (n, k), then cells from p(x_m | x_o, k).

    The cells of a row belong together: they come from one class, and within it from their joint density.
    What is `recorded` of a block keeps its numbers to values that the table could hold.
    """
    return _fill(
        model, rows, posterior, lambda parts, share: draw_cells(model, parts, draw_codes(share, rng), rng, recorded)
    )


def _fill(model: JointModel, rows: Rows, posterior: Array, complete: Callable[[Rows, Array], Rows]) -> list[Cells]:
    """Return, by block, the missing cells of rows completed in chunks, by p(k | row)."""
    found: list[list[Cells]] = [[] for _ in rows]
    for index, parts in _incomplete(rows, model):
        for cells, after, before in zip(found, complete(parts, posterior[index]), parts, strict=True):
            missing = missing_cells(before)
            if missing is not None and missing.any():
                row, column = np.nonzero(missing)
                table = np.column_stack(after) if isinstance(after, tuple) else after
                cells.append(Cells(index[row], column, table[row, column]))
    nothing = Cells(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))
    return [Cells(*map(np.concatenate, zip(*cells, strict=True))) if cells else nothing for cells in found]


def _incomplete(rows: Rows, model: JointModel) -> Iterator[tuple[Codes, Rows]]:
    """Yield, in chunks, the rows that miss a cell: their numbers and their cells by block."""
    masks = [mask for mask in map(missing_cells, rows) if mask is not None]
    if not masks:
        return
    columns = sum(mask.shape[1] for mask in masks)
    incomplete = np.flatnonzero(np.any([mask.any(axis=1) for mask in masks], axis=0))
    size = rows_within(16 * (columns + len(model.classes)), IN_MEMORY, least=64)
    for part in row_chunks(len(incomplete), size):
        yield incomplete[part], [take_rows(block, incomplete[part]) for block in rows]
