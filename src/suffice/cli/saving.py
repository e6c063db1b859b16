"""What commands that write a model share: where it may go, one writer at a time, and the writing itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .._files import is_stream
from .._locks import locked
from .files import check_ending, check_writable
from .problems import FileProblem

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator


def check_model_output(path: Path, force: bool, inputs: Iterable[tuple[Path, str]] = ()) -> None:
    """Refuse, before any work is done, a place for a model that cannot work or where it would destroy something."""
    check_writable(path, inputs)
    if force or is_stream(path):
        return
    check_ending(path, "model")
    from ..files.model_file import holds_model

    if path.exists() and path.stat().st_size and not holds_model(path):
        raise FileProblem.no_model(path)


@contextlib.contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Let no other process write a model while it is read, edited and written back."""
    with contextlib.ExitStack() as stack:
        if not is_stream(path):
            try:
                stack.enter_context(locked(Path(os.path.realpath(path))))
            except OSError as error:
                raise FileProblem.unwritable(path, error.strerror or error) from error
        yield


def save_model(estimator: GenerativeEstimator, path: Path, force: bool = False) -> None:
    """Write a model that can be estimated; one that cannot raises its error here, and the old file stays."""
    _ = estimator.model_
    estimator._fitted.estimate_now()  # what else rows decide, so that it is kept in the file
    try:
        estimator._save(path, over_anything=force)
    except OSError as error:
        raise FileProblem.unwritable(path, error.strerror or error) from error
