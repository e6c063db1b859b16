"""Tables in files: text, workbooks, Parquet and Arrow IPC, read into pyarrow tables; written whole or not at all.

A result is written beside its destination under a temporary name, synced, and renamed over it: when anything fails,
the old file is as it was.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cyclopts import Token

from .._files import (
    check_readable,
    check_replaceable,
    ending_for,
    file_kind,
    format_of,
    is_stream,
    locked,
    whole_file,
    written_kind,
)
from ..errors import SourceError, count
from .output import UsageProblem

if TYPE_CHECKING:
    from ..engines import CsvTable, Reading, Source
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator


@dataclass(frozen=True, slots=True)
class FileTable:
    """The table in a file: `columns` is a pyarrow Table of values, `source` gives its cells as the file has them."""

    columns: Table
    source: Source

    @property
    def csv(self) -> CsvTable | None:
        """The same as text, if its cells are text."""
        return self.source.csv

    def kept(self, used: Iterable[str], output: Path | None, json: bool = False) -> Table:
        """Return the table to be written beside answers: columns that are not used cell by cell as the file has them.

        So are the others where the answers go to a CSV; elsewhere numbers stay numbers.
        """
        if self.csv is None:
            return self.written(self.columns.column_names)
        text, own = not json if output is None else file_kind(output) == "CSV", set(used)
        kept = self.written([name for name in self.csv.names if text or name not in own])
        return kept.select(self.csv.names)  # without what the calendar adds

    def written(self, names: Iterable[str]) -> Table:
        """Return the table with these columns cell by cell as the file has them."""
        import pyarrow as pa

        wanted = list(names)
        stored = self.source.table([self.source.written(name) for name in wanted])
        columns = dict(zip(self.columns.column_names, self.columns.columns, strict=True))
        return pa.table(columns | dict(zip(wanted, stored.columns, strict=True)))


def read_file(path: Path, reading: Reading | None = None) -> FileTable:
    """Return the table in a file, with at least one row and distinct column names; `reading` is for a CSV."""
    from ..engines import Reading, open_source
    from ..engines.files import claims_too_much
    from ..learning.parts import remark_spaces

    check_table(path)
    how = reading or Reading()
    source = open_source(path, how, hold=True)
    names = list(source.schema.names)
    if source.rows is not None and claims_too_much(source.rows, len(names), path.stat().st_size):
        raise SourceError.not_as_named(path, file_kind(path), f"it claims {source.rows:,} rows")
    as_stored = how.is_verbatim if source.csv is None else lambda name: False  # which a CSV knows itself
    columns = source.table([source.written(name) if as_stored(name) else name for name in names]).rename_columns(names)
    if not columns.num_rows:
        raise SourceError(f"{str(path)!r} has {count(len(names), 'column')} and no rows. Next: give at least one row.")
    remark_spaces(source, how.learned is None)
    return FileTable(columns, source)


def check_table(path: Path) -> None:
    """Refuse what is not a file that may be read, or is a model."""
    from ..files.model_file import holds_model

    check_readable(path)
    if holds_model(path):
        raise SourceError(f"{str(path)!r} is a model, and a table belongs there. Next: give the file with the rows.")


def table_path(kind: type, tokens: Sequence[Token]) -> Path:
    """Return where a table is; what comes on standard input is kept in a file meanwhile."""
    return from_stdin() if tokens[0].value == "-" else Path(tokens[0].value)


def from_stdin() -> Path:
    """Return a file of all that comes on standard input, named after what it holds; it goes when the command ends."""
    if sys.stdin.isatty():
        raise UsageProblem("- stands for standard input, and nothing is sent there. Example: suffice … - < table.csv")
    start = sys.stdin.buffer.read(1 << 12)
    if not start:
        raise UsageProblem("- stands for standard input, and nothing came there. Example: suffice … - < table.csv")
    folder = Path(tempfile.mkdtemp(prefix="suffice-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"stdin{ending_for(start)}"
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def without_blanks(labels: Column) -> Column:
    """Return labels with empty texts as missing ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import is_text

    if not is_text(labels.type):
        return labels
    return pc.if_else(pc.equal(labels, ""), pa.scalar(None, labels.type), labels)


