"""What commands that answer for a table share: the model, its columns, priors and costs, handing the table over."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from .._files import check_readable, format_of
from ..errors import DataError, SourceError, count, did_you_mean
from ..schema import Level, Schema
from .files import FileTable, read_file, without_blanks, write_table
from .output import Common, TargetProblem, UsageProblem, print_json, progress

if TYPE_CHECKING:
    from .._arrays import Array
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator

    Told = Literal["uniform"] | dict[Level, float] | Array | None  # priors as the library takes them


WHOLE = r"^[+-]?\d{1,18}(\.0*)?$"


def load_model(path: Path) -> GenerativeEstimator:
    """Return the estimator in a model file."""
    check_readable(path)  # before scikit-learn is imported, which takes a second
    from ..drop_in import load
    from ..files.model_file import holds_model

    if format_of(path) is not None and not holds_model(path):
        told = f"{str(path)!r} is a table, and a model belongs there"
        raise SourceError(f"{told}. Next: give a file that `suffice fit` wrote.")
    estimator: GenerativeEstimator = load(path)
    return estimator


def target_of(estimator: GenerativeEstimator, target: str | None) -> str:
    """Return the name of the column of labels: the one given, or else the model's own."""
    if found := target or estimator._fitted.past.target:
        return str(found)
    raise UsageProblem("The model does not know what its labels were called. Name their column by --target.")


def read_for(
    estimator: GenerativeEstimator,
    path: Path,
    also: Sequence[str] = (),
    target: str | None = None,
    blank: tuple[str, ...] = (),
    sheet: str | None = None,
    learning: bool = False,
    missing_columns: str = "error",
) -> FileTable:
    """Return a table with the columns of a model read as they were learned: text as text, numbers as numbers.

    `also` names further columns to read, such as weights; labels are made those of the model (`model_labels`). Unless
    it is read for `learning`, what the model has never seen is remarked.
    """
    from ..engines import Reading

    schema = estimator._fitted.schema
    found = read_file(path, Reading.of(schema, estimator._fitted.dialect, also, target, "text", blank, sheet))
    if missing_columns == "missing":
        from ..table import add_missing

        found = replace(found, columns=add_missing(found.columns, schema))
    if not learning:
        remark_unseen(estimator, found.columns)
    if target is None:
        return found
    if target not in found.columns.column_names:
        raise SourceError.columns_missing(repr(str(path)), [target], found.columns.column_names, "for --target")
    place = found.columns.schema.get_field_index(target)
    labels = model_labels(estimator, found.columns.column(target), target)
    return replace(found, columns=found.columns.set_column(place, target, labels))


def remark_unseen(estimator: GenerativeEstimator, table: Table) -> None:
    """Say which categories of the columns of a model it has never seen, in how many rows."""
    from ..engines import remark
    from ..vocabulary import sentences

    fitted = estimator._fitted
    names = [str(name) for name in fitted.schema.names] if fitted.schema.named else table.column_names
    if fitted.known_levels and set(names) <= set(table.column_names) and len(names) == len(fitted.schema):
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
    labels = without_blanks(decoded(labels))
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
    if kinds == {bool}:
        return pc.if_else(pc.is_valid(words), pc.is_in(words, value_set=pa.array(["true", "1"])), None)
    try:
        return pc.replace_substring_regex(words, r"^\+|\.0*$", "").cast(pa.int64())
    except pa.ArrowInvalid:
        raise TargetProblem.other_labels(target, labels[0].as_py(), what, estimator.classes_.tolist()) from None


def read_rows(
    estimator: GenerativeEstimator, path: Path, sheet: str | None, missing_columns: str
) -> tuple[FileTable, Table]:
    """Return a table, and those of its columns that the model uses, in its order."""
    read = read_for(estimator, path, sheet=sheet, missing_columns=missing_columns)
    return read, model_columns(estimator, read.columns, path)


def by_text(estimator: GenerativeEstimator) -> dict[str, Level]:
    """Return the classes of a model by how they are written on the command line."""
    return {str(label): label for label in estimator.classes_.tolist()}


