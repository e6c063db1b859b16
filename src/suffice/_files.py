"""Names of files and what they promise, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

# What counts as a missing cell in a CSV: what R, pandas and SQL tools write, and the ? of older data archives.
MISSING_TOKENS = (
    "",
    "?",
    "#N/A",
    "#NA",
    "<NA>",
    "N/A",
    "n/a",
    "NA",
    "-NaN",
    "-nan",
    "NaN",
    "nan",
    "None",
    "NULL",
    "null",
)
COMPRESSED = {".gz", ".bz2", ".zst"}
FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
}


def format_of(path: Path) -> str | None:
    """Return what the ending of a name promises, "CSV", "Parquet" or "Arrow", or None; a CSV may be compressed."""
    ending = path.suffix.lower()
    if ending in COMPRESSED:
        inner = path.with_suffix("").suffix.lower()
        return "CSV" if inner in (".csv", ".tsv") else None
    return FORMATS.get(ending)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of `path` once it is complete and on disk.

    It is written beside it under a temporary name, synced, and renamed. On any error, and when interrupted, it
    disappears, and an old file is as it was. A link keeps its place.
    """
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file to be replaced, or those a new file would get."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
