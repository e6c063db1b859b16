"""`suffice predict`: label the rows of a table with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import count
from .answers import (
    Costs,
    Priors,
    answer_costs,
    columns_there,
    deliver,
    free_name,
    given_priors,
    load_model,
    read_rows,
    remark_priors,
)
from .files import check_output
from .models import comes_in_parts, open_parts
from .output import COMMON, Common, Facts, UsageProblem, noting_warnings, print_json, progress, rows_progress
from .parameters import Answers, DataPath, IntervalLevel, MissingColumns, SavedModel, Sheet, Switch

if TYPE_CHECKING:
    from ..engines.arrow import Table
    from ..estimators.base import GenerativeEstimator


CHUNK = 1 << 16  # rows answered at a time: enough to be fast, and the bar moves


def predict(
    model: SavedModel,
    data: DataPath,
    /,
    *,
    output: Answers = None,
    keep: Switch = False,
    priors: Priors = (),
    costs: Costs = (),
    reject: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gt=0))] = None,
    sets: Annotated[float | None, Parameter(name="--set", metavar="ALPHA", validator=Between(gt=0, lt=1))] = None,
    by_class: Switch = False,
    interval: IntervalLevel = None,
    sheet: Sheet = None,
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Label the rows of a table, with the probability of each class.

    One row out per row in: its label, a column p_CLASS per class with the posterior probability, and log_density,
    the logarithm of the density of the row under the model (in nats; the lower, the less like anything seen). Cells
    may be missing. Columns that the model does not use, such as the target, are ignored.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl),
        Parquet or Arrow; - for standard input; with --output also many files, by a pattern in quotes or their folder.
        All but a single file of text are read and answered in parts, so that memory does not grow with the rows.
    keep
        Copy the columns of DATA in front of the answers.
    reject
        Give no label where the most probable class is wrong with a probability above this; with --costs, where the
        least expected cost is above it.
    sets
        Add a column in_CLASS per class: whether the row may well be of it. The true class is among these for 1 - ALPHA
        of rows like those of the fit, whatever the model gets wrong (a conformal set, from leave-one-out), and however
        many cells are known of them. A model that is right more often leaves rows it is unsure of without any class:
        give a smaller ALPHA.
    by_class
        With --set: for 1 - ALPHA of the rows of each class, so that rare ones are not missed more often.

    interval
        Add columns low_CLASS and high_CLASS per class. In a share LEVEL of the rows they enclose the probability that
        the model would give if its parameters were known; of the automatic classifier, which learns eight models for
        it, the true probability. Of the other models, --model nb and the Gaussian ones without shrinkage have them.

    Examples
    --------
    $ suffice predict penguins.suffice new-penguins.csv
    $ suffice predict penguins.suffice new-penguins.csv --keep -o answers.parquet
    """
    if reject is not None and reject >= 1 and not costs:
        raise UsageProblem(f"--reject {reject:g} is a probability, below 1, unless --costs says what answers cost.")
    if by_class and sets is None:
        raise UsageProblem("--by-class says how sets of classes are made, and there are none without --set ALPHA.")
    if sets is not None and priors:
        raise UsageProblem("--set holds for rows whose classes come as in the fit, and --priors says they do not.")
    check_output(output, [(data, "table"), (model, "model")])
    estimator = load_model(model)
    told: Facts = {"priors": "adapt" if priors == ("adapt",) else given_priors(priors, estimator)}
    told |= {"costs": answer_costs(costs, estimator), "reject": reject}
    told |= {"alpha": sets, "by_class": by_class, "interval": interval}
    if output is not None and estimator._fitted.schema.named and comes_in_parts(data):
        _predict_parts(estimator, data, output, keep, told | {"missing_columns": missing_columns}, common, sheet)
        return
    table, rows = read_rows(estimator, data, sheet, missing_columns)
    if priors == ("adapt",):
        told["priors"] = estimator.adapt_priors(rows)
        remark_priors(estimator, told["priors"], data, common)
    answers = _answer(estimator, rows, told, common)
    if keep:
        answers = _beside(table.kept(rows.column_names, output, common.json), answers, common)
    deliver(answers, output, common, {"classes": estimator.classes_.tolist()}, "predictions")


def _predict_parts(
    estimator: GenerativeEstimator, data: Path, output: Path, keep: bool, told: Facts, common: Common, sheet: str | None
) -> None:
    """Answer for a table in parts, and write the answers as they come."""
    from ..engines import Reading
    from ..questions.answer_table import adapt_to_table, answer_names

    source = open_parts(data, Reading.of(estimator._fitted.schema, estimator._fitted.dialect, sheet=sheet))
    names = list(source.schema.names)
    kept = [] if not keep else names if source.csv is None else list(source.csv.names)
    columns_there(estimator._fitted.schema, names, data, told["missing_columns"])
    answers = answer_names(estimator._fitted, told["alpha"] is not None, told["interval"] is not None)
    columns = [*kept, *(free_name(name, "predicted_", kept, common) for name in answers)]
    with noting_warnings(common):
        if told["priors"] == "adapt":
            with rows_progress(common, "Estimating class priors") as watch:
                told["priors"] = adapt_to_table(estimator._fitted, source, watch, told["missing_columns"])
            remark_priors(estimator, told["priors"], data, common)
        with rows_progress(common, "Labelling") as watch:
            rows = estimator.predict_table(source, output, keep=kept, progress=watch, **told)
    common.remark(f"Wrote {output}: {count(rows, 'row')}.")
    if common.json:
        facts = {"classes": estimator.classes_.tolist(), "columns": columns, "output": str(output)}
        print_json({"rows": rows, **facts})


def _answer(estimator: GenerativeEstimator, rows: Table, told: Facts, common: Common) -> Table:
    """Return the table of labels, posteriors, log densities, sets and intervals, one row per row."""
    import pyarrow as pa

    from ..questions.answer_table import answers_of

    with noting_warnings(common), progress(common, "Labelling", rows.num_rows) as advance:
        answer, parts = answers_of(estimator._fitted, rows.column_names, **told), []
        for start in range(0, rows.num_rows, CHUNK):
            parts.append(answer(rows.slice(start, CHUNK)))
            advance(parts[-1].num_rows)
    return pa.concat_tables(parts)


def _beside(table: Table, answers: Table, common: Common) -> Table:
    """Return the columns of the table and then the answers, renamed where the table has a column of that name."""
    for name, column in zip(answers.column_names, answers.columns, strict=True):
        table = table.append_column(free_name(name, "predicted_", table.column_names, common), column)
    return table
