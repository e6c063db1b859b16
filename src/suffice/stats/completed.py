"""Gaussian statistics completed by passes over rows whose patterns of missing cells are too many to keep.

What cells were expected to hold belongs to the fit that expected it: these statistics describe one fit to all its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, Self

from .._arrays import Array, Codes, np
from ..errors import MergeError
from ._checks import amounts, at_most
from ._downdate import faded
from .gaussian import GaussianStats
from .scatter import spread
from .statistic import Fields, Plain, Statistic


@dataclass(frozen=True, slots=True)
class CompletedStats(Statistic):
    """Statistics with every missing cell at what it was expected to hold, and the weight of observed cells (k, d).

    `steps` are the passes made, `moved` how far the last one still moved a parameter (0: EM converged), in units of the
    columns' standard deviations; `secured` (k,) marks classes whose covariance was kept from becoming singular.
    """

    complete: GaussianStats
    observed: Array
    secured: Array
    steps: int = 0
    moved: float = 0.0

    @property
    def k(self) -> int:
        return len(self.observed)

    @property
    def d(self) -> int:
        return int(self.observed.shape[1])

    def merge(self, other: object) -> NoReturn:
        """Raise MergeError: what was expected of one part's cells depends on the other part."""
        raise MergeError.completed()

    def subtract(self, other: object) -> NoReturn:
        """Raise MergeError: what was expected of the other rows' cells depends on the rows to be forgotten."""
        raise MergeError.completed()

    def scale(self, factor: float) -> Self:
        return replace(self, complete=self.complete.scale(factor), observed=faded(self.observed, factor))

    def regroup(self, index: Codes, k: int) -> Self:
        kept = index >= 0
        observed, secured = np.zeros((k, self.d)), np.zeros(k)
        np.add.at(observed, index[kept], self.observed[kept])
        np.maximum.at(secured, index[kept], self.secured[kept])
        return replace(self, complete=self.complete.regroup(index, k), observed=observed, secured=secured)

    def place(self, index: Sequence[int], k: int) -> Self:
        moved = spread(self.observed, index, k), spread(self.secured, index, k)
        return type(self)(self.complete.place(index, k), *moved, self.steps, self.moved)

    @property
    def incomplete(self) -> Mapping[tuple[int, ...], tuple[Codes, GaussianStats]]:
        """The statistics of patterns of missing cells: none, as all cells are filled."""
        return {}

    def parts(self) -> tuple[GaussianStats]:
        return (self.complete,)

    def column_weight(self) -> Array:
        return self.observed

    def arrays(self) -> tuple[Fields, Plain]:
        fields, plain = self.complete.arrays()
        own = {"observed": self.observed, "secured": self.secured}
        return fields | own, {"complete": plain, "steps": self.steps, "moved": self.moved}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> Self:
        complete = GaussianStats.from_arrays(fields, plain["complete"])
        k, d = complete.mean.shape
        observed, secured, steps, moved = fields["observed"], fields["secured"], plain["steps"], plain["moved"]
        amounts(observed, k, d), amounts(secured, k)
        if not at_most(observed, complete.column_weight()) or (secured > 1).any():
            raise ValueError("weights of completed statistics")
        if type(steps) is not int or steps < 0 or type(moved) not in (int, float) or not 0 <= moved < np.inf:
            raise ValueError("steps of completed statistics")
        return cls(complete, observed, secured, steps, float(moved))
