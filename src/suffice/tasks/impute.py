"""Impute missing cells: conditional mean, most probable category, or draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, NDArray, np, row_chunks, rows_within
from ..densities import Rows
from ..densities.discrete import draw_codes
from ..densities.product import missing_cells, take_rows
from ..joint import JointModel
from .classify import log_posterior
from .recorded import ByBlock, draw_cells, nearest_cells


class Cells(NamedTuple):
    """Filled cells of one block: row and column numbers (h,), and values (h,) or (draws, h), codes for categories."""

    row: Codes
    column: Codes
    value: NDArray[np.generic]


def impute(
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


def draw(
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