def class_named(text: str, estimator: GenerativeEstimator) -> Level:
    """Return the class that a word on the command line names."""
    classes = by_text(estimator)
    if text not in classes:
        near = did_you_mean(text, list(classes), "the classes are")
        raise DataError(f"The model has no class {text!r}; {near} Next: name a class as `suffice show` does.")
    return classes[text]


def model_columns(estimator: GenerativeEstimator, table: Table, path: Path) -> Table:
    """Return the columns that the model uses, in its order; all of them where it knows none by name."""
    schema = estimator._fitted.schema
    if not schema.named:
        return table
    return table.select(columns_there(schema, table.column_names, path))


def columns_there(schema: Schema, names: Sequence[str], path: Path, missing_columns: str = "error") -> list[str]:
    """Return which of the columns of a model are among those of a table; SourceError if one lacks and must not."""
    wanted, there = [str(name) for name in schema.names], set(names)
    missing = [name for name in wanted if name not in there]
    if missing and missing_columns == "error":
        told = SourceError.columns_missing(repr(str(path)), missing, names, "which the model needs")
        raise SourceError(f"{told} With --missing-columns missing, predict and others do without them.")
    return [name for name in wanted if name in there]


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
        from ..engines import write_csv

        sys.stdout.flush()
        write_csv([table], sys.stdout.buffer)
        sys.stdout.buffer.flush()


Priors = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="PRIOR",
        show_default=False,
        help="Class priors in place of those learned: `uniform`; `adapt`, estimated from the rows of DATA, where "
        "classes come in other proportions; or LABEL=NUMBER, once for each class.",
    ),
]
Costs = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="TRUE:ANSWER=NUMBER",
        show_default=False,
        help="What an answer costs where another class is true, such as sick:healthy=20; may be repeated. Other wrong "
        "answers cost 1 and right ones nothing. The label is then that of least expected cost.",
    ),
]


def remark_priors(estimator: GenerativeEstimator, priors: Array, data: Path, common: Common) -> None:
    """Say which class priors were estimated from a table."""
    found = (f"{label} {prior:.4g}" for label, prior in zip(estimator.classes_.tolist(), priors, strict=True))
    common.remark(f"Class priors estimated from {data.name}: {', '.join(found)}.")


def given_priors(words: tuple[str, ...], estimator: GenerativeEstimator) -> Told:
    """Return the priors that the command line asks for, as the library takes them."""
    if not words:
        return None
    if words == ("uniform",):
        return "uniform"
    known = by_text(estimator)
    given = {}
    for word in words:
        told = named_number(word)
        if told is None:
            raise UsageProblem(f"--priors {word!r} is neither uniform, adapt nor LABEL=NUMBER.")
        given[known.get(told[0], told[0])] = told[1]
    return given


def named_number(word: str) -> tuple[str, float] | None:
    """Return the name and the number of a word NAME=NUMBER, None for any other; a name may hold an equals sign."""
    name, mark, number = word.rpartition("=")
    try:
        return (name, float(number)) if mark else None
    except ValueError:
        return None


def answer_costs(words: Sequence[str], estimator: GenerativeEstimator) -> Array | None:
    """Return what answers, in columns, cost for true classes, in rows (k, k), or None where nothing is said of it."""
    if not words:
        return None
    from .._arrays import np

    place = {name: c for c, name in enumerate(by_text(estimator))}
    costs = 1.0 - np.eye(len(place))
    for word in words:
        told = named_number(word)
        if told is None or ":" not in told[0] or not np.isfinite(told[1]):
            raise UsageProblem(f"--costs {word!r} is not TRUE:ANSWER=NUMBER.")
        costs[_pair(told[0], place, word)] = told[1]
    return costs


def _pair(pair: str, place: dict[str, int], word: str) -> tuple[int, int]:
    """Return the numbers of the two classes that TRUE:ANSWER names; a name may hold a colon itself."""
    parts = pair.split(":")
    ways = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    for true, answer in ways:
        if true in place and answer in place:
            return place[true], place[answer]
    true, answer = next((own for own in ways if own[0] in place), ways[0])
    unknown = answer if true in place else true
    near = did_you_mean(unknown, list(place), "the classes are")
    raise UsageProblem(f"--costs {word!r}: the model has no class {unknown!r}; {near}")
