"""Read JSON lines as text cells.

A key is a column, null and a key that is not there are empty cells. Numbers are text as they are written.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa

from .arrow import Rows
from .csv_problems import CsvProblem

BATCH = 1 << 14  # lines
Objects = Iterator[tuple[int, dict[str, object]]]


def key_names(path: Path) -> tuple[str, ...]:
    """Return the keys of all objects in a file, in the order in which they first come."""
    names: dict[str, None] = {}
    for _, found in _objects(path, None):
        if not found.keys() <= names.keys():
            names.update(dict.fromkeys(found))
    if not names:
        raise CsvProblem.not_as_named(path, "JSON lines", "it holds no object with a key")
    return tuple(names)


def text_batches(path: Path, names: Sequence[str], file: IO[bytes] | None = None) -> Iterator[Rows]:
    """Yield record batches of the cells of these keys as text, empty where there is nothing."""
    rows: list[list[str]] = []
    for line, found in _objects(path, file):
        rows.append([_text(found.get(name), name, line, path) for name in names])
        if len(rows) == BATCH:
            yield _batch(rows, names)
            rows = []
    yield _batch(rows, names)


def _batch(rows: list[list[str]], names: Sequence[str]) -> Rows:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    batch: Rows = pa.RecordBatch.from_arrays([pa.array(cells, pa.string()) for cells in columns], names=list(names))
    return batch


def _objects(path: Path, file: IO[bytes] | None) -> Objects:
    """Yield the objects of a file and the lines they stand in."""
    number = 0
    try:
        # Opened by its name, pyarrow reads a compressed file as what it holds.
        source = pa.input_stream(str(path)) if file is None or path.suffix.lower() == ".gz" else file
        for number, line in enumerate(io.TextIOWrapper(source, encoding="utf-8-sig"), start=1):
            if line.strip():
                yield number, _object(line, number, path)
    except UnicodeDecodeError as error:
        raise CsvProblem.encoding(path, f"after line {number}") from error


def _object(line: str, number: int, path: Path) -> dict[str, object]:
    try:
        found = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        what = "line {}: {}".format(number, getattr(error, "msg", None) or error)
        if number == 1 and line.lstrip().startswith("["):
            what += "; an array has to be written one object a line, for example by jq -c '.[]'"
        raise CsvProblem.not_as_named(path, "JSON lines", what) from error
    if not isinstance(found, dict):
        raise CsvProblem.not_as_named(path, "JSON lines", f'line {number} is no object such as {{"key": 1}}')
    return found


def _text(cell: object, name: str, line: int, path: Path) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    raise CsvProblem(
        f"{str(path)!r}, line {line}: {name!r} holds {'an object' if isinstance(cell, dict) else 'a list'}, and a cell "
        "of a table holds one value. Next: write its parts under names of their own."
    )
