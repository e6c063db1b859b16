"""`suffice outliers`: how unlike anything seen each row of a table is."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .answers import deliver, free_name, open_model, read_rows
from .files import check_output
from .output import COMMON, Common, progress
from .parameters import Answers, Rows, SavedModel, Switch
from .problems import count


def outliers(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Answers = None,
    below: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gt=0, lte=1))] = None,
    keep: Switch = False,
    common: Common = COMMON,
) -> None:
    """Say of each row how likely a row of the model is at least as far out.

    One row out per row in: its number in DATA, from 1, its p_value and its log_density (in nats). Of rows like those
    the model was fitted on, 5 % have a p-value below 0.05. Cells may be missing. What they are compared with is said
    on stderr: an exact law, or so many rows that models of the others have not seen.

    Parameters
    ----------
    below
        Only rows with p-values up to this.
    keep
        Copy the columns of DATA beside the answers.

    Examples
    --------
    $ suffice outliers penguins.suffice new-penguins.csv --below 0.01
    """
    import pyarrow as pa

    check_output(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    read, rows = read_rows(estimator, schema, data)
    table = read.kept(rows.column_names, output, common.json)
    with progress(common, f"Judging {data.name}"):
        found = {"p_value": estimator.outlier_pvalues(rows), "log_density": estimator.score_samples(rows)}
    number = free_name("row", "outlier_", table.column_names if keep else [], common)
    answers = table.add_column(0, number, pa.array(range(1, table.num_rows + 1)))
    answers = answers if keep else answers.select([number])
    for name, values in found.items():
        answers = answers.append_column(free_name(name, "outlier_", answers.column_names, common), pa.array(values))
    common.remark(f"P-values: {estimator.outlier_reference_}.")
    few = found["p_value"] <= (1.0 if below is None else below)
    common.remark(f"{count(int((found['p_value'] <= 0.01).sum()), 'row')} with a p-value up to 0.01.")
    deliver(answers.filter(pa.array(few)), output, common, {"judged": table.num_rows}, "outliers")
