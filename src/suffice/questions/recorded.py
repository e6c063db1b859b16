"""Imputed numbers in the steps and range that the table records them in.

A Gaussian knows neither, so its draws and means are moved to values that a table could hold. The density itself, and
all that is read off it elsewhere, is that of the numbers before they are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, np
from ..densities import Density, Rows
from ..densities.density import missing_cells
from ..estimate import Block
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Kind, Schema

# ── The step in which a column's numbers were recorded: whole years, tenths, multiples of 25 ──────────────────────────


ROUNDING = 8.0 * np.finfo(np.float64).eps  # of a number read from text and converted once or twice, relative
LEAST = 1e5 * ROUNDING  # a step finer than this share of the largest number is the rounding of floating point
SETTLED = 64.0 * ROUNDING  # of the largest number: so near are values to multiples of their step
SURE = 0.05  # errors above this share of the step say nothing about it
DIGITS = 15
WRITTEN = 1e9  # a step of more digits was not written down


class Lattice(NamedTuple):
    """Values phase + k · step, k whole, of so many `decimals`; −1 where they are no decimal numbers."""

    step: float
    phase: float
    decimals: int


def find_lattice(values: Array) -> Lattice | None:
    """Return the widest step whose multiples lie between all of these values, None where there is none.

    `values` (m,) are distinct, ascending and finite. The step is the greatest common divisor of their differences, by
    Euclid's algorithm up to rounding, so that another unit multiplies it: inches in centimetres have a step of 2.54.
    """
    decimals = _as_written(values)
    return (None if decimals is None else _lattice(decimals)) or _lattice(values)


def _lattice(values: Array) -> Lattice | None:
    if len(values) < 2:
        return None
    scale = float(np.abs(values).max())
    share = values / scale  # so that no difference overflows
    gaps = np.diff(share)
    gaps = np.sort(gaps[gaps > ROUNDING])
    step = _common_divisor(gaps[np.diff(gaps, prepend=-1.0) > ROUNDING])  # of those equal up to rounding one
    if step is None:
        return None
    count = np.rint((share - share[0]) / step)
    step = float((share[-1] - share[0]) / count[-1])
    if np.abs(share - share[0] - count * step).max() > min(SETTLED, 0.01 * step):
        return None
    if not np.isfinite(step * scale):
        return None
    return _decimal(step * scale, float(values[0]), float(count[-1]), SETTLED * scale)


def _as_written(values: Array) -> Array | None:
    """Return numbers that came in single precision as the shortest decimals that they are read from; None of others."""
    if (values == np.rint(values)).all() or np.abs(values).max() > np.finfo(np.float32).max:
        return None
    single = values.astype(np.float32)
    if (single != values).any():
        return None
    return np.unique(single.astype(np.str_).astype(np.float64))


def _common_divisor(gaps: Array) -> float | None:
    """Return the greatest common divisor of ascending gaps; None if it is not above rounding.

    The divisor is the sum of the gaps so far over that of their multiples, whose error falls as these grow.
    """
    if not len(gaps):
        return None
    total, count = float(gaps[0]), 1.0
    for gap in gaps[1:].tolist():
        step = total / count
        times = round(gap / step)
        error = 4.0 * ROUNDING * (1.0 + times / count)
        rest = abs(gap - times * step)
        if rest > error:
            finer = _euclid(step, rest, error)
            if finer is None:
                return None
            count *= round(step / finer)
            step = total / count
            times = round(gap / step)
        if error > SURE * step:
            return None
        total, count = total + gap, count + times
    return total / count if total / count >= LEAST else None


def _euclid(first: float, second: float, error: float) -> float | None:
    """Return the greatest common divisor of numbers with such an error, None where it drowns in that.

    A remainder is a sum of multiples of both, up to first / divisor of them, and so is its error.
    """
    a, b = first, second
    while b > error * first / a:
        a, b = b, abs(a - round(a / b) * b)
        if a < LEAST or error * first / a > SURE * a:
            return None
    return a


def _decimal(step: float, first: float, count: float, error: float) -> Lattice:
    """Return the lattice through `first` with the decimal numbers that it is nearest to, if it is near any."""
    for decimals in range(DIGITS + 1):
        near = round(step, decimals)
        if near * 10.0**decimals > WRITTEN:
            break
        if near == 0.0 or abs(near - step) * count > error:
            continue
        phase = round(_remainder(first, near), decimals) + 0.0
        if abs(_remainder(first - phase, near)) <= error:
            return Lattice(near, phase, decimals)
    phase = _remainder(first, step)
    return Lattice(step, phase if abs(phase) > error else 0.0, -1)


def _remainder(value: float, step: float) -> float:
    return value - step * round(value / step)


# ── Imputed numbers in the steps and range that the table records them in ─────────────────────────────────────────────


MOST_BEYOND = 3.0  # new values of n + 1 that lie beyond the largest of n learned; it is 1 on average, and more in .05
FOREIGN = 0.25  # share of draws beyond, from which on a density is not that of the column
FEWEST = 10  # rows with a value, below which a column is taken for anything
PILE, PILED_ROWS = 0.05, 5  # so large a share of a column's rows, and so many, are a pile
USUAL = 0.5  # of the rows have the values whose step is the usual one
NEAR = 1e-6  # of a step is rounding


def recorded(fitted: Fitted) -> ByBlock | None:
    """Return by block of the joint model how its numbers were recorded, None where no rows are kept.

    Rows that share out a total, levels and truth values are drawn as they are recorded. Merged models keep the rows of
    the whole table, and find what it shows.
    """
    return fitted.memoize(_of_rows_kept, whatever_priors=True)


def _of_rows_kept(fitted: Fitted) -> ByBlock | None:
    sample = fitted.judges
    if sample is None:
        return None
    weight = sample.represented(fitted.statistics.weight)
    blocks = zip(fitted.blocks, fitted.sampled_rows(), strict=True)
    found = [_block_recorded(block, rows, weight, sample.copies, fitted.schema) for block, rows in blocks]
    return found if any(own is not None for own in found) else None


def _block_recorded(block: Block, rows: object, weight: Array, copies: Array, schema: Schema) -> Recorded | None:
    if not isinstance(rows, np.ndarray) or block.family.support in ("shares", "truths"):
        return None
    pairs = zip(rows.T, (schema.columns[p].kind for p in block.positions), strict=True)
    columns = [_column_recorded(cells, weight, copies, kind) for cells, kind in pairs]
    names = [own.name for own in fields(Recorded)]
    found = Recorded(**{name: np.array([getattr(own, name) for own in columns]) for name in names})
    found = replace(found, low=found.rounded(found.low), high=found.rounded(found.high))
    return found if np.isfinite([found.step, found.low, found.high, found.least]).any() else None


def _column_recorded(cells: Array, weight: Array, copies: Array, kind: Kind) -> Recorded:
    """Return how a column of the rows kept (m,) was recorded; dates lie between the first and the last.

    A forest has codes of levels among its numbers, of which there is nothing to say.
    """
    dated, present = kind is Kind.DATE, ~np.isnan(cells)
    if kind.is_label or copies[present].sum() < FEWEST:
        return Recorded()
    values, place = np.unique(cells[present], return_inverse=True)
    origin = float(np.rint(values[0])) if dated else 0.0  # seconds are told apart of dates that are not far from it
    lattice = find_lattice(values - origin)
    share = np.bincount(place, weights=weight[present]) / weight[present].sum()
    piled = (share >= PILE) & (np.bincount(place, weights=copies[present]) >= PILED_ROWS)
    low, high = (float(values[0]), float(values[-1])) if dated else _range_of(values, piled)
    found = Recorded(
        low=low,
        high=high,
        piled_low=bool(piled[0]),
        piled_high=bool(piled[-1]),
        least=values[0],
        most=values[-1],
        beyond_each=MOST_BEYOND / (copies[present].sum() + 1.0),
    )
    if lattice is not None:
        step, phase = lattice.step, lattice.phase + origin
        # the outermost values in whole steps that are within
        low = phase + np.ceil((low - phase) / step - NEAR) * step
        high = phase + np.floor((high - phase) / step + NEAR) * step
        found = replace(found, step=step, phase=phase, decimals=lattice.decimals, low=low, high=high)
    return _with_usual_steps(found, values - origin, share, place, origin)


def _with_usual_steps(found: Recorded, values: Array, share: Array, place: Codes, origin: float) -> Recorded:
    """Return the same with the steps of the commonest values that half of the rows have, and the share of the rows in
    these steps: of ages some are in months, and most in years.
    """
    often = np.argsort(-share, kind="stable")
    often = often[: int(np.searchsorted(np.cumsum(share[often]), USUAL)) + 1]
    lattice = find_lattice(np.sort(values[often])) if (np.bincount(place)[often] > 1).all() else None
    if lattice is None:
        return found
    inside = np.abs(_in_steps(values, *lattice) - values) <= NEAR * lattice.step
    return replace(
        found,
        usual_step=lattice.step,
        usual_phase=lattice.phase + origin,
        usual_decimals=lattice.decimals,
        usual_share=float(share[inside].sum()),
    )


def _range_of(values: Array, piled: Flags) -> tuple[float, float]:
    """Return the ends that distinct, ascending values keep to.

    A pile at an end bounds it. Zero bounds a column whose values are all on one side of it, 1 one of shares, and 100
    one of percentages, which reaches it.
    """
    least, most = float(values[0]), float(values[-1])
    low, high = -np.inf, np.inf
    if least >= 0.0:
        low = 0.0
        high = 1.0 if most <= 1.0 else 100.0 if most == 100.0 else np.inf
    elif most <= 0.0:
        high = 0.0
    if piled[0]:
        low = least
    if piled[-1]:
        high = most
    return low, high


TRIES = 20  # how often a number beyond its range is drawn again
MOST_WORK = 2e10  # multiplications for that


@dataclass(frozen=True, slots=True)
class Recorded:
    """How the numbers of a block's columns were recorded, all of shape (d,), or of one column; nothing if not said.

    Values are `phase` + k · `step`, k whole, written with so many `decimals` (−1: no decimal numbers); a step of NaN is
    none. They lie between `low` and `high`, infinite where nothing bounds them. Where values pile up at one of these
    ends (`piled_low`, `piled_high`), what lies beyond was recorded as the end.
    """

    step: Any = np.nan
    phase: Any = 0.0
    decimals: Any = -1
    low: Any = -np.inf
    high: Any = np.inf
    piled_low: Any = False
    piled_high: Any = False
    least: Any = -np.inf  # value of the rows kept
    most: Any = np.inf
    beyond_each: Any = 1.0  # share of new values that may lie beyond either, as of values held out
    usual_step: Any = np.nan  # of most values, where others are finer
    usual_phase: Any = 0.0
    usual_decimals: Any = -1
    usual_share: Any = 0.0  # of values in usual steps
    lacking: Any = 0.0  # share of draws that are moved to usual steps

    def kept_in(self, drawn: Array) -> Recorded:
        """The same, ended at the values of the rows kept where more of the `drawn` (m, d) lie beyond than may.

        Not where so many do that draws would pile up at the ends: a density of another scale is left as it is.
        """
        below, above = (drawn < self.least).mean(axis=0), (drawn > self.most).mean(axis=0)
        low = np.where((below > self.beyond_each) & (below < FOREIGN), self.least, -np.inf)
        high = np.where((above > self.beyond_each) & (above < FOREIGN), self.most, np.inf)
        return replace(self, low=np.maximum(self.low, low), high=np.minimum(self.high, high))

    def as_usual(self, drawn: Array) -> Recorded:
        """The same, with which share of numbers is moved to usual steps if these are rarer among the `drawn` (m, d)."""
        cells = self.rounded(drawn)
        already = (np.abs(self._usual(cells) - cells) <= NEAR * self.usual_step).mean(axis=0)
        lacking = np.maximum(self.usual_share - already, 0.0) / np.where(already < 1.0, 1.0 - already, 1.0)
        return replace(self, lacking=lacking)

    def column(self, j: int) -> Recorded:
        """Return the same of one column."""
        return Recorded(**{own.name: getattr(self, own.name)[j : j + 1] for own in fields(self)})

    @property
    def whole(self) -> Flags:
        """Which columns hold whole numbers (d,)."""
        return np.asarray((self.step == np.rint(self.step)) & (self.phase == np.rint(self.phase)))

    def rounded(self, cells: Array) -> Array:
        """Return numbers (n, d) in whole steps, wherever they lie."""
        return _in_steps(cells, self.step, self.phase, self.decimals)

    def _usual(self, cells: Array) -> Array:
        return _in_steps(cells, self.usual_step, self.usual_phase, self.usual_decimals)

    def some_usual(self, cells: Array, rng: np.random.RandomState) -> Array:
        """Return draws (n, d) of which as many are moved to usual steps as lack there, by chance."""
        if not self.lacking.any():
            return cells
        moved = rng.uniform(size=cells.shape) < self.lacking
        return np.where(moved, np.clip(self._usual(cells), self.low, self.high), cells)

    def nearest(self, cells: Array) -> Array:
        """Return the recordable values nearest to numbers (n, d)."""
        return np.clip(self.rounded(cells), self.low, self.high)

    def span(self, j: int, low: float, high: float) -> tuple[float, float] | None:
        """Return between which numbers those of column j lie that are recorded from `low` to `high`; None for none."""
        step, first, last = self.step[j], low, high
        half = 0.0 if np.isnan(step) else 0.5 * step
        if half:
            first = self.phase[j] + np.ceil((low - self.phase[j]) / step - NEAR) * step
            last = self.phase[j] + np.floor((high - self.phase[j]) / step + NEAR) * step
        if max(first, self.low[j]) > min(last, self.high[j]):
            return None
        below = -np.inf if self.piled_low[j] else self.low[j] - half
        above = np.inf if self.piled_high[j] else self.high[j] + half
        return below if first <= self.low[j] else first - half, above if last >= self.high[j] else last + half

    def beyond(self, cells: Array) -> Flags:
        """Return which numbers (n, d), in whole steps, lie where no value was recorded: past an end without a pile."""
        half = np.where(np.isnan(self.step), 0.0, 0.5 * self.step)
        low = np.where(self.piled_low, -np.inf, self.low - half)
        high = np.where(self.piled_high, np.inf, self.high + half)
        return np.asarray((cells < low) | (cells > high))


def _in_steps(cells: Array, step: Any, phase: Any, decimals: Any) -> Array:
    """Return numbers in whole steps (d,) from a phase, with so many decimals, wherever they lie."""
    tens = np.where(np.less(decimals, 0), np.nan, 10.0 ** np.maximum(decimals, 0))
    with np.errstate(over="ignore", invalid="ignore"):  # numbers far out stay as they are
        stepped = phase + np.rint((cells - phase) / step) * step
        written = np.rint(stepped * tens) / tens  # 0.3, not 3 · 0.1
    stepped = np.where(np.isfinite(written), written, stepped)
    return np.where(np.isfinite(stepped), stepped, cells) + 0.0  # no −0


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
            drawn[b] = np.where(missing, own.some_usual(own.nearest(cells), rng), cells)
    return drawn


def _tries(density: Density, rows: Array, k: int) -> int:
    """Return how often numbers are drawn again; less often where that takes a regression of every column on many."""
    d = rows.shape[1]
    return TRIES if _independent(density, rows) else int(min(MOST_WORK // (k * d**4), TRIES))


def _independent(density: Density, rows: Array) -> bool:
    """Say whether the columns of a block are independent within every class."""
    return density.terms(rows[:1]) is not None


def _drawn_again(
    density: Density, rows: Array, cells: Array, beyond: Flags, codes: Codes, rng: np.random.RandomState
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
    found: list[Any] = list(filled)
    for b, own in enumerate(recorded or ()):
        missing = None if own is None else missing_cells(rows[b])
        if own is not None and missing is not None:
            found[b] = np.where(missing, own.nearest(found[b]), found[b])
    return found
