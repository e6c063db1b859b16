"""What an estimate may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...schema import Level, Name
from ..priors import Dirichlet, NormalInverseWishart, plain_smoothing
from ..shrinkage import Shrinkage


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

    def told(self) -> tuple[object, ...]:
        """Return what users gave, as values that can be written down."""
        given = (self.divisor, self.shrinkage.setting, self.smoothing, self.prior, self.by_loo, self.missing)
        return (*given, self.keep_rows)

    @property
    def alpha(self) -> float:
        """The smoothing where it is one number for all columns, as closed forms of leave-one-out ask."""
        alpha = plain_smoothing(self.smoothing)
        assert alpha is not None
        return alpha
