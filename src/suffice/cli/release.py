"""`suffice release`: a model for others, without rows and without a sum of few rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .answers import load_model
from .output import COMMON, Common, Facts, print_json, progress
from .parameters import Force, ModelPath, NewModel
from .problems import count
from .saving import check_model_output, save_model

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator


def release(
    model: ModelPath,
    /,
    *,
    output: NewModel,
    least: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=2))] = 5,
    like: ModelPath | None = None,
    force: Force = False,
    common: Common = COMMON,
) -> None:
    """Make a model file for others: no row is in it, and no number that sums over few rows.

    The new model predicts, draws rows and merges as others do. The command says what was given up; what that costs
    `suffice score` says of rows that neither model has seen, by either file. It is a promise about the rows of one
    file, not about the difference of two; `docs/editing.md` says what stays open.

    Parameters
    ----------
    model
        File that `suffice fit` wrote; it stays as it is.
    output
        File to write the new model to.
    least
        The least number of rows in a sum. A class with fewer is refused: join it to another (`suffice rename-class`)
        or leave it out (`suffice drop-class`) first.
    like
        A released model of another site, on whose knots columns are read; for automatic classifiers that will merge.

    Examples
    --------
    $ suffice release penguins.suffice -o given.suffice
    """
    check_model_output(output, force, [(model, "model")] + ([(like, "model")] if like is not None else []))
    estimator = load_model(model)
    other = None if like is None else load_model(like)
    with progress(common, f"Releasing {model.name}"):
        found = estimator.release(least=least, like=other)
        save_model(found, output, force)
    _report(common, found, output)


def _report(common: Common, found: GenerativeEstimator, output: Path) -> None:
    told = found.released_
    if common.json:
        print_json({"output": str(output), "classes": found.classes_.tolist(), **held(found), "released": told.plain()})
    for note in told.notes:
        common.remark(f"Given up: {note}.")
    rows = count(found.statistics_.rows, "row")
    common.remark(f"Wrote {output}: it {found.rows_held_}; learned from {rows}.")


def held(estimator: GenerativeEstimator) -> Facts:
    """Return what a model holds of the rows it learned, as plain values."""
    found = estimator.rows_held_
    return {"rows_held": found.kept, "least_rows_of_a_sum": found.least}
