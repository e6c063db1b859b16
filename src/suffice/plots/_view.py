"""What a plot asks of a fitted model: its columns as axes, rows to draw, and densities with other columns missing.

Everything is asked through the verbs that every estimator has; a cell that is not on an axis is a missing cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, log_softmax, np, row_chunks, rows_within
from .._derived import once
from ..densities import Bernoulli, Multinomial, Poisson, Rows as BlockRows
from ..errors import DataError, SettingError, quoted
from ..estimate.families import text_positions
from ..fitted import Fitted
from ..forest import ForestDensity
from ..schema import Kind, Level, Name, Schema, column_name
from ..stats import Reservoir
from ..table import Holes, NewColumn, Table, factorize, label_values, make_table, read_table
from ..table.cells import both_truths
from ..table.dates import about, as_text as date_as_text

MOST_COUNTS = 200  # different counts on an axis; beyond that some are left out
LEAST_RANGE = 1e-280  # of an axis: densities over narrower ones, and cells of it, leave the range of floats
MOST_LEVELS = 30  # categories along an axis of a plane, whose names are still read
MOST_PANELS = 12
JUDGED_ROWS = 300  # by which columns are compared; of many columns fewer
JUDGED_CELLS, FEWEST_JUDGED = 12_000, 60
COPIES = 0.98  # correlation of ranks above which one column says what another does
ASKED_TOGETHER = 1 << 25  # bytes of rows in which few cells are known, asked of a model at a time


@dataclass(frozen=True, slots=True)
class Axis:
    """A column as an axis of equal cells: `values` (m,) is asked of the model, `at` (m,) where it stands.

    `levels` are the categories that stand at 0, 1, …; None for numbers. `whole` says that numbers are counts, `dated`
    that they are dates. Where not all categories are on the axis, `places` are their numbers among all.
    """

    position: int
    label: str
    values: NDArray[np.generic]
    at: Array
    low: float
    high: float
    levels: tuple[Level, ...] | None = None
    whole: bool = False
    places: Codes | None = None
    dated: bool = False

    def says(self, x: float) -> str:
        """Return a number of the axis in words."""
        return about(x, (self.high - self.low) / 10.0) if self.dated else in_words(x)

    def on(self, cells: Array) -> Array:
        """Return where cells of the column (n,), numbers or numbers of categories, stand; NaN if not on the axis."""
        if self.places is None:
            return cells
        found = np.searchsorted(self.places, cells)  # NaN is last
        there = self.places[np.minimum(found, len(self.places) - 1)] == cells
        return np.where(there, found, np.nan)

    @property
    def step(self) -> float:
        """The width of a cell."""
        return (self.high - self.low) / len(self.at)

    @classmethod
    def over(cls, position: int, label: str, low: float, high: float, cells: int) -> Axis:
        """Return a range of numbers in so many equal cells, each at its middle."""
        edges = np.linspace(low, high, cells + 1)
        at = (edges[1:] + edges[:-1]) / 2
        return cls(position, label, at, at, low, high)

    def between(self, low: float, high: float, cells: int) -> Axis:
        """Return another range of the same numbers."""
        return replace(self.over(self.position, self.label, low, high, cells), dated=self.dated)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a model encodes them, by block, and class numbers (n,), −1 where the label is not known."""

    parts: Sequence[Any]
    codes: Codes
    own: bool = False  # they are those that the model keeps, or drawn from it

    def cells(self, block: int, j: int) -> Array:
        """Return column j of a block (n,): numbers, or numbers of levels; NaN where missing."""
        part = self.parts[block]
        if isinstance(part, tuple):
            return np.where(part[j] < 0, np.nan, part[j].astype(np.float64))
        column = part[:, [j]].toarray()[:, 0] if is_sparse(part) else part[:, j]
        return np.asarray(column, dtype=np.float64)


Known = tuple[slice, NDArray[np.generic]]  # cells of a column: their rows, and their values (m,) as a user has them


