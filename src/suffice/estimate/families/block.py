"""A block of columns with its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._arrays import Array, Codes, NDArray, np
from ..._foreign import Foreign, given
from ...densities import Density, Limit, as_density
from ...notes import Note
from ...stats import Statistic, as_statistic
from ...table import Table
from .family import Family, Settings

OWED = ("encode", "recode", "zero", "summarize", "estimate")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of columns modelled together or alike: its family and the positions of its columns."""

    family: Family
    positions: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", as_family(self.family))


class ForeignFamily(Foreign, Family):
    """A family that does not inherit from `Family`, with what it lacks added; equal and printed as the one given."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.given.name  # type: ignore[no-any-return]

    def encode(self, table: Table, positions: Sequence[int]) -> object:
        return self.given.encode(table, positions)

    def zero(self, k: int, columns: int) -> Statistic:
        return as_statistic(self.given.zero(k, columns))

    def summarize(self, rows: object, codes: Codes, k: int, weight: Array | None) -> Statistic:
        return as_statistic(self.given.summarize(rows, codes, k, weight))

    def estimate(self, stats: Statistic, settings: Settings) -> tuple[Density, list[Note]]:
        density, notes = self.given.estimate(given(stats), settings)
        return as_density(density), notes

    @property
    def support(self) -> str | None:
        return self.offered("support")  # type: ignore[no-any-return]

    @property
    def takes_missing(self) -> bool:
        return bool(self.offered("takes_missing", True))

    @property
    def takes_sparse(self) -> bool:
        return bool(self.offered("takes_sparse", False))

    def recode(self, rows: object, stats: Statistic) -> object:
        return self.asked("recode", Family.recode, rows, stats)

    def joint(self) -> Family | None:
        found = self.asked("joint", Family.joint)
        return None if found is None else as_family(found)

    def check_possible(self, stats: Statistic) -> None:
        self.asked("check_possible", Family.check_possible, stats)

    def leave_one_out_limit(
        self, rows: object, stats: Statistic, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit | None:
        arguments = rows, stats, codes, weight, settings
        return self.asked("leave_one_out_limit", Family.leave_one_out_limit, *arguments)  # type: ignore[no-any-return]

    def leave_one_out(
        self, rows: object, stats: Statistic, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array | None:
        arguments = rows, stats, codes, weight, settings
        return self.asked("leave_one_out", Family.leave_one_out, *arguments)  # type: ignore[no-any-return]

    @property
    def fills(self) -> bool:
        return bool(self.offered("fills", False))

    def misses(self, rows: object) -> bool:
        return bool(self.asked("misses", Family.misses, rows))

    def count(self, rows: object, codes: Codes, k: int, weight: Array | None) -> Statistic:
        return as_statistic(self.offered("count", self.given.summarize)(rows, codes, k, weight))

    def fill(self, rows: object, codes: Codes, k: int, weight: Array, density: Density) -> Statistic:
        return as_statistic(self.given.fill(rows, codes, k, weight, given(density)))

    def prior_squares(self, stats: Statistic, secured: NDArray[np.bool_]) -> Array:
        return np.asarray(self.given.prior_squares(given(stats), secured))

    def add_squares(self, stats: Statistic, squares: Array) -> Statistic:
        return as_statistic(self.given.add_squares(given(stats), squares))

    def log_prior_of_squares(self, density: Density, squares: Array) -> float:
        return float(self.given.log_prior_of_squares(given(density), squares))


def as_family(given: object) -> Family:
    """Return a family with every verb, whoever wrote it; one that inherits from `Family` as it is."""
    return given if isinstance(given, Family) else ForeignFamily(given)


def lacking(given: object) -> list[str]:
    """Return the verbs that a family owes and this object does not have."""
    own = Foreign(given)
    return [verb for verb in OWED if not callable(own.offered(verb))]
