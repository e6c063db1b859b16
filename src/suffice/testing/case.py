"""A fitted model and the rows it is checked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, NDArray, np


@dataclass(frozen=True, slots=True)
class ModelCase:
    """A fitted model and its rows."""

    model: Any
    X: NDArray[Any]
    y: NDArray[Any]
    tolerance: float

    @property
    def is_pooled(self) -> bool:
        """Whether posteriors are those of several models, and not of the joint density."""
        return self.model._fitted.pool is not None

    def hide(self, hidden: Codes) -> NDArray[Any] | None:
        """Return the table without the cells of some columns, or None where the model takes no missing cells."""
        if (
            not all(block.family.takes_missing for block in self.model._fitted.blocks)
            or not self.model.__sklearn_tags__().input_tags.allow_nan
        ):
            return None
        holed = self.X.astype(np.float64 if self.X.dtype.kind in "fiub" else object)
        holed[:, hidden] = np.nan if holed.dtype.kind == "f" else None
        return holed

    def same(self, actual: Array, expected: Array, what: str) -> None:
        """Assert that log densities agree."""
        finite = np.isfinite(expected)
        assert (actual[~finite] == expected[~finite]).all(), what
        gap = np.abs(actual[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
        assert gap.max(initial=0.0) <= self.tolerance, f"{what}: a difference of {gap.max():.3g}"
