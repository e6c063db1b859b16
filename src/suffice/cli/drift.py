"""`suffice drift`: what has moved between the rows a model has learned and new ones."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .._files import format_of
from ..errors import visible
from .answers import load_model, model_columns, open_model, read_for
from .files import check_readable
from .output import COMMON, Common, print_json, progress
from .parameters import ColumnName, DataPath, SavedModel, Sheet
from .problems import ColumnProblem, UsageProblem
from .running import FOUND, OK

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator
    from ..schema import Schema


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
    common: Common = COMMON,
) -> int:
    """Say what has moved between the rows a model has learned and those of a table, or of another model.

    The columns are listed with what has moved most surely first: by how much, how probable as much is if nothing has
    changed (p), the same within the classes, where other shares of the classes explain nothing, and adjusted for the
    number of columns: the first p, or with --target both together. The lines above compare class shares, how columns
    go together, and all at once.

    The exit status is 3 where a column's adjusted p-value, or the joint one, is at most the level: where nothing has
    changed that happens to a share of at most twice the level of tables.

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
    estimator, schema = open_model(model)
    if format_of(new) is None and zipfile.is_zipfile(new):
        if target is not None:
            raise UsageProblem(f"--target {target!r}: {new} is a model, which knows its own classes. Leave it out.")
        other = load_model(new)
        with progress(common, f"Comparing {new.name}"):
            found = estimator.drift(other)
    else:
        X, y = _rows(estimator, schema, new, target, sheet)
        with progress(common, f"Comparing {new.name}"):
            found = estimator.drift(X, y)
    moved = found.moved(level)
    if common.json:
        print_json({**found.to_dict(), "level": level, "moved": moved})
    else:
        print(visible(found))
    return FOUND if moved or found.joint_p_value <= level else OK


def _rows(
    estimator: GenerativeEstimator, schema: Schema, path: Path, target: str | None, sheet: str | None
) -> tuple[Any, Any]:
    """Return the model's columns of a table, and the labels of its rows if there is a target."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = read_for(estimator, schema, path, target=target, sheet=sheet).columns
    if target is not None and target not in table.column_names:
        raise ColumnProblem.absent([target], table.column_names, path, "for --target")
    beside = [name for name in table.column_names if name != target]
    X = model_columns(table, [str(name) for name in schema.names] if schema.named else beside, path)
    if target is None:
        return X, None
    labels = table[target]
    if pa.types.is_string(labels.type):
        labels = pc.if_else(pc.equal(labels, ""), pa.scalar(None, pa.string()), labels)
    return X, labels
