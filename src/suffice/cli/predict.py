"""`suffice predict`: label the rows of a table with a saved model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .answers import deliver, free_name, model_columns, open_model
from .files import check_writable, file_format, read_table
from .output import Common, progress
from .problems import one_line

CHUNK = 1 << 16  # rows answered at a time: enough to be fast, and the bar moves


def predict(
    model: Annotated[Path, Parameter(metavar="MODEL")],
    data: Annotated[Path, Parameter(metavar="DATA")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="OUT")] = None,
    keep: Annotated[bool, Parameter(show_default=False)] = False,
    common: Common = Common(),  # noqa: B008 - frozen, so it can be shared
) -> None:
    """Label the rows of a table, with the probability of each class.

    One row out per row in: its label, a column p_CLASS per class with the posterior probability, and log_density,
    the logarithm of the density of the row under the model (in nats; the lower, the less like anything seen). Cells
    may be missing. Columns that the model does not use, such as the target, are ignored.

    Parameters
    ----------
    model
        File that `suffice fit` wrote.
    data
        Table with the columns the model was fitted on: .csv, .tsv, .parquet, .arrow, .feather or .ipc.
    output
        File to write, in the format of its ending; CSV on stdout if not given.
    keep
        Copy the columns of DATA in front of the answers.
    """
    if output is not None:
        file_format(output)
        check_writable(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    table = read_table(data, text=[str(column.name) for column in schema.columns if column.kind.is_label])
    rows = model_columns(table, [str(name) for name in schema.names], data) if schema.named else table
    answers = _answer(estimator, rows, common)
    if keep:
        answers = _beside(table, answers, common)
    deliver(answers, output, common, {"classes": estimator.classes_.tolist()}, "predictions")


def _answer(estimator: Any, rows: Any, common: Common) -> Any:
    """Return the table of labels, posteriors and log densities, one row per row."""
    import pyarrow as pa

    from .._arrays import np
    from ..tasks import classify

    labels = pa.array(estimator.classes_.tolist())
    parts = []
    with warnings.catch_warnings(record=True) as caught, progress(common, "Labelling", rows.num_rows) as advance:
        warnings.simplefilter("once")
        for start in range(0, rows.num_rows, CHUNK):
            part = rows.slice(start, CHUNK)
            log_posterior = estimator.predict_log_proba(part)
            columns = [labels.take(pa.array(classify.decide(log_posterior)))]
            columns += [pa.array(column) for column in np.exp(log_posterior).T]
            columns.append(pa.array(estimator.score_samples(part)))
            parts.append(pa.table(columns, names=_names(estimator)))
            advance(part.num_rows)
    for message in dict.fromkeys(one_line(warning.message) for warning in caught):
        common.remark(f"Note: {message}")
    return pa.concat_tables(parts)


def _names(estimator: Any) -> list[str]:
    return ["label", *(f"p_{label}" for label in estimator.classes_.tolist()), "log_density"]


def _beside(table: Any, answers: Any, common: Common) -> Any:
    """Return the columns of the table and then the answers, renamed where the table has a column of that name."""
    for name, column in zip(answers.column_names, answers.columns, strict=True):
        table = table.append_column(free_name(name, "predicted_", table.column_names, common), column)
    return table
