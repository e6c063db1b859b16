"""A table as far as it is known: of a model by its statistics and the rows it keeps, or by its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..._arrays import Array, Codes, NDArray, np
from ...errors import DataError
from ...fitted import Fitted
from ...questions.drift_sides import ColumnFacts, learned_side
from ...schema import Column, Kind, Level, column_name
from ...stats.reservoir import ALL
from ...table import Table, factorize, label_values

MOST_ROWS = 100_000  # of a table that are looked at; of more, so many are drawn


class SeenColumn(NamedTuple):
    """A column of the table: where it stands among the model's, its name as text, its kind, and what is known of it.

    `order` are its levels from the lowest, where they have an order.
    """

    position: int
    name: str
    kind: Kind
    facts: ColumnFacts
    order: tuple[Level, ...] = ()

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which of the rows there are have a cell (m,)."""
        assert self.facts.values is not None
        return np.asarray(~np.isnan(self.facts.values))

    @property
    def missing_share(self) -> float | None:
        """The share of cells that are missing, None where it is not known."""
        share = self.facts.missing_share
        return None if np.isnan(share) else share


@dataclass(frozen=True)
class SeenTable:
    """The columns of a table, its classes, and the rows of it that there are.

    `class_weight` (k + 1,) is that of all rows, in the last place those without a label. Of the rows there are, m of
    them, `codes` (m,) are class numbers, k without a label, `copies` (m,) how often each occurs, and `weight` (m,) what
    it stands for, so that classes add up to `class_weight`. `rows` is how many the table has, `is_whole` whether they
    are all there; `why_none` says why there are none, "" where there are.
    """

    columns: Sequence[SeenColumn]
    classes: tuple[Level, ...]
    class_weight: Array
    rows: int
    codes: Codes
    copies: Array
    weight: Array
    is_whole: bool
    why_none: str = ""

    @property
    def k(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def held(self) -> int:
        """How many rows are there, equal ones counted."""
        return round(float(self.copies.sum()))

    def class_rows(self) -> Array:
        """Return how many rows each class has (k,): counted where all are there, else in proportion to its weight."""
        if self.is_whole:
            return np.bincount(self.codes, weights=self.copies, minlength=self.k + 1)[: self.k].astype(np.float64)
        total = float(self.class_weight.sum())
        return np.asarray(self.class_weight[: self.k] * (self.rows / total if total > 0 else 1.0))

    @property
    def has_rows(self) -> bool:
        """Whether any row is there."""
        return len(self.codes) > 0

    def some(self, most: int) -> Codes:
        """Return the numbers of at most so many of the rows there are, drawn without looking."""
        n = len(self.codes)
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.RandomState(0).permutation(n)[:most])


def named(column: Column) -> str:
    """Return what a column is called: its name, or its number where the table has no names."""
    return column_name(column.name)


def seen_by_model(fitted: Fitted, positions: Sequence[int]) -> SeenTable:
    """Return the table that a model has learned, as far as it knows these columns."""
    side, sample = learned_side(fitted), fitted.statistics.sample
    columns = []
    for position in positions:
        column = fitted.schema.columns[position]
        try:
            facts = side.column(position, column.name)
        except DataError:  # statistics of a kind of their own, and no rows
            unknown = np.full(len(side.class_weight), np.nan)
            facts = ColumnFacts(None, None, None, None, unknown, unknown)
        facts = _truths(facts) if column.kind is Kind.BOOLEAN else facts
        columns.append(SeenColumn(position, named(column), column.kind, facts, column.order))
    rows = int(fitted.statistics.rows)
    if sample is None or not len(sample.codes):
        nothing = np.zeros(0)
        released = fitted.past.released is not None
        why = "the model was released and holds no rows" if released else "the model keeps no rows"
        none = np.zeros(0, dtype=np.int64)
        return SeenTable(columns, side.classes, side.class_weight, rows, none, nothing, nothing, False, why)
    weight = sample.represented(fitted.statistics.weight)
    whole = bool((sample.limit == ALL).all()) and round(float(sample.copies.sum())) == rows
    return SeenTable(columns, side.classes, side.class_weight, rows, sample.codes, sample.copies, weight, whole)


