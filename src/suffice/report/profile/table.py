"""A table as far as it is known: of a model by statistics and rows kept, or by its own rows; what is there twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..._arrays import Array, Codes, Flags, NDArray, by_key, cross_sums, distinct, np
from ...errors import DataError
from ...fitted import Fitted
from ...plots._view import label_codes
from ...questions.drift_columns import ColumnSummary, learned_side
from ...schema import Column, Kind, Level, column_name
from ...stats.reservoir import ALL
from ...stats.rows import GOLDEN, mixed, numbered
from ...table import Table

MOST_ROWS = 100_000  # of a table that are looked at; of more, so many are drawn
ROWS = 2000  # by which columns are compared
FEWEST = 10  # rows that have both cells
COPY = 1.0 - 1e-9  # correlation from which on a column is another in other units
NEAR = 0.995
FEW_VALUES = 50  # of a number that may name groups, as levels do
MOST_CODED = 40  # columns that are compared for what follows from what
VARIED = 0.05  # share of rows that a column must have outside its most common level to follow from another


class ProfiledColumn(NamedTuple):
    """A column of the table: where it stands among the model's, its name as text, its kind, and what is known of it.

    `order` are its levels from the lowest, where they have an order.
    """

    position: int
    name: str
    kind: Kind
    facts: ColumnSummary
    order: tuple[Level, ...] = ()

    @property
    def has_cells(self) -> bool:
        """Whether the cells of the rows there are are known."""
        return self.facts.values is not None

    @property
    def cells(self) -> Array:
        """The cells of the rows there are (m,): numbers, or numbers of levels; NaN where missing."""
        assert self.facts.values is not None
        return self.facts.values

    @property
    def present(self) -> Flags:
        """Which of the rows there are have a cell (m,)."""
        return np.asarray(~np.isnan(self.cells))

    @property
    def known(self) -> Array:
        """The cells that are not missing; none where the cells of the rows are not known."""
        return self.cells[self.present] if self.has_cells else np.zeros(0)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Its levels; none of numbers."""
        return self.facts.levels or ()

    @property
    def level_weight(self) -> Array | None:
        """How often each level occurs in all rows (r,); None of numbers, and where that is not known."""
        facts = self.facts
        return None if facts.levels is None or facts.counts is None else np.asarray(facts.counts.sum(axis=0))

    @property
    def missing_share(self) -> float | None:
        """The share of cells that are missing, None where it is not known."""
        share = self.facts.missing_share
        return None if np.isnan(share) else share


@dataclass(frozen=True)
class ProfiledTable:
    """The columns of a table, its classes, and the rows of it that there are.

    `class_weight` (k + 1,) is that of all rows, in the last place those without a label. Of the rows there are, m of
    them, `codes` (m,) are class numbers, k without a label, `copies` (m,) how often each occurs, and `weight` (m,) what
    it stands for, so that classes add up to `class_weight`. `rows` is how many the table has, `is_whole` whether they
    are all there; `why_none` says why there are none, "" where there are.
    """

    columns: Sequence[ProfiledColumn]
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

    @property
    def has_rows(self) -> bool:
        """Whether any row is there."""
        return len(self.codes) > 0

    def without(self, left_out: Callable[[ProfiledColumn], bool]) -> ProfiledTable:
        """Return the table without columns of which this is true."""
        return replace(self, columns=[column for column in self.columns if not left_out(column)])

    def class_rows(self) -> Array:
        """Return how many rows each class has (k,): counted where all are there, else in proportion to its weight."""
        if self.is_whole:
            return np.bincount(self.codes, weights=self.copies, minlength=self.k + 1)[: self.k].astype(np.float64)
        total = float(self.class_weight.sum())
        return np.asarray(self.class_weight[: self.k] * (self.rows / total if total > 0 else 1.0))

    def some(self, most: int) -> Codes:
        """Return the numbers of at most so many of the rows there are, drawn without looking."""
        return _drawn(len(self.codes), most)


