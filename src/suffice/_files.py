"""File names and suffixes, atomic writes, and locks: one writer at a time, across threads and processes."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from .errors import SourceError
from .progress import holding

# What counts as a missing cell in a CSV: what R, pandas and SQL tools write, and the ? of older data archives.
MISSING_TOKENS = (
    *("", "?", "#N/A", "#NA", "<NA>", "N/A", "n/a", "NA"),
    *("-NaN", "-nan", "NaN", "nan", "None", "NULL", "null"),
)
COMPRESSED = {".gz", ".bz2", ".zst"}
FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".tab": "CSV",
    ".txt": "CSV",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".xlsx": "Excel",
    ".xlsm": "Excel",
    ".xlsb": "Excel",
    ".xls": "Excel",
    ".ods": "Excel",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
}


ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of the net; one letter is a drive of Windows
OF_TEXT = ("CSV", "Excel", "JSON lines")  # formats whose cells are read as text: they declare no types of columns
WRITTEN = ("CSV", "Parquet", "Arrow")  # formats in which results are written


def format_of(path: Path) -> str | None:
    """Return what the ending of a name promises, "CSV", "JSON lines", "Excel", "Parquet" or "Arrow", or None.

    Text may be compressed.
    """
    ending = path.suffix.lower()
    if ending in COMPRESSED:
        inner = FORMATS.get(path.with_suffix("").suffix.lower())
        return inner if inner in ("CSV", "JSON lines") else None
    return FORMATS.get(ending)


def file_kind(path: Path) -> str:
    """Return the same; SourceError where the ending promises nothing."""
    kind = format_of(path)
    if kind is None:
        raise SourceError.unknown_format(path, list(FORMATS))
    return kind


def written_kind(path: Path) -> str:
    """Return the format in which a table is to be written, by the ending of its name; SourceError where it cannot."""
    kind = file_kind(path)
    if kind not in WRITTEN:
        raise SourceError.unwritable(path, f"tables are written as CSV, Parquet or Arrow, not as {kind}")
    if path.suffix.lower() in COMPRESSED:
        raise SourceError.unwritable(path, "tables are not written compressed")
    return kind


def check_readable(path: Path) -> None:
    """Raise SourceError for what is not a file of at least one byte that may be read."""
    if ADDRESS.match(str(path)):
        raise SourceError.address(path)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError.absent(path) from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError.folder(path)
    if not stat.S_ISREG(status.st_mode):  # of which `open` may never return
        raise SourceError.pipe(path)
    if not os.access(path, os.R_OK):
        raise SourceError.unreadable(repr(str(path)), "there is no permission to read it")
    if status.st_size == 0:
        raise SourceError(f"{str(path)!r} is empty. Next: give a table with names of columns and at least one row.")


MAGIC = {
    b"PK\x03\x04": ".xlsx",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # a stream
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
}


def ending_for(start: bytes) -> str:
    """Return the ending that suits a table whose file begins so; text is a CSV unless it begins with an object."""
    known = next((ending for mark, ending in MAGIC.items() if start.startswith(mark)), None)
    return known or (".jsonl" if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" else ".csv")


STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
FOLDERS_OF_STREAMS = ("/dev/fd", "/proc/self/fd")
RANDOM = 8  # characters of a temporary name
WINDOWS = os.name == "nt"
BUSY = (0.05, 0.1, 0.2, 0.4, 0.8)  # seconds to wait for those who read the file that is to be replaced
PATIENCE = 2.0  # seconds before those who wait are told
WAIT = 600.0  # seconds before they give up
UNKNOWN = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}  # what file systems without locks say
_told: ContextVar[Callable[[Path], None]] = ContextVar("told", default=lambda path: None)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], check: Callable[[Path], None] | None = None) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of `path` once it is complete and on disk.

    It is written beside it under a temporary name, synced, and renamed, while nobody else writes there (`locked`). On
    any error, and when interrupted, it disappears, and an old file is as it was; what a run that was killed has left is
    removed by the next. A link keeps its place, and a file its mode and owner. Of a device, a FIFO or an open
    descriptor (`/dev/stdout`) nothing takes the place: all is written into it at the end.

    `check` is called with the complete file before that, and may refuse it by an error.

    Raises
    ------
    OSError
        Where the file cannot be written, or is not to be replaced: it is read-only, belongs to another user, or has
        other names (hard links), which would keep the old contents. TimeoutError where others are writing it for long.
    """
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            complete = Path(folder) / "complete"
            with complete.open("wb") as file:
                yield file
            if check is not None:
                check(complete)
            _pour(complete, path)
        return
    target = Path(os.path.realpath(path))
    with locked(target) as alone:
        check_replaceable(target)
        start = f".{short_name(target)}.new-"
        if alone:  # whoever left a file of this name is gone
            _sweep(target.parent, start)
        handle, name = tempfile.mkstemp(prefix=start, suffix=".tmp", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _take_after(target, temporary)
            if check is not None:
                check(temporary)
            _replace(target, temporary)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a name is that of a device, a FIFO or an open descriptor, into which one writes."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_replaceable(path: Path) -> None:
    """Raise OSError for a file that is not to be replaced by another of its name, and say why."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", str(path))
    if found.st_nlink > 1:
        why = f"it has {found.st_nlink} names (hard links), and under the others would keep its old contents"
        raise OSError(errno.EMLINK, why, str(path))
    if os.name == "posix" and os.geteuid() not in (0, found.st_uid):
        why = f"it belongs to another user (number {found.st_uid}), and a file in its place would be yours"
        raise PermissionError(errno.EPERM, why, str(path))


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open descriptor that a name stands for, None for other names."""
    name = os.fspath(path)
    folder, _, last = name.rpartition("/")
    if name in STREAMS:
        return STREAMS[name]
    return int(last) if folder in FOLDERS_OF_STREAMS and last.isdecimal() else None


def _pour(complete: Path, path: str | os.PathLike[str]) -> None:
    """Write a file into a device, a FIFO or an open descriptor, where that stands."""
    number = _descriptor(path)
    if number in (1, 2):
        (sys.stdout if number == 1 else sys.stderr).flush()
    out = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)) if number is None else os.dup(number)
    with complete.open("rb") as file, os.fdopen(out, "wb") as stream:
        shutil.copyfileobj(file, stream)


