"""File locks: one writer at a time, across threads and processes."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

PATIENCE = 2.0  # seconds before those who wait are told
WAIT = 600.0  # seconds before they give up
UNKNOWN = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}  # what file systems without locks say
_told: ContextVar[Callable[[Path], None]] = ContextVar("told", default=lambda path: None)


@contextlib.contextmanager
def tell_of_waiting(tell: Callable[[Path], None]) -> Iterator[None]:
    """Have `tell` called, within the block, with a file that another thread or process is writing for long."""
    token = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(token)


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
        lock = FileLock(path.with_name(lock_name(path)), is_singleton=True, fallback_to_soft=False)
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


def lock_name(path: Path) -> str:
    """Return the name of the lock of a file."""
    return f".{short_name(path)}.lock"


def short_name(path: Path) -> str:
    """Return the name of a file, cut where it and a few characters about it would be too long for a name."""
    name = path.name
    while len(name.encode("utf-8", "surrogateescape")) > 200:
        name = name[:-1]
    return name
