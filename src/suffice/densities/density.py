"""What a class-conditional density over one block of columns is asked.

Rows (n, d) are numbers, NaN where missing; or a sparse matrix; or for categories one array of codes (n,) per column, −1
where missing. A density reads the rows that its family recodes, and no others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._arrays import Array, Codes, np
from .._arrays_api import DeviceArray, blocks, fetch, put
from .._foreign import Foreign
from ..schema import Level
from .outcomes import Outcomes, drawn_outcomes

Limit = tuple[Array, Array]  # order and log coefficient: a density is coefficient · α^order as the smoothing α → 0


class Density(ABC):
    """p(x | k) of k classes: `log_density` is owed; what may stay as it is here is said at each verb."""

    __slots__ = ()

    @abstractmethod
    def log_density(self, rows: Any) -> Array:
        """Return log p(x | k), (n, k) in nats; a missing cell is integrated out, so that it contributes nothing."""

    def leading_log_density(self, rows: Any, offset: Array) -> Array:
        """Return log p(x | k), (n, k), or more for classes that cannot matter to a row's posteriors.

        `offset` plus it is the log joint, with an offset (k,), or (n, k) by row. The classes for which more is returned
        share less than 1e-17 of a row's probability, all of them together, even so. By default there are none.
        """
        return self.log_density(rows)

    def log_density_there(self, rows: Any) -> DeviceArray:
        """Return the log densities of rows on another device, there; by default they are scored here and sent back."""
        found: DeviceArray = put(
            np.concatenate([self.log_density(fetch(rows[part, ...])) for part in blocks(rows)]), rows
        )
        return found

    def limit(self, rows: Any) -> Limit:
        """Return (order, log coefficient), (n, k) each, see `Categorical.limit`; order 0 where it is never zero."""
        score = self.log_density(rows)
        return np.zeros_like(score), score

    def terms(self, rows: Any) -> Array | None:
        """Return what each column adds to the log density, (k, n, d) in nats; None where they are not independent."""
        return None

    def limit_terms(self, rows: Any) -> tuple[Array | None, Array] | None:
        """Return the same as order, None where no density is zero, and log coefficient, (k, n, d) each; or None."""
        found = self.terms(rows)
        return None if found is None else (None, found)

    def marginal(self, columns: Sequence[int]) -> Density | None:
        """Return the density of some of the columns; None where it has no form of its own."""
        return None

    def marginals(self, rows: Any) -> Iterator[tuple[slice, Callable[[Codes], Array]]]:
        """Yield parts of the rows, each with a function from column numbers to their log density there alone (n, k)."""
        coded = isinstance(rows, tuple)
        table = np.stack(rows, axis=1) if coded else rows

        def value(columns: Codes) -> Array:
            part = np.full(table.shape, -1 if coded else np.nan)
            part[:, columns] = table[:, columns]
            return np.asarray(self.log_density(tuple(part.T) if coded else part))

        yield slice(0, len(table)), value

    def in_ways(self, rows: Any, known: Array) -> Array:
        """Return log densities (m, n, k) of complete rows in some columns alone, m times: 1 in `known` (m, d), else 0.

        Asked where `has_ways`: of a density for which many ways together take less than each by itself.
        """
        raise NotImplementedError

    def prefixes(self, rows: Any, orders: Codes) -> Iterator[Array] | None:
        """Yield log p(the first 1, 2, … columns | k), (k, n, d), for each of some orders of the columns (·, d).

        None where each is to be asked for by itself.
        """
        return None

    def center(self) -> Array | None:
        """Return where each class is densest (k, d), its mean or location; None where rows have no such place."""
        return None

    def condition(self, rows: Any, posterior: Array) -> object:
        """Return the rows with each missing cell at its mean, or its most probable category, given the observed ones.

        Classes count by `posterior` (n, k), which may be that of a few rows only: callers pass rows in chunks. Observed
        cells come back as they are.
        """
        raise NotImplementedError

    def sample(self, rows: Any, codes: Codes, rng: np.random.RandomState) -> object:
        """Return the rows with each missing cell drawn from p(missing | observed, class), for class numbers (n,).

        A row without any observed cell is a new one.
        """
        raise NotImplementedError

    def outcomes(self, rows: Any) -> Iterator[Outcomes]:
        """Yield what each missing cell may hold by itself, with p(value | known cells of the block, class).

        A column that never varies may be left out. By default values are drawn.
        """
        return drawn_outcomes(self, rows)

    @property
    def has_leading(self) -> bool:
        """Whether `leading_log_density` measures fewer classes than `log_density`, of many rows at least."""
        return False

    @property
    def has_ways(self) -> bool:
        """Whether there is `in_ways`, and rows that miss cells in many ways are best asked together, too."""
        return False

    @property
    def has_outcomes(self) -> bool:
        """Whether single missing cells have a law."""
        return type(self).outcomes is not Density.outcomes or self.can_sample

    @property
    def can_condition(self) -> bool:
        """Whether there is a `condition`."""
        return type(self).condition is not Density.condition

    @property
    def can_sample(self) -> bool:
        """Whether there is a `sample`."""
        return type(self).sample is not Density.sample

    def log_prior(self) -> float:
        """Return the log of the prior on the parameters that smoothing stands for, up to a constant, in nats.

        EM with missing labels climbs the likelihood times this.
        """
        return 0.0

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by class, {name: (k,)}, where they are of one column; else none."""
        return {}

    def column_levels(self, j: int) -> Sequence[Level] | None:
        """Return the levels that the codes of column j number; None for numbers."""
        return None

    @property
    def kind(self) -> str:
        """What messages call it."""
        return type(self).__name__


