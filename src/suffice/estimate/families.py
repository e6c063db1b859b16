"""The families a block of columns can have: how it is encoded, summarised and estimated.

A family is one object in this file's table. It must provide:

    name        what users write in `families={...}`
    encode      (table, positions) → the block's rows, NaN or −1 where missing
    recode      (rows, statistics) → the same rows in the vocabulary of the fitted statistics
    summarize   (rows, codes, k, weight) → a statistic of `suffice.stats`
    zero        (k, columns) → the statistic of no rows
    estimate    (statistic, settings) → (a density of `suffice.densities`, notes)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .._arrays import Array, Codes, np
from ..densities import Categorical, Covariance, Diagonal, Full, Gaussian
from ..errors import DataError, SchemaError
from ..schema import Level, Name
from ..stats import (
    CategoricalStats,
    DiagonalScatter,
    FourthMomentStats,
    FullScatter,
    GaussianStats,
    PatternStats,
    PooledScatter,
)
from ..stats.counts import CodedColumns
from ..table import Table, recode
from .likelihood import GaussianEstimate, estimate_categorical
from .notes import Note
from .shrinkage import Shrinkage


@dataclass(frozen=True, slots=True)
class Settings:
    """What an estimate may be told, by the names users know."""

    divisor: str = "mle"
    shrinkage: Shrinkage = field(default_factory=Shrinkage)
    smoothing: float = 1.0
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


@dataclass(frozen=True, slots=True)
class GaussianFamily:
    """Gaussian columns, jointly with a covariance `structure`, per class or `shared`."""

    name: str = "gaussian"
    structure: type[Covariance] = Diagonal
    shared: bool = False
    fourth: bool = False  # keep the moments that Ledoit-Wolf shrinkage needs

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return table.numeric(positions)

    def recode(self, rows: Array, stats: Any) -> Array:
        return rows

    @property
    def _form(self) -> Any:
        if self.structure is not Full:
            return DiagonalScatter
        return PooledScatter if self.shared else FullScatter

    @property
    def _type(self) -> Any:
        return PatternStats if self.structure is Full else GaussianStats

    def zero(self, k: int, columns: int) -> Any:
        return FourthMomentStats.zero(k, columns) if self.fourth else self._type.zero(k, columns, self._form)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> Any:
        if self.fourth:
            return FourthMomentStats.summarize(rows, codes, k, weight)
        return self._type.summarize(rows, codes, k, weight, self._form)

    def estimate(self, stats: Any, settings: Settings) -> tuple[Gaussian, list[Note]]:
        job = GaussianEstimate(
            stats,
            self.structure,
            self.shared,
            settings.divisor,
            settings.shrinkage,
            settings.classes,
            settings.columns,
        )
        return job.run(), job.notes


@dataclass(frozen=True, slots=True)
class CategoricalFamily:
    """Columns of categories, independent given the class; vocabularies grow as levels are met."""

    name: str = "categorical"

    def encode(self, table: Table, positions: Sequence[int]) -> CodedColumns:
        pairs = [table.categories(p) for p in positions]
        return CodedColumns(tuple(levels for levels, _ in pairs), tuple(codes for _, codes in pairs))

    def recode(self, rows: CodedColumns, stats: CategoricalStats) -> tuple[Codes, ...]:
        columns = zip(rows.levels, rows.codes, stats.levels, strict=True)
        return tuple(recode(levels, codes, known) for levels, codes, known in columns)

    def zero(self, k: int, columns: int) -> CategoricalStats:
        return CategoricalStats.zero(k, columns)

    def summarize(self, rows: CodedColumns, codes: Codes, k: int, weight: Array | None) -> CategoricalStats:
        return CategoricalStats.summarize(rows, codes, k, weight)

    def estimate(self, stats: CategoricalStats, settings: Settings) -> tuple[Categorical, list[Note]]:
        return estimate_categorical(stats, settings.smoothing), []


@dataclass(frozen=True, slots=True)
class BernoulliFamily(CategoricalFamily):
    """Columns of truth values or 0 and 1: categorical with two levels, even where only one has been seen."""

    name: str = "bernoulli"

    def encode(self, table: Table, positions: Sequence[int]) -> CodedColumns:
        blocks = []
        for position in positions:
            levels, codes = table.categories(position)
            column = table.schema.columns[position]
            if column.kind.is_label:
                raise SchemaError(
                    f"Column {column.name!r} holds {column.kind.value} values; a Bernoulli column holds true and "
                    "false, or 1 and 0. Next: convert it, or give it the family 'categorical'."
                )
            strange = [level for level in levels if level not in (0, 1)]
            if strange:
                raise DataError(
                    f"Column {column.name!r} has the value {strange[0]!r}; a Bernoulli column holds true and false, "
                    "or 1 and 0. Next: convert it, or give it another family."
                )
            blocks.append(recode(levels, codes, (False, True)))
        return CodedColumns(((False, True),) * len(positions), tuple(np.asarray(codes) for codes in blocks))


FAMILIES: dict[str, Family] = {
    "gaussian": GaussianFamily(),
    "categorical": CategoricalFamily(),
    "bernoulli": BernoulliFamily(),
}
