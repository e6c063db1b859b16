"""How far a decay goes: weights that have become so small that no number could still tell of them are made zero.

Without an end, decayed weights become subnormal, lose their digits and are divided by. A class ends long before a row:
while it counts, it has rows that do.
"""

from __future__ import annotations

from .._arrays import Array, np

FAINT = 1e-100  # a class with less weight than this has no rows any more
GONE = 1e-200  # a row, value, level or column of a class with less weight than this is not there any more


def faded(weights: Array, factor: float) -> Array:
    """Return weights multiplied by a factor, exactly 0 where that leaves less than `GONE`."""
    left = weights * factor
    return np.where(left < GONE, 0.0, left)
