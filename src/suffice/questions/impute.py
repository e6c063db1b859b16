"""Fill the holes of a table from the joint density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import check_random_state

from .._arrays import Array, Codes, NDArray, np
from ..densities import Rows
from ..densities.product import missing_cells, take_rows
from ..errors import DataError, quoted
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Kind
from ..table import Holes, Table, recode
from ..table.labels import read_labels
from ..tasks import impute as fill
from ..tasks.impute import Cells
from .cells import check_fillable, read_count, values_of
from .recorded import recorded


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
        found = fill.impute(model, rows, posterior, kept)
        return table.fill(_holes(asked, found, 0, table, order, model))
    drawn = fill.draw(model, rows, tables, rng, posterior, kept)
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
            f"y holds {quoted(unknown)}, unknown to this model; its classes are {quoted(classes)}. "
            "Next: correct the labels, or leave them missing (None) where they are not known."
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
