"""Run an exported query in DuckDB beside the model it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb

from ..._arrays import Array, np
from ...errors import ExportError, either
from ...schema import Level
from ...table import Table
from ..program import Column, Program
from ..trial import differences
from .language import Language
from .query import column_names, write_query

TOLERANCE = 1e-9
TABLE = "rows"


def check(
    program: Program,
    table: Table,
    order: Sequence[int],
    expected: tuple[Sequence[Level], Array, Array],
    exact: bool = True,
) -> tuple[float, float]:
    """Return the largest differences of posteriors and of relative log densities between the query and the model.

    The program's column p stands at `order[p]` of the table; `expected` are the model's labels (n,), posteriors (n, k)
    and log densities (n,). ExportError where posteriors, or log densities relative to their size, differ by more than
    1e-9, or where a label is another one though no two posteriors are as near.
    """
    labels, posteriors, densities = expected
    label, posterior, density = _run(program, table, order, exact)
    scored = np.array([value is not None for value in label], dtype=bool)  # without exact, some rows have no answer
    density = None if density is None else np.where(np.isnan(density), -np.inf, density)[scored]  # log 0 is NULL
    other = np.array([a != b for a, b in zip(label, labels, strict=True)], dtype=bool)
    known = posteriors[scored], densities[scored]
    apart, off, wrong = differences(posterior[scored], density, other[scored], known, TOLERANCE)
    if not (apart <= TOLERANCE and off <= TOLERANCE) or wrong or (exact and not scored.all()):
        raise ExportError(
            f"The query does not answer as the model does: posteriors differ by up to {apart:.1e}, log densities by "
            f"{off:.1e} of their size, and {wrong} of {len(label)} labels; {TOLERANCE:.0e} is allowed. Next: report "
            f"this, with the model file{either('; check=False returns the query all the same', '')}."
        )
    return apart, off


def _run(program: Program, table: Table, order: Sequence[int], exact: bool) -> tuple[list[Level], Array, Array | None]:
    """Return labels, posteriors and any log densities of the query in DuckDB, NaN where they are NULL.

    Columns go by number there, since names that differ by case are one to DuckDB, and any cell may be missing.
    """
    columns = tuple(replace(own, name=j, blank_is_level=False) for j, own in enumerate(program.columns))
    program = replace(program, columns=columns)
    language, names, k = Language("duckdb"), column_names(program), len(program.classes)
    cells = [_cells(column, table, p) for column, p in zip(program.columns, order, strict=True)]
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        declared = ", ".join(
            f"{language.write(language.identifier(name))} {kind}" for name, (kind, _) in zip(names, cells, strict=True)
        )
        connection.execute(f"CREATE TABLE {TABLE} ({declared})")
        marks = ", ".join("?" for _ in names)
        filled = list(zip(*(values for _, values in cells), strict=True))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", filled)  # noqa: S608 - our own names
        answers = connection.execute(write_query(program, "duckdb", [TABLE], exact=exact)).fetchall()
    d = len(names)
    dense = program.joint is not None
    numbers = np.array([row[d + 1 :] for row in answers], dtype=np.float64).reshape(len(answers), k + dense)
    return [row[d] for row in answers], numbers[:, :k], numbers[:, k] if dense else None


def _cells(column: Column, table: Table, position: int) -> tuple[str, list[Level | None]]:
    """Return the type of a column in the database and its cells, None where missing."""
    if column.kind != "category":
        kind = "BOOLEAN" if column.kind == "truth" else "DOUBLE"
        values = table.numeric([position])[:, 0]
        return kind, [None if np.isnan(value) else float(value) for value in values]
    levels, codes = table.categories(position)
    known = [*levels, None]
    kinds = {type(level) for level in (*levels, *column.levels)}
    kind = "BOOLEAN" if kinds == {bool} else "VARCHAR" if str in kinds or not kinds else "DOUBLE"
    if kind == "DOUBLE" and float not in kinds:
        kind = "HUGEINT"
    return kind, [known[code] for code in codes]