def _drawn(n: int, most: int) -> Codes:
    return np.arange(n) if n <= most else np.sort(np.random.RandomState(0).permutation(n)[:most])


def learned_table(fitted: Fitted, positions: Sequence[int]) -> ProfiledTable:
    """Return the table that a model has learned, as far as it knows these columns."""
    side, sample = learned_side(fitted, as_weighed=True), fitted.judges
    columns = []
    for position in positions:
        column = fitted.schema.columns[position]
        try:
            facts = side.column(position, column.name)
        except DataError:  # statistics of a kind of their own, and no rows
            unknown = np.full(len(side.class_weight), np.nan)
            facts = ColumnSummary(None, None, None, None, unknown, unknown)
        if column.kind is Kind.BOOLEAN and facts.moments is not None and facts.levels is None:  # read as 0 and 1
            yes = facts.moments.mean[:, 0] * facts.moments.weight[:, 0]
            counts = np.column_stack([facts.moments.weight[:, 0] - yes, yes])
            facts = ColumnSummary(facts.values, None, (False, True), counts, facts.seen, facts.missing)
        columns.append(ProfiledColumn(position, column_name(column.name), column.kind, facts, column.order))
    rows = int(fitted.statistics.rows)
    if sample is None or not len(sample.codes):
        released = fitted.past.released is not None
        why = "the model was released and holds no rows" if released else "the model keeps no rows"
        nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return ProfiledTable(columns, side.classes, side.class_weight, rows, none, nothing, nothing, False, why)
    weight = sample.represented(fitted.statistics.weight)
    whole = bool((sample.limit == ALL).all()) and round(float(sample.copies.sum())) == rows
    return ProfiledTable(columns, side.classes, side.class_weight, rows, sample.codes, sample.copies, weight, whole)


def given_table(
    table: Table, order: Sequence[int], columns: Sequence[Column], y: object = None, classes: Sequence[Level] = ()
) -> ProfiledTable:
    """Return a table that has been read: `columns`, of which the p-th stands at order[p] of it, with labels `y`.

    The `classes` given come first, in this order; others found in `y` after them.
    """
    n = table.rows
    labels, codes = label_codes(y, n, classes)
    size = len(labels) + 1
    codes = np.where(codes < 0, len(labels), codes)
    drawn = _drawn(n, MOST_ROWS)
    found = []
    for p, column in enumerate(columns):
        facts = _facts(table, order[p], column.kind, codes, size, drawn)
        found.append(ProfiledColumn(p, column_name(column.name), column.kind, facts, column.order))
    weight = np.bincount(codes, minlength=size).astype(np.float64)
    here = np.bincount(codes[drawn], minlength=size)
    stands = (weight / np.maximum(here, 1))[codes[drawn]]
    why = "" if n else "the table has no rows"
    return ProfiledTable(found, labels, weight, n, codes[drawn], np.ones(len(drawn)), stands, len(drawn) == n, why)


def _facts(table: Table, position: int, kind: Kind, codes: Codes, size: int, drawn: Codes) -> ColumnSummary:
    """Return what a column of a table holds; of all rows how often each level occurs and cells are missing."""
    if kind.is_label or kind is Kind.BOOLEAN:
        levels, cells = table.categories(position)
        counts = cross_sums(codes, cells, (size, len(levels) + 1))  # missing ones, −1, come last
        used = np.flatnonzero(counts[:, :-1].any(axis=0))
        values = np.where(cells < 0, np.nan, numbered(used, len(levels) + 1)[cells])[drawn]
        own = counts[:, used]
        return ColumnSummary(values, None, tuple(levels[int(i)] for i in used), own, own.sum(axis=1), counts[:, -1])
    numbers = table.numeric([position])[:, 0].astype(np.float64)
    missing = np.bincount(codes, weights=np.isnan(numbers), minlength=size).astype(np.float64)
    seen = np.bincount(codes, minlength=size) - missing
    return ColumnSummary(numbers[drawn], None, None, None, seen, missing)


