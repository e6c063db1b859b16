"""Student t columns: numbers with outliers."""

from __future__ import annotations

from dataclasses import dataclass

from ..._arrays import Array, NDArray, np
from ...densities import StudentT
from ...errors import SettingError
from ...notes import Kind, Note
from ...stats import ValueStats
from ...stats.values import DISTINCT
from ._location import Fitted, ValueFamily, check_limit, fit_locations
from ._student_climb import Columns, climb
from .family import Settings

Flags = NDArray[np.bool_]
LEAST_DF, MOST_DF = 1.0, 100.0  # the range searched: from Cauchy to what no sample tells from a Gaussian
START_DF = 4.0


@dataclass(frozen=True, slots=True)
class StudentTFamily(ValueFamily):
    """Independent location-scale t columns by maximum likelihood, with `df` degrees of freedom.

    Location and scale come from the EM of Lange, Little & Taylor (1989, doi:10.1080/01621459.1989.10478852) in the
    faster form of Meng & van Dyk (1997), started at the median, and from Newton's steps where that leads. `df=4` is
    their advice for robustness; `df=None` estimates it with them for each class and column, from 1 to 100, which asks
    for some 50 rows or more.
    Values are counted as for the family "laplace": exactly up to `distinct` different ones per class and column.

    Where at least df / (df + 1) of the weight sits on one value the likelihood has no maximum: the location is then
    that value and the scale the least allowed, with a note.
    """

    name: str = "student_t"
    df: float | None = 4.0
    distinct: int = DISTINCT

    def __post_init__(self) -> None:
        check_limit(self.distinct)
        df: object = self.df
        if df is not None and not (isinstance(df, int | float | np.number) and 0.0 < df < np.inf):
            raise SettingError(f"df={self.df!r} must be a positive number, or None to estimate it. Next: try df=4.")

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
        df, location, scale = self._climb(limit, free, location, scale)
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

    def _climb(self, limit: Array, free: Flags, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Return (df, location, scale) of largest likelihood for the free cells, from a start."""
        if self.df is None:
            low = np.log(np.clip(2.0 * limit, LEAST_DF, MOST_DF))
            high = np.full(low.shape, np.log(MOST_DF))
        else:
            low = high = np.full(self.total.shape, np.log(float(self.df)))
        log_df = np.clip(np.log(START_DF), low, high)
        own = np.flatnonzero(free)
        if len(own):
            columns = Columns(self.y, self.weights, self.cells, len(self.total)).take(own)
            endless = np.full(len(own), np.inf)
            least = np.log(np.maximum(0.5 * self.floor[own], np.finfo(np.float64).tiny))
            start = np.stack([location, np.log(scale), log_df], axis=1)[own]
            below, above = (
                np.stack([-endless, least, low[own]], axis=1),
                np.stack([endless, endless, high[own]], axis=1),
            )
            found = climb(columns, start, below, above)
            location[own], scale[own], log_df[own] = found[:, 0], np.exp(found[:, 1]), found[:, 2]
        df = np.exp(log_df) if self.df is None else np.full(self.total.shape, float(self.df))
        return df, location, scale

    def _notes(self, settings: Settings, raised: Flags) -> list[Note]:
        notes = []
        for c, row in enumerate(raised):
            if row.any():
                columns = tuple(settings.columns[int(j)] for j in np.flatnonzero(row))
                why = "most rows of the class share one value, so the likelihood has no maximum"
                amount = float(self.floor.max())
                notes.append(Note("raised the scale", why, settings.classes[c], columns, amount, kind=Kind.FLOORED))
        return notes
