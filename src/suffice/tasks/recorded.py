"""Imputed numbers in the steps and range that the table records them in.

A Gaussian knows neither, so its draws and means are moved to values that a table could hold. The density itself, and
all that is read off it elsewhere, is that of the numbers before they are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, NDArray, np
from ..densities import Density, Rows
from ..densities.product import missing_cells
from ..joint import JointModel

TRIES = 20  # how often a number beyond its range is drawn again
MOST_WORK = 2e10  # multiplications for that


@dataclass(frozen=True, slots=True)
class Recorded:
    """How the numbers of a block's columns were recorded, all of shape (d,).

    Values are `phase` + k · `step`, k whole, written with so many `decimals` (−1: no decimal numbers); a step of NaN is
    none. They lie between `low` and `high`, infinite where nothing bounds them. Where values pile up at one of these
    ends (`piled_low`, `piled_high`), what lies beyond was recorded as the end.
    """

    step: Array
    phase: Array
    decimals: Codes
    low: Array
    high: Array
    piled_low: NDArray[np.bool_]
    piled_high: NDArray[np.bool_]

    @property
    def says_something(self) -> bool:
        """Whether any number would be moved."""
        return bool((~np.isnan(self.step) | np.isfinite(self.low) | np.isfinite(self.high)).any())

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which columns hold whole numbers (d,)."""
        return np.asarray((self.step == np.rint(self.step)) & (self.phase == np.rint(self.phase)))

    def rounded(self, cells: Array) -> Array:
        """Return numbers (n, d) in whole steps, wherever they lie."""
        tens = np.where(self.decimals < 0, np.nan, 10.0 ** np.maximum(self.decimals, 0))
        with np.errstate(over="ignore", invalid="ignore"):  # numbers far out stay as they are
            stepped = self.phase + np.rint((cells - self.phase) / self.step) * self.step
            written = np.rint(stepped * tens) / tens  # 0.3, not 3 · 0.1
        stepped = np.where(np.isfinite(written), written, stepped)
        return np.where(np.isfinite(stepped), stepped, cells) + 0.0  # no −0

    def nearest(self, cells: Array) -> Array:
        """Return the recordable values nearest to numbers (n, d)."""
        return np.clip(self.rounded(cells), self.low, self.high)

    def beyond(self, cells: Array) -> NDArray[np.bool_]:
        """Return which numbers (n, d), in whole steps, lie where no value was recorded: past an end without a pile."""
        half = np.where(np.isnan(self.step), 0.0, 0.5 * self.step)
        low = np.where(self.piled_low, -np.inf, self.low - half)
        high = np.where(self.piled_high, np.inf, self.high + half)
        return np.asarray((cells < low) | (cells > high))


ByBlock = Sequence[Recorded | None]  # None for a block of which nothing is known, or that is drawn as it is recorded


def draw_cells(
    model: JointModel, rows: Rows, codes: Codes, rng: np.random.RandomState, recorded: ByBlock | None = None
) -> Rows:
    """Return the rows with each missing cell drawn given the others, in the row's class (n,), as it is recorded.

    A number beyond its range is drawn again, up to 20 times, given the class and the other cells of the row; then the
    nearest value stands.
    """
    drawn: list[Any] = list(model.sample(rows, codes, rng))
    for b, own in enumerate(recorded or ()):
        missing = None if own is None else missing_cells(rows[b])
        if own is not None and missing is not None and missing.any():
            cells, left, density = np.array(drawn[b]), np.arange(len(codes)), model.density.blocks[b]
            for _ in range(_tries(density, rows[b], len(model.classes))):
                beyond = own.beyond(cells[left]) & missing[left]
                some = beyond.any(axis=1)
                left, beyond = left[some], beyond[some]
                if not len(left):
                    break
                cells[left] = _drawn_again(density, rows[b][left], cells[left], beyond, codes[left], rng)
            drawn[b] = np.where(missing, own.nearest(cells), cells)
    return drawn


def _tries(density: Density, rows: Array, k: int) -> int:
    """Return how often numbers are drawn again; less often where that takes a regression of every column on many."""
    d = rows.shape[1]
    return TRIES if _independent(density, rows) else int(min(MOST_WORK // (k * d**4), TRIES))


def _independent(density: Density, rows: Array) -> bool:
    """Say whether the columns of a block are independent within every class."""
    return density.terms(rows[:1]) is not None


def _drawn_again(
    density: Density, rows: Array, cells: Array, beyond: NDArray[np.bool_], codes: Codes, rng: np.random.RandomState
) -> Array:
    """Return `cells` (n, d) with those drawn again that are `beyond` their range; `rows` are as they were before."""
    if _independent(density, rows):
        return np.where(beyond, np.asarray(density.sample(rows, codes, rng)), cells)
    for j in np.flatnonzero(beyond.any(axis=0)):  # rows that miss one and the same cell need one regression
        own = np.flatnonzero(beyond[:, j])
        holed = cells[own]
        holed[:, j] = np.nan
        cells[own] = np.asarray(density.sample(holed, codes[own], rng))
    return cells


def nearest_cells(filled: Rows, rows: Rows, recorded: ByBlock | None) -> Rows:
    """Return the filled rows, the cells that miss in `rows` at the nearest values that could be recorded."""
    if recorded is None:
        return filled
    return [_nearest(*parts) for parts in zip(filled, rows, recorded, strict=True)]


def _nearest(filled: Any, before: Any, recorded: Recorded | None) -> Any:
    missing = None if recorded is None else missing_cells(before)
    if recorded is None or missing is None or not missing.any():
        return filled
    return np.where(missing, recorded.nearest(filled), filled)