# --- equal rows -------------------------------------------------------------------------------------------------------


def equal_rows(whole: ProfiledTable, left_out: Callable[[ProfiledColumn], bool]) -> dict[str, Any] | None:
    """Return how many of the rows there are equal another one, with the same class and with another.

    `repeated` rows are equal to one before them in all cells and the class, `most` is how often the commonest occurs;
    `contradicting` is how many rows have the cells of another row of another class, `sets` how many such sets of rows
    there are; `but` are the names of columns left out. None where there are no rows, or no columns.
    """
    table = whole.without(left_out)
    if not table.has_rows or not table.columns or not all(column.has_cells for column in table.columns):
        return None
    _, cells = np.unique(row_keys(table, table.columns), return_inverse=True)
    pairs = cells.astype(np.int64) * (table.k + 1) + table.codes
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    times = np.bincount(group, weights=table.copies)
    labelled = table.codes[first] < table.k
    classes = np.bincount(cells[first[labelled]], minlength=int(cells.max()) + 1)
    clash = (classes > 1)[cells] & (table.codes < table.k)
    return {
        "rows": table.held,
        "repeated": round(float(times.sum())) - len(times),
        "most": round(float(times.max())),
        "contradicting": round(float(table.copies[clash].sum())),
        "sets": int((classes > 1).sum()),
        "but": [column.name for column in whole.columns if left_out(column)],
    }


def row_keys(table: ProfiledTable, columns: Sequence[ProfiledColumn]) -> NDArray[np.uint64]:
    """Return a hash (splitmix64) of the cells in some columns of each row there is (m,); missing cells are equal."""
    key = np.zeros(len(table.codes), dtype=np.uint64)
    for column in columns:
        bits = np.where(np.isnan(column.cells), np.nan, column.cells + 0.0).view(np.uint64)
        key = mixed((key ^ bits) + np.uint64(GOLDEN))
    return key


# --- columns that say the same ----------------------------------------------------------------------------------------


class _Coded(NamedTuple):
    column: int
    codes: Codes  # numbers of values, the first to occur is 0
    values: int


def equal_columns(table: ProfiledTable) -> dict[str, list[dict[str, Any]]]:
    """Return which columns say the same, by their numbers in the table.

    `copies` are sets of columns of which each is a straight line of the first (or has one level for each of its
    levels); `near` are pairs of numbers with a correlation of 0.995 or more either way; `follows` are pairs in which
    the first column decides the level of the second. All by at most 2,000 of the rows there are.
    """
    if not table.has_rows:
        return {"copies": [], "near": [], "follows": []}
    index = table.some(ROWS)
    lines, near = _straight_lines(table, index)
    coded = _coded(table.columns, index)
    sets = by_key((own.codes.tobytes(), own.column) for own in coded)  # whose levels stand for each other, one for one
    levels = [{"columns": columns, "lines": None} for columns in sets.values() if len(columns) > 1]
    levels = [own for own in levels if not _is_within(own, lines)]
    copies = [own for own in lines if not _is_within(own, levels)] + levels
    return {"copies": copies, "near": near, "follows": _follows(coded, copies)}


def _is_within(own: dict[str, Any], sets: Sequence[dict[str, Any]]) -> bool:
    """Return whether a set of columns is part of one of these."""
    return any(set(own["columns"]) <= set(more["columns"]) for more in sets)


