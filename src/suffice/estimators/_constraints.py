"""Validation of settings by constraints.

Rules between settings, which no table can hold, are functions of the estimator in its `_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .._arrays import is_whole, np
from ..densities import STRUCTURES
from ..em.starts import BIC
from ..errors import SettingError, setting
from ..estimate import Shrinkage
from ..estimate.priors import check_prior, check_smoothing

Constraint = Callable[[str, object], None]  # of the name and the value of a setting; SettingError where it cannot work
Constraints = Mapping[str, Constraint]  # by the name of the setting, in the order in which they are looked at


@dataclass(frozen=True)
class OneOf:
    """One of some values."""

    allowed: tuple[object, ...]

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for any other."""
        if value not in self.allowed:
            raise SettingError.choice(name, value, self.allowed)


@dataclass(frozen=True)
class Must:
    """What a test holds of; `be` says in words what that is, and what to do next."""

    holds: Callable[[object], bool]
    be: str

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for any other."""
        if not self.holds(value):
            raise SettingError(f"{setting(name, value)} must be {self.be}")


@dataclass(frozen=True)
class Checked:
    """What a function can be called with that raises SettingError for all else; and the word `but`."""

    by: Callable[[object], object]
    but: str | None = None

    def __call__(self, name: str, value: object) -> None:
        """Raise SettingError for what the function refuses."""
        if self.but is None or not isinstance(value, str) or value != self.but:
            self.by(value)


def _is_tolerance(value: object) -> bool:
    return isinstance(value, int | float | np.number) and 0.0 <= float(value) < np.inf


def _are_components(value: object) -> bool:
    each = value.values() if isinstance(value, Mapping) else [value]
    return all(is_whole(number, 1) or number == BIC for number in each)


COUNT = Must(lambda value: is_whole(value, 1), "a whole number of at least 1. Next: correct it.")
ROWS = Must(lambda value: is_whole(value, 0), "a whole number, at least 0. Next: 2000 is usual, 0 is none.")
ROWS_OR_NONE = Must(
    lambda value: value is None or is_whole(value, 0),
    "a whole number; as many as fit where it is left out. Next: leave it out.",
)
TOLERANCE = Must(_is_tolerance, "a number of at least 0. Next: 1e-5 is the default.")
COMPONENTS = Must(
    _are_components,
    "a whole number of at least 1, 'bic', or one of these for every class by its label. Next: 'bic' chooses class by "
    "class.",
)
COVARIANCE = OneOf(tuple(STRUCTURES))
DIVISOR = OneOf(("mle", "unbiased"))
MEMBERS = OneOf(("all", "generative"))
MISSING = OneOf(("em", "error"))
SHRINKAGE = Checked(Shrinkage)  # type: ignore[arg-type]
SHRINKAGE_OR_LOO = Checked(Shrinkage, but="loo")  # type: ignore[arg-type]
PRIOR = Checked(check_prior)
SMOOTHING = Checked(check_smoothing)
