"""Checks of statistics read from a file; ValueError says what is wrong.

Every array of a model file is finite when it comes here (see `files/`); types, shapes, signs and sizes are judged here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .._arrays import Array, Codes, NDArray, lower_factor, np
from ..schema import Level, check_text

Stored = NDArray[Any]  # an array of a file, whose type is still to be judged
ROUGH = 1e-6  # relative: far above what rounding leaves after many merges, far below any change worth making
NEGATIVE = 1e-3  # of a correlation: what forgetting leaves of a class may be that far from positive semi-definite


def floats(values: Stored, *shape: int | None) -> Array:
    """Return an array of float64 that has this shape; None stands for any length."""
    _check(values, np.float64, shape)
    return np.asarray(values)


def amounts(values: Stored, *shape: int | None) -> Array:
    """Return weights, counts or sums of squares: floats of at least 0 whose sum is finite."""
    found = floats(values, *shape)
    if (found < 0).any() or not _adds_up(found):
        raise ValueError("amounts below 0, or without end")
    return found


def codes(values: Stored, below: int, *shape: int | None, least: int = 0) -> Codes:
    """Return whole numbers from `least` to `below`, which is not among them."""
    _check(values, np.int64, shape)
    if values.size and (values.min() < least or values.max() >= below):
        raise ValueError("numbers beyond what they count")
    return values.astype(np.int64, copy=False)


def places(values: object, below: int) -> tuple[int, ...]:
    """Return positions from a list of JSON: whole numbers from 0 to below `below`, ascending."""
    if not isinstance(values, list) or not all(type(p) is int and 0 <= p < below for p in values):
        raise ValueError("positions")
    if any(q <= p for p, q in pairwise(values)):
        raise ValueError("positions")
    return tuple(values)


def levels(values: object) -> tuple[Level, ...]:
    """Return the levels of a category from a list of JSON: distinct text, finite numbers or truth values."""
    if not isinstance(values, list) or not all(type(level) in (str, int, float, bool) for level in values):
        raise ValueError("levels")
    if len(set(values)) < len(values) or not all(isinstance(v, str) or math.isfinite(v) for v in values):
        raise ValueError("levels")
    check_text(values, None)
    return tuple(values)


def at_most(part: Stored, whole: Stored) -> bool:
    """Say whether no weight is above that of which it is a part, but for rounding."""
    return bool((part <= whole * (1.0 + ROUGH) + 1e-300).all())


def alike(one: Stored, other: Stored, scale: Stored) -> bool:
    """Say whether two arrays are equal but for rounding, on a scale."""
    return bool((np.abs(one - other) <= ROUGH * scale + 1e-300).all())


def scatters(values: Stored, mean: Array, weight: Array, *shape: int) -> Array:
    """Return scatter matrices (…, d, d), symmetric and positive semi-definite on the correlation scale.

    `mean` and `weight`, with the classes in front, must have finite weighted squares.
    """
    found = floats(values, *shape)
    in_range(mean, weight)
    for matrix in found.reshape(-1, *found.shape[-2:]):
        _check_scatter(matrix)
    return found


def in_range(mean: Array, weight: Array) -> None:
    """Raise ValueError where weighted squares of means would overflow."""
    heavy = weight if weight.ndim == mean.ndim else weight[:, None]
    with np.errstate(over="ignore"):
        if not _adds_up(heavy * mean**2):
            raise ValueError("means whose squares overflow")


def grouped(fields: Mapping[str, Array], prefix: str) -> dict[str, dict[str, Array]]:
    """Return arrays named `prefix` + number + "_" + name by number, then by name."""
    groups: dict[str, dict[str, Array]] = {}
    for name, values in fields.items():
        number, mark, rest = name.removeprefix(prefix).partition("_")
        if name.startswith(prefix) and mark and number.isdecimal():
            groups.setdefault(number, {})[rest] = values
    return groups


def _check(values: Stored, kind: type[np.generic], shape: Sequence[int | None]) -> None:
    right = values.dtype == kind and values.ndim == len(shape)
    if not right or any(n not in (None, m) for n, m in zip(shape, values.shape, strict=True)):
        raise ValueError(f"an array of {values.dtype} with the shape {values.shape}")


def _adds_up(values: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _check_scatter(matrix: Array) -> None:
    squares = np.diagonal(matrix)
    if (squares < 0).any() or not _adds_up(squares):
        raise ValueError("sums of squares below 0, or without end")
    varying = np.flatnonzero(squares > 0)
    if not len(varying):
        if matrix.any():
            raise ValueError("products of columns that do not vary")
        return
    root = np.sqrt(squares[varying])
    correlation = matrix[np.ix_(varying, varying)] / root / root[:, None]
    if (np.abs(correlation - correlation.T) > ROUGH).any() or (np.abs(correlation) > 1.0 + NEGATIVE).any():
        raise ValueError("products larger than squares, or that differ by their order")
    correlation.flat[:: len(correlation) + 1] += NEGATIVE
    try:
        lower_factor(correlation, overwrite=True)
    except np.linalg.LinAlgError:
        raise ValueError("a scatter that is not positive semi-definite") from None
