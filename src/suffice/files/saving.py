"""Save a model: read back before it replaces the old file, and never over another writer's change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .._files import is_stream
from ..errors import ModelChangedError, ModelFileError, SufficeError
from ..fitted import Fitted
from .loading import read_back
from .model_file import fingerprint, holds_model, write_model
from .settings import describe, plain, state_of

Origin = tuple[str, str]  # the name of the file that a model was loaded from, and its fingerprint


def save_checked(
    path: str | os.PathLike[str],
    fitted: Fitted,
    params: Mapping[str, object],
    over_anything: bool = False,
) -> Origin:
    """Write a model with its estimator's parameters; return the name and the fingerprint of the file.

    What was written is loaded and compared before it takes the place of a file, while nobody else writes that file. A
    file that holds no model is replaced only if `over_anything`.
    """
    target, found = Path(os.path.realpath(path)), ""

    def check(complete: Path) -> None:
        nonlocal found
        if not is_stream(path):
            _check_place(target, fitted.past.origin, over_anything)
        _check_reads_back(complete, describe(fitted, params), path)
        found = fingerprint(complete) or ""

    chosen = fitted.chosen_by_rows
    choice = None if chosen is None else (chosen[0], plain(chosen[1]))
    write_model(path, state_of(fitted, params), fitted.schema, fitted.statistics, check, choice)
    return str(target), found


def _check_place(target: Path, origin: Origin | None, over_anything: bool) -> None:
    """Raise ModelFileError for a file that has changed since the model was loaded from it, or that holds none."""
    if not target.exists():
        return
    if origin is not None and origin[0] == str(target) and fingerprint(target) != origin[1]:
        raise ModelChangedError.since_loaded(target)
    if not over_anything and target.stat().st_size and not holds_model(target):
        raise ModelFileError.no_model(target)


def _check_reads_back(complete: Path, own: str, path: object) -> None:
    """Raise ModelFileError where a file just written does not give the same model again."""
    try:
        again = read_back(complete)
    except SufficeError as error:
        raise ModelFileError.unsaved(path, str(error).replace(str(complete), "it")) from error
    if again != own:
        raise ModelFileError.unsaved(path, "it reads back as another model")
