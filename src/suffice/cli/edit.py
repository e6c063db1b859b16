"""`suffice update`, `forget`, `merge`, `drop-class`, `rename-class`, `release`: edit a saved model without its data.

Each writes the new model at the end and in one step: whatever goes wrong, the old file stays as it was. Commands that
write one file wait for each other, so that none undoes what another has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import DataError, count, quoted
from ..notes import to_know
from .answers import class_named, load_model, target_of
from .files import check_model_output, save_model, sole_writer
from .output import COMMON, Common, Facts, UsageProblem, noting_warnings, print_json, progress
from .parameters import (
    ColumnName,
    DataPath,
    Edited,
    Force,
    Groups,
    LearnedTarget,
    ModelPath,
    MoreMissing,
    NewModel,
    Rows,
    SavedModel,
    Sheet,
    Switch,
    Weight,
)
from .training import read_batch

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator
    from ..stats import ByClass


def update(
    model: SavedModel,
    data: Rows,
    /,
    *,
    target: LearnedTarget = None,
    output: Edited = None,
    weight: Weight = None,
    groups: Groups = None,
    missing_text: MoreMissing = (),
    decay: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gt=0, lte=1))] = None,
    force: Force = False,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Add the rows of a table to what a model has learned.

    The model then equals one fitted on all rows at once; a class or category may be new. Rows without a label are left
    out. On any error the model file stays as it was.

    Parameters
    ----------
    decay
        First multiply the weight of every row learned so far by this, above 0 and at most 1, to follow a drift.

    Examples
    --------
    $ suffice update penguins.suffice more.csv --target species -o m.suffice
    """
    with _editing(model, output, force, common, f"Learning from {data.name}", data) as estimator:
        batch = read_batch(data, estimator, target_of(estimator, target), weight, common, missing_text, sheet, groups)
        estimator.partial_fit(batch.columns, batch.labels, sample_weight=batch.weight, decay=decay, groups=batch.groups)
        estimator._edit_past(dialect=estimator._fitted.past.dialect or batch.dialect)
    _report(common, estimator, output or model, f"learned {count(batch.columns.num_rows, 'more row')}")


