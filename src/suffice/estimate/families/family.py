"""What an estimator asks of a family, and what it tells one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..._arrays import Array, Codes
from ...schema import Level, Name
from ...table import Table
from ..notes import Note
from ..priors import NormalInverseWishart
from ..shrinkage import Shrinkage


@dataclass(frozen=True, slots=True)
class Settings:
    """What an estimate may be told, by the names users know."""

    divisor: str = "mle"
    shrinkage: Shrinkage = field(default_factory=Shrinkage)
    smoothing: Any = 1.0  # a number, a Dirichlet, or a dict of these by column name, see `priors.smoothing_of`
    prior: NormalInverseWishart | None = None
    classes: tuple[Level, ...] = ()
    columns: tuple[Name, ...] = ()


class Family(Protocol):
    """What an estimator asks of the family of a block."""

    @property
    def name(self) -> str:
        """What users write."""
        ...

    def encode(self, table: Table, positions: Sequence[int]) -> Any:
        """Return the block's rows."""
        ...

    def recode(self, rows: Any, stats: Any) -> Any:
        """Return the rows in the vocabulary of fitted statistics."""
        ...

    def zero(self, k: int, columns: int) -> Any:
        """Return the statistics of no rows."""
        ...

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Any:
        """Return the statistics of a batch."""
        ...

    def estimate(self, stats: Any, settings: Settings) -> tuple[Any, list[Note]]:
        """Return a density and the notes of its repairs."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """A block of columns modelled together or alike: its family and the positions of its columns."""

    family: Family
    positions: tuple[int, ...]