def _truths(facts: ColumnFacts) -> ColumnFacts:
    """Return what is known of a column of truth values, read as 0 and 1, as of one of two levels."""
    if facts.moments is None or facts.levels is not None:
        return facts
    yes = facts.moments.mean[:, 0] * facts.moments.weight[:, 0]
    counts = np.column_stack([facts.moments.weight[:, 0] - yes, yes])
    return ColumnFacts(facts.values, None, (False, True), counts, facts.seen, facts.missing)


def seen_in_table(
    table: Table,
    order: Sequence[int],
    columns: Sequence[Column],
    y: object = None,
    classes: Sequence[Level] = (),
) -> SeenTable:
    """Return a table that has been read: `columns`, of which the p-th stands at order[p] of it, with labels `y`.

    The `classes` given come first, in this order; others found in `y` after them.
    """
    n = table.rows
    labels, codes = _labels(y, n, classes)
    drawn = np.arange(n)
    if n > MOST_ROWS:
        drawn = np.sort(np.random.RandomState(0).permutation(n)[:MOST_ROWS])
    size = len(labels) + 1
    found = [
        SeenColumn(
            p, named(column), column.kind, _facts(table, order[p], column.kind, codes, size, drawn), column.order
        )
        for p, column in enumerate(columns)
    ]
    weight = np.bincount(codes, minlength=size).astype(np.float64)
    ones = np.ones(len(drawn))
    here = np.bincount(codes[drawn], minlength=size)
    stands = (weight / np.maximum(here, 1))[codes[drawn]]
    why = "" if n else "the table has no rows"
    return SeenTable(found, labels, weight, n, codes[drawn], ones, stands, len(drawn) == n, why)


def _labels(y: object, n: int, classes: Sequence[Level]) -> tuple[tuple[Level, ...], Codes]:
    """Return the classes, and the number of each row's (n,), that of no class where the label is missing."""
    if y is None:
        return tuple(classes), np.full(n, len(classes))
    levels, codes = factorize(label_values(y), "y")
    known = {(isinstance(label, bool), label): c for c, label in enumerate(classes)}
    every = [*classes, *(level for level in levels if (isinstance(level, bool), level) not in known)]
    place = {(isinstance(label, bool), label): c for c, label in enumerate(every)}
    number = np.array([*(place[isinstance(level, bool), level] for level in levels), len(every)], dtype=np.int64)
    return tuple(every), number[codes]


def _facts(table: Table, position: int, kind: Kind, codes: Codes, size: int, drawn: Codes) -> ColumnFacts:
    """Return what a column of a table holds; of all rows how often each level occurs and cells are missing."""
    if kind.is_label or kind is Kind.BOOLEAN:
        levels, cells = table.categories(position)
        counts = np.zeros((size, len(levels) + 1))
        np.add.at(counts, (codes, cells), 1.0)  # missing ones, −1, come last
        used = np.flatnonzero(counts[:, :-1].any(axis=0))
        place = np.full(len(levels) + 1, -1)
        place[used] = np.arange(len(used))
        values = np.where(cells < 0, np.nan, place[cells])[drawn]
        own = counts[:, used]
        return ColumnFacts(values, None, tuple(levels[int(i)] for i in used), own, own.sum(axis=1), counts[:, -1])
    numbers = table.numeric([position])[:, 0].astype(np.float64)
    missing = np.bincount(codes, weights=np.isnan(numbers), minlength=size).astype(np.float64)
    seen = np.bincount(codes, minlength=size) - missing
    return ColumnFacts(numbers[drawn], None, None, None, seen, missing)
