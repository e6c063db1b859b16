"""`suffice sample`: draw new rows from a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..schema import Kind, Level, Name, Schema
from .answers import by_text, deliver, free_name, open_model
from .files import check_output
from .output import COMMON, Common, progress
from .parameters import Answers, SavedModel, Seed, Switch
from .problems import UsageProblem, did_you_mean

if TYPE_CHECKING:
    from ..engines.arrow import Table

TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def sample(
    model: SavedModel,
    /,
    *,
    rows: Annotated[int, Parameter(name=("--rows", "-n"), metavar="NUMBER", validator=Between(gte=1))],
    label: Annotated[str | None, Parameter(metavar="LABEL")] = None,
    given: Annotated[tuple[str, ...], Parameter(metavar="COLUMN=VALUE", show_default=False)] = (),
    seed: Seed | None = None,
    unrounded: Switch = False,
    output: Answers = None,
    common: Common = COMMON,
) -> None:
    """Draw new rows from a model: their class in a column `label`, then the columns the model was fitted on.

    Parameters
    ----------
    rows
        How many rows to draw.
    label
        Class to draw rows of; otherwise classes come as often as the model expects them.
    given
        Cell held fixed, such as island=Dream; classes and other cells are drawn given these. May be repeated.
    seed
        Start of the random draws; the same seed gives the same rows.
    unrounded
        Leave numbers as the model's density has them, instead of in the steps (such as whole numbers) and within the
        range of the rows it keeps.

    Examples
    --------
    $ suffice sample penguins.suffice -n 5 --given island=Dream --seed 1
    """
    from ..questions.sample import draw_rows

    check_output(output, [(model, "model")])
    estimator, schema = open_model(model)
    fixed = _read_given(given, schema)
    wanted = None if label is None else _find_label(label, by_text(estimator))
    with progress(common, "Drawing rows"):
        table, labels = draw_rows(estimator._fitted.joint_value, rows, wanted, fixed, seed, "pyarrow", not unrounded)
    deliver(_in_front(table, labels.tolist(), common), output, common, {}, "table")


def _in_front(table: Table, labels: list[Level], common: Common) -> Table:
    import pyarrow as pa

    name = free_name("label", "sampled_", table.column_names, common)
    return table.add_column(0, name, pa.array(labels))


def _find_label(label: str, classes: Mapping[str, Level]) -> Level:
    """Return the class that is written like this."""
    if label in classes:
        return classes[label]
    near = did_you_mean(label, list(classes), "its classes are")
    raise UsageProblem(f"--label {label!r} is not a class of this model; {near}")


def _read_given(given: Sequence[str], schema: Schema) -> dict[Name, Level]:
    """Return {column: value} of `column=value` texts, each value of its column's kind."""
    names = {str(column.name): column for column in schema.columns}
    found: dict[Name, Level] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageProblem(f"--given {text!r} has no equals sign; write COLUMN=VALUE.")
        if name not in names:
            raise UsageProblem(
                f"--given {text!r}: the model has no column {name!r}; {did_you_mean(name, list(names), 'it has')}"
            )
        if names[name].name in found:
            raise UsageProblem(f"--given names the column {name!r} twice.")
        found[names[name].name] = _read_value(text, value, names[name].kind)
    return found


def _read_value(text: str, value: str, kind: Kind) -> Level:
    if kind.is_label:
        return value
    if kind is Kind.BOOLEAN:
        if value.lower() not in TRUTHS:
            raise UsageProblem(f"--given {text!r}: the column holds truth values; write true or false.")
        return TRUTHS[value.lower()]
    try:
        return float(value)
    except ValueError:
        raise UsageProblem(f"--given {text!r}: the column holds numbers, and {value!r} is none.") from None
