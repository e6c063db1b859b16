"""Suspect cells in words: what was expected in their place, by what slip they may have come, and what speaks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, Flags, false_discovery_control, np, row_chunks, rows_within
from ..fitted import Fitted
from ..schema import Kind, Name
from ..table.dates import as_text
from .cell_odds import ODDS, Judge, cell_pvalues, judge_cells
from .frames import frame_of
from .sample import read_share

FITS = 3.0  # nats below what is expected, up to where a value put right may be the one meant: 2.4 deviations
UNITS = (2.54, 3.2808, 1.6093, 2.2046, 28.35, 4.1868)  # inch, foot, mile, pound, ounce, calorie
TENS = (1000.0, 100.0, 10.0)
TEXTS = ("column", "value", "expected", "slip", "meant")  # columns of the data frame
REASONS = 3  # cells of the row that are named


class SuspectCell(NamedTuple):
    """A cell that is probably wrong.

    `row` is the number of the row, from 0, `expected` what the other cells of the row let expect, `slip` how it may
    have come about and `meant` the value put right by that, "" and None where nothing fits; `p_value` as it is and
    `adjusted` for the number of cells; `because` the cells without which this one would be less suspect, the first
    most.
    """

    row: int
    column: Name
    value: Any
    expected: Any
    slip: str
    meant: Any
    p_value: float
    adjusted: float
    because: tuple[Name, ...]


@dataclass(frozen=True, eq=False)
class SuspectCells:
    """The suspect cells of a table, the worst first, and what is said of all cells.

    Attributes
    ----------
    cells : tuple of SuspectCell
    p_value, adjusted : arrays (n, d)
        By row and column of the model; not a number where a cell is missing or not judged. `adjusted` by Benjamini &
        Yekutieli over all cells, which depend on each other: up to `fdr` a cell is flagged.
    fdr : float
    """

    cells: tuple[SuspectCell, ...]
    p_value: Array
    adjusted: Array
    fdr: float

    def __repr__(self) -> str:
        """Return how many cells of how many are suspect."""
        judged = int(np.isfinite(self.p_value).sum())
        return f"SuspectCells({len(self.cells)} of {judged} cells, of which a share of {self.fdr:g} is right after all)"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells as lists by field."""
        return {name: [getattr(cell, name) for cell in self.cells] for name in SuspectCell._fields}

    def to_frame(self) -> Any:
        """Return the same as a data frame of pandas, or of another library that is there; all but numbers are text."""
        texts = {name: [_text(getattr(cell, name)) for cell in self.cells] for name in TEXTS}
        texts["because"] = [", ".join(map(str, cell.because)) for cell in self.cells]
        return frame_of(self.to_dict() | {name: np.array(own, dtype=object) for name, own in texts.items()})


def suspect_cells(fitted: Fitted, X: object, y: object, groups: object, fdr: object) -> SuspectCells:
    """Return the cells of a table that are probably wrong, at a false discovery rate `fdr`."""
    rate = read_share(fdr, "fdr", "of cells flagged at 0.1, a tenth is right")
    judge, odds, stands = judge_cells(fitted, X, y, groups)
    p_value = cell_pvalues(odds)
    adjusted, known = np.full(p_value.shape, np.nan), ~np.isnan(p_value)
    if known.any():
        adjusted[known] = false_discovery_control(p_value[known], method="by")  # Benjamini & Yekutieli (2001)
    row, column = np.nonzero(known & (np.nan_to_num(adjusted, nan=1.0) <= rate))
    order = np.lexsort((-odds[row, column], p_value[row, column]))
    row, column = row[order], column[order]
    stands[row, column] = False
    told = _Told(fitted, judge, stands, row, column)
    slips, because = told.slips(), told.reasons()
    cells = (
        SuspectCell(
            i,
            fitted.schema.names[j],
            told.value(i, j),
            told.shown(j, float(told.top[f])),
            slips[f][0],
            slips[f][1],
            float(p_value[i, j]),
            float(adjusted[i, j]),
            because[f],
        )
        for f, (i, j) in enumerate(zip(row.tolist(), column.tolist(), strict=True))
    )
    return SuspectCells(tuple(cells), p_value, adjusted, rate)


