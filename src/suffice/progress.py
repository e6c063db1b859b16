"""What a long fit is doing: told to whoever listens, a person at a notebook or the bar of the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[str], object]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


EXPECTED = "expected to take"  # begins what is told of a long stage before it


def is_listened_to() -> bool:
    """Whether anybody would hear what is told."""
    return _LISTENER.get() is not None


def tell(stage: str) -> None:
    """Say which stage of a fit begins; nothing where nobody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(stage)


@contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Have a variable hold this value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def listen(listener: Listener) -> AbstractContextManager[None]:
    """Have every stage of a fit in the block passed to a function, as a few words."""
    return holding(_LISTENER, listener)


@contextmanager
def verbose() -> Iterator[None]:
    """Print on stderr what the fits in the block are doing, each stage with the seconds since the block began.

    The automatic classifier tells which of its members it judges. Tables in parts have `fit_table(progress=…)`, which
    is called with the rows done and the time left.

    Examples
    --------
    >>> from contextlib import redirect_stderr
    >>> from io import StringIO
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GenerativeClassifier
    >>> from suffice.progress import verbose
    >>> with redirect_stderr(StringIO()) as said, verbose():
    ...     model = GenerativeClassifier().fit(*load_iris(return_X_y=True))
    >>> "weighing the members" in said.getvalue()
    True
    """
    began = time.perf_counter()
    with listen(lambda stage: sys.stderr.write(f"{time.perf_counter() - began:7.1f} s  {stage}\n")):
        yield
