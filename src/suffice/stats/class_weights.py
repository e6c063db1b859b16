"""Weights added up by class, in cells of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from .._arrays import Array, Codes, np
from ..errors import NotLearnedError
from ._downdate import faded
from .scatter import gather, spread
from .statistic import Statistic

DUST = 1e-9  # of a weight, left over by rounding


@dataclass(frozen=True, slots=True)
class ClassWeights(Statistic):
    """`values` (k, …) are the weights of the rows of each class in each cell."""

    values: Array

    def merge(self, other: Self) -> ClassWeights:
        return ClassWeights(self.values + other.values)

    def subtract(self, other: Self) -> ClassWeights:
        return ClassWeights(less(self.values, other.values))

    def scale(self, factor: float) -> ClassWeights:
        return ClassWeights(faded(self.values, factor))

    def place(self, index: Sequence[int], k: int) -> ClassWeights:
        return ClassWeights(spread(self.values, index, k))

    def regroup(self, index: Codes, k: int) -> ClassWeights:
        return ClassWeights(gather(self.values, index, k))

    def column_weight(self) -> Array:
        return self.values.reshape(len(self.values), -1)


def less(whole: Array, part: Array) -> Array:
    """Return weights (k, …) without others, rounding made 0; NotLearnedError where more goes than there is."""
    left = whole - part
    dust = np.abs(left) <= DUST * np.maximum(np.abs(whole), 1.0)
    strange = (left < 0) & ~dust
    if strange.any():
        code = int(np.nonzero(strange.reshape(len(left), -1).any(axis=1))[0][0])
        raise NotLearnedError("some of their cells were not counted", code)
    return np.asarray(np.where(dust, 0.0, left))