def forget(
    model: SavedModel,
    data: DataPath,
    /,
    *,
    target: LearnedTarget = None,
    output: Edited = None,
    weight: ColumnName | None = None,
    groups: Groups = None,
    missing_text: MoreMissing = (),
    force: Force = False,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Remove the rows of a table from what a model has learned.

    The model then equals one fitted without them. Rows that cannot have been learned are refused, by class; rows
    without a label, which `suffice fit` leaves out, are left out here too. On any error the model file stays as it was.

    Parameters
    ----------
    data
        Table with the rows as they were learned, in any format that `suffice fit` reads.
    weight
        Column of row weights, as they were when the rows were learned.

    Examples
    --------
    $ suffice forget m.suffice more.csv --target species
    """
    with _editing(model, output, force, common, f"Forgetting {data.name}", data) as estimator:
        batch = read_batch(data, estimator, target_of(estimator, target), weight, common, missing_text, sheet, groups)
        estimator.forget(batch.columns, batch.labels, batch.weight, batch.groups)
    _report(common, estimator, output or model, f"forgot {count(batch.columns.num_rows, 'row')}")


def merge(
    *models: ModelPath,
    output: NewModel,
    again: Switch = False,
    distinct: Switch = False,
    force: Force = False,
    common: Common = COMMON,
) -> None:
    """Make one model of several: the model of all their rows.

    Sites that may not share rows each run `suffice fit`; the model files travel, and the result equals one fit on the
    rows of all sites. Classes and categories may be known to one site only. Columns and --model must agree; settings
    such as priors are those of the first file.

    Parameters
    ----------
    models
        Files that `suffice fit` wrote, at least two.
    output
        File to write the model to; it may be one of the others.
    again
        Merge models that have learned the very same, whose rows then count more than once.
    distinct
        Refuse models that have learned some of the same rows, as far as the rows they keep tell; if not given these
        count twice, and the command says how many.

    Examples
    --------
    $ suffice merge penguins.suffice m.suffice -o both.suffice
    """
    if len(models) < 2:
        raise UsageProblem("merge takes at least two model files.")
    check_model_output(output, force)
    with sole_writer(output), progress(common, "Merging", len(models)) as advance:
        estimator = load_model(models[0])
        learned = [(models[0], estimator._fitted.statistics)]
        advance(1)
        for path in models[1:]:
            other = load_model(path)
            if not again:
                _check_new(path, other, learned)
            learned.append((path, other._fitted.statistics))
            try:
                with noting_warnings(common, f"{str(path)!r}: "):
                    estimator.merge(other, distinct=distinct)
            except DataError:
                raise
            except ValueError as error:
                raise type(error)(f"{str(path)!r} does not merge with {str(models[0])!r}: {error}") from error
            advance(1)
        save_model(estimator, output, force)
    _report(common, estimator, output, f"merged {count(len(models), 'model')}")


def _check_new(path: Path, model: GenerativeEstimator, learned: Sequence[tuple[Path, ByClass]]) -> None:
    """Refuse a model that has learned what one of those before has."""
    from ..stats.statistic import written_alike

    own = model._fitted.statistics
    for before, other in learned:
        same = path.samefile(before) or (
            (own.classes, own.weight.tolist(), own.rows) == (other.classes, other.weight.tolist(), other.rows)
            and len(own.blocks) == len(other.blocks)
            and all(
                type(a) is type(b) and written_alike(a.arrays(), b.arrays())
                for a, b in zip(own.blocks, other.blocks, strict=True)
            )
        )
        if same:
            what = "is named twice" if path == before else f"has learned the very same as {str(before)!r}"
            raise UsageProblem(
                f"{str(path)!r} {what}, so that its rows would count twice. Leave it out, or add --again if they are "
                "to count so."
            )


def drop_class(
    model: SavedModel,
    /,
    *labels: Annotated[str, Parameter(metavar="LABEL")],
    output: Edited = None,
    force: Force = False,
    common: Common = COMMON,
) -> None:
    """Remove classes, with all their rows, from a model.

    The model then equals one fitted without the rows of these classes. On any error the model file stays as it was.

    Parameters
    ----------
    labels
        The classes to remove, as `suffice show` names them.

    Examples
    --------
    $ suffice drop-class penguins.suffice Gentoo -o two.suffice
    """
    if not labels:
        raise UsageProblem("drop-class takes at least one class.")
    with _editing(model, output, force, common, f"Learning {model.name} anew") as estimator:
        for label in {class_named(label, estimator): None for label in labels}:
            estimator.drop_class(label)
    _report(common, estimator, output or model, f"dropped {quoted(labels)}")


def rename_class(
    model: SavedModel,
    /,
    *names: Annotated[str, Parameter(metavar="OLD=NEW")],
    output: Edited = None,
    force: Force = False,
    common: Common = COMMON,
) -> None:
    """Give classes of a model other labels; classes given one label become one class.

    All are renamed at once, so two can change places. On any error the model file stays as it was.

    Parameters
    ----------
    names
        Pairs OLD=NEW: a class as `suffice show` names it, and its new label.

    Examples
    --------
    $ suffice rename-class penguins.suffice Gentoo=gentoo -o small.suffice
    """
    if not names:
        raise UsageProblem("rename-class takes at least one pair OLD=NEW.")
    with _editing(model, output, force, common, f"Learning {model.name} anew") as estimator:
        integers = all(type(label) is int for label in estimator.classes_.tolist())
        renamed = {}
        for pair in names:
            old, mark, new = pair.partition("=")
            if not mark or not old or not new:
                raise UsageProblem(f"{pair!r} is no pair OLD=NEW.")
            if class_named(old, estimator) in renamed:
                raise UsageProblem(f"{old!r} is given two labels. Next: give one.")
            renamed[class_named(old, estimator)] = int(new) if integers and new.lstrip("-").isdigit() else new
        estimator.rename_classes(renamed)
    _report(common, estimator, output or model, "renamed " + ", ".join(names))


@contextmanager
def _editing(
    model: Path, output: Path | None, force: bool, common: Common, what: str, data: Path | None = None
) -> Iterator[GenerativeEstimator]:
    """Let a model be edited while nobody else does; at the end it takes its place, or that of `output`."""
    to = output or model
    check_model_output(to, force, [] if data is None else [(data, "table")])
    with sole_writer(to), progress(common, what):
        estimator = load_model(model)
        yield estimator
        save_model(estimator, to, force)


def _report(common: Common, estimator: GenerativeEstimator, path: Path, done: str) -> None:
    classes = estimator.classes_.tolist()
    rows = estimator.statistics_.rows
    notes = [str(note) for note in estimator.notes_]
    if common.json:
        print_json({"output": str(path), "classes": classes, "rows": rows, **held(estimator), "notes": notes})
    for note in to_know(estimator.notes_):
        common.remark(f"Note: {note}.")
    common.remark(f"Wrote {path}: {done}; it knows {count(len(classes), 'class')} from {count(rows, 'row')}.")
    common.remark(f"It {estimator.rows_held_}.")


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

    The new model predicts, draws rows and merges as others do. The command says what was given up; to see what that
    costs, run `suffice score` with either file on rows that neither model has seen. The promise is about the rows of
    one file, not about the difference of two; `docs/editing.md` says what stays open.

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
