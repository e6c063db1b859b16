"""A sample of the rows of each class by itself, where an estimate by several passes begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from .._arrays import Array, Codes, np
from ..schema import Level
from .reservoir import ALL, Reservoir
from .rows import take_rows

CELLS = 1 << 22  # of all samples: 32 MiB of numbers
FEWEST, MOST = 50, 2000  # rows of a class


@dataclass(frozen=True, slots=True)
class ClassSamples:
    """The distinct rows of each class with the smallest hashes, fewer of each where classes and columns are many.

    Parts merged in any order hold the very rows that the whole table would.
    """

    samples: Mapping[Level, Reservoir]
    columns: int

    @classmethod
    def summarize(
        cls, rows: Sequence[object], codes: Codes, classes: Sequence[Level], weight: Array | None, columns: int
    ) -> Self:
        """Return the samples of a batch; see `Reservoir.summarize`. Rows without a label (−1) are left out."""
        bound, samples = _bound(len(classes), columns), {}
        for c, label in enumerate(classes):
            own = np.flatnonzero(codes == c)
            w = None if weight is None else weight[own]
            parts = [take_rows(part, own) for part in rows]
            if len(own):
                numbers = np.zeros(len(own), dtype=np.int64)
                samples[label] = Reservoir.summarize(parts, numbers, (label,), w, bound)
        return cls(samples, columns)

    def merge(self, other: Self) -> Self:
        """Return the samples of the rows of both."""
        samples = dict(self.samples)
        for label, sample in other.samples.items():
            samples[label] = samples[label].merge(sample) if label in samples else sample
        bound = _bound(len(samples), self.columns)
        return type(self)({label: own.bounded(bound) for label, own in samples.items()}, self.columns)

    def rows(self, label: Level) -> tuple[Any, Array, bool]:
        """Return the rows of the first block of a class, their weights, and whether they are all it has."""
        sample = self.samples[label]
        return sample.rows[0], sample.weight, bool(sample.limit[0] == ALL)


def _bound(classes: int, columns: int) -> int:
    return min(max(CELLS // max(classes * columns, 1), FEWEST), MOST)