class _Told:
    """What is said of cells at these rows and columns (m,); `stands` (n, d) are the cells that are not suspect."""

    def __init__(self, fitted: Fitted, judge: Judge, stands: Flags, row: Codes, column: Codes) -> None:
        self.fitted, self.judge, self.cells = fitted, judge, judge.cells
        self.row, self.column, self.known = row, column, stands[row]
        self.top = self.expected(column, self.known)  # score or code of each cell, by the others

    def shown(self, j: int, value: float) -> Any:
        """Return a level, a date as text, or a number as it may be recorded, of a code or a normal score."""
        if j in self.cells.levels:
            return self.cells.levels[j][int(value)]
        if j not in self.judge.scales:
            return float(value)
        near, known = self.judge.scales[j].value(value), self.cells.values[:, j]
        return self._number(j, float(known[np.nanargmin(np.abs(known - near))]))

    def value(self, i: int, j: int) -> Any:
        """Return what a cell holds."""
        value = self.cells.values[i, j]
        return self.cells.levels[j][int(value)] if j in self.cells.levels else self._number(j, float(value))

    def _number(self, j: int, value: float) -> Any:
        return as_text(value) if self.fitted.schema.columns[j].kind is Kind.DATE else value

    def expected(self, column: Codes, known: Flags, at: Codes | slice = slice(None)) -> Array:
        """Return the expected score or code (m,) of a cell in each row, by the cells known."""
        out, row = np.empty(len(column)), self.row[at]
        for j in np.unique(column).tolist():
            own = np.flatnonzero(column == j)
            out[own] = self.judge.expected(row[own], known[own], j)
        return out

    def _log_p(self, column: Codes, values: Array, known: Flags, at: Codes | slice = slice(None)) -> Array:
        """Return log p (m,) of the rows with numbers in these columns; −∞ where there is none."""
        scores = np.full(len(column), np.nan)
        for j in np.intersect1d(column, list(self.judge.scales)).tolist():
            scores[column == j] = self.judge.scales[j].score(values[column == j])
        return np.where(np.isnan(scores), -np.inf, self._log_at(column, scores, known, at))

    def _log_at(self, column: Codes, scores: Array, known: Flags, at: Codes | slice = slice(None)) -> Array:
        known = known.copy()
        known[np.arange(len(column)), column] = True
        return self.judge.log_density(self.row[at], known, (column, scores))

    def slips(self) -> list[tuple[str, Any]]:
        """Return for each cell the slip under which it fits best, and the number meant; "" and None for none.

        A slip that could make many numbers must make one that fits better: by the logarithm of how many.
        """
        best, found = np.full(len(self.row), -np.inf), [("", None)] * len(self.row)
        if not len(self.row):
            return found
        x = np.where(np.isin(self.column, list(self.judge.scales)), self.cells.values[self.row, self.column], np.nan)
        top = self._log_at(self.column, self.top, self.known)
        for name, several, values in self._candidates(x):
            fits = self._log_p(self.column, values, self.known) - top
            fits = np.where(fits < -FITS, -np.inf, fits - np.log(several))
            for f in np.flatnonzero(fits > best).tolist():
                best[f] = fits[f]
                found[f] = name, self._number(int(self.column[f]), float(f"{values[f]:.9g}"))
        return found

    def _candidates(self, x: Array) -> Iterator[tuple[str, Array | float, Array]]:
        """Yield slips, in how many ways each comes, and the numbers (m,) that they would have made into `x` (m,)."""
        x = np.where(x == 0, np.nan, x)
        yield "sign", 1, -x
        for name, factors in (("decimal point", TENS), ("unit", UNITS)):
            for factor in factors:
                yield name, len(factors), x / factor
                yield name, len(factors), x * factor
        turned = [_turned(float(value)) for value in x]
        for place in range(max(map(len, turned), default=0)):
            yield "digits", len(TENS), np.array([own[place] if place < len(own) else np.nan for own in turned])
        others = np.array(list(self.judge.scales), dtype=np.int64)
        for part in row_chunks(len(others), rows_within(8 * self.known.size, IN_MEMORY)):
            some = others[part]
            for other, ways, swapped in zip(some.tolist(), *self._swapped(x, some), strict=True):
                yield f"swapped with {self.fitted.schema.names[other]}", ways, swapped

    def _swapped(self, x: Array, others: Codes) -> tuple[Array, Array]:
        """Return in how many ways a cell changes places with other columns (q, m), and the numbers there, or NaN.

        That explains both cells: it counts as much as another slip is improbable, at most.
        """
        column, f = np.repeat(others, len(x)), np.tile(np.arange(len(x)), len(others))
        there, known = self.cells.values[self.row[f], column], self.known[f]
        known[np.arange(len(f)), column] = False
        here, before = self._log_p(column, x[f], known, f), self._log_p(column, there, known, f)
        own = np.flatnonzero((here > before) & (self.column[f] != column))
        top = self.expected(column[own], known[own], f[own])
        fits = here[own] - self._log_at(column[own], top, known[own], f[own])
        swapped, ways = np.full(len(f), np.nan), np.full(len(f), float(len(self.judge.scales)))
        swapped[own] = np.where(fits > -FITS, there[own], np.nan)
        ways[own] *= np.exp(-np.minimum(here[own] - before[own], -ODDS))  # else the other is wrong by itself, too
        return ways.reshape(len(others), -1), swapped.reshape(len(others), -1)

    def reasons(self) -> list[tuple[Name, ...]]:
        """Return for each cell the columns of its row without which it would be less suspect, the first most."""
        gain, names = np.full(self.known.shape, -np.inf), self.fitted.schema.names
        f, i = np.nonzero(self.known & self.cells.judged)
        whole = self._given(np.arange(len(self.row)), self.known)
        for part in row_chunks(len(f), rows_within(8 * len(names), IN_MEMORY)):
            known = self.known[f[part]]
            known[np.arange(len(known)), i[part]] = False
            gain[f[part], i[part]] = self._given(f[part], known) - whole[f[part]]
        order = np.argsort(-gain, axis=1, kind="stable")[:, :REASONS]
        return [tuple(names[i] for i in some if gain[f, i] > 0) for f, some in enumerate(order.tolist())]

    def _given(self, at: Codes, known: Flags) -> Array:
        """Return log p(cell | known cells) (m,)."""
        whole = known.copy()
        whole[np.arange(len(at)), self.column[at]] = True
        return self.judge.log_density(self.row[at], whole) - self.judge.log_density(self.row[at], known)


def _turned(value: float) -> list[float]:
    """Return a number with each two neighbouring digits that differ turned round."""
    text = f"{abs(value):.12g}"
    if "e" in text:
        return []
    places = [i for i in range(len(text) - 1) if text[i : i + 2].isdigit() and text[i] != text[i + 1]]
    sign = -1.0 if value < 0 else 1.0
    return [sign * float(text[:i] + text[i + 1] + text[i] + text[i + 2 :]) for i in places]


def _text(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
