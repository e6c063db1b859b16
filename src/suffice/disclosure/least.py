"""The minimum count, and the record of what was given up for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._arrays import Array, NDArray, np

SLACK = 1e-9  # of a weight, for rounding


@dataclass(frozen=True, slots=True)
class MinCount:
    """At least `rows` rows; no row weighs more than `heaviest`, so that a weight W is that of W / heaviest or more."""

    rows: int
    heaviest: float = 1.0

    @property
    def told(self) -> float:
        """A weight that no row exceeds, as it may be told: the power of two above, since the heaviest is of one row."""
        return float(2.0 ** np.ceil(np.log2(self.heaviest) - SLACK))

    @property
    def size(self) -> float:
        """The weight that certainly is that of enough rows."""
        return self.rows * self.heaviest

    def few(self, weight: Array) -> NDArray[np.bool_]:
        """Return where a weight may be that of too few rows, but not of none."""
        return np.asarray((weight > SLACK * self.heaviest) & (weight < self.size * (1.0 - SLACK)))

    def rounded(self, count: Array) -> Array:
        """Return counts, those of too few rows rounded to nothing or to just enough, whichever is nearer."""
        near = np.where(2.0 * count >= self.size, self.size, 0.0)
        return np.where(self.few(count), near, np.where(count > SLACK * self.heaviest, count, 0.0))

    def scaled(self, factor: float) -> MinCount:
        """Return the same for other units of weight."""
        return MinCount(self.rows, self.heaviest * factor)


@dataclass(slots=True)
class Given:
    """What was given up: kinds of it, each with the columns of the block (positions) and the class numbers it met."""

    columns: dict[str, set[int]] = field(default_factory=dict)
    classes: dict[str, set[int]] = field(default_factory=dict)

    def up(
        self, what: str, where: Iterable[int] | NDArray[np.bool_] | None = None, classes: Iterable[int] | None = None
    ) -> None:
        """Record columns (positions or a mask (k, d)) and classes (numbers); nothing if the mask is empty."""
        columns, numbers = set[int](), set[int]()
        if isinstance(where, np.ndarray) and where.dtype == bool:
            if not where.any():
                return
            where = where[None] if where.ndim == 1 else where
            columns = set(np.flatnonzero(where.any(axis=0)).tolist())
        elif where is not None:
            columns = set(where)
        if classes is not None:
            numbers = {int(c) for c in classes}
        self.columns.setdefault(what, set()).update(columns)
        self.classes.setdefault(what, set()).update(numbers)
