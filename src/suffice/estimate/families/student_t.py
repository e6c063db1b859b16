"""Student t columns: numbers with outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import Array, Codes, NDArray, digamma, np
from ...densities import StudentT
from ...errors import SettingError
from ...stats import ValueStats
from ...stats.values import DISTINCT
from ...table import Table
from ..notes import Note
from ._contract import Settings
from ._location import Fitted, check_limit, fit_locations

Flags = NDArray[np.bool_]
LEAST_DF, MOST_DF = 1.0, 100.0  # the range searched: from Cauchy to what no sample tells from a Gaussian
TOLERANCE = 1e-11  # of a step of EM, relative to the scale
MOST_STEPS = 1000
MOST_TRIES = 60
ROUGH = 1e-6  # such a step while df is far from settled
NARROW = 1e-8  # change of log df that settles it


@dataclass(frozen=True, slots=True)
class StudentTFamily:
    """Independent location-scale t columns by maximum likelihood, with `df` degrees of freedom.

    Location and scale come from the EM of Lange, Little & Taylor (1989, doi:10.1080/01621459.1989.10478852) in the
    faster form of Meng & van Dyk (1997), started at the median. `df=4` is their advice for robustness; `df=None`
    estimates it for each class and column by profile likelihood, from 1 to 100, which asks for some 50 rows or more.
    Values are counted as for the family "laplace": exactly up to `distinct` different ones per class and column.

    Where at least df / (df + 1) of the weight sits on one value the likelihood has no maximum: the location is then
    that value and the scale the least allowed, with a note.
    """

    name: str = "student_t"
    df: float | None = 4.0
    distinct: int = DISTINCT
    support: ClassVar[str] = "reals"

    def __post_init__(self) -> None:
        check_limit(self.distinct)
        df: Any = self.df
        if df is not None and not (isinstance(df, int | float | np.number) and 0.0 < df < np.inf):
            raise SettingError(f"df={self.df!r} must be a positive number, or None to estimate it. Next: try df=4.")

    def encode(self, table: Table, positions: Sequence[int]) -> Array:
        return table.numeric(positions)

    def recode(self, rows: Array, stats: Any) -> Array:
        return rows

    def zero(self, k: int, columns: int) -> ValueStats:
        return ValueStats.zero(k, columns, self.distinct)

    def summarize(self, rows: Array, codes: Codes, k: int, weight: Array | None) -> ValueStats:
        return ValueStats.summarize(rows, codes, k, weight, self.distinct)

    def estimate(self, stats: ValueStats, settings: Settings) -> tuple[StudentT, list[Note]]:
        fitted = fit_locations(stats, settings)
        return _Search(stats, fitted, self.df).run(settings)


class _Search:
    """Maximum likelihood of all cells (class, column) at once, on values standardised by their median and spread."""

    def __init__(self, stats: ValueStats, fitted: Fitted, df: float | None) -> None:
        self.shape = stats.width.shape
        self.fitted, self.df = fitted, df
        self.cells, self.weights = stats.cells, stats.weights
        center, unit = fitted.location.ravel()[self.cells], fitted.scale.ravel()[self.cells]
        self.y = (stats.middles() - center) / unit
        self.total = stats.column_weight().ravel()
        heaviest, self.mode = self._heaviest()
        self.mass = heaviest / np.where(self.total > 0, self.total, 1.0)
        self.floor = np.broadcast_to(fitted.least, self.shape).ravel() / fitted.scale.ravel()
        self.ill = np.asarray(fitted.flat.ravel() | (self.total == 0))
        used = np.isin(np.arange(self.shape[1]), fitted.used)
        self.ill |= ~np.tile(used, self.shape[0])

    def run(self, settings: Settings) -> tuple[StudentT, list[Note]]:
        """Return the density and the notes."""
        limit = self.mass / np.where(self.mass < 1, 1.0 - self.mass, 1.0)  # there is a maximum for df above this
        spiked = ~self.ill & ((self.mass >= 1) | (limit >= (MOST_DF / 2 if self.df is None else self.df)))
        location = np.where(spiked, self.mode, 0.0)
        scale = np.where(spiked, self.floor, 1.0)
        free = ~(self.ill | spiked)
        if self.df is None:
            df, location, scale = self._profile(limit, free, location, scale)
        else:
            df = np.full(self.total.shape, float(self.df))
            location, scale = self._climb(df, free, location, scale)
        low = free & (scale < self.floor)
        scale = np.where(low, self.floor, scale)
        notes = [*self.fitted.notes, *self._notes(settings, (low | spiked).reshape(self.shape))]
        unit = self.fitted.scale
        placed = self.fitted.location + unit * location.reshape(self.shape)
        df = np.where(self.ill, 4.0 if self.df is None else df, df)
        return StudentT(placed, unit * scale.reshape(self.shape), self.fitted.used, df.reshape(self.shape)), notes

    def _sum(self, amounts: Array) -> Array:
        return np.asarray(np.bincount(self.cells, weights=amounts, minlength=len(self.total)), dtype=np.float64)

    def _heaviest(self) -> tuple[Array, Array]:
        """Return the largest weight of a single value by cell, and that value."""
        order = np.lexsort((self.weights, self.cells))
        last = np.flatnonzero(np.diff(self.cells[order], append=-1))
        heaviest, mode = np.zeros((2, len(self.total)))
        heaviest[self.cells[order][last]] = self.weights[order][last]
        mode[self.cells[order][last]] = self.y[order][last]
        return heaviest, mode

    def _climb(
        self, df: Array, free: Flags, location: Array, scale: Array, tolerance: float = TOLERANCE
    ) -> tuple[Array, Array]:
        """Return the (location, scale) that EM reaches for given degrees of freedom, for the free cells."""
        own, power = df[self.cells], df[self.cells] + 1.0
        for _ in range(MOST_STEPS):
            away = self.y - location[self.cells]
            pull = self.weights * power / (own + (away / scale[self.cells]) ** 2)
            mass = np.where(free, self._sum(pull), 1.0)
            step = self._sum(pull * away) / mass
            spread = np.sqrt(np.maximum(self._sum(pull * away**2) / mass - step**2, 0.0))
            spread = np.where(free, np.maximum(spread, 0.5 * self.floor), scale)
            change = np.where(free, np.maximum(np.abs(step), np.abs(spread - scale)) / spread, 0.0)
            location, scale = location + np.where(free, step, 0.0), spread
            if change.max(initial=0.0) < tolerance:
                break
        return location, scale

    def _profile(self, limit: Array, free: Flags, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Return (df, location, scale) where the slope of the profile log likelihood in df changes sign.

        By the envelope theorem the slope is that of the log likelihood at fixed location and scale. Its root in log df
        is bracketed and found by false position in the Illinois form (Dowell & Jarratt 1971, doi:10.1007/BF01934364);
        EM starts from where it last arrived, and goes to the end when the bracket is narrow.
        """
        low = np.log(np.clip(2.0 * limit, LEAST_DF, MOST_DF))
        high = np.full(low.shape, np.log(MOST_DF))
        middle, side = 0.5 * (low + high), np.zeros(low.shape)
        at = np.stack([low, high])
        slopes = np.zeros((2, *low.shape))
        for i in range(2):
            location, scale = self._climb(np.exp(at[i]), free, location, scale, ROUGH)
            slopes[i] = self._slope(np.exp(at[i]), location, scale)
        low, high = np.where(slopes[1] > 0, high, low), np.where(slopes[0] <= 0, low, high)
        tolerance = ROUGH
        for _ in range(MOST_TRIES):
            before = middle
            apart = slopes[0] - slopes[1]
            share = np.where(apart > 0, slopes[0] / np.where(apart > 0, apart, 1.0), 0.5)
            middle = low + np.clip(share, 0.0, 1.0) * (high - low)
            location, scale = self._climb(np.exp(middle), free, location, scale, tolerance)
            slope = self._slope(np.exp(middle), location, scale)
            rising = slope > 0
            slopes[1] = np.where(rising, np.where(side > 0, 0.5 * slopes[1], slopes[1]), slope)
            slopes[0] = np.where(rising, slope, np.where(side < 0, 0.5 * slopes[0], slopes[0]))
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
            side = np.where(rising, 1.0, -1.0)
            moved = np.abs(np.where(free, middle - before, 0.0)).max(initial=0.0)
            if tolerance == TOLERANCE and moved < NARROW:
                break
            tolerance = TOLERANCE if moved < 1e-3 else ROUGH
        df = np.exp(middle)
        return df, *self._climb(df, free, location, scale)

    def _slope(self, df: Array, location: Array, scale: Array) -> Array:
        own = df[self.cells]
        squares = ((self.y - location[self.cells]) / scale[self.cells]) ** 2
        terms = (own + 1.0) * squares / (own * (own + squares)) - np.log1p(squares / own)
        constant = digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df
        return np.asarray(self.total * constant + self._sum(self.weights * terms))

    def _notes(self, settings: Settings, raised: Flags) -> list[Note]:
        notes = []
        for c, row in enumerate(raised):
            if row.any():
                columns = tuple(settings.columns[int(j)] for j in np.flatnonzero(row))
                why = "most rows of the class share one value, so the likelihood has no maximum"
                notes.append(Note("raised the scale", why, settings.classes[c], columns, float(self.floor.max())))
        return notes