def read_table(path: Path, **known: Any) -> Table:
    """Return the table in a file; `known` is what an `engines.Reading` says of its columns."""
    from ..engines import Reading

    return read_file(path, Reading(**known)).columns


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say of an error of the operating system that it is this file which cannot be written."""
    try:
        yield
    except OSError as error:
        raise SourceError.unwritable(path, error.strerror or error) from error


def check_writable(path: Path, inputs: Iterable[tuple[Path, str]] = ()) -> None:
    """Refuse a destination that cannot work before any work is done; `inputs` are files it must not replace."""
    if path.is_dir():
        raise SourceError.folder(path)
    if is_stream(path):  # into which it is written where it stands
        return
    if not path.parent.is_dir():
        raise SourceError.unwritable(path, f"there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise SourceError.unwritable(path, f"there is no permission to write in the folder {str(path.parent)!r}")
    for other, what in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise SourceError(
                f"--output {str(path)!r} is the {what} itself, and would replace it. Next: choose another name."
            )
    with _writing(path):
        check_replaceable(path)


ENDINGS = {".suffice": "model", ".html": "web page", ".htm": "web page", ".sql": "query", ".onnx": "ONNX file"}
SUITED = {"table": ".csv, .parquet or .arrow"} | {what: ending for ending, what in reversed(ENDINGS.items())}


def check_ending(path: Path, what: str) -> None:
    """Refuse a destination whose name promises something else than `what` is to be written."""
    ending = path.suffix.lower()
    promised = ENDINGS.get(ending) or ("table" if ending != ".txt" and format_of(path) else what)
    if promised != what and not is_stream(path):
        force = ", or add --force" if what == "model" else ""
        raise UsageProblem(
            f"--output {str(path)!r} has the ending of a {promised}, and would hold a {what}. Name it "
            f"{SUITED[what]}{force}."
        )


def check_output(path: Path | None, inputs: Iterable[tuple[Path, str]]) -> None:
    """Refuse a destination of a table, if one is given, that cannot work or whose name does not say its format."""
    if path is not None:
        check_ending(path, "table")
        written_kind(path)
        check_writable(path, inputs)


def write_table(table: Table, path: Path) -> None:
    """Write a table in the format of the name's ending."""
    from ..engines import write_tables

    write_tables(path, [table])


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Call `write` with a file that takes the place of `path` once it is complete and on disk."""
    with _writing(path), whole_file(path) as file:
        write(file)


def check_model_output(path: Path, force: bool, inputs: Iterable[tuple[Path, str]] = ()) -> None:
    """Refuse, before any work is done, a place for a model that cannot work or where it would destroy something."""
    check_writable(path, inputs)
    if force or is_stream(path):
        return
    check_ending(path, "model")
    from ..files.model_file import holds_model

    if path.exists() and path.stat().st_size and not holds_model(path):
        raise SourceError(
            f"{str(path)!r} holds something other than a model, and would be lost. Next: choose another name, or add "
            "--force to replace it."
        )


@contextlib.contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Let no other process write a model while it is read, edited and written back."""
    with contextlib.ExitStack() as stack:
        if not is_stream(path):
            with _writing(path):
                stack.enter_context(locked(Path(os.path.realpath(path))))
        yield


def save_model(estimator: GenerativeEstimator, path: Path, force: bool = False) -> None:
    """Write a model that can be estimated; one that cannot raises its error here, and the old file stays."""
    _ = estimator.model_
    estimator._fitted.train()  # what else rows decide, so that it is kept in the file
    with _writing(path):
        estimator._save(path, over_anything=force)