def _straight_lines(table: ProfiledTable, index: Codes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return sets of columns of numbers that are straight lines of each other, and pairs that nearly are."""
    numbers, found = list[int](), list[Array]()
    for j, column in enumerate(table.columns):
        if column.facts.is_number and column.has_cells and _varies(own := column.cells[index]):
            numbers.append(j)
            found.append(own)
    if len(found) < 2:
        return [], []
    cells = np.column_stack(found)
    r = correlations(cells)
    groups: list[dict[str, Any]] = []
    twins: set[int] = set()  # of the first of their set
    for i in range(len(numbers)):
        own_set = [i, *(j for j in range(i + 1, len(numbers)) if j not in twins and abs(r[i, j]) >= COPY)]
        if i not in twins and len(own_set) > 1:
            twins |= set(own_set[1:])
            lines = [_line(cells[:, i], cells[:, j]) for j in own_set[1:]]
            groups.append({"columns": [numbers[j] for j in own_set], "lines": lines})
    near = [
        {"columns": [numbers[i], numbers[j]], "correlation": float(r[i, j])}
        for i, j in np.argwhere(np.triu(np.abs(np.nan_to_num(r)) >= NEAR, 1)).tolist()
        if i not in twins and j not in twins
    ]
    return groups, sorted(near, key=lambda pair: -abs(pair["correlation"]))


def _varies(cells: Array) -> bool:
    """Return whether numbers have more than two values, and ten of them other than the most common."""
    seen = cells[~np.isnan(cells)]
    times = np.unique(seen, return_counts=True)[1]
    return len(times) > 2 and len(seen) - int(times.max()) >= FEWEST


def correlations(cells: Array) -> Array:
    """Return correlations (d, d) of columns (n, d) over the rows that have both cells; NaN where these are too few."""
    seen = ~np.isnan(cells)
    count = np.maximum(seen.sum(axis=0), 1)
    centre = np.where(seen, cells, 0.0).sum(axis=0) / count
    x = np.where(seen, cells - centre, 0.0)
    scale = np.sqrt((x**2).sum(axis=0) / count)
    x /= np.where(scale > 0, scale, 1.0)
    there = seen.astype(np.float64)
    n, sums, squares, products = there.T @ there, x.T @ there, (x**2).T @ there, x.T @ x
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = products - sums * sums.T / n
        spread = squares - sums**2 / n
        r = covariance / np.sqrt(spread * spread.T)
        flat = spread <= 1e-9 * n
        few = (n < FEWEST) | flat | flat.T
    return np.where(few, np.nan, np.clip(r, -1.0, 1.0))


def _line(x: Array, y: Array) -> dict[str, float]:
    """Return slope and intercept of the line that numbers y (n,) are of x (n,)."""
    seen = ~np.isnan(x) & ~np.isnan(y)
    a, b = x[seen], y[seen]
    low, high = int(a.argmin()), int(a.argmax())
    slope = float((b[high] - b[low]) / (a[high] - a[low]))
    return {"slope": slope, "intercept": float(b[low] - slope * a[low])}


def _coded(columns: Sequence[ProfiledColumn], index: Codes) -> list[_Coded]:
    """Return the columns of few values as numbers of them, in the order in which they first occur; missing is one."""
    found = []
    for j, column in enumerate(columns):
        if not column.has_cells:
            continue
        cells = column.cells[index]
        cells = np.where(np.isnan(cells), np.inf, cells)
        _, first, codes, times = np.unique(cells, return_index=True, return_inverse=True, return_counts=True)
        if len(cells) - int(times.max()) < FEWEST:  # words of one text go together by chance
            continue
        if (column.facts.is_number and len(first) > FEW_VALUES) or not 1 < len(first) < len(index):
            continue
        place = np.argsort(np.argsort(first))
        found.append(_Coded(j, place[codes].astype(np.int64), len(first)))
    return found


def _follows(coded: Sequence[_Coded], copies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs of columns of which the first decides the level of the second, and not the other way.

    Only where enough rows could have said otherwise: those that are not the first of their level.
    """
    again = {j for own in copies for j in own["columns"][1:]}
    some = [own for own in coded if own.column not in again][:MOST_CODED]
    found = []
    for a in some:
        n = len(a.codes)
        if n - a.values < max(20, 0.2 * n):
            continue
        for b in some:
            if not 1 < b.values < a.values or 1.0 - np.bincount(b.codes).max() / n < VARIED:
                continue
            if len(distinct(a.codes * b.values + b.codes)) == a.values:
                found.append({"columns": [a.column, b.column]})
    return found
