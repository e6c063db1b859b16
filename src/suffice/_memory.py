"""Memory limits: refuse an allocation by name before it is made."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .errors import DataError

SHARE = 4  # statistics, covariances, their factors and what lies between: about four times the statistics at once
SMALL = 1 << 24  # bytes that are never refused, nor asked the machine about
UNKNOWN = 1 << 34  # bytes, where the machine does not say: 16 GiB
CONTAINER = Path("/sys/fs/cgroup/memory.max")


def memory() -> int:
    """Return the bytes this process may come to hold: of the machine, its container and the process's own limit."""
    limits = [UNKNOWN]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError):
        limits.append(int(CONTAINER.read_text(encoding="ascii")))  # "max" where there is no limit
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min(limits)


def budget() -> int:
    """Return the bytes that what is kept of the rows may take: a quarter of `memory`."""
    return memory() // SHARE


def check_bytes(needed: int, what: str, advice: str) -> None:
    """Raise DataError, before anything is allocated, if `what` would take more than `budget` bytes."""
    if needed > SMALL and needed > (most := budget()):
        raise DataError(
            f"{what} would take {needed / 2**30:,.2f} GiB, above the limit of {most / 2**30:,.2f} GiB (a quarter of "
            f"the memory there is, as the work needs more). Next: {advice}."
        )
