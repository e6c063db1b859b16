"""What a plot asks of a fitted model: its columns as axes, rows to draw, and densities with other columns missing.

Everything is asked through the verbs that every estimator has; a cell that is not on an axis is a missing cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, log_softmax, np
from ..densities import Bernoulli, Multinomial, Poisson
from ..errors import DataError, quoted
from ..schema import Kind, Level, Name
from ..stats import Reservoir
from ..table import NewColumn, Table, factorize, label_values, make_table, read_table
from ._model import check_model, learned

MOST_COUNTS = 200  # different counts on an axis; beyond that some are left out
MOST_PANELS = 12
JUDGED_ROWS = 300  # by which columns are compared


@dataclass(frozen=True, slots=True)
class Axis:
    """A column as an axis of equal cells: `values` (m,) is asked of the model, `at` (m,) where it stands.

    `levels` are the categories that stand at 0, 1, …; None for numbers. `whole` says that numbers are counts.
    """

    position: int
    label: str
    values: NDArray[np.generic]
    at: Array
    low: float
    high: float
    levels: tuple[Level, ...] | None = None
    whole: bool = False

    @property
    def step(self) -> float:
        """The width of a cell."""
        return (self.high - self.low) / len(self.at)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a model encodes them, by block, and class numbers (n,), −1 where the label is not known."""

    parts: Sequence[Any]
    codes: Codes

    def cells(self, block: int, j: int) -> Array:
        """Return column j of a block (n,): numbers, or numbers of levels; NaN where missing."""
        part = self.parts[block]
        if isinstance(part, tuple):
            return np.where(part[j] < 0, np.nan, part[j].astype(np.float64))
        column = part[:, [j]].toarray()[:, 0] if is_sparse(part) else part[:, j]
        return np.asarray(column, dtype=np.float64)


