"""What commands that answer with a table share: opening the model, finding its columns, handing the table over."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .files import check_readable, read_table, write_csv, write_table
from .output import Common, print_json, progress
from .problems import ColumnProblem, count


def open_model(path: Path) -> tuple[Any, Any]:
    """Return the estimator in a model file, and the schema of its columns."""
    from .. import load
    from ..estimators._loading import PIECES
    from ..store import read_model

    check_readable(path)
    return load(path), read_model(path, PIECES)[1]


def read_for(schema: Any, path: Path, target: str | None = None, text_target: bool = False) -> Any:
    """Return a table with the columns of a model read as they were learned: text as text, numbers as numbers."""
    text = [str(column.name) for column in schema.columns if column.kind.is_label]
    numbers = [str(column.name) for column in schema.columns if column.kind.is_number and schema.named]
    text += [target] if target is not None and text_target else []
    return read_table(path, text=text, numbers=numbers, as_is=() if target is None else (target,))


def model_columns(table: Any, names: Sequence[str], path: Path) -> Any:
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


def deliver(table: Any, output: Path | None, common: Common, facts: Mapping[str, Any], key: str) -> None:
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