@dataclass(slots=True)
class KnownCells:
    """A table with the columns of a schema, in which all cells miss but those in `known`, by position."""

    schema: Schema
    rows: int
    known: Mapping[int, Known]

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d), NaN where missing."""
        block = np.full((self.rows, len(positions)), np.nan)
        for j, position in enumerate(positions):
            if position in self.known:
                rows, values = self.known[position]
                block[rows, j] = values.astype(np.float64)
        return block

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        """Return the sorted levels of a column and a code per row (n,), −1 where missing."""
        codes = np.full(self.rows, -1, dtype=np.int32)
        if position not in self.known:
            return (), codes
        (rows, values), column = self.known[position], self.schema.columns[position]
        if column.kind is Kind.BOOLEAN:
            levels, codes[rows] = both_truths(*factorize(values.astype(bool), column.name))
        else:
            values = values if column.kind.is_label else values.astype(np.float64)
            levels, codes[rows] = factorize(values, column.name)
        return levels, codes

    def fill(self, holes: Holes) -> object:
        """There is no table to fill."""
        raise NotImplementedError("a table that was never built")


def check_model(estimator: Any) -> Any:
    """Return a fitted model of ours; SettingError for anything else."""
    if not isinstance(getattr(estimator, "_learned", None), Fitted):
        raise SettingError(
            f"{type(estimator).__name__} is not a fitted model of suffice. Next: fit it, or give one that is."
        )
    return estimator


def label_codes(y: object, n: int, classes: Sequence[Level]) -> tuple[tuple[Level, ...], Codes]:
    """Return classes, others found in labels `y` after them, and the number of each label (n,), −1 where missing."""
    if y is None:
        return tuple(classes), np.full(n, -1)
    levels, codes = factorize(label_values(y), "y")
    known = {(isinstance(label, bool), label) for label in classes}
    every = (*classes, *(level for level in levels if (isinstance(level, bool), level) not in known))
    place = {(isinstance(label, bool), label): c for c, label in enumerate(every)}
    number = np.array([*(place[isinstance(level, bool), level] for level in levels), -1], dtype=np.int64)
    return every, number[codes]


class View:
    """A fitted estimator, seen column by column: the columns are those of its joint density."""

    def __init__(self, estimator: object) -> None:
        self.estimator = check_model(estimator)
        self.fitted: Fitted = self.estimator._fitted
        self.asked = self.fitted.joint_value
        self.schema, self.model = self.fitted.schema, self.asked.joint
        self.classes: list[Level] = self.estimator.classes_.tolist()
        self.place = {p: (b, j) for b, block in enumerate(self.asked.blocks) for j, p in enumerate(block.positions)}
        self.texts = text_positions(self.fitted.blocks)  # which have no place on an axis

    def rows(self, X: object = None, y: object = None) -> Rows | None:
        """Return the rows of a table, or without one those that the model keeps; None if it keeps none."""
        if X is not None:
            return Rows(self.asked.rows(X), self._codes(y, read_table(X).rows))
        sample = self.fitted.judges
        return None if sample is None else Rows(self.asked.recoded(sample.rows), sample.codes, own=True)

    def kept(self) -> tuple[Any, NDArray[np.generic], Reservoir]:
        """Return the rows that the model keeps: a table, its labels, and the sample; DataError if it keeps none."""
        rows, sample = self.rows(), self.fitted.judges
        if rows is None or sample is None:
            raise DataError(
                "This model keeps no rows (keep_rows=0). Next: give rows and labels, or fit with keep_rows=2000."
            )
        columns = []
        for position, column in enumerate(self.schema.columns):
            if position in self.texts:
                number, j = self.place[position]
                part = sample.rows[number]
                values = np.array([*part.levels[j], None], dtype=object)[part.codes[j]]
                columns.append(NewColumn(column.name, column.kind, values))
            else:
                columns.append(self._column(rows, position))
        table = make_table(self.schema.container, self.schema.named, columns)
        return table, self.estimator.classes_[rows.codes], sample

    def _column(self, rows: Rows, position: int) -> NewColumn:
        """Return a column of encoded rows as a user has it: categories, truth values are objects, None if missing."""
        column, levels = self.schema.columns[position], self.levels(position)
        cells = self.cells(rows, position)
        if levels is None and column.kind is Kind.BOOLEAN:
            levels = (False, True)
        if levels is None:
            return NewColumn(column.name, column.kind, cells, form=column.form)
        found = np.array([*levels, None], dtype=object)[np.where(np.isnan(cells), -1, cells).astype(np.int64)]
        values = found.astype(np.float64) if column.kind is Kind.NUMERIC else found
        return NewColumn(column.name, column.kind, values)

    def _codes(self, y: object, n: int) -> Codes:
        every, codes = label_codes(y, n, self.classes)
        if len(codes) != n:
            raise DataError(f"X has {n} rows and y has {len(codes)}. Next: give one label per row.")
        if len(every) > len(self.classes):
            raise DataError(
                f"y holds {quoted(every[len(self.classes) :])}, which this model does not know; its classes are "
                f"{quoted(self.classes)}. Next: leave these rows out."
            )
        return codes

    def cells(self, rows: Rows, position: int) -> Array:
        """Return a column of rows as it stands on its axis (n,)."""
        number, j = self.place[position]
        return np.full(len(rows.codes), np.nan) if position in self.texts else rows.cells(number, j)

    def drawn(self, rows: Rows | None, positions: Sequence[int]) -> tuple[list[Array], Codes]:
        """Return these columns of rows, each (n,) as it stands on its axis, and class numbers (n,); of none nothing."""
        if rows is None:
            return [], np.zeros(0, dtype=np.int64)
        return [self.cells(rows, position) for position in positions], rows.codes

    def aligned(self, X: object) -> tuple[Table, Sequence[int]]:
        """Return a table read; column p of the model stands at the p-th of the positions returned with it."""
        table = read_table(X)
        return table, self.schema.align(table.schema, type(self.estimator).__name__)

    def positions(self, columns: Sequence[Name] | Name) -> list[int]:
        """Return where the named columns stand."""
        names = [columns] if isinstance(columns, str | int) else list(columns)
        return list(self.schema.positions(names))

    def look(
        self, X: object, y: object, columns: Sequence[Name] | Name | None, count: int, cells: int = 100, **how: bool
    ) -> tuple[Rows | None, list[int], list[Axis]]:
        """Return rows, and the named columns, or those that tell most, with their axes; see `informative`."""
        rows = self.rows(X, y)
        positions = self.informative(count, rows, **how) if columns is None else self.positions(columns)
        return rows, positions, [self.axis(p, rows, cells) for p in positions]

    def density(self, position: int) -> Any:
        """Return the density of the block that a column is in."""
        return self.model.density.blocks[self.place[position][0]]

    def levels(self, position: int) -> Sequence[Level] | None:
        """Return the categories that a column's numbers stand for under its density, None where it has numbers."""
        levels: Sequence[Level] | None = self.density(position).column_levels(self.place[position][1])
        return levels

    def axis(self, position: int, rows: Rows | None, cells: int = 100) -> Axis:
        """Return the axis of a column: its categories, or its range in the rows, a little widened."""
        block, j = self.place[position]
        density, column = self.density(position), self.schema.columns[position]
        label = column_name(column.name)
        if isinstance(density, Multinomial):
            raise DataError(
                f"{label!r} shares out a total with other columns (family 'multinomial'), so it cannot be drawn by "
                "itself. Next: choose other columns."
            )
        levels = (False, True) if isinstance(density, Bernoulli) else self.levels(position)
        if levels is not None:
            values = np.fromiter(levels, dtype=object)
            at = np.arange(len(levels), dtype=np.float64)
            return Axis(position, label, values, at, -0.5, len(levels) - 0.5, tuple(levels))
        low, high = observed_range(self._seen(rows).cells(block, j))
        if isinstance(density, Poisson):
            low, high = max(np.floor(low), 0.0), np.ceil(high)
            step = np.ceil((high - low + 1) / MOST_COUNTS)
            at = np.arange(low, high + 1, step)
            return Axis(position, label, at, at, low - step / 2, at[-1] + step / 2, whole=True)
        return replace(Axis.over(position, label, low, high, cells), dated=column.kind is Kind.DATE)

    def readable(self, axis: Axis, most: int = MOST_LEVELS) -> Axis:
        """Return the axis with no more categories than can be read: those that are most probable, over all classes."""
        if axis.levels is None or len(axis.levels) <= most:
            return axis
        share = np.exp(self.log_density([axis])) @ np.exp(self.model.log_prior)
        places = np.sort(np.argsort(-share, kind="stable")[:most])
        levels = tuple(axis.levels[place] for place in places)
        return replace(
            axis,
            label=f"{axis.label}: {len(levels)} of {len(axis.levels):,}",
            values=axis.values[places],
            at=np.arange(len(levels), dtype=np.float64),
            high=len(levels) - 0.5,
            levels=levels,
            places=places,
        )

    def _seen(self, rows: Rows | None) -> Rows:
        """Return these rows, or drawn ones where there are none, to tell ranges from."""
        if rows is not None:
            return rows
        X, y = self.estimator.sample(1000, random_state=0)
        return Rows(self.asked.rows(X), self._codes(y, 1000), own=True)

    def informative(self, count: int, rows: Rows | None, *, numbers: bool = False, apart: bool = False) -> list[int]:
        """Return the `count` columns that tell most about the class, most first; `numbers` leaves out categories.

        That is how much the class of a row gains in log probability, on average, when this one cell is known. All
        columns, where there are no more than `count`, come in their own order. `apart` leaves out columns of which a
        better one says all: numbers whose ranks go together by more than 0.98.
        """
        found = self.by_themselves
        if numbers:
            found = [p for p in found if self.levels(p) is None and not isinstance(self.density(p), Bernoulli)]
        if len(found) <= max(count, 1):
            return sorted(found)
        ranked = self.ranked(found, rows)
        return (self._apart(ranked, rows, count) if apart else ranked)[:count]

    @property
    def by_forest(self) -> bool:
        """Whether the joint density is a forest's."""
        return any(isinstance(block, ForestDensity) for block in self.model.density.blocks)

    @property
    def by_themselves(self) -> list[int]:
        """The columns of which one cell can be known alone: not those that share out a total, or know no level."""
        own = [p for p in self.place if p not in self.texts]
        alone = [p for p in own if not isinstance(self.density(p), Multinomial)]
        return [p for p in alone if (levels := self.levels(p)) is None or len(levels)]

    def ranked(self, positions: Sequence[int], rows: Rows | None) -> list[int]:
        """Return columns in the order of what they tell about the class, each by itself."""
        told = self.told(positions, rows)
        return sorted(positions, key=lambda p: (-round(told[p], 9), p))

    def told(self, positions: Sequence[int], rows: Rows | None) -> Mapping[int, float]:
        """Return by column how much log p(class) gains on average, in nats, when this one cell is known."""
        seen = self._seen(rows)
        index = np.flatnonzero(seen.codes >= 0)
        if not len(index):
            seen = self._seen(None)
            index = np.arange(len(seen.codes))
        judged = max(FEWEST_JUDGED, min(JUDGED_ROWS, JUDGED_CELLS // len(self.schema)))
        index = np.sort(np.random.RandomState(0).permutation(index)[:judged])
        known: dict[int, float] = once(self.fitted, "gains", dict) if seen.own else {}
        return self._gains(positions, seen, index, known)

    def _apart(self, ranked: Sequence[int], rows: Rows | None, count: int) -> list[int]:
        """Return the first `count` columns of which none is all but a copy of one before; of too few, all others."""
        seen, kept, copies = self._seen(rows), list[int](), list[int]()
        for position in ranked:
            if len(kept) == count:
                break
            copy = any(_go_together(self.cells(seen, position), self.cells(seen, own)) for own in kept)
            (copies if copy else kept).append(position)
        return kept + copies

    def _gains(
        self, positions: Sequence[int], rows: Rows, index: Codes, known: dict[int, float]
    ) -> Mapping[int, float]:
        """Return `known` with the mean of log p(class | this cell) − log p(class) over some rows, in nats, by column.

        Many columns are asked at a time, each in rows of its own, as one call costs more than its rows.
        """
        wanted = [p for p in positions if p not in known]
        size = max(1, rows_within(16 * len(self.schema), ASKED_TOGETHER) // len(index))
        for part in row_chunks(len(wanted), size):
            cells, codes, ends = {}, [], [0]
            for position in wanted[part]:
                values = self._column(rows, position).values[index]
                seen = np.array([cell is not None and cell == cell for cell in values], dtype=np.bool_)
                ends.append(ends[-1] + int(seen.sum()))
                cells[position] = (slice(*ends[-2:]), values[seen])
                codes.append(rows.codes[index][seen])
            own = np.arange(ends[-1]), np.concatenate(codes)
            gain = self._class_odds(self._encoded(self.fitted, cells, ends[-1]))[own] - self.model.log_prior[own[1]]
            gain = np.maximum(gain, -20.0)
            for position, (first, last) in zip(wanted[part], pairwise(ends), strict=True):
                known[position] = float(gain[first:last].sum() / len(index))
        return known

    def _class_odds(self, rows: BlockRows) -> Array:
        """Return log p(class | row) (n, k), of a row that no class can have that all are as likely."""
        if self.fitted.pool is not None:  # whose density of a row, which cancels, takes longer than its odds
            return np.asarray(self.fitted.log_posterior(rows))
        return np.asarray(log_softmax(np.maximum(self.fitted.log_joint(rows), -1e300)))

    def _encoded(self, value: Fitted, cells: Mapping[int, Known], n: int) -> BlockRows:
        """Return rows in which these cells are known, as a value reads them."""
        return value.recoded(value.encode(KnownCells(self.schema, n, cells), range(len(self.schema))))

    def _on_grid(self, value: Fitted, axes: Sequence[Axis], answer: Callable[[BlockRows], Array]) -> Array:
        """Return an answer for all combinations of one or two axes (…, k), the last axis fastest, some at a time."""
        sizes = [len(axis.at) for axis in axes]
        found = []
        for part in row_chunks(int(np.prod(sizes)), rows_within(16 * len(self.schema), ASKED_TOGETHER)):
            places = np.unravel_index(np.arange(part.start, part.stop), sizes)
            n = part.stop - part.start
            pairs = zip(axes, places, strict=True)
            cells = {axis.position: (slice(0, n), axis.values[place]) for axis, place in pairs}
            found.append(np.asarray(answer(self._encoded(value, cells, n))))
        return np.concatenate(found).reshape(*sizes, -1)

    def posterior(self, axes: Sequence[Axis], priors: object = None) -> Array:
        """Return p(class | the cells on the axes), (…, k), as `predict_proba` has it with all other cells missing."""
        return np.exp(self.log_posterior(axes, priors))

    def log_posterior(self, axes: Sequence[Axis], priors: object = None) -> Array:
        """Return log p(class | the cells on the axes), (…, k) in nats, all other cells missing."""
        return self._on_grid(self.fitted, axes, lambda rows: self.fitted.log_posterior(rows, priors))

    def log_density(self, axes: Sequence[Axis]) -> Array:
        """Return log p(the cells on the axes | class), (…, k) in nats, all other columns integrated out."""
        density = self.model.density  # and not the joint density less the prior, which may be zero
        return self._on_grid(self.asked, axes, density.log_density)


def _go_together(one: Array, two: Array) -> bool:
    """Return whether the ranks of two columns of cells are the same but for little."""
    both = np.isfinite(one) & np.isfinite(two)
    if both.sum() < 3 or np.ptp(one[both]) == 0 or np.ptp(two[both]) == 0:
        return False
    ranks = np.vstack([np.unique(own[both], return_inverse=True)[1] for own in (one, two)])
    return bool(np.abs(np.asarray(np.corrcoef(ranks))[0, 1]) > COPIES)


def bulk(seen: Array) -> tuple[float, float]:
    """Return the range of numbers (n,) but for a few that are far from all others."""
    low, high = np.quantile(seen, [0.005, 0.995])
    reach = (high - low) / 2
    return float(max(seen.min(), low - reach)), float(min(seen.max(), high + reach))


def observed_range(cells: Array) -> tuple[float, float]:
    """Return the range of the observed cells, widened by 6 %; cells far outside the bulk do not count."""
    seen = cells[np.isfinite(cells)]
    if not len(seen):
        return 0.0, 1.0
    low, high = bulk(seen)
    if high - low < LEAST_RANGE:
        low = high
    margin = 0.06 * (high - low) or max(abs(low), 1.0) * 0.1
    return float(low - margin), float(high + margin)


def cells_as_text(view: View, X: object, positions: Sequence[int]) -> list[list[tuple[str, str]]]:
    """Return (column, cell as text) of some columns of every row; a missing cell is "unknown"."""
    table, order = view.aligned(X)
    columns = []
    for position in positions:
        column = view.schema.columns[position]
        if column.kind.is_measured:
            numbers = table.numeric([order[position]])[:, 0]
            words = date_as_text if column.kind is Kind.DATE else in_words
            text = ["unknown" if cell != cell else words(float(cell)) for cell in numbers]
        else:
            levels, codes = table.categories(order[position])
            text = ["unknown" if code < 0 else str(levels[code]) for code in codes]
        columns.append([(str(column.name), cell) for cell in text])
    return [list(row) for row in zip(*columns, strict=True)]


def take(X: Any, index: Codes) -> Any:
    """Return some rows of a table of any kind."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "take") and hasattr(X, "column_names"):  # pyarrow
        return X.take(index)
    return [X[int(i)] for i in index] if isinstance(X, list | tuple) else X[index]


def in_words(value: float) -> str:
    """Return a number with four digits, as a person would write it."""
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def percent(p: float) -> str:
    """Return a probability in percent, never rounded to certainty."""
    if 0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1:
        return "> 99.9 %"
    return f"{100 * p:.{0 if 0.01 <= p <= 0.99 or p in (0.0, 1.0) else 1}f} %"
