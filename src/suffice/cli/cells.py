"""`suffice cells`: which cells of a table are probably wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import quoted
from .answers import deliver
from .files import check_output
from .look import read_columns
from .models import ModelName, make_estimator, remark_left_out, usable_columns
from .output import COMMON, Common, progress
from .parameters import AS_IT_IS, Answers, ColumnName, DataPath, TableOptions
from .problems import UsageProblem, count
from .rows import cell_as_text
from .training import Training, identifiers, read_training

if TYPE_CHECKING:
    from pathlib import Path

    from ..engines.arrow import Table
    from ..questions.suspect_cells import SuspectCells


def cells(
    data: DataPath,
    /,
    *,
    target: ColumnName | None = None,
    output: Answers = None,
    fdr: Annotated[float, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = 0.1,
    model: ModelName = "auto",
    table: TableOptions = AS_IT_IS,
    common: Common = COMMON,
) -> None:
    """Say which cells of a table are probably wrong, and by what slip.

    Each cell is judged by the other cells of its row, as other rows have them together. One row out per suspect, the
    worst first: its row number in DATA, from 1, its column, its value, what the others let expect, the slip that it may
    come from (decimal point, sign, unit, digits, swapped with another column) and the value meant by that, its p-value,
    also adjusted for the number of cells, and the cells of the row that speak against it. Rows without a label are
    left out.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input.
    target
        Column of class labels, within whose classes cells are judged. Without it all rows are of one class.
    fdr
        The share of the suspects that is expected to be right after all: less of it, fewer suspects.
    model
        What judges; see `suffice fit`. A mixture cannot leave rows out.

    Examples
    --------
    $ suffice cells penguins.csv --target species -o suspects.csv
    """
    if model == "mixture":
        raise UsageProblem("--model mixture leaves no row out: EM would run again for each. Next: --model auto.")
    check_output(output, [(data, "table")])
    with progress(common, f"Judging the cells of {data.name}"):
        training = (
            _unlabelled(data, table, common) if target is None else read_training(data, target, table, None, common)
        )
        used, left_out = usable_columns(model, training)
        columns = training.columns.select(used)
        estimator = make_estimator(model).fit(columns, training.labels, None, training.groups)
        told = None if target is None else training.labels
        found = estimator.suspect_cells(columns, told, training.groups, fdr=fdr)
    remark_left_out(model, left_out, common)
    judged = int((found.p_value >= 0).sum())
    common.remark(
        f"{count(len(found.cells), 'suspect')} among {count(judged, 'cell')}, of which about {100 * fdr:g} % are right "
        "after all."
    )
    deliver(_answer(found, columns, training), output, common, {"judged": judged, "fdr": fdr}, "suspects")


def _unlabelled(data: Path, table: TableOptions, common: Common) -> Training:
    """Return the rows of a file as those of one class, without the columns that name them."""
    import pyarrow as pa

    from .._arrays import np

    if table.groups is not None or table.labels is not None:
        raise UsageProblem(
            "--groups and --labels need --target. Next: name the column of class labels, or leave them out."
        )
    columns, _ = read_columns(data, None, table.drop, table.missing_text, table.keep_spaces, table.sheet)
    names = [name for name in identifiers(columns, None) if name not in table.keep]
    if names and len(names) < columns.num_columns:
        columns = columns.drop_columns(names)
        common.remark(f"Left out: {quoted(names)}, of which each row has its own value.")
    n = columns.num_rows
    return Training(columns, pa.array(["row"] * n), None, 0, None, None, np.arange(1, n + 1), None)


def _answer(found: SuspectCells, columns: Table, training: Training) -> Table:
    """Return a row per suspect."""
    import pyarrow as pa

    said = found.to_dict()
    rows = {i: columns.slice(i, 1).to_pylist()[0] for i in set(said["row"])}
    because = [
        ", ".join(f"{name}={cell_as_text(rows[cell.row][name])}" for name in cell.because) for cell in found.cells
    ]
    assert training.numbers is not None
    answer: Table = pa.table(
        {
            "row": pa.array(training.numbers[said["row"]] if said["row"] else [], pa.int64()),
            "column": pa.array(said["column"], pa.string()),
            **{
                name: pa.array([None if own is None else cell_as_text(own) for own in said[name]], pa.string())
                for name in ("value", "expected", "slip", "meant")
            },
            "p_value": pa.array(said["p_value"], pa.float64()),
            "adjusted": pa.array(said["adjusted"], pa.float64()),
            "because": pa.array(because, pa.string()),
        }
    )
    return answer
