"""`suffice score`, `columns` and `drift`: how good a model is, what its columns are worth, what has moved since."""

from __future__ import annotations

import contextlib
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .._files import check_readable, format_of
from ..errors import DataError, count
from .answers import (
    Costs,
    Priors,
    answer_costs,
    class_named,
    columns_there,
    given_priors,
    load_model,
    model_columns,
    model_labels,
    read_for,
    remark_priors,
    target_of,
)
from .app import FOUND, OK
from .models import is_many, open_parts
from .output import COMMON, Common, Facts, UsageProblem, noting_warnings, page_width, progress, rows_progress
from .parameters import (
    ColumnName,
    DataPath,
    Groups,
    LearnedTarget,
    MissingColumns,
    MoreMissing,
    Periods,
    SavedModel,
    Sheet,
    Time,
    Weight,
)
from .training import Training, check_named, check_not_read, group_values, read_batch

if TYPE_CHECKING:
    from ..engines import Source
    from ..estimators.base import GenerativeEstimator
    from ..fitted import Fitted
    from ..questions.forward import ForwardValidation
    from .answers import Told


TOO_LIKE = 0.02  # the share of rows that were learned from which on the figures are not taken as they are


def score(
    model: SavedModel,
    data: DataPath,
    /,
    *,
    target: LearnedTarget = None,
    weight: Weight = None,
    groups: Groups = None,
    priors: Priors = (),
    costs: Costs = (),
    positive: Annotated[str | None, Parameter(metavar="CLASS")] = None,
    time: Time = None,
    periods: Periods = None,
    missing_text: MoreMissing = (),
    sheet: Sheet = None,
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Measure how good a model is on rows it has not learned, whose classes are known.

    Accuracy with its 95 % interval, log-loss, calibration, recall and precision of each class, areas under the ROC and
    the precision-recall curve, which classes are taken for which, and what flagging rows from a probability on would
    find; beside each stands what needs no model: naming the commonest class, or the class shares. Rows without a label,
    or of classes that the model does not know, are counted and not judged. Rows that look as if they were learned are
    pointed out. With --groups the interval of the accuracy and the standard error of the log-loss are those of groups
    drawn whole.

    With --time, period by period: how good the model is as it stands (unchanged), and what it becomes by learning the
    periods before, beside what it then says of itself, and by learning the last few periods alone.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on, and the classes: text (.csv, .tsv, .txt), Excel (.xlsx), JSON
        lines (.jsonl), Parquet or Arrow; - for standard input; or many files, by a pattern in quotes or their folder.
        They are read in parts, so that memory does not grow with the rows; areas under curves of more than two million
        numbers are then those of log-odds in steps of 1/256.
    positive
        Class to be flagged, for the table of thresholds. Of two classes the rarer one if not given.

    Examples
    --------
    $ suffice score penguins.suffice more.csv --target species
    $ suffice score penguins.suffice more.csv --target species --positive Gentoo
    $ suffice score penguins.suffice more.csv --target species --time year
    """
    from ..engines import weight_values
    from ..questions.answer_table import adapt_to_source
    from ..questions.assess import JudgedParts, assess_table

    estimator = load_model(model)
    fitted = estimator._fitted
    if periods is not None and time is None:
        raise UsageProblem("--periods cuts the times of --time. Next: add --time COLUMN, or leave --periods out.")
    if time is not None and (priors or costs or positive is not None or is_many(data)):
        raise UsageProblem(
            "--time judges one table period by period. Next: leave out --priors, --costs and --positive, name one "
            "file, or leave out --time."
        )
    label = None if positive is None else class_named(positive, estimator)
    matrix = answer_costs(costs, estimator)
    told: Told = None if priors == ("adapt",) else given_priors(priors, estimator)
    target = target_of(estimator, target)
    about = {"model": str(model), "data": str(data), "target": target}
    if time is not None:
        with noting_warnings(common):
            read = data, estimator, target, weight, replace(common, quiet=True)
            batch = read_batch(*read, missing_text, sheet, groups, missing_columns, time)
            answer = _judge_forward(estimator, batch, data, periods, common)
        common.answer({**about, "time": time, **answer.to_dict()}, answer.report(page_width()))
        return
    with noting_warnings(common):
        source, columns = _open_judged(fitted, data, target, weight, groups, missing_text, sheet, missing_columns)
        if priors == ("adapt",):
            with rows_progress(common, "Estimating class priors") as watch:
                told = adapt_to_source(fitted, source, columns, watch)
                remark_priors(estimator, told, data, common)
        labels, weights = partial(model_labels, estimator, target=target), partial(weight_values, name=weight or "")
        given = target, weight, groups, labels, weights, group_values
        with rows_progress(common, "Judging") as watch:
            found = assess_table(fitted, source, JudgedParts(fitted, tuple(columns), *given, told, matrix), watch)
    common.answer({**about, **found.to_dict(label)}, found.report(label, page_width()))
    _remark_learned(found.learned, data, common)


def _remark_learned(share: float | None, data: Path, common: Common) -> None:
    """Say what to do where rows that were learned are judged."""
    if share is None or share < TOO_LIKE:
        return
    about = "All" if share > 0.995 else f"About {share:.0%}" if share >= 0.1 else f"About {share:.1%}"
    common.remark(
        f"Note: {about} of these rows are rows that the model has learned, so these figures are better than those of "
        f"new rows will be. Next: judge it by other rows; or use `suffice compare`, which judges models fitted to "
        f"{data.name} by rows left out, or `suffice report`, which shows this model's own left-out figures."
    )


def _judge_forward(
    estimator: GenerativeEstimator, batch: Training, data: Path, periods: int | None, common: Common
) -> ForwardValidation:
    """Return how good the model is at each period of a table, as it stands and having learned those before."""
    given = batch.columns, batch.labels, batch.weight, batch.groups
    with progress(common, f"Judging by {data.name}"):
        found = estimator.validate_forward(*given, time=batch.time, periods=periods, learned=True)
    with contextlib.suppress(DataError):  # no row is of a class that the model knows
        _remark_learned(estimator.assess(*given).learned, data, common)
    return replace(found, unlabelled=found.unlabelled + batch.unlabelled)


def _open_judged(
    fitted: Fitted,
    data: Path,
    target: str,
    weight: str | None,
    groups: str | None,
    missing: tuple[str, ...],
    sheet: str | None,
    missing_columns: str,
) -> tuple[Source, list[str]]:
    """Return a table to judge by, which is read in parts, and the columns of the model in it."""
    from ..engines import Reading

    also = tuple(name for name in (weight, groups) if name is not None)
    source = open_parts(data, Reading.of(fitted.schema, fitted.past.dialect, also, target, "text", missing, sheet))
    names = list(source.schema.names)
    check_named(names, target, (), weight, data, groups)
    check_not_read(target, fitted.schema, groups)
    if fitted.schema.named:
        return source, columns_there(fitted.schema, names, data, missing_columns)
    return source, [name for name in names if name not in (target, *also)]


def columns(
    model: SavedModel,
    /,
    *,
    within: Annotated[float, Parameter(metavar="NATS", validator=Between(gte=0))] = 0.01,
    common: Common = COMMON,
) -> None:
    """Tell what each column is worth, and which few columns serve as well as all.

    A column is worth what the model loses, in nats of log-loss, where its cells are unknown: each of the rows that the
    model keeps is judged by the model of all others, with the column and without it. Below 0 the model does better
    without it. No table is needed, and nothing is fitted again. Of a model that was fitted with --groups whole groups
    leave, and standard errors are those of groups drawn whole.

    Parameters
    ----------
    within
        By how many nats the fewest columns may lose more than all.

    Examples
    --------
    $ suffice columns penguins.suffice --within 0.01
    """
    from ..questions.frames import records

    estimator = load_model(model)
    with progress(common, f"Judging the columns of {model.name}"):
        found, few = estimator.importance(), estimator.smallest_columns(within)
    table, by_class = found.to_dict(), found.by_class[:, found.order].T
    rows = records({name: table[name] for name in ("column", "mean", "standard_error")})
    for row, own in zip(rows, by_class, strict=True):
        row["by_class"] = records({"label": found.classes, "mean": own})
    document: Facts = {"loss": found.loss, "rows": found.rows, "judged_by": found.judged_by, "columns": rows}
    document |= {} if found.groups is None else {"groups": found.groups}
    named = ", ".join(map(str, few)) if few else "none: the shares of the classes alone"
    enough = f"{len(few)} of {count(len(found.columns), 'column')} within {within:g} nats of all: {named}"
    common.answer({**document, "within": within, "smallest_columns": few}, f"{found}\n\n{enough}")
    common.remark(f"Judged by {found.judged_by}.")


def drift(
    model: SavedModel,
    new: Annotated[
        DataPath,
        Parameter(name="NEW", help="Table with the columns of the model, or another model file of the same columns."),
    ],
    /,
    *,
    target: ColumnName | None = None,
    level: Annotated[float, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = 0.05,
    sheet: Sheet = None,
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> int:
    """Compare the rows a model has learned with those of a table, or of another model: what has moved.

    The columns are listed with what has moved most surely first: by how much; how probable so much is if nothing has
    changed (p); the same within the classes, where other shares of the classes explain nothing; and the p-value
    adjusted for the number of columns: the first, or with --target both together. The lines above compare class shares,
    how columns go together, and all at once.

    The exit status is 3 where a column's adjusted p-value, or the joint one, is at most the level. Where nothing has
    changed, that happens with a probability of at most twice the level.

    Parameters
    ----------
    target
        Column of NEW with the classes of its rows; cells may be missing, or be of classes that the model does not know.
        Without it class shares are estimated from the other columns.
    level
        P-value up to which something counts as moved.

    Examples
    --------
    $ suffice drift penguins.suffice more.csv --target species
    """
    check_readable(new)
    estimator = load_model(model)
    if format_of(new) is None and zipfile.is_zipfile(new):
        if target is not None or sheet is not None or missing_columns != "error":
            raise UsageProblem(f"{new} is a model. Leave out --target, --sheet and --missing-columns, made for tables.")
        other = load_model(new)
        with progress(common, f"Comparing {new.name}"):
            found = estimator.drift(other)
    else:
        table = read_for(estimator, new, target=target, sheet=sheet, missing_columns=missing_columns).columns
        rows, labels = (table, None) if target is None else (table.drop_columns(target), table[target])
        rows = model_columns(estimator, rows, new)
        with progress(common, f"Comparing {new.name}"):
            found = estimator.drift(rows, labels)
    moved = found.moved(level)
    common.answer({**found.to_dict(), "level": level, "moved": moved}, found)
    return FOUND if moved or found.joint_p_value <= level else OK
