"""`suffice impute`: fill the missing cells of a table with a saved model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .answers import deliver, free_name, model_columns, open_model, read_for
from .files import check_writable, file_format
from .output import Common, progress
from .problems import ColumnProblem, count, one_line


def impute(
    model: Annotated[Path, Parameter(metavar="MODEL")],
    data: Annotated[Path, Parameter(metavar="DATA")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="OUT")] = None,
    target: Annotated[str | None, Parameter(metavar="COLUMN")] = None,
    draws: Annotated[int | None, Parameter(metavar="NUMBER", validator=Between(gte=1))] = None,
    seed: Annotated[
        int | None, Parameter(name=("--seed", "--random-state"), metavar="NUMBER", validator=Between(gte=0, lt=2**32))
    ] = None,
    common: Common = Common(),  # noqa: B008 - frozen, so it can be shared
) -> None:
    """Fill the missing cells of a table, from what is observed in each row.

    The table comes back with its columns in order. A number becomes its mean given the observed cells of the row, a
    category the most probable one. Columns that the model does not use come back as they are.

    Parameters
    ----------
    model
        File that `suffice fit` wrote.
    data
        Table with the columns the model was fitted on: .csv, .tsv, .parquet, .arrow, .feather or .ipc.
    output
        File to write, in the format of its ending; CSV on stdout if not given.
    target
        Column of class labels, where they are known: such rows are filled from their class alone.
    draws
        Multiple imputation: the table this many times over, with cells drawn from their conditional distribution, and a
        column `draw`, from 1, in front.
    seed
        Start of the random draws; the same seed gives the same draws.

    Examples
    --------
    $ suffice impute penguins.suffice new-penguins.csv -o filled.csv
    $ suffice impute penguins.suffice new-penguins.csv --draws 5 --seed 1
    """
    if output is not None:
        file_format(output)
        check_writable(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    table = read_for(schema, data, target, isinstance(estimator.classes_.tolist()[0], str))
    if target is not None and target not in table.column_names:
        raise ColumnProblem.absent([target], table.column_names, data, "for --target")
    labels = None if target is None else table[target]
    rows = table if target is None else table.drop_columns(target)
    rows = model_columns(rows, [str(name) for name in schema.names], data) if schema.named else rows
    with warnings.catch_warnings(record=True) as caught, progress(common, f"Filling {data.name}"):
        warnings.simplefilter("once")
        filled = estimator.impute(rows, labels, draws=draws, random_state=seed)
    for message in dict.fromkeys(one_line(warning.message) for warning in caught):
        common.remark(f"Note: {message}")
    holes = {name: _holes(rows[name]) for name in rows.column_names}
    holes = {name: number for name, number in holes.items() if number}
    common.remark(f"Filled {count(sum(holes.values()), 'cell')} in {count(len(holes), 'column')}.")
    answer = _replace(table, filled) if draws is None else _stack(table, filled, common)
    deliver(answer, output, common, {"filled": holes}, "table")


def _holes(column: Any) -> int:
    """Return how many cells of a column are null or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return int(pc.sum(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))).as_py() or 0)


def _replace(table: Any, filled: Any) -> Any:
    """Return the table with the filled columns in the places of the old ones."""
    import pyarrow as pa

    columns = dict(zip(table.column_names, table.columns, strict=True))
    columns |= dict(zip(filled.column_names, filled.columns, strict=True))
    return pa.table(columns)


def _stack(table: Any, filled: list[Any], common: Common) -> Any:
    """Return the filled tables below each other, the number of each in front."""
    import pyarrow as pa

    name = free_name("draw", "imputed_", table.column_names, common)
    tables = []
    for number, one in enumerate(filled, start=1):
        tables.append(_replace(table, one).add_column(0, name, pa.array([number] * table.num_rows)))
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
