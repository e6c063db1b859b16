"""Read a CSV by every way in, and hold what comes of each against the others."""

from __future__ import annotations

import bz2
import gzip
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from suffice._dialect import Dialect
from suffice.cli.files import read_file
from suffice.engines import Reading, Remark, as_written, open_source
from suffice.errors import SourceError, SufficeError, count

GERMAN = Dialect(",", {"x": ","}, {"x": "-"}, ("?",))  # what a model may remember of the file it learned from
READINGS = (Reading(target="y"), Reading(numbers=("x",), text=("a b",), learned=GERMAN))


def outcome(read: Callable[[], tuple[Any, Any]]) -> Any:
    """Return what comes of a reading: types and cells, or the complaint without the names of files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Remark)
            typed, text = read()
    except SufficeError as error:
        complaint = re.sub(r"'[^']*/[^']*'", "FILE", str(error))
        assert "Next: " in complaint
        return complaint
    return typed.schema.types, [str(row) for row in typed.to_pylist()], text.to_pydict()  # NaN is no equal of NaN


def whole(path: Path, reading: Reading) -> tuple[Any, Any]:
    """Return the typed cells and the text of a file that is read at once."""
    found = read_file(path, reading)
    return found.columns, found.written(found.columns.column_names)


def parts(source: Any, reading: Reading) -> tuple[Any, Any]:
    """Return the same of a source that is read in batches, as large files and folders are."""
    opened = open_source(source, reading)
    names = opened.schema.names
    fields = [*opened.schema, *(pa.field(as_written(name), pa.string()) for name in names)]
    table = pa.Table.from_batches(list(opened.batches([f.name for f in fields])), pa.schema(fields))
    if not table.num_rows:
        raise SourceError(
            f"{str(source)!r} has {count(len(names), 'column')} and no rows. Next: give at least one row."
        )
    return table.select(names), table.select(list(map(as_written, names))).rename_columns(names)


def ways_agree(data: bytes, folder: Path, readings: tuple[Reading, ...] = READINGS) -> bool:
    """Read bytes by every way, as a table to learn from and as one to be answered for; all must say the same.

    Return whether the first reading gave a table.
    """
    many = folder / "many"
    many.mkdir(exist_ok=True)
    plain, zipped, bzipped = many / "t.csv", folder / "t.csv.gz", folder / "u.csv.bz2"
    plain.write_bytes(data)
    zipped.write_bytes(gzip.compress(data, 1))
    bzipped.write_bytes(bz2.compress(data, 1))
    sources = (plain, many, str(many / "*.csv"), zipped, bzipped) if data else ()
    seen = []
    for reading in readings:
        expected = outcome(lambda reading=reading: whole(plain, reading))
        seen.append(expected)
        if data:
            assert outcome(lambda reading=reading: whole(zipped, reading)) == expected, f"whole, {zipped.name}"
        for source in sources:
            found = outcome(lambda source=source, reading=reading: parts(source, reading))
            assert found == expected, f"in batches, {source}: {found} is not {expected}"
    return not isinstance(seen[0], str)
