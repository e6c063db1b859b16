"""`suffice report`: a model as one web page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..schema import Level, Schema
from .answers import model_columns, model_labels, open_model, remark_unseen
from .files import check_ending, check_writable, read_file
from .output import COMMON, Common, print_json, progress
from .parameters import ColumnName, DataPath, SavedModel, Sheet
from .problems import ColumnProblem

if TYPE_CHECKING:
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator


def report(
    model: SavedModel,
    data: DataPath | None = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="PAGE")] = None,
    target: ColumnName | None = None,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Write a web page about a model: how good it is, its classes and columns, pictures, and what was repaired.

    The page answers questions too: type what is known of a row, and it shows the probability of each class, what the
    unknown cells may hold, why, and how unusual the row is. Quality is judged by leave-one-out on the rows that the
    model file keeps. The page is one file that loads and sends nothing, and can be printed or sent by mail.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on. The page then has what the model says of its rows: answers by
        class, and the most unusual rows with some of their cells.
    output
        File to write; the model's name with the ending .html if not given. With --json and without this option, the
        facts are printed and no page is written.
    target
        Column of DATA with the true classes, for how good the answers are. If not given, the only column beside the
        model's whose values are all classes of the model.

    Examples
    --------
    $ suffice report penguins.suffice -o penguins.html
    $ suffice report penguins.suffice more.csv --target species -o penguins.html
    """
    facts_only = common.json and output is None
    made = model.with_suffix(".html") if output is None else output
    if not facts_only:
        check_ending(made, "web page")
        check_writable(made, [(model, "model"), *([] if data is None else [(data, "table")])])
    estimator, schema = open_model(model)
    X, y = (None, None) if data is None else _read(estimator, schema, data, target, sheet, common)
    if common.json:
        from ..report import collect_answers, collect_facts

        facts = collect_facts(estimator)
        print_json(facts if X is None else facts | {"answers": collect_answers(estimator, X, y)})
    if not facts_only:
        with progress(common, f"Drawing {model.name}"):
            estimator.to_html(made, X, y, name="the table" if data is None else data.name)
        common.remark(f"Wrote {made}.")


def _read(
    estimator: GenerativeEstimator, schema: Schema, data: Path, target: str | None, sheet: str | None, common: Common
) -> tuple[Table, Column | None]:
    """Return the model's columns of a table, and its labels where it has some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines import Reading

    read = read_file(data, Reading.of(schema, estimator._fitted.dialect, target=target, labels="text", sheet=sheet))
    table, classes = read.columns, estimator.classes_.tolist()
    if not schema.named:
        return table, None
    names = [str(name) for name in schema.names]
    X = model_columns(table, names, data)
    remark_unseen(estimator, schema, X)
    if target is not None and target not in table.column_names:
        raise ColumnProblem.absent([target], table.column_names, data, "for --target")
    if target is None:
        used = set(names)
        beside = [name for name in table.column_names if name not in used]
        found = [name for name in beside if _holds_classes(table[name], classes)]
        if len(found) != 1:
            return X, None
        target = found[0]
        common.remark(f"True classes are in column {target!r}.")
    labels = table[target]
    if pa.types.is_string(labels.type):
        labels = pc.if_else(pc.equal(labels, ""), pa.scalar(None, pa.string()), labels)
    return X, model_labels(estimator, labels, target)


def _holds_classes(column: Column, classes: list[Level]) -> bool:
    values = [value for value in column.unique().to_pylist() if value not in (None, "")]
    return bool(values) and set(map(str, values)) <= set(map(str, classes))
