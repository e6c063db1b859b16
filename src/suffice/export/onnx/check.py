"""Run an ONNX file with onnxruntime beside the model it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from ..._arrays import Array, NDArray, np
from ...errors import ExportError, either, setting
from ...schema import Level
from ...table import Table
from ..program import Column, Program
from ..trial import differences
from .readings import inputs_of

Feed = dict[str, NDArray[np.generic]]  # inputs of a file by name
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}


def feeds(program: Program, table: Table, order: Sequence[int], dtype: str) -> Feed:
    """Return a table as the inputs of an ONNX file; the program's column p stands at `order[p]` of the table."""
    found = {}
    for own in inputs_of(program):
        if own.missing is not None:
            (column,) = own.columns
            levels, codes = table.categories(order[column])
            texts = np.array([*map(str, levels), own.missing], dtype=object)
            found[own.name] = texts[codes][:, None]
        else:
            cells = [_numbers(program.columns[p], table, order[p]) for p in own.columns]
            found[own.name] = np.ascontiguousarray(np.column_stack(cells).astype(dtype))
    return found


def _numbers(column: Column, table: Table, position: int) -> Array:
    if column.kind != "category":
        return np.asarray(table.numeric([position])[:, 0], dtype=np.float64)
    levels, codes = table.categories(position)
    return np.array([*map(float, levels), np.nan])[codes]


def check(model: bytes, feed: Feed, dtype: str, expected: tuple[Sequence[Level], Array, Array]) -> tuple[float, float]:
    """Return the largest differences of posteriors and of relative log densities between a file and its model.

    `expected` are the model's labels (n,), posteriors (n, k) and log densities (n,). ExportError where posteriors
    differ by more than 1e-9 (1e-4 in float32), log densities by more than that of their size, or labels where no two
    posteriors are as near; or where the file cannot be run.
    """
    label, posterior, density = _run(model, feed)
    labels, posteriors, densities = expected
    tolerance, other = TOLERANCE[dtype], label != np.asarray(labels, dtype=label.dtype)
    apart, off, wrong = differences(posterior, density, other, (posteriors, densities), tolerance)
    if not (apart <= tolerance and off <= tolerance) or wrong:
        raise ExportError(
            f"The ONNX file does not answer as the model does: posteriors differ by up to {apart:.1e}, log densities "
            f"by {off:.1e} of their size, and {wrong} of {len(label)} labels; {tolerance:.0e} is allowed. Next: "
            f"{_advice(dtype)}."
        )
    return apart, off


def _advice(dtype: str) -> str:
    if dtype == "float32":
        return f"use {setting('dtype', 'float64')}: this model needs more digits than float32 has"
    return f"report this, with the model file{either('; check=False writes the ONNX file all the same', '')}"


def _run(model: bytes, feed: Feed) -> tuple[NDArray[np.generic], Array, Array | None]:
    """Return labels, posteriors and log densities of the file, None in place of densities that it has not."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise ExportError(
            "Checking an ONNX file needs onnxruntime, which is not installed. Next: pip install onnxruntime, or leave "
            f"{either('the check out (check=False)', 'out --check')}."
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only; they are raised
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        label, posterior, *density = session.run(None, feed)
    except Exception as error:  # its exceptions have no common base
        raise ExportError(
            f"onnxruntime {onnxruntime.__version__} cannot run this file: {error}. Next: upgrade onnxruntime (1.21 or "
            f"newer is needed){either(', or leave the check out (check=False)', '')}."
        ) from error
    return label, posterior, density[0] if density else None
