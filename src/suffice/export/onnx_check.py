"""Run an ONNX file with onnxruntime beside the model it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arrays import Array, np
from ..errors import ExportError
from ..table import Table
from .onnx_readings import Input, is_text
from .program import Column, Program

TOLERANCE = {"float64": 1e-9, "float32": 1e-4}


def feeds(program: Program, inputs: Sequence[Input], table: Table, order: Sequence[int], dtype: str) -> dict[str, Any]:
    """Return a table as the inputs of an ONNX file; the program's column p stands at `order[p]` of the table."""
    found = {}
    for own in inputs:
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
