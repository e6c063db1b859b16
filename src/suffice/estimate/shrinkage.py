"""Shrinkage of covariances: settings, and rules for the amount (Ledoit-Wolf, OAS, RDA)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np
from ..errors import SettingError, either, setting


@dataclass(frozen=True, slots=True)
class RDA:
    """Regularised discriminant analysis: covariances between one per class and one for all, then shrunk.

    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n), S_k class scatters, S their sum; then (1 − s) Σ_k(λ) + s T.
    `shared` is λ: 0 is quadratic, 1 linear discriminant analysis. `amount` is s (None: the least that makes the
    covariance usable) and `target` is T: "diagonal", diag Σ_k(λ), which does not depend on the columns' units, or
    "identity", the mean of its diagonal times I, as in Friedman (1989), doi:10.1080/01621459.1989.10478752.
    """

    shared: float = 0.0
    amount: float | None = None
    target: str = "diagonal"

    def __post_init__(self) -> None:
        _check_share("RDA(shared", self.shared)
        if self.amount is not None:
            _check_share("RDA(amount", self.amount)
        if self.target not in ("diagonal", "identity"):
            raise SettingError.choice("RDA: target", self.target, ("diagonal", "identity"))


RULES = ("ledoit-wolf", "oas")
WHOLE = 1e-9  # relative difference of weights that rounding explains


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= value <= 1.0:
        given = f"{name}={value!r})" if "(" in name else setting(name, value)
        raise SettingError(
            f"{given} is no number from 0 to 1. Next: give one, from 0 (none) to 1 (columns uncorrelated), "
            f"or {either('None', 'leave out --shrinkage')} for the least that works."
        )


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How much to shrink.

    None is the least that makes the covariance usable, 0.0 forbids any, a number fixes it; "ledoit-wolf" and "oas"
    estimate it, on the correlation scale; an `RDA` also pools.
    """

    setting: str | float | RDA | None = None

    def __post_init__(self) -> None:
        if isinstance(self.setting, str):
            if self.setting not in RULES:
                raise SettingError.choice("shrinkage", self.setting, [None, "a number from 0 to 1", *RULES, "RDA(...)"])
        elif self.setting is not None and not isinstance(self.setting, RDA):
            _check_share("shrinkage", self.setting)

    @property
    def amount(self) -> float | None:
        """The fixed amount, or None where it is found from the data."""
        if isinstance(self.setting, str):
            return None
        return self.setting.amount if isinstance(self.setting, RDA) else self.setting

    @property
    def pooling(self) -> float:
        """How much of the pooled scatter each class takes."""
        return float(self.setting.shared) if isinstance(self.setting, RDA) else 0.0

    @property
    def spherical_target(self) -> bool:
        """Whether covariances are drawn to a multiple of the identity."""
        return isinstance(self.setting, RDA) and self.setting.target == "identity"

    @property
    def rule(self) -> str | None:
        """The name of the rule that finds the amount, if one does."""
        return self.setting if isinstance(self.setting, str) else None

    @property
    def forbidden(self) -> bool:
        """Whether a singular covariance is an error."""
        return not isinstance(self.setting, RDA) and self.amount == 0.0


@dataclass(frozen=True, slots=True)
class WholeRows:
    """Complete rows (m, d) that Ledoit-Wolf amounts are computed from, the class of each (m,) and its weight (m,)."""

    rows: Array
    codes: Codes
    weight: Array

    def of(self, columns: Sequence[int]) -> WholeRows:
        """Return the same rows in some of their columns."""
        return WholeRows(self.rows[:, list(columns)], self.codes, self.weight)

    def _held(self, total: Array) -> Array:
        return np.bincount(self.codes, weights=self.weight, minlength=len(total)).astype(np.float64)

    def are_all(self, total: Array) -> bool:
        """Return whether there are no others, in classes of these weights (k,)."""
        return bool(np.allclose(self._held(total), total, rtol=WHOLE, atol=0.0))

    def mean_norm(self, mean: Array, scale: Array, members: Sequence[int], total: Array) -> float:
        """Return the weighted mean of |(x − mean) / scale|⁴ over the rows of some classes, ∞ where none are here.

        `mean` is (k, d), `scale` (d,). Each class counts by its weight in all rows, `total` (k,).
        """
        held = self._held(total)
        own = np.isin(self.codes, members) & (self.weight > 0)
        codes = self.codes[own]
        if not len(codes):
            return np.inf
        z = (self.rows[own] - mean[codes]) / scale
        return float(np.average((z * z).sum(axis=1) ** 2, weights=self.weight[own] * (total / held)[codes]))

    def without(self, rows: Array, codes: Codes, weight: Array) -> WholeRows:
        """Return these rows without those of them that are equal to others (n, d) in cells and class."""
        left = self.weight.copy()
        for row, code, amount in zip(rows, codes, weight, strict=True):
            for i in np.flatnonzero((self.codes == code) & (self.rows == row).all(axis=1))[:1]:
                left[i] = max(left[i] - amount, 0.0) if amount < left[i] * (1.0 - WHOLE) else 0.0
        return replace(self, weight=left)


def oas_amount(d: int, squares: float, weight: float) -> float:
    """Return the oracle approximating amount for a correlation matrix R (d, d) with Σ R² = `squares`.

    Chen, Wiesel, Eldar & Hero (2010), doi:10.1109/TSP.2010.2053029, in the form scikit-learn's `oas` has.
    """
    alpha = squares / d**2
    below = (weight + 1.0) * (alpha - 1.0 / d)
    return 1.0 if below == 0 else min((alpha + 1.0) / below, 1.0)


def ledoit_wolf_amount(d: int, squares: float, weight: float, norm: float) -> float:
    """Return the Ledoit-Wolf amount for a correlation matrix R with Σ R² = `squares` and mean |z|⁴ = `norm`.

    Ledoit & Wolf (2004), doi:10.1016/S0047-259X(03)00096-4, as scikit-learn's `ledoit_wolf` on standardised rows z.
    """
    apart = (squares - d) / d
    spread = min((norm - squares) / (d * weight), apart)
    return 0.0 if spread <= 0 or apart <= 0 else spread / apart
