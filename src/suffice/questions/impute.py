"""Fill the holes of a table from the joint density."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from .._arrays import IN_MEMORY, Array, Codes, NDArray, np, row_chunks, rows_within
from ..classify import log_posterior
from ..densities import Rows
from ..densities.counts import draw_codes
from ..densities.product import missing_cells, take_rows
from ..errors import DataError, either, quoted
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Kind
from ..table import Holes, Table, recode
from ..table.labels import read_labels
from .recorded import ByBlock, draw_cells, nearest_cells, recorded
from .sample import check_fillable, read_count, values_of


def impute(fitted: Fitted, X: object, y: object, draws: object, random_state: object, as_recorded: bool) -> Any:
    """Return the table with its missing cells filled, or a list of `draws` tables with cells drawn.

    Classes count by the posterior of the model, numbers and categories within a class by its joint model.

    `as_recorded` fills in numbers that the table could hold, see `recorded`.
    """
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
        found = fill_best(model, rows, posterior, kept)
        return table.fill(_holes(asked, found, 0, table, order, model))
    drawn = fill_drawn(model, rows, tables, rng, posterior, kept)
    return [table.fill(_holes(asked, drawn, i, table, order, model)) for i in range(tables)]


def _posterior(fitted: Fitted, read: Rows, rows: Rows, known: Codes | None) -> Array | None:
    """Return p(k | row), (n, k), by which classes count in the rows that miss cells: 1 for a class that is known.

    It is that of the model asked, which has `read` the rows in its own way. None where no cell is missing.
    """
    masks = [np.asarray(mask.any(axis=1)) for mask in map(missing_cells, rows) if mask is not None]
    if not any(mask.any() for mask in masks):
        return None
    incomplete = np.flatnonzero(np.logical_or.reduce(masks))
    out = np.zeros((len(masks[0]), len(fitted.statistics.classes)))
    told = incomplete[:0] if known is None else incomplete[known[incomplete] >= 0]
    if known is not None:
        out[told, known[told]] = 1.0
    some = np.setdiff1d(incomplete, told)
    if len(some):
        out[some] = np.exp(fitted.log_posterior([take_rows(part, some) for part in read]))
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
    fitted: Fitted, found: Sequence[Cells], number: int, table: Table, order: Sequence[int], model: JointModel
) -> Holes:
    """Return one set of filled cells by column of the table, as values instead of codes."""
    holes: dict[int, tuple[Codes, NDArray[np.generic]]] = {}
    for block, cells, density in zip(fitted.blocks, found, model.density.blocks, strict=False):
        by_column = np.argsort(cells.column, kind="stable")
        filled, starts = np.unique(cells.column[by_column], return_index=True)
        for j, own in zip(filled.tolist(), np.split(by_column, starts[1:]), strict=False):
            position = block.positions[j]
            place = order[position]
            kind = table.schema.columns[place].kind
            kind = fitted.schema.columns[position].kind if kind is Kind.EMPTY else kind
            levels = density.column_levels(j)
            holes[place] = cells.row[own], values_of(cells.value[number, own], kind, levels)
    return holes


class Cells(NamedTuple):
    """Filled cells of one block: row and column numbers (h,), and values (h,) or (draws, h), codes for categories."""

    row: Codes
    column: Codes
    value: NDArray[np.generic]


def fill_best(
    model: JointModel, rows: Rows, posterior: Array | None = None, recorded: ByBlock | None = None
) -> list[Cells]:
    """Return, by block, the missing cells at their best value given the observed cells of their row.

    A number is E[x_m | x_o] = Σ_k p(k | x_o) E[x_m | x_o, k], a category the most probable one under
    Σ_k p(k | x_o) p(x_m | x_o, k). `posterior` (n, k) is p(k | x_o), by default the model's.
    A number that is `recorded` in some way becomes the nearest value of that kind.
    """

    def answers() -> Iterator[tuple[Codes, Rows, Rows]]:
        for index, parts in _incomplete(rows, model, 1):
            filled = model.condition(parts, _of_rows(posterior, model, parts, index))
            yield index, nearest_cells(filled, parts, recorded), parts

    return _join(answers())


def fill_drawn(
    model: JointModel,
    rows: Rows,
    draws: int,
    rng: np.random.RandomState,
    posterior: Array | None = None,
    recorded: ByBlock | None = None,
) -> list[Cells]:
    """Return, by block, `draws` values of each missing cell: a class from p(k | x_o), cells from p(x_m | x_o, k).

    The cells of a row in one draw belong together: they come from one class, and within it from their joint density.
    What is `recorded` of a block keeps its numbers to values that the table could hold.
    """

    def answers() -> Iterator[tuple[Codes, Rows, Rows]]:
        for index, parts in _incomplete(rows, model, draws):
            again = np.tile(np.arange(len(index)), draws)
            codes = draw_codes(_of_rows(posterior, model, parts, index), rng, again)
            yield index, draw_cells(model, [take_rows(part, again) for part in parts], codes, rng, recorded), parts

    return _join(answers(), draws)


def _of_rows(posterior: Array | None, model: JointModel, rows: Rows, index: Codes) -> Array:
    """Return p(k | row), (n, k), of the rows of these numbers: as given, or by the model."""
    return np.exp(log_posterior(model, rows)) if posterior is None else posterior[index]


def _incomplete(rows: Rows, model: JointModel, draws: int) -> Iterator[tuple[Codes, Rows]]:
    """Yield, in chunks, the rows that miss a cell: their numbers and their cells by block."""
    masks = [mask for mask in map(missing_cells, rows) if mask is not None]
    if not masks:
        return
    columns = sum(mask.shape[1] for mask in masks)
    incomplete = np.flatnonzero(np.any([mask.any(axis=1) for mask in masks], axis=0))
    size = rows_within(16 * (columns + len(model.classes)) * draws, IN_MEMORY, least=64)
    for part in row_chunks(len(incomplete), size):
        yield incomplete[part], [take_rows(block, incomplete[part]) for block in rows]


def _join(answers: Iterator[tuple[Codes, Rows, Rows]], draws: int = 1) -> list[Cells]:
    """Return the filled cells of each block of all chunks; `answers` are (row numbers, completed, as they were)."""
    found: list[list[Cells]] = []
    for index, completed, parts in answers:
        found = found or [[] for _ in parts]
        for cells, after, before in zip(found, completed, parts, strict=True):
            missing = missing_cells(before)
            if missing is None or not missing.any():
                continue
            row, column = np.nonzero(missing)
            table = np.column_stack(after) if isinstance(after, tuple) else after
            value = table.reshape(draws, len(index), -1)[:, row, column]
            cells.append(Cells(index[row], column, value))
    return [_concatenate(cells, draws) for cells in found]


def _concatenate(cells: list[Cells], draws: int) -> Cells:
    if not cells:
        nothing = np.zeros(0, dtype=np.intp)
        return Cells(nothing, nothing, np.zeros((draws, 0)))
    rows, columns, values = zip(*cells, strict=True)
    return Cells(np.concatenate(rows), np.concatenate(columns), np.concatenate(values, axis=1))
