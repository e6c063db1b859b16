"""Write a fitted model as an ONNX file and try it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from .._files import whole_file
from ..errors import ExportError, SettingError, pip_install
from ..export.lower import lower, refuse_dates
from ..fitted import Fitted
from .trial_rows import on_trial

DTYPES = ("float64", "float32")


def write_onnx(fitted: Fitted, path: str | os.PathLike[str] | None, dtype: str, check: object) -> Any:
    """Return the `onnx.ModelProto` of a fitted estimator, checked, and write it to `path` if that is given."""
    if dtype not in DTYPES:
        raise SettingError.choice("dtype", dtype, DTYPES)
    refuse_dates(fitted)
    program = lower(fitted)
    try:
        from ..export.onnx.file import build, check as check_file, feeds
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("onnx", "google"):
            raise
        raise ImportError(f"Export to ONNX needs onnx, which is not installed. Next: {pip_install('onnx')}") from error
    made = build(program, dtype)
    data = made.SerializeToString(deterministic=True)
    if check is not False and (check is not None or find_spec("onnxruntime") is not None):
        trial = on_trial(fitted, check)
        check_file(data, feeds(program, trial.table, trial.order, dtype), dtype, trial.expected)
    if path is not None:
        try:
            with whole_file(path) as file:
                file.write(data)
        except OSError as error:
            raise ExportError(
                f"{str(path)!r} cannot be written: {error.strerror or error}. Next: choose another place or name."
            ) from error
    return made