def _sweep(folder: Path, start: str) -> None:
    """Remove the unfinished files of runs that were killed."""
    for path in folder.glob(f"{glob.escape(start)}{'?' * RANDOM}.tmp"):
        with contextlib.suppress(OSError):
            path.unlink()


def _take_after(path: Path, temporary: Path) -> None:
    """Give a file the owner, group and mode of the one it replaces, or the mode of a new one."""
    try:
        old = path.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return
    own = temporary.stat()
    if os.name == "posix" and (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(temporary, old.st_uid, old.st_gid)
        except PermissionError:
            why = f"it belongs to another group (number {old.st_gid}), which a file in its place could not"
            raise PermissionError(errno.EPERM, why, str(path)) from None
    temporary.chmod(stat.S_IMODE(old.st_mode))


def _replace(path: Path, temporary: Path) -> None:
    """Put a complete file in its place; Windows refuses that while others have the old one open, if only to scan it."""
    for pause in BUSY if WINDOWS else ():
        with contextlib.suppress(PermissionError):
            temporary.replace(path)
            return
        time.sleep(pause)
    temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    """Have the new name itself on disk, where a folder can be synced."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # some file systems cannot, and the file is there all the same
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# --- one writer at a time ---------------------------------------------------------------------------------------------


def tell_of_waiting(tell: Callable[[Path], None]) -> contextlib.AbstractContextManager[None]:
    """Have `tell` called, within the block, with a file that another thread or process is writing for long."""
    return holding(_told, tell)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Let nobody else write a file meanwhile; False where the file system knows no locks.

    The lock is one of the operating system on an empty file beside it, `.NAME.lock`. A process that ends, in whatever
    way, lets go of it, and whoever lets go last removes it. A thread may lock a file again that it has locked. After
    ten minutes of waiting, TimeoutError.
    """
    from filelock import FileLock, Timeout  # takes longer to import than anything else here

    if not path.parent.is_dir():  # which filelock would make
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(path.parent)!r}", str(path))
    try:
        lock = FileLock(path.with_name(f".{short_name(path)}.lock"), is_singleton=True, fallback_to_soft=False)
        try:
            lock.acquire(timeout=PATIENCE)
        except Timeout:
            _told.get()(path)
            lock.acquire(timeout=WAIT - PATIENCE)
    except Timeout:
        why = f"another process or thread has been writing it for {WAIT:g} seconds"
        raise TimeoutError(errno.ETIMEDOUT, why, str(path)) from None
    except OSError as error:
        if error.errno not in UNKNOWN:
            raise
        yield False
        return
    try:
        yield True
    finally:
        if lock.lock_counter == 1:  # while it is held: who waits for the removed one finds out, and makes another
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink()
        lock.release()


def short_name(path: Path) -> str:
    """Return the name of a file, cut where it and a few characters about it would be too long for a name."""
    name = path.name
    while len(name.encode("utf-8", "surrogateescape")) > 200:
        name = name[:-1]
    return name
