"""Save an estimator so that nothing is lost: read back first, and never over what others have written meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._files import is_stream
from ..errors import ModelChangedError, ModelFileError, SufficeError
from ..files.model_file import fingerprint, holds_model
from ._persistence import describe, save_fitted


def save_checked(path: str | os.PathLike[str], model: Any, over_anything: bool = False) -> tuple[str, str]:
    """Write a fitted estimator that nobody changes meanwhile; return the name and the fingerprint of the file.

    What was written is loaded and compared before it takes the place of a file, while nobody else writes that file. A
    file that holds no model is replaced only if `over_anything`.
    """
    target, found = Path(os.path.realpath(path)), ""

    def check(complete: Path) -> None:
        nonlocal found
        if not is_stream(path):
            _check_place(target, model._loaded_from, over_anything)
        _check_reads_back(complete, model, path)
        found = fingerprint(complete) or ""

    save_fitted(path, model, model._schema, model._blocks, model.statistics_, check)
    return str(target), found


def _check_place(target: Path, origin: tuple[str, str] | None, over_anything: bool) -> None:
    """Raise ModelFileError for a file that has changed since the model was loaded from it, or that holds none."""
    if not target.exists():
        return
    if origin is not None and origin[0] == str(target) and fingerprint(target) != origin[1]:
        raise ModelChangedError.since_loaded(target)
    if not over_anything and target.stat().st_size and not holds_model(target):
        raise ModelFileError.no_model(target)


def _check_reads_back(complete: Path, model: Any, path: Any) -> None:
    """Raise ModelFileError where a file just written does not give the same model again."""
    from ._loading import load

    try:
        again: Any = load(complete)
    except SufficeError as error:
        raise ModelFileError.unsaved(path, str(error).replace(str(complete), "it")) from error
    own = describe(model, model._schema, model._blocks, model.statistics_)
    if describe(again, again._schema, again._blocks, again.statistics_) != own:
        raise ModelFileError.unsaved(path, "it reads back as another model")
