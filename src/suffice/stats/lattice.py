"""The step in which a column's numbers were recorded: whole years, tenths, multiples of 25."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, np

ROUNDING = 8.0 * np.finfo(np.float64).eps  # of a number read from text and converted once or twice, relative
LEAST = 1e5 * ROUNDING  # a step finer than this share of the largest number is the rounding of floating point
SETTLED = 64.0 * ROUNDING
SURE = 0.05  # errors above this share of the step say nothing about it
DIGITS = 15
WRITTEN = 1e9  # a step of more digits was not written down


class Lattice(NamedTuple):
    """Values phase + k · step, k whole, of so many `decimals`; −1 where they are no decimal numbers."""

    step: float
    phase: float
    decimals: int


def find_lattice(values: Array) -> Lattice | None:
    """Return the widest step whose multiples lie between all of these values, None where there is none.

    `values` (m,) are distinct, ascending and finite. The step is the greatest common divisor of their differences, by
    Euclid's algorithm up to rounding, so that another unit multiplies it: inches in centimetres have a step of 2.54.
    """
    decimals = _as_written(values)
    found = None if decimals is None else _lattice(decimals)
    return found or _lattice(values)


def _lattice(values: Array) -> Lattice | None:
    if len(values) < 2:
        return None
    scale = float(np.abs(values).max())
    share = values / scale  # so that no difference overflows
    step = _common_divisor(_distinct(np.diff(share)))
    if step is None:
        return None
    count = np.rint((share - share[0]) / step)
    step = float((share[-1] - share[0]) / count[-1])
    if np.abs(share - share[0] - count * step).max() > min(SETTLED, 0.01 * step):
        return None
    if not np.isfinite(step * scale):
        return None
    return _decimal(step * scale, float(values[0]), float(count[-1]), SETTLED * scale)


def _as_written(values: Array) -> Array | None:
    """Return numbers that came in single precision as the shortest decimals that they are read from; None of others."""
    if (values == np.rint(values)).all() or np.abs(values).max() > np.finfo(np.float32).max:
        return None
    single = values.astype(np.float32)
    if (single != values).any():
        return None
    return np.unique(single.astype(np.str_).astype(np.float64))


def _distinct(gaps: Array) -> Array:
    """Return gaps in ascending order, one of those that are equal up to rounding."""
    gaps = np.sort(gaps[gaps > ROUNDING])
    return gaps[np.diff(gaps, prepend=-1.0) > ROUNDING]


def _common_divisor(gaps: Array) -> float | None:
    """Return the greatest common divisor of ascending gaps; None if it is not above rounding.

    The divisor is the sum of the gaps so far over that of their multiples, whose error falls as these grow.
    """
    if not len(gaps):
        return None
    total, count = float(gaps[0]), 1.0
    for gap in gaps[1:].tolist():
        step = total / count
        times = round(gap / step)
        error = 4.0 * ROUNDING * (1.0 + times / count)
        rest = abs(gap - times * step)
        if rest > error:
            finer = _euclid(step, rest, error)
            if finer is None:
                return None
            count *= round(step / finer)
            step = total / count
            times = round(gap / step)
        if error > SURE * step:
            return None
        total, count = total + gap, count + times
    return total / count if total / count >= LEAST else None


def _euclid(first: float, second: float, error: float) -> float | None:
    """Return the greatest common divisor of numbers with such an error, None where it drowns in that.

    A remainder is a sum of multiples of both, up to first / divisor of them, and so is its error.
    """
    a, b = first, second
    while b > error * first / a:
        a, b = b, abs(a - round(a / b) * b)
        if a < LEAST or error * first / a > SURE * a:
            return None
    return a


def _decimal(step: float, first: float, count: float, error: float) -> Lattice:
    """Return the lattice through `first` with the decimal numbers that it is nearest to, if it is near any."""
    for decimals in range(DIGITS + 1):
        near = round(step, decimals)
        if near * 10.0**decimals > WRITTEN:
            break
        if near == 0.0 or abs(near - step) * count > error:
            continue
        phase = round(_remainder(first, near), decimals) + 0.0
        if abs(_remainder(first - phase, near)) <= error:
            return Lattice(near, phase, decimals)
    phase = _remainder(first, step)
    return Lattice(step, phase if abs(phase) > error else 0.0, -1)


def _remainder(value: float, step: float) -> float:
    return value - step * round(value / step)
