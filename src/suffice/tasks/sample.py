"""New rows from the joint density: by class prior, of one class, or with some cells given."""

from __future__ import annotations

from collections.abc import Iterator

from .._arrays import IN_MEMORY, Codes, np, row_chunks, rows_within
from ..densities import Rows
from ..densities.discrete import draw_codes
from ..densities.product import take_rows
from ..joint import JointModel
from .classify import log_posterior
from .recorded import ByBlock, draw_cells


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
