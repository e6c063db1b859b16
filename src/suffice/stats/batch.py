"""Rows as encoded, with their classes and weights: what statistics are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._arrays import Array, Codes, np
from ..schema import Level
from .by_class import ByClass
from .counts import CodedColumns
from .rows import Keys, take_rows, without_lost


class Batch(NamedTuple):
    """Rows as encoded, one part per block; class numbers (n,), −1 without a label; weights, None for ones.

    `group` (n,) are hashes of the groups that rows are of, 0 of none.
    """

    classes: tuple[Level, ...]
    codes: Codes
    rows: Sequence[Any]
    weight: Array | None
    group: Keys | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether every row has a label."""
        return not len(self.codes) or int(self.codes.min()) >= 0

    @property
    def heaviest(self) -> float:
        """The largest weight of a row."""
        return 1.0 if self.weight is None else float(self.weight.max(initial=0.0))

    @property
    def class_weight(self) -> Array:
        """The weight of each class (k,)."""
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)

    def take(self, index: Codes) -> Batch:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        group = None if self.group is None else self.group[index]
        return Batch(self.classes, self.codes[index], [take_rows(part, index) for part in self.rows], weight, group)

    def split(self) -> tuple[Batch, Batch]:
        """Return the rows with a label and those without."""
        return self.take(np.flatnonzero(self.codes >= 0)), self.take(np.flatnonzero(self.codes < 0))

    def without_empty_rows(self, declared: Callable[[], Sequence[Sequence[bool]]]) -> Batch:
        """Return the rows of positive weight, their classes, and their levels.

        `declared` says of each category of a block of categories whether its levels were stated beside the rows.
        """
        if self.weight is None or self.weight.all():
            return self
        kept = self.take(np.flatnonzero(self.weight)).of_present_classes()
        trios = zip(self.rows, kept.rows, declared(), strict=True)
        rows = [without_lost(a, b, own) if isinstance(b, CodedColumns) else b for a, b, own in trios]
        return kept._replace(rows=rows)

    def of_present_classes(self) -> Batch:
        """Return the same rows with the classes that occur."""
        present, place = np.unique(self.codes[self.codes >= 0], return_inverse=True)
        codes = self.codes.copy()
        codes[codes >= 0] = place
        return self._replace(classes=tuple(self.classes[int(c)] for c in present), codes=codes)


class Joined(NamedTuple):
    """Statistics of all rows, the EM steps by which those without a label joined, and the objective by step, in nats.

    `finished`: EM converged.
    """

    statistics: ByClass
    steps: int
    finished: bool
    trace: tuple[float, ...] = ()