class ForeignDensity(Foreign, Density):
    """A density that does not inherit from `Density`, with what it lacks added."""

    __slots__ = ()

    def log_density(self, rows: object) -> Array:
        return np.asarray(self.given.log_density(rows))

    def limit(self, rows: object) -> Limit:
        return self.asked("limit", Density.limit, rows)  # type: ignore[no-any-return]

    def terms(self, rows: object) -> Array | None:
        return self.asked("terms", Density.terms, rows)  # type: ignore[no-any-return]

    def limit_terms(self, rows: object) -> tuple[Array | None, Array] | None:
        return self.asked("limit_terms", Density.limit_terms, rows)  # type: ignore[no-any-return]

    def marginal(self, columns: Sequence[int]) -> Density | None:
        verb = self.offered("marginal")
        return None if verb is None else as_density(verb(columns))

    def prefixes(self, rows: object, orders: Codes) -> Iterator[Array] | None:
        return self.asked("prefixes", Density.prefixes, rows, orders)  # type: ignore[no-any-return]

    def center(self) -> Array | None:
        found = self.offered("location")
        return None if found is None else np.asarray(found)

    def condition(self, rows: object, posterior: Array) -> object:
        return self.given.condition(rows, posterior)

    def sample(self, rows: object, codes: Codes, rng: np.random.RandomState) -> object:
        return self.given.sample(rows, codes, rng)

    def outcomes(self, rows: object) -> Iterator[Outcomes]:
        return self.asked("outcomes", Density.outcomes, rows)  # type: ignore[no-any-return]

    @property
    def has_outcomes(self) -> bool:
        return self.offered("outcomes") is not None or self.can_sample

    @property
    def can_condition(self) -> bool:
        return self.offered("condition") is not None

    @property
    def can_sample(self) -> bool:
        return self.offered("sample") is not None

    def log_prior(self) -> float:
        return float(self.asked("log_prior", Density.log_prior))

    def parameters(self, j: int) -> dict[str, Array]:
        return dict(self.asked("parameters", Density.parameters, j))

    def column_levels(self, j: int) -> Sequence[Level] | None:
        found = self.offered("levels")
        return None if found is None else found[j]

    @property
    def kind(self) -> str:
        return type(self.given).__name__


def as_density(given: object) -> Density:
    """Return a density with every verb, whoever wrote it; one that inherits from `Density` as it is."""
    return given if isinstance(given, Density) else ForeignDensity(given)