class View:
    """A fitted estimator, seen column by column: the columns are those of its joint density."""

    def __init__(self, estimator: object) -> None:
        self.estimator = check_model(estimator)
        self.fitted = learned(self.estimator)
        self.asked = self.fitted.joint_value
        self.schema, self.model = self.fitted.schema, self.asked.joint
        self.classes: list[Level] = self.estimator.classes_.tolist()
        self.place = {p: (b, j) for b, block in enumerate(self.asked.blocks) for j, p in enumerate(block.positions)}

    def rows(self, X: object = None, y: object = None) -> Rows | None:
        """Return the rows of a table, or without one those that the model keeps; None if it keeps none."""
        if X is not None:
            parts = self.asked.rows(X)
            n = read_table(X).rows
            codes = np.full(n, -1) if y is None else self._codes(y, n)
            return Rows(parts, codes)
        sample = self.fitted.statistics.sample
        return None if sample is None else Rows(self.asked.recoded(sample.rows), sample.codes)

    def kept(self) -> tuple[Any, NDArray[np.generic], Reservoir]:
        """Return the rows that the model keeps: a table, its labels, and the sample; DataError if it keeps none."""
        rows, sample = self.rows(), self.fitted.statistics.sample
        if rows is None or sample is None:
            raise DataError(
                "This model keeps no rows (keep_rows=0). Next: give rows and labels, or fit with keep_rows=2000."
            )
        columns = [self._column(rows, position) for position in range(len(self.schema))]
        table = make_table(self.schema.container, self.schema.named, columns)
        return table, self.estimator.classes_[rows.codes], sample

    def _column(self, rows: Rows, position: int) -> NewColumn:
        """Return a column of encoded rows as a user has it: categories, truth values are objects, None if missing."""
        column, levels = self.schema.columns[position], self._levels(position)
        cells = self.cells(rows, position)
        if levels is None and column.kind is Kind.BOOLEAN:
            levels = (False, True)
        if levels is None:
            return NewColumn(column.name, column.kind, cells)
        found = [None if np.isnan(cell) else levels[int(cell)] for cell in cells]
        if column.kind is Kind.NUMERIC:
            return NewColumn(column.name, column.kind, np.array(found, dtype=np.float64))
        values = np.empty(len(found), dtype=object)
        values[:] = found
        return NewColumn(column.name, column.kind, values)

    def _codes(self, y: object, n: int) -> Codes:
        levels, codes = factorize(label_values(y), "y")
        if len(codes) != n:
            raise DataError(f"X has {n} rows and y has {len(codes)}. Next: give one label per row.")
        unknown = [level for level in levels if level not in self.classes]
        if unknown:
            raise DataError(
                f"y holds {quoted(unknown)}, which this model does not know; its classes are {quoted(self.classes)}. "
                "Next: leave these rows out."
            )
        number = np.array([*(self.classes.index(level) for level in levels), -1])
        return np.asarray(number[codes])

    def cells(self, rows: Rows, position: int) -> Array:
        """Return a column of rows as it stands on its axis (n,)."""
        return rows.cells(*self.place[position])

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

    def density(self, position: int) -> Any:
        """Return the density of the block that a column is in."""
        return self.model.density.blocks[self.place[position][0]]

    def _levels(self, position: int) -> Sequence[Level] | None:
        """Return the categories that a column's numbers stand for under its density, None where it has numbers."""
        levels: Sequence[Level] | None = self.density(position).column_levels(self.place[position][1])
        return levels

    def axis(self, position: int, rows: Rows | None, cells: int = 100) -> Axis:
        """Return the axis of a column: its categories, or its range in the rows, a little widened."""
        block, j = self.place[position]
        density, column = self.density(position), self.schema.columns[position]
        label = column.name if isinstance(column.name, str) else f"column {column.name}"
        if isinstance(density, Multinomial):
            raise DataError(
                f"{label!r} shares out a total with other columns (family 'multinomial'), so it cannot be drawn by "
                "itself. Next: choose other columns."
            )
        levels = (False, True) if isinstance(density, Bernoulli) else self._levels(position)
        if levels is not None:
            values = np.empty(len(levels), dtype=object)
            values[:] = levels
            at = np.arange(len(levels), dtype=np.float64)
            return Axis(position, label, values, at, -0.5, len(levels) - 0.5, tuple(levels))
        low, high = _range(self._seen(rows).cells(block, j))
        if isinstance(density, Poisson):
            low, high = max(np.floor(low), 0.0), np.ceil(high)
            step = np.ceil((high - low + 1) / MOST_COUNTS)
            at = np.arange(low, high + 1, step)
            return Axis(position, label, at, at, low - step / 2, at[-1] + step / 2, whole=True)
        edges = np.linspace(low, high, cells + 1)
        at = (edges[1:] + edges[:-1]) / 2
        return Axis(position, label, at, at, low, high)

    def _seen(self, rows: Rows | None) -> Rows:
        """Return these rows, or drawn ones where there are none, to tell ranges from."""
        if rows is not None:
            return rows
        X, y = self.estimator.sample(1000, random_state=0)
        return Rows(self.asked.rows(X), self._codes(y, 1000))

    def informative(self, count: int, rows: Rows | None, *, numbers: bool = False) -> list[int]:
        """Return the `count` columns that tell most about the class, most first; `numbers` leaves out categories.

        That is how much the class of a row gains in log probability, on average, when this one cell is known. All
        columns, where there are no more than `count`, come in their own order.
        """
        found = [p for p in self.place if not isinstance(self.density(p), Multinomial)]
        if numbers:
            found = [p for p in found if self._levels(p) is None and not isinstance(self.density(p), Bernoulli)]
        if len(found) <= max(count, 1):
            return sorted(found)
        seen = self._seen(rows)
        index = np.flatnonzero(seen.codes >= 0)
        if not len(index):
            seen = self._seen(None)
            index = np.arange(len(seen.codes))
        index = np.sort(np.random.RandomState(0).permutation(index)[:JUDGED_ROWS])
        told = {p: self._gain(p, seen, index) for p in found}
        return sorted(found, key=lambda p: (-round(told[p], 9), p))[:count]

    def _gain(self, position: int, rows: Rows, index: Codes) -> float:
        """Return the mean of log p(class | this cell) − log p(class) over some rows, in nats."""
        cells = self._column(rows, position).values[index]
        known = np.array([cell is not None and cell == cell for cell in cells])
        if not known.any():
            return 0.0
        joint = self.estimator.predict_joint_log_proba(self.table({position: cells[known]}))
        own = np.arange(len(joint)), rows.codes[index][known]
        gain = log_softmax(np.maximum(joint, -1e300))[own] - self.model.log_prior[own[1]]
        return float(np.maximum(gain, -20.0).sum() / len(index))

    def table(self, cells: Mapping[int, NDArray[np.generic]]) -> Any:
        """Return a table of the model's kind with these columns, {position: values (n,)}, and all others missing."""
        n = len(next(iter(cells.values())))
        columns = []
        for position, column in enumerate(self.schema.columns):
            values = cells.get(position)
            if values is None:
                values = np.full(n, None, dtype=object) if column.kind.is_label else np.full(n, np.nan)
            elif column.kind is Kind.BOOLEAN:
                values = values.astype(bool)
            elif not column.kind.is_label:
                values = values.astype(np.float64)
            columns.append(NewColumn(column.name, column.kind, values))
        return make_table(self.schema.container, self.schema.named, columns)

    def grid(self, axes: Sequence[Axis]) -> Any:
        """Return the table of all combinations of one or two axes, the last axis fastest."""
        if len(axes) == 1:
            return self.table({axes[0].position: axes[0].values})
        down, across = axes
        values = {
            down.position: np.repeat(down.values, len(across.values)),
            across.position: np.tile(across.values, len(down.values)),
        }
        return self.table(values)

    def posterior(self, axes: Sequence[Axis], priors: object = None) -> Array:
        """Return p(class | the cells on the axes), (…, k), by `predict_proba` with all other cells missing."""
        found = self.estimator.predict_proba(self.grid(axes), priors=priors)
        return np.asarray(found).reshape(*(len(axis.at) for axis in axes), -1)

    def log_density(self, axes: Sequence[Axis]) -> Array:
        """Return log p(the cells on the axes | class), (…, k) in nats, all other columns integrated out."""
        density = self.model.density  # and not the joint density less the prior, which may be zero
        found = density.log_density(self.asked.rows(self.grid(axes)))
        return np.asarray(found).reshape(*(len(axis.at) for axis in axes), -1)


def _range(cells: Array) -> tuple[float, float]:
    """Return the range of the observed cells, widened by 6 %; cells far outside the bulk do not count."""
    seen = cells[np.isfinite(cells)]
    if not len(seen):
        return 0.0, 1.0
    low, high = np.quantile(seen, [0.005, 0.995])
    reach = (high - low) / 2
    low, high = max(seen.min(), low - reach), min(seen.max(), high + reach)
    margin = 0.06 * (high - low) or max(abs(low), 1.0) * 0.1
    return float(low - margin), float(high + margin)
