"""`suffice predict`: label the rows of a table with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..schema import Level, Schema
from .answers import by_text, deliver, free_name, open_model, read_rows
from .files import check_output, check_readable
from .output import COMMON, Common, Facts, noting_warnings, print_json, progress, rows_progress
from .parameters import Answers, DataPath, SavedModel, Switch
from .parts import comes_in_parts, is_many
from .problems import ColumnProblem, UsageProblem, count

if TYPE_CHECKING:
    from .._arrays import Array
    from ..engines.arrow import Table
    from ..estimators.base import GenerativeEstimator

    Priors = Literal["uniform"] | dict[Level, float] | Array | None  # as the library takes them

CHUNK = 1 << 16  # rows answered at a time: enough to be fast, and the bar moves


def predict(
    model: SavedModel,
    data: DataPath,
    /,
    *,
    output: Answers = None,
    keep: Switch = False,
    priors: Annotated[tuple[str, ...], Parameter(metavar="PRIOR", show_default=False)] = (),
    reject: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = None,
    sets: Annotated[float | None, Parameter(name="--set", metavar="ALPHA", validator=Between(gt=0, lt=1))] = None,
    common: Common = COMMON,
) -> None:
    """Label the rows of a table, with the probability of each class.

    One row out per row in: its label, a column p_CLASS per class with the posterior probability, and log_density,
    the logarithm of the density of the row under the model (in nats; the lower, the less like anything seen). Cells
    may be missing. Columns that the model does not use, such as the target, are ignored.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on: .csv, .tsv, .parquet, .arrow, .feather or .ipc; with --output
        also many files, by a pattern in quotes or their folder. All but a single CSV file are read and answered in
        parts, so that memory does not grow with the rows.
    keep
        Copy the columns of DATA in front of the answers.
    priors
        Class priors in place of those learned: `uniform`; `adapt`, estimated from the rows of DATA, where classes come
        in other proportions; or LABEL=NUMBER, once for each class.
    reject
        Give no label where the most probable class is wrong with a probability above this.
    sets
        Add a column in_CLASS per class: whether the row may well be of it. The true class is among these for 1 - ALPHA
        of rows like those of the fit, whatever the model gets wrong (a conformal set, from leave-one-out). A model that
        is right more often leaves rows it is unsure of without any class: give a smaller ALPHA.

    Examples
    --------
    $ suffice predict penguins.suffice new-penguins.csv
    $ suffice predict penguins.suffice new-penguins.csv --keep -o answers.parquet
    """
    if sets is not None and priors:
        raise UsageProblem("--set holds for rows whose classes come as in the fit, and --priors says they do not.")
    check_output(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    adapt = priors == ("adapt",)
    if output is not None and schema.named and comes_in_parts(data):
        told = {"priors": "adapt" if adapt else _priors(priors, estimator), "reject": reject, "alpha": sets}
        _predict_parts(estimator, schema, data, output, keep, told, common)
        return
    table, rows = read_rows(estimator, schema, data)
    wanted: Priors
    if adapt:
        wanted = estimator.adapt_priors(rows)
        _remark_priors(estimator, wanted, data, common)
    else:
        wanted = _priors(priors, estimator)
    answers = _answer(estimator, rows, wanted, reject, sets, common)
    if keep:
        answers = _beside(table.kept(rows.column_names, output, common.json), answers, common)
    deliver(answers, output, common, {"classes": estimator.classes_.tolist()}, "predictions")


def _predict_parts(
    estimator: GenerativeEstimator, schema: Schema, data: Path, output: Path, keep: bool, told: Facts, common: Common
) -> None:
    """Answer for a table in parts, and write the answers as they come."""
    from ..engines import Reading, open_source
    from ..questions.answer_table import adapt_to_table

    if not is_many(data):
        check_readable(data)
    source = open_source(data, Reading.of(schema, estimator._fitted.past.dialect))
    names = list(source.schema.names)
    kept = names if keep else []
    wanted = [str(name) for name in estimator.feature_names_in_]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ColumnProblem.absent(missing, names, data, "which the model needs")
    answers = _names(estimator, told["alpha"] is not None)
    columns = [*kept, *(free_name(name, "predicted_", kept, common) for name in answers)]
    with noting_warnings(common):
        if told["priors"] == "adapt":
            with rows_progress(common, "Estimating class priors") as watch:
                told["priors"] = adapt_to_table(estimator._fitted, source, watch)
            _remark_priors(estimator, told["priors"], data, common)
        with rows_progress(common, "Labelling") as watch:
            rows = estimator.predict_table(source, output, keep=kept, progress=watch, **told)
    common.remark(f"Wrote {output}: {count(rows, 'row')}.")
    if common.json:
        facts = {"classes": estimator.classes_.tolist(), "columns": columns, "output": str(output)}
        print_json({"rows": rows, **facts})


def _remark_priors(estimator: GenerativeEstimator, priors: Array, data: Path, common: Common) -> None:
    found = (f"{label} {prior:.4g}" for label, prior in zip(estimator.classes_.tolist(), priors, strict=True))
    common.remark(f"Class priors estimated from {data.name}: {', '.join(found)}.")


def _priors(words: tuple[str, ...], estimator: GenerativeEstimator) -> Priors:
    """Return the priors that the command line asks for, as the library takes them."""
    if not words:
        return None
    if words == ("uniform",):
        return "uniform"
    known = by_text(estimator)
    given = {}
    for word in words:
        label, mark, number = word.rpartition("=")
        try:
            given[known.get(label, label)] = float(number)
        except ValueError:
            mark = ""
        if not mark:
            raise UsageProblem(f"--priors {word!r} is neither uniform, adapt nor LABEL=NUMBER.")
    return given


def _answer(
    estimator: GenerativeEstimator,
    rows: Table,
    priors: Priors,
    reject: float | None,
    alpha: float | None,
    common: Common,
) -> Table:
    """Return the table of labels, posteriors, log densities and sets, one row per row."""
    import pyarrow as pa

    from .._arrays import np
    from ..tasks import classify

    labels = pa.array(estimator.classes_.tolist())
    parts = []
    with noting_warnings(common), progress(common, "Labelling", rows.num_rows) as advance:
        for start in range(0, rows.num_rows, CHUNK):
            part = rows.slice(start, CHUNK)
            log_posterior = estimator.predict_log_proba(part, priors=priors)
            choice = classify.decide(log_posterior, None, reject)
            columns = [labels.take(pa.array(choice, mask=choice < 0))]
            columns += [pa.array(column) for column in np.exp(log_posterior).T]
            columns.append(pa.array(estimator.score_samples(part)))
            if alpha is not None:
                columns += [pa.array(column) for column in estimator.predict_set(part, alpha).T]
            parts.append(pa.table(columns, names=_names(estimator, alpha is not None)))
            advance(part.num_rows)
    answers: Table = pa.concat_tables(parts)
    return answers


def _names(estimator: GenerativeEstimator, sets: bool) -> list[str]:
    labels = estimator.classes_.tolist()
    inside = [f"in_{label}" for label in labels] if sets else []
    return ["label", *(f"p_{label}" for label in labels), "log_density", *inside]


def _beside(table: Table, answers: Table, common: Common) -> Table:
    """Return the columns of the table and then the answers, renamed where the table has a column of that name."""
    for name, column in zip(answers.column_names, answers.columns, strict=True):
        table = table.append_column(free_name(name, "predicted_", table.column_names, common), column)
    return table
