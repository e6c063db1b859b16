"""The protocol of a family: read columns, sum them to statistics, estimate a density; and leave a row out again.

Everything a person may disagree about (smoothing, priors, floors) enters at `estimate`: statistics hold facts only.
A `Block` is some columns with their family; what users hand in is wrapped once, by `as_family`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..._arrays import Array, Codes, Flags, np
from ..._foreign import Foreign
from ...densities import Density, Draw, Limit, as_density
from ...errors import DataError
from ...notes import Note
from ...schema import Level, Name
from ...stats import Statistic, as_statistic
from ...stats._downdate import remainder
from ...table import Table
from ..priors import Dirichlet, NormalInverseWishart, Shrinkage, WholeRows, plain_smoothing


@dataclass(frozen=True, slots=True)
class Settings:
    """What an estimate may be told, by the names users know; `classes` and `columns` are for notes and errors."""

    divisor: str = "mle"
    shrinkage: Shrinkage = field(default_factory=Shrinkage)
    smoothing: float | Dirichlet | Mapping[Name, float | Dirichlet] = 1.0  # see `priors.smoothing_of`
    prior: NormalInverseWishart | None = None
    classes: tuple[Level, ...] = ()
    columns: tuple[Name, ...] = ()
    by_loo: bool = False  # whether leave-one-out over the rows kept chooses the amounts of shrinkage
    missing: str = "em"  # or "error": cells may not be missing
    keep_rows: int = 2000  # how many rows the statistics hold as they came
    kept: WholeRows | None = field(default=None, compare=False)  # the rows that Ledoit-Wolf shrinkage is computed from
    leaves_tiny: bool = False  # whether columns of numbers whose squares vanish are left out, not refused
    members: str = "all"  # or "generative": of an automatic classifier, those alone that are densities
    time_limit: float | None = None  # seconds, in which an automatic classifier chooses its members
    covering: bool = False  # whether intervals of distances cover as stated under posteriors without a `prior`

    def told(self) -> tuple[object, ...]:
        """Return what users gave, as values that can be written down."""
        given = (self.divisor, self.shrinkage.setting, self.smoothing, self.prior, self.by_loo, self.missing)
        return (*given, self.keep_rows, self.members, self.time_limit)

    def without(self, rows: Array, codes: Codes, weight: Array) -> Settings:
        """Return the settings of an estimate from all rows but these."""
        return self if self.kept is None else replace(self, kept=self.kept.without(rows, codes, weight))

    @property
    def alpha(self) -> float:
        """The smoothing where it is one number for all columns, as closed forms of leave-one-out ask."""
        alpha = plain_smoothing(self.smoothing)
        assert alpha is not None
        return alpha


class Family(ABC):
    """A frozen, comparable value (a dataclass) with a `name`; four verbs are owed, the others may stay as they are.

    Rows and statistics are a family's own: what `encode` gives comes back to `recode` and `summarize`, what `recode`
    gives to the density. Rows lie along the first axis of an array or a sparse matrix, or are `CodedColumns`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """What users write in `families={...}`."""

    # --- owed --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, table: Table, positions: Sequence[int]) -> Any:
        """Return the block's rows, NaN or −1 where missing; DataError for cells that have no density."""

    @abstractmethod
    def zero(self, k: int, columns: int) -> Statistic:
        """Return the statistic of no rows."""

    @abstractmethod
    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Statistic:
        """Return the statistic of rows of the classes `codes` (n,), numbers below `k`; `weight` (n,), None for ones."""

    @abstractmethod
    def estimate(self, stats: Any, settings: Settings) -> tuple[Density, list[Note]]:
        """Return a density, and a note of every repair."""

    def posterior(self, stats: Any, settings: Settings) -> Draw | None:
        """Return what draws densities from the posterior of their parameters; None where there is no closed form.

        Under the prior or smoothing of the settings, or the reference prior where these are those of likelihood alone.
        """
        return None

    # --- what it reads -----------------------------------------------------------------------------------------------

    @property
    def support(self) -> str | None:
        """What the density of a column adds up over: "reals", "counts", "truths", "levels" or "shares"; or None."""
        return None

    @property
    def takes_missing(self) -> bool:
        """Whether a missing cell contributes nothing; else `encode` refuses it."""
        return True

    def recode(self, rows: Any, stats: Any) -> Any:
        """Return the rows in the vocabulary of fitted statistics; as they are where there is none."""
        return rows

    def joint(self) -> Family | None:
        """Return the family of a tuple of columns modelled as one block; None where columns cannot be joined."""
        return None

    def component(self) -> Family:
        """Return the family of one component of a mixture; itself where it is none."""
        return self

    # --- what it knows of its statistics -----------------------------------------------------------------------------

    def check_possible(self, stats: Any) -> None:
        """Raise NotLearnedError where no rows have such statistics, which a subtraction has left."""
        return

    def leave_one_out_limit(
        self, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
    ) -> Limit | None:
        """Return the log density of each recoded row under every class, its weight taken out of the statistics first.

        As (order, log coefficient), (n, k) each: exactly what a refit would give. DataError for a row that cannot be in
        the statistics. None where there is no closed form, and each row has to be left out by a refit.
        """
        score = self.leave_one_out(rows, stats, codes, weight, settings)
        return None if score is None else (np.zeros_like(score), score)

    def leave_one_out(
        self, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array | None:
        """Return the same as log densities (n, k) in nats, of families whose probabilities are never zero."""
        return None

    # --- cells that only a joint density can fill --------------------------------------------------------------------

    @property
    def fills(self) -> bool:
        """Whether missing cells have to be filled by EM, by the verbs below, which else have nothing to do."""
        return False

    def misses(self, rows: Any) -> bool:
        """Return whether these rows miss cells that have to be filled."""
        return False

    def count(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Statistic:
        """Return what `summarize` does; TooManyPatternsError where EM would have to make passes over the rows."""
        return self.summarize(rows, codes, k, weight)

    def fill(self, rows: Any, codes: Codes, k: int, weight: Array, density: Any) -> Statistic:
        """Return statistics with every missing cell at what a density expects: one EM step, when estimated from."""
        return self.summarize(rows, codes, k, weight)

    def prior_squares(self, stats: Any, secured: Flags) -> Array:
        """Return the squares (g, d) that EM's weak prior adds to the scatter of the `secured` classes (k,)."""
        return np.zeros_like(stats.column_weight())

    def add_squares(self, stats: Any, squares: Array) -> Statistic:
        """Return the statistics with these squares in their scatter."""
        return stats  # type: ignore[no-any-return]

    def log_prior_of_squares(self, density: Any, squares: Array) -> float:
        """Return the log density of that prior, up to a constant, in nats."""
        return 0.0


OWED = ("encode", "recode", "zero", "summarize", "estimate")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of columns modelled together or alike: its family and the positions of its columns."""

    family: Family
    positions: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", as_family(self.family))


def _joined(found: object) -> Family | None:
    return None if found is None else as_family(found)


class ForeignFamily(
    Foreign,
    Family,
    zero=as_statistic,
    summarize=as_statistic,
    count=as_statistic,
    fill=as_statistic,
    add_squares=as_statistic,
    estimate=lambda found: (as_density(found[0]), found[1]),
    joint=_joined,
    component=_joined,
):
    """A family that does not inherit from `Family`, with what it lacks added; equal and printed as the one given."""

    __slots__ = ()


def as_family(given: object) -> Family:
    """Return a family with every verb, whoever wrote it; one that inherits from `Family` as it is."""
    return given if isinstance(given, Family) else ForeignFamily(given)  # type: ignore[abstract]


def lacking(given: object) -> list[str]:
    """Return the verbs that a family owes and this object does not have."""
    return [verb for verb in OWED if not callable(Foreign(given).offered(verb))]


# ── Remove one row from statistics: what the closed forms of leave-one-out share ──────────────────────────────────────
#
# The log density of a row under its own class is that of an estimate which has not seen the row. Families whose
# probabilities can vanish give (order, log coefficient), as `densities.Categorical.limit` does.


ROUNDING = 64.0 * float(np.finfo(np.float64).eps)  # a remainder this small beside the sum is rounding
SLACK = 1e-9  # by which a row may exceed the statistics it is taken out of, relative to them: rounding of long sums


def without(total: Array | float, amount: Array | float) -> Array:
    """Return sums with an amount taken out again, exactly 0 where only rounding is left."""
    return remainder(total, amount, ROUNDING)


class LimitFamily(Family):
    """A family whose probabilities can be zero, so that its closed form of leave-one-out is a limit."""

    __slots__ = ()

    def leave_one_out(
        self, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
    ) -> Array | None:
        parts = self.leave_one_out_limit(rows, stats, codes, weight, settings)
        return None if parts is None else np.where(parts[0] > 0, -np.inf, parts[1])


def row_weights(codes: Codes, weight: Array | None) -> Array:
    """Return the weight of each row (n,)."""
    return np.ones(len(codes)) if weight is None else weight


def weight_groups(codes: Codes, weight: Array | None) -> Iterator[tuple[float, Codes]]:
    """Yield each distinct row weight with the numbers of the rows that have it."""
    if weight is None:
        yield 1.0, np.arange(len(codes))
        return
    values, group = np.unique(weight, return_inverse=True)
    order = np.argsort(group, kind="stable")
    yield from zip(values.tolist(), np.split(order, np.cumsum(np.bincount(group))[:-1]), strict=True)


def refuse(settings: Settings, row: int, code: int, column: int | None, why: str) -> DataError:
    """Return the error that says why a row cannot be among those the statistics were made from."""
    where = "" if column is None else f" in column {settings.columns[column]!r}"
    return DataError.not_learned(row, settings.classes[code], f"{why}{where}")
