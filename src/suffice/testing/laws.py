"""Run laws one after the other, and compare log densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import Array, np

Random = np.random.Generator


def check_laws(laws: Sequence[Callable[[Any, Random], None]], case: object, seed: int) -> None:
    """Check laws in turn; AssertionError begins with the name of the one that fails."""
    rng = np.random.default_rng(seed)
    for law in laws:
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


def assert_close(actual: Array, expected: Array, tolerance: float, what: str) -> None:
    """Assert that log densities agree, relative to 1 + their size; infinite ones are equal."""
    finite = np.isfinite(expected)
    assert (actual[~finite] == expected[~finite]).all(), what
    gap = np.abs(actual[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
    assert gap.max(initial=0.0) <= tolerance, f"{what}: log densities differ by {gap.max():.3g}"
