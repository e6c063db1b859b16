"""What commands that answer with a table share: opening the model, finding its columns, handing the table over."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema import Level, Schema
from .files import FileTable, check_readable, read_file, write_csv, write_table
from .output import Common, print_json, progress
from .problems import ColumnProblem, TargetProblem, count

if TYPE_CHECKING:
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator

WHOLE = r"^[+-]?\d{1,18}(\.0*)?$"


def load_model(path: Path) -> GenerativeEstimator:
    """Return the estimator in a model file."""
    from ..drop_in import load

    check_readable(path)
    estimator: GenerativeEstimator = load(path)
    return estimator


def open_model(path: Path) -> tuple[GenerativeEstimator, Schema]:
    """Return the estimator in a model file, and the schema of its columns."""
    estimator = load_model(path)
    return estimator, estimator._fitted.schema


def read_for(
    estimator: GenerativeEstimator,
    schema: Schema,
    path: Path,
    also: Sequence[str] = (),
    target: str | None = None,
    blank: tuple[str, ...] = (),
    sheet: str | None = None,
    learning: bool = False,
) -> FileTable:
    """Return a table with the columns of a model read as they were learned: text as text, numbers as numbers.

    `also` names further columns to read, such as weights; labels are made those of the model (`model_labels`). Unless
    it is read for `learning`, what the model has never seen is remarked.
    """
    from ..engines import Reading

    reading = Reading.of(schema, estimator._fitted.dialect, also, target, "text", blank, sheet)
    found = read_file(path, reading)
    if not learning:
        remark_unseen(estimator, schema, found.columns)
    if target is None or target not in found.columns.column_names:
        return found
    place = found.columns.schema.get_field_index(target)
    labels = model_labels(estimator, found.columns.column(target), target)
    return replace(found, columns=found.columns.set_column(place, target, labels))


def remark_unseen(estimator: GenerativeEstimator, schema: Schema, table: Table) -> None:
    """Say which categories of the columns of a model it has never seen, in how many rows."""
    from ..engines import remark
    from ..vocabulary import sentences

    names = [str(name) for name in schema.names] if schema.named else table.column_names
    if set(names) <= set(table.column_names) and len(names) == len(schema):
        fitted = estimator._fitted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of, the question itself will
            unseen = fitted.unseen(fitted.encoded(table.select(names))[0])
        for told in sentences(unseen):
            remark(f"{told}.")


def model_labels(estimator: GenerativeEstimator, labels: Column, target: str) -> Column:
    """Return labels as those of a model, whose classes say how they are to be taken.

    Where the classes are text, a label is what is written, and a whole number its digits. Where they are numbers, text
    is read as whole numbers, where they are truth values as true and false; anything else is a TargetProblem.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import decoded, is_text

    kinds = {type(label) for label in estimator.classes_.tolist()}
    labels = decoded(labels)
    if kinds == {str}:
        if pa.types.is_floating(labels.type):  # as tools store whole numbers some of which are missing
            whole = pc.if_else(pc.is_nan(labels), pa.scalar(None, labels.type), labels)
            labels = whole.cast(pa.int64()) if pc.all(pc.equal(pc.floor(whole), whole)).as_py() else labels
        return labels.cast(pa.string()) if pa.types.is_integer(labels.type) else labels
    if not is_text(labels.type):
        return labels
    words = pc.utf8_lower(pc.utf8_trim_whitespace(labels))
    pattern, what = (r"^(true|false|1|0)$", "true or false") if kinds == {bool} else (WHOLE, "a whole number")
    fits = pc.match_substring_regex(words, pattern)
    odd = labels.filter(pc.invert(pc.fill_null(fits, True)))
    if len(odd):
        raise TargetProblem.other_labels(target, odd[0].as_py(), what, estimator.classes_.tolist())
    try:
        found: Column = (
            pc.if_else(pc.is_valid(words), pc.is_in(words, value_set=pa.array(["true", "1"])), None)
            if kinds == {bool}
            else pc.replace_substring_regex(words, r"^\+|\.0*$", "").cast(pa.int64())
        )
    except pa.ArrowInvalid:
        raise TargetProblem.other_labels(target, labels[0].as_py(), what, estimator.classes_.tolist()) from None
    return found


def read_rows(
    estimator: GenerativeEstimator, schema: Schema, path: Path, sheet: str | None = None
) -> tuple[FileTable, Table]:
    """Return a table, and those of its columns that the model uses, in its order."""
    read = read_for(estimator, schema, path, sheet=sheet)
    names = [str(name) for name in schema.names] if schema.named else read.columns.column_names
    return read, model_columns(read.columns, names, path)


def by_text(estimator: GenerativeEstimator) -> dict[str, Level]:
    """Return the classes of a model by how they are written on the command line."""
    return {str(label): label for label in estimator.classes_.tolist()}


def model_columns(table: Table, names: Sequence[str], path: Path) -> Table:
    """Return the columns that the model uses, in its order."""
    present = table.column_names  # pyarrow makes the list anew each time
    known = set(present)
    missing = [name for name in names if name not in known]
    if missing:
        raise ColumnProblem.absent(missing, present, path, "which the model needs")
    return table.select(names)


def free_name(name: str, prefix: str, taken: Sequence[str], common: Common) -> str:
    """Return a name for a new column, with the prefix where the table has one of that name already."""
    free = name
    while free in taken:
        free = prefix + free
    if free != name:
        common.remark(f"The table has a column {name!r} already, so the answer is in {free!r}.")
    return free


def deliver(table: Table, output: Path | None, common: Common, facts: Mapping[str, object], key: str) -> None:
    """Write a table to its file, or to stdout as CSV, or with --json as rows under `key` beside the facts."""
    if output is not None:
        with progress(common, f"Writing {output.name}"):
            write_table(table, output)
        common.remark(f"Wrote {output}: {count(table.num_rows, 'row')}.")
    if common.json:
        found = {"output": str(output)} if output is not None else {key: table.to_pylist()}
        print_json({"rows": table.num_rows, **facts, "columns": table.column_names} | found)
    elif output is None:
        sys.stdout.flush()
        write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
